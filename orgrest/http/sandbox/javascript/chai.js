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
const verdict = (state, holds, words) => {
  if (Boolean(holds) !== Boolean(state.not)) return;
  const message = `expected ${shown(state.value)} ${state.not ? "not " : ""}${words}`;
  throw new AssertionError({message: state.message ? `${state.message}: ${message}` : message});
};
// What an assertion needs, with .not as well: no comparison with null holds, nor does its opposite.
const must = (state, holds, words) => verdict({...state, not: false}, holds, words);
const mustBe = (state, value, type) => must({...state, value}, typeOf(value) === type,
  `to be a ${type}`);
const lengthOf = (state, value) => {
  if (value instanceof Map || value instanceof Set) return value.size;
  must(state, value !== null && value !== undefined && "length" in Object(value),
    "to have a length");
  return value.length;
};
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
const propertyOf = (state, name) => {
  const {value} = state;
  must(state, value !== null && value !== undefined, `to have properties such as ${shown(name)}`);
  must({...state, value: name}, ["string", "number", "symbol"].includes(typeof name),
    "to be the name of a property");
  if (state.nested) return follow(value, name);
  return {
    found: state.own ? orgrest.has(value, name) : name in Object(value), value: value[name],
  };
};
const contains = (state, value, wanted) => {
  if (typeof value === "string") return value.indexOf(wanted) >= 0;
  if (Array.isArray(value)) return value.some((one) => same(state, one, wanted));
  if (value instanceof Set) return [...value].some((one) => same(state, one, wanted));
  if (value instanceof Map) return [...value.values()].some((one) => same(state, one, wanted));
  must(state, wanted === Object(wanted), `to be able to include ${shown(wanted)}`);
  return Object.keys(wanted).every((name) => {
    const own = propertyOf({...state, value}, name);
    return own.found && same(state, own.value, wanted[name]);
  });
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
  (state, value, ...wanted) => {
    const type = state.length ? "number" : typeOf(value);
    must(state, type === "number" || type === "date", "to be a number or a date");
    for (let at = 0; at < holds.length - 1; at += 1) mustBe(state, wanted[at], type);
    return holds(state.length ? lengthOf(state, value) : value, ...wanted);
  },
  (...wanted) => `to be ${words} ${wanted.slice(0, holds.length - 1).map(shown).join(" and ")}`,
];
const METHODS = {
  equal: [(state, a, b) => same(state, a, b), (b) => `to equal ${shown(b)}`],
  eql: [(state, a, b) => equal(a, b, true), (b) => `to deeply equal ${shown(b)}`],
  above: compare("above", (a, b) => a > b),
  least: compare("at least", (a, b) => a >= b),
  below: compare("below", (a, b) => a < b),
  most: compare("at most", (a, b) => a <= b),
  within: compare("between", (value, from, to) => value >= from && value <= to),
  closeTo: [
    (state, value, wanted, delta) => {
      for (const number of [value, wanted, delta]) mustBe(state, number, "number");
      return Math.abs(value - wanted) <= delta;
    },
    (wanted, delta) => `to be close to ${wanted} +/- ${delta}`,
  ],
  a: [
    (state, value, type) => {
      mustBe(state, type, "string");
      return typeOf(value) === type.toLowerCase();
    },
    (type) => `to be a ${type}`,
  ],
  instanceof: [(state, value, type) => value instanceof type, (type) => `to be a ${type.name}`],
  include: [contains, (wanted) => `to include ${shown(wanted)}`],
  match: [(state, value, pattern) => pattern.test(value), (pattern) => `to match ${pattern}`],
  string: [
    (state, value, part) => {
      mustBe(state, value, "string");
      return value.indexOf(part) >= 0;
    },
    (part) => `to contain ${shown(part)}`,
  ],
  lengthOf: [
    (state, value, size) => lengthOf(state, value) == size, // chai does not compare the types here
    (size) => `to have length ${shown(size)}`,
  ],
  satisfy: [(state, value, body) => Boolean(body(value)), () => "to satisfy the function"],
  oneOf: [
    (state, value, list) => {
      mustBe(state, list, "array");
      return list.some((one) => (state.contain ? value.indexOf(one) >= 0
        : same(state, one, value)));
    },
    (list) => `to be one of ${shown(list)}`,
  ],
  members: [
    (state, value, list) => {
      mustBe(state, value, "array");
      mustBe(state, list, "array");
      const rest = [...value];
      const holds = list.every((one, index) => {
        const at = state.ordered ? (same(state, rest[index], one) ? index : -1)
          : rest.findIndex((other) => same(state, other, one));
        if (at >= 0 && !state.ordered && !state.contain) rest.splice(at, 1);
        return at >= 0;
      });
      return holds && (state.contain || value.length === list.length);
    },
    (list) => `to have the members ${shown(list)}`,
  ],
  keys: [
    (state, value, ...names) => {
      const isCollection = value instanceof Map || value instanceof Set;
      must(state, value !== null && value !== undefined, "to have keys");
      const type = typeOf(names[0]);
      let wanted = names;
      if (type === "array") [wanted] = names;
      else if (type === "object" && !isCollection) wanted = Object.keys(names[0]);
      must(state, wanted.length > 0 && (isCollection || wanted === names || names.length === 1),
        "to be compared with one list of keys");
      if (!isCollection) wanted = wanted.map(String);
      const own = isCollection ? [...value.keys()] : Object.keys(value);
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

// The assertions that change what the chain is about, or need its state.
const SPECIAL = {
  property(state, name, ...rest) {
    const {found, value} = propertyOf(state, name);
    const words = `to have property ${shown(name)}`;
    if (rest.length) {
      verdict(state, found && same(state, value, rest[0]), `${words} of ${shown(rest[0])}`);
    } else {
      verdict(state, found, words);
    }
    return {...state, value};
  },
  throw(state, wanted, message) {
    mustBe(state, state.value, "function");
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
      : typeof pattern === "string" && said.includes(pattern));
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
  const call = (further, name) => (...given) => {
    if (orgrest.has(SPECIAL, name)) return chain(SPECIAL[name](further, ...given));
    const [holds, words] = METHODS[name];
    verdict(further, holds(further, further.value, ...given), words(...given));
    return chain(further);
  };
  const refuse = () => {
    throw new TypeError(
      "chai: a word that takes no value was called: leave out its parentheses, or use a function " +
      "such as .equal(value)"
    );
  };
  return new Proxy(refuse, {
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
      return new Proxy(call(further, name), {
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
