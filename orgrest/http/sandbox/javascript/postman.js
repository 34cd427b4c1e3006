// Postman's pm, as far as tests and variables go. Source: Postman's sandbox API reference.
// It is there in all scripts, for collections that were imported.
const {has, keys, parse, test} = orgrest;
const {expect} = orgrest.load("chai");
const {Buffer} = orgrest.load("buffer");
const store = (read, change) => ({
  get: (name) => read()[name],
  set(name, value) { change(String(name), value); },
  has: (name) => has(read(), name) && read()[name] !== undefined,
  unset(name) { change(String(name), undefined); },
  clear() { for (const name of keys(read())) change(name, undefined); },
  toObject: () => ({...read()}),
  replaceIn: (text) => String(text).replace(
    /\{\{([^{}]+)\}\}/g, (whole, name) => (has(read(), name) ? String(read()[name]) : whole)
  ),
});
const valueOf = (pairs, name) => {
  const found = pairs.find((pair) => pair[0].toLowerCase() === String(name).toLowerCase());
  return found === undefined ? undefined : found[1];
};
// Headers in Postman's lists. `read` returns the pairs, and `shown` makes a header of a pair.
const headersOf = (read, shown = ([key, value]) => ({key, value})) => {
  const all = () => read().map((pair) => shown(pair));
  return {
    get: (name) => valueOf(read(), name),
    has: (name) => valueOf(read(), name) !== undefined,
    one: (name) => all().findLast((one) => one.key.toLowerCase() === String(name).toLowerCase()),
    toObject: () => Object.fromEntries(read()),
    each: (body) => all().forEach(body), find: (body) => all().find(body),
    filter: (body) => all().filter(body), map: (body) => all().map(body),
    all, count: () => read().length,
  };
};
// An object whose properties without a setter cannot be changed: the change would have no effect.
const locked = (what, object) => new Proxy(object, {
  set(target, name, value) {
    const property = Object.getOwnPropertyDescriptor(target, name);
    if (property === undefined || property.set === undefined) {
      throw new Error(
        `${what}.${String(name)} cannot be changed: scripts can change pm.request.method, ` +
        "pm.request.url, pm.request.body and pm.request.headers"
      );
    }
    property.set(value);
    return true;
  },
});
// The words for statuses, and the first and last status of each.
const STATUSES = {
  info: [100, 199], success: [200, 299], redirection: [300, 399], clientError: [400, 499],
  serverError: [500, 599], error: [400, 599], ok: [200, 200], accepted: [202, 202],
  withoutContent: [204, 204], badRequest: [400, 400], unauthorised: [401, 401],
  unauthorized: [401, 401], forbidden: [403, 403], notFound: [404, 404], notAcceptable: [406, 406],
  rateLimited: [429, 429],
};
const WORDS = ["to", "be", "have", "a", "an", "and", "is", "that", "which", "with"];
const elsewhere = (name, instead) => () => {
  throw new Error(`${name} is not available: ${instead}`);
};
const responseOf = (response) => {
  const json = () => parse(response.body);
  const size = () => {
    const lines = response.headers.map((pair) => `${pair.join(": ")}\r\n`);
    const head = `HTTP/X.X ${response.status} ${response.reason}\r\n\r\n${lines.join("")}`;
    const body = Buffer.byteLength(response.body);
    return {body, header: head.length, total: body + head.length};
  };
  const answered = {
    code: response.status, status: response.reason, reason: () => response.reason,
    responseTime: response.milliseconds, get responseSize() { return size().body; }, size,
    headers: headersOf(() => response.headers), text: () => response.body, json,
  };
  const lodash = (value, path) => path.replace(/\[(\w+)\]/g, ".$1").split(".").reduce(
    (now, name) => (now === undefined || now === null ? undefined : now[name]), value
  );
  const assertions = (not) => {
    const check = (...of) => (not ? expect(...of).not : expect(...of));
    const methods = {
      status: (wanted) => check(
        typeof wanted === "number" ? response.status : response.reason
      ).to.equal(wanted),
      statusCode: (wanted) => check(response.status).to.equal(Number(wanted)),
      statusCodeClass: (first) => check(Math.floor(response.status / 100)).to.equal(first),
      statusReason: (wanted) => check(response.reason).to.equal(String(wanted)),
      header(name, ...value) {
        const found = valueOf(response.headers, name);
        if (value.length) check(found).to.equal(value[0]);
        else check(found, `header ${name}`).to.exist;
      },
      body(wanted) {
        if (wanted === undefined) check(response.body).to.be.ok;
        else if (wanted instanceof RegExp) check(response.body).to.match(wanted);
        else if (typeof wanted === "object") check(orgrest.parsed(response.body)).to.eql(wanted);
        else check(response.body).to.equal(wanted);
      },
      jsonBody(path, ...value) {
        if (path === undefined) check(orgrest.parsed(response.body)).to.exist;
        else if (typeof path === "object") check(json()).to.eql(path);
        else if (value.length) check(lodash(json(), path)).to.eql(value[0]);
        else check(lodash(json(), path), path).to.exist;
      },
    };
    const numbers = {responseTime: () => response.milliseconds, responseSize: () => size().total};
    // As in chai: a word that is not known checks nothing, and is an error.
    const chain = new Proxy({}, {
      get(_, name) {
        if (typeof name === "symbol" || name === "then") return undefined;
        if (WORDS.includes(name)) return chain;
        if (name === "not") return assertions(true);
        if (has(methods, name)) {
          return (...given) => {
            methods[name](...given);
            return chain;
          };
        }
        if (has(numbers, name)) {
          const number = check(numbers[name]());
          const compare = (...wanted) => {
            number.to.be.a("number");
            return wanted.length ? number.to.equal(wanted[0]) : number;
          };
          return new Proxy(compare, {get: (_function, inner) => number[inner]});
        }
        if (has(STATUSES, name)) check(response.status, name).to.be.within(...STATUSES[name]);
        else if (name === "withBody") check(response.body).to.be.ok;
        else if (name === "json") {
          check(orgrest.parsed(response.body) !== undefined, "the body is JSON").to.be.true;
        } else throw new Error(`pm.response.to...${name} is not supported, so it would check nothing`);
        return chain;
      },
    });
    return chain;
  };
  answered.to = assertions(false);
  return answered;
};

