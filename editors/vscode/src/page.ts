// The page of the response view, built here as a string. A response can only be in it as escaped text, as
// the data of an image, or as a document in a frame that runs no scripts. The Content Security Policy
// allows one script, the page's own, and nothing from a network.

import { answered, duration, head, requestLine, size, statusClass, summary, title, wholeRequest } from "./answer.ts";
import type { Answer, Assertion, Exchange, Response } from "./answer.ts";
import { escaped, highlighted } from "./highlight.ts";

/** Data of a body that was read from its file, to be shown in addition to its text. */
export interface Extra {
  /** The body as received, if the answer contains only its beginning. */
  raw?: string;
  /** The body as formatted by VS Code, if the server does not format it. */
  pretty?: string;
  /** The data of an image or of an HTML document for the preview. */
  preview?: { kind: "image"; data: string; type: string } | { kind: "html"; text: string } | { kind: "pdf" };
}

/** The approximate number of characters in one element. */
const PART = 32 * 1024;

export interface Shown {
  answers: Answer[];
  /** The index of the answer that is shown. */
  index: number;
  /** The tab that the user selected last, if any. */
  tab: string | undefined;
  extra: Extra;
  /** Whether there is an earlier response to this request to compare with. */
  comparable: boolean;
}

/** The buttons: their action, their label, and the path of their icon, 16 by 16 units. */
const ACTIONS: [action: string, label: string, path: string][] = [
  ["open", "Open in an Editor", "M6 2.5H2.5v11h11V10M9 2.5h4.5V7M13 3 7.5 8.5"],
  ["copy", "Copy Body", "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3"],
  ["saveBody", "Save Body", "M8 2v8M4.5 6.5 8 10l3.5-3.5M2.5 13.5h11"],
  ["save", "Save Full Response", "M2.5 2.5h9l2 2v9h-11zM5 2.5v4h5v-4M5 13.5v-4h6v4"],
  ["curl", "Copy Request As cURL", "M2.5 4 6 8l-3.5 4M7.5 12.5h6"],
  ["compare", "Compare with the Previous Response", "M2.5 3.5h4v9h-4zM9.5 3.5h4v9h-4zM8 1.5v13"],
];

/** Return the page that shows answers; `nonce` must be new for each page. */
export function page(shown: Shown, nonce: string): string {
  const answer = shown.answers[shown.index];
  if (answer === undefined) return "";
  const tabs = tabsOf(answer, shown.extra);
  const current = tabs.some(([name]) => name === shown.tab) ? shown.tab : tabs[0]?.[0];
  const buttons = tabs.map(
    ([name]) =>
      `<button role="tab" id="tab-${name}" aria-controls="panel-${name}" data-tab="${name}"` +
      ` aria-selected="${name === current}" tabindex="${name === current ? 0 : -1}">${name}</button>`,
  );
  const sections = tabs.map(
    ([name, html]) =>
      `<section role="tabpanel" id="panel-${name}" aria-labelledby="tab-${name}" data-tab="${name}"` +
      `${name === current ? "" : " hidden"}>${html}</section>`,
  );
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(nonce)}">
<title>${escaped(title(answer))}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
${chooser(shown)}<h1>${escaped(requestLine(answer))}</h1>
<p class="summary" role="status" data-status="${statusClass(answer)}" data-outcome="${answer.record.outcome}">${escaped(headline(answer))}</p>
<nav><span role="tablist" aria-label="Response">${buttons.join("")}</span><span role="toolbar" aria-label="Actions">${actions(answer, shown.comparable)}</span></nav>
</header>
<main>
${sections.join("\n")}
</main>
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>`;
}

/** The last messages of a stream, how many have arrived, and whether it ended without an answer. */
export interface Stream {
  messages: string[];
  count: number;
  ended: boolean;
}

/** Return the page for the messages of a stream; later messages are posted to it with their numbers. */
export function streamPage({ messages, count, ended }: Stream, nonce: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(nonce)}">
<title>Messages</title>
<style>${STYLE}</style>
</head>
<body>
<header><p class="summary" role="status">${ended ? ENDED : "Receiving messages"}</p></header>
<main><section role="log" aria-label="Messages" data-count="${count}">${messages.map((message) => `<pre>${escaped(message)}</pre>`).join("")}</section></main>
<script nonce="${nonce}">${STREAM_SCRIPT}</script>
</body>
</html>`;
}

