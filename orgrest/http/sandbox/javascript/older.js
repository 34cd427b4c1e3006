// The names that Postman's scripts had before pm, which old collections use. Source: the pages on
// the sandbox that Postman's documentation had until 2018. `tests` is reported at the end.
const {define, has, keys} = orgrest;
return () => {
  const {job} = orgrest;
  const {response} = job;
  const answered = (make) => (response === null ? undefined : make());
  const pm = () => globalThis.pm;  // loaded when it is needed first
  const valueOf = (name) => pm().response.headers.get(name) ?? null;
  const scope = (values) => new Proxy({}, {
    get: (_, name) => (typeof name === "symbol" ? undefined : values.get(name)),
    has: (_, name) => values.has(name),
    set(_, name, value) { values.set(name, value); return true; },
    ownKeys: () => keys(values.toObject()),
    getOwnPropertyDescriptor: (_, name) => (
      values.has(name) ? {value: values.get(name), enumerable: true, configurable: true} : undefined
    ),
  });
  const of = (word, values) => ({
    // Values are texts, but 0, null, "" and undefined stay, as in Postman's sandbox.
    [`set${word}Variable`]: (name, value) => values.set(
      name, (value === false || value) && typeof value.toString === "function" ? `${value}` : value
    ),
    [`get${word}Variable`]: (name) => values.get(name),
    [`clear${word}Variable`]: (name) => values.unset(name),
    [`clear${word}Variables`]: () => values.clear(),
  });
  const tests = {};
  const names = {
    tests: () => tests,
    environment: () => scope(pm().environment),
    globals: () => scope(pm().globals),
    data: () => ({}),
    iteration: () => job.iteration,
    responseBody: () => answered(() => {
      Object.defineProperty(String.prototype, "has", {
        value(text) { return this.includes(text); }, configurable: true, writable: true,
      });
      return response.body;
    }),
    responseCode: () => answered(() => ({
      code: response.status, name: response.reason, detail: response.reason,
    })),
    responseHeaders: () => answered(() => Object.fromEntries(response.headers)),
    responseTime: () => answered(() => response.milliseconds),
    postman: () => ({
      ...of("Environment", pm().environment), ...of("Global", pm().globals),
      getResponseHeader: valueOf,
      getResponseCookie: (name) => (
        pm().cookies.has(name) ? {name, value: pm().cookies.get(name)} : null
      ),
      setNextRequest: pm().execution.setNextRequest,
    }),
  };
  for (const name of keys(names)) {
    Object.defineProperty(globalThis, name, {
      get() {
        define(name, names[name]());
        return globalThis[name];
      },
      set(value) { define(name, value); },
      configurable: true,
    });
  }
  return () => {
    for (const name of keys(tests)) orgrest.report(name, tests[name] ? null : "it is not true");
  };
};
