import assert from "node:assert/strict";
import { test } from "node:test";

import { Truncation, seededUniforms } from "../../core/components/sampling_panel/truncation.js";
import { values } from "./values.mjs";

const TOLERANCE = 1e-9;

function near(actual, expected, what) {
  assert.equal(actual.length, expected.length, what);
  for (let i = 0; i < expected.length; i++) {
    assert.ok(Math.abs(actual[i] - expected[i]) <= TOLERANCE, `${what} ${i}: ${actual[i]}, not ${expected[i]}`);
  }
}

for (const { name, logits, cases } of values.truncation) {
  test(`the cut of ${name} is Python's`, () => {
    const numbers = name.endsWith("float32") ? Float32Array : Float64Array;      // the panel is sent the former
    const cut = new Truncation(numbers.from(logits, (u) => u ?? -Infinity));
    for (const { config, ids, rules, kept, places, rows, scalars } of cases) {
      cut.update(config);
      assert.deepEqual([...cut.tokenIds], ids);
      assert.deepEqual([...cut.cutBy], rules, JSON.stringify(config));
      assert.deepEqual([cut.nKept, cut.left.typical_p], [kept, kept]);
      assert.deepEqual(values.xis.map((xi) => cut.draw(xi)), places);
      [cut.probs, cut.cumulative, cut.renormalised, cut.intervalEnds].forEach((row, k) => near(row, rows[k], "row"));
      near([cut.entropyBefore, cut.entropyAfter, cut.keptMass], scalars, "entropies and mass");
    }
  });
}

test("the dice of a seed are Python's, to the bit", () => {
  for (const { seed, uniforms } of values.dice) {
    assert.deepEqual([...seededUniforms(seed, uniforms.length)], uniforms);
  }
});
