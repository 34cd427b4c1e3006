import assert from "node:assert/strict";
import { test } from "node:test";

import { moved, regionOf } from "../../src/regions.ts";

const LINES = ["@a = 1", "### One", "GET /one", "", "### Two", "# @name two", "POST /two", "", "{}", "### Three", "GET /three"];
const TWO = regionOf(LINES, 6);

test("a request's lines are those between the dividing ones", () => {
  assert.deepEqual(TWO, { line: 6, first: 4, end: 9 });
  assert.deepEqual(regionOf(LINES, 10), { line: 10, first: 9, end: Infinity });
  assert.deepEqual(regionOf(["GET /"], 0), { line: 0, first: 0, end: Infinity });
});

test("an edit inside of a request takes its outcome away, one elsewhere does not", () => {
  const typed = { added: 0, whole: false };
  assert.equal(moved(TWO, { first: 8, last: 8, ...typed }), undefined);
  assert.equal(moved(TWO, { first: 4, last: 4, ...typed }), undefined);
  assert.equal(moved(TWO, { first: 3, last: 5, ...typed }), undefined);
  assert.deepEqual(moved(TWO, { first: 3, last: 3, ...typed }), TWO);
  assert.deepEqual(moved(TWO, { first: 9, last: 9, ...typed }), TWO);
});

test("the outcome moves with its request", () => {
  assert.deepEqual(moved(TWO, { first: 0, last: 0, added: 2, whole: false }), { line: 8, first: 6, end: 11 });
  assert.deepEqual(moved(TWO, { first: 2, last: 4, added: 0, whole: true }), { line: 4, first: 2, end: 7 });
  assert.deepEqual(moved(TWO, { first: 4, last: 4, added: 1, whole: true }), { line: 7, first: 5, end: 10 });
});
