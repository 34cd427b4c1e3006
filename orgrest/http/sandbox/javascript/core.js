// What all scripts of request files share: the job, its data as JavaScript has it, the result.
// Loaded into a QuickJS context by engine.py, which gives it the functions `__host_*`; a file of the
// same folder has what the scripts of each tool see, and the modules that these may require.
"use strict";
(function () {
  // A script may replace what belongs to the language: these are its own.
  const {parse, stringify} = JSON;
  const {keys, entries, defineProperty} = Object;
  const {isArray} = Array;
  const hasOwn = Object.prototype.hasOwnProperty;
  const evaluate = globalThis.eval;
  const has = (object, name) => hasOwn.call(object, name);

  // Errors come as values: the engine says nothing of those of its host.
  const host = {};
  for (const name of [
    "digest", "convert", "decode", "encode", "jsonpath", "random", "same", "source",
  ]) {
    const call = globalThis["__host_" + name];
    delete globalThis["__host_" + name];
    host[name] = (...given) => {
      const made = parse(call(...given));
      if (has(made, "error")) throw new Error(made.error);
      return made.value;
    };
  }

  const define = (name, value) => {
    defineProperty(globalThis, name, {value, writable: true, configurable: true});
  };
  const loaded = {};
  // The value that a file of this folder gives; each is evaluated once.
  const load = (name) => {
    if (!has(loaded, name)) {
      loaded[name] = evaluate(`(function (orgrest) {${host.source(name)}\n})`)(orgrest);
    }
    return loaded[name];
  };

  let job, result, failed, finish, timers, clock, sends, under, pending;
  const kept = {};  // what scripts exported, by number: the values themselves

  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    try {
      const text = stringify(value);
      return text === undefined ? String(value) : text;
    } catch (error) {
      return String(value);
    }
  };
  const log = (...values) => {
    result.log.push(values.map(show).join(" "));
  };
  const exit = {};  // thrown to end a script, which is no failure
  const report = (name, error) => {
    const ok = error === null || error === exit;
    const message = ok ? "" : String((error && error.message) || error);
    result.tests.push({name: String(name), ok, message});
  };
  // A test without a function would check nothing, and a promise that fails is a failure.
  const test = (name, body) => {
    if (typeof body !== "function") {
      report(name, "nothing to test: expected a function");
      return;
    }
    try {
      const done = body();
      if (done && typeof done.then === "function") {
        const unfinished = {name};
        pending.add(unfinished);
        const end = (error) => {
          pending.delete(unfinished);
          report(name, error);
        };
        done.then(() => end(null), (error) => end(error || "it failed"));
      } else {
        report(name, null);
      }
    } catch (error) {
      report(name, error || "it failed");
      if (error === exit) throw error;
    }
  };

  const parsed = (text) => {
    try {
      return parse(text);
    } catch (error) {
      return undefined;
    }
  };
  const headerObject = (pairs) => {
    const object = {};
    for (const [name, value] of pairs) {
      const key = name.toLowerCase();
      if (!has(object, key)) object[key] = value;
      else object[key] = [].concat(object[key], value);
    }
    return object;
  };
  // Makes reading these properties an error if only the beginning of the body was read.
  const guarded = (object, {unread}, ...names) => {
    const get = () => { throw new Error(unread); };
    for (const name of unread ? names : []) defineProperty(object, name, {get, enumerable: true});
    return object;
  };
  // A response as httpyac has it.
  const responseOf = (given) => {
    const text = given.unread ? null : given.body;
    const response = guarded({
      protocol: "HTTP/1.1", httpVersion: "1.1",
      statusCode: given.status, statusMessage: given.reason, headers: headerObject(given.headers),
      body: text, parsedBody: parsed(text), contentType: given.type,
      timings: {total: given.milliseconds},
    }, given, "body", "parsedBody");
    defineProperty(response, "rawBody", {
      get: () => {
        const {Buffer} = load("buffer");
        return given.base64 ? Buffer.from(given.base64, "base64") : Buffer.from(given.body);
      },
      enumerable: false,
    });
    return response;
  };
  // The text of a value, as httpyac sends it; what has none is an error.
  const textOf = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) throw value;
    if (value instanceof Date) return value.toISOString();
    if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`expected a finite number, found ${value}`);
    if (["number", "boolean", "bigint"].includes(typeof value)) return String(value);
    const text = stringify(value);
    if (text === undefined) throw new Error(`expected text, found ${typeof value}`);
    return text;
  };
  const jsonOf = (value) => {
    try {
      const text = stringify(value);
      return text === undefined ? null : parse(text);
    } catch (error) {
      return null;
    }
  };

  // ------------------------------------------------------------------------------------- results

  // The variable is what the script made it; `keep` holds on to the value itself.
  const variableOf = (value, keep) => {
    const one = {text: null, value: jsonOf(value), number: null};
    try {
      one.text = textOf(value);
    } catch (error) {
      one.text = null;
    }
    if (keep) {
      one.number = job.next++;
      kept[one.number] = value;
    }
    return one;
  };
  const setVariable = (name, value, keep) => {
    removeVariable(name);
    if (value === undefined) return;
    result.variables[name] = variableOf(value, keep);
    result.removed = result.removed.filter((other) => other !== name);
  };
  const removeVariable = (name) => {
    delete result.variables[name];
    delete result.own[name];
    result.removed.push(name);
  };
  // The same for a variable that only the script's own request has.
  const setOwn = (name, value) => {
    result.own[name] = variableOf(value, false);
  };
  const removeOwn = (name) => {
    result.own[name] = null;
  };
  // What a job gives as a variable: the value that a script exported, or one made of its JSON.
  const given = (name) => {
    const number = job.kept[name];
    return has(kept, number) ? kept[number] : job.variables[name];
  };

  // -------------------------------------------------------------------------------------- random

  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const bytes = (count) => host.random(Number(count));
  let pool = [];
  Math.random = () => {
    if (pool.length < 7) pool = bytes(700);
    const [a, b, c, d, e, f, g] = pool.splice(-7);
    const high = (((a & 31) * 256 + b) * 256 + c);
    return (high * 4294967296 + (((d * 256 + e) * 256 + f) * 256 + g)) / 9007199254740992;
  };
  const {random} = Math;
  const between = (from, to) => Math.floor(random() * (to - from) + from);
  const pick = (length, from) => {
    let text = "";
    for (let at = 0; at < length; at++) text += from[between(0, from.length)];
    return text;
  };
  const uuid = () => {
    const made = bytes(16);
    made[6] = (made[6] & 15) | 64;
    made[8] = (made[8] & 63) | 128;
    const hex = made.map((one) => (256 + one).toString(16).slice(1)).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };
  const $random = {
    alphabetic: (length = 10) => pick(length, letters),
    numeric: (length = 10) => pick(length, "0123456789"),
    alphanumeric: (length = 10) => pick(length, letters + "0123456789_"),
    hexadecimal: (length = 10) => pick(length, "1234567890ABCDEF"),
    email: () => `${pick(12, letters.slice(26))}@example.com`,
    float: (from = 0, to = 100) => random() * (to - from) + from,
    integer: (from = 0, to = 100) => between(from, to),
    uuid,
    date: (date = new Date(), format = undefined) => load("dayjs")(date).format(format),
  };

  // -------------------------------------------------------------------------------------- modules

  const MODULES = {
    assert: "assert", "assert/strict": "assert", buffer: "buffer", chai: "chai", crypto: "crypto",
    dayjs: "dayjs", querystring: "querystring", url: "url", uuid: "uuid",
  };
  const MACHINE = {
    fs: "< ./file makes a file the body, and >> ./file saves a response",
    "fs/promises": "< ./file makes a file the body, and >> ./file saves a response",
    child_process: "run the program before orgrest, and pass its output with --var NAME=VALUE",
    os: "pass facts about the machine with --var NAME=VALUE",
    process: "{{$processEnv NAME}} is the value of an environment variable",
  };
  for (const name of ["http", "https", "http2", "net", "tls", "dns", "dgram", "axios", "got"]) {
    MACHINE[name] = "write a request with # @name login, which others use as {{login.token}}";
  }
  const files = {};  // what the job's files export, by path: each is evaluated once
  const fileOf = (path) => {
    if (!has(files, path)) {
      const {source, requires} = job.files[path];
      if (path.endsWith(".json")) return parse(source);
      const module = files[path] = {exports: {}};
      try {
        const run = evaluate(
          `(function (exports, require, module, __filename, __dirname) {${source}\n})`
        );
        const folder = path.replace(/\/?[^/]*$/, "") || ".";
        const inner = (name) => required(name, requires);
        run.call(module.exports, module.exports, inner, module, path, folder);
      } catch (error) {
        delete files[path];
        throw error;
      }
    }
    return files[path].exports;
  };
  const required = (given, requires) => {
    const name = String(given).replace(/^node:/, "");
    if (has(MODULES, name)) {
      const found = load(MODULES[name]);
      return name === "assert/strict" ? found.strict : found;
    }
    if (!has(MACHINE, name) && has(requires, name)) return fileOf(requires[name]);
    if (has(MACHINE, name)) {
      throw new Error(
        `require("${given}") is not available: scripts cannot access files, the network or programs: ${MACHINE[name]}`
      );
    }
    const install = /^[\w@]/.test(name) ? `; npm install ${name} puts a package there` : "";
    throw new Error(
      `require("${given}"): no such file or package beside the document${install}. ` +
      `Always available: ${keys(MODULES).join(", ")}`
    );
  };
  const require = (given) => required(given, job.requires);

  // ---------------------------------------------------------------------------------------- time

  const setTimeout = (body, delay = 0, ...rest) => {
    const due = clock + Math.max(0, Number(delay) || 0);
    timers.push({due, id: ++setTimeout.last, run: () => body(...rest)});
    return setTimeout.last;
  };
  setTimeout.last = 0;
  const clearTimeout = (id) => {
    timers = timers.filter((one) => one.id !== id);
  };
  const sleep = (delay) => new Promise((done) => setTimeout(done, delay));

  // ------------------------------------------------------------------------------------ requests

  // `take` gets an error or null, and the response. Scripts see no network: the run sends this.
  const send = (request, take) => {
    sends.push({request, take});
  };

  const orgrest = {
    send, guarded,
    host, define, load, log, report, test, show, parsed, headerObject, responseOf, textOf, given,
    setVariable, removeVariable, setOwn, removeOwn, $random, bytes, uuid, require, setTimeout, clearTimeout, sleep,
    has, keys, entries, stringify, parse, isArray, evaluate, exit,
    get job() { return job; },
    get result() { return result; },
    done() { finish = null; },
    failed(error) { finish = null; failed = {error}; },
  };

  // What engine.py calls, in this order.
  defineProperty(globalThis, "__orgrest", {value: Object.freeze({
    begin(text) {
      job = parse(text);
      for (const name of keys(job.responses)) guarded(job.responses[name], job.responses[name], "body");
      if (job.response) guarded(job.response, job.response, "body");
      result = {
        log: [], tests: [], cancelled: false, request: null, variables: {}, removed: [],
        own: {}, globals: {},
      };
      failed = null;
      timers = [];
      sends = [];
      pending = new Set();
      clock = Date.now();
      finish = undefined;
      load(job.host)();
    },
    // The next request that the script wants sent, null for none; its answer comes before more.
    asked() {
      if (failed !== null || !sends.length) return null;
      under = sends.shift();
      return stringify(under.request);
    },
    answered(text) {
      const {error, response} = parse(text);
      if (response) guarded(response, response, "body");
      try {
        under.take(error === null ? null : new Error(error), response);
      } catch (problem) {
        failed = {error: problem};
      }
    },
    // The milliseconds until the next timer, -1 for none; null when the script is done.
    wait() {
      if (finish === null) return null;
      if (!timers.length) return -1;
      return Math.max(0, Math.min(...timers.map((one) => one.due)) - clock);
    },
    wake() {
      clock = Math.max(clock, Math.min(...timers.map((one) => one.due)));
      const due = timers.filter((one) => one.due <= clock);
      timers = timers.filter((one) => one.due > clock);
      for (const one of due.sort((a, b) => a.due - b.due || a.id - b.id)) one.run();
    },
    check() {
      if (failed !== null) throw failed.error;
    },
    result() {
      if (result.ending) result.ending();
      for (const {name} of pending) {
        report(name, "the test did not end: its promise is never settled, or it never calls done");
      }
      result.next = job.next;
      return stringify(result);
    },
  })});
})();
