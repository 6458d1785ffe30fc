// What a change of a pass sets, where it is made, so that all after it sees it; core/model/edits.py is the same.

/**
 * Edits of one pass, each list may be missing. Their numbers count from 0 and name what the model and the text have.
 * @typedef {{ heads?: [layer: number, head: number][],
 *   weights?: [layer: number, head: number, query: number, key: number][],
 *   scores?: [layer: number, head: number, query: number, key: number, score: number][],
 *   neurons?: [layer: number, neuron: number][],
 *   sublayers?: [layer: number, sublayer: "attention" | "mlp"][] }} Change
 */

const within = (edits, layer) => (edits ?? []).filter((edit) => edit[0] === layer);

/** Set scores (h, n, n) before the softmax, which shares the query's weights out anew. */
export function editScores(scores, change, layer, n) {
  for (const [, head, query, key, score] of within(change.scores, layer)) scores[(head * n + query) * n + key] = score;
}

/** Set weights of a pattern (h, n, n) to zero; the others stay as they are. */
export function editPattern(pattern, change, layer, n) {
  for (const [, head, query, key] of within(change.weights, layer)) pattern[(head * n + query) * n + key] = 0;
}

/** Set the output (n, d_v) of whole heads to zero; `size` is n d_v. */
export function editHeads(head_out, change, layer, size) {
  for (const [, head] of within(change.heads, layer)) head_out.fill(0, head * size, (head + 1) * size);
}

/** Set neurons of mlp_post (n, d_ff) to zero at every position. */
export function editNeurons(mlp_post, change, layer, d_ff) {
  for (const [, neuron] of within(change.neurons, layer))
    for (let at = neuron; at < mlp_post.length; at += d_ff) mlp_post[at] = 0;
}

/** Set a sublayer's whole output to zero. */
export function editSublayer(out, change, layer, sublayer) {
  if (within(change.sublayers, layer).some((edit) => edit[1] === sublayer)) out.fill(0);
}
