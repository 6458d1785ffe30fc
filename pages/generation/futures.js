import { draw, drawLine, drawText, fill, keyPlace, make, rich, sized } from "../../core/components/lib/dom.js";
import { decimals, percent } from "../../core/components/lib/numbers.js";
import { emOf, monoFont, shortened, textWidth } from "../../core/components/lib/text.js";
import { mounted, redrawn, TitledView } from "../../core/components/lib/view.js";

const SHOWN = 12, FEW = 4;       // lines of the comparison; fewer in present mode, whose type is larger

/** nodes: the root first, parents before children, the children of one parent together; n: draws; picked: a place.
 * @typedef {[token: string, parent: number, depth: number, count: number, prob: number, pathProb: number,
 *   name: string]} Node
 * @typedef {{ nodes: Node[], n: number, depth: number, different: number, mass: number, picked: number,
 *   text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message>} */
class Futures extends TitledView {
  constructor(root) {
    super(root);
    const columns = make("div", "columns futures-picture", root);
    this.place = keyPlace(columns, "tree", (event) => this.key(event));
    this.svg = draw("svg", { class: "futures-tree", role: "img" }, this.place);
    const right = make("div", "right", columns);
    this.head = make("div", "head", right);
    this.legend = make("div", "muted", right);
    this.chart = make("div", "chart", right);
    this.dots = draw("svg", { class: "futures-dots", role: "img" }, this.chart);
    this.hint = make("div", "muted hint", root);
    redrawn(() => this.paint(), this.place, this.chart);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.place.ariaLabel = this.text.tree;
    this.layout();
    this.paint();
  }

  /** The start of each node on the line of all draws: children follow each other from the start of their parent. */
  layout() {
    const used = new Float64Array(this.nodes.length);
    this.from = new Float64Array(this.nodes.length);
    this.nodes.forEach(([, parent, depth, count], place) => {
      if (!depth) return;
      this.from[place] = this.from[parent] + used[parent];
      used[parent] += count;
    });
  }

  pick(place) {
    this.picked = place;
    this.paint();
    this.send({ future: this.nodes[place][6] });
  }

  key(event) {
    const [, parent, depth] = this.nodes[this.picked], level = this.nodes.map((node, place) => place)
      .filter((place) => this.nodes[place][2] === depth).sort((a, b) => this.from[a] - this.from[b]);
    const index = level.indexOf(this.picked);
    const child = this.nodes.findIndex((node, place) => place && node[1] === this.picked);
    // place 0 is the root, which is not the beginning of a text
    const next = { ArrowUp: level[index - 1], ArrowDown: level[index + 1], ArrowLeft: parent, ArrowRight: child };
    if (!(event.key in next)) return;
    event.preventDefault();
    if (next[event.key] > 0) this.pick(next[event.key]);
  }

  path(place) {
    const tokens = [];
    for (; this.nodes[place][2]; place = this.nodes[place][1]) tokens.unshift(this.nodes[place][0]);
    return tokens.join("");
  }

  sigma(p) {
    return Math.sqrt(this.n * p * (1 - p));
  }

  values(place) {
    const [token, , depth, count, prob, path] = this.nodes[place];
    return { path: this.path(place), token, depth, count, prob: percent(prob), p: percent(path), n: this.n,
      expected: counted(this.n * path), sigma: counted(this.sigma(path)), different: this.different,
      mass: percent(this.mass) };
  }

  paint() {
    if (!this.nodes) return;
    const values = this.values(this.picked);
    rich(this.title, this.text.title, { ...values, path: { chip: values.path } });
    this.hint.textContent = `${this.text.note} ${this.text.hint}`.trim();
    this.tree();
    this.compare();
  }

