import assert from "node:assert/strict";
import { test } from "node:test";

import { columnOf, prefixed, runArray, ticksOf, working } from "../../pages/architectures/hardware_work.js";

const X = [[1, 2], [3, 4]], W = [[5, 6], [7, 8]];

test("two by two by hand: [1 2; 3 4] · [5 6; 7 8] = [19 22; 43 50] in four ticks", () => {
  const states = runArray(X, W);
  assert.deepEqual(states.map(working), [1, 3, 3, 1]);
  assert.deepEqual(states.map(({ results }) => results), [[], [{ row: 0, column: 0, value: 19 }],
    [{ row: 1, column: 0, value: 43 }, { row: 0, column: 1, value: 22 }], [{ row: 1, column: 1, value: 50 }]]);
  assert.deepEqual(states[1].inputs, [[3, 1], [2, null]]);
  assert.deepEqual(states[1].sums, [[15, 6], [5 + 14, null]]);
});

test("the ticks are 3n − 2 for as many rows as cells, and 2n − 1 for one row", () => {
  assert.deepEqual([1, 2, 3, 4].map((n) => ticksOf(n, n)), [1, 4, 7, 10]);
  assert.deepEqual([1, 2, 3, 4].map((n) => ticksOf(1, n)), [1, 3, 5, 7]);
});

test("a number is drawn where the array has it", () => {
  runArray(X, W).forEach(({ inputs }, k) => X.forEach((row, m) => row.forEach((value, i) => {
    const column = columnOf(k + 1, m, i);
    if (column >= 0 && column < 2) assert.equal(inputs[i][column], value);
  })));
});

test("prefixes", () => {
  assert.deepEqual([0, 1, 999.6, 46.72, 9.08e15, 0.0214, 3.2e-7].map((value) => prefixed(value, "s")),
    ["0 s", "1 s", "1 ks", "46.7 s", "9.08 Ps", "21.4 ms", "320 ns"]);
});
