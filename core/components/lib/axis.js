// Axes drawn by hand: where their ticks stand, and the grid of a chart in SVG.
import { drawLine, drawText } from "./dom.js";

/** One of the factors times a power of ten, at least `least`: a step between ticks, or the end of an axis. */
export function niceStep(least, factors = [1, 2, 5, 10]) {
  const base = 10 ** Math.floor(Math.log10(least));
  return base * factors.find((factor) => factor * base >= least * (1 - 1e-9));
}

/** The multiples of a step from `low` to `high`, the ends among them. */
export function multiples(step, low, high) {
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => (first + k) * step);
}

/** Round whole numbers between 0 and `count` - 1, about `wanted` of them. */
export function wholeTicks(count, wanted) {
  const step = [1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 250, 256, 500, 512]
    .find((s) => count / s <= wanted + 0.5) ?? Math.ceil(count / wanted);
  return Array.from({ length: Math.ceil(count / step) }, (_, k) => k * step);
}

/** The exponents of the powers of ten from `low` to `high`, every so many of them. */
export const powers = (low, high, every = 1) => multiples(1, Math.log10(low), Math.log10(high))
  .filter((_, k) => k % every === 0);

/** A place between `from` and `to` for each value between `low` and `high`, by its logarithm. */
export const logScale = (low, high, from, to) => (value) =>
  from + (Math.log(value / low) / Math.log(high / low)) * (to - from);

/** Upright grid lines of an SVG at the x of some values, each with its text below. */
export function columns(svg, values, x, { top, floor }, em, text) {
  for (const value of values) {
    drawLine(svg, x(value), top, x(value), floor, { class: "grid" });
    drawText(svg, x(value), floor + 1.2 * em, text(value), { anchor: "middle" });
  }
}

/** Grid lines across an SVG at the y of some values, each with its text at the left, `drop` em below the line. */
export function levels(svg, values, y, { left, right }, em, text, { drop = 0.35, zero = "grid" } = {}) {
  for (const value of values) {
    drawLine(svg, left, y(value), right, y(value), { class: value ? "grid" : zero });
    drawText(svg, left - 0.4 * em, y(value) + drop * em, text(value), { anchor: "end" });
  }
}
