// The package uuid: versions 4 and 7 are random, 3 and 5 are named, as RFC 9562 has them.
const {Buffer} = orgrest.load("buffer");
const {createHash} = orgrest.load("crypto");
const PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const NIL = "00000000-0000-0000-0000-000000000000";
const MAX = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const validate = (text) => PATTERN.test(text) || text === NIL || text === MAX;
const parse = (text) => {
  if (!validate(text)) throw new TypeError("Invalid UUID");
  return Buffer.from(text.replace(/-/g, ""), "hex");
};
const stringify = (bytes) => Buffer.from(bytes).toString("hex")
  .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
const marked = (bytes, version) => {
  bytes[6] = (bytes[6] & 15) | (version << 4);
  bytes[8] = (bytes[8] & 63) | 128;
  return stringify(bytes.subarray(0, 16));
};
const named = (version, algorithm) => Object.assign((name, space) => marked(
  createHash(algorithm).update(parse(space)).update(name).digest(), version
), {DNS: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", URL: "6ba7b811-9dad-11d1-80b4-00c04fd430c8"});
const v7 = () => {
  const bytes = Buffer.from(orgrest.bytes(16));
  let now = Date.now();
  for (let at = 5; at >= 0; at--) {
    bytes[at] = now % 256;
    now = Math.floor(now / 256);
  }
  return marked(bytes, 7);
};
const version = (text) => {
  if (!validate(text)) throw new TypeError("Invalid UUID");
  return parseInt(text[14], 16);
};
return {
  v3: named(3, "md5"), v4: () => orgrest.uuid(), v5: named(5, "sha1"), v7, validate, version, parse,
  stringify, NIL, MAX,
};
