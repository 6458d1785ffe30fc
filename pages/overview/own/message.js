// The message to the map without Python: what pages/overview/map.py sends in the app, made from a pass in the browser.
import { pack } from "../../../core/components/lib/bytes.js";
import { fill } from "../../../core/components/lib/dom.js";
import { NEUTRAL, Truncation } from "../../../core/components/sampling_panel/truncation.js";
import { edited, named, partsOf } from "./edit.js";
import { candidates, difference, passArrays, thrown } from "./packed.js";
import { rowOf } from "../../../core/components/engine/vectors.js";

/** What a reader has set: where they are inside the picture, what is changed, the picked token (null: the last one) and
 * block, ξ, the look, and whether an appended token can be taken back.
 * @typedef {{ at: string, edit: string, position: number | null, layer: number, xi: number, theme: string,
 *   scale: number, canUndo: boolean }} Settings */

/** The message to the map about a text of a causal decoder: a header and arrays, as `pack` writes them.
 *
 * ids: the tokens of the text. words: `text`, the map's labels for this model by their names, and `edited`, the labels
 * edited_* by theirs, as templates. passOf: the trace of a pass over tokens under a change, where the page keeps some.
 * The question that goes with a place inside is { ids, edit }.
 * @param {any} model @param {any} tokenizer @param {number[]} ids @param {Settings} settings
 * @param {{ text: Record<string, string>, edited: Record<string, string> }} words
 * @param {(ids: number[], change: object) => any} passOf @returns {Uint8Array} */
export function message(model, tokenizer, ids, settings, words, passOf = (...pass) => model.trace(...pass)) {
  const { config } = model, { ids: read, change } = edited(model, ids, settings.edit);
  const isEdited = Object.keys(change).length > 0 || read.some((id, i) => id !== ids[i]);
  const plain = passOf(ids, {}), trace = isEdited ? passOf(read, change) : plain;
  const { sizes, arrays } = passArrays(config, trace), { at, layer, theme, scale, canUndo } = settings;
  const { logits, ...ofPosition } = positionOf(config, tokenizer, trace, settings);
  const changed = isEdited ? { edit: settings.edit, edited: said(tokenizer, ids, settings.edit, words.edited),
    was: candidates(config, plain, tokenizer).map(([[form, , p]]) => [form, p]) } : { edit: "", edited: "", was: [] };
  return pack({ ...sizes, ...ofPosition, candidates: candidates(config, trace, tokenizer), layer, text: words.text,
    canUndo, lessons: {}, scale, theme, silence: "", met: {}, at, more: {}, path: "",
    question: { ids, edit: changed.edit }, ...changed },
  { ...arrays, ...(isEdited && difference(config, plain, trace)), logits });
}

// The tokens with one picked, its logits, and after the last token the draw of the next.
function positionOf({ vocab_size }, tokenizer, { ids, n, logits: all }, settings) {
  const position = Number.isInteger(settings.position) ? Math.max(0, Math.min(settings.position, n - 1)) : n - 1;
  const logits = rowOf(all, vocab_size, position);
  const draw = position === n - 1 ? thrown(new Truncation(logits).update(NEUTRAL), settings.xi, tokenizer) : null;
  return { tokens: ids.map((id) => tokenizer.visible(id)), ids, position, draw, here: false, blanks: [], logits };
}

// What an edit has changed, and that a press puts it back.
function said(tokenizer, ids, edit, templates) {
  const parts = partsOf(edit), numbers = named(parts), { depth, value } = parts;
  const tokens = Object.fromEntries(["token", "seen"].filter((name) => name in numbers)
    .map((name) => [name, tokenizer.visible(ids[numbers[name]])]));
  const word = depth === "embedding" ? tokenizer.visible(Number(value)) : "";
  return fill(templates[`edited_${depth}${value ? "_to" : ""}`], { ...numbers, ...tokens, word, value });
}
