// The Test Explorer with request files and their requests. `orgrest test` runs a file as in CI, including
// setup and teardown. The server sends single requests.

import { spawn } from "node:child_process";
import { once } from "node:events";
import * as path from "node:path";
import { createInterface } from "node:readline";
import * as vscode from "vscode";

import type { Answer, Assertion, Record } from "./answer.ts";
import type { Environments } from "./environments.ts";
import type { Outcomes } from "./outcomes.ts";
import type { Sender } from "./sending.ts";
import type { Server } from "./server.ts";
import { proxyEnvironment } from "./settings.ts";

const FILES = "**/*.{http,rest}";
const LEFT_OUT = "**/{node_modules,.venv,.git}/**";
const MOST_FILES = 1000;
/** The languages of open documents that are listed; Org files are listed only if open and with requests. */
const LANGUAGES = new Set(["http", "org"]);

export class Tests implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("orgrest", "HTTP requests");
  private readonly disposables: vscode.Disposable[];
  private readonly timers = new Map<string, NodeJS.Timeout>();

  private readonly server: Server;
  private readonly sender: Sender;
  private readonly environments: Environments;
  private readonly outcomes: Outcomes;
  private readonly ended = new vscode.EventEmitter<void>();
  /** Fires when a file was run by a separate program. */
  readonly onEnd = this.ended.event;

  constructor(server: Server, sender: Sender, environments: Environments, outcomes: Outcomes) {
    this.server = server;
    this.sender = sender;
    this.environments = environments;
    this.outcomes = outcomes;
    const { controller } = this;
    controller.resolveHandler = (item) => (item ? this.resolve(item) : this.discover());
    controller.refreshHandler = () => this.discover();
    controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, (request, token) => this.run(request, token), true);
    this.disposables = [
      controller,
      server.onStart(() => vscode.workspace.textDocuments.forEach((one) => this.look(one, 0))),
      vscode.workspace.onDidOpenTextDocument((document) => this.look(document, 0)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.look(document, 500)),
      vscode.workspace.onDidDeleteFiles(({ files }) => files.forEach((uri) => controller.items.delete(uri.toString()))),
    ];
  }

  dispose(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    for (const one of this.disposables) one.dispose();
  }

  /** List the request files of the folder. */
  private async discover(): Promise<void> {
    if (!vscode.workspace.isTrusted) return;
    for (const uri of await vscode.workspace.findFiles(FILES, LEFT_OUT, MOST_FILES)) this.item(uri);
  }

  private item(uri: vscode.Uri): vscode.TestItem {
    const id = uri.toString();
    const known = this.controller.items.get(id);
    if (known) return known;
    const item = this.controller.createTestItem(id, vscode.workspace.asRelativePath(uri), uri);
    item.canResolveChildren = true;
    this.controller.items.add(item);
    return item;
  }

  private async resolve(item: vscode.TestItem): Promise<void> {
    if (item.uri) await this.read(await vscode.workspace.openTextDocument(item.uri));
  }

  /** Read the requests of a document again once the user has stopped typing. */
  private look(document: vscode.TextDocument, delay: number): void {
    if (document.uri.scheme !== "file" || !LANGUAGES.has(document.languageId)) return;
    if (!vscode.workspace.isTrusted) return;
    const id = document.uri.toString();
    clearTimeout(this.timers.get(id));
    this.timers.set(id, setTimeout(() => void this.read(document), delay));
  }

  private async read(document: vscode.TextDocument): Promise<void> {
    if ((await this.server.client()) === undefined) return;
    const symbols =
      (await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>(
        "vscode.executeDocumentSymbolProvider",
        document.uri,
      )) ?? [];
    const requests = symbols.flatMap((one) => [one, ...one.children]).filter((one) => one.kind === vscode.SymbolKind.Method);
    if (requests.length === 0 && document.languageId === "org") {
      this.controller.items.delete(document.uri.toString());
      return;
    }
    const file = this.item(document.uri);
    file.children.replace(
      requests.map((symbol, index) => {
        const item = this.controller.createTestItem(`${file.id}#${index}`, symbol.name, document.uri);
        item.range = symbol.range;
        return item;
      }),
    );
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const run = this.controller.createTestRun(request);
    try {
      if (!request.include) await this.discover();
      const chosen = request.include ?? [...this.controller.items].map(([, item]) => item);
      for (const item of chosen) {
        if (token.isCancellationRequested) break;
        if (request.exclude?.includes(item)) continue;
        if (item.parent) await this.send(item, run, token);
        else await this.test(item, run, token);
      }
    } finally {
      run.end();
    }
  }

  /** Send one request. */
  private async send(item: vscode.TestItem, run: vscode.TestRun, token: vscode.CancellationToken): Promise<void> {
    if (!item.uri || !item.range) return;
    const { uri, range } = item;
    run.started(item);
    let found: Answer | undefined;
    const heard = this.server.onAnswer((answer) => {
      const { request } = answer;
      if (request.uri === uri.toString() && range.contains(new vscode.Position(request.line, 0))) found = answer;
    });
    const cancelled = token.onCancellationRequested(() => this.sender.cancel());
    await this.sender.send("orgrest.send", { uri: uri.toString(), line: range.end.line });
    heard.dispose();
    cancelled.dispose();
    if (found) tell(run, item, found.record);
    else run.skipped(item);
  }

  /** Run a file with `orgrest test`. */
  private async test(item: vscode.TestItem, run: vscode.TestRun, token: vscode.CancellationToken): Promise<void> {
    const { uri } = item;
    if (!uri || !vscode.workspace.isTrusted) return;
    await this.resolve(item);
    await vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString())?.save();
    run.started(item);
    const waiting = new Set([...item.children].map(([, child]) => child));
    for (const child of waiting) run.started(child);
    try {
      const { command, args } = await this.server.launch();
      const environments = (await this.environments.of(uri)).flatMap((name) => ["--env", name]);
      const allowed = vscode.workspace.getConfiguration("orgrest").get<string[]>("allowWrite", []);
      const writing = allowed.flatMap((folder) => ["--allow-write", folder]);
      const child = spawn(command, [...args, "test", "--quiet", "--jsonl", "-", ...environments, ...writing, "--", uri.fsPath], {
        cwd: path.dirname(uri.fsPath),
        env: { ...process.env, ...proxyEnvironment() },
        stdio: ["ignore", "pipe", "pipe"],
        windowsHide: true,
      });
      const cancelled = token.onCancellationRequested(() => child.kill());
      const ended = once(child, "close");
      child.stderr.setEncoding("utf8").on("data", (text: string) => run.appendOutput(text.replaceAll(/\r?\n/g, "\r\n")));
      for await (const line of createInterface({ input: child.stdout })) {
        const record = JSON.parse(line) as Partial<Record> & { file?: string };
        if (record.outcome === undefined || record.file === undefined) continue; // the first or the last line
        const where = childAt(item, record as Record);
        if (where) waiting.delete(where);
        tell(run, where ?? item, record as Record);
        if (where && record.line) this.outcomes.show(uri.toString(), record.line - 1, record as Record);
      }
      const [status] = (await ended) as [number | null];
      cancelled.dispose();
      this.ended.fire();
      if (status === 2) run.errored(item, new vscode.TestMessage("orgrest could not read the document: see the output"));
    } catch (error) {
      run.errored(item, new vscode.TestMessage(String(error)));
    }
    for (const child of waiting) run.skipped(child);
  }
}

