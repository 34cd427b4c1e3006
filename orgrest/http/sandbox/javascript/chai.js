// chai's expect, assert's common functions and should's refusal. Source: chai's API reference.
// A word that is not known here is an error: it checks nothing.
const {equal, shown} = orgrest.load("deep");
const assert = orgrest.load("assert");
const {AssertionError} = assert;
const WORDS = [
  "to", "be", "been", "is", "that", "which", "and", "has", "have", "with", "at", "of", "same",
  "but", "does", "still", "also",
];
const FLAGS = {
  not: "not", deep: "deep", nested: "nested", own: "own", any: "any", all: "all",
  ordered: "ordered", itself: "itself",
};
const typeOf = (value) => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  return type === "object" ? Object.prototype.toString.call(value).slice(8, -1).toLowerCase()
    : type;
};
const lengthOf = (value) => (value instanceof Map || value instanceof Set ? value.size
  : value.length);
const isEmpty = (value) => {
  if (typeof value === "string" || Array.isArray(value)) return value.length === 0;
  if (value instanceof Map || value instanceof Set) return value.size === 0;
  if (value === null || typeof value !== "object") {
    throw new TypeError(`.empty was given ${shown(value)}, which has no length`);
  }
  return Object.keys(value).length === 0;
};
const follow = (value, path) => {
  let now = value;
  for (const name of path.replace(/\[(\d+)\]/g, ".$1").replace(/^\./, "").split(".")) {
    if (now === null || now === undefined || !(name in Object(now))) return {found: false};
    now = now[name];
  }
  return {found: true, value: now};
};
const same = (state, a, b) => (state.deep ? equal(a, b, true) : a === b);
const contains = (state, value, wanted) => {
  if (typeof value === "string") return value.includes(wanted);
  if (Array.isArray(value)) return value.some((one) => same(state, one, wanted));
  if (value instanceof Set) return [...value].some((one) => same(state, one, wanted));
  if (value instanceof Map) return [...value.values()].some((one) => same(state, one, wanted));
  if (value === null || typeof value !== "object") {
    throw new AssertionError({message: `${shown(value)} cannot include anything`});
  }
  return Object.keys(wanted).every(
    (name) => name in value && same(state, value[name], wanted[name])
  );
};

