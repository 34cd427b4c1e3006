// The view of the history: the runs that `orgrest history` keeps for documents in the open folders.

import * as vscode from "vscode";

import type { Answer } from "./answer.ts";
import type { Server } from "./server.ts";

interface Kept {
  number: number;
  uri: string;
  line: number;
  name: string | null;
  outcome: "passed" | "failed" | "error" | "skipped";
  method: string;
  url: string;
  status: number | null;
}

interface Run {
  run: string;
  started: string;
  cut: boolean;
  requests: Kept[];
}

/** A request of a run. */
export type Entry = Kept & Pick<Run, "run" | "started">;

const ICONS: { [outcome in Kept["outcome"]]: vscode.ThemeIcon } = {
  passed: new vscode.ThemeIcon("pass", new vscode.ThemeColor("testing.iconPassed")),
  failed: new vscode.ThemeIcon("error", new vscode.ThemeColor("testing.iconFailed")),
  error: new vscode.ThemeIcon("error", new vscode.ThemeColor("testing.iconFailed")),
  skipped: new vscode.ThemeIcon("circle-slash"),
};
/** How long the view waits after an answer before it refreshes, because more answers may follow: in milliseconds. */
const PAUSE = 300;

export class History implements vscode.TreeDataProvider<Run | Entry>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changes.event;
  private readonly view: vscode.TreeView<Run | Entry>;
  private readonly listeners: vscode.Disposable;
  private timer: NodeJS.Timeout | undefined;

  private readonly server: Server;

  constructor(server: Server) {
    this.server = server;
    this.view = vscode.window.createTreeView("orgrest.history", { treeDataProvider: this });
    this.listeners = vscode.Disposable.from(
      server.onAnswer(() => this.refresh(PAUSE)),
      server.onStart(() => this.refresh()),
    );
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.listeners.dispose();
    this.view.dispose();
  }

  refresh(delay = 0): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.changes.fire(), delay);
  }

  async getChildren(item?: Run | Entry): Promise<(Run | Entry)[]> {
    if (item) return "requests" in item ? entries(item) : [];
    try {
      const client = await this.server.client();
      const history = await client?.sendRequest<{ runs: Run[] }>("orgrest/history", { folders: openFolders() });
      this.view.message = "";
      return (history?.runs ?? []).flatMap<Run | Entry>((run) => (run.requests.length > 1 ? [run] : entries(run)));
    } catch (error) {
      this.view.message = error instanceof Error ? error.message : String(error);
      return [];
    }
  }

  getTreeItem(item: Run | Entry): vscode.TreeItem {
    const when = new Date(item.started).toLocaleString();
    if ("requests" in item) {
      const failed = item.requests.filter(({ outcome }) => outcome === "failed" || outcome === "error").length;
      const node = new vscode.TreeItem(when, vscode.TreeItemCollapsibleState.Collapsed);
      node.id = item.run;
      node.description = `${item.cut ? "more than " : ""}${item.requests.length} requests${failed ? `, ${failed} failed` : ""}`;
      node.iconPath = ICONS[failed ? "failed" : "passed"];
      return node;
    }
    const uri = vscode.Uri.parse(item.uri);
    const node = new vscode.TreeItem(item.name ?? `${item.method} ${item.url}`);
    node.id = `${item.run} ${item.number}`;
    node.description = [item.status, when].filter((part) => part !== null).join(" · ");
    node.tooltip = `${item.method} ${item.url}\n${vscode.workspace.asRelativePath(uri)}:${item.line + 1}\n${when}`;
    node.iconPath = ICONS[item.outcome];
    node.contextValue = "request";
    node.command = { title: "Show", command: "orgrest.showHistory", arguments: [item] };
    return node;
  }

  /** Remove the requests of the open folders from the history, if the user confirms. */
  async clear(): Promise<void> {
    const button = "Clear the History";
    const detail = "This removes the records of all requests in the open folders, including requests sent from the command line.";
    if ((await vscode.window.showWarningMessage("Clear the history?", { modal: true, detail }, button)) !== button) return;
    const client = await this.server.client();
    await client?.sendRequest("orgrest/history", { folders: openFolders(), clear: true });
    this.refresh();
  }

  /** Return a request from the history with its response, in the form of any other answer. */
  async answer({ run, number }: Entry): Promise<Answer | undefined> {
    const client = await this.server.client();
    const answer = await client?.sendRequest<Answer>("orgrest/history", { run, number });
    if (answer === undefined) return undefined;
    const uri = vscode.Uri.parse(answer.request.uri).toString(); // in VS Code's encoding
    return { ...answer, kept: answer.record.started, request: { ...answer.request, uri } };
  }
}

function openFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.toString());
}

function entries({ run, started, requests }: Run): Entry[] {
  return requests.map((request) => ({ ...request, run, started }));
}
