import assert from "node:assert/strict";
import { test } from "node:test";

import { highlighted } from "../../src/highlight.ts";
import { page } from "../../src/page.ts";
import { answer, body, exchange } from "./answers.ts";

const HOSTILE = `</pre><script>alert(1)</script><img src=x onerror=alert(1)>"'&{{x}}`;
const shown = { index: 0, tab: undefined, extra: {}, comparable: false };

/** The tags of a page with the names of their attributes, without its own style and script. */
function tags(html: string): string[] {
  const own = html.replace(/<style>.*?<\/style>/s, "").replace(/<script nonce="n">.*?<\/script>/s, "");
  return [...own.matchAll(/<[^>]*>/g)].map(([tag]) => tag.replaceAll(/"[^"]*"/g, ""));
}

function hostile() {
  const response = {
    reason: HOSTILE,
    url: HOSTILE,
    headers: [[HOSTILE, HOSTILE]] as [string, string][],
    redirects: [{ status: 302, url: HOSTILE }],
    body: body({ type: HOSTILE, text: HOSTILE, pretty: HOSTILE, language: HOSTILE, problem: HOSTILE }),
  };
  const request = { method: HOSTILE, url: HOSTILE, headers: [[HOSTILE, HOSTILE]] as [string, string][], body: body({ text: HOSTILE }) };
  const assertion = { name: HOSTILE, passed: false, reason: HOSTILE, line: 1, expected: HOSTILE, actual: HOSTILE, difference: [HOSTILE] };
  return answer({
    name: HOSTILE,
    reason: HOSTILE,
    notes: [HOSTILE],
    assertions: [assertion],
    exchanges: [exchange(response, { request })],
  });
}

test("no text of a response becomes markup of the page", () => {
  for (const language of ["json", "xml", "html", "text"]) {
    const found = hostile();
    const first = found.record.exchanges[0]?.response;
    if (first) first.body.language = language;
    const html = page({ ...shown, answers: [found, found], extra: { raw: HOSTILE, preview: { kind: "html", text: HOSTILE } } }, "n");
    for (const tag of tags(html)) assert.doesNotMatch(tag, /onerror|^<script|^<img/, tag);
    assert.equal(html.match(/<script/g)?.length, 1);
  }
});

test("an image's type and data cannot leave their attribute", () => {
  const preview = { kind: "image", data: `"><script>`, type: `image/png" onerror="x` } as const;
  const html = page({ ...shown, answers: [answer()], extra: { preview } }, "n");
  for (const tag of tags(html)) assert.doesNotMatch(tag, /onerror/);
  assert.equal(html.match(/<script/g)?.length, 1);
});

test("the page's policy allows its own script and nothing from a network", () => {
  const html = page({ ...shown, answers: [answer()] }, "the-nonce");
  const policy = /content="(default-src[^"]*)"/.exec(html)?.[1] ?? "";
  assert.match(policy, /^default-src 'none'; /);
  assert.match(policy, /script-src 'nonce-the-nonce'/);
  assert.doesNotMatch(policy, /https?:|\*|unsafe-eval|script-src[^;]*unsafe/);
});

test("colouring loses no character of a text", () => {
  const texts = ['{"a": [1, -2.5e+3, true, null, "x\\"y", {"b": "<&>"}]}', "<a b=\"c\"><!-- d --></a>", HOSTILE, '"'.repeat(99)];
  const unescape = (html: string): string =>
    html
      .replace(/<[^>]*>/g, "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'")
      .replaceAll("&amp;", "&");
  for (const text of texts) {
    for (const language of ["json", "xml", "html", "plaintext"]) assert.equal(unescape(highlighted(text, language)), text);
  }
});

test("a request without an answer says why, once", () => {
  const failed = exchange(null, { error: "the connection was refused" });
  const html = page({ ...shown, answers: [answer({ outcome: "error", exchanges: [failed], reason: "the connection was refused" })] }, "n");
  assert.equal(html.match(/<p>the connection was refused<\/p>/g)?.length, 1);
  assert.equal(html.match(/the connection was refused/g)?.length, 1);
  assert.match(html, /role="status"[^>]*>No response</);
  assert.doesNotMatch(html, /data-tab="Pretty"/);
  assert.match(html, /data-tab="Request"/);
});

test("a response that broke off is not said to be empty", () => {
  const failed = exchange({ status: 502, body: body({ size: 0, text: "", pretty: "", cut: true }) }, { error: "closed after 5 of 9 bytes" });
  const html = page({ ...shown, answers: [answer({ outcome: "error", exchanges: [failed], reason: "closed after 5 of 9 bytes" })] }, "n");
  assert.match(html, /502 OK[^<]*closed after 5 of 9 bytes/);
  assert.match(html, /The body is incomplete\./);
  assert.doesNotMatch(html, /The body is empty/);
});