  tree() {
    const width = this.place.clientWidth, em = emOf(this.root);
    if (!width) return;
    const top = 1.5 * em, height = this.scale > 1 ? Math.max(11 * em, window.innerHeight - 20.5 * em)
      : Math.max(22 * em, Math.min(29 * em, window.innerHeight - 27 * em)), column = width / this.depth;
    const chain = new Set();
    for (let place = this.picked; this.nodes[place][2]; place = this.nodes[place][1]) chain.add(place);
    const y = (draws) => top + (draws / this.n) * height;
    this.svg.replaceChildren();
    for (let k = 0; k < this.depth; k++)
      drawText(this.svg, k * column + 2, em, fill(this.text.level, { depth: k + 1 }), { size: 0.92 * em });
    this.nodes.forEach(([token, , depth, count, , path], place) => {
      if (!depth) return;
      const x = (depth - 1) * column, begins = y(this.from[place]), high = y(this.from[place] + count) - begins;
      const on = chain.has(place);
      const group = draw("g", { class: `future ${on ? "on" : ""} ${place === this.picked ? "picked" : ""}` }, this.svg);
      draw("rect", { x: x + 1, y: begins + 0.25, width: column - 2, height: Math.max(0.5, high - 0.5),
        rx: Math.min(3, high / 3) }, group);
      if (high > 1.15 * em) {
        const numbers = `${count} · ${counted(this.n * path)}`, font = monoFont(em), room = column - 0.8 * em;
        const wide = textWidth(numbers, font);
        const two = high > 2.5 * em, name = shortened(token, font, two ? room : Math.max(2 * em, room - wide));
        drawText(group, x + 0.4 * em, begins + (two ? 1.15 * em : high / 2 + 0.35 * em), name,
          { size: em, name: "" });
        if (two)
          drawText(group, x + 0.4 * em, begins + 2.25 * em, numbers, { size: 0.88 * em, name: "amount" });
        else if (textWidth(name, font) + wide < room)
          drawText(group, x + column - 0.4 * em, begins + high / 2 + 0.33 * em, numbers,
            { anchor: "end", size: 0.85 * em, name: "amount" });
      }
      draw("title", {}, group, fill(this.text.hover, this.values(place)));
      group.onclick = () => this.pick(place);
    });
    sized(this.svg, width, top + height + 2, this.title.textContent);
  }

  /** The most probable beginnings of one depth: the exact probability, two standard deviations around it, and the
      frequency. */
  compare() {
    const width = this.chart.clientWidth, em = emOf(this.root), svg = this.dots, depth = this.nodes[this.picked][2];
    const few = this.scale > 1 ? FEW : SHOWN;
    if (!width) return;
    svg.replaceChildren();
    let rows = this.nodes.map((_, place) => place).filter((place) => this.nodes[place][2] === depth)
      .sort((a, b) => this.nodes[b][5] - this.nodes[a][5]);
    const all = rows.length;
    rows = rows.slice(0, rows.indexOf(this.picked) < few ? few : few - 1);
    if (!rows.includes(this.picked)) rows.push(this.picked);
    rich(this.head, this.text.head, { depth, shown: rows.length, all });
    this.legend.textContent = this.text.axis;
    const left = Math.min(0.42 * width, 12 * em), right = 6.6 * em, line = 1.72 * em, top = 1.4 * em;
    const most = Math.max(...rows.map((place) => Math.max(this.nodes[place][3], this.n * this.nodes[place][5]
        + 2 * this.sigma(this.nodes[place][5])))) * 1.04, x = (value) => left + (value / most) * (width - left - right);
    drawText(svg, width, 0.9 * em, this.text.axis_numbers, { anchor: "end", size: 0.9 * em });
    rows.forEach((place, k) => {
      const [, , , count, , path] = this.nodes[place], y = top + k * line, middle = y + line / 2;
      const expected = this.n * path, two = 2 * this.sigma(path);
      const group = draw("g", { class: place === this.picked ? "compared picked" : "compared" }, svg);
      draw("rect", { class: "hit", x: 0, y, width, height: line, fill: "transparent" }, group);
      drawText(group, left - 0.6 * em, middle + 0.33 * em, endOf(this.path(place), monoFont(0.95 * em), left - em),
        { anchor: "end", size: 0.95 * em, name: "" });
      draw("rect", { x: x(Math.max(0, expected - two)), y: middle - 0.36 * em, width: x(expected + two)
          - x(Math.max(0, expected - two)), height: 0.72 * em, fill: "var(--tx-seq-2)", class: "band" }, group);
      drawLine(group, x(expected), middle - 0.6 * em, x(expected), middle + 0.6 * em,
        { stroke: "var(--tx-kept-ink)", "stroke-width": 2.5 });
      draw("circle", { cx: x(count), cy: middle, r: 0.34 * em, fill: "var(--tx-drawn)", stroke: "var(--tx-text)",
        "stroke-width": 1.4 }, group);
      drawText(group, width, middle + 0.33 * em, `${count} · ${counted(expected)} ± ${counted(this.sigma(path))}`,
        { anchor: "end", size: 0.92 * em });
      draw("title", {}, group, fill(this.text.hover, this.values(place)));
      group.onclick = () => this.pick(place);
    });
    sized(svg, width, top + rows.length * line + 2, this.head.textContent);
  }
}

/** A count, which may be fractional, with one decimal. */
function counted(value) {
  return value < 0.05 && value > 0 ? "< 0.1" : decimals(value, 1);
}

/** The end of a text, as long as there is room for. */
function endOf(text, font, room) {
  const signs = [...text];
  let from = 0;
  while (from < signs.length - 1 && textWidth((from ? "…" : "") + signs.slice(from).join(""), font) > room) from += 1;
  return (from ? "…" : "") + signs.slice(from).join("");
}

export default mounted(Futures);
