// The cookies and the variables that responses and scripts have set, of the document that is shown: a view.

import * as vscode from "vscode";

import { shownDocument } from "./environments.ts";
import type { Server } from "./server.ts";

interface Session {
  cookies: { name: string; domain: string; path: string; expires: string | null }[];
  variables: { name: string; value: string }[];
}

type Kind = keyof Session;
type Item = Kind | vscode.TreeItem;

const LABELS: { [kind in Kind]: string } = { cookies: "Cookies", variables: "Variables set by responses and scripts" };

export class SessionView implements vscode.TreeDataProvider<Item>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changes.event;
  private readonly disposables: vscode.Disposable[];
  private found: Session = { cookies: [], variables: [] };

  private readonly server: Server;

  constructor(server: Server) {
    this.server = server;
    const look = (): void => this.changes.fire();
    this.disposables = [
      vscode.window.registerTreeDataProvider("orgrest.session", this),
      vscode.window.onDidChangeActiveTextEditor(look),
      server.onAnswer(look),
      server.onStart(look),
    ];
  }

  dispose(): void {
    for (const one of this.disposables) one.dispose();
  }

  async clear(kind: Kind): Promise<void> {
    await this.ask(kind);
    this.changes.fire();
  }

  async getChildren(item?: Item): Promise<Item[]> {
    if (item === undefined) {
      this.found = await this.ask();
      return this.found.cookies.length || this.found.variables.length ? ["cookies", "variables"] : [];
    }
    if (item === "variables") return this.found.variables.map(({ name, value }) => row(name, value, value));
    if (item !== "cookies") return [];
    return this.found.cookies.map(({ name, domain, path, expires }) => {
      const end = expires === null ? "until the document is closed" : `until ${new Date(expires).toLocaleString()}`;
      return row(name, `${domain}${path}`, `${name}: ${domain}${path}, ${end}`);
    });
  }

  getTreeItem(item: Item): vscode.TreeItem {
    if (typeof item !== "string") return item;
    const found = new vscode.TreeItem(LABELS[item], vscode.TreeItemCollapsibleState.Expanded);
    found.description = String(this.found[item].length);
    found.contextValue = item;
    return found;
  }

  private async ask(clear?: Kind): Promise<Session> {
    const none = { cookies: [], variables: [] };
    const uri = shownDocument()?.uri.toString();
    const client = await this.server.client();
    if (uri === undefined || client === undefined) return none;
    const params = { textDocument: { uri }, ...(clear ? { clear } : {}) };
    return client.sendRequest<Session>("orgrest/session", params).catch(() => none);
  }
}

function row(label: string, description: string, tooltip: string): vscode.TreeItem {
  const found = new vscode.TreeItem(label);
  return Object.assign(found, { description, tooltip });
}
