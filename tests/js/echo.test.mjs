import assert from "node:assert/strict";
import { test } from "node:test";

import { Echoes } from "../../core/components/lib/echo.js";

test("what the hand has told comes back late and moves nothing", () => {
  const echoes = new Echoes();
  assert.ok(echoes.moves("start", undefined));
  echoes.tell("a");
  echoes.tell("b");
  assert.ok(!echoes.moves("a", "b"));
  assert.ok(!echoes.moves("b", "b"));
});

test("what Python says by itself moves the hand, though the hand was there before", () => {
  const echoes = new Echoes();
  echoes.moves("start", undefined);
  echoes.tell("a");
  echoes.tell("b");
  echoes.moves("b", "b");
  assert.ok(echoes.moves("a", "b"));
});

test("what Python says again moves nothing", () => {
  const echoes = new Echoes();
  assert.ok(echoes.moves("start", undefined));
  assert.ok(!echoes.moves("start", "elsewhere"));
});

test("a hand that went there and back is not moved by what it told in between", () => {
  const echoes = new Echoes();
  echoes.moves("start", undefined);
  for (const value of ["a", "b", "a"]) echoes.tell(value);
  assert.ok(!echoes.moves("a", "a"));
  assert.ok(!echoes.moves("b", "a"));
  assert.ok(!echoes.moves("a", "a"));
  assert.ok(echoes.moves("b", "a"), "by itself");
});

test("nor where Python draws what it knew again meanwhile", () => {
  const echoes = new Echoes();
  echoes.moves("start", undefined);
  for (const value of ["b", "start"]) echoes.tell(value);
  assert.ok(!echoes.moves("start", "start"));
  assert.ok(!echoes.moves("b", "start"));
  assert.ok(!echoes.moves("start", "start"));
});

test("what Python left out is forgotten after a while", (context) => {
  context.mock.timers.enable({ apis: ["Date"] });
  const echoes = new Echoes();
  echoes.moves("start", undefined);
  for (const value of ["a", "b", "a"]) echoes.tell(value);
  assert.ok(!echoes.moves("a", "a"));
  context.mock.timers.tick(5001);
  assert.ok(echoes.moves("b", "a"));
});
