// The outcome of a request: the data of the notification `orgrest/response`, whose fields
// docs/language-server.md describes, and the texts that the views make from it.

export interface Body {
  type: string;
  size: number;
  cut: boolean;
  text?: string;
  base64?: string;
  pretty?: string | null;
  /** Whether `pretty` is the whole body. */
  whole?: boolean;
  language?: string;
  uri?: string;
  problem?: string;
}

export type Header = [name: string, value: string];

export interface Timing {
  resolve: number | null;
  connect: number | null;
  tls: number | null;
  wait: number | null;
  download: number | null;
}

export interface SentRequest {
  method: string;
  url: string;
  headers: Header[];
  body: Body | null;
}

export interface Response {
  status: number;
  reason: string;
  version: string;
  url: string;
  headers: Header[];
  body: Body;
  redirects: { status: number; url: string }[];
}

export interface Exchange {
  request: SentRequest;
  response: Response | null;
  attempts: number;
  error: string | null;
  duration: number | null;
  timing: Timing | null;
  earlier: Exchange[];
}

export interface Assertion {
  name: string;
  passed: boolean;
  reason: string;
  line: number;
  expected: string | null;
  actual: string | null;
  difference: string[];
}

export interface Record {
  line: number | null;
  name: string | null;
  outcome: "passed" | "failed" | "error" | "skipped";
  reason: string | null;
  started: string;
  duration: number;
  assertions: Assertion[];
  exchanges: Exchange[];
  notes: string[];
}

export interface Answer {
  token: string | number | null;
  textDocument: { uri: string; version: number };
  request: { uri: string; line: number };
  record: Record;
  /** The time at which the request was sent, if the answer comes from the history. */
  kept?: string;
}

/** A message of a stream, which arrives before the answer. */
export interface StreamMessage {
  token: string | number | null;
  text: string;
}

/** Return an answer's last exchange with a response: the exchange of the request itself. */
export function answered(answer: Pick<Answer, "record">): (Exchange & { response: Response }) | undefined {
  return answer.record.exchanges.findLast(
    (exchange): exchange is Exchange & { response: Response } => exchange.response !== null,
  );
}

/** Return the title of a request: its name, else its method and the path of its URL. */
export function title(answer: Answer): string {
  const { record } = answer;
  if (record.name) return record.name;
  const request = record.exchanges.at(-1)?.request;
  if (request === undefined) return `line ${answer.request.line + 1}`;
  return `${request.method} ${URL.canParse(request.url) ? new URL(request.url).pathname : request.url}`;
}

/** Return the method and URL that were sent; the request's title if nothing was sent. */
export function requestLine(answer: Answer): string {
  const request = (answered(answer) ?? answer.record.exchanges.at(-1))?.request;
  return request ? `${request.method} ${request.url}` : title(answer);
}

/** Return the class of a response's status: 2 for 200 to 299; 0 if there is no response. */
export function statusClass(answer: Pick<Answer, "record">): number {
  return Math.floor((answered(answer)?.response.status ?? 0) / 100);
}

/** Return the outcome of a request as one line. */
export function summary({ record, kept }: Pick<Answer, "record" | "kept">): string {
  const exchange = answered({ record });
  const words: string[] = [];
  if (exchange) {
    words.push(`${exchange.response.status} ${exchange.response.reason}`.trim());
    if (exchange.duration !== null) words.push(duration(exchange.duration));
    words.push(size(exchange.response.body.size));
  }
  const failed = record.assertions.filter(({ passed }) => !passed).length;
  if (failed) words.push(`${failed} of ${record.assertions.length} assertions failed`);
  else if (record.assertions.length) words.push(`${record.assertions.length} passed`);
  if (record.reason) words.push(record.reason);
  if (kept) words.push(`from ${new Date(kept).toLocaleString()}`);
  return words.join(" · ") || record.outcome;
}

/** Return the hint after the line of a request: short, most important first, for narrow windows. */
export function hint({ record }: Pick<Answer, "record">): string {
  const exchange = answered({ record });
  const failed = record.assertions.filter(({ passed }) => !passed).length;
  const words: string[] = [];
  if (exchange) words.push(String(exchange.response.status));
  if (failed) words.push(`✗ ${failed} of ${record.assertions.length}`);
  else if (exchange && record.reason) words.push("✗");
  else if (record.assertions.length) words.push(`✓ ${record.assertions.length}`);
  if (exchange && exchange.duration !== null) words.push(duration(exchange.duration));
  return words.join(" · ") || record.reason || record.outcome;
}

/** Return the whole response as an HTTP message: the head, then the body as text. */
export function wholeResponse(response: Response): string {
  return `${head(response)}\n\n${response.body.text ?? ""}`;
}

export function head(response: Response): string {
  const version = response.version.startsWith("HTTP") ? response.version : `HTTP/${response.version}`;
  return [`${version} ${response.status} ${response.reason}`.trim(), ...lines(response.headers)].join("\n");
}

/** Return a request as an HTTP message; the server has masked its secrets. */
export function wholeRequest(request: SentRequest): string {
  const first = [`${request.method} ${request.url}`, ...lines(request.headers)].join("\n");
  if (!request.body) return first;
  const text = request.body.text ?? `(${size(request.body.size)} of binary data)`;
  return `${first}\n\n${text}${request.body.cut ? "\n..." : ""}`;
}

function lines(headers: Header[]): string[] {
  return headers.map(([name, value]) => `${name}: ${value}`);
}

/** Return the suffix for a file with this body: the suffix of the server's file, or `.txt`. */
export function extension(body: Body): string {
  const name = body.uri === undefined ? "" : new URL(body.uri).pathname;
  const dot = name.lastIndexOf(".");
  return dot > name.lastIndexOf("/") ? name.slice(dot) : ".txt";
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export function duration(seconds: number): string {
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(2)} s`;
}