// ------------------------------------------------------------------------------ pm.sendRequest

const pairsOf = (given) => {
  if (given === undefined || given === null) return [];
  if (typeof given === "string") {
    return given.split(/\r?\n/).filter(Boolean).map((line) => {
      const [name, ...value] = line.split(":");
      return [name.trim(), value.join(":").trim()];
    });
  }
  if (!Array.isArray(given)) return keys(given).map((name) => [name, String(given[name])]);
  return given.filter((one) => !one.disabled && one.enabled !== false)
    .map((one) => [String(one.key), String(one.value ?? "")]);
};
const encoded = (pairs) => pairs.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
const BOUNDARY = "orgrest-form-boundary";
const formOf = (given) => {
  if (Array.isArray(given) && given.some((one) => one.type === "file")) {
    throw new Error("pm.sendRequest: scripts cannot read files: send the form in a request of the document");
  }
  const parts = pairsOf(given).map(([name, value]) => (
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  ));
  return `${parts.join("")}--${BOUNDARY}--\r\n`;
};
// A body's text, and its type.
const BODIES = {
  raw: (body) => [
    String(body.raw ?? ""),
    ((body.options || {}).raw || {}).language === "json" ? "application/json" : "text/plain",
  ],
  urlencoded: (body) => [
    typeof body.urlencoded === "string" ? body.urlencoded : encoded(pairsOf(body.urlencoded)),
    "application/x-www-form-urlencoded",
  ],
  formdata: (body) => [formOf(body.formdata), `multipart/form-data; boundary=${BOUNDARY}`],
  graphql: (body) => [orgrest.stringify(body.graphql), "application/json"],
};
const credentialsOf = (auth) => {
  const kind = auth ? auth.type : "noauth";
  const given = (auth && auth[kind]) || {};
  const value = Array.isArray(given) ? Object.fromEntries(pairsOf(given)) : given;
  if (kind === "noauth") return [];
  if (kind === "bearer") return [["Authorization", `Bearer ${value.token}`]];
  if (kind === "basic") {
    const pair = Buffer.from(`${value.username}:${value.password}`).toString("base64");
    return [["Authorization", `Basic ${pair}`]];
  }
  throw new Error(`pm.sendRequest: auth type ${kind} is not supported`);
};
const requestOf = (given) => {
  const made = typeof given === "string" ? {url: given} : given;
  const url = made && typeof made.url === "object" && made.url !== null ? made.url.raw : made.url;
  if (typeof url !== "string") throw new Error("pm.sendRequest: the request must have a url");
  const headers = pairsOf(made.header || made.headers);
  for (const pair of credentialsOf(made.auth)) {
    if (valueOf(headers, pair[0]) === undefined) headers.push(pair);
  }
  let {body} = made;
  if (typeof body === "string") body = {mode: "raw", raw: body};
  let text = null;
  if (body && body.mode !== undefined && body.mode !== "none") {
    if (!has(BODIES, body.mode)) {
      throw new Error(`pm.sendRequest: body mode ${body.mode} is not supported`);
    }
    const [content, type] = BODIES[body.mode](body);
    text = content;
    if (valueOf(headers, "content-type") === undefined) headers.push(["Content-Type", type]);
  }
  return {url, method: String(made.method || "GET").toUpperCase(), headers, body: text};
};

