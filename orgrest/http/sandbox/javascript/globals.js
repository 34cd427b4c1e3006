// The names that Node, browsers and JetBrains have without a module, as far as they only compute.
const {define, host, load, stringify} = orgrest;
for (const what of ["btoa", "atob"]) define(what, (text) => host.convert(what, String(text)));
define("jsonPath", (value, path) => {
  const text = typeof value === "string" ? value : stringify(value);
  return host.jsonpath(text, String(path));
});
const LATER = {
  Buffer: () => load("buffer").Buffer, TextEncoder: () => load("buffer").TextEncoder,
  TextDecoder: () => load("buffer").TextDecoder, URL: () => load("url").URL,
  URLSearchParams: () => load("url").URLSearchParams,
  crypto: () => ({...load("crypto"), ...load("digests")}),
};
// Loaded when they are used first: most scripts need none of them.
for (const name of orgrest.keys(LATER)) {
  Object.defineProperty(globalThis, name, {
    get() {
      define(name, LATER[name]());
      return globalThis[name];
    },
    set(value) { define(name, value); },
    configurable: true,
  });
}
