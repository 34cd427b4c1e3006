// A real VS Code: the web server of code-server's npm package, with the packaged extension installed,
// in Chromium. `Workbench` is one window of it.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";

import { chromium } from "playwright-core";

const here = import.meta.dirname;
const SERVER = path.join(
  path.dirname(createRequire(import.meta.url).resolve("code-server/package.json")),
  "lib/vscode/out/server-main.js",
);
const CHROMIUM = spawnSync("which", ["chromium"], { encoding: "utf8" }).stdout.trim();
const SETTINGS = {
  "workbench.startupEditor": "none",
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoCheckUpdates": false,
  "workbench.enableExperiments": false,
  "remote.autoForwardPorts": false, // whose notifications would lie over what is clicked
};

/** How many milliseconds a machine with much else to do may take. */
const PATIENCE = 60_000;
/** How many until a user would try again, because something took the focus or what was to be clicked moved. */
const BRIEF = 5000;

/** A VS Code server with folders of files, each of which a window opens. */
export class Code {
  /** Start one, or again the one in the folder `root`, with a package of the extension. */
  static async start(settings = {}, { root = newFolder(), vsix = "orgrest.vsix", env: more = {} } = {}) {
    const machine = path.join(root, "data", "data", "Machine");
    fs.mkdirSync(machine, { recursive: true });
    fs.writeFileSync(path.join(machine, "settings.json"), JSON.stringify({ ...SETTINGS, ...settings }));
    stub(path.join(root, "data", "extensions"), "humao", "rest-client", "REST Client");
    const options = ["--accept-server-license-terms", "--server-data-dir", path.join(root, "data")];
    const env = { ...process.env, HOME: root, XDG_CACHE_HOME: root, XDG_STATE_HOME: root, ...more };
    const installed = spawnSync(
      process.execPath,
      [SERVER, ...options, "--install-extension", path.join(here, "..", vsix), "--force"],
      { encoding: "utf8", env },
    );
    if (!/successfully installed/.test(installed.stdout)) throw new Error(installed.stdout + installed.stderr);
    const child = spawn(
      process.execPath,
      [
        SERVER,
        ...options,
        ...["--without-connection-token", "--host", "127.0.0.1", "--port", "0"],
      ],
      { env, stdio: ["ignore", "pipe", "pipe"], detached: true },
    );
    const code = new Code();
    Object.assign(code, { root, child, log: "" });
    const listening = new Promise((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding("utf8").on("data", (data) => {
          code.log += data;
          const port = /Extension host agent listening on (\d+)/.exec(code.log)?.[1];
          if (port) resolve(Number(port));
        });
      }
      child.once("exit", () => reject(new Error(code.log)));
    });
    code.port = await listening;
    return code;
  }

  /** Make a folder of files, by their names. */
  folder(name, files) {
    const folder = path.join(this.root, name);
    for (const [file, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      fs.writeFileSync(path.join(folder, file), text);
    }
    return folder;
  }

  /** Open a window in the browser, with one of a folder's files; whether it is trusted is asked. */
  async open(browser, folder, name, trust, viewport = { width: 1400, height: 900 }) {
    const authority = `127.0.0.1:${this.port}`;
    const payload = JSON.stringify([["openFile", `vscode-remote://${authority}${path.join(folder, name)}`]]);
    const context = await browser.newContext({ viewport });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    const loaded = [];
    page.on("response", (response) => loaded.push(response.url()));
    await page.goto(`http://${authority}/?folder=${folder}&payload=${encodeURIComponent(payload)}`);
    await page.locator(".monaco-workbench .editor-instance .view-lines").first().waitFor();
    const answer = trust ? "Yes, I trust the authors" : "No, I don't trust the authors";
    await page.getByRole("button", { name: answer }).click();
    return new Workbench(this, page, loaded);
  }

  /** Where the extension keeps what is its own. */
  get storage() {
    return path.join(this.root, "data/data/User/globalStorage/orgrest.orgrest");
  }

  async stop() {
    await this.end("SIGTERM");
    this.remove();
  }

  /** End the server and all that it started; its folder stays. */
  async end(signal) {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    process.kill(-this.child.pid, signal);
    const late = setTimeout(() => process.kill(-this.child.pid, "SIGKILL"), 5000);
    await ended;
    clearTimeout(late);
  }

  remove() {
    fs.rmSync(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** One window, by what a user sees and does in it. */
export class Workbench {
  constructor(code, page, loaded) {
    Object.assign(this, { code, page, loaded });
  }

  /** The lens with this title over a line; it appears when the server has answered. */
  lens(title, nth = 0) {
    return this.page.locator(".contentWidgets .codelens-decoration a", { hasText: title }).nth(nth);
  }

  /** The row with a text, of a list that can be picked from. */
  offered(text) {
    return this.page.locator(".quick-input-widget:visible .quick-input-list .monaco-list-row", { hasText: text }).first();
  }

  /** Run a command by its title in the palette, which is opened again where something closed it. */
  async run(title) {
    await insist(`"${title}" is run`, async () => {
      await this.page.keyboard.press("F1");
      await this.page.locator(".quick-input-widget:visible input[type=text]").fill(`>${title}`, { timeout: BRIEF });
      await this.offered(title).click({ timeout: BRIEF });
    });
  }

  /** Pick what is offered under a text in the list that an action opens: again where something closed it. */
  async pick(open, text) {
    await insist(`"${text}" is picked`, async () => {
      await open();
      await this.offered(text).click({ timeout: BRIEF });
    });
  }

  /** Click a button that a row or a notification has while the mouse is over it. */
  async clickIn(row, button) {
    await insist(`"${button}" is clicked`, async () => {
      await row.hover({ timeout: BRIEF });
      await row.getByRole("button", { name: button }).click({ timeout: BRIEF });
    });
  }

  /** Answer a dialog for files, once VS Code has filled it in itself. */
  async file(title, name) {
    const dialog = this.page.locator(".quick-input-widget:visible", { hasText: title });
    await dialog.locator(".monaco-list-row", { hasText: ".." }).first().waitFor();
    await dialog.locator("input[type=text]").fill(name);
    await dialog.locator("input[type=text]").press("Enter");
  }

  /** The page of the response view. */
  get response() {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  }

  /** What a tab of the response view says. */
  async tab(name) {
    await this.response.getByRole("tab", { name }).click();
    return this.response.locator(`section[data-tab="${name}"]`);
  }

  /** What stands behind lines of the text, by decorations. */
  async behind() {
    const found = await this.page.locator(".editor-instance .view-line span[class*=ced-]").evaluateAll((spans) =>
      spans.map((one) => getComputedStyle(one, "::after").content),
    );
    return found.filter((one) => one !== "none" && one !== "normal").join("\n").replaceAll("\u00a0", " ");
  }

  /** The rows with a text, of the view with this name. */
  rows(view, text) {
    const pane = this.page.locator(".pane", { has: this.page.locator(".pane-header", { hasText: view }) });
    return pane.locator(".monaco-list-row", { hasText: text });
  }

  row(view, text) {
    return this.rows(view, text).first();
  }

  notification(text) {
    return this.page.locator(".notification-list-item", { hasText: text });
  }

  /** Wait for a notification. Of several within 800 ms, VS Code shows three; the list behind the bell has the others. */
  async notified(text) {
    const notification = this.notification(text);
    await insist(`"${text}" is shown`, async () => {
      await notification.waitFor({ timeout: BRIEF }).catch(async (error) => {
        await this.page.locator("[id='status.notifications'] a").click({ timeout: BRIEF });
        throw error;
      });
    });
    return notification;
  }

  status(text) {
    return this.page.locator(".statusbar-item", { hasText: text });
  }

  close() {
    return this.page.context().close();
  }

  async screenshot(name) {
    const folder = process.env.ORGREST_SCREENSHOTS;
    if (folder) await this.page.screenshot({ path: path.join(folder, `${name}.png`) });
  }
}

function newFolder() {
  return fs.mkdtempSync(path.join(os.tmpdir(), "orgrest-vscode-"));
}

/** An extension that is there and does nothing. */
function stub(extensions, publisher, name, displayName) {
  const folder = path.join(extensions, `${publisher}.${name}-1.0.0`);
  fs.mkdirSync(folder, { recursive: true });
  const manifest = { publisher, name, displayName, version: "1.0.0", engines: { vscode: "^1.90.0" }, contributes: {} };
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
}

export async function startBrowser() {
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/** Try something until it holds, as a user would look again. */
export async function eventually(what, check, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) assert.fail(`${what}: not within ${patience / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Do something again as long as one of its steps has no effect in the time that it gets. */
export async function insist(what, steps) {
  await eventually(what, async () => {
    try {
      await steps();
      return true;
    } catch (error) {
      if (error.name !== "TimeoutError") throw error;
      return false;
    }
  });
}
