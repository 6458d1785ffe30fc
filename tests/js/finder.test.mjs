import assert from "node:assert/strict";
import { test } from "node:test";

import { find, normal, prepared } from "../../core/components/palette/search.js";

const place = (id, kind, name, where = "", says = "") => ({ id, kind, name, where, says });
const PLACES = prepared([
  place("lesson heads", "lesson", "Heads", "Inside a block", "Each head learns to look for something else."),
  place("page map", "page", "Map"),
  place("view steps", "view", "Step by step", "Attention", "One head, one query."),
  place("view scaling", "view", "Why ÷ √dₖ", "Attention", "Long vectors have large dot products."),
  place("term head", "term", "head", "Heads", "One attention with projections of its own."),
  place("term Ångström", "term", "Ångström"),
  place("idea A5", "idea", "Scores are divided by √d_k.", "Attention › Why ÷ √dₖ"),
]);
const ids = (typed, most = 9) => find(PLACES, typed, most).map(({ id }) => id);

test("without a word the lessons and the pages are shown", () => {
  assert.deepEqual(ids("  "), ["lesson heads", "page map"]);
});

test("the whole name comes first, then its beginning, then what only speaks of it", () => {
  assert.deepEqual(ids("head"), ["term head", "lesson heads", "view steps"]);
});

test("every word must be there, in whatever order and field", () => {
  assert.deepEqual(ids("attention step"), ["view steps"]);
  assert.deepEqual(ids("step attention"), ["view steps"]);
  assert.deepEqual(ids("step nothing"), []);
});

test("accents, case, and raised or lowered letters do not matter", () => {
  assert.equal(normal("√dₖ Wᵀ"), "√dk wt");
  assert.deepEqual(ids("angstrom"), ["term Ångström"]);
  for (const typed of ["dk", "√dk", "d_k"]) assert.deepEqual(ids(typed), ["view scaling", "idea A5"], typed);
});

test("one or two letters count at the beginning of a word alone, and of many the best are kept", () => {
  assert.deepEqual(ids("tt"), []);
  assert.equal(ids("a", 2).length, 2);
});

test("signs with a meaning elsewhere are plain text here", () => {
  assert.deepEqual(ids("(.*"), []);
});
