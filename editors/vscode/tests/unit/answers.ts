// Answers as the server sends them, for the tests.

import type { Answer, Body, Exchange, Record, Response } from "../../src/answer.ts";

export function body(given: Partial<Body> = {}): Body {
  const text = '{"a":1}';
  const known = { type: "application/json", size: text.length, cut: false, text, language: "json" };
  return { ...known, pretty: '{\n  "a": 1\n}', whole: true, uri: "file:///tmp/body-1.json", ...given };
}

export function exchange(response: Partial<Response> | null = {}, given: Partial<Exchange> = {}): Exchange {
  const known: Response = {
    status: 200,
    reason: "OK",
    version: "1.1",
    url: "http://127.0.0.1/a",
    headers: [["Content-Type", "application/json"]],
    body: body(),
    redirects: [],
  };
  return {
    request: { method: "GET", url: "http://127.0.0.1/a", headers: [["Accept", "*/*"]], body: null },
    response: response && { ...known, ...response },
    attempts: 1,
    error: null,
    duration: 0.0123,
    timing: { resolve: 0.001, connect: 0.002, tls: null, wait: 0.009, download: 0.0003 },
    earlier: [],
    ...given,
  };
}

export function answer(given: Partial<Record> = {}): Answer {
  return {
    token: "1",
    textDocument: { uri: "file:///a.http", version: 1 },
    request: { uri: "file:///a.http", line: 0 },
    record: {
      line: 1,
      name: null,
      outcome: "passed",
      reason: null,
      started: "2026-01-01T00:00:00.000+00:00",
      duration: 0.02,
      assertions: [],
      exchanges: [exchange()],
      notes: [],
      ...given,
    },
  };
}
