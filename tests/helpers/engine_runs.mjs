// Passes and texts of the engine in core/components/engine, for the tests that hold them to Python's.
import { readFileSync, writeFileSync } from "node:fs";

import { Model } from "../../core/components/engine/model.js";
import { Tokenizer } from "../../core/components/engine/tokenizer.js";

/** Every array of a trace by its name, those of a block after its number ("0.Q"); null for a part that is not there. */
function arraysOf({ blocks, embedding, position, resid_final, h_final, logits }) {
  const inBlocks = blocks.flatMap((block, layer) =>
    Object.entries(block).map(([name, values]) => [`${layer}.${name}`, values]));
  return Object.fromEntries([...Object.entries({ embedding, position, resid_final, h_final, logits }), ...inBlocks]);
}

/** The logits after each of the tokens from number `first` on, read one by one after the ones before. */
function followed(model, ids, first) {
  let { logits, cache } = model.next(ids.slice(0, first), null);
  const rows = [logits];
  for (const id of ids.slice(first)) {
    ({ logits, cache } = model.next([id], cache));
    rows.push(logits);
  }
  return Float32Array.from(rows.flatMap((row) => [...row]));
}

/**
 * Make the runs { ids, change, first } of folder/runs.json with the weights of folder/weights.bin, and write the arrays
 * of each beside each other to folder/<number of the run>.bin; `first` ≥ 1 adds "followed". A name and a length, or
 * null, for each array of each run.
 */
export function runs(folder) {
  const model = new Model(new Uint8Array(readFileSync(`${folder}/weights.bin`)));
  return JSON.parse(readFileSync(`${folder}/runs.json`, "utf8")).map(({ ids, change, first }, number) => {
    const arrays = arraysOf(model.trace(ids, change));
    if (first) arrays.followed = followed(model, ids, first);
    const parts = Object.values(arrays).filter(Boolean).map((one) => new Uint8Array(one.buffer, one.byteOffset,
      one.byteLength));
    writeFileSync(`${folder}/${number}.bin`, Buffer.concat(parts));
    return Object.entries(arrays).map(([name, values]) => [name, values && values.length]);
  });
}

/** The name and message of the error that each list of ids meets, after the ids before it that a cache holds. */
export function errors(folder, lists) {
  const model = new Model(new Uint8Array(readFileSync(`${folder}/weights.bin`)));
  return lists.map(([before, ids]) => {
    const cache = before.length ? model.next(before, null).cache : null;
    try {
      return String(cache ? model.next(ids, cache) : model.trace(ids));
    } catch (error) {
      return String(error);
    }
  });
}

/** What the tokenizer of a JSON file makes of texts (ids), of ids (texts), and of every id (its visible form). */
export function tokenized(file, { texts, sequences }) {
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(file, "utf8")));
  return { ids: texts.map((text) => tokenizer.encode(text)), begin: tokenizer.begin,
    decoded: sequences.map((ids) => tokenizer.decode(ids)),
    visible: Array.from({ length: tokenizer.vocab_size }, (_, id) => tokenizer.visible(id)) };
}
