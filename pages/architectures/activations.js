// All curves are computed here, in float64, as core/model/activation.py has them.
import { tableBody, tableRow } from "./shared.js";
import { dot, line, matrixPicture, placePicture, stroke } from "../../core/components/lib/canvas.js";
import { button, chip, draw, drawLine, drawText, fill, make, setRange, sized } from "../../core/components/lib/dom.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { decimals } from "../../core/components/lib/numbers.js";
import { Surface } from "../../core/components/lib/surface.js";
import { emOf } from "../../core/components/lib/text.js";
import { pageFoot, readTheme } from "../../core/components/lib/theme.js";
import { mounted, onWidth, roomBelow, View } from "../../core/components/lib/view.js";

const LOW = -5, HIGH = 5, POINTS = 401, GRID = 81;
const ORDER = ["relu", "gelu", "gelu_tanh", "swish"];
const DASHES = { relu: "none", gelu: "none", gelu_tanh: "2 3", swish: "8 4" };
const BETA = [-1, 1.7];      // the slider's exponents of 10

/** erf by its series of positive terms, 2/√π e^(−x²) Σ 2ⁿ x^(2n+1) / (2n+1)!!, to the last digits for every x
    that is drawn. */
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum) && n < 300; n++) sum += term *= (2 * x * x) / (2 * n + 1);
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

const sigmoid = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
const phi = (x) => 0.5 * (1 + erf(x / Math.SQRT2));
const ROOT = Math.sqrt(2 / Math.PI);
const tanhOf = (x) => Math.tanh(ROOT * (x + 0.044715 * x ** 3));
export const VALUE = {
  relu: (x) => Math.max(0, x),
  gelu: (x) => x * phi(x),
  gelu_tanh: (x) => 0.5 * x * (1 + tanhOf(x)),
  swish: (x, beta) => x * sigmoid(beta * x),
};
export const SLOPE = {
  relu: (x) => (x > 0 ? 1 : 0),
  gelu: (x) => phi(x) + (x * Math.exp(-0.5 * x * x)) / Math.sqrt(2 * Math.PI),
  gelu_tanh: (x) => {
    const t = tanhOf(x);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * ROOT * (1 + 3 * 0.044715 * x * x);
  },
  swish: (x, beta) => sigmoid(beta * x) * (1 + beta * x * (1 - sigmoid(beta * x))),
};
const MOST = 25;            // of the size of a gate's product
const GATES = { swiglu: "swish", geglu: "gelu" };

/** The place of a value as a share of the axis, and the value at a share, to two decimals. */
const shareOf = (value) => (value - LOW) / (HIGH - LOW);
const valueAt = (share) => Number((LOW + Math.min(1, Math.max(0, share)) * (HIGH - LOW)).toFixed(2));

/** own: the name of the live model's.
 * @typedef {{ text: Record<string, string>, scale: number, names: Record<"relu" | "gelu" | "gelu_tanh" | "swish",
 *   string>, own: string | null, histogram: number[] | null, swaps: { name: string, own: boolean, kl: string,
 *   top: string, p: string }[], swap_title: string, facts: string[], settings: { x: number, beta: number,
 *   second: number, gate: string } }} Message */

