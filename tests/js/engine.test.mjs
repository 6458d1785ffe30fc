import assert from "node:assert/strict";
import { test } from "node:test";

import { KVCache } from "../../core/components/engine/cache.js";
import { activated, erfc, layerNorm, softmaxInto } from "../../core/components/engine/curves.js";
import { matrix, product, transposed } from "../../core/components/engine/linear.js";
import { merged, Rules } from "../../core/components/engine/merging.js";
import { alibiSlopes } from "../../core/components/engine/positions.js";
import { visibleForm } from "../../core/components/engine/visible.js";

const close = (a, b, share) => assert.ok(Math.abs(a - b) <= share * Math.abs(b), `${a} is not ${b}`);
const drawn = (length) => Float32Array.from({ length }, (_, i) => Math.sin(7 * i * i + 3 * i));

/** A B plus a bias by its definition. */
function plain(A, B, bias) {
  const entry = (M, row, column) => M.data[M.at + row * M.down + column * M.across];
  return Array.from({ length: A.rows * B.columns }, (_, i) => {
    const [row, column] = [Math.floor(i / B.columns), i % B.columns];
    let total = bias ? bias[column] : 0;
    for (let k = 0; k < A.columns; k += 1) total += entry(A, row, k) * entry(B, k, column);
    return total;
  });
}

test("a product is the sum of products at every size, of transposes and of parts of an array too", () => {
  for (const n of [1, 2, 3, 4, 7])
    for (const k of [1, 3, 4, 9])
      for (const m of [1, 2, 4, 5, 11]) {
        const rows = matrix(drawn(n * k + 3), n, k, 3), columns = transposed(matrix(drawn(n * k), k, n));
        const across = matrix(drawn(k * m + 1), k, m, 1), down = transposed(matrix(drawn(k * m + 2), m, k, 2));
        for (const A of [rows, columns])
          for (const B of [across, down])
            for (const bias of [null, drawn(m)]) {
              const out = product(A, B, new Float32Array(n * m + 4).fill(5), 2, bias), truth = plain(A, B, bias);
              assert.deepEqual([...out.subarray(0, 2), ...out.subarray(n * m + 2)], [5, 5, 5, 5]);
              for (const [i, value] of truth.entries()) assert.ok(Math.abs(out[i + 2] - value) < 1e-6);
            }
      }
});

test("erfc keeps its digits however small it is, and GELU is x times the share of the normal curve below x", () => {
  const values = [[-3, 1.9999779095030015], [-0.5, 1.5204998778130465], [0, 1], [0.01, 0.9887165844441503],
    [0.5, 0.4795001221869535], [1, 0.15729920705028513], [2, 0.004677734981047265], [3.5, 7.430983723414128e-7],
    [5, 1.5374597944280351e-12], [10, 2.088487583762545e-45], [20, 5.3958656116079005e-176],
    [26, 5.663192408856143e-296]];
  for (const [z, value] of values) close(erfc(z), value, 1e-8);
  assert.equal(erfc(40), 0);
  const [left, zero, one, far] = activated("gelu", Float64Array.of(-1, 0, 1, 50));
  close(left, -0.15865525393145707, 1e-8);
  close(one, 0.8413447460685429, 1e-8);
  assert.deepEqual([Math.abs(zero), far], [0, 50]);
  assert.deepEqual([...activated("relu", Float32Array.of(-2, 0, 3))], [0, 0, 3]);
});

test("a norm takes mean and spread out of each row by itself, and a softmax bears scores of any size", () => {
  const [gain, bias] = [Float32Array.of(1, 1, 2), Float32Array.of(0, 0, 10)];
  const normed = layerNorm(Float32Array.of(1, 2, 3, 1001, 1002, 1003), gain, bias, 0);
  for (const row of [normed.subarray(0, 3), normed.subarray(3)])
    for (const [i, value] of [-1.2247449, 0, 12.4494897].entries()) assert.ok(Math.abs(row[i] - value) < 1e-5);
  const out = new Float32Array(5);
  softmaxInto(out, Float32Array.of(7, 1e30, 1e30, -1e30, 7), 1, 4);
  assert.deepEqual([...out], [0, 0.5, 0.5, 0, 0]);
});

test("ALiBi's slopes are those of its authors, for numbers of heads that are no power of two as well", () => {
  assert.deepEqual(alibiSlopes(4), [0.25, 0.0625, 0.015625, 0.00390625]);
  assert.deepEqual(alibiSlopes(6), [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]);
  assert.deepEqual(alibiSlopes(1), [2 ** -8]);
});

test("a cache puts each head's new keys and values behind its old ones", () => {
  const cache = new KVCache();
  cache.extend(0, Float32Array.of(1, 2, 3, 4), Float32Array.of(10, 20), 2);
  const { keys, values } = cache.extend(0, Float32Array.of(5, 6, 7, 8), Float32Array.of(30, 40), 2);
  assert.deepEqual([[...keys], [...values]], [[1, 2, 5, 6, 3, 4, 7, 8], [10, 30, 20, 40]]);
});

test("the rule that was learned first goes first, and the leftmost of its places", () => {
  // 0 a, 1 b, 2 ab, 3 aa, 4 aab, 5 ba
  const rules = new Rules([[0, 1, 2], [0, 0, 3], [3, 1, 4], [1, 0, 5]], 6);
  assert.deepEqual(merged([0, 0, 1], rules), [0, 2]);
  assert.deepEqual(merged([0, 0, 0], rules), [3, 0]);
  assert.deepEqual(merged([1, 0, 0, 0, 1, 0], rules), [1, 3, 2, 0]);
  assert.deepEqual([merged([], rules), merged([1], rules), merged([1, 1], rules)], [[], [1], [1, 1]]);
});

test("a token is never empty to the eye", () => {
  const forms = { " the": "·the", "\n\t\r": "⏎⇥␍", "·": "‹U+00B7›", "\x00": "‹00›", "\u0301a": "◌\u0301a",
    "\ufe0f": "‹U+FE0F›", "\u200d": "‹U+200D›", "\u3164": "‹U+3164›", "\ufeff": "‹U+FEFF›", "a\u0301": "a\u0301",
    "🐶": "🐶" };
  for (const [text, form] of Object.entries(forms)) assert.equal(visibleForm(new TextEncoder().encode(text)), form);
  assert.equal(visibleForm(Uint8Array.of(0xe2, 0x82)), "‹E2›‹82›");
  assert.equal(visibleForm(Uint8Array.of(0xc0, 0x80, 0xed, 0xa0, 0x80, 0x61)), "‹C0›‹80›‹ED›‹A0›‹80›a");
});
