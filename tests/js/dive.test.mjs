import assert from "node:assert/strict";
import { test } from "node:test";

import { between, eased, framesBeside, framesIn, zoom } from "../../pages/overview/dive_motion.js";
import { rescored } from "../../pages/overview/dive_look.js";
import { around, beside, isInside, isSet, placeIn, placeOf, setTo, wayTo, WHOLE, within, written }
  from "../../pages/overview/dive_path.js";

// two blocks of three heads over four tokens, each of which sees itself and two before
const SIZES = { layers: 2, heads: 3, n: 4, first: [0, 0, 0, 1], last: [0, 1, 2, 3], neurons: [7, 0], vocabulary: 9,
  silence: "", d_k: 5, layer: 0, position: 2 };
const at = (text) => placeIn(text, SIZES);

test("an address names a place, and what makes no sense is the whole", () => {
  for (const text of ["block.1", "heads.0", "head.1.2", "look.0.2.3", "product.1.0.3.2", "number.1.0.3.2.9",
    "neurons.0.3", "neuron.0.3.6", "embedding.3", "stream.0", "end.2", "logit.2.8"])
    assert.equal(written(at(text)), text);
  for (const text of ["", "model", "room", "block.x", "block.-1", "head.1", "block.0.0", "room.1", "block.1.5",
    "block.2"])
    assert.deepEqual(at(text), WHOLE);
});

test("a depth alone is that of the picked block and token, and no guess where it needs more", () => {
  assert.deepEqual(["block", "heads", "neurons", "embedding", "stream", "end"].map((text) => written(at(text))),
    ["block.0", "heads.0", "neurons.0.2", "embedding.2", "stream.2", "end.2"]);
  for (const text of ["head", "look", "product", "number", "neuron", "logit"]) assert.deepEqual(at(text), WHOLE);
});

test("a place that this model or text does not have becomes the deepest one on the way to it", () => {
  assert.equal(written(at("head.1.3")), "heads.1");
  assert.equal(written(at("look.1.2.4")), "head.1.2");
  assert.equal(written(at("product.1.2.3.0")), "look.1.2.3");         // out of the reach of the last token
  assert.equal(written(at("product.1.2.1.2")), "look.1.2.1");         // behind the query
  assert.equal(written(at("number.1.2.3.2.10")), "product.1.2.3.2");
  assert.deepEqual([written(at("stream.4")), written(at("logit.2.9"))], ["", "end.2"]);
  assert.deepEqual(placeIn("logit.2.8", { ...SIZES, silence: "It predicts nothing." }), WHOLE);
  assert.equal(written(at("neurons.0.4")), "block.0");
  assert.equal(written(at("neuron.1.0.0")), "block.1");               // its neurons are not drawn
  assert.equal(written(at("neuron.0.2.7")), "neurons.0.2");
  assert.equal(written(within(placeOf("number", 0, 0, 0, 0, 99), { ...SIZES, d_k: undefined })), "number.0.0.0.0.99");
});

test("the way goes from the whole through every depth, and out again", () => {
  const way = wayTo(at("number.1.2.3.2.7")).map(written);
  assert.deepEqual(way, ["", "block.1", "heads.1", "head.1.2", "look.1.2.3", "product.1.2.3.2", "number.1.2.3.2.7"]);
  assert.deepEqual(wayTo(at("neuron.0.2.6")).map(written), ["", "block.0", "neurons.0.2", "neuron.0.2.6"]);
  let place = at("number.1.2.3.2.7");
  for (const outer of way.slice(0, -1).reverse()) {
    place = around(place);
    assert.equal(written(place), outer);
  }
  assert.equal(around(place), null);
  assert.ok(isInside(at("look.1.2.3"), at("block.1")) && isInside(at("block.0"), WHOLE));
  assert.ok(!isInside(at("look.1.2.3"), at("block.0")) && !isInside(at("block.1"), at("block.1")));
});

test("a neighbour is of the same depth: heads go on into the next block, a key stays in sight of its query", () => {
  const next = (text, step) => { const to = beside(at(text), step, SIZES); return to && written(to); };
  assert.deepEqual([next("block.0", 1), next("block.1", 1), next("heads.1", -1), next("block.0", -1)],
    ["block.1", null, "heads.0", null]);
  assert.deepEqual([next("head.0.2", 1), next("head.1.0", -1), next("head.1.2", 1), next("head.0.0", -1)],
    ["head.1.0", "head.0.2", null, null]);
  assert.deepEqual([next("look.1.2.3", -1), next("look.1.2.3", 1)], ["look.1.2.2", null]);
  assert.deepEqual([next("product.1.2.3.1", -1), next("product.1.2.3.1", 1)], [null, "product.1.2.3.2"]);
  assert.deepEqual([next("number.1.2.3.1.4", 1), next("number.1.2.3.1.5", 1), next("number.1.2.3.1.9", 1),
    next("number.1.2.3.1.0", -1)], [null, "number.1.2.3.1.6", null, null]);
  assert.deepEqual([next("neurons.0.1", 1), next("neuron.0.1.6", 1)], ["neurons.0.2", null]);
  assert.equal(beside(WHOLE, 1, SIZES), null);
});