/** @extends {View<Message>} */
class Curves extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    const left = make("div", "left", root), right = make("div", "right", root);
    this.title = make("div", "title", left);
    this.place = make("div", "plots", left);
    this.plots = Object.fromEntries(["value", "slope"]
      .map((name) => [name, draw("svg", { class: `plot ${name}`, role: "img" }, this.place)]));
    this.plots.value.onpointerdown = this.plots.slope.onpointerdown = (event) => this.grab(event);
    this.sliders = { x: this.slider(left, "x", LOW, HIGH), beta: this.slider(left, "beta", ...BETA) };
    this.table = make("table", "readings", right);
    const gate = make("div", "gate", right);
    this.surface = new Surface(make("div", "gate-picture", gate), "surface");
    this.plots.slope.dataset.ranges = "";       // two ranges do all that the pointer does there
    this.surface.point((x, y, phase) => this.aim(x, y, phase));
    this.gateWords = make("div", "gate-words", gate);
    this.picks = make("div", "picks", this.gateWords);
    this.gateText = make("div", "", this.gateWords);
    this.sliders.second = this.slider(this.gateWords, "second", LOW, HIGH);
    this.factsBox = make("div", "facts", right);
    this.swapTable = make("table", "swaps", right);
    onWidth(this.place, () => this.schedule());
  }

  slider(parent, name, min, max) {
    const box = make("label", `range ${name}`, parent), label = make("span", "", box), node = make("input", "", box);
    const value = make("output", "", box);
    Object.assign(node, { type: "range", min, max, step: 0.01 });
    node.oninput = () => {
      this.state[name] = name === "beta" ? Number((10 ** Number(node.value)).toPrecision(3)) : Number(node.value);
      this.schedule();
    };
    node.onchange = () => this.settle();
    return { node, label, value };
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    if (this.echoes.moves(JSON.stringify(header.settings))) this.state = { ...header.settings };
    for (const [name, { label, node }] of Object.entries(this.sliders)) {
      label.textContent = this.text[`slider_${name}`];
      node.ariaLabel = this.text[`slider_${name}`];
    }
    this.swap();
    this.schedule();
  }

  settle() {
    this.echoes.tell(JSON.stringify(this.state));
    this.send({ ...this.state });
  }

  schedule() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      if (this.state && this.root.isConnected) this.redraw();
    });
  }

  grab(event) {
    const svg = event.currentTarget, move = ({ clientX }) => {
      const box = svg.getBoundingClientRect();
      this.state.x = valueAt((clientX - box.left - this.left) / (box.width - this.left - this.margin));
      this.schedule();
    };
    svg.setPointerCapture(event.pointerId);
    move(event);
    svg.onpointermove = move;
    svg.onpointerup = svg.onpointercancel = () => { svg.onpointermove = null; this.settle(); };
  }

  aim(x, y, phase) {
    if (phase === "up") return this.settle();
    if (phase !== "down" && phase !== "drag") return;
    Object.assign(this.state, { x: valueAt(x / this.surface.width), second: valueAt(1 - y / this.surface.height) });
    this.schedule();
  }

  redraw() {
    const { x, beta, second } = this.state;
    const shown = { x: decimals(x, 2), beta: String(beta), second: decimals(second, 2) };
    for (const [name, { node, value }] of Object.entries(this.sliders)) {
      const place = name === "beta" ? Math.log10(beta) : this.state[name];
      setRange(node, Math.abs(Number(node.value) - place) > 0.006 ? place : Number(node.value));
      value.textContent = shown[name];
      node.ariaValueText = shown[name];
    }
    this.title.textContent = fill(this.text.title,
      { x: shown.x, gap: decimals(VALUE.swish(x, beta) - VALUE.relu(x)), beta: shown.beta });
    this.plot("value", VALUE, -1, 5);
    this.plot("slope", SLOPE, -0.3, 1.3);
    this.readings();
    this.gated();
  }

  /** The curves, the cursor at x with a dot on each, and, among the values, a histogram of the live model's inputs. */
  plot(name, curves, low, high) {
    const svg = this.plots[name], width = this.place.clientWidth, em = emOf(this.root);
    const height = name === "value" ? this.tall() * 0.62 : this.tall() * 0.38;
    const [left, margin, top, bottom] = [2.4 * em, 0.8 * em, 1.1 * em, 1.4 * em];
    this.left = left;
    this.margin = margin;
    svg.replaceChildren();
    sized(svg, width, height, this.text[`plot_${name}`]);
    svg.setAttribute("font-size", 0.88 * em);
    const across = (x) => left + shareOf(x) * (width - left - margin);
    const up = (y) => top + ((high - y) / (high - low)) * (height - top - bottom);
    for (const y of name === "value" ? [-1, 0, 1, 2, 3, 4, 5] : [0, 0.5, 1]) {
      drawLine(svg, left, up(y), width - margin, up(y), { class: y === 0 ? "zero" : "grid" });
      drawText(svg, left - 6, up(y) + 0.3 * em, decimals(y, name === "value" ? 0 : 1), { anchor: "end" });
    }
    for (let x = LOW; x <= HIGH; x++)
      drawText(svg, across(x), height - 2, decimals(x, 0), { anchor: "middle" });
    drawText(svg, left + 4, 0.8 * em, this.text[`plot_${name}`], { name: "sans strong" });
    if (name === "value" && this.histogram) this.bins(svg, across, up);
    for (const curve of ORDER) this.curve(svg, curve, curves[curve], across, up);
    const { x, beta } = this.state;
    drawLine(svg, across(x), top, across(x), height - bottom, { class: "cursor" });
    for (const curve of ORDER)
      draw("circle",
        { cx: across(x), cy: up(curves[curve](x, beta)), r: 4, class: `dot ${curve === this.own ? "own" : ""}` }, svg);
  }

  /** The height that the window leaves for values and slopes together. */
  tall() {
    const room = roomBelow(this.place) - 5.2 * emOf(this.root) - (this.scale > 1 ? pageFoot() + 26 : 0);
    return Math.max(260, Math.min(560, room));
  }

  curve(svg, name, f, across, up) {
    let path = "";
    for (let k = 0; k < POINTS; k++) {
      const x = LOW + ((HIGH - LOW) * k) / (POINTS - 1);
      path += `${k ? "L" : "M"}${across(x).toFixed(2)} ${up(f(x, this.state.beta)).toFixed(2)}`;
    }
    draw("path",
      { d: path, class: `curve ${name} ${name === this.own ? "own" : ""}`, "stroke-dasharray": DASHES[name] }, svg);
  }

  bins(svg, across, up) {
    const counts = this.histogram, most = Math.max(1, ...counts), step = (HIGH - LOW) / counts.length;
    counts.forEach((count, k) => {
      const bar = draw("rect", { x: across(LOW + k * step), width: across(LOW + step) - across(LOW) - 0.5,
        y: up(3.4 * (count / most)), height: up(0) - up(3.4 * (count / most)), class: "bin" }, svg);
      draw("title", {}, bar, String(count));
    });
  }

  readings() {
    const { x, beta } = this.state;
    const body = tableBody(this.table, ["curve", "value", "slope"]
      .map((name) => fill(this.text[`column_${name}`], { x: decimals(x, 2) })));
    for (const name of ORDER) {
      const row = tableRow(body, "", [decimals(VALUE[name](x, beta)), decimals(SLOPE[name](x, beta))]);
      const live = name === this.own, [cell] = row.children;
      row.classList.toggle("own", live);
      const key = draw("svg", { width: 34, height: 10, "aria-hidden": "true" }, cell);
      drawLine(key, 1, 5, 33, 5, { class: `curve ${name}${live ? " own" : ""}`, "stroke-dasharray": DASHES[name] });
      cell.append(` ${fill(this.names[name], { beta })}${live ? ` ${this.text.own}` : ""}`);
    }
  }

  /** g(a) · b as a surface, the cursor at a = x and b. */
  gated() {
    const { x, beta, second, gate } = this.state, g = GATES[gate];
    this.picks.replaceChildren();
    for (const name of Object.keys(GATES)) {
      const node = button(this.picks, this.text[name], this.text[name],
        () => { this.state.gate = name; this.redraw(); this.settle(); }, name === gate ? "choice lit" : "choice");
      node.ariaPressed = String(name === gate);
    }
    const value = VALUE[g](x, beta) * second;
    this.gateText.textContent = fill(this.text.gate_reading,
      { gate: this.text[gate], a: decimals(x, 2), b: decimals(second, 2), value: decimals(value),
        first: decimals(SLOPE[g](x, beta) * second), second: decimals(VALUE[g](x, beta)) });
    this.surface.canvas.ariaLabel = this.gateText.textContent;
    this.paint(g, beta, x, second);
  }

  paint(g, beta, x, second) {
    const { surface } = this, { ink, table } = readTheme(), at = (k) => LOW + ((HIGH - LOW) * (k + 0.5)) / GRID;
    surface.measure();
    const context = surface.begin(), { width, height } = surface;
    const columns = Array.from({ length: GRID }, (_, k) => VALUE[g](at(k), beta));
    const colour = (row, column) => {
      const value = columns[column] * at(GRID - 1 - row);
      return Math.sign(value) * Math.sqrt(Math.abs(value) / MOST);
    };
    this.picture = matrixPicture(GRID, GRID, colour, table("div"), -1, 1, this.picture);
    placePicture(context, this.picture, 0, 0, width, height);
    const [left, top] = [shareOf(x) * width, (1 - shareOf(second)) * height];
    stroke(context, ink("text"));
    line(context, left, 0, left, height);
    line(context, 0, top, width, top);
    dot(context, left, top, 5, ink("mlp"), ink("text"));
  }

  swap() {
    this.factsBox.replaceChildren();
    for (const fact of this.facts) make("p", "", this.factsBox, fact);
    this.swapTable.replaceChildren();
    if (!this.swaps.length) return;
    const body = tableBody(this.swapTable, [this.swap_title, this.text.column_kl, this.text.column_top]);
    for (const swap of this.swaps) {
      const row = tableRow(body, swap.name, [swap.kl]);
      row.classList.toggle("own", swap.own);
      const cell = make("td", "", row);
      chip(cell, swap.top);
      cell.append(` ${swap.p}`);
    }
  }
}

export default mounted(Curves);
