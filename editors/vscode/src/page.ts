// The page of the response view. All of it is made here, as a string: a response only ever comes in
// as escaped text, as the data of an image, or as a document in a frame that runs no scripts. The
// Content Security Policy allows one script, this page's own, and nothing from a network.

import { answered, duration, head, size, summary, title, wholeRequest } from "./answer.ts";
import type { Answer, Assertion, Exchange, Response } from "./answer.ts";
import { escaped, highlighted } from "./highlight.ts";

/** What is shown of a body beside its text: what was read from its file. */
export interface Extra {
  /** The body as it came, where the answer has only its beginning. */
  raw?: string;
  /** The data of an image or of an HTML document for the preview. */
  preview?: { kind: "image"; data: string; type: string } | { kind: "html"; text: string } | { kind: "pdf" };
}

export interface Shown {
  answers: Answer[];
  /** Which of the answers is shown. */
  index: number;
  tab: string;
  extra: Extra;
  /** Whether there is an earlier response of this request, to compare with. */
  comparable: boolean;
}

const ACTIONS: [action: string, label: string][] = [
  ["open", "Open"],
  ["copy", "Copy Body"],
  ["saveBody", "Save Body"],
  ["save", "Save All"],
  ["curl", "Copy As cURL"],
];

/** The page for answers; `nonce` must be new for each page. */
export function page(shown: Shown, nonce: string): string {
  const answer = shown.answers[shown.index];
  if (answer === undefined) return "";
  const tabs = tabsOf(answer, shown.extra);
  const current = tabs.some(([name]) => name === shown.tab) ? shown.tab : tabs[0]?.[0];
  const buttons = tabs.map(
    ([name]) =>
      `<button role="tab" data-tab="${name}" aria-selected="${name === current}">${name}</button>`,
  );
  const sections = tabs.map(
    ([name, html]) =>
      `<section role="tabpanel" data-tab="${name}"${name === current ? "" : " hidden"}>${html}</section>`,
  );
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(nonce)}">
<title>${escaped(title(answer))}</title>
<style>${STYLE}</style>
</head>
<body class="${answer.record.outcome}">
<header>
${chooser(shown)}<p class="summary" role="status">${escaped(summary(answer))}</p>
<nav><span role="tablist">${buttons.join("")}</span><span>${actions(answer, shown.comparable)}</span></nav>
</header>
${sections.join("\n")}
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>`;
}

/** Frames inherit the policy: a document in the preview loads nothing and runs nothing either. */
function policy(nonce: string): string {
  return `default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'; form-action 'none'; base-uri 'none'`;
}

function chooser({ answers, index }: Shown): string {
  if (answers.length < 2) return "";
  const options = answers.map(
    (one, at) =>
      `<option value="${at}"${at === index ? " selected" : ""}>${escaped(`${title(one)}: ${summary(one)}`)}</option>`,
  );
  return `<select aria-label="Response">${options.join("")}</select>`;
}

function actions(answer: Answer, comparable: boolean): string {
  if (!answered(answer)) return "";
  const all = comparable ? [...ACTIONS, ["compare", "Compare"] as const] : ACTIONS;
  const wanted = all.filter(([name]) => name !== "curl" || !answer.kept); // the document may say another thing now
  return wanted.map(([name, label]) => `<button data-action="${name}">${label}</button>`).join("");
}

function tabsOf(answer: Answer, extra: Extra): [name: string, html: string][] {
  const { record } = answer;
  const exchange = answered(answer);
  const failed = record.exchanges.at(-1)?.error ?? record.reason;
  const tabs: [string, string][] = [];
  if (!exchange) {
    tabs.push(["Result", `<p class="error">${escaped(failed ?? summary(answer))}</p>${notes(record.notes)}`]);
  } else {
    const { response } = exchange;
    const preview = previewed(extra);
    if (preview && extra.preview?.kind === "image") tabs.push(["Preview", preview]);
    tabs.push(["Pretty", pretty(response) + notes(record.notes)]);
    tabs.push(["Raw", code(extra.raw ?? response.body.text ?? dump(response.body.base64 ?? ""), "")]);
    tabs.push(["Headers", code(head(response), "") + redirects(response)]);
    if (preview && extra.preview?.kind !== "image") tabs.push(["Preview", preview]);
  }
  const sent = record.exchanges.map((one) => code(wholeRequest(one.request), ""));
  if (sent.length) tabs.push(["Request", sent.join("<hr>")]);
  if (record.assertions.length) tabs.push(["Tests", tests(record.assertions)]);
  if (exchange) tabs.push(["Timings", timings(record.exchanges)]);
  return tabs;
}

function pretty(response: Response): string {
  const { body } = response;
  if (body.size === 0) return `<p class="note">The body is empty.</p>`;
  const text = body.pretty || body.text;
  if (text === undefined) {
    return `<p class="note">${size(body.size)} of ${escaped(body.type || "binary data")}</p>`;
  }
  const cut = body.pretty ? "" : cutNote(response);
  const problem = body.problem ? `<p class="error">${escaped(body.problem)}</p>` : "";
  return problem + code(text, body.language ?? "") + cut;
}

function cutNote({ body }: Response): string {
  return body.cut && !body.problem ? `<p class="note">… of ${size(body.size)}: Open or Save Body has all.</p>` : "";
}

function previewed({ preview }: Extra): string | undefined {
  if (preview?.kind === "image") {
    return `<img alt="The response" src="data:${escaped(preview.type)};base64,${escaped(preview.data)}">`;
  }
  if (preview?.kind === "html") {
    return `<iframe sandbox="" title="The response" srcdoc="${escaped(preview.text)}"></iframe>`;
  }
  if (preview?.kind === "pdf") {
    return `<p class="note">A PDF document is shown by another program.</p><button data-action="external">Open It</button>`;
  }
  return undefined;
}

