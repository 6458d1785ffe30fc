// One head, one query, step by step. Rows are keys, columns are stages; columns after the present step are faint and
// empty. The vectors are the model's own float32; all numbers that follow from them are computed here in float64, as in
// core/analysis/attention_steps.py.
import { unpack } from "../../core/components/lib/bytes.js";
import { deepest, hatch, line, matrixPicture, placePicture, stroke, write } from "../../core/components/lib/canvas.js";
import { button, chip, fill, make, marked, setRange, unmarked } from "../../core/components/lib/dom.js";
import { Instrument } from "../../core/components/lib/instrument.js";
import { liveAsker } from "../../core/components/lib/live.js";
import { decimals } from "../../core/components/lib/numbers.js";
import { showTip } from "../../core/components/lib/pattern.js";
import { Surface } from "../../core/components/lib/surface.js";
import { pageFoot } from "../../core/components/lib/theme.js";
import { mounted, roomBelow } from "../../core/components/lib/view.js";
import { levelsOf, numbersOf, product } from "./steps_work.js";

const NUMBERS = ["dot", "scale", "cap", "bias", "mask", "softmax"];
const MEANING = { X: "residual", q: "query", k: "key", v: "value", av: "value", out: "value", written: "attention" };
const BOLD_FRAMES = ["q", "out", "written"];

// For a step with another name than its columns: the columns that it fills, and the kind of number that it computes.
const COLUMNS = { x: ["X"], qkv: ["k", "v"], norm: ["k"], turn: ["k"], sum: ["av"], write: ["av"], matrix: [] };
const KINDS = { qkv: "q", norm: "q", turn: "k", matrix: "write" };

/** How a component of q or k is marked at each step that changes it. */
const MARKS = { qkv: "", norm: "\u0302", turn: "′" };

const reach = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9);

const isWithin = (column, x) => x >= column.x && x < column.x + column.w;
const componentAt = (column, x, count) => Math.floor(((x - column.x) / column.w) * count);

/** The arrays have a row for each key of the window, allowed and A with a column for each too; q and q_raw are the
 * query's; _raw as the projections made it; gain, mean and scale of the norm. angles: those of the rotated pairs at
 * position 1; cap: 0 for none; rest: the keys outside the window, top the largest score, sum that of e^(s − top).
 * @typedef {Record<"layer" | "head" | "position", number>} Chosen
 * @typedef {"X" | "stream" | "q_raw" | "K_raw" | "q" | "K" | "V" | "bias" | "written" | "allowed" | "Q" | "A" | "O"
 *   | "rest_head" | "rest_simple"} Arrays
 * @typedef {"v_S" | "q_gain" | "q_mean" | "q_scale" | "k_gain" | "k_mean" | "k_scale"} OfSome
 * @typedef {Record<Arrays, Float32Array> & Partial<Record<OfSome, Float32Array>> & {
 *   settings: { step: string, key: number, component: number, variant: "head" | "simple" }, chosen: Chosen,
 *   options: Record<keyof Chosen, string[]>, variantNames: string[], stageNames: Record<string, string[]>,
 *   window: number[], tokens: string[], sizes: Record<"n" | "d" | "d_k" | "d_v", number>, score: string,
 *   scaled: boolean, sink: number | null, norm: { epsilon: number, joint: boolean, heads: boolean } | null,
 *   angles: number[], turn_gain: number, divisor: number, cap: number, path: string, question: object,
 *   rest: Record<"head" | "simple", { top: number, sum: number }> & { count: number, name: string },
 *   labels: Record<string, string>, present: boolean }} Message */

/** @typedef {ReturnType<typeof numbersOf> & { data: Message, identity: string, simple: boolean,
 *   written: Float32Array | null, reaches: Record<string, number> }} Numbers */
/** @extends {Instrument<Message & Numbers>} */
class Steps extends Instrument {
  constructor(root) {
    super(root);
    this.settings = /** @type {Message["settings"]} */ ({});
    const bar = make("div", "bar", root);
    this.back = button(bar, "‹", "", () => this.move(-1), "go");
    this.range = make("input", "stepper", bar);
    Object.assign(this.range, { type: "range", min: 0, oninput: () => this.goTo(Number(this.range.value)) });
    this.forward = button(bar, "›", "", () => this.move(1), "go");
    this.picks = { layer: this.select(bar), head: this.select(bar), position: this.select(bar) };
    this.variants = make("div", "variants", bar);
    this.variants.role = "radiogroup";
    this.title = make("p", "title", root);
    this.title.ariaLive = "polite";
    this.stage = make("div", "stage", root);
    this.stage.role = "group";
    Object.assign(this.stage, { tabIndex: 0, onkeydown: (event) => this.key(event) });
    this.surface = new Surface(this.stage, "picture");
    this.surface.point((x, y, phase) => this.pointed(x, y, phase));
    this.tip = make("div", "tip", this.stage);
    this.tip.hidden = true;
    this.detail = make("div", "detail", root);
    this.note = make("p", "note", root);
    this.asker = liveAsker((bytes) => this.take(bytes), () => {});
  }

  select(parent) {
    const label = make("label", "pick", parent), name = make("span", "", label), node = make("select", "", label);
    node.onchange = () => this.trigger("picked", { [node.name]: Number(node.value) });
    return { name, node };
  }

  /** @param {Message} header */
  receive(header) {
    super.receive(header);
    const { settings, labels, ...rest } = header;
    Object.assign(this, rest, { data: header });
    this.fillControls();
    this.work();
    const identity = JSON.stringify([header.question, header.chosen, header.tokens]);
    if (identity !== this.identity) this.focus = null;      // a rerun of the same keeps the opened cell
    Object.assign(this, { identity, dirty: true });
  }

