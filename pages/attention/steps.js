// One head, one query, step by step. Rows are keys, columns are stages; what comes after the present step is faint and
// empty. The vectors are the model's own float32; all that follows from them is worked out here in float64, as
// core/analysis/attention_steps.py does.
import { unpack } from "../../core/components/lib/bytes.js";
import { hatch, line, matrixPicture, placePicture, stroke, Surface, write } from "../../core/components/lib/canvas.js";
import { fill, make, marked, unmarked } from "../../core/components/lib/dom.js";
import { Instrument } from "../../core/components/lib/instrument.js";
import { liveAsker } from "../../core/components/lib/live.js";
import { decimals } from "../../core/components/lib/numbers.js";
import { mount, roomBelow } from "../../core/components/lib/view.js";
import { meanSquare, onTheWay, product, worked } from "./steps_work.js";

const NUMBERS = ["dot", "scale", "bias", "mask", "softmax"];
const MEANING = { X: "residual", q: "query", k: "key", v: "value", av: "value", out: "value", written: "attention" };

const reach = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9);

/** How a component of q or k is marked at each step that changes it. */
const MARKS = { qkv: "", norm: "\u0302", turn: "′" };

class Steps extends Instrument {
  constructor(root) {
    super(root);
    this.settings = {};
    const bar = make("div", "bar", root);
    this.back = this.button(bar, "‹", () => this.move(-1));
    this.range = make("input", "stepper", bar);
    this.range.type = "range";
    this.range.min = 0;
    this.range.oninput = () => this.goTo(Number(this.range.value));
    this.forward = this.button(bar, "›", () => this.move(1));
    this.picks = { layer: this.select(bar), head: this.select(bar), position: this.select(bar) };
    this.variants = make("div", "variants", bar);
    this.variants.setAttribute("role", "radiogroup");
    this.title = make("p", "title", root);
    this.title.setAttribute("aria-live", "polite");
    this.stage = make("div", "stage", root);
    this.stage.tabIndex = 0;
    this.surface = new Surface(this.stage, "picture");
    this.surface.point((x, y, phase) => this.pointed(x, y, phase));
    this.tip = make("div", "tip", this.stage);
    this.tip.hidden = true;
    this.detail = make("div", "detail", root);
    this.note = make("p", "note", root);
    this.stage.onkeydown = (event) => this.key(event);
    this.asker = liveAsker((bytes) => this.take(bytes), () => {});
  }

  button(parent, text, act) {
    const node = make("button", "go", parent, text);
    node.type = "button";
    node.onclick = act;
    return node;
  }

  select(parent) {
    const label = make("label", "pick", parent), name = make("span", "", label), node = make("select", "", label);
    node.onchange = () => this.pick({ [node.name]: Number(node.value) });
    return { name, node };
  }

  receive(header) {
    super.receive(header);
    const { settings, labels, ...rest } = header;
    Object.assign(this, rest, { data: header });
    this.fillControls();
    this.work();
    const shown = JSON.stringify([header.question, header.chosen, header.tokens]);
    if (shown !== this.shown) this.focus = null;      // another run's answer to a click leaves what was opened
    Object.assign(this, { shown, dirty: true });
  }

  fillControls() {
    const { labels } = this, both = this.variantNames;
    this.back.setAttribute("aria-label", labels.back);
    this.forward.setAttribute("aria-label", labels.forward);
    this.range.setAttribute("aria-label", labels.slider);
    this.stage.setAttribute("aria-label", labels.keys);
    this.stage.setAttribute("role", "group");
    for (const [name, { name: title, node }] of Object.entries(this.picks)) {
      title.textContent = labels[name];
      node.setAttribute("aria-label", labels[name]);
      node.name = name;
      const wanted = this.options[name].join("\n");
      if (node.wanted !== wanted) {
        node.wanted = wanted;
        node.replaceChildren(...this.options[name].map((text, k) =>
          Object.assign(document.createElement("option"), { value: k, textContent: text })));
      }
      node.value = this.chosen[name];
    }
    if (this.variants.childElementCount !== both.length) {
      this.variants.replaceChildren();
      for (const variant of both) {
        const node = this.button(this.variants, labels[`variant_${variant}`], () => {
          this.settings.variant = variant;
          this.focus = null;
          this.changed();
        });
        node.setAttribute("role", "radio");
      }
    }
  }

  /** All numbers of the present variant, and how far the colours reach. */
  work() {
    const { data } = this, simple = this.settings.variant === "simple";
    const numbers = worked(data, simple), { q, items, out } = numbers;
    this.stages = this.stageNames[simple ? "simple" : "head"];
    this.ways = simple ? { qkv: { q, K: items.map((item) => item.K) } } : onTheWay(data, this.stages);
    const now = this.ways[this.level], written = simple ? null : data.written;
    for (const item of items) Object.assign(item, { token: this.tokens[item.r], k: now.K[item.r] });
    const reaches = { X: reach(data.X), qk: simple ? 1 : Math.max(reach(now.q), ...now.K.map(reach)),
      v: reach(simple ? data.X : data.V), av: reach([...out, ...items.map((item) => reach(item.AV))]),
      written: written ? reach(written) : 1 };
    Object.assign(this, numbers, { simple, written, reaches });
  }

