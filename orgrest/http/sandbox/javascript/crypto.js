// Node's crypto, as far as hashes, HMACs, random values and comparison go; Python computes them.
// Source: the documentation of Node's module crypto.
const {host, stringify} = orgrest;
const {Buffer} = orgrest.load("buffer");
const bytesOf = (data, encoding) => (typeof data === "string" ? Buffer.from(data, encoding)
  : Buffer.from(data.buffer ? data : new Uint8Array(data)));
const NAMES = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];
const algorithmOf = (name) => {
  const plain = String(name).toLowerCase().replace(/^rsa-/, "").replace("-", "");
  if (!NAMES.includes(plain)) {
    throw new Error(`crypto: ${name} is not supported; available: ${NAMES.join(", ")}`);
  }
  return plain;
};
class Hash {
  constructor(name, key) {
    this.algorithm = algorithmOf(name);
    this.key = key;
    this.pieces = [];
    this.ended = false;
  }
  update(data, encoding) {
    if (this.ended) throw new Error("Digest already called");
    this.pieces.push(["hex", bytesOf(data, encoding).toString("hex")]);
    return this;
  }
  digest(encoding) {
    if (this.ended) throw new Error("Digest already called");
    this.ended = true;
    const {algorithm, key, pieces} = this;
    const made = Buffer.from(host.digest(stringify({algorithm, key, pieces}), "hex"), "hex");
    return encoding === undefined || encoding === "buffer" ? made : made.toString(encoding);
  }
}
const createHash = (name) => new Hash(name, null);
const createHmac = (name, key) => new Hash(name, ["hex", bytesOf(key).toString("hex")]);
const randomBytes = (size) => Buffer.from(orgrest.bytes(size));
const timingSafeEqual = (a, b) => {
  const one = bytesOf(a), other = bytesOf(b);
  if (one.length !== other.length) {
    throw new RangeError("Input buffers must have the same byte length");
  }
  return host.same(one.toString("hex"), other.toString("hex"));
};
const randomInt = (from, to) => (to === undefined ? orgrest.$random.integer(0, from)
  : orgrest.$random.integer(from, to));
const getRandomValues = (array) => {
  const view = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  view.set(orgrest.bytes(view.length));
  return array;
};
const crypto = {
  createHash, createHmac, randomBytes, randomInt, randomUUID: orgrest.uuid, timingSafeEqual,
  getRandomValues, getHashes: () => [...NAMES],
  hash: (name, data, encoding = "hex") => createHash(name).update(data).digest(encoding),
};
for (const name of [
  "createCipheriv", "createDecipheriv", "createSign", "createVerify", "createPrivateKey",
  "createPublicKey", "generateKeyPairSync", "pbkdf2Sync", "scryptSync", "publicEncrypt", "subtle",
]) {
  Object.defineProperty(crypto, name, {
    get() {
      throw new Error(`crypto.${name} is not available: scripts can only use hashes, HMACs and random values`);
    },
    enumerable: false,
  });
}
return crypto;
