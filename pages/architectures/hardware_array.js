// A systolic array: n × n cells, each with a weight that stays; the rows of X flow through from the left, a tick apart,
// and the sums flow down. Tick by tick by keys, slider or by itself; a pressed cell opens its sum.
import { button, draw, drawText, fill, make, sized } from "../../core/components/lib/dom.js";
import { Range } from "../../core/components/lib/instrument.js";
import { percent } from "../../core/components/lib/numbers.js";
import { Player } from "../../core/components/lib/player.js";
import { monoFont, textWidth } from "../../core/components/lib/text.js";
import { fitHeight } from "../../core/components/lib/view.js";
import { columnOf, runArray, ticksOf, working } from "./hardware_work.js";

const PAUSE = 1100;       // ms of a tick while it plays
const WAITING = 5;        // columns that are drawn for what waits; the rest is beyond the edge
const FEW_WAITING = 2;    // the same on a phone
const LANE = 0.42;        // of a cell's width, for a number that waits
const STEPS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

const named = (letter, i, j) => `${letter}${"₀₁₂₃₄₅₆₇₈"[i + 1]}${"₀₁₂₃₄₅₆₇₈"[j + 1]}`;
const signed = (value) => (value < 0 ? `(−${-value})` : String(value));
const plain = (value) => String(value).replace("-", "−");

/** X: (rows, most), W: (most, most); rows: at most.
 * @typedef {{ labels: Record<string, string>, X: number[][], W: number[][], rows: number, sides: number[],
 *   seed: number }} Message */

export class ArrayPicture {
  constructor(root, host) {
    this.host = host;
    const bar = make("div", "hands", root);
    this.variants = make("div", "variants", bar);
    this.variants.role = "radiogroup";
    this.rows = new Range(bar, "rows", { input: (m) => this.reset({ machine_rows: m }), commit: () => host.commit() });
    this.title = make("p", "title", root);
    const stage = make("div", "stage cells", root);
    const field = make("div", "field", stage);
    this.svg = draw("svg", { role: "img", class: "array" }, field);
    const side = make("div", "side", stage);
    this.matrices = make("div", "matrices", side);
    this.bars = draw("svg", { role: "img", class: "busy" }, side);
    this.opened = make("p", "opened", side);
    this.opened.ariaLive = "polite";
    this.player = new Player(field, this.title, { show: () => this.go(this.player.at), rest: () => host.commit() });
    this.player.bar.onkeydown = (event) => this.step(event);
  }

  /** @param {Message} header */
  receive(header) {
    const { settings } = this.host, fresh = JSON.stringify([header.seed, settings.machine_rows, settings.machine_side]);
    this.labels = header.labels;
    this.most = { X: header.X, W: header.W };
    this.sides = header.sides;
    this.rows.title(header.labels.rows);
    this.mostRows = header.rows;
    this.variants.ariaLabel = header.labels.side;
    this.variants.replaceChildren();
    for (const n of header.sides) {
      const choice = button(this.variants, fill(header.labels.side_n, { n }), "",
        () => this.reset({ machine_side: n }));
      choice.role = "radio";
    }
    this.compute();
    this.player.begin(settings.machine_tick, fresh, settings.machine_tick !== this.player.at);
  }

  /** Another array or another number of rows begins at its first tick. */
  reset(settings) {
    this.host.change({ ...settings, machine_tick: 0, machine_cell: "" });
    this.compute();
    this.player.stop();
    this.player.at = 0;
  }

  compute() {
    const { machine_rows: m, machine_side: n } = this.host.settings, { X, W } = this.most;
    this.m = m;
    this.n = n;
    this.X = X.slice(0, m).map((row) => row.slice(0, n));
    this.W = W.slice(0, n).map((row) => row.slice(0, n));
    this.states = runArray(this.X, this.W);
    this.player.receive(this.labels, ticksOf(m, n), PAUSE);
  }

  step(event) {
    const by = STEPS[event.key];
    if (!by || event.target === this.player.slider) return;
    event.preventDefault();
    event.stopPropagation();
    this.player.stop();
    this.player.go(this.player.at + by);
    this.host.commit();
  }

  go(tick) {
    this.host.settings.machine_tick = tick;
    this.host.schedule();
  }

  pick(i, j) {
    const cell = `${i},${j}`;
    this.host.change({ machine_cell: this.host.settings.machine_cell === cell ? "" : cell });
  }

  /** The array after the present tick; before the first one all cells are idle. */
  get state() {
    return this.states[this.player.at - 1] ?? null;
  }

  get picked() {
    const found = /^(\d),(\d)$/.exec(this.host.settings.machine_cell ?? "");
    const [i, j] = found ? found.slice(1).map(Number) : [-1, -1];
    return found && i < this.n && j < this.n ? [i, j] : null;
  }

