// What httpyac's scripts see. Source: httpyac's guide on scripting, and what 6.16.7 does.
const {given, has, headerObject, keys, log, responseOf, stringify, test} = orgrest;

// A request: names of headers as written, one given twice as a list.
const requestOf = (written) => {
  const headers = {};
  for (const [name, value] of written.headers) {
    headers[name] = has(headers, name) ? [].concat(headers[name], value) : value;
  }
  const request = {protocol: "HTTP", method: written.method, url: written.url, headers};
  if (written.body !== null) request.body = written.body;
  return request;
};
const bodyOf = (body) => {
  if (body === undefined || body === null) return null;
  if (["string", "number", "boolean"].includes(typeof body)) return String(body);
  if (body instanceof Uint8Array) {
    return {base64: orgrest.load("buffer").Buffer.from(body).toString("base64")};
  }
  throw new TypeError(
    "request.body must be a string or a Buffer, found " + typeof body +
    ": use JSON.stringify() for objects"
  );
};
const CHANGEABLE = ["protocol", "method", "url", "headers", "body"];
// What is sent of a request: what a script did to it in vain is an error.
const sentOf = (request) => {
  const other = keys(request).find((name) => !CHANGEABLE.includes(name));
  if (other !== undefined) {
    throw new Error(
      `request.${other} is not supported: only url, method, headers and body can be changed`
    );
  }
  const headers = new Map();
  for (const [name, value] of orgrest.entries(request.headers || {})) {
    if (value === undefined || value === null) continue;
    headers.delete(name.toLowerCase());
    headers.set(name.toLowerCase(), [].concat(value).map((one) => [name, String(one)]));
  }
  return {
    method: String(request.method), url: String(request.url),
    headers: [...headers.values()].flat(), body: bodyOf(request.body),
  };
};

// `test`, with its shorthands. Where there is no response, these are errors: nothing was tested.
const testOf = (response) => {
  const tests = (name, body) => test(name, body);
  const check = (holds, message) => {
    if (!holds) throw new Error(message);
  };
  const about = (name, body) => test(name, () => {
    check(response !== undefined, "no response yet");
    body();
  });
  const header = (name) => {
    const found = headerObject(orgrest.entries(response.headers))[String(name).toLowerCase()];
    return found;
  };
  const same = (a, b) => (Array.isArray(a) && Array.isArray(b) ? stringify(a) === stringify(b)
    : a === b);
  tests.status = (status) => about(`response status equals to ${status}`, () => check(
    response.statusCode === status, `response status is ${response.statusCode} (expected: ${status})`
  ));
  tests.totalTime = (most) => about(`total time exceeded ${most}`, () => check(
    response.timings.total < most, `total time is ${response.timings.total} (expected max ${most})`
  ));
  tests.header = (name, value) => about(`response header ${name} equals ${value}`, () => check(
    same(header(name), value), `response header ${name} is ${header(name)} (expected: ${value})`
  ));
  tests.headerContains = (name, value) => about(`response header ${name} contains ${value}`, () => {
    const found = header(name);
    check(
      found !== undefined && found.includes(String(value)),
      `response header ${name} is ${found}, without ${value}`
    );
  });
  tests.responseBody = (value) => about(`response body equals ${value}`, () => check(
    response.body === value, `response body is ${response.body} (expected: ${value})`
  ));
  tests.hasResponseBody = () => about("response body exists", () => check(
    Boolean(response.body), "the response has no body"
  ));
  tests.hasNoResponseBody = () => about("response body does not exists", () => check(
    !response.body, `response body is ${response.body}`
  ));
  return tests;
};

const elsewhere = (what, instead) => new Proxy({}, {
  get(_, name) {
    if (typeof name === "symbol") return undefined;
    throw new Error(`${what}.${name} is not available: ${instead}`);
  },
});
const $httpyac = elsewhere("$httpyac", "# @ref and # @import name what is sent first");
const $requestClient = elsewhere(
  "$requestClient", "messages are written in the body, separated by `===` lines"
);
const httpFile = elsewhere("httpFile", "{{name}} and @name = value are what a file has here");
const httpRegion = elsewhere("httpRegion", "request and response are what a script has here");
orgrest.load("globals");

return () => {
  const {job, result} = orgrest;
  const $global = orgrest.load("global")(job.globals);
  const exports = {};
  const module = {exports};
  const request = requestOf(job.request);
  const before = stringify(sentOf(request));
  const context = {};
  for (const name of keys(job.variables)) context[name] = job.variables[name];
  for (const name of keys(job.kept)) context[name] = given(name);
  for (const name of keys(job.responses)) context[name] = responseOf(job.responses[name]);
  if (job.response !== null) context.response = responseOf(job.response);
  const names = keys(context);
  Object.assign(context, {
    request, test: testOf(context.response), console: {
      log, info: log, warn: log, error: log, debug: log, trace: log,
    },
    sleep: orgrest.sleep, setTimeout: orgrest.setTimeout, clearTimeout: orgrest.clearTimeout,
    $global, $random: orgrest.$random, $httpyac, $requestClient,
    httpFile, httpRegion,
  });
  let pm;
  Object.defineProperty(context, "pm", {
    get: () => (pm = pm || orgrest.load("postman")()), set(value) { pm = value; },
  });
  result.ending = () => {
    delete result.ending;
    const sent = sentOf(request);
    if (stringify(sent) !== before) result.request = sent;
    result.globals = $global;
    for (const name of names) if (context[name] === undefined) orgrest.removeVariable(name);
    for (const name of keys(module.exports)) {
      if (name === "$cancel") result.cancelled = Boolean(module.exports[name]);
      else orgrest.setVariable(name, module.exports[name], true);
    }
  };
  const run = orgrest.evaluate(
    "(async function __script(exports, require, module, context) { with (context) {" + job.code +
    "\n}})"
  );
  run.call(context, exports, orgrest.require, module, context).then(async () => {
    module.exports = await module.exports;
    for (const name of keys(module.exports)) {
      module.exports[name] = await module.exports[name];
    }
    orgrest.done();
  }).catch(orgrest.failed);
};
