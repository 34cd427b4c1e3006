// The view of the cookies and variables that responses and scripts have set for the visible document.

import * as vscode from "vscode";

import { shownDocument } from "./environments.ts";
import type { Server } from "./server.ts";

/** The cookies and variables of a document; `state` contains their values, including secrets. */
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
  private session: Session = { cookies: [], variables: [] };
  /** The last state of each open document, which is restored in a server that has been restarted. */
  private readonly states = new Map<string, string>();

  private readonly server: Server;

  constructor(server: Server) {
    this.server = server;
    const refresh = (): void => this.changes.fire();
    this.disposables = [
      vscode.window.registerTreeDataProvider("orgrest.session", this),
      vscode.window.onDidChangeActiveTextEditor(refresh),
      server.onAnswer(({ textDocument }) => void this.ask(textDocument.uri).then(refresh)),
      server.onStart(refresh),
      server.onOpen((uri) => void this.restore(uri)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.states.delete(uri.toString())),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
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
      this.session = (uri === undefined ? undefined : await this.ask(uri)) ?? { cookies: [], variables: [] };
      return this.session.cookies.length || this.session.variables.length ? ["cookies", "variables"] : [];
    }
    if (item === "variables") return this.session.variables.map(({ name, value }) => row(name, value, value));
    if (item !== "cookies") return [];
    return this.session.cookies.map(({ name, domain, path, expires }) => {
      const end = expires === null ? "until the document is closed" : `until ${new Date(expires).toLocaleString()}`;
      return row(name, `${domain}${path}`, `${name}: ${domain}${path}, ${end}`);
    });
  }

  getTreeItem(item: Item): vscode.TreeItem {
    if (typeof item !== "string") return item;
    const node = new vscode.TreeItem(LABELS[item], vscode.TreeItemCollapsibleState.Expanded);
    node.description = String(this.session[item].length);
    node.contextValue = item;
    return node;
  }

  /** Send the last state of a document, if any, to a server that has just opened the document. */
  private async restore(uri: string): Promise<void> {
    const state = this.states.get(uri);
    if (state === undefined) return;
    await this.ask(uri, { state });
    this.changes.fire();
  }

  private async ask(uri: string, options: { clear?: Kind; state: true | string } = { state: true }): Promise<Session | undefined> {
    const client = await this.server.client();
    try {
      const session = await client?.sendRequest<Session>("orgrest/session", { textDocument: { uri }, ...options });
      if (session?.state !== undefined) this.states.set(uri, session.state);
      return session;
    } catch (error) {
      this.server.log.warn(`orgrest/session: ${String(error)}`);
      return undefined;
    }
  }
}

function row(label: string, description: string, tooltip: string): vscode.TreeItem {
  return Object.assign(new vscode.TreeItem(label), { description, tooltip });
}
