// A hovered or picked neuron is marked in all pictures; a click on it picks it.
import { multiples, niceStep } from "../../core/components/lib/axis.js";
import { button, chip, draw, drawLine, drawText, fill, make, rich, sized } from "../../core/components/lib/dom.js";
import { byKeys } from "../../core/components/lib/keys.js";
import { readable, significant, written } from "../../core/components/lib/numbers.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted, onWidth, redrawn, View } from "../../core/components/lib/view.js";

const RUG = -0.65, FLOOR = -0.9;     // on the curves' axis: the place of the neurons' ticks, and the lower end
const NEAR = 4;                      // pixels on both sides of the pointer: the strongest neuron within is taken
const APART = 20;                    // a neuron's number needs a twentieth of the width

/** title_line: a template with {token}; names, dashes: of the curves, the model's own first; picked: a neuron, or −1;
 * inputs (K) of the curves and curves (their number × K), pre and post (d_ff), and fires, the activation of each of
 * the rows at every token (rows × N).
 * @typedef {{ text: Record<string, string>, scale: number, title_line: string, token: string, tokens: string[],
 *   position: number, names: string[], dashes: string[], gated: boolean, rows: { neuron: number, promotes: string[],
 *   suppresses: string[] }[], picked: number, height: number, inputs: Float32Array, curves: Float32Array,
 *   pre: Float32Array, post: Float32Array, fires: Float32Array }} Message */

/** @extends {View<Message>} */
class Neurons extends View {
  constructor(root) {
    super(root);
    this.title = make("div", "title", root);
    this.fired = make("div", "fired", root);
    const left = make("div", "left", root), right = make("div", "right", root);
    this.places = [left, right];
    this.curves_svg = draw("svg", { role: "img", class: "neurons-curve" }, left);
    this.bars_svg = draw("svg", { class: "neurons-bars" }, right);
    this.read = make("div", "read", right);
    this.table = make("table", "neurons-table", right);
    this.bars_svg.onpointermove = (event) => this.hover(this.under(event));
    this.bars_svg.onpointerleave = () => this.hover(null);
    this.bars_svg.onclick = (event) => this.pick(this.under(event));
    byKeys(this.bars_svg, () => ({ columns: this.post?.length, rows: 1, from: [this.marked(), 0] }),
      (neuron, _row, phase) => (phase === "press" ? this.pick(neuron) : this.hover(phase === "out" ? null : neuron)),
      () => this.read.textContent);
    for (const place of this.places) onWidth(place, () => this.build());
    redrawn(() => this.rows && this.clip(), right);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.hovered = null;
    rich(this.title, header.title_line, { token: { chip: header.token } });
    this.build();
    this.list();
    this.where();
  }

  /** The marked neuron: the one under the pointer, or else the picked one, or else the strongest. */
  marked() {
    return this.hovered ?? (this.picked >= 0 ? this.picked : this.rows[0].neuron);
  }

  hover(neuron) {
    if (neuron === this.hovered) return;
    this.hovered = neuron;
    this.mark();
    this.where();
  }

  /** Every token of the prompt with a bar as high as the marked neuron's activation there; of a neuron that is not in
      the table, a word that a click brings them. */
  where() {
    const neuron = this.marked(), row = this.rows.findIndex((listed) => listed.neuron === neuron);
    const n = this.tokens.length, fires = row < 0 ? null : this.fires.subarray(row * n, (row + 1) * n);
    const most = fires ? Math.max(...fires, 1e-9) : 1;
    this.fired.replaceChildren();
    make("span", "name", this.fired, fill(fires ? this.text.fires : this.text.fires_not, { neuron }));
    if (!fires) return;
    const line = make("div", "line", this.fired);
    this.tokens.forEach((token, i) => {
      const box = make("span", i === this.position ? "at here" : "at", line);
      box.title = `${token}: ${significant(fires[i])}`;
      make("i", "", make("span", "bar", box)).style.height = `${100 * Math.max(0, fires[i]) / most}%`;
      make("code", "", box, token).dir = "auto";
    });
    // the picked token is in sight, and the first one that is has its whole name
    const here = line.children[this.position], least = here.offsetLeft + here.offsetWidth - line.clientWidth;
    line.scrollLeft = [...line.children].find((box) => box.offsetLeft >= least).offsetLeft;
  }

  pick(neuron) {
    if (neuron !== null) this.send({ neuron: neuron === this.picked ? -1 : neuron });
  }

