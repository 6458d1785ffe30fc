// header: title_line (a template with {token}), token; names, dashes and own (one of them) of the curves; gated; rows
// [{neuron, promotes [text], suppresses [text]}], picked (a neuron, or −1); height in pixels; text. Arrays: inputs (K)
// of the curves and curves (their number × K), pre and post (d_ff). A hovered or picked neuron is marked in both
// pictures; a click on it picks it.
import { byKeys } from "../../core/components/lib/by_keys.js";
import { significant, written } from "../../core/components/lib/numbers.js";
import { button, chip, draw, emOf, fill, make, mount, onWidth, rich } from "../../core/components/lib/token_view.js";

const RUG = -0.65, FLOOR = -0.9;     // of the curves' axis: where the ticks of the neurons stand, and its lower end
const NEAR = 4;                      // pixels to both sides of the hand, in which the strongest neuron is taken
const APART = 20;                    // a name needs a twentieth of the width

class Neurons {
  constructor(root) {
    this.title = make("div", "title", root);
    const left = make("div", "left", root), right = make("div", "right", root);
    this.places = [left, right];
    this.curves_svg = draw("svg", { role: "img", class: "neurons-curve" }, left);
    this.bars_svg = draw("svg", { class: "neurons-bars" }, right);
    this.read = make("div", "read", right);
    this.table = make("table", "neurons-table", right);
    this.root = root;
    this.bars_svg.onpointermove = (event) => this.hover(this.under(event));
    this.bars_svg.onpointerleave = () => this.hover(null);
    this.bars_svg.onclick = (event) => this.pick(this.under(event));
    byKeys(this.bars_svg, () => ({ columns: this.post?.length, rows: 1, from: [this.marked(), 0] }),
      (neuron, _row, phase) => (phase === "press" ? this.pick(neuron) : this.hover(phase === "out" ? null : neuron)),
      () => this.read.textContent);
    for (const place of this.places) onWidth(place, () => this.build());
    onWidth(right, () => this.clip());
  }

  receive(header) {
    Object.assign(this, header);
    this.over = null;
    rich(this.title, header.title_line, { token: { chip: header.token } });
    this.build();
    this.list();
  }

  /** The neuron that is shown: under the hand, else the picked one, else the strongest. */
  marked() {
    return this.over ?? (this.picked >= 0 ? this.picked : this.rows[0].neuron);
  }

  hover(neuron) {
    if (neuron === this.over) return;
    this.over = neuron;
    this.mark();
  }

  pick(neuron) {
    if (neuron !== null) this.send({ neuron: neuron === this.picked ? -1 : neuron });
  }

