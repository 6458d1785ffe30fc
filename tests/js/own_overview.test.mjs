import assert from "node:assert/strict";
import { test } from "node:test";

import { answered, answerHere } from "../../core/components/lib/answers.js";
import { pack, unpack } from "../../core/components/lib/bytes.js";
import { edited, named, partsOf } from "../../pages/overview/own/edit.js";
import { best, causalCells, causalRange, largest } from "../../core/components/engine/vectors.js";

test("what is packed is unpacked again, every kind of array from its own bytes", () => {
  const whole = Float32Array.of(1, 2.5, -0, 4);
  const arrays = { small: Uint8Array.of(0, 255, 7), pairs: Uint16Array.of(1, 65535), signed: Int32Array.of(-1, 2 ** 30),
    single: whole.subarray(1, 3), wide: Float64Array.of(0.1, 1e300), empty: new Float32Array(0) };
  const header = { text: "ﷺ ⏎ é", n: 3, none: null, list: [[1, "a"]] };
  const { arrays: listed, ...read } = unpack(pack(header, arrays));
  assert.deepEqual(read, { ...header, ...arrays });
  assert.deepEqual(listed.map(([name]) => name), Object.keys(arrays));
  assert.deepEqual(unpack(pack({ n: 1 })), { n: 1, arrays: [] });
});

test("a server answers until the page does", async () => {
  assert.equal(answered({ place: "end.3" }), null);
  answerHere((question) => ({ said: question.place }));
  assert.deepEqual(await answered({ place: "end.3" }), { said: "end.3" });
  answerHere(() => { throw new RangeError("no such place"); });
  await assert.rejects(answered({ place: "x" }), RangeError);
});

test("an edit has a depth, the numbers of its place with names, and a value", () => {
  assert.deepEqual(partsOf("product.4.3.11.6=-2.5"), { depth: "product", at: [4, 3, 11, 6], value: "-2.5" });
  assert.deepEqual(named(partsOf("product.4.3.11.6=-2.5")), { block: 4, head: 3, token: 11, seen: 6 });
  assert.deepEqual(named(partsOf("embedding.5=400")), { token: 5 });
  assert.deepEqual(["", "head", "head.x", "head.4.3=", "=3", "head.4.3=1e9"].map(partsOf), Array(6).fill(null));
});

test("a token that the text does not have is no part of an edit", () => {
  const model = { config: { n_layers: 2, n_heads: 2, d_ff: 8, vocab_size: 9 } }, ids = [0, 5, 7];
  for (const edit of ["neurons.1.3", "neuron.1.3.0"]) assert.deepEqual(edited(model, ids, edit), { ids, change: {} });
  assert.deepEqual(edited(model, ids, "neuron.1.2.0").change, { neurons: [[1, 0]] });
});

test("the largest come first, and of equal ones the first", () => {
  assert.deepEqual(best([1, 3, -2, 3, 2], 3), [1, 3, 4]);
  assert.deepEqual([best([1, 2], 5), best([], 2), best([-Infinity, 0], 2)], [[1, 0], [], [1, 0]]);
  assert.equal(largest(Float32Array.of(-3, -1, -2)), -1);
});

test("a causal mask leaves what is on the diagonal and below it", () => {
  assert.deepEqual([...causalCells(Float32Array.of(1, 9, 9, 2, 3, 9, 4, 5, 6), 3)], [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(causalRange(3), { first: Uint16Array.of(0, 0, 0), last: Uint16Array.of(0, 1, 2) });
});
