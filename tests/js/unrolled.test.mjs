import assert from "node:assert/strict";
import { test } from "node:test";

import { carried, wayIn, wayOut } from "../../pages/recurrence/wiring.js";

const X = 100, SIZE = { thick: 20, side: 16, gap: 26 };
// two directions of one layer, the backward one above, as they stand in the picture: y grows downwards
const BACKWARD = { top: 50, bottom: 90 }, FORWARD = { top: 116, bottom: 156 };
const STEM_ABOVE = BACKWARD.top - SIZE.gap / 2, STEM_BELOW = FORWARD.bottom + SIZE.gap / 2;

/** Whether a line with corners meets a strip. */
function meets(points, { top, bottom }) {
  return points.slice(1).some(([x2, y2], i) => {
    const [x1, y1] = points[i];
    return Math.min(x1, x2) < X + SIZE.thick / 2 && Math.max(x1, x2) > X - SIZE.thick / 2
      && Math.min(y1, y2) < bottom && Math.max(y1, y2) > top;
  });
}

test("what comes from below enters both directions, and no strip on its way", () => {
  const low = wayIn(FORWARD, false, X, STEM_BELOW, SIZE), high = wayIn(BACKWARD, true, X, STEM_BELOW, SIZE);
  for (const [way, own] of [[low, FORWARD], [high, BACKWARD]]) {
    assert.deepEqual(way[0], [X, STEM_BELOW]);
    const [x, y] = way.at(-1);
    assert.ok(y === own.bottom + 3 && Math.abs(x - X) < SIZE.thick / 2);
    assert.ok(!meets(way, FORWARD) && !meets(way, BACKWARD));
  }
});

test("both directions lead to the layer above, and no line runs into a strip", () => {
  for (const [row, round] of [[FORWARD, true], [BACKWARD, false]]) {
    const way = wayOut(row, round, X, STEM_ABOVE, SIZE);
    assert.ok(way[0][1] === row.top - 2 && Math.abs(way[0][0] - X) < SIZE.thick / 2);
    assert.deepEqual(way.at(-1), [X, STEM_ABOVE]);
    assert.ok(!meets(way, FORWARD) && !meets(way, BACKWARD));
  }
});

test("the path goes from its token through one direction up into the picked strip, and ends there", () => {
  for (const route of [0, 1]) for (const layer of [0, 1, 2]) for (const direction of [0, 1]) {
    const path = { route, source: 2, picked: { layer, direction, step: 5 } };
    assert.deepEqual(carried(path, 2, 0), { from: -1, to: route });
    for (let below = 1; below <= layer; below++)
      assert.deepEqual(carried(path, 5, below), { from: route, to: below === layer ? direction : route });
    assert.equal(carried(path, 5, layer + 1), null);
    assert.equal(carried(path, 4, 1), null);
  }
  assert.equal(carried({ route: null, source: 2, picked: { layer: 0, direction: 0, step: 1 } }, 2, 0), null);
});
