// Finds, starts, restarts and calls the language server, which runs only in trusted folders.

import * as path from "node:path";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient, State } from "vscode-languageclient/node";
import type { StaticFeature } from "vscode-languageclient/node";

import type { Answer, StreamMessage } from "./answer.ts";
import { OwnEnvironment } from "./environment.ts";
import type { Showing } from "./environment.ts";
import { run } from "./programs.ts";
import { ask } from "./prompts.ts";
import type { Prompt } from "./prompts.ts";
import { findServer, NoPython, Unusable } from "./python.ts";
import type { Launch } from "./python.ts";
import { proxyEnvironment, settingsOfServer } from "./settings.ts";

const MOST_RESTARTS = 3;

/** Runs a command of the server that a lens or a code action refers to. */
export type Commands = (command: string, args: unknown[], next: () => unknown) => unknown;

type Choice = [button: string, run: () => unknown];

/** Announces that this client shows responses and outcomes itself, and lets the user answer prompts. */
const VIEWS: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    capabilities.experimental = { orgrest: { responses: true, prompts: true, outcomes: true } };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};

export class Server implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel("orgrest", { log: true });
  private readonly answers = new vscode.EventEmitter<Answer>();
  readonly onAnswer = this.answers.event;
  private readonly messages = new vscode.EventEmitter<StreamMessage>();
  /** Fires when a message of a stream arrives, before its response is complete. */
  readonly onMessage = this.messages.event;
  private readonly starts = new vscode.EventEmitter<void>();
  readonly onStart = this.starts.event;
  private readonly opens = new vscode.EventEmitter<string>();
  /** Fires when the server has been notified that a document is open. */
  readonly onOpen = this.opens.event;
  private readonly prompts = new vscode.EventEmitter<number>();
  /** Fires with the number of questions that wait for the user's answer. */
  readonly onPrompts = this.prompts.event;
  prompting = 0;
  readonly own: OwnEnvironment;
  private launching: Promise<Launch> | undefined;
  private starting: Promise<LanguageClient | undefined> | undefined;
  /** The times in milliseconds at which the server ended unexpectedly within the last minute. */
  private ends: number[] = [];

  private readonly folder: string;
  private readonly secrets: vscode.SecretStorage;
  private readonly commands: Commands;

  constructor({ extensionPath, globalStorageUri, secrets }: vscode.ExtensionContext, commands: Commands) {
    this.folder = extensionPath;
    this.secrets = secrets;
    this.commands = commands;
    this.own = new OwnEnvironment(path.join(extensionPath, "bundled"), globalStorageUri.fsPath, run, showing);
  }

  /** Return the client, starting the server if necessary; undefined after a failed start, until `restart`. */
  client(): Promise<LanguageClient | undefined> {
    if (!vscode.workspace.isTrusted) return Promise.resolve(undefined);
    this.starting ??= this.start();
    return this.starting;
  }

  /** Return the client for an action of the user; if an earlier start failed, try again. */
  async demand(): Promise<LanguageClient | undefined> {
    const hasStarted = this.starting !== undefined;
    const client = await this.client();
    return client ?? (hasStarted ? this.restart() : undefined);
  }

  async restart(): Promise<LanguageClient | undefined> {
    await this.stop();
    return this.client();
  }

  async stop(): Promise<void> {
    const client = await this.starting?.catch(() => undefined);
    this.starting = undefined;
    this.launching = undefined;
    await client?.dispose().catch((error: unknown) => this.log.warn(String(error)));
  }

  dispose(): Promise<void> {
    return this.stop();
  }

  /** Return the program that runs as the server, in order to run its other commands; or throw Unusable. */
  launch(): Promise<Launch> {
    const settings = vscode.workspace.getConfiguration("orgrest");
    const preferences = {
      path: settings.get("path", ""),
      interpreter: settings.get("interpreter", ""),
      chosen: () => chosenPython(),
      own: (base?: string) => this.own.python(base),
    };
    this.launching ??= findServer(preferences, run);
    return this.launching;
  }

  /** Download a Python with uv, which this package of the extension must contain, and start the server with it. */
  async download(): Promise<void> {
    try {
      await this.own.download(proxyEnvironment());
    } catch (error) {
      this.log.error(String(error));
      await this.offer("Python could not be downloaded.", ["Retry", () => this.download()]);
      return;
    }
    await this.restart();
  }

  private async start(): Promise<LanguageClient | undefined> {
    let launch: Launch | undefined;
    try {
      launch = await this.launch();
      this.log.info(`${[launch.command, ...launch.args].join(" ")} (${launch.origin})`);
      const client = this.newClient(launch);
      await client.start();
      await vscode.commands.executeCommand("setContext", "orgrest.active", true);
      this.starts.fire();
      return client;
    } catch (error) {
      this.log.error(String(error));
      if (launch) await this.own.remove(launch.command);
      void this.explain(error);
      return undefined;
    }
  }

  /** Show why the server did not start, with buttons for possible solutions. */
  private async explain(error: unknown): Promise<void> {
    const text = error instanceof Unusable ? error.message : "The orgrest server could not be started.";
    const canDownload = error instanceof NoPython && this.own.uv;
    await this.offer(text, canDownload ? ["Download Python", () => this.download()] : ["Retry", () => this.restart()]);
  }

  private async offer(text: string, first: Choice): Promise<void> {
    const choices: Choice[] = [
      first,
      ["Choose Python...", () => vscode.commands.executeCommand("orgrest.selectInterpreter")],
      ["Show Log", () => this.log.show()],
    ];
    const picked = await vscode.window.showErrorMessage(text, ...choices.map(([name]) => name));
    await choices.find(([name]) => name === picked)?.[1]();
  }

  private newClient({ command, args }: Launch): LanguageClient {
    const languages = ["http", "org"];
    const client = new LanguageClient(
      "orgrest",
      "orgrest",
      { command, args: [...args, "lsp"], options: { cwd: this.folder, env: { ...process.env, ...proxyEnvironment() } } },
      {
        documentSelector: languages.flatMap((language) => [
          { language, scheme: "file" },
          { language, scheme: "untitled" },
        ]),
        initializationOptions: settingsOfServer(),
        outputChannel: this.log,
        middleware: {
          didOpen: async (document, next) => {
            await next(document);
            this.opens.fire(client.code2ProtocolConverter.asUri(document.uri));
          },
          executeCommand: (name, args, next) => this.commands(name, args, () => next(name, args)),
          provideCodeLenses: async (document, token, next) => {
            const lenses = await next(document, token);
            const uri = client.code2ProtocolConverter.asUri(document.uri);
            for (const lens of lenses ?? []) complete(lens, uri);
            return lenses;
          },
        },
        errorHandler: {
          error: () => ({ action: ErrorAction.Continue }),
          closed: () => {
            const now = Date.now();
            this.ends = [...this.ends.filter((end) => now - end < 60_000), now];
            if (this.ends.length <= MOST_RESTARTS) return { action: CloseAction.Restart, handled: true };
            this.starting = undefined;
            void vscode.commands.executeCommand("setContext", "orgrest.active", false);
            void this.offer(`The orgrest server has stopped ${this.ends.length} times within a minute.`, ["Start Again", () => this.restart()]);
            return { action: CloseAction.DoNotRestart, handled: true };
          },
        },
      },
    );
    client.registerFeature(VIEWS);
    client.onRequest("orgrest/prompt", (prompt: Prompt) => this.prompt(prompt));
    client.onDidChangeState(({ oldState, newState }) => {
      const restarted = oldState === State.Starting && newState === State.Running && this.ends.length;
      if (restarted) void client.start().then(() => this.starts.fire()); // fires once the documents are open
    });
    client.onNotification("orgrest/response", (answer: Answer) => this.answers.fire(answer));
    client.onNotification("orgrest/message", (message: StreamMessage) => this.messages.fire(message));
    return client;
  }

  private async prompt(prompt: Prompt): Promise<{ text: string } | null> {
    this.prompts.fire(++this.prompting);
    try {
      return await ask(prompt, this.secrets);
    } finally {
      this.prompts.fire(--this.prompting);
    }
  }

  /** Notify a running server that settings have changed. */
  async configure(): Promise<void> {
    const client = await this.starting;
    await client?.sendNotification("workspace/didChangeConfiguration", { settings: settingsOfServer() });
  }
}

