// The numbers of the hardware's pictures: an array of cells tick by tick, and the roof above a pass, as
// core/cost/systolic.py and core/cost/roofline.py have them.

/** The ticks until the product of (m, n) and (n, n) has left an array of n × n cells. */
export const ticksOf = (m, n) => m + 2 * n - 2;

/**
 * The array after each tick: inputs and sums (n, n), null if a cell is idle, above (n, n), the sum that came in, and
 * results [{row, column, value}], those that left it. Every number moves by one cell a tick: inputs X (m, n) to the
 * right, sums down; the weights W (n, n) stay.
 */
export function runArray(X, W) {
  const m = X.length, n = W.length, states = [];
  let inputs = W.map((row) => row.map(() => null)), sums = inputs;
  for (let tick = 0; tick < ticksOf(m, n); tick += 1) {
    inputs = inputs.map((row, i) => [X[tick - i]?.[i] ?? null, ...row.slice(0, -1)]);
    const above = [W[0].map(() => 0), ...sums.slice(0, -1)];
    sums = inputs.map((row, i) => row.map((x, j) => (x === null ? null : above[i][j] + x * W[i][j])));
    const results = sums[n - 1].flatMap((value, j) =>
      (value === null ? [] : [{ row: tick - (n - 1) - j, column: j, value }]));
    states.push({ inputs, sums, above, results });
  }
  return states;
}

/** The column of number i of row m after a tick, counted from 1; below 0 while it waits. */
export const columnOf = (tick, m, i) => tick - 1 - m - i;

export const working = ({ inputs }) => inputs.flat().filter((x) => x !== null).length;

/** The cost of the n-th token of each of `batch` texts: operations, bytes, and operations a byte. */
export function writingOf({ written, fixed, each }, batch) {
  const operations = batch * written, bytes = fixed + batch * each;
  return { operations, bytes, intensity: operations / bytes };
}

export const readingOf = ({ operations, bytes }) => ({ operations, bytes, intensity: operations / bytes });

/** Operations a second that a device reaches at most. */
export const attained = (intensity, { peak, bandwidth }) => Math.min(peak, intensity * bandwidth);

/** How many devices have room for the weights and for the keys and values of `batch` texts. */
export const devicesFor = (weights, cache, batch, { bytes }) => Math.ceil((weights + batch * cache) / bytes);

const PREFIXES = ["p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z"];

/** A number with three digits, a decimal prefix and its unit: 9.08 PFLOP, 3.2 ms; without one B for billions. */
export function prefixed(value, unit) {
  let at = PREFIXES.indexOf(""), shown = value;
  while (Number(shown.toPrecision(3)) >= 1000 && at < PREFIXES.length - 1) { shown /= 1000; at += 1; }
  while (Number(shown.toPrecision(3)) < 1 && shown > 0 && at > 0) { shown *= 1000; at -= 1; }
  const prefix = PREFIXES[at] === "G" && !unit ? "B" : PREFIXES[at];
  return `${Number(shown.toPrecision(3))} ${prefix}${unit}`.trimEnd();
}