test("binary data are shown as bytes, and as an image where they are one", () => {
  const data = Buffer.from([0x89, 0x50, 0x4e, 0x47]).toString("base64");
  const { text: _, ...binary } = body({ type: "image/png", pretty: "", base64: data, size: 4 });
  const answers = [answer({ exchanges: [exchange({ body: binary })] })];
  const html = page({ ...shown, answers, extra: { preview: { kind: "image", data, type: "image/png" } } }, "n");
  assert.match(html, /000000 {2}89 50 4e 47 .*\.PNG/);
  assert.match(html, new RegExp(`src="data:image/png;base64,${data}"`));
});

test("the responses of one run can be chosen among", () => {
  const html = page({ ...shown, index: 1, answers: [answer({ name: "first" }), answer({ name: "second" })] }, "n");
  assert.match(html, /<option value="0">first: 200 OK/);
  assert.match(html, /<option value="1" selected>second: 200 OK/);
});

test("a PDF document is left to the system's program", () => {
  const html = page({ ...shown, answers: [answer()], extra: { preview: { kind: "pdf" } } }, "n");
  assert.match(html, /data-tab="Preview" hidden>.*<button class="text" data-action="external">Open It<\/button>/s);
});

test("a response of the history says when it came, and offers no curl command of today's document", () => {
  const html = page({ ...shown, answers: [{ ...answer(), kept: "2026-01-02T03:04:05Z" }], comparable: true }, "n");
  assert.match(html, /class="summary"[^>]*>200 OK[^<]* · from [^<]*2026/);
  assert.doesNotMatch(html, /data-action="curl"/);
  assert.match(html, /data-action="compare"/);
});

test("a status of 404 has the colour of its class, whatever was expected", () => {
  const answers = [answer({ exchanges: [exchange({ status: 404, reason: "Not Found" })] })];
  const html = page({ ...shown, answers }, "n");
  assert.match(html, /role="status" data-status="4" data-outcome="passed">404 Not Found/);
  assert.match(html, /\.summary\[data-status="4"\] \{ border-color: /);
});

test("an image is what one sees first; another tab stays if the user has chosen it", () => {
  const extra = { preview: { kind: "image", data: "AA==", type: "image/png" } } as const;
  const current = (html: string) => /data-tab="(\w+)" aria-selected="true"/.exec(html)?.[1];
  assert.equal(current(page({ ...shown, answers: [answer()], extra }, "n")), "Preview");
  assert.equal(current(page({ ...shown, tab: "Headers", answers: [answer()], extra }, "n")), "Headers");
});

test("the method, the URL and the headers are there without a click", () => {
  const html = page({ ...shown, answers: [answer()] }, "n");
  assert.match(html, /<h1>GET http:\/\/127\.0\.0\.1\/a<\/h1>/);
  assert.match(html, /<section[^>]*data-tab="Pretty"><details open>.*Content-Type: application\/json/s);
});

test("each panel is labelled by its tab, and one tab is reached by the Tab key", () => {
  const html = page({ ...shown, answers: [answer()] }, "n");
  for (const [, name] of html.matchAll(/role="tab" id="tab-(\w+)"/g)) {
    assert.match(html, new RegExp(`id="panel-${name}" aria-labelledby="tab-${name}"`));
  }
  assert.equal(html.match(/role="tab"[^>]*tabindex="0"/g)?.length, 1);
});

test("of a long text, only the beginning becomes elements at once, and nothing is lost", () => {
  const text = Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`).join("") + "x".repeat(200_000);
  const html = page({ ...shown, answers: [answer()], extra: { raw: text } }, "n");
  const raw = /data-tab="Raw" hidden>(.*?)<\/section>/s.exec(html)?.[1] ?? "";
  const parts = [...raw.matchAll(/<pre tabindex="0">(.*?)<\/pre>/gs)].map(([, part]) => part ?? "");
  assert.equal(parts.join(""), text);
  assert.ok(Math.max(...parts.map((part) => part.length)) <= 64 * 1024);
  assert.equal(raw.match(/<template>/g)?.length, parts.length - 1);
});

test("an assertion that failed without a difference has its reason", () => {
  const failed = { name: "status == 200", passed: false, reason: "status is 404", line: 1, expected: null, actual: null, difference: [] };
  const html = page({ ...shown, answers: [answer({ assertions: [failed] })] }, "n");
  assert.match(html, /status == 200<p>status is 404<\/p>/);
});
