// Shows the environment of the active document in the status bar. While the response view is active, this
// is the environment of a visible document.

import * as vscode from "vscode";

import type { Server } from "./server.ts";

const LANGUAGES = new Set(["http", "org"]);
const NONE = "No Environment";

interface Answer {
  environments: string[];
  chosen: string[];
}

export class Environments implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem(
    "orgrest.environment",
    vscode.StatusBarAlignment.Right,
    100,
  );
  private readonly chosen = new Map<string, string[]>();
  private readonly disposables: vscode.Disposable[];

  private readonly server: Server;

  constructor(server: Server) {
    this.server = server;
    this.item.name = "orgrest: environment";
    this.item.command = "orgrest.switchEnvironment";
    this.item.tooltip = "The environment of the requests in this folder";
    this.disposables = [
      this.item,
      vscode.window.onDidChangeVisibleTextEditors(() => void this.show()),
      server.onStart(() => void this.show()),
    ];
    void this.show();
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Let the user choose the environment of the visible document. */
  async choose(): Promise<void> {
    const document = shownDocument();
    if (document === undefined) return;
    const answer = await this.ask(document.uri);
    if (answer === undefined) return;
    if (answer.environments.length === 0) {
      const files = "http-client.env.json, .httpyac.json, .env or .vscode/settings.json";
      void vscode.window.showInformationMessage(`This document has no environments. Define them in ${files}, in its folder or a parent folder.`);
      return;
    }
    const items = [...answer.environments, NONE].map((label) => ({
      label,
      description: answer.chosen.includes(label) ? "chosen" : "",
    }));
    const picked = await vscode.window.showQuickPick(items, { title: "The environment of the requests in this folder" });
    if (picked === undefined) return;
    await this.ask(document.uri, picked.label === NONE ? [] : [picked.label]);
    await this.show();
  }

  /** Return the environments chosen for a document, which the server stores for each folder. */
  async of(uri: vscode.Uri): Promise<string[]> {
    const known = this.chosen.get(folderOf(uri));
    return known ?? (await this.ask(uri))?.chosen ?? [];
  }

  /** Forget the chosen environments, because the settings have changed. */
  forget(): void {
    this.chosen.clear();
    void this.show();
  }

  async show(): Promise<void> {
    const document = shownDocument();
    if (document === undefined || !vscode.workspace.isTrusted) {
      this.item.hide();
      return;
    }
    const names = await this.of(document.uri);
    if (shownDocument() !== document) return;
    this.item.text = `$(server-environment) ${names.join(", ") || NONE}`;
    this.item.show();
  }

  private async ask(uri: vscode.Uri, chosen?: string[]): Promise<Answer | undefined> {
    const client = await this.server.client();
    const params = { textDocument: { uri: uri.toString() }, ...(chosen ? { chosen } : {}) };
    try {
      const answer = await client?.sendRequest<Answer>("orgrest/environments", params);
      if (answer) this.chosen.set(folderOf(uri), answer.chosen);
      return answer;
    } catch (error) {
      if (chosen) void vscode.window.showErrorMessage(String(error)); // otherwise, diagnostics show it
      return undefined;
    }
  }
}

/** Return the document whose environment is shown: the active document, else a visible one. */
export function shownDocument(): vscode.TextDocument | undefined {
  const editors = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors];
  return editors.find((editor) => editor && LANGUAGES.has(editor.document.languageId))?.document;
}

function folderOf(uri: vscode.Uri): string {
  return vscode.Uri.joinPath(uri, "..").toString();
}
