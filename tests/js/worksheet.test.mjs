import assert from "node:assert/strict";
import { test } from "node:test";

import { matches, parse } from "../../pages/attention/worksheet.js";

test("numbers are read as they are typed: with a point or a comma, as a fraction, with either minus", () => {
  assert.deepEqual(parse(" 0,25 "), { value: 0.25, decimals: 2 });
  assert.deepEqual(parse("−1.50"), { value: -1.5, decimals: 2 });
  assert.deepEqual(parse("-3"), { value: -3, decimals: 0 });
  assert.deepEqual(parse("1/3"), { value: 1 / 3, decimals: Infinity });
  assert.deepEqual(parse("-inf"), { value: -Infinity, decimals: Infinity });
  assert.deepEqual(parse("−∞"), { value: -Infinity, decimals: Infinity });
});

test("what is no number is none", () => {
  for (const typed of ["", "a", "1/0", "1.2.3", "--1", "1e5", "inf"]) assert.equal(parse(typed), null, typed);
});

test("a number is right where it is the value rounded to the decimals that were typed", () => {
  assert.ok(matches(parse("0.67"), 2 / 3) && matches(parse("0.6667"), 2 / 3) && matches(parse("2/3"), 2 / 3));
  assert.ok(!matches(parse("0.66"), 2 / 3) && !matches(parse("0.666"), 2 / 3));
  assert.ok(matches(parse("-inf"), -Infinity) && !matches(parse("-inf"), -1e9) && !matches(parse("0"), -Infinity));
});
