// A real VS Code: the web server of code-server's npm package, with the packaged extension installed,
// in Chromium. `Workbench` is one window of it.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";

import { chromium } from "playwright-core";

const here = import.meta.dirname;
const VSIX = path.join(here, "..", "orgrest.vsix");
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

/** A VS Code server with folders of files, each of which a window opens. */
export class Code {
  static async start(settings = {}) {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), "orgrest-vscode-"));
    const machine = path.join(root, "data", "data", "Machine");
    fs.mkdirSync(machine, { recursive: true });
    fs.writeFileSync(path.join(machine, "settings.json"), JSON.stringify({ ...SETTINGS, ...settings }));
    stub(path.join(root, "data", "extensions"), "humao", "rest-client", "REST Client");
    const options = ["--accept-server-license-terms", "--server-data-dir", path.join(root, "data")];
    const env = { ...process.env, HOME: root, XDG_CACHE_HOME: root, XDG_STATE_HOME: root };
    const installed = spawnSync(process.execPath, [SERVER, ...options, "--install-extension", VSIX], {
      encoding: "utf8",
      env,
    });
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
    page.setDefaultTimeout(30_000);
    const loaded = [];
    page.on("response", (response) => loaded.push(response.url()));
    await page.goto(`http://${authority}/?folder=${folder}&payload=${encodeURIComponent(payload)}`);
    await page.locator(".monaco-workbench .editor-instance .view-lines").first().waitFor({ timeout: 60_000 });
    const answer = trust ? "Yes, I trust the authors" : "No, I don't trust the authors";
    await page.getByRole("button", { name: answer }).click();
    return new Workbench(this, page, loaded);
  }

  async stop() {
    const ended = once(this.child, "exit");
    process.kill(-this.child.pid, "SIGTERM");
    const late = setTimeout(() => process.kill(-this.child.pid, "SIGKILL"), 5000);
    await ended;
    clearTimeout(late);
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

  /** Run a command by its title in the palette. */
  async run(title) {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input");
    await input.waitFor();
    await input.fill(`>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click();
  }

  /** Pick what is offered under this text. */
  async pick(text) {
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first().click();
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
