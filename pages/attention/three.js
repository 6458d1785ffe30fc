// Three vectors of two numbers that a hand moves in the plane, or types, and every number on the way to the output of
// the third.
import { diamond, dot, line, shade, stroke, write } from "../../core/components/lib/canvas.js";
import { button, fill, make, marked } from "../../core/components/lib/dom.js";
import { Instrument } from "../../core/components/lib/instrument.js";
import { decimals } from "../../core/components/lib/numbers.js";
import { Surface } from "../../core/components/lib/surface.js";
import { fitHeight, mounted } from "../../core/components/lib/view.js";
import { attend } from "./three_work.js";

const REACH = 2.5;          // of a number that the hand can set
const MARGIN = 0.3;        // of the plane beyond it
const GRIP = 26;           // pixels from an arrow's end in which the hand takes it
const OUTPUT = 9;          // pixels, from the middle of the output's mark to its corners
const SUBSCRIPTS = "₁₂₃";

const rounded = (value) => Math.round(Math.max(-REACH, Math.min(REACH, value)) * 10) / 10;
/** Without the noise of sums in the last digits. */
const clean = (value) => Math.round(value * 1e9) / 1e9;
const pair = (values) => `(${values.map((value) => decimals(clean(value), 2)).join(", ")})`;
const short = (values) => `(${values.map((value) => decimals(clean(value), 2).replace(/\.?0+$/, "")).join(", ")})`;

/** @typedef {{ matrices: Record<string, number[][]>, settings: { points: number[][], weights: "off" | "on" },
 *   labels: Record<string, string>, present: boolean }} Message */

/** @extends {Instrument<Message>} */
class Three extends Instrument {
  constructor(root) {
    super(root);
    this.settings = /** @type {Message["settings"]} */ ({});
    this.held = null;       // the number of the vector that the hand holds
    const bar = make("div", "bar", root);
    this.variants = make("div", "variants", bar);
    this.variants.role = "radiogroup";
    this.matrixLine = make("div", "matrices", bar);
    this.title = make("p", "title", root);
    this.title.ariaLive = "polite";
    const stage = (this.stage = make("div", "stage", root));
    this.surface = new Surface(stage, "picture");
    this.surface.point((x, y, phase) => this.pointed(x, y, phase));
    const side = make("div", "side", stage);
    this.table = make("table", "", make("div", "table", side));
    this.formula = make("p", "formula", side);
    this.note = make("p", "note", side);
  }

  /** @param {Message} header */
  receive(header) {
    super.receive(header);
    this.matrices = header.matrices;
    this.variants.replaceChildren();
    for (const name of ["off", "on"]) {
      const choice = button(this.variants, "", "", () => this.changed({ weights: name }));
      marked(choice, header.labels[`weights_${name}`]);
      choice.role = "radio";
    }
    this.build();
  }

  get points() { return this.settings.points; }

  get weighted() { return this.settings.weights === "on"; }

  changed(settings) {
    Object.assign(this.settings, settings);
    if (settings.weights) this.build();
    this.schedule();
    this.commit();
  }

  move(j, c, value) {
    if (!Number.isFinite(value)) return;
    this.changed({ points: this.points.map((point, at) => point.map((old, axis) =>
      (at === j && axis === c ? rounded(value) : old))) });
  }

  // ---- the table ----------------------------------------------------------------------------------------------------

  /** The columns behind the vectors: [kind, heading, what an item says there, what the last row says]. A projector has
      no room for all of them, and a narrow one for none of the powers.
      @returns {any[][]} */
  columnsHere() {
    const { labels, weighted, fontSize } = this, own = weighted ? "on" : "off", present = fontSize > 12;
    const narrow = present && weighted, shortOfRoom = narrow || (present && window.innerWidth <= 1150);
    const k = ["k", "k_j", (item) => short(item.k)], v = ["v", "v_j", (item) => short(item.v)];
    const power = ["", "e^{s}", (item) => decimals(item.exp, 3), ({ total }) => decimals(total, 3)];
    return [...(weighted && !narrow ? [k] : []), ...(weighted ? [v] : []),
      ["", labels[`head_score_${own}`], (item) => decimals(item.score, 3)], ...(shortOfRoom ? [] : [power]),
      ["weight", "α_{3j}", (item) => decimals(item.alpha, 3), () => "1"],
      ["a", labels[`head_part_${own}`], (item) => pair(item.part), ({ out }) => pair(out)]];
  }