  fillControls() {
    const { labels, back, forward, range: slider, stage: keys } = this;
    for (const [name, node] of Object.entries({ back, forward, slider, keys }))
      node.ariaLabel = labels[name];
    for (const [name, { name: title, node }] of Object.entries(this.picks)) {
      const options = this.options[name], wanted = options.join("\n");
      title.textContent = labels[name];
      node.ariaLabel = labels[name];
      node.name = name;
      if (node.wanted !== wanted) node.replaceChildren(...options.map((text, k) => new Option(text, String(k))));
      node.wanted = wanted;
      node.value = this.chosen[name];
    }
    if (this.variants.childElementCount === this.variantNames.length) return;
    this.variants.replaceChildren();
    for (const variant of this.variantNames)
      button(this.variants, labels[`variant_${variant}`], "", () => this.changed({ variant }), "go").role = "radio";
  }

  /** Compute all numbers of the present variant, and the value of the deepest colour in each column. */
  work() {
    const { data } = this, simple = this.settings.variant === "simple";
    const numbers = numbersOf(data, simple), { q, items, out } = numbers;
    this.stages = this.stageNames[simple ? "simple" : "head"];
    this.levels = simple ? { qkv: { q, K: items.map((item) => item.K) } } : levelsOf(data, this.stages);
    const now = this.levels[this.level], written = simple ? null : data.written;
    for (const item of items) Object.assign(item, { token: this.tokens[item.r], k: now.K[item.r] });
    const vectors = simple ? data.stream : data.X;
    const reaches = { X: deepest(vectors), qk: simple ? 1 : Math.max(reach(now.q), ...now.K.map(reach)),
      v: reach(simple ? vectors : data.V), av: reach([...out, ...items.map((item) => reach(item.AV))]),
      written: reach(written ?? []) };
    Object.assign(this, numbers, { simple, written, reaches });
  }

  /** The last step that the reader has reached of those that change q and k. */
  get level() {
    return ["turn", "norm"].find((name) => this.levels[name] && this.stages.indexOf(name) <= this.at) ?? "qkv";
  }

  /** The query as the reader sees it now. */
  get query() { return this.levels[this.level].q; }

  get weighted() { return this.score === "multiplicative"; }

  get s() { return this.fontSize / 12; }

  /** The reader's step; the last one in a model that has no such step. */
  get step() { return this.stages.includes(this.settings.step) ? this.settings.step : this.stages.at(-1); }

  get at() { return this.stages.indexOf(this.step); }

  /** The picked key: the reader's, if it is in the window, or else, once there are weights, the one with the largest,
      and the query's own before. */
  get picked() {
    return this.items.find((item) => item.j === this.settings.key) ?? (this.open("softmax")
      ? this.items.reduce((best, item) => (item.alpha > best.alpha ? item : best)) : this.items[this.i]);
  }

  /** The kind of number that is shown in detail and its component: the clicked one, else what the step makes. */
  get opened() {
    const { step, focus, settings, weighted } = this;
    const kind = step === "turn" && weighted ? "q" : KINDS[step] ?? step;
    return { kind: focus?.kind ?? kind, c: focus?.c ?? settings.component };
  }

  move(by) { this.goTo(this.at + by); }

  goTo(index) {
    const step = this.stages[Math.max(0, Math.min(this.stages.length - 1, index))];
    if (step !== this.step) this.changed({ step });
  }

