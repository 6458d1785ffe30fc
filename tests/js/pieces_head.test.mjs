import assert from "node:assert/strict";
import { test } from "node:test";

import { embedded, greatestChange, normals, normed, orderOf, patchesOf, placed, shares, weightsOf, WIDTH, wordVectors }
  from "../../pages/architectures/pieces_head.js";

const near = (value, expected, within = 1e-12) => assert.ok(Math.abs(value - expected) < within,
  `${value} is not ${expected}`);

// an image of 8 × 8 points, different in every patch of 2 × 2
const PIXELS = Uint8ClampedArray.from({ length: 8 * 8 * 4 }, (_, i) => (i * 37 + Math.floor(i / 32) * 11) % 256);
const X = embedded(patchesOf(PIXELS, 8, 2));

test("patches go row by row and hold red, green and blue of their points", () => {
  const patches = patchesOf(PIXELS, 8, 2);
  assert.equal(patches.length, 16);
  const at = (x, y, colour) => PIXELS[4 * (8 * y + x) + colour] / 255 - 0.5;
  assert.deepEqual([...patches[5]], [[2, 2], [3, 2], [2, 3], [3, 3]].flatMap(([x, y]) =>
    [0, 1, 2].map((colour) => at(x, y, colour))));
  assert.equal(patchesOf(PIXELS, 8, 4)[3].length, 3 * 16);
});

test("the random numbers are those of a normal distribution, the same for a seed", () => {
  const values = normals(20_000, 5), mean = values.reduce((a, b) => a + b) / values.length;
  near(mean, 0, 0.03);
  near(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length, 1, 0.03);
  assert.deepEqual(normals(9, 5), normals(9, 5));
  assert.notDeepEqual(normals(9, 5), normals(9, 6));
});

test("a normed vector has mean 0 and deviation 1", () => {
  assert.deepEqual([...normed(Float64Array.of(1, 3))], [-1, 1]);
  for (const x of [...X, ...placed(X), ...wordVectors(["a", "b"])]) {
    near(x.reduce((a, b) => a + b), 0);
    near(x.reduce((a, b) => a + b * b, 0), WIDTH, 1e-9);
  }
});

test("the square is the softmax of the products over the root of d", () => {
  const weights = weightsOf(X), e = X.map((k) => Math.exp(X[3].reduce((sum, q, c) => sum + q * k[c], 0) / 8));
  near(weights[3][7], e[7] / e.reduce((a, b) => a + b));
  for (const row of weights) {
    near(row.reduce((a, b) => a + b), 1);
    assert.ok(row.every((value) => value > 0));
  }
  assert.equal(WIDTH, 64);
});

test("a position adds the sine and the cosine of the place", () => {
  const zero = placed([new Float64Array(WIDTH), new Float64Array(WIDTH)])[1];
  const waves = normed(Float64Array.from({ length: WIDTH }, (_, c) =>
    (c % 2 ? Math.cos : Math.sin)(1 / 10_000 ** (2 * Math.floor(c / 2) / WIDTH))));
  zero.forEach((value, c) => near(value, waves[c]));
});

test("a word has the vector of the patch that it names, or one of its own", () => {
  const [sun, above, a] = wordVectors(["sun", "above", "a"], { sun: X[3] });
  assert.equal(sun, X[3]);
  const likeness = (x, y) => x.reduce((sum, value, c) => sum + value * y[c], 0) / WIDTH;
  for (const pair of [[above, a], [above, X[3]], [a, X[3]]]) assert.ok(Math.abs(likeness(...pair)) < 0.5);
});

test("an order has everything once", () => {
  assert.deepEqual([...orderOf(196)].sort((a, b) => a - b), Array.from({ length: 196 }, (_, k) => k));
  assert.ok(orderOf(196).filter((which, place) => which === place).length < 10);
});

test("patches that change places keep their weights, and with positions they do not", () => {
  const order = orderOf(X.length), moved = order.map((k) => X[k]);
  assert.ok(greatestChange(weightsOf(X), weightsOf(moved), order) < 1e-15);
  assert.ok(greatestChange(weightsOf(placed(X)), weightsOf(placed(moved)), order) > 0.01);
  assert.ok(greatestChange(weightsOf(X), weightsOf(moved), X.map((_, k) => k)) > 0.01, "it looks at the order");
});

test("the weight of text and image by hand", () => {
  const weights = [[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7]];
  const [[tt, ti], [it, ii]] = shares(weights, 2);
  near(tt, 0.65);
  near(ti, 0.35);
  near(it, 0.3);
  near(ii, 0.7);
});
