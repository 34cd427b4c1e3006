// Node's Buffer, as far as encodings go, and the encoders of the Encoding Standard.
// Source: the documentation of Node's module buffer.
const {host} = orgrest;
const toBytes = (text, encoding) => host.encode(String(text), encoding);
const decode = (bytes, encoding) => host.decode(orgrest.stringify(Array.from(bytes)), encoding);
const checked = (encoding = "utf8") => {
  const name = String(encoding).toLowerCase().replace("-", "");
  const known = {
    utf8: "utf8", hex: "hex", base64: "base64", base64url: "base64url", latin1: "latin1",
    binary: "latin1", ascii: "ascii", ucs2: "utf16le", utf16le: "utf16le",
  };
  if (!orgrest.has(known, name)) throw new TypeError(`Unknown encoding: ${encoding}`);
  return known[name];
};
class Buffer extends Uint8Array {
  static from(value, encoding, length) {
    if (typeof value === "string") return Buffer.wrap(value, encoding);
    if (value instanceof ArrayBuffer) return new Buffer(value, encoding || 0, length);
    if (value && value.type === "Buffer" && Array.isArray(value.data)) return Buffer.from(value.data);
    if (value === null || typeof value !== "object") {
      throw new TypeError("Buffer.from() requires a string, an array or a buffer");
    }
    return super.from(value);
  }
  static wrap(text, encoding) {
    const bytes = toBytes(text, checked(encoding));
    const made = new Buffer(bytes.length);
    made.set(bytes);
    return made;
  }
  static alloc(size, fill = 0) {
    const made = new Buffer(size);
    return made.fill(typeof fill === "string" ? Buffer.from(fill)[0] || 0 : fill);
  }
  static allocUnsafe(size) { return Buffer.alloc(size); }
  static isBuffer(value) { return value instanceof Buffer; }
  static isEncoding(name) {
    try {
      return Boolean(checked(name));
    } catch (error) {
      return false;
    }
  }
  static byteLength(value, encoding) {
    return typeof value === "string" ? Buffer.from(value, encoding).length : value.byteLength;
  }
  static concat(list, size) {
    const total = size === undefined ? list.reduce((sum, one) => sum + one.length, 0) : size;
    const made = Buffer.alloc(total);
    let at = 0;
    for (const one of list) {
      const part = one.subarray(0, total - at);
      made.set(part, at);
      at += part.length;
    }
    return made;
  }
  static compare(a, b) { return Buffer.from(a).compare(b); }
  toString(encoding, start = 0, end = this.length) {
    return decode(super.slice(start, end), checked(encoding));
  }
  toJSON() { return {type: "Buffer", data: [...this]}; }
  equals(other) { return this.compare(other) === 0; }
  compare(other) {
    for (let at = 0; at < Math.min(this.length, other.length); at++) {
      if (this[at] !== other[at]) return this[at] < other[at] ? -1 : 1;
    }
    return Math.sign(this.length - other.length);
  }
  slice(start, end) { return this.subarray(start, end); }
  write(text, offset = 0) {
    const bytes = Buffer.from(text).subarray(0, this.length - offset);
    this.set(bytes, offset);
    return bytes.length;
  }
  copy(target, at = 0, start = 0, end = this.length) {
    const part = this.subarray(start, Math.min(end, start + target.length - at));
    target.set(part, at);
    return part.length;
  }
  includes(value) { return this.indexOf(value) >= 0; }
  indexOf(value, from = 0) {
    if (typeof value === "number") return super.indexOf(value, from);
    const text = decode(this, "latin1");
    return text.indexOf(decode(Buffer.from(value), "latin1"), from);
  }
  readUInt8(at = 0) { return this[at]; }
  readUInt16BE(at = 0) { return this[at] * 256 + this[at + 1]; }
  readUInt32BE(at = 0) { return this.readUInt16BE(at) * 65536 + this.readUInt16BE(at + 2); }
}
class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(text = "") { return new Uint8Array(toBytes(text, "utf8")); }
}
class TextDecoder {
  constructor(label = "utf-8") {
    this.encoding = String(label).toLowerCase();
    this.known = checked(this.encoding);
  }
  decode(bytes = []) { return decode(new Uint8Array(bytes.buffer || bytes), this.known); }
}
return {Buffer, TextEncoder, TextDecoder};
