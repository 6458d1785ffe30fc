// A decoder in plain JavaScript: the same pass as core/model/transformer.py's, with everything kept.
// core/takeaway/weights.py says which models it computes, and packs them.
import { unpack } from "../lib/bytes.js";
import { throughBlock } from "./block.js";
import { KVCache } from "./cache.js";
import { layerNorm } from "./curves.js";
import { matrix, product, sum, transposed } from "./linear.js";
import { addedPositions, scoreBias, turnsOf } from "./positions.js";

const ZERO = 128;       // the byte of a weight that is 0

/** The numbers of a tensor: those sent as they are, or (byte − 128) times the scale of their row of the last axis. */
function restored(values, scales, width) {
  if (!scales) return values;
  const out = new Float32Array(values.length);
  for (let row = 0, at = 0; row < scales.length; row += 1)
    for (const end = at + width; at < end; at += 1) out[at] = (values[at] - ZERO) * scales[row];
  return out;
}

/** The tensors of each block by their own names, as "W_Q" for "blocks.0.W_Q". */
function blocksOf(tensors, n_layers) {
  const blocks = Array.from({ length: n_layers }, () => ({}));
  for (const [name, tensor] of tensors) {
    const [, layer, own] = /^blocks\.(\d+)\.(.+)$/.exec(name) ?? [];
    if (own) blocks[Number(layer)][own] = tensor;
  }
  return blocks;
}

/**
 * A transformer with weights that travelled at 8 bits a number. Nothing changes it once it is made.
 *
 * config: the settings of core's ModelConfig, flat. tensors: its parameters by their names in core's Transformer, as
 * { data: Float32Array, shape: number[] }, row after row.
 */
export class Model {
  #blocks;

  /** @param {Uint8Array} bytes a message of core/takeaway/weights.py */
  constructor(bytes) {
    const message = unpack(bytes);
    this.config = message.config;
    /** @type {Map<string, { data: Float32Array, shape: number[] }>} */
    this.tensors = new Map(message.tensors.map(([name, shape]) =>
      [name, { data: restored(message[name], message[`${name}.scale`], shape.at(-1)), shape }]));
    this.#blocks = blocksOf(this.tensors, this.config.n_layers);
  }

  /**
   * A whole pass with everything kept: the names and shapes of core's Trace, each array flat, row after row. Scores are
   * those before the mask, by which query i sees keys 0 … i.
   *
   * Throws RangeError for no token, for more than the model learned positions, and for an id outside the vocabulary.
   * @param {number[]} ids
   * @param {import("./edits.js").Change} change
   */
  trace(ids, change = {}) {
    const { embedding, position, blocks, resid_final } = this.#through(ids, change, null);
    const h_final = this.#normed(resid_final);
    return { ids: [...ids], n: ids.length, embedding, position, blocks, resid_final, h_final,
      logits: this.#unembedded(h_final, ids.length) };
  }

  /**
   * The logits (V,) of the token after `ids`, which follow the tokens whose keys and values the cache holds; it is
   * extended by theirs. Throws RangeError as `trace` does.
   * @param {number[]} ids
   * @param {KVCache | null} cache null: there are no tokens before, and a new one is made
   */
  next(ids, cache) {
    const kept = cache ?? new KVCache();
    const last = this.#through(ids, {}, kept).resid_final.slice(-this.config.d_model);
    return { logits: this.#unembedded(this.#normed(last), 1), cache: kept };
  }

  #through(ids, change, cache) {
    const { config } = this, n = ids.length, start = cache?.n_tokens ?? 0;
    this.#check(ids, start);
    const embedding = this.#embedded(ids), position = addedPositions(config, this.tensors.get("P"), start, n);
    const pass = { config, n, start, total: start + n, change, cache, turns: turnsOf(config, start, n),
      bias: scoreBias(config) };
    const blocks = [];
    let x = position ? sum(embedding, position) : embedding;
    for (const [layer, block] of this.#blocks.entries()) {
      blocks.push(throughBlock(block, x, pass, layer));
      x = blocks[layer].resid_post;
    }
    if (cache) cache.n_tokens += n;
    return { embedding, position, blocks, resid_final: x };
  }

  #check(ids, start) {
    const { vocab_size, n_context, positions } = this.config, n = start + ids.length;
    if (!ids.length) throw new RangeError("There is no token to read: give the model at least one.");
    if (positions === "learned" && n > n_context)
      throw new RangeError(`This model learned ${n_context} positions, and the text has ${n} tokens: shorten it.`);
    if (!ids.every((id) => Number.isInteger(id) && id >= 0 && id < vocab_size))
      throw new RangeError(`A token id lies outside the vocabulary of ${vocab_size} tokens.`);
  }

  /** (n, d) the rows of E. */
  #embedded(ids) {
    const { data, shape: [, d] } = this.tensors.get("E"), out = new Float32Array(ids.length * d);
    for (const [i, id] of ids.entries()) out.set(data.subarray(id * d, (id + 1) * d), i * d);
    return out;
  }

  #normed(x) {
    const [gain, bias] = ["weight", "bias"].map((name) => this.tensors.get(`final_norm.${name}`).data);
    return layerNorm(x, gain, bias, this.config.norm_epsilon);
  }

  /** (n, V) the logits that final vectors (n, d) give: by E itself, if the embeddings are tied. */
  #unembedded(h, n) {
    const { data, shape: [V, d] } = this.tensors.get("W_U") ?? this.tensors.get("E");
    return product(matrix(h, n, d), transposed(matrix(data, V, d)), new Float32Array(n * V));
  }
}
