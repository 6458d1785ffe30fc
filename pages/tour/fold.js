// Step 7 becomes step 8: the arcs of a head fold into the last row of its square.
import { draw, sized } from "../../core/components/lib/dom.js";

export const FOLD_MS = 320;

/** The four points of a curve, [x, y] each, on its way into a cell {x, y, size}: a line across it from right to left,
    since the curve goes from the piece that looks to one before it. share: 0 at the beginning, 1 at the end. */
export function folded(points, { x, y, size }, share) {
  const eased = share * share * (3 - 2 * share), last = points.length - 1;
  return points.map(([px, py], i) => {
    const [to, level] = [x + size * (1 - i / last), y + size / 2];
    return [px + eased * (to - px), py + eased * (level - py)];
  });
}

/** A curve as SVG writes it. @param {number[][]} points */
export const written = ([from, ...rest]) => `M ${from.join(" ")} C ${rest.map((point) => point.join(" ")).join(", ")}`;

/** The arcs that a step leaves behind, each {points, width, opacity, back: pieces between it and the last one}. They
    stand until the square is there that they fold into. */
export class Fold {
  constructor(root, arcs) {
    const box = root.getBoundingClientRect();
    this.arcs = arcs;
    this.svg = draw("svg", { class: "fold", "aria-hidden": "true" }, root);
    sized(this.svg, box.width, box.height, "");
    this.paths = arcs.map(({ points, width, opacity }) =>
      draw("path", { d: written(points), "stroke-width": width, "stroke-opacity": opacity }, this.svg));
  }

  /** Into the last row of a square {x, y, size} of `side` rows. */
  into({ x, y, size }, side) {
    const unit = size / side, began = performance.now();
    const cells = this.arcs.map(({ back }) => ({ x: x + (side - 1 - back) * unit, y: y + (side - 1) * unit,
      size: unit }));
    const frame = (now) => {
      const share = Math.max(0, Math.min(1, (now - began) / FOLD_MS));
      this.paths.forEach((path, i) => {
        const { points, width } = this.arcs[i];
        path.setAttribute("d", written(folded(points, cells[i], share)));
        path.setAttribute("stroke-width", String(width + share * (unit - width)));
        if (cells[i].x < x) path.setAttribute("visibility", "hidden");      // the square shows the last pieces alone
      });
      if (share < 1 && this.svg.isConnected) requestAnimationFrame(frame);
      else this.end();
    };
    requestAnimationFrame(frame);
  }

  end() { this.svg.remove(); }
}
