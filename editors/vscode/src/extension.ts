// What VS Code starts: commands, views and, in trusted folders, the server.

import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";

import type { Answer } from "./answer.ts";
import { Environments } from "./environments.ts";
import { History } from "./history.ts";
import type { Entry } from "./history.ts";
import { importRequests, PasteAsRequest, pasteRequest } from "./importing.ts";
import { selectInterpreter } from "./interpreter.ts";
import { Outcomes } from "./outcomes.ts";
import { Responses } from "./responses.ts";
import { Sender } from "./sending.ts";
import type { Target } from "./sending.ts";
import { Server } from "./server.ts";
import { SessionView } from "./session.ts";
import { Tests } from "./tests.ts";
import { Views } from "./view.ts";
import type { Action } from "./view.ts";

export function activate(context: vscode.ExtensionContext): void {
  const server = new Server(context, command);
  const sender = new Sender(server);
  const responses = new Responses();
  const views = new Views(responses, act);
  const environments = new Environments(server);
  const outcomes = new Outcomes();
  const tests = new Tests(server, sender, environments, outcomes);
  const history = new History(server);
  const session = new SessionView(server);

  /** The server's own commands, which lenses and code actions name. */
  async function command(name: string, args: unknown[], next: () => unknown): Promise<unknown> {
    const target = args[0] as Target;
    if (name === "orgrest.send" || name === "orgrest.sendAllAbove") return sender.send(name, target);
    if (name === "orgrest.chooseEnvironment") return environments.choose();
    const result = await next();
    if (name === "orgrest.copyAsCurl") await copyCurl(result as string);
    return result;
  }

  /** Run one of these commands at the cursor, or elsewhere. */
  async function ask(name: string, target: Target | undefined = cursor()): Promise<void> {
    const client = target && (await server.client());
    if (target === undefined || client === undefined) return explain();
    const call = (): Promise<unknown> =>
      client.sendRequest(ExecuteCommandRequest.type, { command: name, arguments: [target] });
    try {
      await command(name, [target], call);
    } catch (error) {
      void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
    }
  }

  async function act(action: Action, answer: Answer | undefined = views.current): Promise<void> {
    if (answer === undefined) return;
    const doing: { [name in Action]: () => Promise<void> } = {
      open: () => responses.open(answer),
      copy: () => responses.copy(answer),
      saveBody: () => responses.save(answer, "body"),
      save: () => responses.save(answer, "all"),
      compare: () => responses.compare(answer),
      external: () => responses.openOutside(answer),
      curl: () => ask("orgrest.copyAsCurl", { uri: answer.textDocument.uri, line: answer.request.line }),
    };
    try {
      await doing[action]();
    } catch (error) {
      void vscode.window.showErrorMessage(`The response is not kept any more: ${String(error)}`);
    }
  }

  /** Do something with a request of the history. */
  async function withKept(entry: Entry, use: (answer: Answer) => Promise<void>): Promise<void> {
    try {
      const answer = await history.answer(entry);
      if (answer) await use(answer);
    } catch (error) {
      void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
    }
  }

  const commands: { [name: string]: (...given: never[]) => unknown } = {
    request: () => ask("orgrest.send"),
    requestsAbove: () => ask("orgrest.sendAllAbove"),
    requestAll: () => ask("orgrest.sendAllAbove", lastLine()),
    rerunLastRequest: () => sender.again(),
    cancelRequest: () => sender.cancel(),
    switchEnvironment: () => environments.choose(),
    copyRequestAsCurl: () => ask("orgrest.copyAsCurl"),
    saveResponse: () => act("save"),
    saveResponseBody: () => act("saveBody"),
    copyResponseBody: () => act("copy"),
    openResponse: () => act("open"),
    compareResponse: () => act("compare"),
    showHistory: (entry: Entry) => withKept(entry, (answer) => views.show(answer)),
    compareHistory: (entry: Entry) => withKept(entry, (answer) => responses.compare(answer)),
    goToRequest: (entry: Entry) => goTo(entry),
    refreshHistory: () => history.refresh(),
    clearCookies: () => session.clear("cookies"),
    clearVariables: () => session.clear("variables"),
    import: (uri?: vscode.Uri) => importRequests(server, uri),
    pasteRequest: () => pasteRequest(server),
    selectInterpreter: () => selectInterpreter(),
    restart: () => server.restart(),
    showLog: () => server.log.show(),
  };

  context.subscriptions.push(
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(`orgrest.${name}`, run)),
    server,
    server.log,
    sender,
    responses,
    views,
    environments,
    outcomes,
    tests,
    history,
    session,
    new PasteAsRequest(server).register(),
    tests.onEnd(() => history.refresh()),
    server.onAnswer((answer) => {
      responses.keep(answer);
      outcomes.tell(answer);
      if (!answer.textDocument.uri.endsWith(".org")) void views.show(answer);
    }),
    vscode.workspace.onDidChangeTextDocument((event) => sender.moved(event)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      void environments.show();
      history.refresh();
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const program = ["orgrest.path", "orgrest.interpreter"];
      if (program.some((name) => event.affectsConfiguration(name))) void server.restart();
      else if (event.affectsConfiguration("orgrest")) {
        void server.configure().then(() => environments.forget());
      }
    }),
  );
  noticeRivals(context);
  void server.client();
}

function cursor(): Target | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && { uri: editor.document.uri.toString(), line: editor.selection.active.line };
}

function lastLine(): Target | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return document && { uri: document.uri.toString(), line: document.lineCount - 1 };
}

/** Show where a request of the history stands, or stood. */
async function goTo({ uri, line }: Entry): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  const { start } = document.lineAt(Math.min(line, document.lineCount - 1)).range;
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(start, start) });
}

/** Why a command cannot do anything, where nothing else has said so. */
function explain(): void {
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showWarningMessage("orgrest sends nothing from a folder that you do not trust.");
  }
}

async function copyCurl(text: string): Promise<void> {
  if (!text) return;
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage("The request is in the clipboard as a curl command, with its secrets", 5000);
}

/** Say once that another extension serves the same files, and so shows everything twice. */
function noticeRivals({ globalState }: vscode.ExtensionContext): void {
  const rivals = ["humao.rest-client", "anweber.vscode-httpyac"];
  const found = rivals.map((id) => vscode.extensions.getExtension(id)).find((one) => one !== undefined);
  if (found === undefined || globalState.get("rivals noticed")) return;
  void globalState.update("rivals noticed", true);
  const name = String((found.packageJSON as { displayName?: string }).displayName ?? found.id);
  void vscode.window.showInformationMessage(
    `${name} serves .http files, too: each request has the buttons of both. One of them can be disabled for this folder.`,
  );
}
