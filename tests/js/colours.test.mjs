import assert from "node:assert/strict";
import { test } from "node:test";
import { between, css, packed, rgb, tableOf } from "../../core/components/lib/colours.js";

const STOPS = ["#ffffff", "#808080", "#000040"].map(rgb);

test("a share of the way through the stops lies between the two beside it", () => {
  assert.deepEqual(between(STOPS, 0), [255, 255, 255]);
  assert.deepEqual(between(STOPS, 0.25), [192, 192, 192]);
  assert.deepEqual(between(STOPS, 0.5), [128, 128, 128]);
  assert.deepEqual(between(STOPS, 1), [0, 0, 64]);
});

test("what lies beyond the scale takes its end, and no number the first colour", () => {
  assert.deepEqual(between(STOPS, 7), [0, 0, 64]);
  assert.deepEqual(between(STOPS, -Infinity), [255, 255, 255]);
  assert.deepEqual(between(STOPS, NaN), [255, 255, 255]);
});

test("a packed colour lies in memory as red, green, blue and full opacity", () => {
  assert.deepEqual([...new Uint8Array(Uint32Array.of(packed([1, 2, 254])).buffer)], [1, 2, 254, 255]);
  assert.equal(css(packed([1, 2, 254])), "rgb(1 2 254)");
  assert.equal(css([1, 2, 254]), "rgb(1 2 254)");
});

test("a table goes from the first stop to the last in 256 steps", () => {
  const table = tableOf(STOPS);
  assert.equal(table.length, 256);
  assert.equal(css(table[0]), "rgb(255 255 255)");
  assert.equal(css(table[255]), "rgb(0 0 64)");
  assert.equal(css(table[64]), css(between(STOPS, 64 / 255)));
});