/** Return the summary; if there is no response, only that fact, since the first tab shows the reason. */
function headline(answer: Answer): string {
  if (answered(answer)) return summary(answer);
  return answer.record.outcome === "skipped" ? "Not sent" : "No response";
}

/** Return the policy, which frames inherit: a document in the preview cannot load or run anything, either. */
function policy(nonce: string): string {
  return `default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'; form-action 'none'; base-uri 'none'`;
}

function chooser({ answers, index }: Shown): string {
  if (answers.length < 2) return "";
  const options = answers.map(
    (answer, at) =>
      `<option value="${at}"${at === index ? " selected" : ""}>${escaped(`${title(answer)}: ${summary(answer)}`)}</option>`,
  );
  return `<select aria-label="Response">${options.join("")}</select>`;
}

function actions(answer: Answer, comparable: boolean): string {
  if (!answered(answer)) return "";
  const all = comparable ? ACTIONS : ACTIONS.filter(([name]) => name !== "compare");
  const shown = all.filter(([name]) => name !== "curl" || !answer.kept); // the document may have changed since
  return shown.map(([name, label, path]) => button(name, label, path)).join("");
}

function button(action: string, label: string, path: string): string {
  const picture = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`;
  return `<button data-action="${action}" title="${label}" aria-label="${label}">${picture}</button>`;
}

function tabsOf(answer: Answer, extra: Extra): [name: string, html: string][] {
  const { record } = answer;
  const exchange = answered(answer);
  const failed = record.exchanges.at(-1)?.error ?? record.reason;
  const tabs: [string, string][] = [];
  if (!exchange) {
    tabs.push(["Result", `<p>${escaped(failed ?? summary(answer))}</p>${notes(record.notes)}`]);
  } else {
    const { response } = exchange;
    const preview = previewed(extra);
    const isImage = extra.preview?.kind === "image";
    const shown = isImage && preview ? preview : pretty(response, extra.pretty);
    tabs.push([isImage ? "Preview" : "Pretty", headersAbove(response) + shown + notes(record.notes)]);
    tabs.push(["Raw", code(extra.raw ?? response.body.text ?? dump(response.body.base64 ?? ""), "")]);
    tabs.push(["Headers", code(head(response), "") + redirects(response)]);
    if (preview && !isImage) tabs.push(["Preview", preview]);
  }
  const sent = record.exchanges.map(({ request }) => code(wholeRequest(request), ""));
  if (sent.length) tabs.push(["Request", sent.join("<hr>")]);
  if (record.assertions.length) tabs.push(["Tests", tests(record.assertions)]);
  if (exchange) tabs.push(["Timings", timings(record.exchanges)]);
  return tabs;
}

/** Return the headers as an element that the user can fold. */
function headersAbove(response: Response): string {
  return `<details open><summary>Headers (${response.headers.length})</summary>${code(head(response), "")}</details>`;
}

function pretty(response: Response, formatted: string | undefined): string {
  const { body } = response;
  if (body.size === 0) return `<p class="note">The body is ${body.cut ? "incomplete" : "empty"}.</p>`;
  const text = formatted ?? (body.pretty || body.text);
  if (text === undefined) {
    return `<p class="note">${size(body.size)} of ${escaped(body.type || "binary data")}</p>`;
  }
  const cut = body.pretty ? "" : cutNote(response);
  const problem = body.problem ? `<p class="error">${escaped(body.problem)}</p>` : "";
  return problem + code(text, body.language ?? "") + cut;
}

function cutNote({ body }: Response): string {
  return body.cut && !body.problem ? `<p class="note">… of ${size(body.size)}. To see the rest, open the body in an editor or save it.</p>` : "";
}

function previewed({ preview }: Extra): string | undefined {
  if (preview?.kind === "image") {
    return `<img alt="The response" src="data:${escaped(preview.type)};base64,${escaped(preview.data)}">`;
  }
  if (preview?.kind === "html") {
    return `<iframe sandbox="" title="The response" srcdoc="${escaped(preview.text)}"></iframe>`;
  }
  if (preview?.kind === "pdf") {
    return `<p class="note">PDF documents open in another program.</p><button class="text" data-action="external">Open It</button>`;
  }
  return undefined;
}

/**
 * Return a text divided into parts. All parts but the first become elements only when the user scrolls to
 * them, because with a screen reader, a browser takes minutes for one element with a megabyte of text.
 */
function code(text: string, language: string): string {
  const parts: string[] = [];
  let start = 0;
  do {
    const line = text.indexOf("\n", start + PART);
    const end = line === -1 || line > start + 2 * PART ? Math.min(start + PART, text.length) : line + 1;
    parts.push(`<pre tabindex="0">${highlighted(text.slice(start, end), language)}</pre>`);
    start = end;
  } while (start < text.length);
  const [first = "", ...rest] = parts;
  return first + rest.map((part) => `<template>${part}</template>`).join("");
}

/** Return the beginning of binary data in hexadecimal. */
function dump(base64: string): string {
  const data = Buffer.from(base64.slice(0, 4096), "base64");
  const rows: string[] = [];
  for (let at = 0; at < data.length; at += 16) {
    const row = data.subarray(at, at + 16);
    const hex = [...row].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = [...row].map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    rows.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(47)}  ${text}`);
  }
  return rows.join("\n");
}