return () => {
  const {job} = orgrest;
  const values = {};
  for (const name of keys(job.variables)) values[name] = orgrest.given(name);
  for (const name of keys(job.environment || {})) {
    if (!has(values, name)) values[name] = job.environment[name];
  }
  const change = (name, value) => {
    if (value === undefined) {
      delete values[name];
      orgrest.removeVariable(name);
    } else {
      values[name] = value;
      orgrest.setVariable(name, value, false);
    }
  };
  const scope = () => store(() => values, change);
  const {result} = orgrest;
  const sent = () => (result.request === null ? job.request : result.request);
  const changed = (change) => { result.request = {...sent(), ...change}; };
  const pairOf = (given) => {
    if (typeof given === "object" && given !== null) return [String(given.key), String(given.value)];
    const [name, ...value] = String(given).split(":");
    return [name.trim(), value.join(":").trim()];
  };
  const without = (name) => sent().headers.filter(
    (pair) => pair[0].toLowerCase() !== String(name).toLowerCase()
  );
  const headerOf = (pair) => {
    let now = pair;
    const put = (...next) => {
      changed({headers: sent().headers.flatMap((one) => (one === now ? next : [one]))});
      now = next[0] || now;
    };
    return locked("header", {
      get key() { return now[0]; }, set key(key) { put([String(key), now[1]]); },
      get value() { return now[1]; }, set value(value) { put([now[0], String(value)]); },
      get disabled() { return false; }, set disabled(off) { if (off) put(); },
    });
  };
  const headers = locked("pm.request.headers", {
    ...headersOf(() => sent().headers, headerOf),
    add(given) { changed({headers: [...sent().headers, pairOf(given)]}); },
    upsert(given) { changed({headers: [...without(pairOf(given)[0]), pairOf(given)]}); },
    remove(name) { changed({headers: without(name)}); },
  });
  const setUrl = (given) => {
    const text = String((given && given.raw) || given);
    if (text === String({})) {
      throw new Error("pm.request.url must be a string, or an object with a string `raw`");
    }
    changed({url: text});
  };
  const setBody = (given) => {
    const body = typeof given === "string" ? {mode: "raw", raw: given} : given || {mode: "none"};
    if (body.mode === "none") return changed({body: null});
    if (!has(BODIES, body.mode)) {
      throw new Error(`pm.request.body: body mode ${body.mode} is not supported`);
    }
    const [text, type] = BODIES[body.mode](body);
    changed({body: text});
    // A text keeps the type of the body that was there before.
    if (body.mode !== "raw" || !headers.has("Content-Type")) {
      headers.upsert({key: "Content-Type", value: type});
    }
    return undefined;
  };
  const address = () => new URL(sent().url);
  const url = locked("pm.request.url", Object.assign(
    Object.create({toString: () => sent().url, update: setUrl}), {
      getHost: () => address().hostname, getPath: () => address().pathname,
      getQueryString: () => address().search.slice(1),
      getPathWithQuery: () => address().pathname + address().search,
    }
  ));
  const body = locked("pm.request.body", {
    get raw() { return sent().body; }, set raw(text) { setBody(String(text)); },
    update: setBody, isEmpty: () => !sent().body, toString: () => sent().body || "",
  });
  const cookies = () => {
    const pairs = [];
    const take = (text) => {
      const at = text.indexOf("=");
      if (at > 0) pairs.push([text.slice(0, at).trim(), text.slice(at + 1).trim()]);
    };
    for (const [name, value] of job.request.headers) {
      if (name.toLowerCase() === "cookie") value.split(";").forEach(take);
    }
    for (const [name, value] of job.response === null ? [] : job.response.headers) {
      if (name.toLowerCase() === "set-cookie") take(value.split(";")[0]);
    }
    return Object.fromEntries(pairs);
  };
  // As with newman, {{name}} stays as it is here: pm.variables.replaceIn replaces.
  const sendRequest = (given, callback) => {
    const request = requestOf(given);
    if (typeof callback === "function") {
      orgrest.send(request, (error, response) => {
        callback(error, error === null ? responseOf(response) : undefined);
      });
      return undefined;
    }
    return new Promise((done, fail) => orgrest.send(request, (error, response) => {
      if (error === null) done(responseOf(response));
      else fail(error);
    }));
  };
  const pm = {
    test: Object.assign((name, body) => {
      // A function with a parameter ends when it calls what it is given.
      const calls = typeof body === "function" && body.length > 0;
      test(name, calls ? () => new Promise((done, fail) => {
        body((error) => (error ? fail(error) : done()));
      }) : body);
      return pm;
    }, {skip: () => pm}),
    expect, environment: scope(), globals: scope(), collectionVariables: scope(),
    variables: scope(), iterationData: scope(),
    info: {eventName: job.response === null ? "prerequest" : "test", iteration: job.iteration,
      requestName: job.name},
    request: locked("pm.request", {
      get method() { return sent().method; },
      set method(method) { changed({method: String(method).toUpperCase()}); },
      get url() { return url; }, set url(given) { setUrl(given); },
      get body() { return body; }, set body(given) { setBody(given); },
      headers, addHeader: headers.add, upsertHeader: headers.upsert,
      removeHeader: headers.remove,
    }),
    sendRequest,
    cookies: {
      get: (name) => cookies()[name], has: (name) => has(cookies(), name), toObject: cookies,
      jar: elsewhere("pm.cookies.jar", "cookies are kept, and sent, without a script"),
    },
    visualizer: {set: elsewhere("pm.visualizer", "--html makes a page of a run")},
    execution: {skipRequest: () => { result.cancelled = true; }, setNextRequest: elsewhere(
      "pm.execution.setNextRequest", "requests are sent in their order, and # @ref names others"
    )},
  };
  if (job.response !== null) pm.response = responseOf(job.response);
  return pm;
};
