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
const PAUSE = 300;
/** The milliseconds after an answer until the view is refreshed, because more answers may come. */

export class History implements vscode.TreeDataProvider<Run | Entry>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changes.event;
  private readonly view: vscode.TreeView<Run | Entry>;
  private readonly heard: vscode.Disposable;
  private timer: NodeJS.Timeout | undefined;

  private readonly server: Server;

  constructor(server: Server) {
    this.server = server;
    this.view = vscode.window.createTreeView("orgrest.history", { treeDataProvider: this });
    this.heard = vscode.Disposable.from(
      server.onAnswer(() => this.refresh(PAUSE)),
      server.onStart(() => this.refresh()),
    );
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.heard.dispose();
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
      const found = await client?.sendRequest<{ runs: Run[] }>("orgrest/history", { folders: openFolders() });
      this.view.message = "";
      return (found?.runs ?? []).flatMap<Run | Entry>((run) => (run.requests.length > 1 ? [run] : entries(run)));
    } catch (error) {
      this.view.message = error instanceof Error ? error.message : String(error);
      return [];
    }
  }

  getTreeItem(item: Run | Entry): vscode.TreeItem {
    const when = new Date(item.started).toLocaleString();
    if ("requests" in item) {
      const failed = item.requests.filter((one) => one.outcome === "failed" || one.outcome === "error").length;
      const found = new vscode.TreeItem(when, vscode.TreeItemCollapsibleState.Collapsed);
      found.id = item.run;
      found.description = `${item.requests.length}${item.cut ? " and more" : ""} requests${failed ? `, ${failed} failed` : ""}`;
      found.iconPath = ICONS[failed ? "failed" : "passed"];
      return found;
    }
    const uri = vscode.Uri.parse(item.uri);
    const found = new vscode.TreeItem(item.name ?? `${item.method} ${item.url}`);
    found.id = `${item.run} ${item.number}`;
    found.description = [item.status, when].filter((one) => one !== null).join(" · ");
    found.tooltip = `${item.method} ${item.url}\n${vscode.workspace.asRelativePath(uri)}:${item.line + 1}\n${when}`;
    found.iconPath = ICONS[item.outcome];
    found.contextValue = "request";
    found.command = { title: "Show", command: "orgrest.showHistory", arguments: [item] };
    return found;
  }

  /** Remove the requests of the open folders from the history, if the user confirms that. */
  async clear(): Promise<void> {
    const button = "Clear the History";
    const detail = "This removes what orgrest keeps of the requests of the open folders, including those of the command line.";
    if ((await vscode.window.showWarningMessage("Clear the history?", { modal: true, detail }, button)) !== button) return;
    const client = await this.server.client();
    await client?.sendRequest("orgrest/history", { folders: openFolders(), clear: true });
    this.refresh();
  }

  /** Return a request of the history and its response, to be shown like any other answer. */
  async answer({ run, number }: Entry): Promise<Answer | undefined> {
    const client = await this.server.client();
    const found = await client?.sendRequest<Answer>("orgrest/history", { run, number });
    if (found === undefined) return undefined;
    const uri = vscode.Uri.parse(found.request.uri).toString(); // encoded as by VS Code
    return { ...found, kept: found.record.started, request: { ...found.request, uri } };
  }
}

function openFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).map((one) => one.uri.toString());
}

function entries({ run, started, requests }: Run): Entry[] {
  return requests.map((one) => ({ ...one, run, started }));
}
