// What positions add to the stream, turn in queries and keys, or add to scores. Positions count from 0.

/** @typedef {{ cos: Float32Array, sin: Float32Array }} Turns (n, d_k/2) each, of rotary positions */
/** @typedef {(r: { data: Float32Array }, head: number, distance: number) => number} ScoreBias */

/** ω_j = base^(−2j/d), in radians a position, of each pair of d dimensions (Vaswani et al. 2017, section 3.5). */
const frequencies = (d, base) => Array.from({ length: Math.ceil(d / 2) }, (_, j) => base ** (-2 * j / d));

/**
 * (n, d) what is added to the embeddings of the n tokens at positions start, start + 1, …: rows of P (n_context, d), or
 * sines in the even columns and cosines in the odd ones. null if nothing is added.
 */
export function addedPositions({ positions, d_model: d }, P, start, n) {
  if (positions === "learned") return P.data.slice(start * d, (start + n) * d);
  if (positions !== "sinusoidal") return null;
  const omega = frequencies(d, 10_000);
  return Float32Array.from({ length: n * d }, (_, at) => {
    const i = start + Math.floor(at / d), column = at % d, angle = i * omega[column >> 1];
    return column % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

/**
 * The cosines and sines of i ω_j, by which rotary positions turn; null if nothing is turned.
 * @returns {Turns | null}
 */
export function turnsOf({ positions, d_k, rotary_base }, start, n) {
  if (positions !== "rotary") return null;
  const omega = frequencies(d_k, rotary_base), pairs = omega.length;
  const of = (curve) => Float32Array.from({ length: n * pairs },
    (_, at) => curve((start + Math.floor(at / pairs)) * omega[at % pairs]));
  return { cos: of(Math.cos), sin: of(Math.sin) };
}

/**
 * Queries or keys (heads, n, d_k), each turned by its position: pair j is the components j and j + d_k/2 (Su et al.
 * 2021). x itself without turns.
 */
export function turned(x, turns, n, d_k) {
  if (!turns) return x;
  const out = new Float32Array(x.length), half = d_k / 2;
  for (let row = 0; row * d_k < x.length; row += 1)
    for (let j = 0, first = row * d_k, at = (row % n) * half; j < half; j += 1, first += 1, at += 1) {
      const a = x[first], b = x[first + half], cos = turns.cos[at], sin = turns.sin[at];
      out[first] = a * cos - b * sin;
      out[first + half] = a * sin + b * cos;
    }
  return out;
}

/** The slope of each head's penalty, 2^(−8/h), 2^(−16/h), … for h a power of two (Press et al. 2022 and their code). */
export function alibiSlopes(h) {
  const powers = (n) => Array.from({ length: n }, (_, i) => 2 ** (-8 * (i + 1) / n));
  const below = 2 ** Math.floor(Math.log2(h));
  return [...powers(below), ...powers(2 * below).filter((_, i) => i % 2 === 0).slice(0, h - below)];
}

/**
 * What positions add to a head's score of a key so many positions before its query, which relative biases read from r
 * (h, 2 most + 1), the block's own; longer distances share the last (Shaw et al. 2018). null if they add nothing.
 * @returns {ScoreBias | null}
 */
export function scoreBias({ positions, n_heads, relative_max_distance: most }) {
  if (positions === "alibi") {
    const slopes = alibiSlopes(n_heads);
    return (_, head, distance) => -slopes[head] * Math.abs(distance);
  }
  if (positions !== "relative") return null;
  return (r, head, distance) => r.data[head * (2 * most + 1) + Math.max(-most, Math.min(most, distance)) + most];
}
