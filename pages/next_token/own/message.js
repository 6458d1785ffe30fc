// The message to the panel without Python: what core/components/sampling_panel sends in the app, made from passes in
// the browser.
import { pack } from "../../../core/components/lib/bytes.js";
import { rowOf } from "../../../core/components/engine/vectors.js";

/** The message about the token after a text, with the two other texts below it.
 * own.words: `labels`, `own_context` the name of the reader's text, `others` [name, text] of the two.
 * @param {import("../../../core/components/engine/service.js").Own} own
 * @param {{ prompt: string, settings: object, version: number, named: number | null }} given @returns {Uint8Array} */
export function message(own, { prompt, settings, version, named }) {
  const { words: { labels, own_context: name, others }, tokenizer, model: { config: { vocab_size } } } = own;
  const contexts = [[name, prompt], ...others], logits = new Float32Array(contexts.length * vocab_size);
  for (const [row, [, text]] of contexts.entries()) {
    const { logits: all, n } = own.passOf(own.idsOf(text), {});
    logits.set(rowOf(all, vocab_size, n - 1), row * vocab_size);
  }
  return pack({ tokens: Array.from({ length: vocab_size }, (_, id) => tokenizer.visible(id)), labels, settings,
    settings_version: version, named, scale: 1, contexts: contexts.map(([called, text]) => ({ name: called, text })),
    logits_key: prompt }, { logits });
}
