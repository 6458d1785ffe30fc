// Multi-head attention as shapes: X, the heads apart, side by side, and after W^O, each as wide as it has columns.
import { fill, make, marked, spokenLine } from "../../core/components/lib/dom.js";
import { mounted, View } from "../../core/components/lib/view.js";

const WIDTH = 6;        // em of a matrix with d columns

/** picked: the head.
 * @typedef {{ text: Record<string, string>, scale: number, title: string,
 *   widths: Record<"n" | "d" | "h" | "d_k" | "d_v" | "both", number>, picked: number }} Message */

/** @extends {View} */
class Shapes extends View {
  constructor(root) {
    super(root);
    this.heading = spokenLine(root, "heading");
    this.row = make("div", "row", root);
  }

  /** @param {Message} header */
  receive({ text, widths, title, picked }) {
    this.text = text;
    this.widths = widths;
    this.picked = picked;
    marked(this.heading, title);
    this.row.replaceChildren();
    const { d, h, d_v: wide } = widths, unit = WIDTH / d;
    this.part("x", [d * unit], "X", "x");
    this.step("heads");
    this.part("apart", Array(h).fill(wide * unit), "apart", "");
    this.step("joined");
    this.part("joined", Array(h).fill(wide * unit), "joined", "");
    this.step("output");
    this.part("out", [d * unit], "out", "out");
  }

  /** Boxes of these widths, in em, over their name and shape. */
  part(kind, boxes, name, meaning) {
    const part = make("div", `part ${kind}`, this.row), cells = make("div", `cells ${kind}`, part);
    boxes.forEach((width, k) => {
      const own = boxes.length > 1 && k === this.picked ? " picked" : "";
      make("div", `cell ${meaning}${own}`, cells).style.width = `${width}em`;
    });
    marked(make("div", "name", part), fill(this.text[name], this.widths));
    make("div", "shape", part, fill(this.text[`${name}_shape`], this.widths));
  }

  /** The ways from one matrix to the next, a line each. */
  step(name) {
    const step = make("div", "step", this.row);
    for (const line of this.text[`step_${name}`].split("|")) marked(make("div", "", step), fill(line, this.widths));
  }
}

export default mounted(Shapes);
