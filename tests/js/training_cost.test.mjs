import assert from "node:assert/strict";
import { test } from "node:test";

import {
  decadesAround, lasting, money, nameAt, SITE, trainingOf,
} from "../../pages/architectures/training_cost_work.js";

const near = (found, expected) => assert.ok(Math.abs(found / expected - 1) < 1e-9, `${found} is not ${expected}`);

test("a training by hand: 10¹² operations a second at half the peak, for 6 · 10⁹ · 3 · 10⁹ operations", () => {
  const found = trainingOf({ parameters: 1, tokens: 3, devices: 10, share: 50, pue: 1.5, price: 2 },
    { peak: 1e12, watts: 200 });
  near(found.operations, 18e18);
  near(found.hours, 1e4);                   // 18 · 10¹⁸ / (0.5 · 10¹²) = 3.6 · 10⁷ seconds
  near(found.days, 1e4 / 10 / 24);
  near(found.energy, 1e4 * 200 * 1.5);      // 3 MWh
  near(found.dollars, 2e4);
  near(found.site, 3e6 * 3600 / SITE);      // 2.16 seconds
  near(found.written, 2e9);
});

test("GPT-3 on 10,000 V100 at a fifth of their peak: close to its 14.8 days and 1,287 MWh", () => {
  const found = trainingOf({ parameters: 175, tokens: 300, devices: 10000, share: 20, pue: 1.1, price: 2 },
    { peak: 125e12, watts: 300 });
  near(found.operations, 3.15e23);
  near(found.days, 3.15e23 / 25e12 / 86400 / 1e4);      // 14.58
  assert.ok(Math.abs(found.days - 14.8) < 0.3 && found.energy > 0.85 * 1287e6 && found.energy < 1287e6);
});

test("an axis shows its decades at rest, and more where a value lies beyond", () => {
  assert.deepEqual(decadesAround([3.15e23], 22, 24), [22, 24]);
  assert.deepEqual(decadesAround([2.5e24, 4e20], 22, 24), [20, 25]);
});

test("times and money as they are told", () => {
  assert.deepEqual([30, 90, 834, 7200, 3 * 86400].map(lasting), [{ unit: "seconds", n: "30" },
    { unit: "seconds", n: "90" }, { unit: "minutes", n: "13.9" }, { unit: "hours", n: "2" }, { unit: "days", n: "3" }]);
  assert.deepEqual([0.34, 999, 7e6, 2.5e9].map(money), ["$ 0.34", "$ 999", "$ 7 M", "$ 2.5 B"]);
});

test("a name stands beside its dot, and elsewhere where something else stands there", () => {
  const dot = { x: 100, y: 100 }, bounds = [0, 0, 200, 200];
  assert.equal(nameAt(dot, 40, 10, [], bounds).anchor, "start");
  assert.equal(nameAt(dot, 40, 10, [[120, 95, 125, 105]], bounds).anchor, "end");
  assert.equal(nameAt(dot, 40, 10, [], [0, 0, 130, 200]).anchor, "end");
  const above = nameAt(dot, 40, 10, [[110, 95, 150, 105], [50, 95, 90, 105]], bounds);
  assert.ok(above.anchor === "middle" && above.box[3] < 100);
  const corner = nameAt(dot, 40, 10, [[50, 95, 150, 105], [104, 80, 150, 95], [104, 105, 150, 120]], bounds);
  assert.ok(corner.anchor === "end" && corner.box[1] > 105);
  assert.equal(nameAt(dot, 40, 10, [bounds], bounds), null);
});
