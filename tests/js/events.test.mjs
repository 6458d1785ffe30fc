import assert from "node:assert/strict";
import { test } from "node:test";

import { tellingAll } from "../../core/components/lib/events.js";

// A component as Streamlit gives it, and what it has sent, newest last.
const component = (parentElement = {}) => {
  const sent = [];
  return { parentElement, sent, setTriggerValue: (name, value) => sent.push([name, value]) };
};

test("an event takes along those of the last moments, numbered in their order", () => {
  const one = component(), { setTriggerValue } = tellingAll(one);
  setTriggerValue("picked", 3);
  setTriggerValue("moved", 0.5);
  assert.deepEqual(one.sent.map(([name]) => name), ["told", "told"]);
  const [, told] = one.sent[1];
  assert.deepEqual(told.map(([, ...event]) => event), [["picked", 3], ["moved", 0.5]]);
  assert.ok(told[0][0] < told[1][0]);
  assert.deepEqual(one.sent[0][1], told.slice(0, 1));
});

test("what is long past is not told again", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const one = component(), { setTriggerValue } = tellingAll(one);
  setTriggerValue("picked", 3);
  context.mock.timers.tick(6000);
  setTriggerValue("picked", 4);
  assert.deepEqual(one.sent[1][1].map(([, , value]) => value), [4]);
});

test("a picture that is given new data goes on, and another tells nothing of it", () => {
  const root = {}, first = component(root), again = component(root), other = component();
  tellingAll(first).setTriggerValue("picked", 3);
  tellingAll(again).setTriggerValue("picked", 4);
  tellingAll(other).setTriggerValue("picked", 5);
  const values = ({ sent }) => sent[0][1].map(([, , value]) => value);
  assert.deepEqual(values(again), [3, 4]);
  assert.deepEqual(values(other), [5]);
});
