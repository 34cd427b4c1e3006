// Deep equality, as Node's assert.deepStrictEqual and chai's eql have it, and values in messages.
const {keys, has} = orgrest;
const tag = (value) => Object.prototype.toString.call(value);
const equal = (a, b, strict, seen = []) => {
  if (strict ? Object.is(a, b) : a == b || (a !== a && b !== b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (tag(a) !== tag(b)) return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof RegExp) return String(a) === String(b);
  if (a instanceof Error && (a.name !== b.name || a.message !== b.message)) return false;
  if (seen.some(([one, other]) => one === a && other === b)) return true;
  const inner = [...seen, [a, b]];
  if (a instanceof Map || a instanceof Set) {
    const [one, other] = [[...a], [...b]];
    return one.length === other.length && one.every(
      (item) => other.some((candidate) => equal(item, candidate, strict, inner))
    );
  }
  const names = keys(a);
  if (names.length !== keys(b).length) return false;
  return names.every((name) => has(b, name) && equal(a[name], b[name], strict, inner));
};
const shown = (value) => {
  if (typeof value === "string") return `'${value}'`;
  if (typeof value === "function") return `[Function${value.name ? ` ${value.name}` : ""}]`;
  if (value instanceof RegExp || value instanceof Error) return String(value);
  const text = orgrest.show(value);
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
};
return {equal, shown};
