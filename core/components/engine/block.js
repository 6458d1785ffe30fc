// One block of the transformer, pre-norm: attention and its sum, the feed-forward part and its sum.
import { attend } from "./attention.js";
import { activated, layerNorm } from "./curves.js";
import { editNeurons, editSublayer } from "./edits.js";
import { matrix, product, sum } from "./linear.js";

/**
 * The parameters of one block by their own names, as W_Q.
 * @typedef {Record<string, { data: Float32Array, shape: number[] }>} Parameters
 */

/**
 * What holds for all blocks of one pass over n tokens, `start` others before them: total = start + n.
 * @typedef {object} Pass
 * @property {any} config
 * @property {number} n
 * @property {number} start
 * @property {number} total
 * @property {import("./edits.js").Change} change
 * @property {import("./cache.js").KVCache | null} cache
 * @property {import("./positions.js").Turns | null} turns
 * @property {import("./positions.js").ScoreBias | null} bias
 */

const normed = (x, block, norm, { config }) =>
  layerNorm(x, block[`${norm}.weight`].data, block[`${norm}.bias`].data, config.norm_epsilon);

/** x (n, k) W + b. */
function mapped(x, n, W, b) {
  const [k, m] = W.shape;
  return product(matrix(x, n, k), matrix(W.data, k, m), new Float32Array(n * m), 0, b.data);
}

function feedForward(block, x, { config, n, change }, layer) {
  const mlp_pre = mapped(x, n, block.W_1, block.b_1), mlp_post = activated(config.activation, mlp_pre);
  editNeurons(mlp_post, change, layer, config.d_ff);
  const mlp_out = mapped(mlp_post, n, block.W_2, block.b_2);
  editSublayer(mlp_out, change, layer, "mlp");
  return { mlp_pre, mlp_post, mlp_out };
}

/**
 * The block's pass over the stream x (n, d).
 * @param {Parameters} block
 * @param {Pass} pass
 * @returns the fields of core's BlockTrace; those of the feed-forward part are null in a block without one
 */
export function throughBlock(block, x, pass, layer) {
  const X = normed(x, block, "attn_norm", pass), attention = attend(block, X, pass, layer);
  const resid_mid = sum(x, attention.attn_out);
  const fed = pass.config.d_ff === null ? { mlp_pre: null, mlp_post: null, mlp_out: null }
    : feedForward(block, normed(resid_mid, block, "mlp_norm", pass), pass, layer);
  const resid_post = fed.mlp_out ? sum(resid_mid, fed.mlp_out) : resid_mid;
  return { resid_pre: x, X, ...attention, resid_mid, ...fed, resid_post };
}
