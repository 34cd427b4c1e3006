// Imports requests from other tools: `orgrest import` converts files and folders; the server converts pasted text.

import { execFile } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";

import type { Server } from "./server.ts";

const DOCUMENTS: vscode.DocumentSelector = [{ language: "http" }, { language: "org" }];
/** Matches the start of text that may be a request; other text is not sent to the server. */
const BEGINS = /^\s*(?:\$\s+)?(?:curl(?:\.exe)?\s|\{[^]*"headers")/;

interface Pasted {
  title: string;
  text: string;
}

/** Ask the user what to import and where to save it, and import it. */
export async function importRequests(server: Server, source?: vscode.Uri): Promise<void> {
  if (!vscode.workspace.isTrusted) return;
  const sources = source ? [source] : await chooseSources(server);
  const [first] = sources ?? [];
  if (sources === undefined || first === undefined) return;
  const name = path.basename(first.fsPath).replace(/\.[^.]*$/, "").replace(/\.postman_collection$/, "");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.joinPath(first, "..");
  const target = await vscode.window.showSaveDialog({
    title: "A new file for the requests",
    defaultUri: vscode.Uri.joinPath(folder, `${name}.http`),
    filters: { "Request files": ["http", "rest"], Org: ["org"] },
  });
  if (target === undefined) return;
  const { command, args } = await server.launch();
  const files = sources.map((uri) => uri.fsPath);
  const { failed, output } = await run(command, [...args, "import", "-o", target.fsPath, "--", ...files]);
  if (output) server.log.info(output);
  if (failed) {
    void vscode.window.showErrorMessage(output || "Nothing could be imported.");
    return;
  }
  await vscode.window.showTextDocument(target);
  if (!output) return;
  const log = "Show the Log";
  const text = "The requests were imported. Read the notes about them in the log.";
  if ((await vscode.window.showWarningMessage(text, log)) === log) server.log.show();
}

async function chooseSources(server: Server): Promise<vscode.Uri[] | undefined> {
  const files = { label: "$(file) Files...", detail: "Postman, Insomnia, OpenAPI, HAR, hurl, curl commands, HTTP messages" };
  const folder = { label: "$(folder) Folder...", detail: "A Bruno collection" };
  const clipboard = { label: "$(clippy) Clipboard", detail: "A curl command or an entry of a HAR file" };
  const picked = await vscode.window.showQuickPick([files, folder, clipboard], { title: "Import requests" });
  if (picked === clipboard) await pasteRequest(server);
  if (picked === undefined || picked === clipboard) return undefined;
  const isFolder = picked === folder;
  return vscode.window.showOpenDialog({
    title: "Import requests",
    openLabel: "Import",
    canSelectFiles: !isFolder,
    canSelectFolders: isFolder,
    canSelectMany: !isFolder,
  });
}

/** Run a program; return whether it failed, and its messages. */
async function run(command: string, args: string[]): Promise<{ failed: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(command, args, { cwd: __dirname, windowsHide: true }, (error, _, stderr) =>
      resolve({ failed: error !== null, output: stderr.trim() || (error?.message ?? "") }),
    );
    child.stdin?.end();
  });
}

/** Insert the clipboard's text as a request, into the active document or, if no document is active, a new document. */
export async function pasteRequest(server: Server): Promise<void> {
  const text = await vscode.env.clipboard.readText();
  const active = vscode.window.activeTextEditor;
  const isDocument = active && vscode.languages.match(DOCUMENTS, active.document) > 0;
  const editor = isDocument
    ? active
    : await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: "http" }));
  const request = await asRequest(server, editor.document, editor.selection, text);
  if (request) await editor.edit((edit) => edit.replace(editor.selection, request.text));
  else void vscode.window.showWarningMessage("The clipboard contains no curl command or HAR entry, or a request cannot be inserted here.");
}

async function asRequest(
  server: Server,
  document: vscode.TextDocument,
  { start, end }: vscode.Range,
  text: string,
): Promise<Pasted | null> {
  const client = await server.client();
  const params = { textDocument: { uri: document.uri.toString() }, range: { start, end }, text };
  return (await client?.sendRequest<Pasted | null>("orgrest/pasted", params)) ?? null;
}

/** Converts pasted text, such as curl commands, to requests. */
export class PasteAsRequest implements vscode.DocumentPasteEditProvider {
  static readonly kind = vscode.DocumentDropOrPasteEditKind.Empty.append("orgrest", "request");

  private readonly server: Server;

  constructor(server: Server) {
    this.server = server;
  }

  register(): vscode.Disposable {
    const { kind } = PasteAsRequest;
    const metadata = { providedPasteEditKinds: [kind], pasteMimeTypes: ["text/plain"] };
    return vscode.languages.registerDocumentPasteEditProvider(DOCUMENTS, this, metadata);
  }

  async provideDocumentPasteEdits(
    document: vscode.TextDocument,
    [range, ...others]: readonly vscode.Range[],
    data: vscode.DataTransfer,
  ): Promise<vscode.DocumentPasteEdit[] | undefined> {
    const text = await data.get("text/plain")?.asString();
    if (text === undefined || range === undefined || others.length || !BEGINS.test(text)) return undefined;
    const request = await asRequest(this.server, document, range, text).catch(() => null);
    return request ? [new vscode.DocumentPasteEdit(request.text, request.title, PasteAsRequest.kind)] : undefined;
  }
}
