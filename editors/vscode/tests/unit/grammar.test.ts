// The grammars, as VS Code's own engine reads them.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

import * as oniguruma from "vscode-oniguruma";
import { INITIAL, Registry, parseRawGrammar } from "vscode-textmate";

const root = path.join(__dirname, "..");
const FILES: { [scope: string]: string } = {
  "source.http.orgrest": "http",
  "text.org.orgrest": "org",
  "injection.org.orgrest": "org-injection",
};
/** Stand for VS Code's own grammars of JSON and the like: they end where their host says. */
const OTHERS = { "source.json": "string", "source.js": "js", "text.xml": "xml" };

const wasm = fs.readFileSync(path.join(root, "node_modules/vscode-oniguruma/release/onig.wasm"));
const registry = new Registry({
  onigLib: oniguruma.loadWASM(Uint8Array.from(wasm)).then(() => ({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  })),
  loadGrammar: (scope) => {
    const file = FILES[scope];
    if (file !== undefined) {
      const name = path.join(root, "syntaxes", `${file}.tmLanguage.json`);
      return Promise.resolve(parseRawGrammar(fs.readFileSync(name, "utf8"), name));
    }
    if (!(scope in OTHERS)) return Promise.resolve(null);
    const patterns = [{ begin: '"', end: '"', name: "string.quoted" }, { match: "[{}\\[\\]]", name: "punctuation" }];
    return Promise.resolve(parseRawGrammar(JSON.stringify({ scopeName: scope, patterns }), "x.json"));
  },
  getInjections: (scope) => (scope === "text.org.orgrest" ? ["injection.org.orgrest"] : []),
});

/** The scopes of the first character of a part of a text, the innermost last. */
async function scopes(text: string, part: string, scope = "source.http.orgrest"): Promise<string> {
  const grammar = await registry.loadGrammar(scope);
  assert.ok(grammar);
  let state = INITIAL;
  for (const line of text.split("\n")) {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
    const at = line.indexOf(part);
    if (at >= 0) return tokens.find((one) => one.startIndex <= at && at < one.endIndex)?.scopes.join(" ") ?? "";
    state = ruleStack;
  }
  throw new Error(`${part} is not in the text`);
}

const HTTP = `@host = https://example.org
# a comment
### Log in
# @name login
POST {{host}}/login?a=b&c={{d}} HTTP/1.1
Content-Type: application/json
X-Id: {{$uuid}}

{"user": "{{name}}", "list": [1,

2]}

?? status == 200
?? body id exists
> {%
  client.test("token");
%}

### Read
GET https://example.org/it
    ?page=1
Accept: */*

### Form
POST https://example.org/form

user=me&pass={{secret}}

### XML
POST https://example.org/xml

<a b="c">text</a>

### File
PUT https://example.org/file

< ./body.bin

### Query
POST https://example.org/graphql

query ($id: ID!) {
  node(id: $id) { nom }
}

{"id": "1"}
`;

const CASES: [part: string, scope: string][] = [
  ["host = ", "variable.other.definition.http"],
  ["# a comment", "comment.line.http"],
  ["Log in", "entity.name.section.http"],
  ["@name", "keyword.other.directive.http"],
  ["POST {{host}}", "keyword.control.method.http"],
  ["a=b", "variable.parameter.query.http"],
  ["HTTP/1.1", "constant.language.version.http"],
  ["Content-Type", "entity.name.tag.header.http"],
  ["$uuid", "support.function.http"],
  ['{"user"', "meta.embedded.block.json"],
  ["name}}", "variable.other.http"],
  ["2]}", "meta.embedded.block.json"],
  ["?? status", "keyword.operator.assertion.http"],
  ["exists", "keyword.operator.http"],
  ["client.test", "source.js"],
  ["GET https", "keyword.control.method.http"],
  ["page=1", "variable.parameter.query.http"],
  ["Accept", "entity.name.tag.header.http"],
  ["user=me", "variable.parameter.form.http"],
  ["pass=", "variable.parameter.form.http"],
  ["secret", "variable.other.http"],
  ['b="c"', "meta.embedded.block.xml"],
  ["./body.bin", "string.unquoted.path.http"],
  ["query (", "keyword.control.graphql"],
  ['{"id"', "meta.embedded.block.json"],
];

for (const [part, scope] of CASES) {
  test(`${part} is ${scope}`, async () => assert.match(`${await scopes(HTTP, part)} `, new RegExp(`[ ]${scope.replaceAll(".", "\\.")}[ .]`)));
}

test("requests in Org blocks are coloured like those in request files, and end with their block", async () => {
  const org = `* TODO Heading :tag:\n#+name: one\n#+begin_src http :var a=1\nPOST https://example.org/\nAccept: x\n\n{"a": "b"\n#+end_src\nProse: more\n#+begin_src python\nGET /not\n#+end_src\n`;
  const at = (part: string): Promise<string> => scopes(org, part, "text.org.orgrest");
  assert.match(await at("POST"), /keyword\.control\.method\.http/);
  assert.match(await at("Accept"), /entity\.name\.tag\.header\.http/);
  assert.match(await at('"a"'), /meta\.embedded\.block\.json/);
  assert.doesNotMatch(await at("Prose"), /http/);
  assert.match(await at("GET /not"), /markup\.raw\.block\.org$/);
  assert.match(await at("TODO"), /keyword\.other\.todo\.org/);
});