/** Show the progress of work in a notification that can cancel it. */
const showing: Showing = async (title, work) => {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, (_, token) => {
    const cancelling = new AbortController();
    token.onCancellationRequested(() => cancelling.abort());
    return work(cancelling.signal);
  });
};

const LENSES = new Map([
  ["orgrest.send", "Send request"],
  ["orgrest.sendAllAbove", "Send all above"],
]);

/** Set the command of a lens early, because a lens that is not yet resolved cannot be clicked. */
function complete(lens: vscode.CodeLens & { data?: unknown }, uri: string): void {
  const command = Array.isArray(lens.data) ? String(lens.data[0]) : "";
  const title = LENSES.get(command);
  if (title) lens.command = { title, command, arguments: [{ uri, line: lens.range.start.line }] };
}

/** Return the interpreter chosen in the Python extension, if this extension is installed. */
async function chosenPython(): Promise<string | undefined> {
  interface Python {
    environments?: { getActiveEnvironmentPath?: (resource?: vscode.Uri) => { path?: string } };
  }
  const extension = vscode.extensions.getExtension<Python>("ms-python.python");
  if (extension === undefined) return undefined;
  try {
    const python = await extension.activate();
    const resource = vscode.window.activeTextEditor?.document.uri;
    return python.environments?.getActiveEnvironmentPath?.(resource).path;
  } catch {
    return undefined;
  }
}
