// What a user gets who has just installed the extension, in a real VS Code: `npm test` here, after
// `npm run package` and `npm run package -- universal` above. No network can be reached.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import * as path from "node:path";
import { after, afterEach, before, describe, test } from "node:test";

import { Api } from "./server.mjs";
import { Code, eventually, startBrowser } from "./vscode.mjs";

const SLOW = 400_000;
const PATIENCE = 120_000;
const OFFLINE = {
  ...{ HTTP_PROXY: "http://127.0.0.1:9", HTTPS_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" },
  VSCODE_CLI: "1", // else VS Code takes PATH from a login shell
};

let api;
let browser;

before(async () => {
  api = await Api.start();
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  api?.stop();
});

/** Open a window with a request whose assertions need a script engine and a pattern engine. */
async function open(code, engines = true) {
  const assertions = '?? body name matches ^o\n?? js 1 + 1 == 2\n';
  const folder = code.folder("folder", { "a.http": `GET ${api.url}/read\n\n?? status == 200\n${engines ? assertions : ""}` });
  return code.open(browser, folder, "a.http", true);
}

async function sends(workbench, passed) {
  await workbench.lens("Send request").click({ timeout: PATIENCE });
  await workbench.response.locator(".summary", { hasText: `${passed} passed` }).waitFor({ timeout: PATIENCE });
}

const environments = (code) => {
  const folder = path.join(code.storage, "environments");
  return fs.existsSync(folder) ? fs.readdirSync(folder) : [];
};

describe("on a machine with Python", () => {
  let code;
  let workbench;
  let first;

  afterEach((context) => workbench?.screenshot(`after ${context.name}`));

  after(async () => {
    await workbench?.close();
    await code?.stop();
  });

  test("the first start that is killed half-way does no harm, and the next one works, without a network", { timeout: SLOW }, async () => {
    code = await Code.start({}, { env: OFFLINE });
    workbench = await open(code);
    await eventually("the environment is being made", () => environments(code).some((name) => name.includes(".")));
    await workbench.screenshot("setting up");
    const left = environments(code);
    await code.end("SIGKILL");
    await workbench.close();
    assert.equal(environments(code).length, left.length, "it was killed too late");
    code = await Code.start({}, { root: code.root, env: OFFLINE });
    workbench = await open(code);
    await sends(workbench, 3);
    first = environments(code).filter((name) => !name.includes("."));
    assert.equal(first.length, 1);
    await workbench.screenshot("set up");
  });

  test("a next start uses the same environment, and removes what was left", { timeout: SLOW }, async () => {
    const made = fs.statSync(path.join(code.storage, "environments", first[0])).ctimeMs;
    await code.end("SIGTERM");
    await workbench.close();
    code = await Code.start({}, { root: code.root, env: OFFLINE });
    workbench = await open(code);
    await sends(workbench, 3);
    assert.deepEqual(environments(code), first);
    assert.equal(fs.statSync(path.join(code.storage, "environments", first[0])).ctimeMs, made);
  });

  test("an environment that is damaged is made anew", { timeout: SLOW }, async () => {
    await code.end("SIGTERM");
    await workbench.close();
    const root = path.join(code.storage, "environments", first[0]);
    const [lib] = fs.readdirSync(path.join(root, "lib"));
    fs.rmSync(path.join(root, "lib", lib, "site-packages", "orgrest"), { recursive: true });
    code = await Code.start({}, { root: code.root, env: OFFLINE });
    workbench = await open(code);
    await sends(workbench, 3);
  });

  test("after another package of the extension is installed, here the universal one, that one's orgrest runs", { timeout: SLOW }, async () => {
    await code.end("SIGTERM");
    await workbench.close();
    code = await Code.start({}, { root: code.root, vsix: "orgrest-universal.vsix", env: OFFLINE });
    workbench = await open(code, false);
    await sends(workbench, 1);
    const both = environments(code);
    assert.equal(both.length, 2);
    await code.end("SIGTERM");
    await workbench.close();
    code = await Code.start({}, { root: code.root, vsix: "orgrest-universal.vsix", env: OFFLINE });
    workbench = await open(code, false);
    await sends(workbench, 1);
    assert.deepEqual(environments(code), both.filter((name) => name !== first[0]));
  });
});

describe("on a machine without Python", () => {
  let code;
  let workbench;
  let mirror;

  before(async () => {
    const found = spawnSync("uv", ["python", "find", "--no-project", "--system", "3.13"], { encoding: "utf8" });
    assert.equal(found.status, 0, `these tests need a Python 3.13 that they can copy: ${found.stderr}`);
    const root = fs.mkdtempSync("/tmp/orgrest-python-");
    mirror = await Mirror.start(found.stdout.trim(), root);
    const bin = path.join(root, "bin");
    fs.mkdirSync(bin);
    for (const name of ["sh", "uname", "ps", "cat", "tar"]) {
      fs.symlinkSync(spawnSync("which", [name], { encoding: "utf8" }).stdout.trim(), path.join(bin, name));
    }
    const env = { ...OFFLINE, PATH: bin, UV_PYTHON_DOWNLOADS_JSON_URL: mirror.list };
    code = await Code.start({}, { env });
    workbench = await open(code);
  });

  afterEach((context) => workbench?.screenshot(`after ${context.name}`));

  after(async () => {
    await workbench?.close();
    await code?.stop();
    mirror?.stop();
  });

  test("one is downloaded when the user agrees, and what fails can be tried again", { timeout: SLOW }, async () => {
    const asked = await workbench.notified("found none on this machine");
    await workbench.screenshot("no Python");
    assert.deepEqual(mirror.asked, []);
    mirror.broken = true;
    await asked.getByRole("button", { name: "Download Python" }).click();
    const failed = await workbench.notified("Python could not be downloaded");
    await workbench.screenshot("no download");
    mirror.broken = false;
    await failed.getByRole("button", { name: "Retry" }).click();
    await sends(workbench, 3);
    await workbench.screenshot("downloaded");
    assert.equal(fs.readdirSync(path.join(code.storage, "python")).some((name) => name.startsWith("cpython-3.13")), true);
  });
});

/** A server with one Python, packed as uv downloads them. */
class Mirror {
  static async start(python, root) {
    const about =
      "import platform, sys, sysconfig as s; print(sys.executable, s.get_path('stdlib'), s.get_path('platstdlib'), platform.python_version(), platform.machine(), sep='\\n')";
    const [program, ...lines] = spawnSync(python, ["-I", "-c", about], { encoding: "utf8" }).stdout.trim().split("\n");
    const [library, , version, machine] = lines;
    const install = path.join(root, "python");
    fs.mkdirSync(path.join(install, "bin"), { recursive: true });
    fs.copyFileSync(fs.realpathSync(program), path.join(install, "bin", "python3.13"));
    for (const name of ["python3", "python"]) fs.symlinkSync("python3.13", path.join(install, "bin", name));
    const skip = new Set(["test", "site-packages", "__pycache__", "idlelib", "dist-packages"]);
    const filter = (from) => !skip.has(path.basename(from)) && !/^config-/.test(path.basename(from));
    fs.cpSync(library, path.join(install, "lib", "python3.13"), { recursive: true, filter });
    const mirror = Object.assign(new Mirror(), { asked: [], broken: false, root });
    const archive = path.join(root, "python.tar.gz");
    spawnSync("tar", ["-czf", archive, "-C", root, "python"]);
    mirror.server = createServer((request, response) => {
      mirror.asked.push(request.url);
      if (mirror.broken) response.writeHead(404).end();
      else fs.createReadStream(archive).pipe(response);
    });
    mirror.server.listen(0, "127.0.0.1");
    await once(mirror.server, "listening");
    const url = `http://127.0.0.1:${mirror.server.address().port}/python.tar.gz`;
    const [major, minor, patch] = version.split(".").map(Number);
    const one = { name: "cpython", arch: { family: machine, variant: null }, os: "linux", libc: "gnu", variant: null };
    mirror.list = path.join(root, "list.json");
    fs.writeFileSync(
      mirror.list,
      JSON.stringify({ [`cpython-${version}-linux-${machine}-gnu`]: { ...one, major, minor, patch, prerelease: "", url, sha256: null } }),
    );
    return mirror;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
    fs.rmSync(this.root, { recursive: true, force: true });
  }
}