  /** The table's cells, which stay while the hand moves, so that a field keeps the focus. */
  build() {
    const { table, labels, points } = this, columns = (this.columns = this.columnsHere());
    table.replaceChildren();
    this.stage.classList.toggle("weighted", this.weighted);
    const head = make("tr", "", make("thead", "", table)), body = make("tbody", "", table);
    for (const [kind, name] of [["", "j"], ["x", "x_j"], ...columns])
      marked(make("th", kind === "weight" ? "" : kind, head), name);
    this.fields = [];
    this.cells = points.map((_, j) => {
      const row = make("tr", j === points.length - 1 ? "own" : "", body);
      make("td", "", row, String(j + 1));
      const place = make("td", "x", row);
      this.fields.push([0, 1].map((c) => this.field(place, j, c, labels)));
      return columns.map(([kind]) => make("td", kind === "weight" ? "" : kind, row));
    });
    const sum = make("tr", "sum", body);
    make("td", "", sum, "Σ");
    make("td", "", sum);
    this.sums = columns.map(([kind]) => make("td", kind === "weight" ? "" : kind, sum));
    this.matrixLine.replaceChildren();
    if (this.weighted)
      for (const [name, rows] of Object.entries(this.matrices))
        marked(make("span", name.at(-1).toLowerCase(), this.matrixLine),
          `W^{${name.at(-1)}} = [${rows.map((row) => row.join(" ")).join("; ")}]`);
  }

  field(parent, j, c, labels) {
    const field = make("input", "", parent);
    Object.assign(field, { type: "number", min: -REACH, max: REACH, step: 0.1, value: this.points[j][c],
      ariaLabel: fill(labels.field, { j: j + 1, c: c + 1 }), onchange: () => this.move(j, c, Number(field.value)) });
    return field;
  }

  fillTable(found) {
    const { columns, labels } = this;
    found.items.forEach((item, j) => {
      this.fields[j].forEach((field, c) => { if (field.matches(":not(:focus)")) field.value = item.x[c]; });
      columns.forEach(([kind, , says], at) => {
        const cell = this.cells[j][at];
        cell.replaceChildren();
        if (kind === "weight") make("span", "weight", cell).style.width = `${4.5 * item.alpha}em`;
        cell.append(says(item));
      });
    });
    columns.forEach(([, , , says], at) => { this.sums[at].textContent = says?.(found) ?? ""; });
    const [first, second, third] = found.items.map((item) => decimals(item.alpha, 3));
    this.title.textContent = fill(labels.title, { first, second, third, out: pair(found.out) });
    const terms = found.items.map(({ alpha, v }) => `${decimals(alpha, 3)} · ${short(v)}`).join(" + ");
    marked(this.formula, `a_3 = Σ_{j≤3} α_{3j} ${this.weighted ? "v" : "x"}_j = ${terms} = ${pair(found.out)}`);
    this.note.textContent = labels.note;
  }

  // ---- the plane ----------------------------------------------------------------------------------------------------

  get scale() { return Math.min(this.surface.width, this.surface.height) / (2 * (REACH + MARGIN)); }

  /** The pixel of a point. @param {number[]} point */
  place([x, y]) {
    const { width, height } = this.surface;
    return [width / 2 + x * this.scale, height / 2 - y * this.scale];
  }

  draw() {
    const { surface, fontSize, labels } = this, found = attend(this.points, this.weighted ? this.matrices : null);
    [...this.variants.children].forEach((node, k) => { node.ariaChecked = String((k === 1) === this.weighted); });
    this.fillTable(found);
    surface.canvas.style.height = `${fitHeight(surface.canvas, 250, 460, fontSize > 12 ? 12 : 36)}px`;
    surface.measure();
    this.context = surface.begin();
    this.grid();
    this.hull(found);
    this.chain(found);
    found.items.forEach((item, j) => this.arrow(item.x, `x${SUBSCRIPTS[j]}`, "residual", j === 2 ? 3 : 2));
    if (this.weighted) this.roles(found);
    this.output(found.out);
    surface.canvas.ariaLabel = `${labels.plane} ${this.title.textContent}`;
  }

