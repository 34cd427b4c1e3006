// What JetBrains' scripts see. Source: JetBrains' HTTP Client API reference.
const {define, guarded, has, keys, log, parsed, test} = orgrest;

// Variables by scope; a value that is not a string is kept as JSON. A change is told to `changed`.
const store = (values, changed = () => {}, removed = () => {}) => ({
  set(name, value) {
    values[String(name)] = value === undefined ? null : value;
    changed(String(name), values[name]);
  },
  get(name) { return has(values, name) ? values[name] : null; },
  isEmpty() { return keys(values).length === 0; },
  clear(name) {
    if (has(values, name)) removed(String(name));
    delete values[name];
  },
  clearAll() { for (const name of keys(values)) this.clear(name); },
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

// A part of the request: a function that returns it with its variables replaced, and is text, too.
const partOf = (raw, read) => Object.assign(() => read(), {
  getRaw: () => raw, tryGetSubstituted: read, string: read, toString: read, toJSON: read,
});
// A script's request. `raw` is the request as written, and `expand` replaces variables.
const requestOf = (request, raw, expand) => {
  const read = (text) => () => expand(text);
  const same = (pair) => (other) => other[0].toLowerCase() === pair[0].toLowerCase();
  const rawOf = (pair) => {
    const number = request.headers.filter(same(pair)).indexOf(pair);
    return (raw.headers.filter(same(pair))[number] || pair)[1];
  };
  const headers = request.headers.map((pair) => {
    const value = partOf(rawOf(pair), read(pair[1]));
    return {
      name: pair[0], value, getRawValue: value.getRaw, tryGetSubstitutedValue: value.string,
    };
  });
  return {
    method: request.method,
    url: partOf(raw.url, read(request.url)),
    body: partOf(raw.body || "", read(request.body || "")),
    headers: {
      ...headersOf(request.headers),
      all: () => headers,
      findByName: (name) => headers.find((one) => same([String(name)])([one.name])) || null,
    },
  };
};

// In JetBrains' HTTP Client, XML is a document. Here it is text, whose members say what to do.
const DOCUMENT = [
  "childNodes", "children", "documentElement", "evaluate", "firstChild", "getAttribute",
  "getElementById", "getElementsByTagName", "getElementsByTagNameNS", "querySelector",
  "querySelectorAll", "textContent",
];
const isText = () => {
  for (const name of DOCUMENT) {
    Object.defineProperty(String.prototype, name, {
      get() {
        throw new Error(
          `${name} is not available: XML is text here. Check it with an assertion such as ` +
          '?? xpath "//item" exists, and use its values in requests as {{NAME.response.body.//item}}'
        );
      },
      configurable: true,
    });
  }
};

// In JetBrains' HTTP Client, these functions get a stream while it arrives. Here, it is complete.
const reply = () => {
  throw new Error(
    "the stream has ended, so no message can be sent: write the messages in the body of the " +
    "request, separated by lines with === or === wait-for-server"
  );
};
const passing = (parts) => (subscriber, onFinish) => {
  let on = true;
  for (const part of parts()) if (on) subscriber(part, () => { on = false; }, reply);
  if (onFinish) onFinish();
};
const linesOf = (text) => text.split(/\r\n|\r|\n/);
const dataOf = (event) => linesOf(event).filter((line) => /^data(?::|$)/.test(line))
  .map((line) => line.replace(/^data:? ?/, ""));
const streamOf = (text, mimeType) => {
  const read = (line) => (mimeType.endsWith("json") ? parsed(line) || line : line);
  const lines = () => linesOf(text).slice(0, /[\r\n]$|^$/.test(text) ? -1 : undefined);
  const events = () => text.split(/(?:\r\n|\n|\r(?!\n)){2}/).map(dataOf)
    .filter((data) => data.length).map((data) => data.join("\n"));
  return {
    onEachLine: passing(() => lines().map(read)),
    onEachMessage: passing(mimeType === "text/event-stream" ? events : () => lines().filter(Boolean)),
  };
};

return () => {
  const {job, result} = orgrest;
  const globals = job.globals;
  const variables = job.variables;
  const changed = (name, value) => orgrest.setVariable(name, value, false);
  const setGlobal = (name, value) => {
    changed(name, value);
    result.globals[name] = value;
  };
  orgrest.load("globals");
  define("console", {log, info: log, warn: log, error: log, debug: log});
  define("require", orgrest.require);
  const {$random} = orgrest;
  Object.defineProperty($random, "uuid", {get: () => orgrest.uuid()});
  const {email} = $random;
  Object.defineProperty($random, "email", {get: email});
  define("$random", $random);
  // As {{$timestamp}} and the like: new at each use, and with a seed the year 2000.
  const now = () => new Date(job.seed === null ? Date.now() : Date.UTC(2000, 0));
  const DYNAMIC = {
    $uuid: orgrest.uuid, $timestamp: () => Math.floor(now() / 1000),
    $isoTimestamp: () => now().toISOString(), $randomInt: () => $random.integer(0, 1000),
  };
  for (const name of keys(DYNAMIC)) {
    Object.defineProperty(globalThis, name, {
      get: DYNAMIC[name], set(value) { define(name, value); }, configurable: true,
    });
  }
  const {exit} = orgrest;
  define("client", {
    log,
    test,
    assert(condition, message) {
      if (!condition) throw new Error(message === undefined ? "Assertion failed" : message);
    },
    exit() { throw exit; },
    global: Object.assign(store(globals, setGlobal, orgrest.removeVariable), {headers: {
      set() { throw new Error("client.global.headers is not supported: write the header into each request"); },
    }}),
    variables: {
      global: store(globals, setGlobal, orgrest.removeVariable),
      request: store(variables, orgrest.setOwn, orgrest.removeOwn), file: store(job.file, changed),
      environment: store(job.environment, changed),
    },
    isEnvironmentSelected: () => job.environmentSelected,
  });
  // The text with the values that the request has now; what has none stays as it is.
  const expanded = (text, within = []) => text.replace(/\{\{([^{}\n]+)\}\}/g, (whole, inside) => {
    const name = inside.trim();
    if (name.startsWith("%")) {
      const one = `{{${name.slice(1)}}}`, value = expanded(one, within);
      return value === one ? whole : encodeURIComponent(value);
    }
    const known = has(job.placeholders, name) ? job.placeholders[name] : {};
    const made = known.fixed ? null : result.own[name] || result.variables[name];
    if (made) return made.text === null ? whole : made.text;
    if (known.error) throw new Error(known.error);
    if (!has(known, "text") || within.includes(name)) return whole;
    return known.opens ? expanded(known.text, [...within, name]) : known.text;
  });
  define("request", {
    ...requestOf(job.request, job.written || job.request, job.response ? String : expanded),
    variables: store(variables, orgrest.setOwn, orgrest.removeOwn),
    environment: {get: (name) => (has(job.environment, name) ? job.environment[name] : null)},
    iteration: () => job.iteration,
    templateValue: (index) => (index in job.elements ? job.elements[index] : null),
  });
  if (job.response !== null) {
    const type = job.response.type;
    if (type.mimeType.endsWith("xml")) isText();
    const text = job.response.unread ? null : job.response.body;
    const body = type.mimeType.endsWith("json") ? parsed(text) : undefined;
    const object = typeof body === "object" && type.mimeType.endsWith("ndjson") ? body : null;
    const stream = text === null ? {} : streamOf(text, type.mimeType);
    for (const name of keys(stream)) {
      Object.defineProperty(object || String.prototype, name, {
        value: stream[name], configurable: true, writable: true,
      });
    }
    define("response", guarded({
      body: body === undefined ? text : body,
      headers: headersOf(job.response.headers),
      status: job.response.status,
      contentType: type,
    }, job.response, "body"));
  }
  Object.defineProperty(globalThis, "pm", {
    get() {
      define("pm", orgrest.load("postman")());
      return globalThis.pm;
    },
    configurable: true,
  });
  const told = orgrest.load("older")();
  result.ending = () => {
    delete result.ending;
    told();
    result.globals = globals;
  };
  try {
    try {
      orgrest.evaluate(job.code);
    } catch (error) {  // before anything ran: Postman's scripts are the body of a function
      if (!(error instanceof SyntaxError)) throw error;
      const awaits = /\bawait\b/.test(job.code);
      if (!awaits && error.message !== "return not in a function") throw error;
      const body = `(${awaits ? "async " : ""}function __script() {${job.code}\n})()`;
      const running = orgrest.evaluate(body);
      if (awaits) {
        running.then(orgrest.done, (problem) => {
          if (problem === exit) orgrest.done();
          else orgrest.failed(problem);
        });
        return;
      }
    }
    orgrest.done();
  } catch (error) {
    if (error === exit) orgrest.done();
    else orgrest.failed(error);
  }
};
