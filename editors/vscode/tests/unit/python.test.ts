import assert from "node:assert/strict";
import { test } from "node:test";

import { findPython, findServer } from "../../src/python.ts";
import type { Run, Preferences } from "../../src/python.ts";

/** A machine with these programs, each with what the probe prints there. */
function machine(programs: { [name: string]: string }): { run: Run; started: string[] } {
  const started: string[] = [];
  const run: Run = (command, args) => {
    started.push([command, ...args].join(" "));
    const found = programs[command];
    return found === undefined ? Promise.reject(new Error("ENOENT")) : Promise.resolve(found);
  };
  return { run, started };
}

const preferences: Preferences = {
  path: "",
  interpreter: "",
  chosen: () => Promise.resolve(undefined),
  own: (base) => Promise.resolve(`/own/of/${base ?? "any"}`),
};
const orgrest = ["-P", "-m", "orgrest"];

test("the program that a setting names is started, and nothing is asked", async () => {
  const { run, started } = machine({});
  const found = await findServer({ ...preferences, path: "/opt/orgrest", interpreter: "/x" }, run);
  assert.deepEqual([found.command, found.args, started], ["/opt/orgrest", [], []]);
});

test("orgrest of the chosen interpreter is preferred to the extension's own", async () => {
  const { run } = machine({ "/venv/python": "True True /venv/bin/python\n" });
  const chosen = () => Promise.resolve("/venv/python");
  const found = await findServer({ ...preferences, chosen }, run);
  assert.deepEqual([found.command, found.args], ["/venv/bin/python", orgrest]);
});

test("an interpreter without orgrest is what the extension's own environment is made with", async () => {
  const { run } = machine({ "/a b/python": "True False /a b/python\n" });
  const found = await findServer({ ...preferences, interpreter: "/a b/python" }, run);
  assert.deepEqual([found.command, found.args], ["/own/of//a b/python", orgrest]);
});

test("a wrong setting is an error, and no other Python takes its place in silence", async () => {
  const { run } = machine({ old: "False False /old\n" });
  await assert.rejects(findServer({ ...preferences, interpreter: "old" }, run), /orgrest.interpreter, old, does not contain orgrest, and is not CPython/);
  await assert.rejects(findServer({ ...preferences, interpreter: "none" }, run), /orgrest.interpreter, none, cannot be started/);
});

test("an old Python of the Python extension does not keep orgrest from starting", async () => {
  const { run } = machine({ old: "False False /old\n" });
  const found = await findServer({ ...preferences, chosen: () => Promise.resolve("old") }, run);
  assert.equal(found.command, "/own/of/any");
});

test("a Python that is too old or too new is passed over for one that fits", async () => {
  const { run } = machine({ python3: "False False /usr/bin/python3\n", "python3.12": "True False /usr/bin/python3.12\n" });
  assert.equal(await findPython("linux", "uv", "/downloads", run), "/usr/bin/python3.12");
});

test("on Windows the launcher is asked, and uv's Pythons are found everywhere", async () => {
  const windows = machine({ py: "True False C:\\Python\\python.exe\r\n" });
  assert.equal(await findPython("win32", "uv", "/downloads", windows.run), "C:\\Python\\python.exe");
  const managed = machine({ uv: "/uv/python\n", "/uv/python": "True False /uv/python\n" });
  assert.equal(await findPython("linux", "uv", "/downloads", managed.run), "/uv/python");
});

test("without a Python none is found, and no module of a folder could have run", async () => {
  const { run, started } = machine({ python3: "False False /usr/bin/python3\n" });
  assert.equal(await findPython("linux", "uv", "/downloads", run), undefined);
  for (const one of started.filter((one) => !one.startsWith("uv"))) assert.match(one, / -I -c /, "a folder's modules could run");
});
