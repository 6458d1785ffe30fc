// A recurrent network unrolled: tokens below, a strip of m hidden units above each, layer over layer, the outputs on
// top; arrows carry the state from step to step. What comes from below enters every direction of a layer, and what
// stands above reads them all. An LSTM has a lane of its own for c, below its h. On the path from a token to the picked
// step an arrow is as thick as the share of what the token changed that is left there. A click on a strip picks a step
// and a unit, a click on a token the start of the path; arrow keys move step and unit, with shift the start.
import { beginDrawing, clipped, line, stroke, writeText } from "../../core/components/lib/canvas.js";
import { css } from "../../core/components/lib/colours.js";
import { fill, make, spokenLine } from "../../core/components/lib/dom.js";
import { exact, percent } from "../../core/components/lib/numbers.js";
import { showTip, tokenChip } from "../../core/components/lib/pattern.js";
import { monoFont, textWidth } from "../../core/components/lib/text.js";
import { fitHeight, keepFitted, mounted, View } from "../../core/components/lib/view.js";
import { carried, wayIn, wayOut } from "./wiring.js";

const ARCS = 54, CHIPS = 34, MOST_CHIPS = 84, GAP = 26, LEAST_COLUMN = 26, MOST_COLUMN = 260;
const LEAN = Math.SQRT1_2;          // of a name that leans by 45°: its width and its height by its length
const LANE = 10, OUTPUT = 20;       // px between the lanes of h and c, and of the strip of an output
const LEAST_NAMED = 0.01, TINY = 1e-4;     // shares: the least that is written at an arrow, and that is written exactly
const THIN = 1, THICK = 6;          // px of an arrow of the path on which nothing is left, and all
const LAYERS = "¹²³";
const WEIGHT = { meaning: "residual-ink", bold: true, size: 0.95 };

const reach = (values) => values.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1;
const clamp = (value, n) => Math.max(0, Math.min(n - 1, value));

/** k: outputs; source: a token; left_shares (directions, n); states and, of an LSTM, cells (layers, directions, n, m)
 * and kept (layers, directions, n), the mean of the forget gate; outputs (n, k); least and most pixels
 * of the height, and those kept free below.
 * @typedef {Record<"layers" | "directions" | "n" | "m" | "k" | "source" | "least" | "most" | "below" | "scale", number>
 *   & Record<"states" | "cells" | "kept" | "outputs", Float32Array> & { tokens: string[], left_shares: number[][],
 *   picked: Record<"layer" | "direction" | "step" | "unit", number>, theme: string,
 *   text: Record<string, string> }} Message */
/** @typedef {Record<"ratio" | "type" | "left" | "height" | "column" | "whole" | "top" | "foot" | "strip" | "thick"
 *   | "gap", number> & { leans: boolean, context: CanvasRenderingContext2D, colours: Uint32Array,
 *   ink(name: string): string }} Drawn */

/** @extends {View<Message & Drawn>} */
class Unrolled extends View {
  constructor(root) {
    super(root);
    this.scroll = make("div", "scroll", root);
    this.stage = make("div", "stage", this.scroll);
    this.stage.tabIndex = 0;
    this.stage.role = "application";
    this.canvas = make("canvas", "", this.stage);
    this.tip = make("div", "tip", root);
    this.tip.hidden = true;
    this.spoken = spokenLine(root, "spoken");
    this.stage.onpointermove = (event) => this.hover(event);
    this.stage.onpointerleave = () => { this.tip.hidden = true; };
    this.stage.onclick = (event) => this.click(event);
    this.stage.onkeydown = (event) => this.walk(event);
    this.scroll.onscroll = () => { this.tip.hidden = true; this.paint(); };
    keepFitted(root, () => this.text && this.arrange());
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.reach = { h: reach(this.states), c: reach(this.cells), y: reach(this.outputs) };
    this.stage.ariaLabel = this.text.keys;
    this.arrange();
    this.reveal();
  }

  // ---- what is picked ----

  pick(change) {
    this.picked = { ...this.picked, ...change };
    this.spoken.textContent = this.describe(this.picked);
    this.paint();
    this.reveal();
    this.trigger("picked", this.picked);
  }

  start(source) {
    this.source = source;
    this.paint();
    this.trigger("source", source);
  }

