// The entry point for VS Code: registers commands and views, and starts the server in trusted folders.

import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";

import type { Answer } from "./answer.ts";
import { Environments } from "./environments.ts";
import { generateCode } from "./generating.ts";
import type { Har } from "./generating.ts";
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

  /** Run one of the server's own commands, which lenses and code actions refer to. */
  async function command(name: string, args: unknown[], next: () => unknown): Promise<unknown> {
    const target = args[0] as Target;
    if (name === "orgrest.send" || name === "orgrest.sendAllAbove") return sender.send(name, target);
    if (name === "orgrest.chooseEnvironment") return environments.choose();
    const result = await next();
    if (name === "orgrest.copyAsCurl") await copyCurl(result as string);
    if (name === "orgrest.requestAsHar" && result) await generateCode(result as Har, responses, () => ask("orgrest.copyAsCurl", target));
    return result;
  }

  /** Run one of the server's commands at a target, by default the cursor. */
  async function ask(name: string, target: Target | undefined = cursor()): Promise<void> {
    const client = target && (await server.demand());
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
    const handlers: { [name in Action]: () => Promise<void> } = {
      open: () => responses.open(answer),
      copy: () => responses.copy(answer),
      saveBody: () => responses.save(answer, "body"),
      save: () => responses.save(answer, "all"),
      compare: () => responses.compare(answer),
      external: () => responses.openOutside(answer),
      curl: () => ask("orgrest.copyAsCurl", { uri: answer.textDocument.uri, line: answer.request.line }),
    };
    try {
      await handlers[action]();
    } catch (error) {
      void vscode.window.showErrorMessage(`The response is no longer available: ${String(error)}`);
    }
  }

  /** Call `use` with the answer to a request from the history. */
  async function withKept(entry: Entry, use: (answer: Answer) => Promise<void>): Promise<void> {
    try {
      const answer = await history.answer(entry);
      if (answer) await use(answer);
    } catch (error) {
      void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
    }
  }

  /** Send the request that is now at the line of a request from the history. */
  async function resend(entry: Entry): Promise<void> {
    await vscode.workspace.openTextDocument(vscode.Uri.parse(entry.uri));
    await sender.send("orgrest.send", { uri: entry.uri, line: entry.line });
  }

  const commands: { [name: string]: (...args: never[]) => unknown } = {
    request: () => ask("orgrest.send"),
    requestsAbove: () => ask("orgrest.sendAllAbove"),
    requestAll: () => ask("orgrest.sendAllAbove", lastLine()),
    rerunLastRequest: () => sender.again(),
    cancelRequest: () => sender.cancel(),
    switchEnvironment: () => environments.choose(),
    generateCode: () => ask("orgrest.requestAsHar"),
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
    clearHistory: () => history.clear(),
    resend: (entry: Entry) => resend(entry),
    clearCookies: () => session.clear("cookies"),
    clearVariables: () => session.clear("variables"),
    import: (uri?: vscode.Uri) => importRequests(server, uri),
    pasteRequest: () => pasteRequest(server),
    selectInterpreter: () => selectInterpreter(server),
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
      outcomes.report(answer);
      void offerWriting(answer);
      if (!answer.textDocument.uri.endsWith(".org")) void views.show(answer);
    }),
    server.onMessage((message) => views.stream(message)),
    sender.onEnd((token) => views.endStream(token)),
    vscode.workspace.onDidChangeTextDocument((event) => sender.moved(event)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      void environments.show();
      history.refresh();
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const program = ["orgrest.path", "orgrest.interpreter", "http.proxy", "http.noProxy"];
      if (program.some((name) => event.affectsConfiguration(name))) void server.restart();
      else if (["orgrest", "rest-client"].some((name) => event.affectsConfiguration(name))) {
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

/** Open the document of a request from the history at the line that the request had when it was sent. */
async function goTo({ uri, line }: Entry): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  const { start } = document.lineAt(Math.min(line, document.lineCount - 1)).range;
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(start, start) });
}

/** Explain why a command does nothing, unless another message has already done so. */
async function explain(): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    const manage = "Manage Trust";
    const text = "orgrest sends nothing from a folder that you do not trust.";
    if ((await vscode.window.showWarningMessage(text, manage)) === manage) {
      await vscode.commands.executeCommand("workbench.trust.manage");
    }
  }
}

/** If a request was not allowed to write to a folder, offer to allow it from now on. */
async function offerWriting({ record }: Answer): Promise<void> {
  const folder = /\(use --allow-write (.+) to allow it\)/.exec([record.reason, ...record.notes].join("\n"))?.[1];
  if (folder === undefined) return;
  const allow = "Allow Writing Here";
  if ((await vscode.window.showWarningMessage(`Nothing was written to ${folder}.`, allow)) !== allow) return;
  const settings = vscode.workspace.getConfiguration("orgrest");
  await settings.update("allowWrite", [...settings.get<string[]>("allowWrite", []), folder], vscode.ConfigurationTarget.Global);
}

async function copyCurl(text: string): Promise<void> {
  if (!text) return;
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage("Copied the request as a curl command, including its secrets", 5000);
}

/** Warn once if another extension handles the same files, because buttons then appear twice. */
function noticeRivals({ globalState }: vscode.ExtensionContext): void {
  const rivals = ["humao.rest-client", "anweber.vscode-httpyac"];
  const rival = rivals.map((id) => vscode.extensions.getExtension(id)).find((extension) => extension !== undefined);
  if (rival === undefined || globalState.get("rivals noticed")) return;
  void globalState.update("rivals noticed", true);
  const name = String((rival.packageJSON as { displayName?: string }).displayName ?? rival.id);
  void vscode.window.showInformationMessage(
    `${name} also handles .http files, so each request has the buttons of both extensions. You can disable one of them for this folder.`,
  );
}