  /** Of the neurons near to the pointer the strongest. */
  under(event) {
    const { left } = this.bars_svg.getBoundingClientRect(), { from, to } = this.frame, n = this.post.length;
    const at = (x) => ((x - from) / (to - from)) * n - 0.5, x = event.clientX - left;
    const first = Math.max(0, Math.round(at(x - NEAR))), last = Math.min(n - 1, Math.round(at(x + NEAR)));
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
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`,
      "font-size": 0.88 * this.em, "aria-label": label }))
      svg.setAttribute(name, value);
  }

  /** The curves over a neuron's input, and below them a tick for each neuron whose input lies on the axis. */
  curve() {
    const { em, inputs, curves, names, own } = this, width = this.places[0].clientWidth, k = inputs.length;
    const [low, high] = [inputs[0], inputs[k - 1]], top = 0.6 * em, floor = this.height - 3 * em, left = 3 * em;
    const x = (this.x = (z) => left + ((z - low) / (high - low)) * (width - left - 0.8 * em));
    const y = (this.y = (a) => top + ((high - a) / (high - FLOOR)) * (floor - top));
    this.size(this.curves_svg, width, this.height, this.text.curve);
    for (let a = 0; a <= high; a++)
      this.line(this.curves_svg, a ? "grid" : "zero", [left, width - 0.8 * em], y(a), written(a));
    for (let z = low; z <= high; z += 2)
      draw("text", { x: x(z), y: floor + 1.1 * em, "text-anchor": "middle", class: "sans" }, this.curves_svg,
        written(z));
    draw("text", { x: (left + width) / 2, y: this.height - 0.35 * em, "text-anchor": "middle", class: "sans" },
      this.curves_svg, this.text.input);
    this.upright(this.curves_svg, this.text.output, (top + floor) / 2);
    names.forEach((name, which) => {
      const points = Array.from({ length: k },
        (_, i) => `${x(inputs[i]).toFixed(1)} ${y(curves[which * k + i]).toFixed(1)}`);
      const kind = which === own ? "curve own" : "curve", at = top + (0.9 + 1.35 * which) * em;
      draw("path", { d: `M${points.join("L")}`, class: kind, "stroke-dasharray": this.dashes[which] }, this.curves_svg);
      draw("line", { x1: left + 0.6 * em, x2: left + 3.2 * em, y1: at, y2: at, class: kind,
        "stroke-dasharray": this.dashes[which] }, this.curves_svg);
      draw("text", { x: left + 3.7 * em, y: at + 0.32 * em, class: which === own ? "sans strong" : "sans" },
        this.curves_svg, name);
    });
    const tall = 0.65 * em, at = y(RUG) - tall;
    let ticks = "";
    for (const z of this.pre)
      if (z >= low && z <= high) ticks += `M${x(z).toFixed(1)} ${at.toFixed(1)}v${(2 * tall).toFixed(1)}`;
    draw("path", { d: ticks, class: "rug" }, this.curves_svg);
    this.on_curve = draw("g", {}, this.curves_svg);
  }

  /** Every neuron's activation, as one path. */
  bars() {
    const { em, post, rows } = this, width = this.places[1].clientWidth, n = post.length;
    const height = Math.max(7 * em, this.height - (2.2 + 1.62 * (rows.length + 1)) * em), top = 1.3 * em;
    const floor = height - 2.9 * em;
    const from = 4 * em, to = width - 0.4 * em;
    let low = 0, high = 0;
    for (const a of post) { low = Math.min(low, a); high = Math.max(high, a); }
    const step = niceStep((high - low) / 3 || 1), x = (i) => from + ((i + 0.5) / n) * (to - from);
    const y = (a) => top + ((high - a) / (high - low || 1)) * (floor - top);
    this.frame = { from, to, x, y };
    this.size(this.bars_svg, width, height, this.text.bars);
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9; k++) {
      const tick = written(Number((k * step).toPrecision(3)));
      this.line(this.bars_svg, k ? "grid" : "zero", [from, to], y(k * step), tick);
    }
    const every = niceStep(n / 7);
    for (let i = 0; i < n; i += every)
      draw("text", { x: x(i), y: floor + 1.1 * em, "text-anchor": "middle", class: "sans" }, this.bars_svg, i);
    draw("text", { x: (from + to) / 2, y: height - 0.35 * em, "text-anchor": "middle", class: "sans" }, this.bars_svg,
      this.text.neuron);
    this.upright(this.bars_svg, this.text.activation, (top + floor) / 2);
    let path = "";
    for (let i = 0; i < n; i++) path += `M${x(i).toFixed(1)} ${y(0).toFixed(1)}V${y(post[i]).toFixed(1)}`;
    draw("path", { d: path, class: "bars",
      "stroke-width": Math.max(1, Math.min(8, (0.7 * (to - from)) / n)).toFixed(2) }, this.bars_svg);
    this.on_bars = draw("g", {}, this.bars_svg);
  }

  line(svg, kind, [x1, x2], y, text) {
    draw("line", { x1, x2, y1: y, y2: y, class: kind }, svg);
    draw("text", { x: x1 - 0.5 * this.em, y: y + 0.3 * this.em, "text-anchor": "end", class: "sans" }, svg, text);
  }

  upright(svg, text, y) {
    draw("text", { transform: `translate(${0.8 * this.em} ${y}) rotate(-90)`, "text-anchor": "middle", class: "sans" },
      svg, text);
  }

  /** The marked neuron in both pictures, the names of the strongest, and what is read of the marked one. */
  mark() {
    const neuron = this.marked(), { x, y } = this.frame, { em } = this, z = this.pre[neuron], a = this.post[neuron];
    this.on_bars.replaceChildren();
    draw("line", { x1: x(neuron), x2: x(neuron), y1: y(0), y2: y(a), class: "at bar" }, this.on_bars);
    const named = [];
    for (const one of [neuron, ...this.rows.map((row) => row.neuron)])
      if (named.every((other) => Math.abs(one - other) > this.post.length / APART)) named.push(one);
    for (const one of named)
      draw("text", { x: x(one), y: this.post[one] < 0 ? y(this.post[one]) + 0.95 * em : y(this.post[one]) - 0.3 * em,
        "text-anchor": "middle", class: "sans strong" }, this.on_bars, one);
    this.on_curve.replaceChildren();
    if (z >= this.inputs[0] && z <= this.inputs.at(-1)) {
      const on = this.gated ? this.own_at(z) : a;
      draw("line", { x1: this.x(z), x2: this.x(z), y1: this.y(RUG) + 0.65 * em, y2: this.y(on), class: "at" },
        this.on_curve);
      draw("circle", { cx: this.x(z), cy: this.y(on), r: 0.36 * em, class: "dot" }, this.on_curve);
    }
    this.read.textContent = fill(this.text.read, { neuron, z: significant(z, 4), a: significant(a, 4) });
  }

  /** The model's own curve at z, between two of its points: a gated neuron's activation is that times
      something else. */
  own_at(z) {
    const k = this.inputs.length, place = ((z - this.inputs[0]) / (this.inputs[k - 1] - this.inputs[0])) * (k - 1);
    const i = Math.min(k - 2, Math.floor(place)), at = this.own * k + i;
    return this.curves[at] + (place - i) * (this.curves[at + 1] - this.curves[at]);
  }

  list() {
    const { text } = this, told = this.rows[0].promotes !== null;
    this.table.replaceChildren();
    const head = make("tr", "", make("thead", "", this.table));
    for (const [name, kind] of
        [["neuron", ""], ["activation", "number"], ...(told ? [["promotes", ""], ["suppresses", ""]] : [])])
      make("th", kind, head, text[name]).scope = "col";
    const body = make("tbody", "", this.table);
    for (const { neuron, promotes, suppresses } of this.rows) {
      const row = make("tr", neuron === this.picked ? "picked" : "", body);
      const node = button(make("td", "", row), neuron, fill(text.pick, { neuron }), () => this.pick(neuron));
      node.setAttribute("aria-pressed", String(neuron === this.picked));
      row.onpointerenter = () => this.hover(neuron);
      row.onpointerleave = () => this.hover(null);
      make("td", "number", row, significant(this.post[neuron]));
      for (const [tokens, kind] of told ? [[promotes, "chip"], [suppresses, "chip less"]] : []) {
        const cell = make("td", "", row);
        for (const token of tokens) chip(cell, token, kind);
      }
    }
    this.clip();
  }

  /** Tokens for which a line has no room are left out, the last first; the first stays. */
  clip() {
    const cells = [...this.table.querySelectorAll("td:nth-child(n + 3)")];
    for (const cell of cells) for (const one of cell.children) one.hidden = false;
    const ends = cells.map((cell) =>
      [cell.getBoundingClientRect().right, [...cell.children].map((one) => one.getBoundingClientRect().right)]);
    cells.forEach((cell, i) => [...cell.children].forEach((one, k) => {
      one.hidden = k > 0 && ends[i][1][k] > ends[i][0];
    }));
  }
}


/** 1, 2 or 5 times a power of ten, at least `least`. */
function niceStep(least) {
  const base = 10 ** Math.floor(Math.log10(least));
  return base * [1, 2, 5, 10].find((factor) => factor * base >= least * (1 - 1e-9));
}

export default function (component) {
  mount(component, Neurons);
}
