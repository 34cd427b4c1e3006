// What a user gets, in a real VS Code: `npm test` here, after `npm run package` above.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";
import { after, afterEach, before, describe, test } from "node:test";

import { Api } from "./server.mjs";
import { Code, eventually, insist, startBrowser } from "./vscode.mjs";

const SLOW = 150_000;
const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let api;
let browser;
let code;

before(async () => {
  api = await Api.start();
  browser = await startBrowser();
  code = await Code.start({
    "orgrest.environments": ["dev"],
    "rest-client.environmentVariables": { dev: { mine: "of-the-user", where: "not-this" } },
    "rest-client.defaultHeaders": { "X-Mine": "default" },
  });
});

after(async () => {
  await browser?.close();
  await code?.stop();
  api?.stop();
});

/** The processes of language servers that the VS Code of a folder has started. */
function serverProcesses(root) {
  const processes = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const command = (pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8");
    } catch {
      return ""; // it has ended
    }
  };
  return processes.filter((pid) => command(pid).includes(root) && command(pid).endsWith("\0lsp\0")).map(Number);
}

describe("in a trusted folder", () => {
  let folder;
  let workbench;

  before(async () => {
    const files = {
      "a.http": `@api = ${api.url}

### Read
# @name read
GET {{api}}/read
Authorization: Bearer {{token}}

?? status == 200
?? body name == other

### Wait
GET {{api}}/slow
`,
      "two.http": `### First
GET ${api.url}/counted

### Second
GET ${api.url}/{{where}}
`,
      "hostile.http": `GET ${api.url}/hostile\n\n###\nGET ${api.url}/image\n\n###\nGET ${api.url}/long\n\n###\nGET ${api.url}/pdf\n\n###\nGET ${api.url}/large\n\n###\nGET ${api.url}/gone\n\n?? status == 404\n`,
      "cookie.http": `@used = /used\n### Log in\nGET ${api.url}/cookie\n\n### Use it\nGET ${api.url}{{used}}\n`,
      "events.http": `GET ${api.url}/events\nAccept: text/event-stream\n`,
      "settings.http": `GET ${api.url}/{{mine}}/{{where}}\n`,
      "writes.http": `GET ${api.url}/read\n\n>>! ../elsewhere/body.json\n`,
      "paste.http": `### Read\nGET ${api.url}/read\n\n###\n`,
      "old.postman_collection.json": JSON.stringify({
        info: { name: "Old", schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
        item: [{ name: "Imported", request: { method: "GET", url: `${api.url}/imported` } }],
      }),
      "asks.http": `GET ${api.url}/asked?{{$password Password?}}\n`,
      "tests.http": `### setup\n# @name setup\nGET ${api.url}/setup\n\n### Check\nGET ${api.url}/checked\n\n?? status == 200\n?? body name == other\n`,
      "notes.org": `* Notes\n#+begin_src http\nGET ${api.url}/org\n#+end_src\n`,
      "http-client.env.json": JSON.stringify({ dev: { where: "from-dev" }, live: { where: "from-live" } }),
      "http-client.private.env.json": JSON.stringify({ dev: { token: "a-secret-token" } }),
    };
    folder = code.folder("folder", files);
    workbench = await code.open(browser, folder, "a.http", true);
  });

  after(() => workbench?.close());

  afterEach((context) => workbench?.screenshot(`after ${context.name}`));

  /** Open another file of the folder, by its name, and nothing else. */
  async function openFile(name) {
    await workbench.run("View: Close All Editors");
    await workbench.page.locator(".editor-group-container.empty").waitFor();
    await workbench.run("File: Focus on Files Explorer");
    await workbench.page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).dblclick();
    const tab = workbench.page.locator(`.tab.active[data-resource-name="${name}"]`);
    await insist(`${name} has lenses`, async () => {
      await tab.click(); // VS Code asks for none while its editor has no focus
      await workbench.lens("Send request").waitFor({ timeout: 5000 });
    });
  }

  test("a notice says that another extension serves the same files", { timeout: SLOW }, async () => {
    const notice = workbench.notification("REST Client also handles .http files");
    await notice.waitFor();
    await workbench.clickIn(notice, "Clear Notification");
  });

  test("a click on the lens sends the request and shows the response beside, and the focus stays", { timeout: SLOW }, async () => {
    await workbench.lens("Send request").click();
    await workbench.response.locator(".summary", { hasText: "200 OK" }).waitFor();
    await workbench.screenshot("response");
    const pretty = await workbench.response.locator('section[data-tab="Pretty"] > pre').innerText();
    assert.match(pretty, /^\{\n {2}"name": "orgrest",\n/);
    assert.match(pretty, /12345678901234567890/);
    assert.deepEqual(api.requests, ["GET /read"]);
    assert.equal(api.headers.authorization, "Bearer a-secret-token");
    assert.equal(await workbench.page.evaluate(() => document.activeElement?.closest(".editor-instance") !== null), true);
  });

  test("what came of the request stands behind its line, until that is edited", { timeout: SLOW }, async () => {
    await eventually("it is there", async () => /200 · ✗ 1 of 2 · \d+ ms/.test(await workbench.behind()));
    await workbench.page.locator(".view-line", { hasText: "Authorization" }).click();
    await workbench.page.keyboard.press("End");
    await workbench.page.keyboard.type(" ");
    await eventually("it is gone", async () => !/200/.test(await workbench.behind()));
    await workbench.page.keyboard.press("Control+z");
  });

  test("headers, the request without its secrets, tests and timings have their tabs", async () => {
    assert.match(await (await workbench.tab("Headers")).innerText(), /HTTP\/1\.1 200 OK\nContent-Type: application\/json/);
    const request = await (await workbench.tab("Request")).innerText();
    assert.match(request, /GET http:\/\/127\.0\.0\.1:\d+\/read/);
    assert.doesNotMatch(request, /a-secret-token/);
    assert.match(await (await workbench.tab("Raw")).innerText(), /^\{"name":"orgrest","list"/);
    assert.match(await (await workbench.tab("Timings")).innerText(), /Wait for the response\s+\d+ ms/);
    assert.match(await (await workbench.tab("Tests")).innerText(), /✓ status == 200\s+✗ body name == other/);
  });

  test("the response opens as a document of its own language, which finds no error in it", async () => {
    await workbench.response.getByRole("button", { name: "Open in an Editor" }).click();
    await workbench.page.locator('.tab[data-resource-name$=".json"]').click();
    await workbench.status(/^JSON$/).waitFor();
  });

  test("a request that takes long is cancelled by a button, and the server sees that", { timeout: SLOW }, async () => {
    await openFile("a.http");
    await workbench.lens("Send request", 1).click();
    const notification = workbench.notification("Sending");
    await notification.getByRole("button", { name: "Cancel" }).click();
    await workbench.status("Request cancelled").waitFor();
    await eventually("the connection is closed", () => api.closed.length === 1);
    await notification.waitFor({ state: "detached" });
  });

  test("the settings that a user of REST Client has apply, below the folder's files", { timeout: SLOW }, async () => {
    await openFile("settings.http");
    await workbench.lens("Send request").click();
    await eventually("it is sent", () => api.requests.at(-1) === "GET /of-the-user/from-dev");
    assert.equal(api.headers["x-mine"], "default");
    await workbench.pick(() => workbench.run("Welcome: Open Walkthrough"), "Send requests with orgrest");
    await workbench.page.getByText("Open a request file").first().waitFor();
    await workbench.screenshot("walkthrough");
  });

  test("messages of a stream are shown as they come, and stay when it is cancelled", { timeout: SLOW }, async () => {
    await openFile("events.http");
    await workbench.lens("Send request").click();
    await eventually("it is sent", () => api.emit !== undefined);
    const log = workbench.response.locator("[role=log]");
    for (const text of ["one", "<b>two</b>", "three"]) {
      api.emit(text);
      await eventually(`${text} is shown`, async () => (await log.innerText().catch(() => "")).includes(text));
    }
    await workbench.screenshot("stream");
    await workbench.notification("Sending").getByRole("button", { name: "Cancel" }).click();
    await eventually("the connection is closed", () => api.closed.includes("/events"));
    await workbench.response.locator(".summary", { hasText: "Cancelled" }).waitFor();
    assert.match((await log.innerText()).trim(), /^one\s+<b>two<\/b>\s+three$/);
  });

  test("the environment that is chosen stands in the status bar and is what is sent", { timeout: SLOW }, async () => {
    await openFile("two.http");
    await workbench.pick(() => workbench.status("dev").click(), "live");
    await workbench.status("live").waitFor();
    await workbench.lens("Send request", 1).click();
    await workbench.response.locator(".summary", { hasText: "200 OK" }).waitFor();
    assert.equal(api.requests.at(-1), "GET /from-live");
  });

  test("what a request asks for is typed into an input box, hidden where it is a secret", { timeout: SLOW }, async () => {
    await openFile("asks.http");
    await workbench.lens("Send request").click();
    const input = workbench.page.locator(".quick-input-widget input:visible");
    await workbench.page.locator(".quick-input-widget", { hasText: "Password?" }).waitFor();
    await new Promise((resolve) => setTimeout(resolve, 1500)); // longer than a run takes before it is announced
    assert.equal(await workbench.notification("Sending").count(), 0);
    assert.equal(await workbench.status(/^Sending/).count(), 0);
    assert.equal(await input.getAttribute("type"), "password");
    await workbench.page.locator(".quick-input-widget").getByRole("button", { name: "Remember it" }).click();
    await input.fill("typed");
    await input.press("Enter");
    await workbench.response.locator(".summary", { hasText: "200 OK" }).waitFor();
    assert.equal(api.requests.at(-1), "GET /asked?typed");
    assert.doesNotMatch(await (await workbench.tab("Request")).innerText(), /typed/);
  });

  test("a secret that is to be remembered is typed once, and sent only with Enter", { timeout: SLOW }, async () => {
    const count = api.requests.length;
    await workbench.run("orgrest: Rerun Last Request");
    await workbench.page.locator(".quick-input-widget", { hasText: "remembered with Enter" }).waitFor();
    const input = workbench.page.locator(".quick-input-widget input:visible");
    assert.equal(await input.inputValue(), "typed");
    assert.equal(api.requests.length, count);
    await input.press("Enter");
    await eventually("it is sent", () => api.requests.length === count + 1);
    assert.equal(api.requests.at(-1), "GET /asked?typed");
  });

  test("a pasted curl command becomes a request", { timeout: SLOW }, async () => {
    await openFile("paste.http");
    await workbench.page.locator(".editor-instance .view-lines").first().click();
    await workbench.page.keyboard.press("Control+End");
    const command = `curl -X PUT ${api.url}/pasted -H 'X-A: b'`;
    await workbench.page.evaluate((text) => navigator.clipboard.writeText(text), command);
    await workbench.page.keyboard.press("Control+v");
    await workbench.lens("Send request", 1).waitFor();
    await workbench.lens("Send request", 1).click();
    await eventually("it is sent", () => api.requests.at(-1) === "PUT /pasted");
    assert.equal(api.headers["x-a"], "b");
  });

  test("a Postman collection is imported into a file that opens", { timeout: SLOW }, async () => {
    await workbench.pick(() => workbench.run("orgrest: Import Postman"), "Files...");
    await workbench.file("Import requests", path.join(folder, "old.postman_collection.json"));
    await workbench.file("A new file for the requests", path.join(folder, "imported.http"));
    await workbench.page.locator('.tab.active[data-resource-name="imported.http"]').waitFor();
    assert.match(fs.readFileSync(path.join(folder, "imported.http"), "utf8"), /GET .*\/imported/);
  });

  test("cookies are listed, and none is sent after they were cleared", { timeout: SLOW }, async () => {
    await openFile("cookie.http");
    await workbench.lens("Send request").click();
    await eventually("it is sent", () => api.requests.at(-1) === "GET /cookie");
    await workbench.run("View: Show orgrest");
    await workbench.row("Cookies and Variables", "session").waitFor();
    await workbench.lens("Send request", 1).click();
    await eventually("it is sent", () => api.requests.at(-1) === "GET /used");
    assert.equal(api.headers.cookie, "session=kept");
    await workbench.screenshot("session");
    await workbench.clickIn(workbench.row("Cookies and Variables", "Cookies"), "Clear Cookies");
    await workbench.row("Cookies and Variables", "session").waitFor({ state: "detached" });
    const count = api.requests.length;
    await workbench.lens("Send request", 1).click();
    await eventually("it is sent", () => api.requests.length === count + 1);
    assert.equal(api.headers.cookie, undefined);
  });

  test("a response of the history is shown again, and compared with that of now", { timeout: SLOW }, async () => {
    // Before the last one is listed, rows move.
    await eventually("all are listed", async () => (await workbench.rows("History", "Use it").count()) === 2);
    await workbench.row("History", "Log in").click();
    await workbench.response.locator(".summary", { hasText: /200 OK.* from / }).waitFor();
    assert.equal(await (await workbench.tab("Raw")).innerText(), "set");
    await workbench.screenshot("history");
    await workbench.clickIn(workbench.row("History", "Use it"), "Compare with the Last Response");
    await workbench.page.locator(".monaco-diff-editor").first().waitFor();
  });

  test("a request of the history is sent again by one click, and the history is cleared", { timeout: SLOW }, async () => {
    const count = api.requests.length;
    await workbench.clickIn(workbench.row("History", "Use it"), "Send Again");
    await eventually("it is sent", () => api.requests.length === count + 1);
    assert.equal(api.requests.at(-1), "GET /used");
    await workbench.run("orgrest: Clear the History");
    await workbench.page.locator(".monaco-dialog-box").getByRole("button", { name: "Clear the History" }).click();
    await eventually("nothing is listed", async () => (await workbench.rows("History", "").count()) === 0);
    await workbench.screenshot("cleared");
  });

  test("where a write is refused, a button allows it", { timeout: SLOW }, async () => {
    await openFile("writes.http");
    await workbench.lens("Send request").click();
    const notice = workbench.notification("Nothing was written to");
    await notice.waitFor();
    await workbench.screenshot("refused");
    const written = path.join(code.root, "elsewhere", "body.json");
    assert.equal(fs.existsSync(written), false);
    await notice.getByRole("button", { name: "Allow Writing Here" }).click();
    await workbench.page.locator(".editor-instance .view-lines").first().click();
    await eventually("it is written", async () => {
      await workbench.page.keyboard.press("Control+Alt+l");
      return fs.existsSync(written);
    });
  });

  test("a request becomes code in another language", { timeout: SLOW }, async () => {
    await openFile("paste.http");
    const press = async () => {
      await workbench.page.locator(".editor-instance .view-line", { hasText: "GET" }).click();
      await workbench.page.keyboard.press("Control+Alt+c");
    };
    await workbench.pick(press, "fetch");
    await workbench.page.locator(".editor-instance .view-line", { hasText: `fetch('${api.url}/read'` }).waitFor();
    await workbench.screenshot("code");
  });

  test("all requests of a file are sent in order, and each response can be chosen", { timeout: SLOW }, async () => {
    await openFile("two.http");
    await workbench.run("orgrest: Send All Requests");
    const options = workbench.response.locator("select option");
    await eventually("both responses are listed", async () => (await options.count()) === 2);
    assert.deepEqual(api.requests.slice(-2), ["GET /counted", "GET /from-live"]);
    await workbench.response.locator("select").selectOption("0");
    await eventually("the first is shown", async () =>
      /"count": 1/.test(await workbench.response.locator('section[data-tab="Pretty"]').innerText().catch(() => "")),
    );
  });

  test("a response is compared with the one before", { timeout: SLOW }, async () => {
    await workbench.page.locator(".tab.active").first().click(); // with the focus, VS Code asks for lenses anew: no click on one is lost
    await workbench.lens("Send request").click();
    await eventually("the second count is shown", async () =>
      /"count": 2/.test(await workbench.response.locator("section").first().innerText().catch(() => "")),
    );
    await workbench.response.getByRole("button", { name: "Compare" }).click();
    await workbench.page.locator(".monaco-diff-editor .line-insert, .monaco-diff-editor .char-insert").first().waitFor();
    await workbench.screenshot("compare");
  });

  test("the last request is sent again by a key", { timeout: SLOW }, async () => {
    await openFile("two.http");
    const count = api.count;
    await workbench.lens("Send request").click();
    await eventually("it is sent", () => api.count === count + 1);
    await workbench.response.locator(".summary", { hasText: "200 OK" }).waitFor();
    await workbench.page.locator(".editor-instance .view-lines").first().click();
    await workbench.page.keyboard.press("Control+Alt+l");
    await eventually("it is sent again", () => api.count === count + 2);
  });

  test("a hostile response runs nothing and loads nothing", { timeout: SLOW }, async () => {
    await openFile("hostile.http");
    await workbench.lens("Send request").click();
    await workbench.response.locator(".summary", { hasText: "200 OK" }).waitFor();
    const dialogs = [];
    workbench.page.on("dialog", (dialog) => dialogs.push(dialog.message()));
    const preview = await workbench.tab("Preview");
    await preview.locator("iframe").contentFrame().locator("h1", { hasText: "Hostile" }).waitFor();
    await workbench.screenshot("preview");
    await eventually("VS Code's formatter has indented it", async () => /\n\s+<h1>/.test(await (await workbench.tab("Pretty")).innerText()));
    for (const tab of ["Raw", "Headers", "Request", "Timings", "Pretty"]) await workbench.tab(tab);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.deepEqual(dialogs, []);
    assert.deepEqual(api.requests.filter((one) => one.includes("/beacon")), []);
    assert.deepEqual(workbench.loaded.filter((one) => one.startsWith(api.url)), []);
    assert.doesNotMatch(await workbench.page.title(), /pwned/);
  });

  test("an image is shown as one, and a long text to its end", { timeout: SLOW }, async () => {
    await openFile("hostile.http");
    await workbench.lens("Send request", 1).click();
    const image = workbench.response.locator('section[data-tab="Preview"] img');
    await eventually("the image is drawn", async () => (await image.evaluate((one) => one.naturalWidth).catch(() => 0)) === 1);
    assert.equal(await image.isVisible(), true, "without a click");
    await workbench.lens("Send request", 2).click();
    await workbench.response.locator(".summary", { hasText: "195.3 KiB" }).waitFor();
    const raw = await workbench.tab("Raw");
    await eventually("scrolling shows the end", async () => {
      await raw.locator("pre").last().evaluate((one) => one.scrollIntoView(false));
      return /the end\s*$/.test(await raw.innerText());
    });
  });

  test("a long JSON response opens whole, in its language, and read-only", { timeout: SLOW }, async () => {
    await openFile("hostile.http");
    await workbench.lens("Send request", 4).click();
    await workbench.response.locator(".summary", { hasText: /5\.\d MiB/ }).waitFor();
    await workbench.response.getByRole("button", { name: "Open in an Editor" }).click();
    await workbench.page.locator('.tab[data-resource-name$=".json"]').click();
    await workbench.status(/^JSON$/).waitFor();
    await insist("it ends with the last one, and cannot be edited", async () => {
      await workbench.page.locator('.tab.active[data-resource-name$=".json"]').click();
      await workbench.page.keyboard.press("Control+End");
      await workbench.page.locator(".editor-instance .view-line", { hasText: "the last one" }).waitFor({ timeout: 5000 });
      await workbench.page.keyboard.type("x");
      await workbench.page.getByText("Cannot edit in read-only editor").first().waitFor({ timeout: 5000 });
    });
  });

  test("the response view has no barrier that axe knows, also for a 404", { timeout: SLOW }, async () => {
    await openFile("hostile.http");
    await workbench.lens("Send request", 5).click();
    const summary = workbench.response.locator(".summary", { hasText: "404 Not Found" });
    await summary.waitFor();
    const frame = await (await summary.elementHandle()).ownerFrame();
    const dark = () => frame.locator("body.vscode-dark").count();
    for (const wanted of [0, 1]) {
      if ((await dark()) !== wanted) await workbench.run("Preferences: Toggle between Light/Dark Themes");
      await eventually("the theme is there", async () => (await dark()) === wanted);
      for (const tab of ["Raw", "Headers", "Request", "Tests", "Timings", "Pretty"]) {
        await workbench.tab(tab);
        await frame.evaluate(AXE);
        const { violations } = await frame.evaluate(() => globalThis.axe.run());
        const found = violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]);
        assert.deepEqual(found, [], `${tab}, ${wanted ? "dark" : "light"}`);
      }
      await workbench.screenshot(wanted ? "404 dark" : "404");
    }
    await workbench.run("Preferences: Toggle between Light/Dark Themes");
    await frame.locator('[role="tab"][data-tab="Pretty"]').press("ArrowRight");
    assert.equal(await frame.locator('section[data-tab="Raw"]').isVisible(), true);
  });

  test("a server that was killed is there again, with its cookies, lenses and hovers", { timeout: SLOW }, async () => {
    await openFile("cookie.http");
    await workbench.lens("Send request").click();
    await eventually("it is sent", () => api.requests.at(-1) === "GET /cookie");
    await workbench.run("View: Show orgrest");
    await workbench.row("Cookies and Variables", "session").waitFor();
    const pids = () => serverProcesses(code.root);
    const [pid] = await eventually("the server runs", () => (pids().length ? pids() : undefined));
    process.kill(pid, "SIGKILL");
    await eventually("another one runs", () => pids().some((one) => one !== pid));
    await workbench.row("Cookies and Variables", "session").waitFor();
    await insist("a hover tells of a variable", async () => {
      await workbench.page.mouse.move(0, 0);
      await workbench.page.locator(".view-line span", { hasText: /^(\{\{)?used(\}\})?$/ }).last().hover({ timeout: 5000 });
      await workbench.page.locator(".monaco-hover:visible", { hasText: "/used" }).waitFor({ timeout: 5000 });
    });
    await workbench.screenshot("restarted");
    const count = api.requests.length;
    await eventually("a click sends", async () => {
      await workbench.lens("Send request", 1).click();
      return api.requests.length > count;
    });
    assert.equal(api.requests.at(-1), "GET /used");
    assert.equal(api.headers.cookie, "session=kept");
  });

  test("a PDF document is saved for the system's program where that is on another machine", { timeout: SLOW }, async () => {
    await openFile("hostile.http");
    await workbench.lens("Send request", 3).click();
    await workbench.response.locator(".summary", { hasText: "15 B" }).waitFor();
    await (await workbench.tab("Preview")).getByRole("button", { name: "Open It" }).click();
    await workbench.file("Save the response", path.join(folder, "saved.pdf"));
    await eventually("it is saved", () => fs.existsSync(path.join(folder, "saved.pdf")));
    assert.equal(fs.readFileSync(path.join(folder, "saved.pdf"), "utf8"), "%PDF-1.4\n%%EOF\n");
  });

  test("the Test Explorer runs a file and shows the assertion that failed", { timeout: SLOW }, async () => {
    await openFile("tests.http");
    await workbench.run("Testing: Focus on Test Explorer View");
    const rows = workbench.page.locator(".test-explorer .monaco-list-row");
    const count = api.requests.length;
    await workbench.clickIn(rows.filter({ hasText: "tests.http" }), "Run Test");
    await eventually("the requests are sent", () => api.requests.length === count + 2);
    await rows.filter({ hasText: "tests.http" }).locator(".codicon-testing-failed-icon").waitFor();
    await workbench.page.getByText("orgrest != other").first().waitFor();
    await eventually("the outcome is behind the line", async () => /✗ 1 of 2/.test(await workbench.behind()));
    await workbench.screenshot("tests");
    assert.deepEqual(api.requests.slice(-2), ["GET /setup", "GET /checked"]);
  });

  test("in Org the answer comes below its block", { timeout: SLOW }, async () => {
    await openFile("notes.org");
    await workbench.lens("Send request").click();
    const lines = workbench.page.locator(".editor-instance .view-lines").first();
    await eventually("the result is inserted", async () => /#\+RESULTS:/i.test((await lines.innerText()).replaceAll(" ", " ")));
    await workbench.screenshot("org");
  });
});

describe("in a folder that is not trusted", () => {
  let workbench;
  const ran = () => fs.existsSync(path.join(code.root, "ran"));

  before(async () => {
    const files = {
      "a.http": `### Read\nGET ${api.url}/untrusted\n`,
      "evil.sh": '#!/bin/sh\ntouch "$(dirname "$0")/../ran"\n',
      ".vscode/settings.json": "{}",
    };
    const folder = code.folder("untrusted", files);
    const evil = path.join(folder, "evil.sh");
    fs.chmodSync(evil, 0o755);
    const own = { "orgrest.path": evil, "orgrest.interpreter": evil };
    fs.writeFileSync(path.join(folder, ".vscode/settings.json"), JSON.stringify(own));
    workbench = await code.open(browser, folder, "a.http", false);
  });

  afterEach((context) => workbench?.screenshot(`after ${context.name}`));

  test("requests are highlighted, nothing is started, and sending says why not", { timeout: SLOW }, async () => {
    await workbench.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
    await workbench.status("HTTP requests").waitFor();
    await workbench.page.locator(".view-line span[class^=mtk]:not(.mtk1)", { hasText: "GET" }).waitFor();
    await workbench.page.locator(".editor-instance .view-lines").first().click();
    await workbench.page.keyboard.press("Control+Alt+r");
    await workbench.notification("sends nothing from a folder that you do not trust").waitFor();
    await workbench.notification("sends nothing").getByRole("button", { name: "Manage Trust" }).click();
    await workbench.page.locator(".workspace-trust-editor").waitFor();
    assert.equal(await workbench.lens("Send request").count(), 0);
    assert.equal(ran(), false);
    assert.equal(api.requests.includes("GET /untrusted"), false);
    await workbench.screenshot("restricted");
  });
});
