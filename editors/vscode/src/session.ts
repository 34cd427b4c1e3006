// The view of the cookies and the variables that responses and scripts have set in the visible document.

import * as vscode from "vscode";

import { shownDocument } from "./environments.ts";
import type { Server } from "./server.ts";

/** The cookies and variables of a document; `state` has their values, including secrets. */
interface Session {
  cookies: { name: string; domain: string; path: string; expires: string | null }[];
  variables: { name: string; value: string }[];
  state?: string;
}

type Kind = "cookies" | "variables";
type Item = Kind | vscode.TreeItem;

const LABELS: { [kind in Kind]: string } = { cookies: "Cookies", variables: "Variables set by responses and scripts" };

export class SessionView implements vscode.TreeDataProvider<Item>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changes.event;
  private readonly disposables: vscode.Disposable[];
  private found: Session = { cookies: [], variables: [] };
  /** The last state of each open document, for a new server after the old one has ended. */
  private readonly states = new Map<string, string>();

  private readonly server: Server;

  constructor(server: Server) {
    this.server = server;
    const look = (): void => this.changes.fire();
    this.disposables = [
      vscode.window.registerTreeDataProvider("orgrest.session", this),
      vscode.window.onDidChangeActiveTextEditor(look),
      server.onAnswer(({ textDocument }) => void this.ask(textDocument.uri).then(look)),
      server.onStart(look),
      server.onOpen((uri) => void this.restore(uri)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.states.delete(uri.toString())),
    ];
  }

  dispose(): void {
    for (const one of this.disposables) one.dispose();
  }

  async clear(kind: Kind): Promise<void> {
    const uri = shownDocument()?.uri.toString();
    if (uri === undefined) return;
    await this.ask(uri, { clear: kind, state: true });
    this.changes.fire();
  }

  async getChildren(item?: Item): Promise<Item[]> {
    if (item === undefined) {
      const uri = shownDocument()?.uri.toString();
      this.found = (uri === undefined ? undefined : await this.ask(uri)) ?? { cookies: [], variables: [] };
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

  /** Send the last state of a document to a server that was notified of it, if the server is new. */
  private async restore(uri: string): Promise<void> {
    const state = this.states.get(uri);
    if (state === undefined) return;
    await this.ask(uri, { state });
    this.changes.fire();
  }

  private async ask(uri: string, more: { clear?: Kind; state: true | string } = { state: true }): Promise<Session | undefined> {
    const client = await this.server.client();
    try {
      const found = await client?.sendRequest<Session>("orgrest/session", { textDocument: { uri }, ...more });
      if (found?.state !== undefined) this.states.set(uri, found.state);
      return found;
    } catch (error) {
      this.server.log.warn(`orgrest/session: ${String(error)}`);
      return undefined;
    }
  }
}

function row(label: string, description: string, tooltip: string): vscode.TreeItem {
  const found = new vscode.TreeItem(label);
  return Object.assign(found, { description, tooltip });
}
