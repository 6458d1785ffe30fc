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
