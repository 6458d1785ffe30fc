// What the picture without Python makes of passes that Python has written to files: tests/pages/overview/test_own.py
// compares it with what Python sends.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { pack, unpack } from "../../core/components/lib/bytes.js";
import { edited } from "../../pages/overview/own/edit.js";
import { answer } from "../../pages/overview/own/inside.js";
import { message } from "../../pages/overview/own/message.js";

const read = (folder, name) => unpack(new Uint8Array(readFileSync(join(folder, name))));
const keyOf = (ids, change) => JSON.stringify([ids, change]);

/** A model that computes nothing: its parameters, and the traces that were written for one case. */
function standIn({ config, shapes, ...arrays }, passes) {
  const tensors = new Map(Object.entries(shapes).map(([name, shape]) => [name, { data: arrays[name], shape }]));
  const traces = new Map(passes.map((pass) => [keyOf(pass.ids, pass.change), traceOf(pass)]));
  return { config, tensors, trace: (ids, change) => traces.get(keyOf(ids, change)) };
}

// A trace from arrays that are named "h_final" and "blocks.0.Q".
function traceOf({ ids, layers, ...arrays }) {
  const of = (start) => Object.fromEntries(Object.entries(arrays).filter(([name]) => name.startsWith(start))
    .map(([name, values]) => [name.slice(start.length), values]));
  const blocks = Array.from({ length: layers }, (_, l) => of(`blocks.${l}.`));
  return { position: null, ...of(""), ids, n: ids.length, blocks };
}

/** Write the message of each case to <case>.message, and the answer for each of its places to <case>.<place>.answer. */
export function answerAll(folder, cases) {
  for (const { name, model: called, passes, ids, settings, words, places } of cases) {
    const held = read(folder, `${called}.model`), model = standIn(held, passes.map((pass) => read(folder, pass)));
    const tokenizer = { visible: (id) => held.visible[id] };
    writeFileSync(join(folder, `${name}.message`), message(model, tokenizer, ids, settings, words));
    const { ids: shown, change } = edited(model, ids, settings.edit), trace = model.trace(shown, change);
    for (const place of places)
      writeFileSync(join(folder, `${name}.${place}.answer`), packed(answer(model, tokenizer, trace, change, place)));
  }
  return cases.length;
}

function packed(fields) {
  const of = (isArray) => Object.fromEntries(Object.entries(fields).filter(([, value]) =>
    ArrayBuffer.isView(value) === isArray));
  return pack(of(false), of(true));
}
