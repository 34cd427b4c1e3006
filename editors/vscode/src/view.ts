// The response view: a webview beside the document, for all requests or for each request.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import { answered, title } from "./answer.ts";
import type { Answer, StreamMessage } from "./answer.ts";
import { MOST_MESSAGES, page, streamPage } from "./page.ts";
import type { Extra, Stream } from "./page.ts";
import { bytesOf, keyOf } from "./responses.ts";
import { setting } from "./settings.ts";
import type { Responses } from "./responses.ts";

const MOST_RAW = 1024 * 1024;
const MOST_PREVIEW = 8 * 1024 * 1024;
const MOST_FORMATTED = 256 * 1024;

export type Action = "open" | "copy" | "saveBody" | "save" | "curl" | "compare" | "external";

interface Message {
  tab?: string;
  index?: number;
  action?: Action;
}

/** One panel, and the answers of the run that it shows. */
interface View {
  panel: vscode.WebviewPanel;
  answers: Answer[];
  index: number;
  /** The tab that the user selected last, if any. */
  tab: string | undefined;
  /** The messages of a stream that are shown until its answer arrives. */
  stream: (Stream & Pick<StreamMessage, "token">) | undefined;
}

export class Views implements vscode.Disposable {
  private readonly views = new Map<string, View>();
  private lastView: View | undefined;

  private readonly responses: Responses;
  private readonly act: (action: Action, answer: Answer) => unknown;

  constructor(responses: Responses, act: (action: Action, answer: Answer) => unknown) {
    this.responses = responses;
    this.act = act;
  }

  dispose(): void {
    for (const { panel } of this.views.values()) panel.dispose();
  }

  /** The answer shown in the view that was used last. */
  get current(): Answer | undefined {
    return this.lastView?.answers[this.lastView.index];
  }

  /** Show an answer with the other answers of its run; answers of an earlier run are no longer shown. */
  async show(answer: Answer): Promise<void> {
    const key = setting("showResponseInDifferentTab", false) ? keyOf(answer) : "";
    const preserveFocus = !setting("previewResponsePanelTakeFocus", false);
    const view = this.views.get(key) ?? this.open(key, setting("previewColumn", "beside"), preserveFocus);
    const sameRun = answer.token !== null && view.answers[0]?.token === answer.token;
    view.answers = sameRun ? [...view.answers, answer] : [answer];
    view.index = view.answers.length - 1;
    view.stream = undefined;
    this.lastView = view;
    void vscode.commands.executeCommand("setContext", "orgrest.answered", true);
    await this.render(view);
    if (!view.panel.visible) view.panel.reveal(undefined, preserveFocus);
  }

  /** Show a message of a stream, before the answer with its response arrives. */
  stream({ token, text }: StreamMessage): void {
    const streaming = this.streaming(token);
    const preserveFocus = !setting("previewResponsePanelTakeFocus", false);
    const view = streaming ?? this.views.get("") ?? this.open("", setting("previewColumn", "beside"), preserveFocus);
    if (streaming === undefined) {
      if (view.answers[0]?.token !== token) view.answers = [];
      view.stream = { token, messages: [], count: 0, ended: false };
      view.panel.title = "Messages";
      this.renderStream(view);
      if (!view.panel.visible) view.panel.reveal(undefined, preserveFocus);
    }
    const { stream } = view;
    if (stream === undefined) return;
    stream.messages.push(text);
    if (stream.messages.length > MOST_MESSAGES) stream.messages.shift();
    void view.panel.webview.postMessage({ text, number: ++stream.count });
  }

  /** Mark a stream that is still shown although its run has ended: it was cancelled, so no answer arrived. */
  endStream(token: string): void {
    const view = this.streaming(token);
    if (view?.stream === undefined) return;
    view.stream.ended = true;
    void view.panel.webview.postMessage({ ended: true });
  }

  private streaming(token: StreamMessage["token"]): View | undefined {
    return [...this.views.values()].find(({ stream }) => stream?.token === token);
  }

  private renderStream({ panel, stream }: View): void {
    if (stream) panel.webview.html = streamPage(stream, randomBytes(16).toString("hex"));
  }

  private open(key: string, column: string, preserveFocus: boolean): View {
    const viewColumn = column === "current" ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside;
    const panel = vscode.window.createWebviewPanel(
      "orgrest.response",
      "Response",
      { viewColumn, preserveFocus },
      { enableScripts: true, enableForms: false, enableFindWidget: true, localResourceRoots: [] },
    );
    const view: View = { panel, answers: [], index: 0, tab: undefined, stream: undefined };
    this.views.set(key, view);
    panel.onDidDispose(() => {
      this.views.delete(key);
      if (this.lastView === view) this.lastView = undefined;
    });
    panel.onDidChangeViewState(() => {
      if (panel.active) this.lastView = view;
      if (panel.visible) this.renderStream(view); // a hidden page loses the messages posted to it
    });
    panel.webview.onDidReceiveMessage((message: Message) => void this.receive(view, message));
    return view;
  }

  private async receive(view: View, { tab, index, action }: Message): Promise<void> {
    if (typeof tab === "string") view.tab = tab;
    if (typeof index === "number" && index in view.answers) {
      view.index = index;
      await this.render(view);
    }
    const answer = view.answers[view.index];
    if (action !== undefined && answer) await this.act(action, answer);
  }

  private async render(view: View): Promise<void> {
    const answer = view.answers[view.index];
    if (answer === undefined) return;
    const extra = await extraOf(answer);
    const draw = (): boolean => {
      if (view.answers[view.index] !== answer) return false; // another answer arrived meanwhile
      const { answers, index, tab } = view;
      const comparable = this.responses.other(answer) !== undefined;
      view.panel.title = title(answer);
      view.panel.webview.html = page({ answers, index, tab, extra, comparable }, randomBytes(16).toString("hex"));
      return true;
    };
    if (!draw() || extra.preview?.kind !== "html" || extra.preview.text.length > MOST_FORMATTED) return;
    extra.pretty = await this.responses.formatted(extra.preview.text, ".html");
    draw();
  }
}

/** Return what the answer lacks from the file of its body: the data of a preview, and text that was cut. */
async function extraOf(answer: Answer): Promise<Extra> {
  const body = answered(answer)?.response.body;
  if (body?.uri === undefined || body.size > MOST_PREVIEW) return {};
  const type = body.type.split(";")[0]?.trim().toLowerCase() ?? "";
  try {
    if (/^image\/[\w.+-]+$/.test(type)) {
      const data = Buffer.from(await bytesOf(body.uri)).toString("base64");
      return { preview: { kind: "image", data, type } };
    }
    if (type === "application/pdf") return { preview: { kind: "pdf" } };
    const isHtml = type === "text/html" || type === "application/xhtml+xml";
    if (body.text === undefined || !(isHtml || body.cut)) return {};
    const text = body.cut ? new TextDecoder().decode(await bytesOf(body.uri)) : body.text;
    return {
      raw: text.slice(0, MOST_RAW),
      ...(isHtml ? { preview: { kind: "html" as const, text } } : {}),
    };
  } catch {
    return {}; // if the file cannot be read, only the text in the answer is shown
  }
}
