// Makes the pictures of docs/vscode.md, from a real VS Code: `npm run pictures` here, after
// `npm run package` above.

import * as path from "node:path";

import { Api } from "./server.mjs";
import { Code, startBrowser } from "./vscode.mjs";

const DOCS = path.join(import.meta.dirname, "../../../docs");
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
  "http-client.env.json": JSON.stringify({ dev: { api: api.url } }),
  "http-client.private.env.json": JSON.stringify({ dev: { token: "a-secret-token" } }),
};
const browser = await startBrowser();
const code = await Code.start(SETTINGS);
try {
  const workbench = await code.open(browser, code.folder("folder", files), "users.http", true, { width: 1080, height: 520 });
  const take = (name) => workbench.page.screenshot({ path: path.join(DOCS, `vscode-${name}.png`) });
  const shown = (text) => workbench.response.locator(".summary", { hasText: text }).waitFor();
  await workbench.run("View: Toggle Primary Side Bar Visibility");
  await workbench.lens("Send request").click({ timeout: 60_000 });
  await shown("2 passed");
  await workbench.run("Notifications: Clear All Notifications"); // of the other extension
  await take("response");
  await workbench.lens("Send request", 1).click();
  await shown(/3 B/);
  await workbench.lens("Send request", 2).click();
  await shown("1 of 1 assertions failed");
  await workbench.run("View: Show orgrest");
  await workbench.row("History", "How many?").waitFor();
  await workbench.row("Cookies and Variables", "session").waitFor();
  await workbench.row("History", "read").click();
  await shown(/2 passed · of /);
  await take("history");
} finally {
  await browser.close();
  await code.stop();
  api.stop();
}
