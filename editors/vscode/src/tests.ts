// Lists request files and their requests in the Test Explorer. `orgrest test` runs a file as in CI, including
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
const EXCLUDED = "**/{node_modules,.venv,.git}/**";
const MOST_FILES = 1000;
/** The languages of the documents that are listed when they are open; Org files only if they contain requests. */
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
  /** Fires after `orgrest test` has run a file. */
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
      server.onStart(() => vscode.workspace.textDocuments.forEach((document) => this.readLater(document, 0))),
      vscode.workspace.onDidOpenTextDocument((document) => this.readLater(document, 0)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.readLater(document, 500)),
      vscode.workspace.onDidDeleteFiles(({ files }) => files.forEach((uri) => controller.items.delete(uri.toString()))),
    ];
  }

  dispose(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** List the request files of the folder. */
  private async discover(): Promise<void> {
    if (!vscode.workspace.isTrusted) return;
    for (const uri of await vscode.workspace.findFiles(FILES, EXCLUDED, MOST_FILES)) this.item(uri);
  }

  private item(uri: vscode.Uri): vscode.TestItem {
    const id = uri.toString();
    const existing = this.controller.items.get(id);
    if (existing) return existing;
    const item = this.controller.createTestItem(id, vscode.workspace.asRelativePath(uri), uri);
    item.canResolveChildren = true;
    this.controller.items.add(item);
    return item;
  }

  private async resolve(item: vscode.TestItem): Promise<void> {
    if (item.uri) await this.read(await vscode.workspace.openTextDocument(item.uri));
  }

  /** Read the requests of a document after a delay in milliseconds, which starts again with each call. */
  private readLater(document: vscode.TextDocument, delay: number): void {
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
    const requests = symbols.flatMap((symbol) => [symbol, ...symbol.children]).filter(({ kind }) => kind === vscode.SymbolKind.Method);
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
    let answer: Answer | undefined;
    const listening = this.server.onAnswer((arrived) => {
      const { request } = arrived;
      if (request.uri === uri.toString() && range.contains(new vscode.Position(request.line, 0))) answer = arrived;
    });
    const cancelled = token.onCancellationRequested(() => this.sender.cancel());
    await this.sender.send("orgrest.send", { uri: uri.toString(), line: range.end.line });
    listening.dispose();
    cancelled.dispose();
    if (answer) report(run, item, answer.record);
    else run.skipped(item);
  }

  /** Run a file with `orgrest test`. */
  private async test(item: vscode.TestItem, run: vscode.TestRun, token: vscode.CancellationToken): Promise<void> {
    const { uri } = item;
    if (!uri || !vscode.workspace.isTrusted) return;
    await this.resolve(item);
    await vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString())?.save();
    run.started(item);
    const waiting = new Set([...item.children].map(([, child]) => child));
    for (const child of waiting) run.started(child);
    try {
      const { command, args } = await this.server.launch();
      const environments = (await this.environments.of(uri)).flatMap((name) => ["--env", name]);
      const allowed = vscode.workspace.getConfiguration("orgrest").get<string[]>("allowWrite", []);
      const writing = allowed.flatMap((folder) => ["--allow-write", folder]);
      const program = spawn(command, [...args, "test", "--quiet", "--jsonl", "-", ...environments, ...writing, "--", uri.fsPath], {
        cwd: path.dirname(uri.fsPath),
        env: { ...process.env, ...proxyEnvironment() },
        stdio: ["ignore", "pipe", "pipe"],
        windowsHide: true,
      });
      const cancelled = token.onCancellationRequested(() => program.kill());
      const ended = once(program, "close");
      program.stderr.setEncoding("utf8").on("data", (text: string) => run.appendOutput(text.replaceAll(/\r?\n/g, "\r\n")));
      for await (const line of createInterface({ input: program.stdout })) {
        const record = JSON.parse(line) as Partial<Record> & { file?: string };
        if (record.outcome === undefined || record.file === undefined) continue; // the first or the last line
        const child = childAt(item, record as Record);
        if (child) waiting.delete(child);
        report(run, child ?? item, record as Record);
        if (child && record.line) this.outcomes.show(uri.toString(), record.line - 1, record as Record);
      }
      const [status] = (await ended) as [number | null];
      cancelled.dispose();
      this.ended.fire();
      if (status === 2) run.errored(item, new vscode.TestMessage("orgrest could not read the document; see the output"));
    } catch (error) {
      run.errored(item, new vscode.TestMessage(String(error)));
    }
    for (const child of waiting) run.skipped(child);
  }
}

/** Return the test item for the request that a record describes. */
function childAt(item: vscode.TestItem, record: Record): vscode.TestItem | undefined {
  if (record.line === null) return undefined;
  const position = new vscode.Position(record.line - 1, 0);
  return [...item.children].map(([, child]) => child).find((child) => child.range?.contains(position));
}

/** Report the outcome of a request, with failed assertions at their lines. */
function report(run: vscode.TestRun, item: vscode.TestItem, record: Record): void {
  const milliseconds = record.duration * 1000;
  for (const note of record.notes) run.appendOutput(`${note.replaceAll(/\r?\n/g, "\r\n")}\r\n`, undefined, item);
  if (record.outcome === "passed") run.passed(item, milliseconds);
  else if (record.outcome === "skipped") run.skipped(item);
  else {
    const failed = record.assertions.filter(({ passed }) => !passed).map((assertion) => message(item, assertion));
    if (record.reason) failed.unshift(new vscode.TestMessage(record.reason));
    if (record.outcome === "failed") run.failed(item, failed, milliseconds);
    else run.errored(item, failed, milliseconds);
  }
}

function message(item: vscode.TestItem, { name, reason, line, expected, actual }: Assertion): vscode.TestMessage {
  const text = reason || name;
  const differs = expected !== null && actual !== null;
  const failure = differs ? vscode.TestMessage.diff(text, expected, actual) : new vscode.TestMessage(text);
  if (item.uri) failure.location = new vscode.Location(item.uri, new vscode.Position(line - 1, 0));
  return failure;
}