  grid() {
    const { context, theme: { ink }, fontSize } = this, most = Math.floor(REACH);
    for (let at = -most; at <= most; at += 1) {
      stroke(context, ink(at ? "grid" : "grid-ink"), 1);
      line(context, ...this.place([at, -REACH]), ...this.place([at, REACH]));
      line(context, ...this.place([-REACH, at]), ...this.place([REACH, at]));
      const [x, y] = this.place([at, 0]);
      if (at) write(context, decimals(at, 0), x, y + fontSize, ink("muted-ink"), "center",
        { font: `${fontSize - 1}px ${ink("mono")}`, halo: ink("page") });
    }
  }

  /** The triangle in which every average of the three lies. */
  hull({ items }) {
    const { context, theme: { ink } } = this;
    context.beginPath();
    for (const { v } of items) context.lineTo(...this.place(v));
    context.closePath();
    shade(context, ink, "value", 0.12);
    context.setLineDash([]);
  }

  /** The parts α v, one after the other from the origin: they end in the output. */
  chain({ items }) {
    const { context, theme: { ink } } = this;
    let [x, y] = [0, 0];
    stroke(context, ink("attention-ink"), 2, [2, 3]);
    for (const { part } of items) {
      const from = [x, y];
      [x, y] = [x + part[0], y + part[1]];
      line(context, ...this.place(from), ...this.place([x, y]));
    }
    context.setLineDash([]);
  }

  arrow(point, name, meaning, width, grip = true) {
    const { context, theme: { ink }, fontSize } = this, [x, y] = this.place(point), [ox, oy] = this.place([0, 0]);
    stroke(context, ink(`${meaning}-ink`), width);
    line(context, ox, oy, x, y);
    if (grip) dot(context, x, y, 7, ink(`${meaning}-ink`), ink("page"));
    else dot(context, x, y, 4.5, ink(`${meaning}-ink`), ink("page"), true);
    const away = Math.hypot(x - ox, y - oy) || 1, gap = fontSize + 4;
    write(context, name, x + (gap * (x - ox)) / away, y + (gap * (y - oy)) / away, ink(`${meaning}-ink`), "center",
      { font: `${grip ? "700 " : ""}${fontSize + 3}px ${ink("font")}`, halo: ink("page") });
  }

  /** The query, the keys and the values beside the vectors that they are made of. */
  roles({ q, items }) {
    items.forEach(({ k, v }, j) => {
      this.arrow(k, `k${SUBSCRIPTS[j]}`, "key", 1, false);
      this.arrow(v, `v${SUBSCRIPTS[j]}`, "value", 1, false);
    });
    this.arrow(q, "q₃", "query", 2, false);
  }

  /** The output, a diamond. */
  output(out) {
    const { context, theme: { ink }, fontSize } = this, [x, y] = this.place(out);
    diamond(context, x, y, OUTPUT, ink("attention"), ink("text"));
    write(context, "a₃", x + 14, y - 11, ink("attention-ink"), "left",
      { font: `700 ${fontSize + 4}px ${ink("font")}`, halo: ink("page") });
  }

  // ---- the hand -----------------------------------------------------------------------------------------------------

  pointed(x, y, phase) {
    if (!this.theme) return;
    const distances = this.points.map((point) => Math.hypot(...this.place(point).map((at, c) => at - [x, y][c])));
    const nearest = distances.indexOf(Math.min(...distances));
    if (phase === "down") this.held = distances[nearest] < GRIP ? nearest : null;
    if (phase === "up" || phase === "out") this.held = null;
    this.surface.canvas.style.cursor = this.held !== null ? "grabbing" : distances[nearest] < GRIP ? "grab" : "default";
    if (phase !== "drag" || this.held === null) return;
    const { width, height } = this.surface;
    const moved = [(x - width / 2) / this.scale, (height / 2 - y) / this.scale].map(rounded);
    this.changed({ points: this.points.map((point, j) => (j === this.held ? moved : point)) });
  }
}

export default mounted(Three);
