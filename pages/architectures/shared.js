// Shared by the pictures of the lesson Architectures: the three kinds of models as their masks, and cells on the page's
// scale of amounts.
import { draw, fill, make } from "../../core/components/lib/token_view.js";

const KINDS = { encoder: ["full"], decoder: ["triangle"], "encoder-decoder": ["full", "triangle", "cross"] };
export const CELLS = 5;

/** The colour of an amount in [0, 1]: between the nine stops of the sequential scale, by the square root, so that a
    hundredth can be seen. */
export function amountColour(amount) {
  const place = 8 * Math.sqrt(Math.min(1, Math.max(0, amount))), low = Math.min(7, Math.floor(place));
  return `color-mix(in srgb, var(--tx-seq-${low + 1}) ${(100 * (place - low)).toFixed(1)}%, var(--tx-seq-${low}))`;
}

/** One mask as a small grid: rows ask, columns answer; what is forbidden is empty and hatched by a stroke. */
export function drawMask(svg, shape, x, y, size, columns) {
  const cell = size / CELLS;
  for (let i = 0; i < CELLS; i++) {
    for (let j = 0; j < columns; j++) {
      const allowed = shape !== "triangle" || j <= i;
      const place = { x: x + j * cell + 0.5, y: y + i * cell + 0.5, width: cell - 1, height: cell - 1 };
      draw("rect", { ...place, rx: 1, class: allowed ? `seen ${shape}` : "forbidden" }, svg);
      if (!allowed)
        draw("line", { x1: place.x + 1, y1: place.y + place.height - 1, x2: place.x + place.width - 1, y2: place.y + 1,
          class: "hatch" }, svg);
    }
  }
}

/** The three kinds side by side, the one that runs here lit; under each mask its shape with today's sizes where
    they are known. */
export function drawKinds(parent, text, lit, sizes) {
  parent.replaceChildren();
  for (const [kind, shapes] of Object.entries(KINDS)) {
    const box = make("figure", kind === lit ? "kind lit" : "kind", parent), row = make("div", "masks", box);
    for (const shape of shapes) {
      const columns = shape === "cross" ? CELLS + 2 : CELLS;
      const svg = draw("svg", { width: columns * 9, height: CELLS * 9, role: "img", "aria-label": text[shape] }, row);
      drawMask(svg, shape, 0, 0, CELLS * 9, columns);
      draw("title", {}, svg, text[shape]);
    }
    const caption = make("figcaption", "", box);
    make("b", "", caption, text[kind]);
    make("span", "muted", caption, kind === lit ? fill(text[`${kind}_shape`], sizes) : text[`${kind}_does`]);
  }
}