  walk(event) {
    const { step, unit } = this.picked;
    const across = { ArrowLeft: -1, ArrowRight: 1 }[event.key], along = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!across && !along) return;
    event.preventDefault();
    event.stopPropagation();
    if (across && event.shiftKey) this.start(clamp(this.source + across, this.n));
    else if (across) this.pick({ step: clamp(step + across, this.n) });
    else this.pick({ unit: clamp(unit + along, this.m) });
  }

  // ---- layout ----

  arrange() {
    const width = this.scroll.clientWidth, { scale, layers, directions, n } = this;
    if (!width) return;
    const height = fitHeight(this.stage, this.least, this.most, this.below), left = 46 * scale, type = 12 * scale;
    const widths = this.tokens.map((token) => textWidth(token, monoFont(type))), longest = Math.max(...widths);
    const room = (width - left - 4) / n, leans = longest + 16 > room;
    // names that lean reach beyond the last column
    const beyond = leans ? Math.max(...widths.map((w, i) => LEAN * w - (n - 1 - i) * LEAST_COLUMN * scale)) : 0;
    const column = Math.min(MOST_COLUMN, Math.max(LEAST_COLUMN * scale, room - Math.max(0, beyond) / n));
    const whole = Math.max(width, left + column * n + 4 + Math.max(0, beyond - column / 2));
    const thick = Math.min(30, column * 0.36), count = layers * directions, top = ARCS * scale, gap = GAP * scale;
    const foot = leans ? Math.min(MOST_CHIPS * scale, LEAN * longest + 24) : CHIPS * scale;
    const first = top + OUTPUT * scale + gap, row = (height - first - foot - gap * count) / count;
    const lane = this.cells.length ? LANE * scale : 0, strip = lane ? (row - lane) / 2 : row;
    const ratio = window.devicePixelRatio || 1;
    Object.assign(this, { ratio, type, left, height, column, whole, top, foot, strip, thick, leans, gap });
    // the last layer highest; of two directions the backward one above; c below its h
    this.strips = Array.from({ length: count }, (_, k) => {
      const upper = first + (count - 1 - k) * (row + gap);
      return { layer: Math.floor(k / directions), direction: k % directions, top: upper, bottom: upper + row,
        lane: lane ? upper + strip + lane : null };
    });
    this.output = { top, bottom: top + OUTPUT * scale };
    Object.assign(this.stage.style, { width: `${whole}px`, height: `${height}px` });
    this.paint();
  }

  reveal() {
    const x = this.centre(this.picked.step), { scrollLeft, clientWidth } = this.scroll;
    if (x - this.column < scrollLeft) this.scroll.scrollLeft = x - this.column;
    else if (x + this.column > scrollLeft + clientWidth) this.scroll.scrollLeft = x + this.column - clientWidth;
  }

  centre(step) {
    return this.left + (step + 0.5) * this.column;
  }

  topOf(layer, direction) {
    return this.strips[layer * this.directions + direction].top;
  }

  /** The strips of a layer, the lowest first; above the last layer, the one of the outputs.
      @returns {any[]} */
  rows(layer) {
    const { directions, layers, strips, output } = this;
    return layer === layers ? [output] : strips.slice(layer * directions, (layer + 1) * directions);
  }

  /** The name of a strip's own weights or state: its layer, if there are several, and its direction. */
  mark({ layer, direction }) {
    return `${this.layers > 1 ? LAYERS[layer] : ""}${this.directions > 1 ? "→←"[direction] : ""}`;
  }

  /** The share of what the source changed that is left at a step. */
  leftAt(direction, step) {
    return this.left_shares[direction][step];
  }

  value({ layer, direction, step, unit }, values = this.states) {
    return values[((layer * this.directions + direction) * this.n + step) * this.m + unit];
  }

  // ---- drawing ----

  paint() {
    const { source, picked, directions } = this;
    beginDrawing(this, this.whole);
    // the direction that carries token `source` to the picked step; null if the step comes before it and no layer runs
    // backwards
    this.route = picked.step >= source ? 0 : directions > 1 ? 1 : null;
    for (let step = 0; step < this.n; step++)
      for (let layer = 0; layer <= this.layers; layer++) this.rise(step, layer);
    for (const strip of this.strips) {
      this.arrowsAlong(strip);
      if (strip.lane !== null) this.laneAlong(strip);
    }
    for (const strip of this.strips) this.drawStates(strip);
    this.outputsAbove();
    this.chips();
    this.attention();
    this.outline();
    this.names();
  }

  /** Write a text centred at (x, y). */
  write(text, x, y, options = {}) {
    writeText(this, text, x, y, { align: "center", ...options });
  }

  /** An arrow of the path, `wide` px thick, or, without it, one beside it. */
  arrow(x1, y1, x2, y2, wide = 0, meaning = "residual-ink") {
    const { context } = this, angle = Math.atan2(y2 - y1, x2 - x1), head = wide ? Math.max(7, 2 * wide) : 4.5;
    const colour = this.ink(wide ? meaning : "grid-ink");
    stroke(context, colour, wide || 1);
    line(context, x1, y1, x2 - Math.cos(angle) * head, y2 - Math.sin(angle) * head);
    this.triangle(colour, [[x2, y2], ...[0.45, -0.45].map((turn) =>
      [x2 - head * Math.cos(angle + turn), y2 - head * Math.sin(angle + turn)])]);
  }

  triangle(colour, corners) {
    const { context } = this;
    context.fillStyle = colour;
    context.beginPath();
    for (const [x, y] of corners) context.lineTo(x, y);
    context.fill();
  }

  /** From step to step of one layer, in one direction. */
  arrowsAlong({ layer, direction, top }) {
    const { n, thick, route, source, picked, scale } = this, y = top + this.strip / 2;
    const low = Math.min(source, picked.step), high = Math.max(source, picked.step);
    for (let step = 0; step + 1 < n; step++) {
      const ends = [this.centre(step) + thick / 2 + 2, this.centre(step + 1) - thick / 2 - 2];
      const [from, to] = direction ? ends.reverse() : ends;
      const carries = route === direction && layer === 0 && step >= low && step < high;
      const left = this.leftAt(direction, step + 1 - direction);
      this.arrow(from, y, to, y, carries ? THIN + (THICK - THIN) * Math.min(1, left) : 0);
      if (carries && left >= LEAST_NAMED && this.column - thick > 30 * scale)
        this.write(percent(left, left < 0.1 ? 1 : 0), (from + to) / 2, y + 14 * scale,
          { meaning: "residual-ink", size: 0.9 });
    }
    if (n > 1 && this.column - thick > 36 * scale)
      this.write(`Wₕ${this.mark({ layer, direction })}`, (this.centre(0) + this.centre(1)) / 2, y - 10, WEIGHT);
  }

  /** An LSTM's c from step to step, as thick as its forget gates are open on average; and up into h. */
  laneAlong({ layer, direction, lane, top }) {
    const { n, thick, scale, strip } = this, y = lane + strip / 2;
    for (let step = 0; step < n; step++) {
      this.arrow(this.centre(step), lane - 1, this.centre(step), top + strip + 1);
      const to = step + 1 - direction, kept = this.kept[(layer * this.directions + direction) * n + to];
      if (step + 1 === n) continue;
      const ends = [this.centre(step) + thick / 2 + 2, this.centre(step + 1) - thick / 2 - 2];
      const [from, end] = direction ? ends.reverse() : ends;
      this.arrow(from, y, end, y, THIN + (THICK - THIN) * kept, "mlp-ink");
      if (this.column - thick > 44 * scale && strip > 24 * scale)
        this.write(`f = ${percent(kept, 0)}`, (from + end) / 2, y + 13 * scale, { meaning: "mlp-ink", size: 0.9 });
    }
  }

  /** The input of one layer at one step: a stem below it, into which the token leads, or every direction of the layer
      below, and from which it leads into every direction of the layer; the path's way on top. */
  rise(step, layer) {
    const into = this.rows(layer), from = layer ? this.rows(layer - 1) : [], x = this.centre(step);
    const stem = into[0].bottom + this.gap / 2, path = carried(this, step, layer), { thick, gap } = this;
    const size = { thick, gap, side: thick / 2 + Math.min(7, (this.column - thick) / 5) };
    const wide = (end, k) => path?.[end] === k ? 3 : 0;
    if (!from.length) this.bend([[x, this.height - this.foot + 2], [x, stem]], wide("from", -1), false);
    from.forEach((row, k) => this.bend(wayOut(row, k + 1 < from.length, x, stem, size), wide("from", k), false));
    into.forEach((row, k) => this.bend(wayIn(row, k > 0, x, stem, size), wide("to", k), true));
    if (step > 0 || layer === this.layers || this.column - thick <= 36 * this.scale) return;
    for (const row of into)
      this.write(`Wₓ${this.mark(row)}`, x + size.side + 5, row.bottom + 0.28 * gap, { ...WEIGHT, align: "left" });
  }

  /** A line with corners, `wide` px thick if it belongs to the path; with `head` its last piece is an arrow. */
  bend(points, wide, head) {
    const { context } = this, plain = head ? points.slice(0, -1) : points;
    stroke(context, this.ink(wide ? "residual-ink" : "grid-ink"), wide || 1);
    context.beginPath();
    for (const [x, y] of plain) context.lineTo(x, y);
    context.stroke();
    if (head) this.arrow(...points.at(-2), ...points.at(-1), wide);
  }

  /** One strip of values as fields of signed colour, from `top` on. */
  fields(step, top, tall, values, most) {
    const { context, thick } = this, x = this.centre(step) - thick / 2, cell = tall / values.length;
    const gap = cell > 7 ? 1 : -0.4;
    values.forEach((value, k) => {
      context.fillStyle = css(this.colours[Math.round(127.5 + (127.5 * value) / most)]);
      context.fillRect(x, top + k * cell, thick, cell - gap);
    });
    stroke(context, this.ink("grid-ink"));
    context.strokeRect(x - 0.5, top - 0.5, thick + 1, tall + 1);
  }

  /** The h of a layer in one direction, and the c of an LSTM. */
  drawStates({ layer, direction, top, lane }) {
    const { n, m, strip, directions, states, cells } = this;
    for (let step = 0; step < n; step++) {
      const start = ((layer * directions + direction) * n + step) * m;
      this.fields(step, top, strip, [...states.subarray(start, start + m)], this.reach.h);
      if (lane !== null) this.fields(step, lane, strip, [...cells.subarray(start, start + m)], this.reach.c);
    }
  }

  outputsAbove() {
    const { k, output: { top, bottom } } = this;
    for (let step = 0; step < this.n; step++)
      this.fields(step, top, bottom - top, [...this.outputs.subarray(step * k, (step + 1) * k)], this.reach.y);
    if (this.column - this.thick > 36 * this.scale)
      this.write("V", this.centre(0) + 6, bottom + this.gap / 2, { ...WEIGHT, align: "left" });
  }

  /** The names of the rows, at the left edge of the visible part, however far it is scrolled. */
  names() {
    const { context, text, height, foot, scale } = this, left = this.scroll.scrollLeft;
    const write = (name, y, more) => this.write(name, left + 4, y, { align: "left", bold: true, ...more });
    context.fillStyle = this.ink("page");
    context.fillRect(left, this.top - 2, this.left - 6, height - this.top);
    const tight = this.column - this.thick <= 36 * scale;
    for (const strip of this.strips) {
      const y = strip.top + this.strip / 2, style = { meaning: "residual-ink" }, mark = this.mark(strip);
      write(`${text.hidden}${mark}`, y - (tight ? 8 * scale : 0), style);
      if (tight) write(`Wₕ${mark}`, y + 8 * scale, style);
      if (strip.lane !== null) write(`${text.cell}${mark}`, strip.lane + this.strip / 2, { meaning: "mlp-ink" });
    }
    write(text.output, (this.output.top + this.output.bottom) / 2);
    write(text.input, height - foot + 4 + (foot - 10) / 2);
  }

  chips() {
    const { context, ink, source, picked, leans } = this, top = this.height - this.foot + 4;
    this.tokens.forEach((token, step) => {
      context.font = `${this.type}px ${ink("mono")}`;
      const chosen = step === source || step === picked.step;
      (leans ? this.leaning : this.chip).call(this, token, step, top, chosen);
    });
  }

  chip(token, step, top, chosen) {
    const { context, ink, column } = this, tall = this.foot - 10, x = this.centre(step);
    const name = clipped(context, token, column - 12);
    const wide = Math.min(column - 4, context.measureText(name).width + 12);
    context.fillStyle = ink("panel");
    stroke(context, ink(step === this.source ? "key" : chosen ? "query" : "grid-ink"), chosen ? 2.5 : 1);
    context.beginPath();
    context.roundRect(x - wide / 2, top, wide, tall, 4);
    context.fill();
    context.stroke();
    this.write(name, x, top + tall / 2 + 0.5, { mono: true, bold: chosen, room: wide - 4 });
  }

  /** A name that leans down to the right, where columns are too narrow for one that lies. */
  leaning(token, step, top, chosen) {
    const { context } = this, meaning = step === this.source ? "key-ink" : chosen ? "query-ink" : "text";
    const name = clipped(context, token, (this.foot - 16) / LEAN);
    context.save();
    context.translate(this.centre(step), top + 8);
    context.rotate(Math.PI / 4);
    this.write(name, 0, 0, { align: "left", mono: true, bold: chosen, meaning });
    context.restore();
  }

  /** The path of attention over the same distance: one arc from the token to the picked step, above everything. */
  attention() {
    const { context, ink, source, picked, text, scale } = this, backward = this.route === null;
    const from = this.centre(source), to = this.centre(picked.step), base = this.top - 4, peak = 20 * scale - 12;
    if (source !== picked.step) {
      stroke(context, ink(backward ? "excluded-ink" : "attention-ink"), 2.5, backward ? [2, 5] : [7, 4]);
      context.beginPath();
      context.moveTo(from, base);
      context.bezierCurveTo(from, peak, to, peak, to, base);
      context.stroke();
      context.setLineDash([]);
      if (!backward) this.triangle(ink("attention-ink"), [[to, base + 3], [to - 4, base - 6], [to + 4, base - 6]]);
    }
    const share = backward ? 0 : this.leftAt(this.route, picked.step);
    const left = share < TINY ? `< ${percent(TINY, 0)}` : percent(share);
    const words = backward ? text.none : fill(text.path, { steps: Math.abs(picked.step - source), left });
    const { scrollLeft, clientWidth } = this.scroll;
    context.font = `700 ${this.type}px ${ink("font")}`;
    // on the screen, wherever the arc is
    const half = context.measureText(words).width / 2 + 4;
    const x = Math.max(scrollLeft + half, Math.min(scrollLeft + clientWidth - half, (from + to) / 2));
    this.write(words, x, 9 * scale, { bold: true, meaning: backward ? "muted" : "text" });
  }

  outline() {
    const { thick, picked } = this, cell = this.strip / this.m, x = this.centre(picked.step) - thick / 2;
    const y = this.topOf(picked.layer, picked.direction) + picked.unit * cell;
    for (const [meaning, width] of Object.entries({ text: 5, drawn: 2.5 })) {
      stroke(this.context, this.ink(meaning), width);
      this.context.strokeRect(x - 3, y - 1, thick + 6, Math.max(cell, 4) + 1);
    }
  }

  // ---- under the pointer ----

  /** A token below, a unit of a strip, or nothing. */
  under(event) {
    const box = this.stage.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const step = Math.floor((x - this.left) / this.column);
    if (step < 0 || step >= this.n) return null;
    if (y > this.height - this.foot) return { token: step, step };
    const strip = this.strips.find(({ top, bottom }) => y >= top && y < bottom);
    if (!strip) return null;
    const { layer, direction, top, lane } = strip, start = lane !== null && y >= lane ? lane : top;
    return { layer, direction, step, unit: clamp(Math.floor(((y - start) / this.strip) * this.m), this.m) };
  }

  click(event) {
    const place = this.under(event);
    if (place?.token !== undefined) this.start(place.token);
    else if (place) this.pick(place);
  }

  describe(place) {
    const { layer, direction, step, unit } = place;
    return fill(this.text.reading, { layer: layer + 1, direction: this.directions > 1 ? ` ${"→←"[direction]}` : "",
      step, unit, token: this.tokens[step], value: exact(this.value(place)) })
      + (this.cells.length ? `, ${this.text.cell}: ${exact(this.value(place, this.cells))}` : "");
  }

  hover(event) {
    const place = this.under(event);
    this.tip.hidden = true;
    if (!place) return;
    const x = this.centre(place.step) - this.scroll.scrollLeft;
    if (place.token !== undefined) {
      const words = [tokenChip(this.tokens[place.token], "key"), make("small", "", null, ` ${place.token}`)];
      showTip(this.tip, words, x, this.height - this.foot, this.foot);
    } else {
      const y = this.topOf(place.layer, place.direction) + (place.unit * this.strip) / this.m;
      showTip(this.tip, [make("span", "", null, this.describe(place))], x, y, 24);
    }
  }
}

export default mounted(Unrolled);
