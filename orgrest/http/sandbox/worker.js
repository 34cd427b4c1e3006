// What scripts of request files see: JetBrains' HTTP Client's names (client, request, response,
// jsonPath, crypto) and httpyac's (exports, test, console, request, response, $global). Loaded into
// a fresh QuickJS context for each script by sandbox.py, which gives it the functions `__host_*` and
// the job, and takes the result from `__orgrest`.
// Sources: JetBrains' HTTP Client API reference; httpyac's guide on scripting.
"use strict";
(function () {
  const host = {digest: __host_digest, convert: __host_convert, jsonpath: __host_jsonpath};
  // Errors come as values: the engine says nothing of those of its host.
  for (const name of Object.keys(host)) {
    const call = host[name];
    host[name] = (...given) => {
      const made = JSON.parse(call(...given));
      if (Object.prototype.hasOwnProperty.call(made, "error")) throw new Error(made.error);
      return made.value;
    };
  }
  const job = JSON.parse(__host_job);
  for (const name of ["digest", "convert", "jsonpath", "job"]) delete globalThis["__host_" + name];
  const result = {log: [], tests: [], cancelled: false, request: null};
  const has = (object, name) => Object.prototype.hasOwnProperty.call(object, name);
  const define = (name, value) => {
    Object.defineProperty(globalThis, name, {value, writable: true, configurable: true});
  };

  const show = (value) => {
    if (typeof value === "string") return value;
    try {
      const text = JSON.stringify(value);
      return text === undefined ? String(value) : text;
    } catch (error) {
      return String(value);
    }
  };
  const log = (...values) => {
    result.log.push(values.map(show).join(" "));
  };
  const report = (name, error) => {
    const message = error === null ? "" : String((error && error.message) || error);
    result.tests.push({name: String(name), ok: error === null, message});
  };

  // Variables by scope; a value that is not a string is kept as JSON.
  const store = (values) => ({
    set(name, value) { values[String(name)] = value === undefined ? null : value; },
    get(name) { return has(values, name) ? values[name] : null; },
    isEmpty() { return Object.keys(values).length === 0; },
    clear(name) { delete values[name]; },
    clearAll() { for (const name of Object.keys(values)) delete values[name]; },
  });

  const headersOf = (pairs) => ({
    valueOf(name) {
      const found = this.valuesOf(name);
      return found.length ? found[0] : null;
    },
    valuesOf(name) {
      const wanted = String(name).toLowerCase();
      return pairs.filter((pair) => pair[0].toLowerCase() === wanted).map((pair) => pair[1]);
    },
    all() {
      return pairs.map((pair) => ({name: pair[0], value: pair[1]}));
    },
    findByName(name) {
      const value = pairs.find((pair) => pair[0].toLowerCase() === String(name).toLowerCase());
      if (!value) return null;
      const read = () => value[1];
      return {name: value[0], getRawValue: read, tryGetSubstitutedValue: read};
    },
  });
  const headerObject = (pairs) => {
    const object = {};
    for (const [name, value] of pairs) {
      const key = name.toLowerCase();
      if (!has(object, key)) object[key] = value;
      else object[key] = [].concat(object[key], value);
    }
    return object;
  };
  // A request as httpyac's scripts have it: names of headers as written, one given twice as a list.
  const requestOf = (given) => {
    const headers = {};
    for (const [name, value] of given.headers) {
      headers[name] = has(headers, name) ? [].concat(headers[name], value) : value;
    }
    const request = {protocol: "HTTP", method: given.method, url: given.url, headers};
    if (given.body !== null) request.body = given.body;
    return request;
  };
  const bodyOf = (body) => {
    if (body === undefined || body === null) return null;
    if (["string", "number", "boolean"].includes(typeof body)) return String(body);
    throw new TypeError(
      "request.body is a text, not " + typeof body + ": JSON.stringify() makes one of an object"
    );
  };
  const CHANGEABLE = ["protocol", "method", "url", "headers", "body"];
  // What is sent of a request: what a script did to it in vain is an error.
  const sentOf = (request) => {
    const other = Object.keys(request).find((name) => !CHANGEABLE.includes(name));
    if (other !== undefined) {
      throw new Error(
        `request.${other} is not known here: url, method, headers and body can be changed`
      );
    }
    const headers = new Map();
    for (const [name, value] of Object.entries(request.headers || {})) {
      if (value === undefined || value === null) continue;
      headers.delete(name.toLowerCase());
      headers.set(name.toLowerCase(), [].concat(value).map((one) => [name, String(one)]));
    }
    return {
      method: String(request.method), url: String(request.url), headers: [...headers.values()].flat(),
      body: bodyOf(request.body),
    };
  };
  const parsed = (text) => {
    try {
      return JSON.parse(text);
    } catch (error) {
      return undefined;
    }
  };

  const responseOf = (given) => ({
    statusCode: given.status, statusMessage: given.reason, headers: headerObject(given.headers),
    body: given.body, parsedBody: parsed(given.body), contentType: given.type,
  });
  // The text of an expression's value, as httpyac has it; what has none is an error.
  const textOf = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) throw value;
    if (value instanceof Date) return value.toISOString();
    if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`gives ${value}`);
    if (["number", "boolean", "bigint"].includes(typeof value)) return String(value);
    const text = JSON.stringify(value);
    if (text === undefined) throw new Error(`gives ${typeof value}, which is no text`);
    return text;
  };

  // Digests as JetBrains has them: crypto.sha256().updateWithText("a").digest().toHex().
  const digestOf = (algorithm, key) => {
    const pieces = [];
    const object = {
      updateWithText(text) { pieces.push(["text", String(text)]); return object; },
      updateWithHex(text) { pieces.push(["hex", String(text)]); return object; },
      updateWithBase64(text) { pieces.push(["base64", String(text)]); return object; },
      digest() {
        const given = JSON.stringify({algorithm, key, pieces});
        return {
          toHex: () => host.digest(given, "hex"),
          toBase64: () => host.digest(given, "base64"),
        };
      },
    };
    if (key === null) {
      return object;
    }
    return {
      withTextSecret(text) { return digestOf(algorithm, ["text", String(text)]); },
      withHexSecret(text) { return digestOf(algorithm, ["hex", String(text)]); },
      withBase64Secret(text) { return digestOf(algorithm, ["base64", String(text)]); },
      ...object,
    };
  };
  const algorithms = ["md5", "sha1", "sha256", "sha384", "sha512"];
  const crypto = {hmac: {}};
  for (const algorithm of algorithms) {
    crypto[algorithm] = () => digestOf(algorithm, null);
    crypto.hmac[algorithm] = () => digestOf(algorithm, ["text", ""]);
  }
  define("crypto", crypto);
  define("btoa", (text) => host.convert("btoa", String(text)));
  define("atob", (text) => host.convert("atob", String(text)));
  define("jsonPath", (value, path) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return host.jsonpath(text, String(path));
  });
  define("console", {log, info: log, warn: log, error: log, debug: log});
  define("require", (name) => {
    throw new Error(`require("${name}") is not there: scripts see no modules, files or network`);
  });

  const variables = job.variables;
  const globals = job.globals;

  if (job.host === "jetbrains") {
    const exit = {};
    define("client", {
      log,
      test(name, body) {
        try {
          body();
          report(name, null);
        } catch (error) {
          report(name, error);
        }
      },
      assert(condition, message) {
        if (!condition) throw new Error(message === undefined ? "Assertion failed" : message);
      },
      exit() { throw exit; },
      global: Object.assign(store(globals), {headers: {
        set() { throw new Error("client.global.headers is not known here: write the header out"); },
      }}),
      variables: {
        global: store(globals), request: store(variables), file: store(job.file),
        environment: store(job.environment),
      },
      isEnvironmentSelected: () => job.environmentSelected,
    });
    define("request", {
      variables: store(variables),
      environment: {get: (name) => (has(job.environment, name) ? job.environment[name] : null)},
      method: job.request.method,
      url: {
        getRaw: () => job.request.url,
        tryGetSubstituted: () => job.request.url,
      },
      body: {
        getRaw: () => job.request.body || "",
        tryGetSubstituted: () => job.request.body || "",
        string: () => job.request.body || "",
      },
      headers: headersOf(job.request.headers),
      iteration: () => job.iteration,
    });
    if (job.response !== null) {
      const type = job.response.type;
      const body = type.mimeType.endsWith("json") ? parsed(job.response.body) : undefined;
      define("response", {
        body: body === undefined ? job.response.body : body,
        headers: headersOf(job.response.headers),
        status: job.response.status,
        contentType: type,
      });
    }
    host.isExit = (error) => error === exit;
  } else if (job.host === "expression") {
    const constant = (name, value) => {
      Object.defineProperty(globalThis, name, {value, writable: false, configurable: false});
    };
    for (const name of Object.keys(variables)) constant(name, variables[name]);
    for (const name of Object.keys(job.responses)) constant(name, responseOf(job.responses[name]));
    host.isExit = () => false;
    host.keep = (value) => {
      result.text = textOf(value);
      result.value = value instanceof Date || typeof value === "bigint" ? result.text : value;
    };
  } else {
    const exports = {};
    for (const name of Object.keys(job.named)) define(name, job.named[name]);
    for (const name of Object.keys(variables)) define(name, variables[name]);
    define("exports", exports);
    define("module", {exports});
    define("$global", globals);
    define("test", (name, body) => {
      try {
        const done = body();
        if (done && typeof done.then === "function") {
          done.then(() => report(name, null), (error) => report(name, error));
        } else {
          report(name, null);
        }
      } catch (error) {
        report(name, error);
      }
    });
    const request = requestOf(job.request);
    const asGiven = JSON.stringify(sentOf(request));
    define("request", request);
    if (job.response !== null) define("response", responseOf(job.response));
    host.isExit = () => false;
    host.keepExports = () => {
      const sent = sentOf(request);
      if (JSON.stringify(sent) !== asGiven) result.request = sent;
      const given = globalThis.module.exports;
      for (const name of Object.keys(given)) {
        if (name === "$cancel") result.cancelled = Boolean(given[name]);
        else variables[name] = given[name];
      }
    };
  }

  host.result = () => {
    if (host.keepExports) host.keepExports();
    result.globals = globals;
    result.variables = variables;
    return JSON.stringify(result);
  };
  const {isExit, keep} = host;
  Object.defineProperty(globalThis, "__orgrest", {
    value: Object.freeze({result: host.result, isExit, keep, code: job.code}),
  });
})();
