// The mathematics of the schemes of positions, in float64, as core/model/positional.py has it.

/** The angular frequency of each pair of d columns; an odd d ends on a sine. */
export function frequencies(d, base) {
  return Float64Array.from({ length: Math.ceil(d / 2) }, (_, pair) => base ** (-(2 * pair) / d));
}

/** The row of P at position i: d columns of pairs with these angular frequencies. */
export function sinusoid(i, d, omega) {
  return Float64Array.from({ length: d }, (_, c) => (c % 2 ? Math.cos : Math.sin)(i * omega[c >> 1]));
}

/** P as a flat row-major Float64Array and the pairs' angular frequencies. */
export function sinusoids(n, d, base) {
  const omega = frequencies(d, base);
  const P = new Float64Array(n * d);
  for (let i = 0; i < n; i += 1) P.set(sinusoid(i, d, omega), i * d);
  return { P, omega };
}

/** Σ cos(ω Δ) for every distance Δ = 0 … n − 1: row Δ of P holds those cosines in its odd columns. */
export function byDistance(P, n, d) {
  const sums = new Float64Array(n);
  for (let delta = 0; delta < n; delta += 1) {
    for (let c = 1; c < d; c += 2) sums[delta] += P[delta * d + c];
  }
  return sums;
}

/** P_i · P_j for every j, multiplied out. */
export function productsWith(P, n, d, i) {
  const row = new Float64Array(n);
  for (let j = 0; j < n; j += 1) {
    for (let c = 0; c < d; c += 1) row[j] += P[i * d + c] * P[j * d + c];
  }
  return row;
}

/** Cosines between the rows of M (n × d), flat n × n. */
export function cosines(M, n, d) {
  const length = Float64Array.from({ length: n }, (_, i) => {
    let sum = 0;
    for (let c = 0; c < d; c += 1) sum += M[i * d + c] ** 2;
    return Math.sqrt(sum) || 1;
  });
  const out = new Float32Array(n * n);
  for (let i = 0; i < n; i += 1) {
    for (let j = i; j < n; j += 1) {
      let sum = 0;
      for (let c = 0; c < d; c += 1) sum += M[i * d + c] * M[j * d + c];
      out[i * n + j] = out[j * n + i] = sum / (length[i] * length[j]);
    }
  }
  return out;
}

/** The pairs of x (d_k) turned by their angles: member m of the first half pairs with member m of the second, as in
    core/model/positional.py. */
export function rotated(x, angles) {
  const half = x.length / 2;
  const out = new Float64Array(x.length);
  for (let m = 0; m < half; m += 1) {
    const [cos, sin] = [Math.cos(angles[m]), Math.sin(angles[m])];
    out[m] = x[m] * cos - x[m + half] * sin;
    out[m + half] = x[m] * sin + x[m + half] * cos;
  }
  return out;
}

/** ALiBi's slopes for any number of heads, as in core/model/positional.py. */
export function slopes(heads) {
  const powers = (n) => Array.from({ length: n }, (_, k) => 2 ** ((-8 * (k + 1)) / n));
  const below = 2 ** Math.floor(Math.log2(heads));
  return [...powers(below), ...powers(2 * below).filter((_, k) => k % 2 === 0).slice(0, heads - below)];
}

/** Softmax of the biases in each row i over its keys: 0 … i under a causal mask, otherwise all n. */
export function attention(bias, n, causal) {
  const out = new Float64Array(n * n).fill(NaN);
  for (let i = 0; i < n; i += 1) {
    const keys = causal ? i + 1 : n;
    let top = -Infinity;
    for (let j = 0; j < keys; j += 1) top = Math.max(top, bias(i, j));
    let total = 0;
    for (let j = 0; j < keys; j += 1) total += out[i * n + j] = Math.exp(bias(i, j) - top);
    for (let j = 0; j < keys; j += 1) out[i * n + j] /= total;
  }
  return out;
}

/** Whether position i shows pair ω an angle that positions 0 … trained − 1 never did (their last angle, in a full turn
    not yet closed). */
export function isNewAngle(i, omega, trained) {
  const last = (trained - 1) * omega;
  if (i < trained || last + omega >= 2 * Math.PI) return false;
  return (i * omega) % (2 * Math.PI) > last;
}