const PROPERTIES = {
  ok: [(value) => Boolean(value), "to be truthy"],
  true: [(value) => value === true, "to be true"],
  false: [(value) => value === false, "to be false"],
  null: [(value) => value === null, "to be null"],
  undefined: [(value) => value === undefined, "to be undefined"],
  NaN: [(value) => Number.isNaN(value), "to be NaN"],
  exist: [(value) => value !== null && value !== undefined, "to exist"],
  empty: [isEmpty, "to be empty"],
  finite: [(value) => Number.isFinite(value), "to be a finite number"],
  frozen: [(value) => Object.isFrozen(value), "to be frozen"],
};
PROPERTIES.exists = PROPERTIES.exist;
const compare = (words, holds) => [
  (state, value, wanted) => holds(state.length ? lengthOf(value) : value, wanted),
  (wanted) => `to be ${words} ${shown(wanted)}`,
];
const METHODS = {
  equal: [(state, a, b) => same(state, a, b), (b) => `to equal ${shown(b)}`],
  eql: [(state, a, b) => equal(a, b, true), (b) => `to deeply equal ${shown(b)}`],
  above: compare("above", (a, b) => a > b),
  least: compare("at least", (a, b) => a >= b),
  below: compare("below", (a, b) => a < b),
  most: compare("at most", (a, b) => a <= b),
  within: [
    (state, value, from, to) => {
      const number = state.length ? lengthOf(value) : value;
      return number >= from && number <= to;
    },
    (from, to) => `to be within ${from}..${to}`,
  ],
  closeTo: [
    (state, value, wanted, delta) => Math.abs(value - wanted) <= delta,
    (wanted, delta) => `to be close to ${wanted} +/- ${delta}`,
  ],
  a: [(state, value, type) => typeOf(value) === String(type).toLowerCase(),
    (type) => `to be a ${type}`],
  instanceof: [(state, value, type) => value instanceof type, (type) => `to be a ${type.name}`],
  include: [contains, (wanted) => `to include ${shown(wanted)}`],
  match: [(state, value, pattern) => pattern.test(value), (pattern) => `to match ${pattern}`],
  string: [(state, value, part) => value.includes(part), (part) => `to contain ${shown(part)}`],
  lengthOf: [(state, value, size) => lengthOf(value) === size, (size) => `to have length ${size}`],
  satisfy: [(state, value, body) => Boolean(body(value)), () => "to satisfy the function"],
  oneOf: [
    (state, value, list) => (state.contain ? list.some((one) => contains(state, value, one))
      : list.some((one) => same(state, one, value))),
    (list) => `to be one of ${shown(list)}`,
  ],
  members: [
    (state, value, list) => {
      const rest = [...value];
      const holds = list.every((one, index) => {
        const at = state.ordered ? (same(state, rest[index], one) ? index : -1)
          : rest.findIndex((other) => same(state, other, one));
        if (at >= 0 && !state.ordered) rest.splice(at, 1);
        return at >= 0;
      });
      return holds && (state.contain || value.length === list.length);
    },
    (list) => `to have the members ${shown(list)}`,
  ],
  keys: [
    (state, value, ...names) => {
      const given = names.length === 1 && typeof names[0] === "object" ? names[0] : names;
      const wanted = Array.isArray(given) ? given.map(String) : Object.keys(given);
      const own = value instanceof Map ? [...value.keys()] : Object.keys(value);
      if (state.any) return wanted.some((name) => own.includes(name));
      const all = wanted.every((name) => own.includes(name));
      return all && (state.contain || own.length === wanted.length);
    },
    (...names) => `to have the keys ${shown(names.flat())}`,
  ],
};
for (const [name, other] of Object.entries({
  equals: "equal", eq: "equal", eqls: "eql", gt: "above", greaterThan: "above", gte: "least",
  greaterThanOrEqual: "least", lt: "below", lessThan: "below", lte: "most", approximately: "closeTo",
  lessThanOrEqual: "most", instanceOf: "instanceof", matches: "match", satisfies: "satisfy",
  key: "keys", an: "a", contain: "include", contains: "include", includes: "include",
  length: "lengthOf",
})) METHODS[name] = METHODS[other];

const verdict = (state, holds, words) => {
  if (Boolean(holds) !== Boolean(state.not)) return;
  const message = `expected ${shown(state.value)} ${state.not ? "not " : ""}${words}`;
  throw new AssertionError({message: state.message ? `${state.message}: ${message}` : message});
};
// The assertions that change what the chain is about, or need its state.
const SPECIAL = {
  property(state, name, ...rest) {
    const {found, value} = state.nested ? follow(state.value, name) : {
      found: state.own ? orgrest.has(state.value, name)
        : state.value !== null && state.value !== undefined && name in Object(state.value),
      value: Object(state.value)[name],
    };
    const words = `to have property ${shown(name)}`;
    if (rest.length) {
      verdict(state, found && same(state, value, rest[0]), `${words} of ${shown(rest[0])}`);
    } else {
      verdict(state, found, words);
    }
    return {...state, value, not: false, nested: false, own: false};
  },
  throw(state, wanted, message) {
    let error;
    let thrown = false;
    try {
      state.value();
    } catch (failure) {
      error = failure;
      thrown = true;
    }
    const said = String((error && error.message) || error);
    const fits = (pattern) => (pattern instanceof RegExp ? pattern.test(said)
      : said.includes(pattern));
    let holds = thrown;
    if (thrown && typeof wanted === "function") holds = error instanceof wanted;
    else if (thrown && wanted instanceof Error) holds = error === wanted;
    else if (thrown && wanted !== undefined) holds = fits(wanted);
    if (holds && message !== undefined) holds = fits(message);
    verdict(state, holds, "to throw");
    return {...state, value: error};
  },
};
SPECIAL.throws = SPECIAL.Throw = SPECIAL.throw;
SPECIAL.ownProperty = SPECIAL.haveOwnProperty = (state, ...rest) => SPECIAL.property(
  {...state, own: true}, ...rest
);

