// Sends requests, shows that they are in progress with a button that cancels them, and remembers the
// last request.

import * as vscode from "vscode";
import { ExecuteCommandRequest, WorkDoneProgress } from "vscode-languageclient/node";

import type { Server } from "./server.ts";

/** The position that a command of the server applies to. */
export interface Target {
  uri: string;
  line: number;
}

export type Sending = "orgrest.send" | "orgrest.sendAllAbove";

interface Result {
  outcome: "passed" | "failed" | "error" | "skipped";
  message: string;
}

/** How many milliseconds a run takes before a notification shows its progress. */
const QUIET = 600;

export class Sender implements vscode.Disposable {
  private readonly running = new Map<string, () => void>();
  private readonly item = vscode.window.createStatusBarItem("orgrest.sending", vscode.StatusBarAlignment.Left);
  private last: { command: Sending; target: Target } | undefined;
  private count = 0;
  private readonly ends = new vscode.EventEmitter<string>();
  /** Fires when the run with a token has ended, perhaps without an answer. */
  readonly onEnd = this.ends.event;

  private readonly server: Server;
  private readonly listening: vscode.Disposable;

  constructor(server: Server) {
    this.server = server;
    this.item.name = "orgrest: requests in progress";
    this.item.command = "orgrest.cancelRequest";
    this.item.tooltip = "Cancel the request";
    this.listening = server.onPrompts(() => this.draw());
  }

  dispose(): void {
    this.listening.dispose();
    this.item.dispose();
  }

  /** Run a command that sends requests, until it ends or is cancelled. Return false if there is no server. */
  async send(command: Sending, target: Target): Promise<boolean> {
    const client = await this.server.demand();
    if (client === undefined) return false;
    this.last = { command, target };
    void vscode.commands.executeCommand("setContext", "orgrest.sent", true);
    const token = `orgrest-${++this.count}`;
    const messages = new vscode.EventEmitter<string>();
    const listening = client.onProgress(WorkDoneProgress.type, token, (value) => {
      if ("message" in value && value.message) messages.fire(value.message);
    });
    const cancel = (): void => {
      void client.sendNotification("window/workDoneProgress/cancel", { token });
    };
    this.follow(token, cancel);
    const work = client
      .sendRequest(ExecuteCommandRequest.type, { command, arguments: [target], workDoneToken: token })
      .then((result: Result) => void this.report(result, target))
      .catch((error: unknown) => {
        void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
      })
      .finally(() => {
        listening.dispose();
        messages.dispose();
        this.follow(token);
        this.ends.fire(token);
      });
    let shown = false;
    const timer = setInterval(() => {
      if (shown || this.server.prompting) return; // the run waits for the user's answer
      shown = true;
      void notify(work, messages.event, cancel);
    }, QUIET);
    await work;
    clearInterval(timer);
    return true;
  }

  /** Repeat the last command; return false if no command has been sent yet. */
  async again(): Promise<boolean> {
    return this.last !== undefined && this.send(this.last.command, this.last.target);
  }

  cancel(): void {
    for (const cancel of this.running.values()) cancel();
  }

  /** Update the position of the last request after lines above it were added or removed. */
  moved({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const target = this.last?.target;
    if (target?.uri !== document.uri.toString()) return;
    for (const { range, text } of contentChanges) {
      if (range.end.line < target.line || (range.end.line === target.line && range.end.character === 0)) {
        target.line += text.split("\n").length - 1 - (range.end.line - range.start.line);
      }
    }
  }

  private follow(token: string, cancel?: () => void): void {
    if (cancel) this.running.set(token, cancel);
    else this.running.delete(token);
    void vscode.commands.executeCommand("setContext", "orgrest.sending", this.running.size > 0);
    this.draw();
  }

  private draw(): void {
    const count = this.running.size - this.server.prompting;
    this.item.text = count === 1 ? "$(sync~spin) Sending" : `$(sync~spin) Sending ${count}`;
    if (count > 0) this.item.show();
    else this.item.hide();
  }

  /** Show messages for outcomes that no view of a response shows. */
  private report(result: Result, { uri }: Target): void {
    if (result.outcome === "skipped" && result.message === "cancelled") vscode.window.setStatusBarMessage("Request cancelled", 5000);
    else if (result.outcome === "skipped") void vscode.window.showWarningMessage(`Not sent: ${result.message}`);
    else if (!uri.endsWith(".org")) return;
    else if (result.outcome === "error") void vscode.window.showErrorMessage(result.message);
    else vscode.window.setStatusBarMessage(result.message, 10_000);
  }
}

async function notify(work: Promise<void>, messages: vscode.Event<string>, cancel: () => void): Promise<void> {
  const options = { location: vscode.ProgressLocation.Notification, title: "Sending", cancellable: true };
  await vscode.window.withProgress(options, async (progress, cancelled) => {
    const listening = messages((message) => progress.report({ message }));
    cancelled.onCancellationRequested(cancel);
    await work;
    listening.dispose();
  });
}