  /** The last of those steps that the reader has reached. */
  get level() {
    return ["turn", "norm"].find((name) => this.ways[name] && this.stages.indexOf(name) <= this.at) ?? "qkv";
  }

  /** The query as the reader sees it now. */
  get query() { return this.ways[this.level].q; }

  get weighted() { return this.score === "multiplicative"; }

  get s() { return this.fontSize > 12 ? 1.2 : 1; }

  /** The reader's step; the last one in a model that has no such step. */
  get step() { return this.stages.includes(this.settings.step) ? this.settings.step : this.stages.at(-1); }

  get at() { return this.stages.indexOf(this.step); }

  /** The picked key: the reader's, where it is in the window, else the one with the largest weight. */
  get picked() {
    const found = this.items.find((item) => item.j === this.settings.key);
    return found ?? this.items.reduce((best, item) => (item.alpha > best.alpha ? item : best));
  }

  move(by) { this.goTo(this.at + by); }

  goTo(at) {
    const next = this.stages[Math.max(0, Math.min(this.stages.length - 1, at))];
    if (next === this.step) return;
    this.settings.step = next;
    this.focus = null;
    this.changed();
  }

  changed() {
    this.work();
    this.dirty = true;
    this.schedule();
    this.commit();
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], row = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step && !row) return;
    event.preventDefault();
    event.stopPropagation();
    if (step) this.move(step);
    else {
      this.settings.key = this.items[Math.max(0, Math.min(this.items.length - 1, this.picked.r + row))].j;
      this.changed();
    }
  }

  // ---- where everything stands --------------------------------------------------------------------------------------

  columns(width) {
    const { s } = this, narrow = width < 680 * s, number = 68 * s, gap = narrow ? 8 : 12;
    const names = (narrow ? 84 : 100) * s;
    const strips = this.simple ? { X: 1.5, v: 0, av: 1.5 } : { X: 1.2, k: 1.2, v: 1, av: 1 };
    const all = (this.simple ? ["X", "dot", "mask", "softmax", "av"] : ["X", "k", ...NUMBERS, "v", "av"])
      .filter((name) => !NUMBERS.includes(name) || this.stages.includes(name));
    const here = this.step, before = this.stages[this.at - 1];
    const near = { x: ["X"], qkv: ["k", "v"], norm: ["k"], turn: ["k"], sum: ["softmax", this.simple ? "X" : "v", "av"],
      write: ["v", "av"], matrix: ["softmax", "av"] }[here]
      ?? [["qkv", "norm", "turn"].includes(before) ? "k" : before === "x" ? "X" : before, here];
    const shown = narrow ? all.filter((name) => near.includes(name)) : all;
    const fixed = shown.reduce((sum, name) => sum
        + (name === "softmax" ? 1.55 * number : NUMBERS.includes(name) ? number : 0), names + gap * shown.length + 2);
    const weight = shown.reduce((sum, name) => sum + (strips[name] ?? 0), 0) || 1, found = {};
    let x = names + gap;
    for (const name of shown) {
      const w = NUMBERS.includes(name) ? (name === "softmax" ? 1.55 * number : number)
        : ((width - fixed) * strips[name]) / weight;
      found[name] = { x, w };
      x += w + gap;
    }
    return { found, names, s };
  }

  arrange() {
    const { width } = this.surface, { s } = this;
    const lines = this.items.length + 2 + (this.rest.count ? 1 : 0) + (this.simple ? 0 : 1);
    const room = roomBelow(this.stage) - (this.root.classList.contains("present") ? 225 : 158), header = 34 * s;
    const height = Math.max(15 * s, Math.min(25 * s, (room - header - 8) / lines));
    let y = header;
    const next = () => { const at = y; y += height; return at; };
    const places = { query: next(), rest: this.rest.count ? next() : null };
    places.keys = this.items.map(next);
    y += 4;
    places.out = next();
    places.written = this.simple ? null : next();
    return { ...this.columns(width), places, height, header, total: Math.ceil(y + 4) };
  }

  draw() {
    if (!this.items) return;
    const before = this.layout;
    this.surface.measure();
    this.layout = this.arrange();
    if (!before || before.total !== this.layout.total) {
      this.surface.canvas.style.height = `${this.layout.total}px`;
      this.surface.measure();
    }
    this.range.max = this.stages.length - 1;
    this.range.value = this.at;
    this.range.style.setProperty("--share", `${(100 * this.at) / (this.stages.length - 1)}%`);
    this.range.setAttribute("aria-valuetext", unmarked(this.labels[`stage_${this.step}`]));
    // one that is switched off loses the focus
    for (const [node, end] of [[this.back, 0], [this.forward, this.stages.length - 1]])
      node.ariaDisabled = String(this.at === end);
    [...this.variants.children]
      .forEach((node, k) => node.setAttribute("aria-checked", String(this.variantNames[k] === this.settings.variant)));
    this.paint();
    if (this.dirty) {
      this.dirty = false;
      this.say();
    }
    this.fitDetail();
  }

  /** The worked-out numbers take what is left of the first screen, and scroll where that is not enough. */
  fitDetail() {
    const room = roomBelow(this.detail) - (this.root.classList.contains("present") ? 75 : 40);
    this.detail.style.maxHeight = `${Math.max(118, room)}px`;
  }

  /** Whether a column's stage has been reached. */
  open(name) {
    const stage = { X: "x", k: this.simple ? "x" : "qkv", v: this.simple ? "x" : "qkv", av: "sum", out: "sum",
      written: "write" }[name] ?? name;
    return this.stages.indexOf(stage) <= this.at;
  }

  paint() {
    const { surface, layout, theme } = this, context = surface.begin();
    const { found, names, places, height, header, s } = layout, ink = theme.ink;
    const font = (size, bold, mono) => {
      context.font = `${bold ? "700 " : ""}${size * s}px ${mono ? theme.ink("mono") : theme.ink("font")}`;
    };
    const picked = this.picked;
    context.fillStyle = ink("panel");
    context.fillRect(0, places.keys[picked.r], surface.width, height);
    const now = this.currentColumns();
    for (const [name, { x, w }] of Object.entries(found)) {
      const current = now.includes(name), reached = this.open(name);
      if (current) {
        context.fillStyle = ink("accent-ink");
        context.fillRect(x, header - 4, w, 2.5);
      }
      context.globalAlpha = reached ? 1 : 0.45;
      font(12.5, true);
      write(context, this.heading(name), x, 9 * s, ink(MEANING[name] ? `${MEANING[name]}-ink` : "text"), "left");
      font(10.5);
      write(context, this.shape(name), x, 23 * s, ink("muted"), "left");
      context.globalAlpha = 1;
    }
    // the query's own row
    font(11.5, true, true);
    this.name(context, `${this.labels.query_row} ${this.chosen.position} ${this.tokens[this.i]}`, places.query, names,
      "query-ink");
    if (found.X) this.strip(context, found.X, places.query, this.items[this.i].X, this.reaches.X, "X", true);
    if (found.k) this.strip(context, found.k, places.query, this.query, this.reaches.qk, "q", this.open("k"));
    if (places.rest !== null) this.restRow(context, font);
    this.items.forEach((item) => this.row(context, item, font, item === picked));
    this.outRows(context, font);
    this.markComponent(context, picked);
  }

  heading(name) {
    const { labels } = this;
    if (this.simple && `head_simple_${name}` in labels) return labels[`head_simple_${name}`];
    if (name === "k" && this.level !== "qkv")
      return labels[this.level === "norm" ? "head_normed" : this.weighted ? "head_weighted" : "head_turned"];
    return name === "dot" && !this.simple && this.score === "additive" ? labels.head_additive : labels[`head_${name}`];
  }

  shape(name) {
    const { d, d_k, d_v } = this.sizes, width = { X: d, k: d_k, v: d_v, av: this.simple ? d : d_v }[name];
    return width ? fill(this.labels.width, { n: width }) : this.labels[`unit_${name}`] ?? "";
  }

  currentColumns() {
    return { x: ["X"], qkv: ["k", "v"], norm: ["k"], turn: ["k"], sum: ["av"], write: ["av"], matrix: [] }[this.step]
      ?? [this.step];
  }

  name(context, text, y, width, meaning) {
    context.save();
    context.beginPath();
    context.rect(0, y, width, this.layout.height);
    context.clip();
    write(context, text, 2, y + this.layout.height / 2, this.theme.ink(meaning));
    context.restore();
  }

  strip(context, { x, w }, y, values, most, kind, open) {
    const { height } = this.layout, gap = height > 18 ? 2 : 1, { theme } = this;
    if (open)
      placePicture(context, matrixPicture(1, values.length, (_, c) => values[c], theme.table("div"), -most, most), x,
        y + gap, w, height - 2 * gap);
    stroke(context, theme.ink(open ? `${MEANING[kind]}-ink` : "grid"),
      kind === "q" || kind === "out" || kind === "written" ? 2 : 1, open ? [] : [2, 3]);
    context.strokeRect(x, y + gap, w, height - 2 * gap);
    context.setLineDash([]);
  }

  row(context, item, font, picked) {
    const { found, names, places, height } = this.layout, y = places.keys[item.r], ink = this.theme.ink;
    font(11.5, picked, true);
    this.name(context, `${String(item.j).padStart(2)} ${item.token}`, y, names, picked ? "key-ink" : "text");
    const vector = { X: [item.X, this.reaches.X], k: [item.k, this.reaches.qk], v: [item.V, this.reaches.v],
      av: [item.AV, this.reaches.av] };
    for (const [name, column] of Object.entries(found)) {
      const open = this.open(name);
      if (vector[name]) { this.strip(context, column, y, ...vector[name], name, open); continue; }
      if (!open) continue;
      font(11, picked, true);
      const right = column.x + column.w;
      if (name === "mask" && !item.seen) {
        hatch(context, column.x, y + 2, column.w, height - 4, ink("grid-ink"), 6);
        context.fillStyle = ink("page");
        context.fillRect(right - 30 * this.layout.s, y + 2, 30 * this.layout.s, height - 4);
        write(context, "−∞", right - 2, y + height / 2, ink("text"), "right");
      } else if (name === "softmax") {
        const number = 58 * this.layout.s, bar = column.w - number;
        context.fillStyle = ink("grid");
        context.fillRect(column.x, y + height / 2 - 0.5, bar, 1);
        context.fillStyle = ink("kept");
        context.fillRect(column.x, y + height * 0.22, bar * item.alpha, height * 0.56);
        write(context, item.seen ? decimals(item.alpha) : "0", right - 2, y + height / 2, ink("text"), "right");
      } else
        write(context, decimals({ dot: item.dot, scale: item.scale, bias: item.bias, mask: item.score }[name]),
          right - 2, y + height / 2, ink("text"), "right");
    }
  }

  restRow(context, font) {
    const { found, names, places, height } = this.layout, y = places.rest, ink = this.theme.ink;
    font(11, false, true);
    this.name(context, this.rest.name, y, names, "muted");
    for (const name of ["X", "k", "v"]) if (found[name]) dashed(context, found[name], y + height / 2, ink("grid"));
    if (found.softmax && this.open("softmax")) {
      const column = found.softmax, bar = column.w - 58 * this.layout.s;
      context.fillStyle = ink("excluded");
      context.fillRect(column.x, y + height * 0.22, bar * this.restAlpha, height * 0.56);
      write(context, this.restAlpha ? decimals(this.restAlpha) : "0", column.x + column.w - 2, y + height / 2,
        ink("text"), "right");
    }
    if (found.av) this.strip(context, found.av, y, this.restAV, this.reaches.av, "av", this.open("av"));
  }

  outRows(context, font) {
    const { found, names, places, height } = this.layout, ink = this.theme.ink, open = this.open("out");
    font(11.5, true);
    this.name(context, this.labels[this.simple ? "row_out_simple" : "row_out"], places.out, names,
      open ? "value-ink" : "muted");
    if (found.softmax && this.open("softmax")) {
      font(11, true, true);
      write(context, `${this.labels.sum_is} 1`, found.softmax.x + found.softmax.w - 2, places.out + height / 2,
        ink("text"), "right");
    }
    if (found.av) this.strip(context, found.av, places.out, this.out, this.reaches.av, "out", open);
    if (places.written === null) return;
    const shown = this.open("written"), start = Object.values(found)[0];
    const column = found.X && found.av ? found.X : { x: start.x, w: this.surface.width - start.x - 4 };
    font(11.5, true);
    this.name(context, this.labels.row_written, places.written, names, shown ? "attention-ink" : "muted");
    this.strip(context, { x: column.x, w: found.av && found.X ? found.av.x + found.av.w - column.x : column.w },
      places.written, this.written ?? [0], this.reaches.written, "written", shown);
  }

  /** The component that the detail speaks of, framed in the strips it stands in. */
  markComponent(context, picked) {
    const { found, places, height } = this.layout, c = this.focus?.c ?? this.settings.component, ink = this.theme.ink;
    const frame = (column, y, width) => {
      if (!column || c >= width) return;
      const cell = Math.max(3, column.w / width);
      stroke(context, ink("text"), 1.5);
      context.strokeRect(column.x + (c / width) * column.w - 0.5, y + 0.5, cell + 1, height - 1);
    };
    const step = this.focus?.kind ?? this.kindOf(this.step);
    if (step === "sum" && this.open("av")) {
      this.items.forEach((item) => frame(found.av, places.keys[item.r], this.width));
      frame(found.av, places.out, this.width);
    }
    if (step === "q" && this.open("k")) frame(found.k, places.query, this.sizes.d_k);
    if (step === "k" && this.open("k")) frame(found.k, places.keys[picked.r], this.sizes.d_k);
    if (step === "v") frame(found.v, places.keys[picked.r], this.width);
    if (step === "x") frame(found.X, places.keys[picked.r], this.sizes.d);
  }

  // ---- the hand -----------------------------------------------------------------------------------------------------

  /** The cell under the pointer: {kind, item, c} or null. */
  cellAt(x, y) {
    const { found, places, height, names } = this.layout, inside = (at) => at !== null && y >= at && y < at + height;
    if (inside(places.written) && found.X && found.av) return this.writtenAt(x);
    const item = this.items[places.keys.findIndex(inside)];
    if (item && x < names) return { kind: "name", item };
    const name = Object.keys(found).find((one) => x >= found[one].x && x < found[one].x + found[one].w);
    if (!name || !this.open(name)) return null;
    const width = { X: this.sizes.d, k: this.sizes.d_k, v: this.width, av: this.width }[name];
    const c = Math.floor(((x - found[name].x) / found[name].w) * width);
    const own = { k: { kind: "q", c }, X: { kind: "x", item: this.items[this.i], c } };
    if (inside(places.query)) return own[name] ?? null;
    if (inside(places.out)) return name === "av" && this.open("out") ? { kind: "sum", c } : null;
    return item ? this.cellOf(item, name, c) : null;
  }

  cellOf(item, name, c) {
    const kind = { X: "x", k: "k", v: this.simple ? "x" : "v", av: "sum" }[name] ?? name;
    return NUMBERS.includes(name) ? { kind, item } : { kind, item, c };
  }

  /** The component of the strip that is as wide as all columns from X to α v. */
  writtenAt(x) {
    const { X, av } = this.layout.found, w = av.x + av.w - X.x, within = x >= X.x && x < X.x + w;
    return within && this.open("written") ? { kind: "write", c: Math.floor(((x - X.x) / w) * this.sizes.d) } : null;
  }

  pointed(x, y, phase) {
    const cell = phase === "out" || !this.layout ? null : this.cellAt(x, y);
    this.stage.style.cursor = cell ? "pointer" : "";
    this.tip.hidden = !cell || cell.kind === "name";
    if (!this.tip.hidden) {
      marked(this.tip, this.reading(cell));
      this.tip.style.left =
        `${Math.max(0, Math.min(x - this.tip.offsetWidth / 2, this.surface.width - this.tip.offsetWidth))}px`;
      this.tip.style.top = `${Math.max(0, y - this.tip.offsetHeight - 12)}px`;
    }
    if (phase !== "down" || !cell) return;
    if (cell.item) this.settings.key = cell.item.j;
    if (cell.c !== undefined) this.settings.component = cell.c;
    this.focus = cell.kind === "name" ? null : { kind: cell.kind, c: cell.c };
    this.stage.focus({ preventScroll: true });
    this.changed();
  }

  /** @param {{kind: string, item?: any, c?: number}} cell */
  reading({ kind, item, c }) {
    const i = this.chosen.position, j = item?.j;
    const value = { x: () => item.X[c], q: () => this.query[c], k: () => item.k[c], v: () => item.V[c],
      sum: () => (item ? item.AV[c] : this.out[c]), write: () => this.written[c],
      dot: () => item.dot, scale: () => item.scale, bias: () => item.bias,
      mask: () => (item.seen ? item.score : -Infinity), softmax: () => item.alpha }[kind]();
    const symbol = { x: `x_{${j},${c}}`, q: this.component("q", i, c), k: this.component("k", j, c), v: `v_{${j},${c}}`,
      sum: item ? `α_{${i},${j}} v_{${j},${c}}` : `o_{${i},${c}}`, write: `(o W_{O})_{${c}}`,
      dot: this.dotSymbol(j), scale: `${this.dotSymbol(j)} / √d_k`, bias: `b_{${i},${j}}`, mask: `s_{${i},${j}}`,
      softmax: `α_{${i},${j}}` }[kind];
    return `${symbol} = ${decimals(value)}`;
  }

  dotSymbol(j) {
    const i = this.chosen.position;
    return this.simple ? `x_{${i}}·x_{${j}}` : this.score === "additive" ? `v·tanh(q_{${i}} + k_{${j}})`
      : `q${this.mark}_{${i}}${this.weighted ? " W_{S}" : ""}·k${this.mark}_{${j}}`;
  }

  /** What marks the vectors that the scores take. */
  get mark() { return MARKS[this.ways.turn && !this.weighted ? "turn" : this.ways.norm ? "norm" : "qkv"]; }

  /** A component of q or k as it is now, by its name: q̂ after the norm, q′ after the turn. */
  component(name, row, c, level = this.level) {
    if (level === "turn" && this.weighted) return name === "q" ? `(q_{${row}} W_{S})_{${c}}` : `k_{${row},${c}}`;
    return `${name}${MARKS[level]}_{${row},${c}}`;
  }

  /** What a step works out where nothing was clicked. */
  kindOf(step) { return { qkv: "q", norm: "q", turn: this.weighted ? "q" : "k", matrix: "write" }[step] ?? step; }

  /** The head's weights, once they are here; the first time they are asked for. */
  get weights() {
    const name = JSON.stringify(this.question);
    if (this.held?.name === name) return this.held.weights;
    if (this.asked !== name) {
      this.asked = name;
      this.asker.ask(this.path, this.question);
    }
    return null;
  }

  take(bytes) {
    const weights = unpack(bytes);
    this.held = { name: JSON.stringify(weights.asked), weights };
    this.dirty = true;
    this.schedule();
  }

  // ---- the numbers worked out ---------------------------------------------------------------------------------------

  say() {
    const { labels } = this, step = this.step, picked = this.picked, i = this.chosen.position;
    const values = { i, j: picked.j, query: { chip: this.tokens[this.i] }, key: { chip: picked.token }, n: this.at + 1,
      all: this.stages.length, alpha: decimals(picked.alpha), score: decimals(picked.score),
      seen: this.items.filter((item) => item.seen).length, masked: this.items.filter((item) => !item.seen).length };
    const told = labels[this.sayingOf(step, values.masked)] ?? labels[`say_${step}`];
    this.sentence(this.title, `${fill(labels.count, values)} ${told}`, values);
    this.surface.canvas.setAttribute("aria-label", this.title.textContent);
    const alpha = this.restAlpha ? decimals(this.restAlpha) : "0", { name, count } = this.rest;
    const rest = count ? fill(labels.note_rest, { name, n: count, alpha }) : "";
    this.note.textContent = `${labels[this.simple ? "note_simple" : "note"]} ${rest}`;
    this.detail.replaceChildren();
    this.detail.className = `detail ${step === "matrix" && !this.focus ? "is-matrix" : ""}`;
    if (step === "matrix" && !this.focus) this.matrixForm();
    else this.workedOut(this.focus?.kind ?? this.kindOf(step), picked, this.focus?.c ?? this.settings.component);
  }

  /** The label that says what a step does, in this variant and of this score function. */
  sayingOf(step, masked) {
    if (step === "mask" && !masked) return "say_mask_none";
    if (this.simple) return `say_simple_${step}`;
    if (step === "dot" && this.score === "additive") return "say_additive";
    return step === "turn" && this.weighted ? "say_weighted" : `say_${step}`;
  }

  /** A template with {names}; a value {chip: text} becomes a chip, the rest may have _ and ^ marks. */
  sentence(node, template, values) {
    node.replaceChildren();
    for (const part of (template ?? "").split(/(\{(?:query|key)\})/)) {
      const value = /^\{(query|key)\}$/.test(part) ? values[part.slice(1, -1)] : null;
      if (value) make("span", "chip", node, value.chip).dir = "auto";
      else marked(make("span", "", node), fill(part, values));
    }
  }

  /** The sum that leads to what was picked: of component c, where the numbers of a kind have components. */
  workedOut(kind, item, c) {
    const { sizes: { d, d_k } } = this, turned = this.level === "turn";
    const bent = ["q", "k"].includes(kind) && this.level !== "qkv" && !(this.weighted && turned);
    const byWeights = ["q", "k", "v", "write"].includes(kind) && !bent;
    if (byWeights && !this.weights) return this.formula("", this.labels.weights_wait);
    const width = { q: d_k, k: d_k, v: this.width, sum: this.width, x: d, write: d }[kind] ?? c + 1;
    const at = Math.min(c, width - 1), { position: i } = this.chosen;
    const details = {
      x: () => this.formula(`x_{${item.j},${at}} = ${decimals(item.X[at])}`, this.labels.x_says),
      q: () => (bent ? this.bentDetail("q", i, (name) => this.ways[name].q, at)
        : turned ? this.weightedDetail(at) : this.projected("q", this.items[this.i].X, i, this.ways.qkv.q, at)),
      k: () => (bent ? this.bentDetail("k", item.j, (name) => this.ways[name].K[item.r], at)
        : this.projected("k", item.X, item.j, this.ways.qkv.K[item.r], at)),
      v: () => this.projected("v", item.X, item.j, item.V, at),
      dot: () => this.dotDetail(item), scale: () => this.scaleDetail(item), bias: () => this.biasDetail(item),
      mask: () => this.maskDetail(item), softmax: () => this.softmaxDetail(item), sum: () => this.sumDetail(at),
      write: () => this.writtenDetail(at),
    };
    return details[kind]();
  }

  /** A component of q, k or v as the head's projection makes it from x. */
  projected(name, X, row, made, c) {
    const { weights, sizes: { d } } = this, letter = name.toUpperCase(), W = weights[`W_${letter}`];
    const bias = weights[`b_${letter}`]?.[c];
    const column = Float64Array.from({ length: d }, (_, r) => W[r * made.length + c]);
    const added = bias === undefined ? "" : ` + b_{${letter},${c}}`;
    const told = bias === undefined ? "" : `   (b_{${letter},${c}} = ${decimals(bias)})`;
    this.terms(`${name}_{${row},${c}} = Σ_{c'} x_{${row},c'} W_{${letter},c',${c}}${added}`, X, column,
      ["x", `W${letter}`], ["residual", MEANING[name]], `= ${decimals(made[c])}${told}`);
  }

  /** A component of q or k as its norm or its turn leaves it; at(step) is the vector after that step. */
  bentDetail(name, row, at, c) {
    if (this.level === "norm") return this.normedDetail(name, row, at("qkv"), at("norm"), c);
    return this.turnedDetail(name, row, at(this.ways.norm ? "norm" : "qkv"), at("turn"), c);
  }

  /** A component of the query times W_S, of a multiplicative score. */
  weightedDetail(c) {
    const { weights, sizes: { d_k } } = this, i = this.chosen.position;
    const column = Float64Array.from({ length: d_k }, (_, a) => weights.W_S[a * d_k + c]);
    this.terms(`${this.component("q", i, c)} = Σ_a q_{${i},a} W_{S,a,${c}}`, this.ways.qkv.q, column, ["q", "WS"],
      ["query", "text"], `= ${decimals(this.q[c])}`);
  }

  dotDetail(item) {
    const i = this.chosen.position, { j } = item, dotted = this.dotSymbol(j), result = `= ${decimals(item.dot)}`;
    if (this.simple) return this.terms(`${dotted} = Σ_c x_{${i},c} x_{${j},c}`, this.q, item.K, ["x", "x"],
      ["residual", "residual"], result);
    if (this.score === "additive") {
      const bent = Float64Array.from(this.q, (value, at) => Math.tanh(value + item.K[at]));
      return this.terms(`${dotted} = Σ_c v_c tanh(q_{${i},c} + k_{${j},c})`, this.data.v_S, bent, ["v", "tanh"],
        ["text", "key"], result);
    }
    const unit = [`q${this.mark}`, `k${this.mark}`];
    const asking = this.weighted ? `(q_{${i}} W_{S})_c` : `${unit[0]}_{${i},c}`;
    return this.terms(`${dotted} = Σ_c ${asking} ${unit[1]}_{${j},c}`, this.q, item.K, unit, ["query", "key"], result);
  }

  scaleDetail(item) {
    const { sizes: { d_k } } = this, dotted = this.dotSymbol(item.j), dot = decimals(item.dot, 6);
    const root = decimals(Math.sqrt(d_k), 6);
    this.formula(`${dotted} / √d_k = ${dot} / √${d_k} = ${dot} / ${root} = ${decimals(item.scale)}`,
      this.labels.scale_says);
  }

  biasDetail(item) {
    const sum = `${decimals(item.scale, 6)} + (${decimals(item.bias, 6)}) = ${decimals(item.score)}`;
    this.formula(`s_{${this.chosen.position},${item.j}} = ${sum}`, this.labels.bias_says);
  }

  maskDetail(item) {
    const i = this.chosen.position, says = this.labels[item.seen ? "mask_seen" : "mask_hidden"];
    this.formula(`s_{${i},${item.j}} = ${item.seen ? decimals(item.score) : "−∞,  e^{−∞} = 0"}`,
      says.replace("{i}", i).replace("{j}", item.j));
  }

  sumDetail(c) {
    const i = this.chosen.position, rows = this.items.filter((one) => one.seen), name = this.simple ? "x" : "v";
    const carried = this.restAlpha ? `+ ${decimals(this.restAV[c])} (${this.rest.name}) ` : "";
    this.terms(`o_{${i},${c}} = Σ_j α_{${i},j} ${name}_{j,${c}}`, rows.map((one) => one.alpha),
      rows.map((one) => one.V[c]), ["α", name], ["text", this.simple ? "residual" : "value"],
      `${carried}= ${decimals(this.out[c])}`, rows.map((one) => one.j));
  }

  writtenDetail(c) {
    const { weights, sizes: { d, d_v } } = this;
    const column = Float64Array.from({ length: d_v }, (_, a) => weights.W_O[a * d + c]);
    this.terms(`(o W_{O})_{${c}} = Σ_a o_{${this.chosen.position},a} W_{O,a,${c}}`, this.out, column, ["o", "WO"],
      ["value", "attention"], `= ${decimals(this.written[c])}`);
  }

  formula(text, says) {
    marked(make("p", "formula", this.detail), text);
    if (says) marked(make("p", "says", this.detail), says);
  }

  /** A sum of products: every term as two numbers and their product, then the result. */
  terms(head, a, b, names, meanings, result, labels) {
    const line = make("p", "formula", this.detail);
    marked(line, `${head} ${result}`);
    const list = make("div", "terms", this.detail), legend = make("span", "term legend", list);
    for (const text of ["", names[0], `× ${names[1]}`, "="]) make("span", "", legend, text);
    for (let k = 0; k < a.length; k += 1) {
      const term = make("span", "term", list);
      make("small", "", term, String(labels ? labels[k] : k));
      make("span", meanings[0], term, decimals(a[k]));
      make("span", meanings[1], term, decimals(b[k]));
      make("b", "", term, decimals(a[k] * b[k]));
    }
  }

  /** A component over the root mean square of its vector, times its gain; then the sum of squares. */
  normedDetail(name, row, own, now, c) {
    const { norm: { epsilon }, sizes: { d_k }, data } = this, gain = data[`${name}_gain`][c];
    const squares = product(own, own), rms = Math.sqrt(meanSquare(own) + epsilon);
    const shown = `${decimals(gain, 6)} · ${decimals(own[c], 6)} / ${decimals(rms, 6)} = ${decimals(now[c])}`;
    this.formula(`${this.component(name, row, c)} = g_{${c}} ${name}_{${row},${c}} / rms = ${shown}`,
      this.labels.norm_says);
    this.terms(`rms^{2} = Σ_a ${name}_{${row},a}^{2} / d_k + ε`, own, own, [name, name], [MEANING[name], MEANING[name]],
      `= ${decimals(squares, 6)} / ${d_k} + ${epsilon} = ${decimals(rms * rms, 6)}`);
  }

  /** A component of q or k turned with the other of its pair, or left as it is where the model turns the first
      components alone. */
  turnedDetail(name, row, own, now, c) {
    const half = this.angles.length, before = (at) => this.component(name, row, at, this.ways.norm ? "norm" : "qkv");
    const head = this.component(name, row, c, "turn");
    if (c >= 2 * half) return this.formula(`${head} = ${before(c)} = ${decimals(now[c])}`, this.labels.turn_left);
    const pair = c % half, first = c < half, angle = row * this.angles[pair], [a, b] = [own[pair], own[pair + half]];
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const shown = first ? `${decimals(a, 6)} · ${decimals(cos, 6)} − (${decimals(b, 6)} · ${decimals(sin, 6)})`
      : `${decimals(a, 6)} · ${decimals(sin, 6)} + ${decimals(b, 6)} · ${decimals(cos, 6)}`;
    const turn = first ? `${before(pair)} cos θ − ${before(pair + half)} sin θ`
      : `${before(pair)} sin θ + ${before(pair + half)} cos θ`;
    this.formula(`${head} = ${turn} = ${shown} = ${decimals(now[c])}`,
      fill(this.labels.turn_says,
        { name, j: row, omega: decimals(this.angles[pair], 6), angle: decimals(angle, 6), half }));
  }

  softmaxDetail(item) {
    const i = this.chosen.position, rows = this.items.filter((one) => one.seen);
    const line = make("p", "formula", this.detail);
    const quotient = `${decimals(item.exp, 6)} / ${decimals(this.total, 6)} = ${decimals(item.alpha)}`;
    marked(line, `α_{${i},${item.j}} = e^{s − m} / Σ = ${quotient}   (m = ${decimals(this.top, 6)})`);
    const list = make("div", "terms", this.detail), legend = make("span", "term legend", list);
    for (const text of ["j", "s", "e^(s−m)", "α"]) make("span", "", legend, text);
    if (this.restAlpha) {
      const term = make("span", "term", list);
      for (const text of [this.rest.name, "…", decimals(this.restAlpha * this.total), decimals(this.restAlpha)])
        make("span", "", term, text);
    }
    for (const one of rows) {
      const term = make("span", `term ${one === item ? "own" : ""}`, list);
      make("small", "", term, String(one.j));
      make("span", "", term, decimals(one.score));
      make("span", "", term, decimals(one.exp));
      make("b", "", term, decimals(one.alpha));
    }
  }

  /** softmax(QKᵀ/√d_k) V with the model's own matrices for the keys of the window, and the shapes of
      the whole prompt. */
  matrixForm() {
    const { data, sizes: { n, d_k, d_v }, items } = this, m = items.length;
    const matrix = (symbol, shape, rows, columns, at, meaning) => ({ symbol, shape, rows, columns, at, meaning });
    const parts = [
      matrix("Q", [n, d_k], m, d_k, (r, c) => data.Q[r * d_k + c], "query"), this.labels.times,
      matrix("K^{T}", [d_k, n], d_k, m, (r, c) => data.K[c * d_k + r], "key"), "→",
      matrix(this.labels.pattern, [n, n], m, m, (r, c) => (data.allowed[r * m + c] ? data.A[r * m + c] : NaN), "text"),
      this.labels.times, matrix("V", [n, d_v], m, d_v, (r, c) => data.V[r * d_v + c], "value"), "=",
      matrix(this.labels.heads, [n, d_v], m, d_v, (r, c) => data.O[r * d_v + c], "value")];
    const form = this.score === "additive" ? "matrix_additive" : this.scaled ? "matrix_form" : "matrix_unscaled";
    const formula = fill(this.labels[form], { bias: this.stages.includes("bias") ? " + bias" : "" });
    const drawn = fill(this.labels.matrix_drawn, { first: items[0].j, last: items.at(-1).j });
    marked(make("p", "formula", this.detail), `${formula}   ${drawn}`);
    const line = make("div", "matrices", this.detail), tall = Math.max(5, Math.min(10, 68 / m));
    const thin = Math.max(1.2, (tall * m) / d_k), wide = Math.max(2.5, 110 / d_k);
    for (const part of parts) {
      if (typeof part === "string") make("span", "sign", line, part);
      else this.matrixPicture(line, part, { tall, thin, wide });
    }
  }

  /** One matrix of the form: its name and shape, and its cells; the query's row framed. */
  matrixPicture(line, { symbol, shape, rows, columns, at, meaning }, { tall, thin, wide }) {
    const cell = make("figure", "", line), canvas = make("canvas"), context = canvas.getContext("2d");
    marked(make("figcaption", meaning, cell), `${symbol} [${shape[0]} × ${shape[1]}]`);
    cell.append(canvas);
    const pattern = symbol === this.labels.pattern, keys = symbol === "K^{T}";
    const across = Math.round((pattern || keys ? tall : wide) * columns);
    const down = Math.round((keys ? thin : tall) * rows);
    const ratio = Math.min(window.devicePixelRatio || 1, 3), { ink, table } = this.theme;
    const sizes = Array.from({ length: rows * columns }, (_, k) => Math.abs(at(Math.floor(k / columns), k % columns)));
    const most = pattern ? 1 : Math.max(...sizes, 1e-9);
    [canvas.width, canvas.height] = [across * ratio, down * ratio];
    Object.assign(canvas.style, { width: `${across}px`, height: `${down}px` });
    context.scale(ratio, ratio);
    const picture = matrixPicture(rows, columns, at, table(pattern ? "seq" : "div"), pattern ? 0 : -most, most);
    placePicture(context, picture, 0, 0, across, down);
    stroke(context, ink(`${meaning === "text" ? "accent" : meaning}-ink`), 1);
    context.strokeRect(0.5, 0.5, across - 1, down - 1);
    if (keys || symbol === "V") return;
    stroke(context, ink("text"), 2);
    context.strokeRect(1, (this.i * down) / rows + 1, across - 2, down / rows - 2);
  }

  pick(values) { this.trigger("picked", values); }
}

function dashed(context, { x, w }, y, colour) {
  stroke(context, colour, 1, [2, 4]);
  line(context, x, y, x + w, y);
  context.setLineDash([]);
}

export default function (component) {
  return mount(component, Steps);
}
