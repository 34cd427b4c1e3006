// Shows the outcomes of requests after their lines in request files, until the requests are edited. (In
// Org, the result is below the block.)

import * as vscode from "vscode";

import { hint, summary } from "./answer.ts";
import type { Answer, Record } from "./answer.ts";
import { moved, regionOf } from "./regions.ts";
import type { Region } from "./regions.ts";

interface Outcome extends Region {
  record: Record;
}

const COLOURS: { [outcome in Record["outcome"]]: string } = {
  passed: "charts.green",
  failed: "errorForeground",
  error: "errorForeground",
  skipped: "descriptionForeground",
};

export class Outcomes implements vscode.Disposable {
  private readonly type = vscode.window.createTextEditorDecorationType({
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly outcomes = new Map<string, Outcome[]>();
  private readonly disposables = [
    this.type,
    vscode.workspace.onDidChangeTextDocument((event) => this.edited(event)),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => this.outcomes.delete(uri.toString())),
    vscode.window.onDidChangeVisibleTextEditors(() => this.draw()),
  ];

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Show the outcome of a request, unless its document has been edited since it was sent. */
  report({ textDocument, request, record }: Answer): void {
    const document = opened(request.uri);
    if (request.uri === textDocument.uri && document?.version !== textDocument.version) return;
    this.show(request.uri, request.line, record);
  }

  /** Show the outcome of the request at a line (from 0), replacing its previous outcome. */
  show(uri: string, line: number, record: Record): void {
    const document = opened(uri);
    if (document?.languageId !== "http" || line >= document.lineCount) return;
    const region = regionOf(document.getText().split("\n"), line);
    const others = (this.outcomes.get(uri) ?? []).filter((outcome) => outcome.line !== line);
    this.outcomes.set(uri, [...others, { ...region, record }]);
    this.draw(uri);
  }

  private edited({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const uri = document.uri.toString();
    const outcomes = this.outcomes.get(uri);
    if (!outcomes?.length || !contentChanges.length) return;
    const changes = contentChanges.map(({ range, text }) => ({
      first: range.start.line,
      last: range.end.line,
      added: text.split("\n").length - 1,
      whole: range.end.character === 0 && (text === "" || text.endsWith("\n")),
    }));
    this.outcomes.set(
      uri,
      outcomes.flatMap((outcome) => {
        const now = changes.reduce<Region | undefined>((region, change) => region && moved(region, change), outcome);
        return now ? [{ ...now, record: outcome.record }] : [];
      }),
    );
    this.draw(uri);
  }

  private draw(uri?: string): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      const own = document.uri.toString();
      if (uri !== undefined && uri !== own) continue;
      const outcomes = (this.outcomes.get(own) ?? []).filter((outcome) => outcome.line < document.lineCount);
      editor.setDecorations(this.type, outcomes.map((outcome) => decoration(document, outcome)));
    }
  }
}

function opened(uri: string): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
}

function decoration(document: vscode.TextDocument, { line, record }: Outcome): vscode.DecorationOptions {
  const failed = record.assertions.filter(({ passed }) => !passed).map(({ name, reason }) => `${name}: ${reason}`);
  const { end } = document.lineAt(line).range;
  return {
    range: new vscode.Range(end, end),
    hoverMessage: new vscode.MarkdownString().appendText([summary({ record }), ...failed].join("\n\n")),
    renderOptions: {
      after: {
        contentText: hint({ record }),
        margin: "0 0 0 1em",
        color: new vscode.ThemeColor(COLOURS[record.outcome]),
        fontStyle: "italic",
      },
    },
  };
}
