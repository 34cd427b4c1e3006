// The history as a view: what `orgrest history` keeps of the documents in the open folders, by runs.

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

/** One request of a run. */
export type Entry = Kept & Pick<Run, "run" | "started">;

const ICONS: { [outcome in Kept["outcome"]]: vscode.ThemeIcon } = {
  passed: new vscode.ThemeIcon("pass", new vscode.ThemeColor("testing.iconPassed")),
  failed: new vscode.ThemeIcon("error", new vscode.ThemeColor("testing.iconFailed")),
  error: new vscode.ThemeIcon("error", new vscode.ThemeColor("testing.iconFailed")),
  skipped: new vscode.ThemeIcon("circle-slash"),
};
const PAUSE = 300;
/** How many milliseconds after an answer the view looks again: more may come. */

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
    const folders = (vscode.workspace.workspaceFolders ?? []).map((one) => one.uri.toString());
    try {
      const client = await this.server.client();
      const found = await client?.sendRequest<{ runs: Run[] }>("orgrest/history", { folders });
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

  /** What was sent then and what came, to be shown as any other answer. */
  async answer({ run, number }: Entry): Promise<Answer | undefined> {
    const client = await this.server.client();
    const found = await client?.sendRequest<Answer>("orgrest/history", { run, number });
    if (found === undefined) return undefined;
    const uri = vscode.Uri.parse(found.request.uri).toString(); // as VS Code writes it
    return { ...found, kept: found.record.started, request: { ...found.request, uri } };
  }
}

function entries({ run, started, requests }: Run): Entry[] {
  return requests.map((one) => ({ ...one, run, started }));
}