/** Return the request of a file that a record belongs to. */
function childAt(item: vscode.TestItem, record: Record): vscode.TestItem | undefined {
  if (record.line === null) return undefined;
  const position = new vscode.Position(record.line - 1, 0);
  return [...item.children].map(([, child]) => child).find((child) => child.range?.contains(position));
}

/** Report the outcome of a request, with failed assertions at their lines. */
function tell(run: vscode.TestRun, item: vscode.TestItem, record: Record): void {
  const milliseconds = record.duration * 1000;
  for (const note of record.notes) run.appendOutput(`${note.replaceAll(/\r?\n/g, "\r\n")}\r\n`, undefined, item);
  if (record.outcome === "passed") run.passed(item, milliseconds);
  else if (record.outcome === "skipped") run.skipped(item);
  else {
    const failed = record.assertions.filter((one) => !one.passed).map((one) => message(item, one));
    if (record.reason) failed.unshift(new vscode.TestMessage(record.reason));
    if (record.outcome === "failed") run.failed(item, failed, milliseconds);
    else run.errored(item, failed, milliseconds);
  }
}

function message(item: vscode.TestItem, { name, reason, line, expected, actual }: Assertion): vscode.TestMessage {
  const text = reason || name;
  const differs = expected !== null && actual !== null;
  const found = differs ? vscode.TestMessage.diff(text, expected, actual) : new vscode.TestMessage(text);
  if (item.uri) found.location = new vscode.Location(item.uri, new vscode.Position(line - 1, 0));
  return found;
}
