// The small square picture of an option: a head's pattern, one row for each token that attends.
import { draw } from "../lib/dom.js";

/** Draw it in `parent`. digits: one hexadecimal digit a cell, row by row, f the darkest. */
export function square(parent, digits) {
  const n = Math.round(Math.sqrt(digits.length));
  const node = draw("svg", { class: "square", viewBox: `0 0 ${n} ${n}` }, parent);
  node.ariaHidden = "true";
  [...digits].forEach((digit, i) => {
    const level = parseInt(digit, 16) / 15;
    if (level) draw("rect", { x: i % n, y: Math.floor(i / n), width: 1, height: 1, "fill-opacity": level }, node);
  });
}
