import assert from "node:assert/strict";
import { test } from "node:test";

import { findServer, NoPython } from "../../src/python.ts";
import type { Run, Wishes } from "../../src/python.ts";

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

const wishes: Wishes = {
  path: "",
  interpreter: "",
  chosen: () => Promise.resolve(undefined),
  bundle: "/ext/bundled/serve.py",
  platform: "linux",
};
const bundled = ["-I", "/ext/bundled/serve.py"];

test("the program that a setting names is started, and nothing is asked", async () => {
  const { run, started } = machine({});
  const found = await findServer({ ...wishes, path: "/opt/orgrest", interpreter: "/x" }, run);
  assert.deepEqual([found.command, found.args, started], ["/opt/orgrest", [], []]);
});

test("orgrest of the chosen interpreter is preferred to the extension's own", async () => {
  const { run } = machine({ "/venv/python": "True True /venv/bin/python\n", python3: "True False /usr/bin/python3\n" });
  const chosen = () => Promise.resolve("/venv/python");
  const found = await findServer({ ...wishes, chosen }, run);
  assert.deepEqual([found.command, found.args], ["/venv/bin/python", ["-P", "-m", "orgrest"]]);
});

test("an interpreter without orgrest runs the extension's own", async () => {
  const { run } = machine({ "/a b/python": "True False /a b/python\n" });
  const found = await findServer({ ...wishes, interpreter: "/a b/python" }, run);
  assert.deepEqual([found.command, found.args], ["/a b/python", bundled]);
});

test("a wrong setting is an error, and no other Python takes its place in silence", async () => {
  const { run } = machine({ old: "False True /old\n", python3: "True False /usr/bin/python3\n" });
  await assert.rejects(findServer({ ...wishes, interpreter: "old" }, run), /orgrest.interpreter, old, is older than Python 3.11/);
  await assert.rejects(findServer({ ...wishes, interpreter: "none" }, run), /is no Python that can be started/);
});

test("an old Python of the Python extension does not keep orgrest from starting", async () => {
  const { run } = machine({ old: "False False /old\n", "python3.12": "True False /usr/bin/python3.12\n" });
  const found = await findServer({ ...wishes, chosen: () => Promise.resolve("old") }, run);
  assert.deepEqual([found.command, found.args], ["/usr/bin/python3.12", bundled]);
});

test("on Windows the launcher is asked, and uv's Pythons are found everywhere", async () => {
  const windows = machine({ py: "True False C:\\Python\\python.exe\r\n" });
  assert.equal((await findServer({ ...wishes, platform: "win32" }, windows.run)).command, "C:\\Python\\python.exe");
  const managed = machine({ uv: "/uv/python\n", "/uv/python": "True False /uv/python\n" });
  assert.equal((await findServer(wishes, managed.run)).command, "/uv/python");
});

test("without a Python nothing is started, and the message says what is needed", async () => {
  const { run, started } = machine({ python3: "False False /usr/bin/python3\n" });
  await assert.rejects(findServer(wishes, run), (error) => error instanceof NoPython && /3\.11 or later/.test(error.message));
  for (const one of started.filter((one) => !one.startsWith("uv"))) assert.match(one, / -I -c /, "a folder's modules could run");
});
