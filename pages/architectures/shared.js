// Parts shared by the pictures of Architectures: the three kinds of models as their masks, cells on the page's
// scale of amounts, and tables.
import { draw, fill, make } from "../../core/components/lib/dom.js";

const KINDS = { encoder: ["full"], decoder: ["triangle"], "encoder-decoder": ["full", "triangle", "cross"] };
const CELLS = 5;

/** The colour of an amount in [0, 1]: between the nine stops of the sequential scale, by the square root, so that a
    hundredth can be seen. */
export function amountColour(amount) {
  const place = 8 * Math.sqrt(Math.min(1, Math.max(0, amount))), low = Math.min(7, Math.floor(place));
  return `color-mix(in srgb, var(--tx-seq-${low + 1}) ${(100 * (place - low)).toFixed(1)}%, var(--tx-seq-${low}))`;
}

/** Empty a table and give it a row of heads: texts, or [text, class]. Returns its body. */
export function tableBody(table, heads) {
  table.replaceChildren();
  const row = make("tr", "", make("thead", "", table));
  for (const head of heads) {
    const [text, name] = [head].flat();
    make("th", name, row, text).scope = "col";
  }
  return make("tbody", "", table);
}

/** A new row of a table: its head, and the texts of its cells. */
export function tableRow(body, head, cells = []) {
  const row = make("tr", "", body);
  make("th", "", row, head).scope = "row";
  for (const text of cells) make("td", "", row, text);
  return row;
}

/** A square cell; `hatched` ones have a stroke across. Returns the rectangle. */
export function drawCell(svg, x, y, size, name, hatched) {
  const rect = draw("rect", { x: x + 0.5, y: y + 0.5, width: size - 1, height: size - 1, class: name }, svg);
  if (hatched)
    draw("line", { x1: x + 1.5, y1: y + size - 1.5, x2: x + size - 1.5, y2: y + 1.5, class: "hatch" }, svg);
  return rect;
}

/** A mask as a drawing of small cells: rows are queries, columns keys; forbidden cells are empty and hatched. */
export function drawMask(parent, shape, size, attributes) {
  const columns = shape === "cross" ? CELLS + 2 : CELLS;
  const svg = draw("svg", { width: columns * size, height: CELLS * size, ...attributes }, parent);
  for (let i = 0; i < CELLS; i++) {
    for (let j = 0; j < columns; j++) {
      const masked = shape === "triangle" && j > i;
      drawCell(svg, j * size, i * size, size, masked ? "forbidden" : `seen ${shape}`, masked);
    }
  }
  return svg;
}

/** The three kinds side by side, the one that runs here lit; under its masks their shape with the present sizes. */
export function drawKinds(parent, text, lit, sizes) {
  parent.replaceChildren();
  for (const [kind, shapes] of Object.entries(KINDS)) {
    const box = make("figure", kind === lit ? "kind lit" : "kind", parent), row = make("div", "masks", box);
    for (const shape of shapes) {
      const svg = drawMask(row, shape, 9, { role: "img", "aria-label": text[shape] });
      draw("title", {}, svg, text[shape]);
    }
    const caption = make("figcaption", "", box);
    make("b", "", caption, text[kind]);
    make("span", "muted", caption, kind === lit ? fill(text[`${kind}_shape`], sizes) : text[`${kind}_does`]);
  }
}
