import assert from "node:assert/strict";
import { test } from "node:test";

import { valueAt } from "../../core/components/prediction/guesses.js";
import { parts } from "../../core/components/prediction/inline.js";
import { around, shareOf } from "../../core/components/prediction/told.js";

test("marks of a sentence become nodes, and what is no mark stays as it is", () => {
  assert.deepEqual(parts("The `·a*b` is **very** *near* 2 * 3 * 4."),
    [["", "The "], ["code", "·a*b"], ["", " is "], ["b", "very"], ["", " "], ["i", "near"], ["", " 2 * 3 * 4."]]);
});

test("a slider has its ends and its steps", () => {
  const plain = { low: 10, high: 20, step: 2.5 };
  assert.deepEqual([0, 0.26, 1].map((share) => valueAt(plain, share)), [10, 12.5, 20]);
  const ratios = { low: 1, high: 10000, log: true };
  assert.deepEqual([0, 0.5, 1].map((share) => valueAt(ratios, share)), [1, 100, 10000]);
});

test("a number stands at its share of the line, within the ends", () => {
  assert.equal(shareOf({ low: 0, high: 10 }, 4), 0.4);
  assert.equal(shareOf({ low: 1, high: 100, log: true }, 10), 0.5);
  assert.equal(shareOf({ low: 0, high: 10 }, 40), 1);
});

test("of a long text the tokens near guess and answer are shown, with a gap between", () => {
  assert.deepEqual(around(20, 3, 12), [1, 2, 3, 4, 5, null, 10, 11, 12, 13, 14]);
  assert.deepEqual(around(4, 0, 3), [0, 1, 2, 3]);
});
