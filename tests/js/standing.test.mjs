import assert from "node:assert/strict";
import { test } from "node:test";

import signalWhenItStands from "../../core/components/page/standing.js";

test("each picture that is drawn is told of once, the last one again while nobody hears of it", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.window = {};
  const heard = new Map(), go = (kind) => heard.get(kind).forEach((call) => call());
  globalThis.addEventListener = (kind, call) => heard.set(kind, [...heard.get(kind) ?? [], call]);
  globalThis.removeEventListener = (kind, call) => heard.set(kind, heard.get(kind).filter((each) => each !== call));
  globalThis.history = { pushState() {}, replaceState() {} };
  const parentElement = {}, sent = [];
  const draw = (picture) =>
    signalWhenItStands({ parentElement, setTriggerValue: (name, value) => sent.push([picture, name, value]) });
  draw(1);
  assert.ok(heard.has("pointerdown"), "an entry of the history that Python makes next must be counted");
  draw(2);
  context.mock.timers.tick(1000);
  assert.deepEqual(sent, [[2, "stands", true]]);
  draw(3);
  context.mock.timers.tick(1000);
  context.mock.timers.tick(5000);
  assert.deepEqual(sent.map(([picture]) => picture), [2, 3, 3]);
  draw(4);
  go("popstate");
  context.mock.timers.tick(1000);
  assert.equal(sent.length, 3, "a picture that is left signals nothing until the next one would have come");
  context.mock.timers.tick(5000);
  assert.equal(sent.length, 4);
  const end = draw(5);
  end();
  context.mock.timers.tick(60000);
  assert.equal(sent.length, 4);
});
