// The attention square of a head over a sequence of tokens, with the row of one token framed; where a text stands
// before the patches, lines cut it into four blocks.
import { draw, drawLine, drawText, sized } from "../../core/components/lib/dom.js";
import { matrixPicture } from "../../core/components/lib/canvas.js";
import { readTheme } from "../../core/components/lib/theme.js";

export const EDGE = 22;        // px of the names beside the square, at the usual size of type

export class WeightSquare {
  /** pick(row, phase) is called for a row under the pointer, phase "hover", "press" or "out". */
  constructor(parent, pick) {
    this.svg = draw("svg", { class: "weights", role: "img" }, parent);
    this.pick = pick;
  }

  /** weights: N rows of N; nText: the tokens of text before the patches; side: of the square in px; names: of rows and
      columns, [text, image]. */
  paint({ weights, nText, side, scale, names, label }) {
    const edge = EDGE * scale, n = weights.length, cell = side / n;
    this.edge = edge;
    this.cell = cell;
    this.side = side;
    this.svg.replaceChildren();
    sized(this.svg, edge + side + 2, edge + side + 2, label);
    const most = Math.max(...weights.map((row) => Math.max(...row)));
    const picture = matrixPicture(n, n, (i, j) => Math.sqrt(weights[i][j] / most), readTheme().table("seq"), 0, 1);
    const image = draw("image", { href: picture.toDataURL(), x: edge, y: edge, width: side, height: side,
      preserveAspectRatio: "none" }, this.svg);
    image.style.imageRendering = "pixelated";
    this.names(names, nText * cell, 13 * scale);
    if (nText) this.cut(edge + nText * cell);
    this.frame = draw("rect", { class: "asks", x: edge, width: side, height: Math.max(cell, 3) }, this.svg);
    for (const [type, phase] of [["onpointermove", "hover"], ["onclick", "press"], ["onpointerleave", "out"]])
      image[type] = (event) => this.pick(this.rowAt(event, image, n), phase);
  }

  rowAt(event, image, n) {
    const box = image.getBoundingClientRect();
    return Math.max(0, Math.min(n - 1, Math.floor(((event.clientY - box.top) / box.height) * n)));
  }

  /** "text" over its columns and beside its rows, "image" over and beside the others. */
  names([text, image], before, size) {
    const { edge, side } = this, places = before ? [[text, before / 2], [image, (before + side) / 2]]
      : [[image, side / 2]];
    for (const [name, at] of places) {
      drawText(this.svg, edge + at, edge - 0.45 * size, name, { anchor: "middle", size });
      const turned = drawText(this.svg, 0, 0, name, { anchor: "middle", size });
      turned.setAttribute("transform", `translate(${edge - 0.45 * size} ${edge + at}) rotate(-90)`);
    }
  }

  cut(at) {
    const { edge, side } = this;
    drawLine(this.svg, at, edge, at, edge + side, { class: "cut" });
    drawLine(this.svg, edge, at, edge + side, at, { class: "cut" });
  }

  mark(row) {
    this.frame.setAttribute("y", this.edge + row * this.cell - Math.max(0, (3 - this.cell) / 2));
  }
}