  /** The reader has set something; `focus` is the cell that was opened, if any. */
  changed(settings, focus = null) {
    Object.assign(this.settings, settings);
    Object.assign(this, { focus, dirty: true });
    this.work();
    this.schedule();
    this.commit();
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], row = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step && !row) return;
    event.preventDefault();
    event.stopPropagation();
    const { items, picked, focus } = this;
    if (step) this.move(step);
    else this.changed({ key: items[Math.max(0, Math.min(items.length - 1, picked.r + row))].j }, focus);
  }

  // ---- layout and drawing -------------------------------------------------------------------------------------------

  /** The columns that are shown, by name: {x, w}. On a narrow page only those near the present step. */
  columns(width, names) {
    const { s, step, simple, stages } = this, narrow = width < 680 * s, gap = narrow ? 8 : 12;
    const strips = simple ? { X: 1.5, av: 1.5 } : { X: 1.2, k: 1.2, v: 1, av: 1 };
    const all = ["X", "k", ...NUMBERS, "v", "av"].filter((name) => name in strips || stages.includes(name));
    const before = stages[this.at - 1], near = { sum: ["softmax", simple ? "X" : "v", "av"], write: ["v", "av"],
      matrix: ["softmax", "av"] }[step] ?? COLUMNS[step] ?? [(COLUMNS[before] ?? [before])[0], step];
    const shown = narrow ? all.filter((name) => near.includes(name)) : all;
    const fixed = (name) => (name in strips ? 0 : (name === "softmax" ? 1.55 : 1) * 68 * s);
    const sum = (widthOf) => shown.reduce((total, name) => total + widthOf(name), 0);
    const free = width - names - gap * shown.length - 2 - sum(fixed), weight = sum((name) => strips[name] ?? 0);
    const columns = {};
    let x = names + gap;
    for (const name of shown) {
      const w = fixed(name) || (free * strips[name]) / weight;
      columns[name] = { x, w };
      x += w + gap;
    }
    return columns;
  }

  arrange() {
    const { surface: { width }, s, simple, rest } = this, header = 34 * s, names = (width < 680 * s ? 84 : 100) * s;
    const lines = this.items.length + 2 + (rest.count ? 1 : 0) + (simple ? 0 : 1);
    const present = s > 1, room = roomBelow(this.stage) - Math.max(158, pageFoot() + (present ? 200 : 167));
    const height = Math.max((present ? 13 : 15) * s, Math.min(25 * s, (room - header - 8) / lines));
    let y = header;
    const next = () => { const top = y; y += height; return top; };
    const places = { query: next(), rest: rest.count ? next() : null, keys: this.items.map(next) };
    y += 4;
    Object.assign(places, { out: next(), written: simple ? null : next() });
    return { columns: this.columns(width, names), names, places, height, header, total: Math.ceil(y + 4) };
  }

  draw() {
    if (!this.items) return;
    const { surface, range, stages, at } = this, before = this.layout;
    surface.measure();
    this.layout = this.arrange();
    if (before?.total !== this.layout.total) {
      surface.canvas.style.height = `${this.layout.total}px`;
      surface.measure();
    }
    range.max = stages.length - 1;
    setRange(range, at);
    range.ariaValueText = unmarked(this.labels[this.ofVariant(`stage_${this.step}`)]);
    // a disabled button would lose the focus
    this.back.ariaDisabled = String(at === 0);
    this.forward.ariaDisabled = String(at === stages.length - 1);
    [...this.variants.children]
      .forEach((node, k) => { node.ariaChecked = String(this.variantNames[k] === this.settings.variant); });
    this.paint();
    if (this.dirty) this.say();
    this.dirty = false;
    // the numbers in detail take the rest of the first screen, and scroll where that is not enough
    const room = roomBelow(this.detail) - Math.max(40, pageFoot() + 17);
    this.detail.style.maxHeight = `${Math.max(this.fontSize > 12 ? 88 : 118, room)}px`;
  }

  /** Whether a column's stage has been reached. */
  open(name) {
    const source = this.simple ? "x" : "qkv";
    const stage = { X: "x", k: source, v: source, av: "sum", out: "sum", written: "write" }[name] ?? name;
    return this.stages.indexOf(stage) <= this.at;
  }

  font(size, bold = false, mono = false) {
    this.context.font = `${bold ? "700 " : ""}${size * this.s}px ${this.theme.ink(mono ? "mono" : "font")}`;
  }

  paint() {
    const { surface, layout: { columns, places, height }, theme: { ink }, picked, chosen, tokens, i, reaches } = this;
    const context = (this.context = surface.begin());
    context.fillStyle = ink("panel");
    context.fillRect(0, places.keys[picked.r], surface.width, height);
    for (const [name, column] of Object.entries(columns)) this.paintHeading(name, column);
    this.font(11.5, true, true);
    this.name(`${this.labels.query_row} ${chosen.position} ${tokens[i]}`, places.query, "query-ink");
    this.strip(columns.X, places.query, this.items[i].X, reaches.X, "X");
    this.strip(columns.k, places.query, this.query, reaches.qk, "q", this.open("k"));
    if (places.rest !== null) this.restRow();
    for (const item of this.items) this.row(item, item === picked);
    this.outRows();
    this.markComponent();
  }

  paintHeading(name, { x, w }) {
    const { context, s, theme: { ink }, layout: { header }, step } = this;
    context.fillStyle = ink("accent-ink");
    if ((COLUMNS[step] ?? [step]).includes(name)) context.fillRect(x, header - 4, w, 2.5);
    context.globalAlpha = this.open(name) ? 1 : 0.7;
    this.font(12.5, true);
    write(context, this.heading(name), x, 9 * s, ink(MEANING[name] ? `${MEANING[name]}-ink` : "text"));
    this.font(10.5);
    write(context, this.shape(name), x, 23 * s, ink("muted"));
    context.globalAlpha = 1;
  }

  heading(name) {
    const { labels, simple, level } = this;
    if (simple) return labels[this.ofVariant(`head_${name}`)];
    if (name === "k" && level !== "qkv")
      return labels[level === "norm" ? "head_normed" : this.weighted ? "head_weighted" : "head_turned"];
    if (name === "scale" && this.ownDivisor) return `÷ ${this.rootSign}`;
    return name === "dot" && this.score === "additive" ? labels.head_additive : labels[`head_${name}`];
  }

  /** The label of that name that speaks of the simple variant, where it is shown and has one. */
  ofVariant(name) {
    const simple = name.replace("_", "_simple_");
    return this.simple && simple in this.labels ? simple : name;
  }

  shape(name) {
    const { d, d_k } = this.sizes, n = { X: d, k: d_k, v: this.width, av: this.width }[name];
    return n ? fill(this.labels.width, { n }) : this.labels[`unit_${name}`] ?? "";
  }

  name(text, y, meaning) {
    const { context, layout: { names, height } } = this;
    context.save();
    context.beginPath();
    context.rect(0, y, names, height);
    context.clip();
    write(context, text, 2, y + height / 2, this.theme.ink(meaning));
    context.restore();
  }

  /** A vector as cells in a column that is shown; a dashed frame until its step is reached. */
  strip(column, y, values, most, kind, open = true) {
    if (!column) return;
    const { context, theme, layout: { height } } = this, { x, w } = column, gap = height > 18 ? 2 : 1;
    if (open)
      placePicture(context, matrixPicture(1, values.length, (_, c) => values[c], theme.table("div"), -most, most), x,
        y + gap, w, height - 2 * gap);
    stroke(context, theme.ink(open ? `${MEANING[kind]}-ink` : "grid"), BOLD_FRAMES.includes(kind) ? 2 : 1,
      open ? [] : [2, 3]);
    context.strokeRect(x, y + gap, w, height - 2 * gap);
    context.setLineDash([]);
  }

  /** A number at the right of a column. */
  number(text, { x, w }, y) {
    write(this.context, text, x + w - 2, y + this.layout.height / 2, this.theme.ink("text"), "right");
  }

  /** A weight as a bar and in digits. */
  weightBar(column, y, alpha, meaning) {
    const { context, theme: { ink }, layout: { height }, s } = this, bar = column.w - 58 * s;
    context.fillStyle = ink("grid");
    context.fillRect(column.x, y + height / 2 - 0.5, bar, 1);
    context.fillStyle = ink(meaning);
    context.fillRect(column.x, y + height * 0.22, bar * alpha, height * 0.56);
    this.number(alpha ? decimals(alpha) : "0", column, y);
  }

  row(item, picked) {
    const { columns, places } = this.layout, { X, qk, v, av } = this.reaches, y = places.keys[item.r];
    this.font(11.5, picked, true);
    this.name(`${String(item.j).padStart(2)} ${item.token}`, y, picked ? "key-ink" : "text");
    const vectors = { X: [item.X, X], k: [item.k, qk], v: [item.V, v], av: [item.AV, av] };
    for (const [name, [vector, most]] of Object.entries(vectors))
      this.strip(columns[name], y, vector, most, name, this.open(name));
    this.font(11, picked, true);
    for (const name of NUMBERS) {
      const column = columns[name];
      if (!column || !this.open(name)) continue;
      if (name === "mask" && !item.seen) this.hidden(column, y);
      else if (name === "softmax") this.weightBar(column, y, item.alpha, "kept");
      else this.number(decimals(name === "mask" ? item.score : item[name]), column, y);
    }
  }

  /** A score that the mask removes. */
  hidden(column, y) {
    const { context, theme: { ink }, layout: { height }, s } = this, { x, w } = column, wide = 30 * s;
    hatch(context, x, y + 2, w, height - 4, ink("grid-ink"), 6);
    context.fillStyle = ink("page");
    context.fillRect(x + w - wide, y + 2, wide, height - 4);
    this.number("−∞", column, y);
  }

  /** The keys outside the window, in one row. */
  restRow() {
    const { context, layout: { columns, places: { rest: y }, height } } = this, centre = y + height / 2;
    this.font(11, false, true);
    this.name(this.rest.name, y, "muted");
    stroke(context, this.theme.ink("grid"), 1, [2, 4]);
    for (const { x, w } of [columns.X, columns.k, columns.v].filter(Boolean)) line(context, x, centre, x + w, centre);
    context.setLineDash([]);
    if (columns.softmax && this.open("softmax")) this.weightBar(columns.softmax, y, this.restAlpha, "excluded");
    this.strip(columns.av, y, this.restAV, this.reaches.av, "av", this.open("av"));
  }

  /** The head's output and, in a model's head, what it writes to the stream. */
  outRows() {
    const { layout: { columns, places }, labels, simple, reaches, surface } = this, open = this.open("out");
    this.font(11.5, true);
    this.name(labels[simple ? "row_out_simple" : "row_out"], places.out, open ? "value-ink" : "muted");
    if (places.written !== null) {
      const shown = this.open("written"), { x } = columns.X ?? Object.values(columns)[0];
      this.name(labels.row_written, places.written, shown ? "attention-ink" : "muted");
      const column = columns.X && columns.av ? this.wholeWidth : { x, w: surface.width - x - 4 };
      this.strip(column, places.written, this.written, reaches.written, "written", shown);
    }
    this.font(11, true, true);
    if (columns.softmax && this.open("softmax"))
      this.number(`${labels.sum_is} ${this.sinkExp ? decimals(1 - this.sinkAlpha) : 1}`, columns.softmax, places.out);
    this.strip(columns.av, places.out, this.out, reaches.av, "out", open);
  }

  /** The columns from X to α v as one: the place of the strip of what the head writes. */
  get wholeWidth() {
    const { X, av } = this.layout.columns;
    return { x: X.x, w: av.x + av.w - X.x };
  }

  /** Frame the component that is shown in detail, in every strip that contains it. */
  markComponent() {
    const { context, layout: { columns, places, height }, sizes: { d, d_k }, width, picked } = this;
    const { kind, c } = this.opened, row = places.keys[picked.r];
    const [name, count, ...rows] = { sum: ["av", width, ...places.keys, places.out], q: ["k", d_k, places.query],
      k: ["k", d_k, row], v: ["v", width, row], x: ["X", d, row] }[kind] ?? [];
    const column = columns[name];
    if (!column || c >= count || !this.open(name)) return;
    stroke(context, this.theme.ink("text"), 1.5);
    for (const y of rows)
      context.strokeRect(column.x + (c / count) * column.w - 0.5, y + 0.5, Math.max(3, column.w / count) + 1,
        height - 1);
  }

  // ---- the hand -----------------------------------------------------------------------------------------------------

  /** The cell under the pointer: {kind, item, c} or null. */
  cellAt(x, y) {
    const { layout: { columns, places, height, names }, simple, width, sizes: { d, d_k } } = this;
    const inside = (top) => top !== null && y >= top && y < top + height;
    if (inside(places.written) && columns.X && columns.av) return this.writtenAt(x);
    const item = this.items[places.keys.findIndex(inside)];
    if (item && x < names) return { kind: "name", item };
    const name = Object.keys(columns).find((key) => isWithin(columns[key], x));
    if (!name || !this.open(name)) return null;
    const c = componentAt(columns[name], x, { X: d, k: d_k, v: width, av: width }[name]);
    if (inside(places.query))
      return { k: { kind: "q", c }, X: { kind: "x", item: this.items[this.i], c } }[name] ?? null;
    if (inside(places.out)) return name === "av" ? { kind: "sum", c } : null;
    if (!item) return null;
    return NUMBERS.includes(name) ? { kind: name, item }
      : { kind: { X: "x", k: "k", v: simple ? "x" : "v", av: "sum" }[name], item, c };
  }

  writtenAt(x) {
    const column = this.wholeWidth, inside = isWithin(column, x) && this.open("written");
    return inside ? { kind: "write", c: componentAt(column, x, this.sizes.d) } : null;
  }

  pointed(x, y, phase) {
    const cell = phase === "out" || !this.layout ? null : this.cellAt(x, y);
    this.stage.style.cursor = cell ? "pointer" : "";
    this.tip.hidden = !cell || cell.kind === "name";
    if (!this.tip.hidden) {
      const reading = make("span");
      marked(reading, this.reading(cell));
      showTip(this.tip, [reading], x, y - 8, 20);
    }
    if (phase !== "down" || !cell) return;
    const { kind, item, c } = cell;
    this.stage.focus({ preventScroll: true });
    this.changed({ ...(item && { key: item.j }), ...(c !== undefined && { component: c }) },
      kind === "name" ? null : { kind, c });
  }

  /** @param {{kind: string, item?: any, c?: number}} cell */
  reading({ kind, item, c }) {
    const i = this.chosen.position, j = item?.j, dotted = this.dotSymbol(j);
    const [symbol, value] = {
      x: [`x_{${j},${c}}`, item?.X[c]], q: [this.component("q", i, c), this.query[c]],
      k: [this.component("k", j, c), item?.k[c]], v: [`v_{${j},${c}}`, item?.V[c]],
      sum: item ? [`α_{${i},${j}} v_{${j},${c}}`, item.AV[c]] : [`o_{${i},${c}}`, this.out[c]],
      write: [`(o W_{O})_{${c}}`, this.written?.[c]], dot: [dotted, item?.dot],
      scale: [`${dotted} / ${this.rootSign}`, item?.scale], cap: [`s_{${i},${j}}`, item?.cap],
      bias: [`b_{${i},${j}}`, item?.bias],
      mask: [`s_{${i},${j}}`, item?.seen ? item.score : -Infinity], softmax: [`α_{${i},${j}}`, item?.alpha],
    }[kind];
    return `${symbol} = ${decimals(value)}`;
  }

  dotSymbol(j) {
    const i = this.chosen.position, { mark } = this;
    return this.simple ? `x_{${i}}·x_{${j}}` : this.score === "additive" ? `v·tanh(q_{${i}} + k_{${j}})`
      : `q${mark}_{${i}}${this.weighted ? " W_{S}" : ""}·k${mark}_{${j}}`;
  }

  /** The root that divides a product, by its symbol. */
  get rootSign() { return this.simple ? "√d" : this.ownDivisor ? decimals(this.data.divisor, 6) : "√d_k"; }

  /** Whether this model divides its products by a number of its own. */
  get ownDivisor() { return Math.abs(this.data.divisor / Math.sqrt(this.sizes.d_k) - 1) > 1e-9; }

  /** The mark of the vectors that the scores are made of. */
  get mark() { return MARKS[this.levels.turn && !this.weighted ? "turn" : this.levels.norm ? "norm" : "qkv"]; }

  /** A component of q or k as it is now, by its name: q̂ after the norm, q′ after the turn. */
  component(name, row, c, level = this.level) {
    if (level === "turn" && this.weighted) return name === "q" ? `(q_{${row}} W_{S})_{${c}}` : `k_{${row},${c}}`;
    return `${name}${MARKS[level]}_{${row},${c}}`;
  }

  /** The head's weights, once they are here; the first time they are asked for. */
  get weights() {
    const name = JSON.stringify(this.question);
    if (this.held?.name === name) return this.held.weights;
    if (this.asked !== name) this.asker.ask(this.path, this.question);
    this.asked = name;
    return null;
  }

  take(bytes) {
    const weights = unpack(bytes);
    this.held = { name: JSON.stringify(weights.asked), weights };
    this.dirty = true;
    this.schedule();
  }

  // ---- the numbers in detail ----------------------------------------------------------------------------------------

  say() {
    const { labels, step, picked, items, rest, restAlpha } = this, seen = items.filter((item) => item.seen).length;
    const values = { ...this.sizes, i: this.chosen.position, j: picked.j, query: this.tokens[this.i], key: picked.token,
      n: this.at + 1, all: this.stages.length, alpha: decimals(picked.alpha), divisor: decimals(this.data.divisor, 6),
      cap: decimals(this.data.cap, 6), sink: decimals(this.sinkAlpha), score: decimals(picked.score), seen,
      masked: items.length - seen };
    const template = labels[this.sentenceOf(step, values.masked)] ?? labels[`say_${step}`];
    this.sentence(this.title, `${labels.count} ${template}`, values);
    this.surface.canvas.ariaLabel = this.title.textContent;
    const alpha = restAlpha ? decimals(restAlpha) : "0";
    const others = labels[this.open("softmax") ? "note_rest" : "note_rest_before"];
    const outside = rest.count ? fill(others, { name: rest.name, n: rest.count, alpha }) : "";
    this.note.textContent = `${labels[this.simple ? "note_simple" : "note"]} ${outside}`;
    this.detail.replaceChildren();
    if (step === "matrix" && !this.focus) this.matrixForm();
    else this.workedOut(this.opened, picked);
  }

  /** The name of the label that describes a step, in this variant and for this score function. */
  sentenceOf(step, masked) {
    if (step === "mask" && !masked) return "say_mask_none";
    if (this.simple) return this.ofVariant(`say_${step}`);
    if (step === "scale" && this.ownDivisor) return "say_scale_own";
    if (step === "softmax" && this.sinkExp) return "say_softmax_sink";
    if (step === "dot" && this.score === "additive") return "say_additive";
    return step === "turn" && this.weighted ? "say_weighted" : `say_${step}`;
  }

  /** A template whose {query} and {key} become chips; the rest may have _ and ^ marks. */
  sentence(node, template, values) {
    node.replaceChildren();
    for (const part of template.split(/(\{(?:query|key)\})/)) {
      const token = /^\{(query|key)\}$/.exec(part)?.[1];
      if (token) chip(node, values[token]);
      else marked(make("span", "", node), fill(part, values));
    }
  }

  /** The sum that leads to a number; to its component c, if numbers of its kind are vectors. */
  workedOut({ kind, c }, item) {
    const { sizes: { d, d_k }, chosen: { position: i }, levels, weighted, level, width } = this;
    const altered = ["q", "k"].includes(kind) && level !== "qkv" && !(weighted && level === "turn");
    if (["q", "k", "v", "write"].includes(kind) && !altered && !this.weights)
      return this.formula("", this.labels.weights_wait);
    const at = Math.min(c, ({ q: d_k, k: d_k, v: width, sum: width, x: d, write: d }[kind] ?? c + 1) - 1);
    const key = (name) => levels[name].K[item.r], query = (name) => levels[name].q;
    const details = {
      x: () => this.formula(`x_{${item.j},${at}} = ${decimals(item.X[at])}`, this.labels[this.ofVariant("x_says")]),
      q: () => (altered ? this.alteredDetail("q", i, query, at) : level === "turn" ? this.weightedDetail(at)
        : this.projected("q", this.items[this.i].X, i, query("qkv"), at)),
      k: () => (altered ? this.alteredDetail("k", item.j, key, at)
        : this.projected("k", item.X, item.j, key("qkv"), at)),
      v: () => this.projected("v", item.X, item.j, item.V, at),
      dot: () => this.dotDetail(item), scale: () => this.scaleDetail(item),
      cap: () => this.capDetail(item), bias: () => this.biasDetail(item),
      mask: () => this.maskDetail(item), softmax: () => this.softmaxDetail(item), sum: () => this.sumDetail(at),
      write: () => this.writtenDetail(at),
    };
    return details[kind]();
  }

  /** A component of a row times the head's matrix of that name. */
  timesMatrix(left, row, name, c, names, meanings, result) {
    const W = this.weights[name], width = W.length / row.length;
    this.terms(left, row, Float64Array.from(row, (_, r) => W[r * width + c]), names, meanings, result);
  }

  /** A component of q, k or v as the head's projection makes it from x. */
  projected(name, X, row, vector, c) {
    const letter = name.toUpperCase(), bias = this.weights[`b_${letter}`]?.[c], symbol = `b_{${letter},${c}}`;
    const [term, note] = bias === undefined ? ["", ""] : [` + ${symbol}`, `   (${symbol} = ${decimals(bias)})`];
    this.timesMatrix(`${name}_{${row},${c}} = Σ_{c'} x_{${row},c'} W_{${letter},c',${c}}${term}`, X, `W_${letter}`, c,
      ["x", `W_${letter}`], ["residual", MEANING[name]], `= ${decimals(vector[c])}${note}`);
  }

  /** A component of q or k after its norm or its turn; at(step) is the vector after that step. */
  alteredDetail(name, row, at, c) {
    if (this.level === "norm") return this.normedDetail(name, row, at("qkv"), at("norm"), c);
    return this.turnedDetail(name, row, at(this.levels.norm ? "norm" : "qkv"), at("turn"), c);
  }

  /** A component of the query times W_S, of a multiplicative score. */
  weightedDetail(c) {
    const i = this.chosen.position;
    this.timesMatrix(`${this.component("q", i, c)} = Σ_a q_{${i},a} W_{S,a,${c}}`, this.levels.qkv.q, "W_S", c,
      ["q", "W_S"], ["query", "text"], `= ${decimals(this.q[c])}`);
  }

  dotDetail({ j, K, dot }) {
    const i = this.chosen.position, left = `${this.dotSymbol(j)} = Σ_c`, result = `= ${decimals(dot)}`;
    if (this.simple)
      return this.terms(`${left} x_{${i},c} x_{${j},c}`, this.q, K, ["x", "x"], ["residual", "residual"], result);
    if (this.score === "additive")
      return this.terms(`${left} v_c tanh(q_{${i},c} + k_{${j},c})`, this.data.v_S,
        Float64Array.from(this.q, (value, at) => Math.tanh(value + K[at])), ["v", "tanh"], ["text", "key"], result);
    const [q, k] = [`q${this.mark}`, `k${this.mark}`], query = this.weighted ? `(q_{${i}} W_{S})_c` : `${q}_{${i},c}`;
    return this.terms(`${left} ${query} ${k}_{${j},c}`, this.q, K, [q, k], ["query", "key"], result);
  }

  scaleDetail(item) {
    if (!this.simple && this.ownDivisor) {
      const quotient = `${this.dotSymbol(item.j)} / ${this.rootSign} = ${decimals(item.dot, 6)} / ${this.rootSign}`;
      return this.formula(`${quotient} = ${decimals(item.scale)}`, this.labels.scale_own_says);
    }
    const n = this.sizes[this.simple ? "d" : "d_k"], dot = decimals(item.dot, 6), root = decimals(Math.sqrt(n), 6);
    const left = `${this.dotSymbol(item.j)} / ${this.rootSign}`;
    this.formula(`${left} = ${dot} / √${n} = ${dot} / ${root} = ${decimals(item.scale)}`,
      this.labels[this.ofVariant("scale_says")]);
  }

  capDetail({ j, scale, cap }) {
    const most = decimals(this.data.cap, 6), left = `s_{${this.chosen.position},${j}} = ${most}`;
    this.formula(`${left} tanh(${decimals(scale, 6)} / ${most}) = ${decimals(cap)}`, this.labels.cap_says);
  }

  biasDetail({ j, cap, bias, score }) {
    const sum = `${decimals(cap, 6)} + (${decimals(bias, 6)}) = ${decimals(score)}`;
    this.formula(`s_{${this.chosen.position},${j}} = ${sum}`, this.labels.bias_says);
  }

  maskDetail({ j, seen, score }) {
    const i = this.chosen.position;
    this.formula(`s_{${i},${j}} = ${seen ? decimals(score) : "−∞,  e^{−∞} = 0"}`,
      fill(this.labels[seen ? "mask_seen" : "mask_hidden"], { i, j }));
  }

  sumDetail(c) {
    const i = this.chosen.position, rows = this.items.filter((item) => item.seen), name = this.simple ? "x" : "v";
    const carried = this.restAlpha ? `+ ${decimals(this.restAV[c])} (${this.rest.name}) ` : "";
    this.terms(`o_{${i},${c}} = Σ_j α_{${i},j} ${name}_{j,${c}}`, rows.map((item) => item.alpha),
      rows.map((item) => item.V[c]), ["α", name], ["text", this.simple ? "residual" : "value"],
      `${carried}= ${decimals(this.out[c])}`, rows.map((item) => item.j));
  }

  writtenDetail(c) {
    this.timesMatrix(`(o W_{O})_{${c}} = Σ_a o_{${this.chosen.position},a} W_{O,a,${c}}`, this.out, "W_O", c,
      ["o", "W_O"], ["value", "attention"], `= ${decimals(this.written[c])}`);
  }

  formula(text, note) {
    marked(make("p", "formula", this.detail), text);
    if (note) marked(make("p", "says", this.detail), note);
  }

  /** A sum of products: every term as two numbers and their product, then the result. */
  terms(left, a, b, names, meanings, result, labels = [...a.keys()]) {
    this.formula(`${left} ${result}`);
    this.table(["", names[0], `× ${names[1]}`, "="],
      labels.map((label, k) => [label, ...[a[k], b[k], a[k] * b[k]].map((value) => decimals(value))]), meanings);
  }

  /** Columns of texts beside their legend: a label, numbers, and their result; column `picked` is the reader's. */
  table(legend, rows, meanings = [], picked = -1) {
    const list = make("div", "terms", this.detail), first = make("span", "term legend", list);
    for (const text of legend) marked(make("span", "", first), text);
    rows.forEach(([label, ...numbers], k) => {
      const term = make("span", `term ${k === picked ? "own" : ""}`, list), last = numbers.pop();
      make("small", "", term, label);
      numbers.forEach((number, at) => make("span", meanings[at], term, number));
      make("b", "", term, last);
    });
  }

  /** A component over the root mean square of its vector, times its gain; then the sum of squares. */
  normedDetail(name, row, input, output, c) {
    const { norm: { epsilon, joint, heads }, sizes: { d_k }, data } = this, gain = data[`${name}_gain`][c];
    if (heads) return this.standardisedDetail(name, row, input, output, c);
    const squares = product(input, input), rms = data[`${name}_scale`][name === "q" ? 0 : this.picked.r];
    const shown = `${decimals(gain, 6)} · ${decimals(input[c], 6)} / ${decimals(rms, 6)} = ${decimals(output[c])}`;
    this.formula(`${this.component(name, row, c)} = g_{${c}} ${name}_{${row},${c}} / rms = ${shown}`,
      this.labels[joint ? "norm_joint_says" : "norm_says"]);
    if (joint) return;
    this.terms(`rms^{2} = Σ_a ${name}_{${row},a}^{2} / d_k + ε`, input, input, [name, name],
      [MEANING[name], MEANING[name]], `= ${decimals(squares, 6)} / ${d_k} + ${epsilon} = ${decimals(rms * rms, 6)}`);
  }

  /** A component less its vector's mean, over its standard deviation, times its gain; then both from the components. */
  standardisedDetail(name, row, input, output, c) {
    const { norm: { epsilon }, sizes: { d_k }, data } = this, at = name === "q" ? 0 : this.picked.r;
    const [gain, mean, scale] = [data[`${name}_gain`][c], data[`${name}_mean`][at], data[`${name}_scale`][at]];
    const [g, x, mu, sigma] = [gain, input[c], mean, scale].map((value) => decimals(value, 6));
    this.formula(`${this.component(name, row, c)} = g_{${c}} (${name}_{${row},${c}} − μ) / σ = ${
      g} · (${x} − (${mu})) / ${sigma} = ${decimals(output[c])}`, this.labels.norm_heads_says);
    const numbers = Float64Array.from(input), centred = numbers.map((value) => value - mean);
    const sum = numbers.reduce((total, value) => total + value, 0), squares = product(centred, centred);
    const square = decimals(scale * scale, 6);
    this.formula(`μ = Σ_a ${name}_{${row},a} / d_k = ${decimals(sum, 6)} / ${d_k} = ${mu}`);
    this.formula(`σ^{2} = Σ_a (${name}_{${row},a} − μ)^{2} / d_k + ε = ${decimals(squares, 6)} / ${d_k} + ${
      epsilon} = ${square}`);
    const rows = [...numbers].map((value, a) => [a, ...[value, centred[a], centred[a] ** 2].map((v) => decimals(v))]);
    this.table(["", name, `${name} − μ`, "(…)^{2}"], rows, [MEANING[name], MEANING[name]], c);
  }

  /** A component of q or k turned together with the other of its pair, or unchanged where the model turns only the
      first components. */
  turnedDetail(name, row, input, output, c) {
    const { angles, labels } = this, half = angles.length, left = this.component(name, row, c, "turn");
    const symbol = (at) => this.component(name, row, at, this.levels.norm ? "norm" : "qkv");
    if (c >= 2 * half) return this.formula(`${left} = ${symbol(c)} = ${decimals(output[c])}`, labels.turn_left);
    const pair = c % half, angle = row * angles[pair];
    const gain = this.data.turn_gain, longer = gain === 1 ? "" : ` ${labels.turn_gain}`;
    const [a, b, cos, sin] = [input[pair], input[pair + half], gain * Math.cos(angle), gain * Math.sin(angle)]
      .map((value) => decimals(value, 6));
    const turn = c < half
      ? `${symbol(pair)} cos θ − ${symbol(pair + half)} sin θ = ${a} · ${cos} − (${b} · ${sin})`
      : `${symbol(pair)} sin θ + ${symbol(pair + half)} cos θ = ${a} · ${sin} + ${b} · ${cos}`;
    this.formula(`${left} = ${turn} = ${decimals(output[c])}`,
      fill(labels.turn_says + longer,
        { name, j: row, omega: decimals(angles[pair], 6), angle: decimals(angle, 6), half, gain: decimals(gain, 6) }));
  }

  softmaxDetail(item) {
    const { restAlpha, sinkExp, total, rest, labels } = this, seen = this.items.filter((key) => key.seen);
    const quotient = `${decimals(item.exp, 6)} / ${decimals(total, 6)} = ${decimals(item.alpha)}`;
    const symbol = `α_{${this.chosen.position},${item.j}}`, top = decimals(this.top, 6);
    this.formula(`${symbol} = e^{s − m} / Σ = ${quotient}   (m = ${top})`);
    const outside = restAlpha ? [[rest.name, "…", decimals(restAlpha * total), decimals(restAlpha)]] : [];
    if (sinkExp) outside.push([labels.sink, decimals(this.data.sink), decimals(sinkExp), decimals(this.sinkAlpha)]);
    const rows = seen.map(({ j, score, exp, alpha }) => [j, decimals(score), decimals(exp), decimals(alpha)]);
    this.table(["j", "s", "e^(s−m)", "α"], [...outside, ...rows], [],
      item.seen ? outside.length + seen.indexOf(item) : -1);
  }

  /** softmax(QKᵀ/√d_k) V with the model's own matrices for the keys of the window, and the shapes of
      the whole prompt. */
  matrixForm() {
    const { data, labels, sizes: { n, d_k, d_v }, items } = this, m = items.length;
    const tall = Math.max(5, Math.min(10, 68 / m)), thin = Math.max(1.2, (tall * m) / d_k);
    const wide = Math.max(2.5, 110 / d_k), framed = true;
    const matrix = (symbol, shape, values, columns, cell, meaning, more) =>
      ({ symbol, shape, values, columns, cell, meaning, ...more });
    const K_T = data.K.map((_, at) => data.K[(at % m) * d_k + Math.floor(at / m)]);
    const pattern = data.A.map((alpha, at) => (data.allowed[at] ? alpha : NaN));
    const parts = [matrix("Q", [n, d_k], data.Q, d_k, [wide, tall], "query", { framed }), labels.times,
      matrix("K^{T}", [d_k, n], K_T, m, [tall, thin], "key"), "→",
      matrix(labels.pattern, [n, n], pattern, m, [tall, tall], "accent", { framed, shares: true }), labels.times,
      matrix("V", [n, d_v], data.V, d_v, [wide, tall], "value"), "=",
      matrix(labels.heads, [n, d_v], data.O, d_v, [wide, tall], "value", { framed })];
    const form = this.score === "additive" ? "matrix_additive" : this.sinkExp || data.cap ? "matrix_scores"
      : this.scaled ? "matrix_form" : "matrix_unscaled";
    const root = this.ownDivisor ? this.rootSign : "√dₖ", bias = this.stages.includes("bias") ? " + bias" : "";
    const formula = fill(labels[form], { root, bias });
    this.formula(`${formula}   ${fill(labels.matrix_drawn, { first: items[0].j, last: items.at(-1).j })}`);
    const line = make("div", "matrices", this.detail);
    for (const part of parts) {
      if (typeof part === "string") make("span", "sign", line, part);
      else this.matrixPicture(line, part);
    }
  }

  /** One matrix of the formula: its name and shape, and its cells; the query's row framed if `framed`. */
  matrixPicture(line, { symbol, shape, values, columns, cell, meaning, framed, shares }) {
    const figure = make("figure", "", line), name = `${symbol} [${shape[0]} × ${shape[1]}]`;
    marked(make("figcaption", meaning, figure), name);
    const { ink, table } = this.theme, rows = values.length / columns;
    const surface = new Surface(figure, "", unmarked(name));
    const [width, height] = [cell[0] * columns, cell[1] * rows].map(Math.round), most = shares ? 1 : reach(values);
    Object.assign(surface.canvas.style, { width: `${width}px`, height: `${height}px` });
    surface.measure();
    const context = surface.begin(), at = (r, c) => values[r * columns + c];
    const cells = matrixPicture(rows, columns, at, table(shares ? "seq" : "div"), shares ? 0 : -most, most);
    placePicture(context, cells, 0, 0, width, height);
    stroke(context, ink(`${meaning}-ink`));
    context.strokeRect(0.5, 0.5, width - 1, height - 1);
    if (!framed) return;
    stroke(context, ink("text"), 2);
    context.strokeRect(1, (this.i * height) / rows + 1, width - 2, height / rows - 2);
  }
}

export default mounted(Steps);
