// The language server: found, started, restarted, and asked. It runs only in trusted folders.

import * as path from "node:path";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient, State } from "vscode-languageclient/node";
import type { StaticFeature } from "vscode-languageclient/node";

import type { Answer } from "./answer.ts";
import { run } from "./programs.ts";
import { ask } from "./prompts.ts";
import type { Prompt } from "./prompts.ts";
import { findServer, NoPython } from "./python.ts";
import type { Launch } from "./python.ts";

const MOST_RESTARTS = 3;

/** What runs a command of the server's that a lens or a code action names. */
export type Commands = (command: string, args: unknown[], next: () => unknown) => unknown;

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
  private readonly starts = new vscode.EventEmitter<void>();
  readonly onStart = this.starts.event;
  private readonly prompts = new vscode.EventEmitter<number>();
  /** How many questions of requests wait for the user's answer. */
  readonly onPrompts = this.prompts.event;
  prompting = 0;
  private starting: Promise<LanguageClient | undefined> | undefined;
  /** The times of the server's unexpected ends within the last minute, in milliseconds. */
  private ends: number[] = [];

  private readonly folder: string;
  private readonly secrets: vscode.SecretStorage;
  private readonly commands: Commands;

  constructor({ extensionPath, secrets }: vscode.ExtensionContext, commands: Commands) {
    this.folder = extensionPath;
    this.secrets = secrets;
    this.commands = commands;
  }

  /** The client of the running server, started now if need be; undefined if that is impossible. */
  client(): Promise<LanguageClient | undefined> {
    if (!vscode.workspace.isTrusted) return Promise.resolve(undefined);
    this.starting ??= this.start();
    return this.starting;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.client();
  }

  async stop(): Promise<void> {
    const client = await this.starting?.catch(() => undefined);
    this.starting = undefined;
    await client?.dispose().catch((error: unknown) => this.log.warn(String(error)));
  }

  dispose(): Promise<void> {
    return this.stop();
  }

  /** The program that serves, for what it does beside serving. Throws NoPython. */
  launch(): Promise<Launch> {
    const settings = vscode.workspace.getConfiguration("orgrest");
    const wishes = {
      path: settings.get("path", ""),
      interpreter: settings.get("interpreter", ""),
      chosen: () => chosenPython(),
      bundle: path.join(this.folder, "bundled", "serve.py"),
      platform: process.platform,
    };
    return findServer(wishes, run);
  }

  private async start(): Promise<LanguageClient | undefined> {
    try {
      const launch = await this.launch();
      this.log.info(`${[launch.command, ...launch.args].join(" ")} (${launch.origin})`);
      const client = this.newClient(launch);
      await client.start();
      await vscode.commands.executeCommand("setContext", "orgrest.active", true);
      this.starts.fire();
      return client;
    } catch (error) {
      this.starting = undefined;
      this.log.error(String(error));
      void this.explain(error);
      return undefined;
    }
  }

  /** One message with one button; the next request that is sent tries again. */
  private async explain(error: unknown): Promise<void> {
    const noPython = error instanceof NoPython;
    const text = noPython ? error.message : "The server of orgrest could not be started: see the log.";
    const button = noPython ? "Select a Python..." : "Show the Log";
    if ((await vscode.window.showErrorMessage(text, button)) !== button) return;
    await vscode.commands.executeCommand(noPython ? "orgrest.selectInterpreter" : "orgrest.showLog");
  }

  private newClient({ command, args }: Launch): LanguageClient {
    const languages = ["http", "org"];
    const client = new LanguageClient(
      "orgrest",
      "orgrest",
      { command, args: [...args, "lsp"], options: { cwd: this.folder } },
      {
        documentSelector: languages.flatMap((language) => [
          { language, scheme: "file" },
          { language, scheme: "untitled" },
        ]),
        initializationOptions: settingsOfServer(),
        outputChannel: this.log,
        middleware: {
          executeCommand: (name, given, next) => this.commands(name, given, () => next(name, given)),
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
            return {
              action: CloseAction.DoNotRestart,
              message: `orgrest has ended ${this.ends.length} times in a minute; sending a request starts it again.`,
            };
          },
        },
      },
    );
    client.registerFeature(VIEWS);
    client.onRequest("orgrest/prompt", (prompt: Prompt) => this.prompt(prompt));
    client.onDidChangeState(({ oldState, newState }) => {
      if (oldState === State.Starting && newState === State.Running && this.ends.length) this.starts.fire();
    });
    client.onNotification("orgrest/response", (answer: Answer) => this.answers.fire(answer));
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

  /** Tell a running server that settings have changed. */
  async configure(): Promise<void> {
    const client = await this.starting;
    await client?.sendNotification("workspace/didChangeConfiguration", { settings: settingsOfServer() });
  }
}

const LENSES = new Map([
  ["orgrest.send", "Send request"],
  ["orgrest.sendAllAbove", "Send all above"],
]);

/** Give a lens its command at once: VS Code cannot click one that the server has yet to resolve. */
function complete(lens: vscode.CodeLens & { data?: unknown }, uri: string): void {
  const command = Array.isArray(lens.data) ? String(lens.data[0]) : "";
  const title = LENSES.get(command);
  if (title) lens.command = { title, command, arguments: [{ uri, line: lens.range.start.line }] };
}

function settingsOfServer(): object {
  const settings = vscode.workspace.getConfiguration("orgrest");
  return {
    environments: settings.get("environments", []),
    variables: settings.get("variables", {}),
    openapi: settings.get("openapi", true),
  };
}

/** The interpreter that the Python extension runs, if that extension is there. */
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
