import assert from "node:assert/strict";
import { test } from "node:test";

import { alike, heardIn, unpack } from "../../core/components/lib/bytes.js";
import { values } from "./values.mjs";

const { message, header, arrays, heard } = values.bytes;

test("a message has the header, the arrays and the number that Python packed, wherever its bytes begin", () => {
  const packed = Buffer.from(message, "base64");
  for (const offset of [0, 1, 3, 8]) {
    const within = new Uint8Array(packed.length + offset);
    within.set(packed, offset);
    const read = unpack(within.subarray(offset));
    for (const [name, value] of Object.entries(header)) assert.deepEqual(read[name], value);
    for (const [name, value] of Object.entries(arrays)) assert.deepEqual([...read[name]], value);
    assert.equal(read.wide.constructor, Float64Array);
    assert.equal(heardIn(within.subarray(offset)), heard);
  }
});

test("two messages are alike where all but the named fields are", () => {
  const one = unpack(Buffer.from(message, "base64")), other = unpack(Buffer.from(message, "base64"));
  assert.ok(alike(one, other));
  other.wide = other.wide.slice();
  other.wide[0] += 1;
  assert.ok(!alike(one, other) && alike(one, other, "wide"));
});
