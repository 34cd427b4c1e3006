// The answers of this session: the last two for each request. Their text can be opened as a read-only
// document in its language, and then be folded, searched and compared.

import * as vscode from "vscode";

import { answered, extension, title, wholeResponse } from "./answer.ts";
import type { Answer } from "./answer.ts";

const SCHEME = "orgrest-response";
const MOST_DOCUMENTS = 40;
const BESIDE = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true };
/** The file suffixes of the languages that VS Code itself can format. */
const FORMATTED = [".html", ".json", ".css", ".js"];
/** The longest body, in bytes, that VS Code can show as a document of an extension. */
const MOST_TEXT = 40 * 1024 * 1024;

export class Responses implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly byRequest = new Map<string, Answer[]>();
  private readonly texts = new Map<string, string>();
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private count = 0;

  dispose(): void {
    this.registered.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "This response is no longer available.";
  }

  keep(answer: Answer): void {
    const key = keyOf(answer);
    this.byRequest.set(key, [...(this.byRequest.get(key) ?? []).slice(-1), answer]);
  }

  /** Return the previous answer to the same request; for an answer from the history, the last answer. */
  other(answer: Answer): Answer | undefined {
    const answers = this.byRequest.get(keyOf(answer)) ?? [];
    const other = answer.kept ? answers.at(-1) : answers[answers.indexOf(answer) - 1];
    return other && answered(other) ? other : undefined;
  }

  /** Open the whole body as a read-only document in its language, or binary data as a file. */
  async open(answer: Answer): Promise<void> {
    const body = answered(answer)?.response.body;
    if (body === undefined) return;
    if (body.uri !== undefined && (body.text === undefined || body.size > MOST_TEXT)) {
      await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(body.uri), BESIDE);
      return;
    }
    await vscode.window.showTextDocument(await this.document(answer), BESIDE);
  }

  /** Show a text as a read-only document beside the active editor. */
  async show(text: string, name: string, language: string): Promise<void> {
    await vscode.window.showTextDocument(await this.newDocument(text, name, language), BESIDE);
  }

  /** Show the changes since the previous response, or since a response from the history. */
  async compare(answer: Answer): Promise<void> {
    const other = this.other(answer);
    if (other === undefined) {
      const sent = answer.kept ? "has not been sent in this session" : "has been sent only once";
      void vscode.window.showInformationMessage(`This request ${sent}, so there is no response to compare with.`);
      return;
    }
    const both = answer.kept ? [answer, other] : [other, answer];
    const [old, now] = await Promise.all(both.map((each) => this.document(each)));
    const then = answer.kept ? new Date(answer.kept).toLocaleString() : "before";
    await vscode.commands.executeCommand("vscode.diff", old?.uri, now?.uri, `${title(answer)}: ${then} ↔ now`);
  }

  /** Open the body in the system's default program for it; if VS Code runs remotely, save the body. */
  async openOutside(answer: Answer): Promise<void> {
    const uri = answered(answer)?.response.body.uri;
    const isLocal = vscode.env.remoteName === undefined && uri !== undefined;
    if (!isLocal || !(await vscode.env.openExternal(vscode.Uri.parse(uri)))) await this.save(answer, "body");
  }

  /** Copy the text of the body. */
  async copy(answer: Answer): Promise<void> {
    const body = answered(answer)?.response.body;
    if (body === undefined) return;
    const text = body.cut || body.text === undefined ? await textOf(body.uri) : body.text;
    await vscode.env.clipboard.writeText(text);
  }

  /** Save the response to a file that the user chooses: the body as received, or the head and the body. */
  async save(answer: Answer, what: "body" | "all"): Promise<void> {
    const response = answered(answer)?.response;
    if (response === undefined) return;
    const { body } = response;
    const whole = body.uri === undefined ? Buffer.alloc(0) : await bytesOf(body.uri);
    const head = wholeResponse({ ...response, body: { ...body, text: "" } });
    const name = title(answer).replaceAll(/[^\w.-]+/g, "-").replaceAll(/^-+|-+$/g, "") || "response";
    const folder = vscode.Uri.joinPath(vscode.Uri.parse(answer.textDocument.uri), "..");
    const suggested = name + (what === "body" ? extension(body) : ".http.txt");
    const defaultUri = vscode.Uri.joinPath(folder, suggested);
    const uri = await vscode.window.showSaveDialog({ title: "Save the response", defaultUri });
    if (uri === undefined) return;
    const bytes = what === "body" ? whole : Buffer.concat([Buffer.from(head), whole]);
    await vscode.workspace.fs.writeFile(uri, bytes);
  }

  /** Return a text formatted by VS Code's formatter for its language, or unchanged if there is no formatter. */
  async formatted(text: string, suffix: string): Promise<string> {
    if (!FORMATTED.includes(suffix)) return text;
    const document = await this.newDocument(text, `text${suffix}`);
    const edits = (await formattingOf(document)) ?? [];
    const fromEnd = [...edits].sort((a, b) => b.range.start.compareTo(a.range.start));
    const parts: string[] = [];
    let end = text.length;
    for (const { range, newText } of fromEnd) {
      parts.push(text.slice(document.offsetAt(range.end), end), newText);
      end = document.offsetAt(range.start);
    }
    this.texts.delete(document.uri.toString());
    return text.slice(0, end) + parts.reverse().join("");
  }

  private async document(answer: Answer): Promise<vscode.TextDocument> {
    const body = answered(answer)?.response.body;
    const name = title(answer).replaceAll("/", "-").replace(/^-+/, "") || "response";
    if (body === undefined) return this.newDocument("", `${name}.txt`);
    const suffix = extension(body);
    if (body.pretty && body.whole) return this.newDocument(body.pretty, name + suffix, body.language);
    const text = body.cut ? await textOf(body.uri) : (body.text ?? "");
    return this.newDocument(await this.formatted(text, suffix), name + suffix);
  }

  /** Create a read-only document; if no `language` is given, VS Code detects it from the name. */
  private async newDocument(text: string, name: string, language?: string): Promise<vscode.TextDocument> {
    const uri = vscode.Uri.parse(`${SCHEME}:/${++this.count}/${encodeURIComponent(name)}`);
    this.texts.set(uri.toString(), text);
    for (const old of [...this.texts.keys()].slice(0, -MOST_DOCUMENTS)) this.texts.delete(old);
    const document = await vscode.workspace.openTextDocument(uri);
    return language === undefined ? document : vscode.languages.setTextDocumentLanguage(document, language);
  }
}

/** Return the edits of VS Code's formatter, which starts slowly for the first document of a language. */
async function formattingOf({ uri }: vscode.TextDocument): Promise<vscode.TextEdit[] | undefined> {
  const options = { tabSize: 2, insertSpaces: true };
  for (let tries = 0; tries < 50; tries++) {
    const edits = await vscode.commands.executeCommand<vscode.TextEdit[] | undefined>(
      "vscode.executeFormatDocumentProvider",
      uri,
      options,
    );
    if (edits !== undefined) return edits;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  return undefined;
}

/** Return a key that identifies a request by its document and its name or line. */
export function keyOf({ request, record }: Answer): string {
  return `${request.uri}#${record.name ?? request.line}`;
}

/** Return the bytes in the file of a body. */
export async function bytesOf(uri: string): Promise<Uint8Array> {
  return vscode.workspace.fs.readFile(vscode.Uri.parse(uri));
}

async function textOf(uri: string | undefined): Promise<string> {
  return uri === undefined ? "" : new TextDecoder().decode(await bytesOf(uri));
}
