// The network of core/learning/backprop.py, in float64: its pass forward, the same pass backwards, and steps of
// gradient descent. Numbers stand in the order of NAMES; a place in z or h counts from 0.

export const NAMES = ["x1", "x2", "w11", "w12", "w21", "w22", "v11", "v12", "v13", "v21", "v22", "v23"];
const INPUTS = 2, HIDDEN = [0, 1], TOKENS = [0, 1, 2];
const FURTHEST = 1e6;
const BETA1 = 0.9, BETA2 = 0.999, EPSILON = 1e-8;
const ACTIVATIONS = {
  tanh: { f: Math.tanh, slope: (z, h) => 1 - h * h },
  relu: { f: (z) => Math.max(0, z), slope: (z) => (z > 0 ? 1 : 0) },
};

/** x, W and V of the twelve numbers. */
export const parts = ([x1, x2, w11, w12, w21, w22, ...v]) =>
  ({ x: [x1, x2], W: [[w11, w12], [w21, w22]], V: [v.slice(0, 3), v.slice(3)] });

const dot = (one, other) => one.reduce((sum, value, i) => sum + value * other[i], 0);

/** The pass: x, W, V, z, h, u, p, y and the loss. held: values in place of computed ones, as {z: {1: 0.3}}. */
export function forward(net, held = {}) {
  const { x, W, V } = parts(net.numbers), { f } = ACTIVATIONS[net.activation];
  const kept = (name, values) => values.map((value, i) => held[name]?.[i] ?? value);
  const z = kept("z", HIDDEN.map((j) => dot(x, [W[0][j], W[1][j]])));
  const h = kept("h", z.map(f));
  const u = kept("u", TOKENS.map((k) => dot(h, [V[0][k], V[1][k]])));
  const most = Math.max(...u), total = u.reduce((sum, value) => sum + Math.exp(value - most), 0);
  const p = u.map((value) => Math.exp(value - most) / total);
  return { x, W, V, z, h, u, p, y: TOKENS.map((k) => (k === net.true ? 1 : 0)),
    loss: Math.log(total) + most - u[net.true] };
}

/** The derivatives of the loss by u, V, h, z, W and x, and the slopes f′(z): each comes from the one before it. */
export function backward(net) {
  const { x, W, V, z, h, p, y } = forward(net), { slope } = ACTIVATIONS[net.activation];
  const u = p.map((value, k) => value - y[k]);
  const dh = V.map((row) => dot(row, u));
  const slopes = z.map((value, j) => slope(value, h[j]));
  const dz = dh.map((value, j) => value * slopes[j]);
  return { u, V: h.map((value) => u.map((error) => value * error)), h: dh, slopes, z: dz,
    W: x.map((value) => dz.map((error) => value * error)), x: W.map((row) => dot(row, dz)) };
}

/** The derivatives by all numbers, in the order of NAMES. */
export function gradient(net) {
  const { x, W, V } = backward(net);
  return [...x, ...W.flat(), ...V.flat()];
}

/** The loss with one number at another value: an input or a weight, or "z1", "h2", "u3", the rest computed from it. */
export function lossAt(net, name, value) {
  const place = NAMES.indexOf(name);
  if (place < 0) return forward(net, { [name[0]]: { [Number(name[1]) - 1]: value } }).loss;
  return forward({ ...net, numbers: net.numbers.map((own, i) => (i === place ? value : own)) }).loss;
}

/** The network before and after each of n steps on its weights, and the running means m and s that Adam
    keeps; shorter where the weights run off. */
export function descend(net, optimizer, rate, n) {
  const still = net.numbers.map(() => 0), states = [{ net, m: still, s: still }];
  for (let t = 1; t <= n; t++) {
    const before = states[t - 1], g = gradient(before.net);
    const m = g.map((value, i) => BETA1 * before.m[i] + (1 - BETA1) * value);
    const s = g.map((value, i) => BETA2 * before.s[i] + (1 - BETA2) * value * value);
    const move = (i) => (optimizer === "sgd" ? g[i]
      : m[i] / (1 - BETA1 ** t) / (Math.sqrt(s[i] / (1 - BETA2 ** t)) + EPSILON));
    const numbers = before.net.numbers.map((value, i) => (i < INPUTS ? value : value - rate * move(i)));
    if (!numbers.every((value) => Math.abs(value) < FURTHEST)) break;
    states.push({ net: { ...net, numbers }, m, s });
  }
  return states;
}

/** One number's product: {terms: [[factor, …], …], value}; a factor is {name} of a number that has a product itself or
    {name, leaf: true}, each with its value. name: "z1", "u2", "p3", "L", or with d before it the derivative by it. */
export function product(net, name) {
  const now = forward(net), back = backward(net), isBack = name[0] === "d";
  const [kind, ...places] = isBack ? name.slice(1) : name, [i, j] = places.map((place) => Number(place) - 1);
  const at = (value, factor, leaf = false) => ({ name: factor, value, leaf });
  const x = (a) => at(now.x[a], `x${a + 1}`, true), h = (a) => at(now.h[a], `h${a + 1}`);
  const w = (a, b) => at(now.W[a][b], `w${a + 1}${b + 1}`, true);
  const v = (a, b) => at(now.V[a][b], `v${a + 1}${b + 1}`, true);
  const d = (value, of) => at(value, `d${of}`);
  if (!isBack) {
    if (kind === "z") return { terms: HIDDEN.map((a) => [x(a), w(a, i)]), value: now.z[i] };
    if (kind === "u") return { terms: HIDDEN.map((a) => [h(a), v(a, i)]), value: now.u[i] };
    return null;
  }
  if (kind === "v") return { terms: [[h(i), d(back.u[j], `u${j + 1}`)]], value: back.V[i][j] };
  if (kind === "h") return { terms: TOKENS.map((k) => [v(i, k), d(back.u[k], `u${k + 1}`)]), value: back.h[i] };
  if (kind === "z") return { terms: [[at(back.slopes[i], `s${i + 1}`), d(back.h[i], `h${i + 1}`)]], value: back.z[i] };
  if (kind === "w") return { terms: [[x(i), d(back.z[j], `z${j + 1}`)]], value: back.W[i][j] };
  if (kind === "x") return { terms: HIDDEN.map((b) => [w(i, b), d(back.z[b], `z${b + 1}`)]), value: back.x[i] };
  return null;
}
