// Where a reader is in the picture: the name of a depth, and the numbers that lead there.

/** The depths, each with the one around it and what its numbers name: those of the depth around it come first. `number`
 * is one of a query's numbers, counted on through those of the key.
 * @type {Record<string, { around?: string, names: string[] }>} */
export const DEPTHS = {
  model: { names: [] },
  block: { around: "model", names: ["block"] },
  heads: { around: "block", names: ["block"] },
  head: { around: "heads", names: ["block", "head"] },
  look: { around: "head", names: ["block", "head", "query"] },
  product: { around: "look", names: ["block", "head", "query", "key"] },
  number: { around: "product", names: ["block", "head", "query", "key", "number"] },
  neurons: { around: "block", names: ["block", "token"] },
  neuron: { around: "neurons", names: ["block", "token", "neuron"] },
  embedding: { around: "model", names: ["token"] },
  stream: { around: "model", names: ["token"] },
  end: { around: "model", names: ["token"] },
  logit: { around: "end", names: ["token", "word"] },
};

/** @typedef {{ depth: string, at: number[] }} Place */
/** What bounds a place: the blocks, the heads of each, and for each query the first and last key that it may see; the
 * neurons of each block, 0 where they are not drawn; the vocabulary, and whether the model predicts none of it; d_k,
 * known once a reader has come that far; the block and the token that are picked.
 * @typedef {{ layers: number, heads: number, n: number, first: ArrayLike<number>, last: ArrayLike<number>,
 *   neurons: ArrayLike<number>, vocabulary: number, silence: string, d_k?: number, layer: number,
 *   position: number }} Sizes */

/** @type {Place} */
export const WHOLE = { depth: "model", at: [] };

export const placeOf = (depth, ...numbers) => ({ depth, at: numbers.slice(0, DEPTHS[depth].names.length) });

/** A place as the address writes it; "" for the whole. */
export const written = ({ depth, at }) => (depth === "model" ? "" : [depth, ...at].join("."));

/** The place that the address writes, for a depth alone that of the picked block and token; the whole for what makes no
    sense. @param {string} text @param {Sizes} sizes @returns {Place} */
export function placeIn(text, sizes) {
  const [depth, ...numbers] = text.split("."), picked = { block: sizes.layer, token: sizes.position };
  const at = numbers.length ? numbers.map(Number) : (DEPTHS[depth]?.names ?? []).map((name) => picked[name]);
  const isWhole = at.every((number) => Number.isInteger(number) && number >= 0);
  return isWhole && at.length === DEPTHS[depth]?.names.length ? within({ depth, at }, sizes) : WHOLE;
}

/** The place itself, or the deepest one on the way to it that this model and this text have.
    @param {Place} place @param {Sizes} sizes @returns {Place} */
export function within(place, { layers, heads, n, first, last, neurons, vocabulary, silence, d_k = Infinity }) {
  const { depth, at } = place, { names } = DEPTHS[depth];
  const { block, head, query, key, number, token, neuron, word } = Object.fromEntries(
    names.map((name, k) => [name, at[k]]));
  const isPredicted = !silence || !["end", "logit"].includes(depth);
  const holds = { block: block < layers, head: head < heads, query: query < n, number: number < 2 * d_k,
    key: key >= first[query] && key <= last[query], neuron: neuron < neurons[block], word: word < vocabulary,
    token: token < n && (block === undefined || neurons[block] > 0) && isPredicted };
  const missing = names.findIndex((name) => !holds[name]);
  if (missing < 0) return { depth, at };
  return wayTo(place).filter((outer) => DEPTHS[outer.depth].names.length <= missing).at(-1);
}

/** The edit that sets a place to a value, as the address writes it. @param {Place} place @param {number} value */
export const setTo = (place, value) => `${written(place)}=${value}`;

/** Whether an edit sets this place to a value. @param {string} edit @param {Place} place */
export const isSet = (edit, place) => edit.startsWith(`${written(place)}=`);

/** The places from the whole to this one, each inside the one before.
    @param {Place} place @returns {Place[]} */
export function wayTo(place) {
  const outer = around(place);
  return outer ? [...wayTo(outer), place] : [place];
}

/** The place around this one; null for the whole. @param {Place} place @returns {Place | null} */
export function around({ depth, at }) {
  const outer = DEPTHS[depth].around;
  return outer ? placeOf(outer, ...at) : null;
}

/** Whether the place `inner` is inside `outer`. @param {Place} inner @param {Place} outer */
export const isInside = (inner, outer) =>
  wayTo(inner).slice(0, -1).some((place) => written(place) === written(outer));

/** The place beside this one at the same depth, `step` further; null at the end. The heads of all blocks are one row,
    and the numbers of a query and of a key are two.
    @param {Place} place @param {number} step @param {Sizes} sizes @returns {Place | null} */
export function beside({ depth, at }, step, sizes) {
  if (!at.length) return null;
  const moved = [...at], last = moved[moved.length - 1] += step;
  if (depth === "head") {
    const index = at[0] * sizes.heads + last;
    moved.splice(0, 2, Math.floor(index / sizes.heads), (index + sizes.heads) % sizes.heads);
  }
  if (depth === "number" && Math.floor(last / sizes.d_k) !== Math.floor(at[4] / sizes.d_k)) return null;
  const to = within({ depth, at: moved }, sizes);
  return moved.some((number) => number < 0) || to.depth !== depth ? null : to;
}