const chain = (state) => {
  const call = (name) => (...given) => {
    if (orgrest.has(SPECIAL, name)) return chain(SPECIAL[name](state, ...given));
    const [holds, words] = METHODS[name];
    verdict(state, holds(state, state.value, ...given), words(...given));
    return chain(state);
  };
  return new Proxy(() => {}, {
    get(_, name) {
      if (typeof name === "symbol" || name === "then") return undefined;
      if (WORDS.includes(name)) return chain(state);
      if (orgrest.has(FLAGS, name)) return chain({...state, [FLAGS[name]]: true});
      if (orgrest.has(PROPERTIES, name)) {
        const [holds, words] = PROPERTIES[name];
        verdict(state, holds(state.value), words);
        return chain(state);
      }
      if (!orgrest.has(METHODS, name) && !orgrest.has(SPECIAL, name)) {
        throw new Error(`chai: .${name} is not supported, so it would check nothing`);
      }
      // Some are methods and words at once: .include.members(), .length.above(), .a.property().
      const further = {...state};
      if (METHODS[name] === METHODS.include) further.contain = true;
      if (METHODS[name] === METHODS.lengthOf) further.length = true;
      const words = chain(further);
      return new Proxy(call(name), {
        get: (function_, inner) => (typeof inner === "symbol" ? undefined : words[inner]),
      });
    },
  });
};
const expect = (value, message) => chain({value, message});
expect.fail = (message = "expect.fail()") => {
  throw new AssertionError({message});
};
const functions = Object.assign((value, message) => assert(value, message), assert, {
  isTrue: (value, message) => expect(value, message).to.be.true,
  isFalse: (value, message) => expect(value, message).to.be.false,
  isNull: (value, message) => expect(value, message).to.be.null,
  isNotNull: (value, message) => expect(value, message).not.to.be.null,
  isUndefined: (value, message) => expect(value, message).to.be.undefined,
  isDefined: (value, message) => expect(value, message).not.to.be.undefined,
  exists: (value, message) => expect(value, message).to.exist,
  isOk: (value, message) => expect(value, message).to.be.ok,
  isNotOk: (value, message) => expect(value, message).not.to.be.ok,
  isEmpty: (value, message) => expect(value, message).to.be.empty,
  isNotEmpty: (value, message) => expect(value, message).not.to.be.empty,
  isAbove: (value, than, message) => expect(value, message).above(than),
  isBelow: (value, than, message) => expect(value, message).below(than),
  isAtLeast: (value, than, message) => expect(value, message).least(than),
  isAtMost: (value, than, message) => expect(value, message).most(than),
  typeOf: (value, type, message) => expect(value, message).a(type),
  instanceOf: (value, type, message) => expect(value, message).instanceof(type),
  include: (value, part, message) => expect(value, message).include(part),
  notInclude: (value, part, message) => expect(value, message).not.include(part),
  lengthOf: (value, size, message) => expect(value, message).lengthOf(size),
  property: (value, name, message) => expect(value, message).property(name),
  propertyVal: (value, name, wanted, message) => expect(value, message).property(name, wanted),
  oneOf: (value, list, message) => expect(value, message).oneOf(list),
  deepEqual: (value, other, message) => expect(value, message).eql(other),
  notDeepEqual: (value, other, message) => expect(value, message).not.eql(other),
});
for (const [name, type] of Object.entries({
  String: "string", Number: "number", Boolean: "boolean", Array: "array", Object: "object",
  Function: "function",
})) {
  functions[`is${name}`] = (value, message) => expect(value, message).a(type);
  functions[`isNot${name}`] = (value, message) => expect(value, message).not.a(type);
}
return {
  expect, assert: functions, AssertionError,
  should() { throw new Error("chai.should() is not available: use chai.expect()"); },
};