function redirects({ redirects, url }: Response): string {
  if (!redirects.length) return "";
  const steps = redirects.map(({ status, url }) => `<li>${status} ${escaped(url)}</li>`);
  return `<h2>Redirects</h2><ol>${steps.join("")}<li>${escaped(url)}</li></ol>`;
}

function notes(texts: string[]): string {
  if (!texts.length) return "";
  return `<ul class="note">${texts.map((text) => `<li>${escaped(text)}</li>`).join("")}</ul>`;
}

function tests(assertions: Assertion[]): string {
  const items = assertions.map(({ name, passed, reason, difference }) => {
    const mark = `<span class="mark">${passed ? "✓" : "✗"}</span>`;
    const why = passed ? "" : `<p>${escaped(reason)}</p>${code(difference.join("\n"), "")}`;
    return `<li class="${passed ? "passed" : "failed"}">${mark} ${escaped(name)}${why}</li>`;
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
    .filter(({ timing }) => timing !== null)
    .map(({ request, timing, duration: whole, attempts }) => {
      const rows = PHASES.flatMap(([phase, label]) => {
        const seconds = timing?.[phase] ?? null;
        if (seconds === null) return [];
        return [`<tr><td>${label}</td><td>${duration(seconds)}</td><td><meter min="0" max="${whole ?? 1}" value="${seconds}"></meter></td></tr>`];
      });
      const tries = attempts > 1 ? `<p>${attempts} attempts</p>` : "";
      const total = whole === null ? "" : `<tr><th>Total</th><th>${duration(whole)}</th><td></td></tr>`;
      return `<h2>${escaped(`${request.method} ${request.url}`)}</h2><table>${rows.join("")}${total}</table>${tries}`;
    })
    .join("");
}

const STYLE = `
body { padding: 0; color: var(--vscode-editor-foreground); background: var(--vscode-editor-background); }
header { position: sticky; top: 0; padding: 6px 12px 0; background: var(--vscode-editor-background); }
h1 { margin: 4px 0; font-size: 1em; font-weight: normal; overflow-wrap: anywhere; max-height: 3em; overflow-y: auto; font-family: var(--vscode-editor-font-family); }
.summary { margin: 4px 0; padding-left: 8px; font-weight: bold; border-left: 4px solid var(--vscode-charts-foreground); }
.summary[data-status="2"] { border-color: var(--vscode-charts-green); }
.summary[data-status="3"] { border-color: var(--vscode-charts-blue); }
.summary[data-status="4"] { border-color: var(--vscode-charts-orange); }
.summary[data-status="5"], .summary[data-outcome="error"], .summary[data-outcome="failed"] { border-color: var(--vscode-charts-red); }
.error { color: var(--vscode-errorForeground); }
.tests { list-style: none; padding: 0; }
.tests .mark { font-weight: bold; color: var(--vscode-charts-green); }
.tests .failed .mark { color: var(--vscode-errorForeground); }
nav { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 4px; border-bottom: 1px solid var(--vscode-panel-border); }
button { border: 0; padding: 4px 6px; background: none; color: inherit; font: inherit; cursor: pointer; }
[role="toolbar"] { white-space: nowrap; }
[role="toolbar"] button { padding: 4px; }
[role="toolbar"] button:hover { background: var(--vscode-toolbar-hoverBackground); }
button[aria-selected="true"] { border-bottom: 2px solid var(--vscode-panelTitle-activeBorder); }
button:focus-visible, summary:focus-visible { outline: 1px solid var(--vscode-focusBorder); }
button.text { color: var(--vscode-button-foreground); background: var(--vscode-button-background); }
svg { width: 16px; height: 16px; vertical-align: middle; fill: none; stroke: currentColor; stroke-width: 1.2; }
section { padding: 0 12px 12px; }
details { margin-top: 8px; }
details pre { max-height: 12em; overflow-y: auto; color: var(--vscode-descriptionForeground); }
summary { cursor: pointer; }
pre { margin: 0; font-family: var(--vscode-editor-font-family); font-size: var(--vscode-editor-font-size); white-space: pre-wrap; overflow-wrap: anywhere; color: var(--vscode-editor-foreground); }
section > pre:first-of-type { margin-top: 8px; }
[role="log"] pre { padding: 4px 0; border-bottom: 1px solid var(--vscode-panel-border); }
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

const ENDED = "Cancelled after these messages";
/** The maximum number of messages of a stream that are shown. */
export const MOST_MESSAGES = 2000;

const STREAM_SCRIPT = `
const log = document.querySelector("[role=log]");
addEventListener("message", ({ data }) => {
  const follows = innerHeight + scrollY >= document.body.scrollHeight - 40;
  if (data.ended) document.querySelector(".summary").textContent = "${ENDED}";
  if (typeof data.text !== "string" || data.number <= log.dataset.count) return; // already on the page
  log.dataset.count = data.number;
  const element = document.createElement("pre");
  element.textContent = data.text;
  log.append(element);
  while (log.childElementCount > ${MOST_MESSAGES}) log.firstElementChild.remove();
  if (follows) scrollTo(0, document.body.scrollHeight);
});
`;

const SCRIPT = `
const host = acquireVsCodeApi();
const tabs = [...document.querySelectorAll("[role=tab]")];
function select(tab) {
  for (const section of document.querySelectorAll("section")) section.hidden = section.dataset.tab !== tab.dataset.tab;
  for (const other of tabs) {
    other.setAttribute("aria-selected", other === tab);
    other.tabIndex = other === tab ? 0 : -1;
  }
  host.postMessage({ tab: tab.dataset.tab });
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.action) host.postMessage({ action: button.dataset.action });
  else if (button) select(button);
});
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const from = tabs.indexOf(event.target);
  const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (from < 0 || to === undefined) return;
  const tab = tabs[(to + tabs.length) % tabs.length];
  tab.focus();
  select(tab);
  event.preventDefault();
});
const near = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    const next = target.nextElementSibling;
    if (next?.localName !== "template") continue;
    const part = next.content.firstElementChild;
    next.replaceWith(part);
    near.observe(part);
  }
}, { rootMargin: "200% 0px" });
for (const part of document.querySelectorAll("pre")) near.observe(part);
const folded = host.getState()?.folded;
for (const details of document.querySelectorAll("details")) {
  details.open = !folded;
  details.addEventListener("toggle", () => host.setState({ folded: !details.open }));
}
document.querySelector("select")?.addEventListener("change", (event) => host.postMessage({ index: Number(event.target.value) }));
`;
