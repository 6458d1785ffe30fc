import assert from "node:assert/strict";
import { test } from "node:test";

import { thinned } from "../../core/components/heads_wall/heads_map.js";
import { logScale, multiples, niceStep, powers, wholeTicks } from "../../core/components/lib/axis.js";
import { deepest } from "../../core/components/lib/canvas.js";
import { rowOffsets } from "../../core/components/lib/pattern.js";
import { niceTop, rankScale } from "../../core/components/sampling_panel/figure.js";
import { topKValues } from "../../core/components/sampling_panel/truncation.js";
import { ends } from "../../pages/language_models/compress.js";

test("rows of a pattern begin where the row before ends", () => {
  assert.deepEqual([...rowOffsets([0, 0, 1], [0, 1, 2])], [0, 1, 3, 5]);
  assert.deepEqual([...rowOffsets([], [])], [0]);
});

test("ticks are whole, evenly spaced, and about as many as there is room for", () => {
  assert.deepEqual(wholeTicks(5, 10), [0, 1, 2, 3, 4]);
  for (const [count, wanted] of [[7, 3], [64, 10], [256, 4.2], [4096, 6], [1, 0.5]]) {
    const ticks = wholeTicks(count, wanted);
    assert.ok(ticks.length >= 1 && ticks.length <= wanted + 1.5, `${count} ${wanted}: ${ticks}`);
    assert.ok(ticks.every((tick, k) => Number.isInteger(tick) && tick < count && tick === k * (ticks[1] ?? 0)));
  }
});

test("a step between ticks is a factor times a power of ten, the smallest that is large enough", () => {
  assert.deepEqual([0.03, 1, 1.0000000001, 1.1, 4.9, 5.1, 70].map((least) => niceStep(least)),
    [0.05, 1, 1, 2, 5, 10, 100]);
  assert.equal(niceStep(0.151, [1, 1.5, 2, 10]), 0.2);
});

test("ticks are the multiples of their step, the ends of the axis among them", () => {
  assert.deepEqual(multiples(0.1, 0, 0.3).map((value) => value.toFixed(2)), ["0.00", "0.10", "0.20", "0.30"]);
  assert.deepEqual(multiples(2, -3, 5), [-2, 0, 2, 4]);
  assert.deepEqual(multiples(5, 1, 4), []);
});

test("a logarithmic axis has the powers of ten between its ends, which its scale spaces evenly", () => {
  assert.deepEqual(powers(0.5, 20000), [0, 1, 2, 3, 4]);
  assert.deepEqual(powers(0.01, 1e5, 2), [-2, 0, 2, 4]);
  assert.deepEqual([1, 10, 100].map(logScale(1, 100, 300, 100)), [300, 200, 100]);
});

test("thinned labels keep the first and the last, and none of those between stands too near the last", () => {
  assert.deepEqual(thinned(3, 10), [0, 1, 2]);
  for (const [n, most] of [[12, 5], [40, 7], [144, 2], [1, 1], [2, 1]]) {
    const kept = thinned(n, most);
    assert.equal(kept.at(-1), n - 1);
    assert.ok(n === 1 || kept[0] === 0);
    assert.ok(kept.length <= Math.max(2, most), `${n} ${most}: ${kept}`);
  }
});

test("the axis of ranks leaves out no token and finds each rank again", () => {
  for (const size of [1, 7, 40, 512, 50257]) {
    const scale = rankScale(size, 40, 700, 15);
    assert.equal(scale.x(0), 40);
    assert.ok(Math.abs(scale.x(size) - 740) < 1e-9);
    for (const rank of [0, 0.5, size / 2, size]) assert.ok(Math.abs(scale.rank(scale.x(rank)) - rank) < 1e-6 * size);
    assert.ok(scale.places.every((place, k) => k === 0 || place > scale.places[k - 1]));
    assert.equal(scale.edges.length, scale.places.length + 1);
  }
});

test("the top of an axis is round, and no lower than the value", () => {
  for (const value of [1e-4, 0.013, 0.15, 0.151, 0.9, 1]) {
    assert.ok(niceTop(value) >= value * (1 - 1e-9) && niceTop(value) <= 1);
  }
  assert.equal(niceTop(0.151), 0.2);
  assert.equal(niceTop(1), 1);
});

test("a slider of k has every small number, ends without a limit, and never goes back", () => {
  const values = topKValues(50257);
  assert.deepEqual(values.slice(0, 20), Array.from({ length: 20 }, (_, k) => k + 1));
  assert.equal(values.at(-1), null);
  assert.ok(values.slice(1, -1).every((value, k) => value > values[k] && value < 50257));
  assert.deepEqual(topKValues(3), [1, 2, 3, null]);
});

test("the ends of an interval are told from each other, from 0 and from 1", () => {
  assert.deepEqual(ends(0, 1), { start: "0", end: "1" });
  assert.deepEqual(ends(0.25, 0.5), { start: "0.2500", end: "0.5000" });
  const { start, end } = ends(0.00001, 0.00002);
  assert.ok(Number(start) > 0 && Number(start) < Number(end));
  assert.notEqual(ends(0.5, 0.9999999).end, "1.0000");
});

test("an outlier does not take the colour from all other numbers", () => {
  const values = Float32Array.from({ length: 1000 }, (_, k) => (k === 7 ? -800 : (k % 100) / 100));
  assert.ok(Math.abs(deepest(values) - 0.98) < 0.02);
  assert.equal(deepest([]), 1);
  assert.equal(deepest([0, 0, 3]), 3);
});
