// URL and URLSearchParams for the URLs of requests, and Node's older url.parse and url.format.
// Source: the URL Standard, without host names beyond ASCII, which are refused.
const querystring = orgrest.load("querystring");
const PORTS = {"http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21"};
const PATTERN = /^([A-Za-z][A-Za-z0-9+.-]*:)(?:\/\/([^/?#\\]*))?([^?#]*)(\?[^#]*)?(#.*)?$/;
const encode = (text, more) => text.replace(
  more, (one) => encodeURIComponent(one).replace(/['*()!]/g, (sign) => (
    `%${sign.charCodeAt(0).toString(16).toUpperCase()}`
  ))
);
const IN_PATH = /[^\x21\x24-\x3b\x3d\x40-\x5b\x5d\x5f\x61-\x7a\x7c\x7e\x25\x26\x5e]/gu;
const IN_QUERY = /[^\x21\x24-\x26\x28-\x3b\x3d\x3f-\x7e]/gu;
const IN_HASH = /[^\x21\x23-\x3b\x3d\x3f-\x5f\x61-\x7e]/gu;
const IN_USER = /[\s"#<>?`{}/:;=@[\]^|]/gu;
const FORM = (text) => encodeURIComponent(text).replace(/%20/g, "+").replace(
  /[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`
);

class URLSearchParams {
  constructor(given = "", changed = () => {}) {
    this.pairs = [];
    Object.defineProperty(this, "pairs", {enumerable: false});
    Object.defineProperty(this, "changed", {value: changed, enumerable: false});
    if (typeof given === "string") this.read(given);
    else if (given && typeof given[Symbol.iterator] === "function") {
      this.pairs = [...given].map(([name, value]) => [String(name), String(value)]);
    } else {
      this.pairs = Object.entries(given || {}).map(([name, value]) => [name, String(value)]);
    }
  }
  read(text) {
    this.pairs.length = 0;
    for (const part of text.replace(/^\?/, "").split("&")) {
      if (part === "") continue;
      const at = part.indexOf("=");
      const words = at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
      this.pairs.push(words.map((one) => querystring.unescape(one.replace(/\+/g, " "))));
    }
  }
  append(name, value) {
    this.pairs.push([String(name), String(value)]);
    this.changed();
  }
  delete(name) {
    this.pairs = this.pairs.filter((pair) => pair[0] !== String(name));
    this.changed();
  }
  get(name) {
    const found = this.pairs.find((pair) => pair[0] === String(name));
    return found ? found[1] : null;
  }
  getAll(name) {
    return this.pairs.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]);
  }
  has(name) { return this.get(name) !== null; }
  set(name, value) {
    const at = this.pairs.findIndex((pair) => pair[0] === String(name));
    if (at < 0) this.pairs.push([String(name), String(value)]);
    else {
      this.pairs[at][1] = String(value);
      this.pairs = this.pairs.filter((pair, index) => index <= at || pair[0] !== String(name));
    }
    this.changed();
  }
  sort() {
    this.pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    this.changed();
  }
  forEach(body) { for (const [name, value] of this.pairs) body(value, name, this); }
  keys() { return this.pairs.map((pair) => pair[0])[Symbol.iterator](); }
  values() { return this.pairs.map((pair) => pair[1])[Symbol.iterator](); }
  entries() { return this.pairs.map((pair) => [...pair])[Symbol.iterator](); }
  [Symbol.iterator]() { return this.entries(); }
  get size() { return this.pairs.length; }
  toString() { return this.pairs.map((pair) => pair.map(FORM).join("=")).join("&"); }
}

const invalid = (text) => Object.assign(new TypeError(`Invalid URL: ${text}`), {
  code: "ERR_INVALID_URL", input: text,
});
const withoutDots = (path) => {
  const parts = [];
  const given = path.split("/").slice(1);
  given.forEach((part, index) => {
    const last = index === given.length - 1;
    if (/^(\.|%2e){2}$/i.test(part)) {
      parts.pop();
      if (last) parts.push("");
    } else if (/^(\.|%2e)$/i.test(part)) {
      if (last) parts.push("");
    } else parts.push(part);
  });
  return `/${parts.join("/")}`;
};
class URL {
  constructor(given, base) {
    let text = String(given).trim().replace(/[\t\n\r]/g, "");
    if (base !== undefined && !/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) {
      text = URL.joined(text, new URL(base));
    }
    const match = PATTERN.exec(text);
    if (!match) throw invalid(given);
    const parts = {protocol: match[1].toLowerCase()};
    const special = orgrest.has(PORTS, parts.protocol);
    if (special && !match[2]) throw invalid(given);
    const at = (match[2] || "").lastIndexOf("@");
    const user = at < 0 ? "" : match[2].slice(0, at);
    const split = user.indexOf(":");
    parts.username = encode(split < 0 ? user : user.slice(0, split), IN_USER);
    parts.password = split < 0 ? "" : encode(user.slice(split + 1), IN_USER);
    const host = /^(\[[0-9A-Fa-f:.]+\]|[^:]*)(?::(\d*))?$/.exec((match[2] || "").slice(at + 1));
    if (!host || Number(host[2]) > 65535 || (special && host[1] === "")) throw invalid(given);
    if (!/^[\x21-\x7e]*$/.test(host[1]) || /[\s<>^|%"{}`\\]/.test(host[1])) throw invalid(given);
    parts.hostname = special ? host[1].toLowerCase() : host[1];
    const port = host[2] ? String(Number(host[2])) : "";
    parts.port = port === PORTS[parts.protocol] ? "" : port;
    const path = special ? match[3].replace(/\\/g, "/") : match[3];
    parts.pathname = special ? withoutDots(encode(path || "/", IN_PATH)) : path;
    parts.hasHost = match[2] !== undefined;
    parts.search = match[4] && match[4] !== "?" ? encode(match[4], IN_QUERY) : "";
    parts.hash = match[5] && match[5] !== "#" ? encode(match[5], IN_HASH) : "";
    Object.defineProperty(this, "parts", {value: parts, enumerable: false});
    const params = new URLSearchParams(parts.search, () => {
      const query = params.toString();
      parts.search = query && `?${query}`;
    });
    Object.defineProperty(this, "searchParams", {value: params, enumerable: true});
  }
  static joined(text, base) {
    const {protocol, pathname, search} = base.parts;
    if (text.startsWith("//")) return protocol + text;
    const start = base.parts.hasHost ? `${protocol}//${base.authority}` : protocol;
    if (text.startsWith("/")) return start + text;
    if (text === "" || text.startsWith("#")) return start + pathname + search + text;
    if (text.startsWith("?")) return start + pathname + text;
    return start + pathname.replace(/[^/]*$/, "") + text;
  }
  static canParse(text, base) {
    try {
      return Boolean(new URL(text, base));
    } catch (error) {
      return false;
    }
  }
  get authority() {
    const {username, password} = this.parts;
    const user = username || password ? username + (password && `:${password}`) + "@" : "";
    return user + this.host;
  }
  get host() { return this.parts.hostname + (this.parts.port && `:${this.parts.port}`); }
  set host(text) { this.change({hostname: text.split(":")[0], port: text.split(":")[1] || ""}); }
  get origin() {
    return orgrest.has(PORTS, this.parts.protocol) ? `${this.parts.protocol}//${this.host}`
      : "null";
  }
  get href() {
    const {protocol, hasHost, pathname, search, hash} = this.parts;
    return protocol + (hasHost ? `//${this.authority}` : "") + pathname + search + hash;
  }
  set href(text) { this.change(new URL(text).parts); }
  get search() { return this.parts.search; }
  set search(text) {
    this.change({search: text && (text[0] === "?" ? text : `?${text}`)});
    this.searchParams.read(this.parts.search);
  }
  // The parts are read again, so that each stays what it may be.
  change(parts) {
    const before = {...this.parts};
    Object.assign(this.parts, parts);
    let made;
    try {
      made = new URL(this.href).parts;
    } catch (error) {
      Object.assign(this.parts, before);
      throw error;
    }
    Object.assign(this.parts, made);
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
}
for (const name of ["protocol", "username", "password", "hostname", "port", "pathname", "hash"]) {
  Object.defineProperty(URL.prototype, name, {
    get() { return this.parts[name]; },
    set(given) {
      let text = String(given);
      if (name === "protocol") text = text.replace(/:?$/, ":");
      if (name === "hash" && text && text[0] !== "#") text = `#${text}`;
      if (name === "pathname") {
        text = encode(text[0] === "/" ? text : `/${text}`, IN_PATH).replace(/#/g, "%23");
      }
      if (name === "username" || name === "password") text = encode(text, IN_USER);
      this.change({[name]: text});
    },
    configurable: true, enumerable: true,
  });
}
const parse = (text, asQuery = false) => {
  const match = /^([A-Za-z][\w+.-]*:)?(\/\/)?(?:([^/?#@]*)@)?([^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$/.exec(
    String(text)
  );
  const [, protocol = null, slashes, auth = null, host = "", path, search = null, hash = null] = match;
  const own = slashes ? host : "";
  const pathname = (slashes ? path : host + path) || null;
  const port = /:(\d+)$/.exec(own);
  const query = search === null ? null : search.slice(1);
  return {
    protocol, slashes: slashes ? true : null, auth, host: own || null,
    port: port ? port[1] : null, hostname: own.replace(/:\d+$/, "") || null, hash, search,
    query: asQuery ? querystring.parse(query || "") : query, pathname,
    path: (pathname || "") + (search || "") || null, href: String(text),
  };
};
const format = (given) => {
  if (typeof given === "string" || given instanceof URL) return String(given);
  const {protocol = "", auth, host, hostname = "", port, pathname = "", hash = ""} = given;
  const query = typeof given.query === "object" && given.query ? querystring.stringify(given.query)
    : given.query;
  const search = given.search || (query ? `?${query}` : "");
  const where = host || hostname + (port ? `:${port}` : "");
  const scheme = protocol && protocol.replace(/:?$/, ":");
  return scheme + (where ? `//${auth ? `${auth}@` : ""}${where}` : "")
    + (where && pathname && pathname[0] !== "/" ? "/" : "") + (pathname || "") + search
    + (hash && hash[0] !== "#" ? `#${hash}` : hash || "");
};
const resolve = (from, to) => new URL(to, from).href;
return {URL, URLSearchParams, parse, format, resolve};
