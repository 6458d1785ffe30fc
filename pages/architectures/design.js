import { tableBody, tableRow } from "./shared.js";
import { draw, make, sized, spokenLine } from "../../core/components/lib/dom.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted, onWidth, View } from "../../core/components/lib/view.js";

/** @typedef {{ name: string, count: string, meaning: string, changed: boolean }} Box */
/** sum: the text of the adding.
 * @typedef {{ times: string, sublayers: { inside: Box[], sum: string, sum_changed: boolean, after: Box[],
 *   cross: boolean, cross_at: number }[] }} Block */
/** stacks: bottom up.
 * @typedef {{ text: Record<string, string>, scale: number, titled: string, compared: string, height: number,
 *   stacks: { title: string, end: string, items: (Box | Block)[] }[], parts: { name: string, meaning: string,
 *   now: number, base: number, now_text: string, share_text: string, change_text: string }[],
 *   costs: Record<"name" | "now_text" | "base_text" | "change_text", string>[] }} Message */

/** @extends {View<Message>} */
class DesignView extends View {
  constructor(root) {
    super(root);
    root.classList.add("design");
    this.title = spokenLine(root, "title");
    this.against = make("div", "against muted", root);
    this.place = make("div", "diagram", root);
    this.svg = draw("svg", { class: "design-diagram", role: "img" }, this.place);
    this.side = make("div", "side", root);
    onWidth(this.place, () => this.diagram());
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.title.textContent = this.titled;
    this.against.textContent = this.compared;
    this.tables();
    this.diagram();
  }

  tables() {
    this.side.replaceChildren();
    const { text } = this;
    const [parts, costs] = ["parts", "costs"].map((name) => make("table", name, this.side));
    const body = tableBody(parts, [text.part, "", text.parameters, text.share, text.change]);
    const most = Math.max(1, ...this.parts.flatMap((part) => [part.now, part.base]));
    for (const part of this.parts) {
      const row = tableRow(body, part.name), tracks = make("div", "tracks", make("td", "bar", row));
      if (part.now)
        Object.assign(make("div", "fill", tracks).style,
          { width: `${(100 * part.now) / most}%`, background: `var(--tx-${part.meaning})` });
      if (part.base !== part.now && part.base)
        make("div", "ghost", tracks).style.width = `${(100 * part.base) / most}%`;
      for (const name of ["now_text", "share_text", "change_text"]) make("td", "", row, part[name]);
    }
    const lines = tableBody(costs, [text.cost, text.now, text.base, text.change]);
    for (const cost of this.costs) tableRow(lines, cost.name, [cost.now_text, cost.base_text, cost.change_text]);
  }

  /** The stacks side by side, each from its tokens at the foot to its output. */
  diagram() {
    const width = this.place.clientWidth;
    if (!width || !this.stacks) return;
    const em = emOf(this.root);
    const rows = Math.max(...this.stacks.map((stack) => stack.items.reduce((sum, item) => sum + rowsOf(item), 0)));
    const step = Math.max(1.55 * em, Math.min(2.3 * em, (this.height - 2.6 * em) / rows));
    const height = rows * step + 2.6 * em;
    this.svg.replaceChildren();
    sized(this.svg, width, height, this.titled);
    this.svg.setAttribute("font-size", Math.min(0.95 * em, 0.62 * step));
    const column = Math.min(width / this.stacks.length, 26 * em), crossings = [];
    this.stacks.forEach((stack, k) => {
      const pen = { x: k * column + (this.stacks.length > 1 ? 1.9 : 2.6) * em, y: height - 1.5 * em, step, em,
        width: column - (this.stacks.length > 1 ? 2.5 : 3.2) * em, crossings };
      pen.middle = pen.x + pen.width / 2;
      this.words(pen.middle, height - 0.4 * em, stack.title, "middle");
      const isEncoder = k < this.stacks.length - 1;
      const line = draw("line", { x1: pen.middle, x2: pen.middle, y1: height - 1.5 * em, class: "stream" }, this.svg);
      for (const item of stack.items) this.item(pen, item);
      const top = isEncoder ? pen.y - 0.4 * em : 1.1 * em;                    // where the decoder reads it
      line.setAttribute("y2", top);
      if (isEncoder) this.source = { x: pen.middle, y: top };
      this.words(pen.middle, top - 0.35 * em, stack.end, "middle");
    });
    for (const { x, y } of crossings) {
      this.path(`M ${this.source.x} ${this.source.y} H ${x - 1.3 * em} V ${y} H ${x}`, "wire");
      this.path(`M ${x - 6} ${y - 4} L ${x} ${y} L ${x - 6} ${y + 4}`, "wire");
    }
  }