  draw() {
    const { labels, m, n, player: { at, last }, state } = this, busy = state ? working(state) : 0;
    this.rows.set(1, this.mostRows, 1, m, fill(labels[m > 1 ? "rows_n" : "rows_one"], { n: m }));
    [...this.variants.children].forEach((node, k) => { node.ariaChecked = String(this.sides[k] === n); });
    const done = this.states.slice(0, at).reduce((sum, each) => sum + working(each), 0);
    const said = { tick: at, last, busy, cells: n * n, used: percent(m / ticksOf(m, n)), share: percent(
      done / Math.max(1, n * n * at)), m, n };
    this.title.textContent = fill(labels[at === 0 ? "title_before" : at === last ? "title_end" : "title"], said);
    this.player.value(fill(labels.tick, said));
    this.player.label();
    this.drawArray();
    this.drawMatrices();
    this.drawBusy();
    this.open();
  }

  // ---- the array ----------------------------------------------------------------------------------------------------

  drawArray() {
    const { svg, n, m, host: { em }, state } = this;
    const width = svg.clientWidth, isNarrow = width < 36 * em, least = isNarrow ? (5.2 * n + 4) * em : 230;
    const room = fitHeight(svg, least, Math.max(least, 420), 3.4 * em);
    svg.replaceChildren();
    if (!width) return;
    const waits = Math.min(isNarrow ? FEW_WAITING : WAITING, m + n - 1), top = 1.5 * em, gap = 0.5 * em;
    const wide = Math.min(8.4 * em, (width - 1) / (n + LANE * waits));
    const high = Math.min(7.5 * em, (room - top - 2.4 * em) / n);
    this.wide = wide;
    this.high = high;
    this.left = LANE * waits * wide;
    this.top = top;
    this.gap = gap;
    const tall = top + n * high + 2.4 * em;
    svg.style.height = `${tall}px`;
    sized(svg, width, tall, this.title.textContent);
    svg.setAttribute("font-size", em);
    drawText(svg, this.left - gap, 0.9 * em, this.labels.inputs, { anchor: "end", name: "sans x" });
    drawText(svg, this.left + gap, 0.9 * em, this.labels.cells, { name: "sans" });
    for (let i = 0; i < n; i += 1) {
      this.drawWaiting(i);
      for (let j = 0; j < n; j += 1) this.drawCell(i, j, state);
    }
    this.drawResults(state);
  }

  /** The numbers that wait at the left of a row of cells, each a tick behind the one before it. */
  drawWaiting(i) {
    const { svg, X, left, top, high, player: { at }, host: { em } } = this, wide = LANE * this.wide;
    X.forEach((row, m) => {
      const column = columnOf(at, m, i), x = left + column * wide;
      if (column >= 0 || x < -0.5) return;
      const y = top + (i + 0.5) * high;
      draw("rect", { class: column === -1 ? "waiting next" : "waiting", x: x + 2, y: y - 0.85 * em, width: wide - 4,
        height: 1.7 * em, rx: 3 }, svg);
      drawText(svg, x + wide / 2, y + 0.36 * em, plain(row[i]), { anchor: "middle", name: "value x" });
    });
  }

  drawCell(i, j, state) {
    const { svg, W, left, top, wide, high, labels, picked } = this, x = left + j * wide, y = top + i * high;
    const isOn = (state?.inputs[i][j] ?? null) !== null, isPicked = picked?.[0] === i && picked?.[1] === j;
    const group = draw("g", { class: `mark cell${isOn ? " on" : ""}${isPicked ? " picked" : ""}`,
      "data-cell": `${i},${j}` }, svg);
    group.addEventListener("click", () => this.pick(i, j));
    draw("rect", { x: x + 2, y: y + 2, width: wide - 4, height: high - 4, rx: 5 }, group);
    draw("title", {}, group, isOn ? this.sum(i, j)
      : fill(labels.idle, { row: i + 1, column: j + 1, w: plain(W[i][j]) }));
    this.fillCell(group, i, j, isOn ? state : null);
  }

  /** The sum from above, the product and the new sum of a cell that works; the weight of one that does not. */
  fillCell(group, i, j, state) {
    const { W, left, top, wide, high, host: { em } } = this, weight = signed(W[i][j]);
    const line = (at, name, text) => drawText(group, left + (j + 0.5) * wide, top + (i + at) * high + 0.35 * em, text,
      { anchor: "middle", name: `value ${name}` });
    if (!state) { line(0.5, "idle", plain(W[i][j])); return; }
    const input = plain(state.inputs[i][j]), plus = i > 0 ? "+ " : "";
    const isWide = textWidth(`${plus}${input} · ${weight}`, monoFont(em)) < wide - 8;
    const product = line(isWide ? 0.5 : 0.4, "", plus);
    draw("tspan", { class: "x" }, product, input);
    draw("tspan", {}, product, isWide ? ` · ${weight}` : " ·");
    if (!isWide) line(0.6, "", weight);
    if (i > 0) line(isWide ? 0.2 : 0.15, "above", `${plain(state.above[i][j])} ↓`);
    line(isWide ? 0.82 : 0.86, "sum", `= ${plain(state.sums[i][j])}${isWide ? " ↓" : ""}`);
  }

