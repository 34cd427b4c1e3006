// Node's module assert. Source: its documentation.
const {equal, shown} = orgrest.load("deep");
class AssertionError extends Error {
  constructor({message, actual, expected, operator} = {}) {
    super(message);
    this.name = "AssertionError";
    Object.assign(this, {code: "ERR_ASSERTION", actual, expected, operator});
  }
}
const check = (holds, message, reason, actual, expected, operator) => {
  if (holds) return;
  if (message instanceof Error) throw message;
  throw new AssertionError({
    message: message === undefined ? reason : String(message), actual, expected, operator,
  });
};
const ok = (value, message) => check(
  value, message, `the value is ${shown(value)}, which is not truthy`, value, true, "=="
);
const assert = (value, message) => ok(value, message);
const pair = (name, holds, words) => (actual, expected, message) => check(
  holds(actual, expected), message, `${shown(actual)} ${words} ${shown(expected)}`, actual,
  expected, name
);
const is = (a, b) => Object.is(a, b);
const loosely = (a, b) => a == b || (a !== a && b !== b);
const pairs = {
  strictEqual: pair("strictEqual", is, "is not"),
  notStrictEqual: pair("notStrictEqual", (a, b) => !is(a, b), "is"),
  deepStrictEqual: pair("deepStrictEqual", (a, b) => equal(a, b, true), "does not equal"),
  notDeepStrictEqual: pair("notDeepStrictEqual", (a, b) => !equal(a, b, true), "equals"),
  match: pair("match", (text, pattern) => pattern.test(text), "does not match"),
  doesNotMatch: pair("doesNotMatch", (text, pattern) => !pattern.test(text), "matches"),
};
const loose = {
  equal: pair("equal", loosely, "is not =="),
  notEqual: pair("notEqual", (a, b) => !loosely(a, b), "is =="),
  deepEqual: pair("deepEqual", (a, b) => equal(a, b, false), "does not equal"),
  notDeepEqual: pair("notDeepEqual", (a, b) => !equal(a, b, false), "equals"),
};
const expected = (error, wanted, message) => {
  if (wanted === undefined || typeof wanted === "string") return;
  let holds;
  if (wanted instanceof RegExp) holds = wanted.test(String(error));
  else if (typeof wanted === "function") {
    holds = wanted.prototype !== undefined && error instanceof wanted;
    if (!holds && !Error.isPrototypeOf(wanted)) holds = wanted.call({}, error) === true;
  } else {
    holds = Object.keys(wanted).every((name) => (wanted[name] instanceof RegExp
      && typeof error[name] === "string" ? wanted[name].test(error[name])
      : equal(error[name], wanted[name], true)));
  }
  check(holds, message, `it throws ${shown(error)}, which is not the expected error`);
};
const throws = (body, wanted, message) => {
  let error;
  let thrown = false;
  try {
    body();
  } catch (failure) {
    error = failure;
    thrown = true;
  }
  const said = typeof wanted === "string" ? wanted : message;
  check(thrown, said, "it does not throw");
  expected(error, wanted, message);
};
const rejects = async (promise, wanted, message) => {
  let error;
  let thrown = false;
  try {
    await (typeof promise === "function" ? promise() : promise);
  } catch (failure) {
    error = failure;
    thrown = true;
  }
  check(thrown, typeof wanted === "string" ? wanted : message, "it does not reject");
  expected(error, wanted, message);
};
const others = {
  ok, throws, rejects, AssertionError,
  doesNotThrow(body, message) {
    try {
      body();
    } catch (error) {
      check(false, typeof message === "string" ? message : undefined, `it throws ${shown(error)}`);
    }
  },
  async doesNotReject(promise, message) {
    try {
      await (typeof promise === "function" ? promise() : promise);
    } catch (error) {
      check(false, message, `it rejects with ${shown(error)}`);
    }
  },
  fail(message = "Failed") { check(false, message); },
  ifError(value) {
    if (value !== null && value !== undefined) throw value;
  },
};
const strict = Object.assign((value, message) => ok(value, message), pairs, others, {
  equal: pairs.strictEqual, notEqual: pairs.notStrictEqual, deepEqual: pairs.deepStrictEqual,
  notDeepEqual: pairs.notDeepStrictEqual,
});
strict.strict = strict;
return Object.assign(assert, pairs, loose, others, {strict});
