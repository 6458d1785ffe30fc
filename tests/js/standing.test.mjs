import assert from "node:assert/strict";
import { test } from "node:test";

import signalWhenItStands from "../../core/components/page/standing.js";

test("each picture that is drawn is told of once, the last one again while nobody hears of it", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.window = {};
  const heard = new Set();
  globalThis.addEventListener = (kind) => heard.add(kind);
  globalThis.history = { pushState() {}, replaceState() {} };
  const parentElement = {}, sent = [];
  const draw = (picture) =>
    signalWhenItStands({ parentElement, setTriggerValue: (name, value) => sent.push([picture, name, value]) });
  draw(1);
  assert.ok(heard.has("pointerdown"), "an entry of the history that Python makes next must be counted");
  draw(2);
  context.mock.timers.tick(1000);
  assert.deepEqual(sent, [[2, "stands", true]]);
  const end = draw(3);
  context.mock.timers.tick(1000);
  context.mock.timers.tick(5000);
  assert.deepEqual(sent.map(([picture]) => picture), [2, 3, 3]);
  end();
  context.mock.timers.tick(60000);
  assert.equal(sent.length, 3);
});