test("a zoom takes one box to the other, and what is beside it along", () => {
  const to = zoom([10, 20, 5, 4], [0, 0, 50, 20]);
  assert.deepEqual(to([10, 20, 5, 4]), [0, 0, 50, 20]);
  assert.deepEqual(to([15, 18, 10, 2]), [50, -10, 100, 10]);
  assert.deepEqual(between([0, 0, 10, 10], [10, 20, 30, 10], 0.5), [5, 10, 20, 10]);
  assert.deepEqual([eased(0), eased(0.5), eased(1)], [0, 0.5, 1]);
  assert.ok(eased(0.2) < 0.2 && eased(0.8) > 0.8);
});

const part = (id, box) => ({ id, box, paint() {} });
const scene = (anchor, frame, ...parts) => ({ anchor, frame, parts,
  where: (id) => parts.find((one) => one.id === id)?.box ?? null });
const OUTER = scene("", [0, 0, 100, 100], part("tile", [10, 10, 20, 20]), part("word", [60, 10, 20, 10]));
const INNER = scene("tile", [0, 0, 100, 100], part("tile", [0, 0, 80, 80]), part("axis", [80, 0, 20, 100]));

test("what both depths show goes from its old place to its new one; the rest leaves or comes with it", () => {
  const painted = (t) => Object.fromEntries(framesIn(OUTER, INNER, t).map(({ part: { id }, box, alpha }) =>
    [id, { box, alpha }]));
  const [start, middle, end] = [0, 0.5, 1].map(painted);
  assert.deepEqual(start.tile, { box: [10, 10, 20, 20], alpha: 1 });
  assert.deepEqual(middle.tile, { box: [5, 5, 50, 50], alpha: 1 });
  assert.deepEqual(end.tile, { box: [0, 0, 80, 80], alpha: 1 });
  assert.deepEqual([start.word, start.axis.alpha], [{ box: [60, 10, 20, 10], alpha: 1 }, 0]);
  assert.deepEqual(start.axis.box, [26, 10, 4, 20]);          // it comes out of the tile
  assert.deepEqual([end.word.alpha, end.axis], [0, { box: [80, 0, 20, 100], alpha: 1 }]);
  assert.ok(middle.word.box[0] > 60 && middle.word.alpha > 0 && middle.word.alpha < 1);
});

test("the neighbour comes from its side, and what both show stays", () => {
  const other = scene("tile", [0, 0, 100, 100], part("tile", [0, 0, 80, 80]), part("note", [0, 90, 10, 10]));
  const [tile, note] = ["tile", "note"].map((id) =>
    framesBeside(INNER, other, 1, 0).find((painted) => painted.part.id === id));
  assert.deepEqual([tile.box, tile.alpha, note.box, note.alpha], [[0, 0, 80, 80], 1, [6, 90, 10, 10], 0]);
  assert.equal(framesBeside(INNER, other, -1, 0).at(-1).box[0], -6);
  assert.deepEqual(framesBeside(INNER, other, 1, 1).find(({ part: { id } }) => id === "axis").alpha, 0);
});

// scores 0, ln 2 and ln 3 beside a masked one and a sink of ln 2: weights 1, 2, 3 and 2 of 8
const LOOK = { scores: Float64Array.from([0, Math.log(2), Math.log(3), 5]), allowed: [1, 1, 1, 0], top: Math.log(3),
  total: 8 / 3, sunk: 2 / 8, V: Float32Array.from([1, 0, 0, 1, 1, 1, 9, 9]), output: Float32Array.of(0, 0) };
const near = (values, expected) => values.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 1e-6));

test("a score that is changed shares the weights out anew, beside the mask and the sink", () => {
  const same = rescored(LOOK, 0, 0);
  near(same.weights, [1 / 8, 2 / 8, 3 / 8, 0]);
  near([...same.output, same.sunk, same.total], [4 / 8, 5 / 8, 2 / 8, 8 / 3]);
  const other = rescored(LOOK, 0, Math.log(9));
  near(other.weights, [9 / 16, 2 / 16, 3 / 16, 0]);
  near([...other.output, other.sunk], [12 / 16, 5 / 16, 2 / 16]);
  assert.equal(LOOK.scores[0], 0);
});

test("an edit names the place that it sets, and no longer one", () => {
  const place = placeOf("product", 1, 0, 3, 2), edit = setTo(place, -1.5);
  assert.equal(edit, "product.1.0.3.2=-1.5");
  assert.ok(isSet(edit, place));
  assert.ok(!isSet(edit, placeOf("product", 1, 0, 3, 21)) && !isSet("product.1.0.3.2", place));
});