  /** The strongest of the neurons near the pointer. */
  under(event) {
    const { left } = this.bars_svg.getBoundingClientRect(), { from, to } = this.frame, n = this.post.length;
    const indexAt = (x) => ((x - from) / (to - from)) * n - 0.5, x = event.clientX - left;
    const first = Math.max(0, Math.round(indexAt(x - NEAR))), last = Math.min(n - 1, Math.round(indexAt(x + NEAR)));
    let best = null;
    for (let i = first; i <= last; i++)
      if (best === null || Math.abs(this.post[i]) > Math.abs(this.post[best])) best = i;
    return best;
  }

  build() {
    if (!this.rows || !this.places.every((place) => place.clientWidth)) return;
    this.em = emOf(this.root);
    this.curve();
    this.bars();
    this.mark();
  }

  size(svg, width, height, label) {
    svg.replaceChildren();
    sized(svg, width, height, label);
    svg.setAttribute("font-size", 0.88 * this.em);
  }

  /** The curves over a neuron's input, and below them a tick for each neuron whose input lies on the axis. */
  curve() {
    const { em, inputs, curves, names, dashes, curves_svg: svg, height } = this, width = this.places[0].clientWidth;
    const k = inputs.length, [low, high] = [inputs[0], inputs[k - 1]];
    const top = 0.6 * em, floor = height - 3 * em, left = 3 * em, right = width - 0.8 * em;
    const x = (this.x = (z) => left + ((z - low) / (high - low)) * (right - left));
    const y = (this.y = (a) => top + ((high - a) / (high - FLOOR)) * (floor - top));
    this.size(svg, width, height, this.text.curve);
    for (let a = 0; a <= high; a++) this.level(svg, a, [left, right], y(a), written(a));
    for (let z = low; z <= high; z += 2) this.write(svg, x(z), floor + 1.1 * em, written(z));
    this.write(svg, (left + width) / 2, height - 0.35 * em, this.text.input);
    this.upright(svg, this.text.output, (top + floor) / 2);
    names.forEach((name, row) => {
      const points = Array.from(inputs, (z, i) => `${x(z).toFixed(1)} ${y(curves[row * k + i]).toFixed(1)}`);
      const style = { class: row ? "curve" : "curve own", "stroke-dasharray": dashes[row] };
      const lineY = top + (0.9 + 1.35 * row) * em;
      draw("path", { d: `M${points.join("L")}`, ...style }, svg);
      drawLine(svg, left + 0.6 * em, lineY, left + 3.2 * em, lineY, style);
      drawText(svg, left + 3.7 * em, lineY + 0.32 * em, name, { name: row ? "sans" : "sans strong" });
    });
    const tall = 0.65 * em, ticks = Array.from(this.pre).filter((z) => z >= low && z <= high)
      .map((z) => `M${x(z).toFixed(1)} ${(y(RUG) - tall).toFixed(1)}v${(2 * tall).toFixed(1)}`);
    draw("path", { d: ticks.join(""), class: "rug" }, svg);
    this.on_curve = draw("g", {}, svg);
  }

  /** Every neuron's activation, as one path. */
  bars() {
    const { em, post, rows, bars_svg: svg } = this, width = this.places[1].clientWidth, n = post.length;
    const height = Math.max((this.scale > 1 ? 6 : 7) * em, this.height - (2.2 + 1.62 * (rows.length + 1)) * em);
    const top = 1.3 * em, floor = height - 2.9 * em, from = 4 * em, to = width - 0.4 * em;
    let low = 0, high = 0;
    for (const a of post) { low = Math.min(low, a); high = Math.max(high, a); }
    const step = niceStep((high - low) / 3 || 1), x = (i) => from + ((i + 0.5) / n) * (to - from);
    const y = (a) => top + ((high - a) / (high - low || 1)) * (floor - top);
    this.frame = { from, to, x, y };
    this.size(svg, width, height, this.text.bars);
    for (const value of multiples(step, low, high)) this.level(svg, value, [from, to], y(value), readable(value));
    for (const i of multiples(niceStep(n / 7), 0, n - 1)) this.write(svg, x(i), floor + 1.1 * em, i);
    this.write(svg, (from + to) / 2, height - 0.35 * em, this.text.neuron);
    this.upright(svg, this.text.activation, (top + floor) / 2);
    const path = Array.from(post, (a, i) => `M${x(i).toFixed(1)} ${y(0).toFixed(1)}V${y(a).toFixed(1)}`);
    draw("path", { d: path.join(""), class: "bars",
      "stroke-width": Math.max(1, Math.min(8, (0.7 * (to - from)) / n)).toFixed(2) }, svg);
    this.on_bars = draw("g", {}, svg);
  }

