import assert from "node:assert/strict";
import { test } from "node:test";

import { FOLD_MS, folded, written } from "../../pages/tour/fold.js";
import { heated, place } from "../../pages/tour/heat.js";
import { percent, spoken } from "../../pages/tour/said.js";

test("a probability in percent is never rounded to none or to all", () => {
  const written = {
    0: "0\u00a0%", 1: "100\u00a0%", 0.5: "50\u00a0%", 0.7326: "73\u00a0%", 0.0786: "7.9\u00a0%",
    0.00073: "0.073\u00a0%", 0.996: "99.6\u00a0%", 0.99963: "99.96\u00a0%", 0.999999: "99.9999\u00a0%",
    0.999999999: "almost 100\u00a0%", 0.00001: "0.001\u00a0%", 1e-9: "less than 0.001\u00a0%" };
  for (const [p, text] of Object.entries(written)) assert.equal(percent(Number(p)), text, p);
});

test("heat is the softmax of the divided logits, and lowers the first", () => {
  const logits = Float32Array.from([3, 1, 0.5, -2]);
  const plain = (t) => {
    const weights = [...logits].map((u) => Math.exp(u / t)), sum = weights.reduce((a, b) => a + b);
    return weights.map((weight) => weight / sum);
  };
  for (const t of [0.1, 0.7, 1, 3])
    heated(logits, t).forEach((p, i) => assert.ok(Math.abs(p - plain(t)[i]) < 1e-12, `${t} ${i}`));
  assert.ok(heated(logits, 0.5)[0] > heated(logits, 1)[0] && heated(logits, 1)[0] > heated(logits, 2)[0]);
  assert.ok(heated(Float32Array.from([800, -800]), 0.1).every(Number.isFinite));
});

test("a throw falls into the share that holds it", () => {
  const chances = [0.5, 0.3, 0.2];
  assert.deepEqual([0, 0.49, 0.5, 0.79, 0.8, 0.999999].map((xi) => place(chances, xi)), [0, 0, 1, 1, 2, 2]);
});

test("an arc begins as it stands and ends as a line across its cell", () => {
  const arc = [[100, 40], [100, 10], [20, 10], [20, 40]], cell = { x: 200, y: 300, size: 6 };
  assert.deepEqual(folded(arc, cell, 0), arc);
  assert.deepEqual(folded(arc, cell, 1), [[206, 303], [204, 303], [202, 303], [200, 303]]);
  assert.deepEqual(folded(arc, cell, 0.5)[0], [153, 171.5]);
  assert.ok(FOLD_MS >= 250 && FOLD_MS <= 400);
  assert.equal(written(arc), "M 100 40 C 100 10, 20 10, 20 40");
});

test("what is spoken has words and percents, and leaves an unknown name as it is", () => {
  assert.equal(spoken("{a} has {b} of {c}", { a: { word: "ball" }, b: { share: 0.25 } }), "ball has 25\u00a0% of {c}");
});