  /** The sums that leave the last row at this tick. */
  drawResults(state) {
    const { svg, left, top, wide, high, n, host: { em } } = this, y = top + n * high + 1.5 * em;
    drawText(svg, left - this.gap, y, this.labels.results, { anchor: "end", name: "sans y" });
    for (const { row, column, value } of state?.results ?? [])
      drawText(svg, left + (column + 0.5) * wide, y, `${named("y", row, column)} = ${plain(value)}`,
        { anchor: "middle", name: "value y" });
  }

  // ---- beside it ----------------------------------------------------------------------------------------------------

  drawMatrices() {
    const { X, W, m, n, player: { at }, picked } = this;
    const done = new Map(this.states.slice(0, at).flatMap(({ results }) =>
      results.map(({ row, column, value }) => [`${row},${column}`, value])));
    this.matrices.replaceChildren();
    const matrix = (name, rows, columns, says, kind) => {
      const box = make("figure", "", this.matrices), table = make("table", kind, box);
      for (let i = 0; i < rows; i += 1) {
        const row = make("tr", "", table);
        for (let j = 0; j < columns; j += 1) make("td", ...says(i, j).slice(0, 1), row, says(i, j)[1]);
      }
      make("figcaption", "", box, `${name} [${rows} × ${columns}]`);
    };
    const fed = (row, i) => columnOf(at, row, i);
    matrix("X", m, n, (row, i) => [fed(row, i) >= 0 && fed(row, i) < n ? "now" : "", plain(X[row][i])], "x");
    make("span", "sign", this.matrices, "·");
    matrix("W", n, n, (i, j) => [picked?.[0] === i && picked?.[1] === j ? "now" : "", plain(W[i][j])], "w");
    make("span", "sign", this.matrices, "=");
    matrix("Y", m, n, (row, j) => [this.state?.results.some((one) => one.row === row && one.column === j) ? "now" : "",
      done.has(`${row},${j}`) ? plain(done.get(`${row},${j}`)) : "·"], "y");
  }

  /** A bar for each tick: the cells that work in it, of all there are. */
  drawBusy() {
    const { bars: svg, states, n, host: { em, present }, player: { at }, labels } = this, width = svg.clientWidth;
    const tall = (present ? 3 : 4.2) * em, top = 1.4 * em, wide = Math.min(2.4 * em, width / states.length);
    svg.replaceChildren();
    if (!width) return;
    sized(svg, width, top + tall + 1.5 * em, labels.busy);
    svg.setAttribute("font-size", em);
    drawText(svg, 0, 0.9 * em, labels.busy, { name: "sans" });
    states.forEach((state, k) => {
      const count = working(state), height = (tall * count) / (n * n), x = k * wide;
      const group = draw("g", { class: `mark busy${k + 1 === at ? " now" : k + 1 < at ? " past" : ""}`,
        "data-count": count }, svg);
      draw("rect", { class: "frame", x: x + 1, y: top, width: wide - 2, height: tall }, group);
      draw("rect", { class: "full", x: x + 1, y: top + tall - height, width: wide - 2, height }, group);
      draw("title", {}, group, fill(labels.busy_tick, { tick: k + 1, count, cells: n * n }));
      drawText(svg, x + wide / 2, top + tall + 1.15 * em, String(k + 1), { anchor: "middle", name: "sans" });
    });
  }

  /** The sum of one cell at this tick, with the row and column of the result that it is a part of. */
  sum(i, j) {
    const { state, W, player: { at } } = this, row = at - 1 - i - j;
    const product = `${plain(state.inputs[i][j])} · ${signed(W[i][j])}`;
    const from = i > 0 ? `${plain(state.above[i][j])} + ${product}` : product;
    return fill(this.labels.sum, { cell: named("w", i, j), x: named("x", row, i), y: named("y", row, j), from,
      value: plain(state.sums[i][j]), terms: i + 1, n: this.n });
  }

  open() {
    const { picked, state, labels, W } = this;
    if (!picked) { this.opened.textContent = labels.press; return; }
    const [i, j] = picked, isOn = state && state.inputs[i][j] !== null;
    this.opened.textContent = isOn ? this.sum(i, j)
      : fill(labels.idle, { row: i + 1, column: j + 1, w: plain(W[i][j]) });
  }
}
