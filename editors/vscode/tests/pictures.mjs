// Makes the pictures of docs/vscode.md and of the extension's README, from a real VS Code: `npm run pictures`
// here, after `npm run package` above. Needs uv, which runs Pillow.

import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

import { Api } from "./server.mjs";
import { Code, eventually, startBrowser } from "./vscode.mjs";

const DOCS = path.join(import.meta.dirname, "../../../docs");
const ANIMATED = path.join(import.meta.dirname, "../walkthrough/send.gif");
const ANIMATE = `
import sys
from PIL import Image
target, *names = sys.argv[1:]
frames = [Image.open(name).convert("RGB").quantize(64, dither=Image.Dither.NONE) for name in names]
frames[0].save(target, save_all=True, append_images=frames[1:], duration=[1200] + [1800] * (len(names) - 1), loop=0)
`;
const SMALL = `
import sys
from PIL import Image
for name in sys.argv[1:]:
    Image.open(name).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(name, optimize=True)
`;
const SETTINGS = {
  "orgrest.environments": ["dev"],
  "workbench.colorTheme": "Default Light Modern",
  "workbench.activityBar.location": "top",
  "editor.minimap.enabled": false,
  "breadcrumbs.enabled": false,
  "window.commandCenter": false,
  "editor.glyphMargin": false,
  "editor.inlayHints.enabled": "off",
};

const api = await Api.start(8000);
const files = {
  "users.http": `### Who am I?
# @name read
GET {{api}}/read
Authorization: Bearer {{token}}

?? status == 200
?? body name == orgrest

### Log in
GET {{api}}/cookie

### How many?
GET {{api}}/counted

?? body count == 2
`,
  "events.http": "### What happens now\nGET {{api}}/events\nAccept: text/event-stream\n",
  "http-client.env.json": JSON.stringify({ dev: { api: api.url } }),
  "http-client.private.env.json": JSON.stringify({ dev: { token: "a-secret-token" } }),
};
const pillow = (code, ...names) => {
  const done = spawnSync("uv", ["run", "--no-project", "--with", "pillow", "python", "-c", code, ...names], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
};
const frames = fs.mkdtempSync(path.join(os.tmpdir(), "orgrest-frames-"));
const browser = await startBrowser();
const code = await Code.start(SETTINGS);
try {
  const folder = code.folder("folder", files);
  const size = { width: 1080, height: 520 };
  const workbench = await code.open(browser, folder, "users.http", true, size);
  const take = (name, { page } = workbench) => page.screenshot({ path: path.join(DOCS, `vscode-${name}.png`) });
  let count = 0;
  const frame = () => workbench.page.screenshot({ path: path.join(frames, `${String(count++).padStart(2, "0")}.png`) });
  const shown = (text) => workbench.response.locator(".summary", { hasText: text }).waitFor();
  await workbench.run("View: Toggle Primary Side Bar Visibility");
  await workbench.lens("Send request").waitFor();
  await workbench.run("Notifications: Clear All Notifications"); // of the other extension
  await frame();
  await workbench.lens("Send request").hover();
  await frame();
  await workbench.lens("Send request").click();
  await shown("2 passed");
  await frame();
  await workbench.tab("Tests");
  await frame();
  await workbench.tab("Pretty");
  await take("response");
  await workbench.lens("Send request", 1).click();
  await shown(/3 B/);
  await workbench.lens("Send request", 2).click();
  await shown("1 of 1 assertions failed");
  await frame();
  await workbench.run("View: Show orgrest");
  await workbench.row("History", "How many?").waitFor();
  await workbench.row("Cookies and Variables", "session").waitFor();
  await workbench.row("History", "read").click();
  await shown(/2 passed · of /);
  await take("history");
  await frame();
  const other = await code.open(browser, folder, "events.http", true, size);
  await other.run("View: Toggle Primary Side Bar Visibility");
  await other.run("Preferences: Toggle between Light/Dark Themes");
  await other.lens("Send request").click();
  await eventually("it is sent", () => api.emit !== undefined);
  for (const text of ['{"order": 17, "state": "paid"}', '{"order": 18, "state": "paid"}', '{"order": 17, "state": "sent"}']) api.emit(text);
  await other.response.locator("[role=log] pre").nth(2).waitFor();
  await other.notification("Sending").waitFor();
  await take("stream", other);
  pillow(SMALL, ...["response", "history", "stream"].map((name) => path.join(DOCS, `vscode-${name}.png`)));
  pillow(ANIMATE, ANIMATED, ...fs.readdirSync(frames).sort().map((name) => path.join(frames, name)));
} finally {
  fs.rmSync(frames, { recursive: true });
  await browser.close();
  await code.stop();
  api.stop();
}
