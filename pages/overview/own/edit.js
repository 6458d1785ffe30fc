// What a reader has changed in the picture, as the change of a pass: `edited` of pages/overview/shared.py without
// Python.

const FORM = /^([a-z]{3,9})((?:\.\d{1,6})+)(?:=(-?\d{1,6}(?:\.\d{1,2})?))?$/;

/** What the numbers of a place name whose part can be changed, and the change of a pass that switches it off. */
const SWITCHES = new Map(Object.entries({
  heads: { names: ["block"], off: (block) => ({ sublayers: [[block, "attention"]] }) },
  head: { names: ["block", "head"], off: (block, head) => ({ heads: [[block, head]] }) },
  product: { names: ["block", "head", "token", "seen"], off: (...look) => ({ weights: [look] }),
    set: (score, ...look) => ({ scores: [[...look, score]] }) },
  neurons: { names: ["block", "token"], off: (block) => ({ sublayers: [[block, "mlp"]] }) },
  neuron: { names: ["block", "token", "neuron"], off: (block, _, neuron) => ({ neurons: [[block, neuron]] }) },
}));

/** An edit such as "head.4.3" or "product.4.3.11.6=1.5" in its parts: the depth, the numbers of its place, and what it
 * is set to, "" for nothing; null for another text. @param {string} edit */
export function partsOf(edit) {
  const [, depth, at, value = ""] = FORM.exec(edit) ?? [];
  return depth ? { depth, at: at.slice(1).split(".").map(Number), value } : null;
}

/** What the numbers of an edit's place name, each name with its number. @param {{ depth: string, at: number[] }} parts
    @returns {Record<string, number>} */
export function named({ depth, at }) {
  const names = depth === "embedding" ? ["token"] : SWITCHES.get(depth)?.names ?? [];
  return Object.fromEntries(names.map((name, k) => [name, at[k]]));
}

/** The tokens that the model reads under an edit, and the change of its pass, as `Model.trace` takes it; the tokens
    themselves and {} for an edit that this model or text does not have.
    @param {any} model @param {number[]} ids @param {string} edit */
export function edited(model, ids, edit) {
  const parts = partsOf(edit), { config } = model;
  if (parts?.depth === "embedding") return { ids: withToken(config, ids, parts), change: {} };
  const { names = [], off, set } = SWITCHES.get(parts?.depth) ?? {};
  if (!off || parts.at.length !== names.length || !isThere(config, ids.length, parts)) return { ids, change: {} };
  if (!parts.value) return { ids, change: off(...parts.at) };
  return { ids, change: set ? set(Number(parts.value), ...parts.at) : {} };
}

// The tokens with another one in a place.
function withToken({ vocab_size }, ids, { at, value }) {
  const isThat = at.length === 1 && at[0] < ids.length && /^\d+$/.test(value) && Number(value) < vocab_size;
  return isThat ? ids.map((id, i) => (i === at[0] ? Number(value) : id)) : ids;
}

// Whether a model has the block, the head and the neurons of an edit, and a text of n tokens the tokens.
function isThere({ n_layers, n_heads, d_ff }, n, parts) {
  const { block, head = 0, token = 0, seen = 0, neuron = 0 } = named(parts);
  const isFired = !parts.depth.startsWith("neuron") || neuron < d_ff;
  return block < n_layers && head < n_heads && token < n && seen < n && isFired;
}