  write(svg, x, y, text, name = "sans") {
    drawText(svg, x, y, text, { anchor: "middle", name });
  }

  /** A horizontal line at a value, with the value at its left. */
  level(svg, value, [x1, x2], y, text) {
    drawLine(svg, x1, y, x2, y, { class: value ? "grid" : "zero" });
    drawText(svg, x1 - 0.5 * this.em, y + 0.3 * this.em, text, { anchor: "end" });
  }

  upright(svg, text, y) {
    draw("text", { transform: `translate(${0.8 * this.em} ${y}) rotate(-90)`, "text-anchor": "middle", class: "sans" },
      svg, text);
  }

  /** Mark the neuron in both pictures, write the numbers of the strongest ones and the reading of the marked one. */
  mark() {
    const neuron = this.marked(), { x, y } = this.frame, { em } = this, z = this.pre[neuron], a = this.post[neuron];
    this.on_bars.replaceChildren();
    drawLine(this.on_bars, x(neuron), y(0), x(neuron), y(a), { class: "at bar" });
    const named = [];
    for (const unit of [neuron, ...this.rows.map((row) => row.neuron)])
      if (named.every((other) => Math.abs(unit - other) > this.post.length / APART)) named.push(unit);
    for (const unit of named)
      this.write(this.on_bars, x(unit), y(this.post[unit]) + (this.post[unit] < 0 ? 0.95 : -0.3) * em, unit,
        "sans strong");
    this.on_curve.replaceChildren();
    if (z >= this.inputs[0] && z <= this.inputs.at(-1)) {
      const level = this.gated ? this.curveAt(z) : a;
      drawLine(this.on_curve, this.x(z), this.y(RUG) + 0.65 * em, this.x(z), this.y(level), { class: "at" });
      draw("circle", { cx: this.x(z), cy: this.y(level), r: 0.36 * em, class: "dot" }, this.on_curve);
    }
    const read = this.text[this.scale > 1 ? "read_present" : "read"];
    this.read.textContent = fill(read, { neuron, z: significant(z, 4), a: significant(a, 4) });
  }

  /** The model's own curve at z, between two of its points: a gated neuron's activation is that times
      something else. */
  curveAt(z) {
    const { inputs, curves } = this, last = inputs.length - 1;
    const place = ((z - inputs[0]) / (inputs[last] - inputs[0])) * last, i = Math.min(last - 1, Math.floor(place));
    return curves[i] + (place - i) * (curves[i + 1] - curves[i]);
  }

  list() {
    const { text, table } = this, promoting = this.rows[0].promotes ? ["promotes", "suppresses"] : [];
    table.replaceChildren();
    const head = make("tr", "", make("thead", "", table));
    for (const name of ["neuron", "activation", ...promoting])
      make("th", name === "activation" ? "number" : "", head, text[name]).scope = "col";
    const body = make("tbody", "", table);
    for (const listed of this.rows) {
      const { neuron } = listed, isPicked = neuron === this.picked, row = make("tr", isPicked ? "picked" : "", body);
      const node = button(make("td", "", row), neuron, fill(text.pick, { neuron }), () => this.pick(neuron));
      node.ariaPressed = String(isPicked);
      row.onpointerenter = () => this.hover(neuron);
      row.onpointerleave = () => this.hover(null);
      make("td", "number", row, significant(this.post[neuron]));
      for (const kind of promoting) {
        const cell = make("td", "", row);
        for (const token of listed[kind]) chip(cell, token, kind === "promotes" ? "chip" : "chip less");
      }
    }
    this.clip();
  }

  /** Hide the tokens that do not fit on their line, the last ones first; the first one stays. */
  clip() {
    const cells = [...this.table.querySelectorAll("td:nth-child(n + 3)")];
    for (const cell of cells) for (const node of cell.children) node.hidden = false;
    const right = (node) => node.getBoundingClientRect().right;
    const ends = cells.map((cell) =>
      [right(cell) - parseFloat(getComputedStyle(cell).paddingRight), [...cell.children].map(right)]);
    cells.forEach((cell, i) => [...cell.children].forEach((node, k) => {
      node.hidden = k > 0 && ends[i][1][k] > ends[i][0];
    }));
  }
}

export default mounted(Neurons);