function code(text: string, language: string): string {
  return `<pre tabindex="0">${highlighted(text, language)}</pre>`;
}

/** The beginning of binary data, in hexadecimal. */
function dump(base64: string): string {
  const data = Buffer.from(base64.slice(0, 4096), "base64");
  const rows: string[] = [];
  for (let at = 0; at < data.length; at += 16) {
    const row = data.subarray(at, at + 16);
    const hex = [...row].map((one) => one.toString(16).padStart(2, "0")).join(" ");
    const text = [...row].map((one) => (one >= 32 && one < 127 ? String.fromCharCode(one) : ".")).join("");
    rows.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(47)}  ${text}`);
  }
  return rows.join("\n");
}

function redirects({ redirects, url }: Response): string {
  if (!redirects.length) return "";
  const steps = redirects.map((one) => `<li>${one.status} ${escaped(one.url)}</li>`);
  return `<h2>Redirects</h2><ol>${steps.join("")}<li>${escaped(url)}</li></ol>`;
}

function notes(found: string[]): string {
  if (!found.length) return "";
  return `<ul class="note">${found.map((one) => `<li>${escaped(one)}</li>`).join("")}</ul>`;
}

function tests(assertions: Assertion[]): string {
  const items = assertions.map((one) => {
    const mark = one.passed ? "✓" : "✗";
    const why = one.passed ? "" : `<p>${escaped(one.reason)}</p>${code(one.difference.join("\n"), "")}`;
    return `<li class="${one.passed ? "passed" : "failed"}">${mark} ${escaped(one.name)}${why}</li>`;
  });
  return `<ul class="tests">${items.join("")}</ul>`;
}

const PHASES: [phase: keyof NonNullable<Exchange["timing"]>, label: string][] = [
  ["resolve", "Resolve the name"],
  ["connect", "Connect"],
  ["tls", "TLS"],
  ["wait", "Wait for the response"],
  ["download", "Download"],
];

function timings(exchanges: Exchange[]): string {
  return exchanges
    .filter((one) => one.timing !== null)
    .map(({ request, timing, duration: whole, attempts }) => {
      const rows = PHASES.flatMap(([phase, label]) => {
        const seconds = timing?.[phase] ?? null;
        if (seconds === null) return [];
        return [`<tr><td>${label}</td><td>${duration(seconds)}</td><td><meter min="0" max="${whole ?? 1}" value="${seconds}"></meter></td></tr>`];
      });
      const tries = attempts > 1 ? `<p>${attempts} attempts</p>` : "";
      const all = whole === null ? "" : `<tr><th>All</th><th>${duration(whole)}</th><th></th></tr>`;
      return `<h2>${escaped(`${request.method} ${request.url}`)}</h2><table>${rows.join("")}${all}</table>${tries}`;
    })
    .join("");
}

const STYLE = `
body { padding: 0; color: var(--vscode-editor-foreground); }
header { position: sticky; top: 0; padding: 6px 12px 0; background: var(--vscode-editor-background); }
.summary { margin: 4px 0; font-weight: bold; }
.passed .summary { color: var(--vscode-testing-iconPassed); }
.failed .summary, .error .summary, .error, .tests .failed { color: var(--vscode-testing-iconFailed); }
.tests .passed { color: var(--vscode-testing-iconPassed); }
.tests { list-style: none; padding: 0; }
nav { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 4px; border-bottom: 1px solid var(--vscode-panel-border); }
button { border: 0; padding: 4px 8px; background: none; color: inherit; font: inherit; cursor: pointer; opacity: .75; }
button:hover, button[aria-selected="true"] { opacity: 1; }
button[aria-selected="true"] { border-bottom: 2px solid var(--vscode-panelTitle-activeBorder); }
button:focus-visible { outline: 1px solid var(--vscode-focusBorder); }
section { padding: 0 12px 12px; }
pre { font-family: var(--vscode-editor-font-family); font-size: var(--vscode-editor-font-size); white-space: pre-wrap; overflow-wrap: anywhere; color: var(--vscode-editor-foreground); }
pre:focus { outline: none; }
.name { color: var(--vscode-debugTokenExpression-name); }
.string { color: var(--vscode-debugTokenExpression-string); }
.number { color: var(--vscode-debugTokenExpression-number); }
.boolean { color: var(--vscode-debugTokenExpression-boolean); }
.comment, .note { color: var(--vscode-descriptionForeground); }
h2 { font-size: 1em; overflow-wrap: anywhere; }
td, th { padding: 2px 12px 2px 0; text-align: left; }
select { max-width: 100%; color: var(--vscode-dropdown-foreground); background: var(--vscode-dropdown-background); border: 1px solid var(--vscode-dropdown-border); }
img { max-width: 100%; margin-top: 12px; }
iframe { width: 100%; height: 80vh; margin-top: 12px; border: 0; background: white; }
`;

const SCRIPT = `
const host = acquireVsCodeApi();
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { tab, action } = button.dataset;
  if (action) host.postMessage({ action });
  if (!tab) return;
  for (const one of document.querySelectorAll("section")) one.hidden = one.dataset.tab !== tab;
  for (const one of document.querySelectorAll("[role=tab]")) one.setAttribute("aria-selected", one.dataset.tab === tab);
  host.postMessage({ tab });
});
document.querySelector("select")?.addEventListener("change", (event) => host.postMessage({ index: Number(event.target.value) }));
`;
