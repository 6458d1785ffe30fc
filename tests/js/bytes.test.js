import assert from "node:assert/strict";
import { test } from "node:test";
import { alike } from "../../core/components/lib/bytes.js";

test("a message that says nothing new is alike, whatever else is known", () => {
  const state = { n: 3, words: ["a"], values: Float32Array.of(1, NaN), more: 7 };
  assert.ok(alike(state, { n: 3, words: ["a"], values: Float32Array.of(1, NaN) }));
  assert.ok(!alike(state, { n: 3, words: ["b"] }));
  assert.ok(!alike(state, { values: Float32Array.of(1, 2) }));
  assert.ok(!alike(state, { values: Float32Array.of(1, NaN, 3) }));
  assert.ok(!alike(state, { unknown: Float32Array.of(1) }));
});

test("a field may be left out of the comparison", () => {
  assert.ok(alike({ n: 3, at: 1 }, { n: 3, at: 2 }, "at"));
});
