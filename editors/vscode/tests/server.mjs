// The HTTP server that the extension's requests go to: it counts what it is asked.

import { once } from "node:events";
import { createServer } from "node:http";

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

/** Almost six megabytes of JSON. */
const LARGE = Array.from({ length: 80_000 }, (_, at) => ({ number: at, name: "a name of some length, many times", tags: ["a", "b"] }));

/** A page that tries what a page can try: scripts, handlers, frames, redirects, forms, resources. */
function hostile(api) {
  return `<!DOCTYPE html><html><head>
<meta http-equiv="refresh" content="0; url=${api}/beacon/refresh">
<link rel="stylesheet" href="${api}/beacon/style">
<base href="${api}/beacon/">
<style>@import "${api}/beacon/import"; body { background: url(${api}/beacon/background) }</style>
<script>fetch("${api}/beacon/script"); top.postMessage({ action: "save" }, "*"); parent.document.title = "pwned"</script>
<script src="${api}/beacon/src"></script></head>
<body onload="fetch('${api}/beacon/onload')"><h1>Hostile</h1>
<img src="${api}/beacon/img" onerror="fetch('${api}/beacon/onerror')">
<iframe src="${api}/beacon/frame"></iframe><iframe srcdoc="<script>fetch('${api}/beacon/srcdoc')</script>"></iframe>
<object data="${api}/beacon/object"></object><embed src="${api}/beacon/embed"><video src="${api}/beacon/video" autoplay></video>
<form action="${api}/beacon/form" method="post"><input name="a"></form><svg onload="fetch('${api}/beacon/svg')"></svg>
</body></html>`;
}

export class Api {
  static async start(port = 0) {
    const api = new Api();
    api.requests = [];
    api.closed = [];
    api.count = 0;
    api.server = createServer((request, response) => api.answer(request, response));
    api.server.listen(port, "127.0.0.1");
    await once(api.server, "listening");
    api.url = `http://127.0.0.1:${api.server.address().port}`;
    return api;
  }

  answer(request, response) {
    const { method, url, headers } = request;
    this.requests.push(`${method} ${url}`);
    this.headers = headers;
    const send = (type, body, more = {}) => response.writeHead(200, { "Content-Type": type, ...more }).end(body);
    if (url === "/slow") response.on("close", () => this.closed.push(url));
    else if (url === "/hostile") send("text/html", hostile(this.url), { "X-Evil": "<script>alert(1)</script>" });
    else if (url === "/image") send("image/png", PIXEL);
    else if (url === "/pdf") send("application/pdf", "%PDF-1.4\n%%EOF\n");
    else if (url === "/long") send("text/plain", `${"line\n".repeat(40_000)}the end\n`);
    else if (url === "/large") send("application/json", JSON.stringify([...LARGE, { name: "the last one" }]));
    else if (url === "/events") {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
      response.on("close", () => this.closed.push(url));
      this.emit = (text) => response.write(`data: ${text}\n\n`);
    } else if (url === "/gone") response.writeHead(404, { "Content-Type": "application/json" }).end('{"error":"gone"}');
    else if (url === "/cookie") send("text/plain", "set", { "Set-Cookie": "session=kept; Path=/" });
    else if (url === "/counted") send("application/json", `{"count":${++this.count}}`);
    else send("application/json", '{"name":"orgrest","list":[1,true,null],"big":12345678901234567890}');
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
