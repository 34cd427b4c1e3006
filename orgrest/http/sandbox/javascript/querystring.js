// Node's module querystring.
const {isArray} = Array;
const unescape = (text) => {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    return text;
  }
};
const plain = (value) => (["string", "boolean", "bigint"].includes(typeof value)
  || (typeof value === "number" && isFinite(value)) ? String(value) : "");
const escape = (text) => encodeURIComponent(text);
const stringify = (object, separator = "&", equals = "=") => orgrest.entries(object || {}).map(
  ([name, value]) => (isArray(value) ? value : [value]).map(
    (one) => escape(name) + equals + escape(plain(one))
  ).join(separator)
).filter((text) => text !== "").join(separator);
const parse = (text, separator = "&", equals = "=") => {
  const found = Object.create(null);
  for (const part of String(text).split(separator)) {
    if (part === "") continue;
    const at = part.indexOf(equals);
    const [name, value] = [
      at < 0 ? part : part.slice(0, at), at < 0 ? "" : part.slice(at + equals.length),
    ].map((one) => unescape(one.replace(/\+/g, " ")));
    found[name] = name in found ? [].concat(found[name], value) : value;
  }
  return found;
};
return {stringify, parse, encode: stringify, decode: parse, escape, unescape};