  words(x, y, text, name) {
    return draw("text", { x, y, class: name }, this.svg, text);
  }

  path(d, name) {
    draw("path", { d, class: name }, this.svg);
  }

  item(pen, item) {
    if (!item.sublayers) return this.box(pen, item);
    const { em } = pen, foot = pen.y - 0.15 * pen.step;
    pen.y -= 0.35 * pen.step;
    for (const sublayer of item.sublayers) this.sublayer(pen, sublayer);
    const head = pen.y - 0.6 * pen.step;
    draw("rect", { x: pen.x - 1.5 * em, y: head, width: pen.width + 1.9 * em, height: foot - head, rx: 8,
      class: "frame" }, this.svg);
    this.words(pen.x + pen.width - 0.3 * em, head + 0.38 * pen.step, item.times, "central end mark");
    pen.y -= 0.85 * pen.step;
  }

  sublayer(pen, sublayer) {
    const from = pen.y + 0.02 * pen.step, left = pen.x - 0.85 * pen.em;
    const boxes = sublayer.inside.map((box) => this.box(pen, box));
    if (sublayer.cross) pen.crossings.push({ x: pen.x, y: boxes[sublayer.cross_at].middle });
    const sum = pen.y - 0.42 * pen.step, r = 0.27 * pen.step;
    this.path(`M ${pen.middle} ${from} H ${left} V ${sum} H ${pen.middle - r}`, "stream");
    draw("circle", { cx: pen.middle, cy: sum, r }, this.svg);
    const [x, arm] = [pen.middle, 0.6 * r];
    this.path(`M ${x - arm} ${sum} H ${x + arm} M ${x} ${sum - arm} V ${sum + arm}`, "stream");
    if (sublayer.sum)
      this.words(x + 0.6 * pen.em, sum + 0.3 * pen.em, marked(sublayer.sum, sublayer.sum_changed),
        sublayer.sum_changed ? "mark" : "");
    pen.y -= 0.85 * pen.step;
    for (const box of sublayer.after) this.box(pen, box);
  }

  box(pen, { name, count, meaning, changed }) {
    const height = 0.8 * pen.step, y = pen.y - 0.9 * pen.step, middle = y + height / 2;
    draw("rect", { x: pen.x, y, width: pen.width, height, rx: 4, class: changed ? "box changed" : "box" }, this.svg);
    draw("rect", { x: pen.x + 2, y: y + 2, width: 5, height: height - 4, rx: 2, fill: `var(--tx-${meaning})` },
      this.svg);
    const label = this.words(pen.x + 12, middle, marked(name, changed), changed ? "central mark" : "central");
    const number = this.words(pen.x + pen.width - 6, middle, count, "central end number");
    draw("title", {}, label, `${name}: ${count}`);
    // on a narrow screen the number is dropped, then the parts of the name after commas, the last one first
    if (label.getComputedTextLength() > pen.width - 22 - number.getComputedTextLength()) number.remove();
    for (let comma = name.lastIndexOf(","); comma > 0 && label.getComputedTextLength() > pen.width - 16;
        comma = name.lastIndexOf(",", comma - 1)) {
      label.firstChild.textContent = marked(name.slice(0, comma), changed);
    }
    pen.y -= pen.step;
    return { middle };
  }
}

const marked = (name, changed) => (changed ? `◆ ${name}` : name);

function rowsOf(item) {
  return item.sublayers ? 1.2
    + item.sublayers.reduce((sum, sublayer) => sum + sublayer.inside.length + sublayer.after.length + 0.85, 0) : 1;
}

export default mounted(DesignView);
