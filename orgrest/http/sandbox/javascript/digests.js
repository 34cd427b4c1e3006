// Digests and HMACs as JetBrains' `crypto` has them.
const {host, stringify} = orgrest;
// crypto.sha256().updateWithText("a").digest().toHex().
const digestOf = (algorithm, key) => {
  const pieces = [];
  const object = {
    updateWithText(text) { pieces.push(["text", String(text)]); return object; },
    updateWithHex(text) { pieces.push(["hex", String(text)]); return object; },
    updateWithBase64(text) { pieces.push(["base64", String(text)]); return object; },
    digest() {
      const given = stringify({algorithm, key, pieces});
      return {
        toHex: () => host.digest(given, "hex"),
        toBase64: (urlSafe) => host.digest(given, urlSafe ? "base64url" : "base64"),
      };
    },
  };
  if (key === null) {
    return object;
  }
  return {
    withTextSecret(text) { return digestOf(algorithm, ["text", String(text)]); },
    withHexSecret(text) { return digestOf(algorithm, ["hex", String(text)]); },
    withBase64Secret(text) { return digestOf(algorithm, ["base64", String(text)]); },
    ...object,
  };
};

const crypto = {hmac: {}};
for (const algorithm of ["md5", "sha1", "sha256", "sha384", "sha512"]) {
  crypto[algorithm] = () => digestOf(algorithm, null);
  crypto.hmac[algorithm] = () => digestOf(algorithm, ["text", ""]);
}
return crypto;
