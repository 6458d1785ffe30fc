// The keys and values of the tokens read so far.

/** A new array (heads, before + n, width) of two, (heads, before, width) and (heads, n, width). */
function joined(old, added, heads) {
  if (!old) return added;
  const before = old.length / heads, more = added.length / heads, out = new Float32Array(old.length + added.length);
  for (let head = 0; head < heads; head += 1) {
    out.set(old.subarray(head * before, (head + 1) * before), head * (before + more));
    out.set(added.subarray(head * more, (head + 1) * more), head * (before + more) + before);
  }
  return out;
}

/** The keys (h_kv, M, d_k), as scores read them, and the values (h_kv, M, d_v) of each block. */
export class KVCache {
  n_tokens = 0;
  #blocks = [];

  /** All keys and values of a block, the new ones last. */
  extend(layer, K, V, heads) {
    const old = this.#blocks[layer];
    this.#blocks[layer] = { keys: joined(old?.keys, K, heads), values: joined(old?.values, V, heads) };
    return this.#blocks[layer];
  }
}
