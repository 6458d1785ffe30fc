// A recurrent network unrolled: tokens below, a strip of m hidden units above each, layer over layer; arrows carry the
// state from step to step. On the path from a token to the picked step an arrow is as thick as the share of what the
// token changed that is left there. A click on a strip picks a step and a unit, a click on a token the start of the
// path; arrow keys move step and unit, with shift the start.
//
// header: layers, directions, n, m, tokens [text], picked {layer, direction, step, unit}, source (a token), left_shares
// [directions][n], guess (the reader's, in percent, of the share at the picked step, or null), mine (its
// name), text, least, most, below, scale, theme; states (layers, directions, n, m).
import { beginDrawing, clipped, line, stroke, writeText } from "../../core/components/lib/canvas.js";
import { css } from "../../core/components/lib/colours.js";
import { fill, make, spokenLine } from "../../core/components/lib/dom.js";
import { exact, percent } from "../../core/components/lib/numbers.js";
import { showTip, tokenChip } from "../../core/components/lib/pattern.js";
import { monoFont, textWidth } from "../../core/components/lib/text.js";
import { fitHeight, keepFitted, mounted } from "../../core/components/lib/view.js";

const ARCS = 54, CHIPS = 34, MOST_CHIPS = 84, GAP = 26, LEAST_COLUMN = 26, MOST_COLUMN = 260;
const LEAN = Math.SQRT1_2;          // of a name that leans by 45°: its width and its height by its length
const LEAST_NAMED = 0.01, TINY = 1e-4;     // shares: the least that is written at an arrow, and that is written exactly
const THIN = 1, THICK = 6;          // px of an arrow of the path on which nothing is left, and all
const WEIGHT = { meaning: "residual-ink", bold: true, size: 0.95 };

const clamp = (value, n) => Math.max(0, Math.min(n - 1, value));

class Unrolled {
  constructor(root) {
    this.root = root;
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

  receive(header) {
    Object.assign(this, header);
    this.reach = this.states.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1;
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
    const strip = (height - top - foot - gap * count) / count, ratio = window.devicePixelRatio || 1;
    Object.assign(this, { ratio, type, left, height, column, whole, top, foot, strip, thick, leans });
    // the last layer highest; of two directions the backward one above
    this.strips = Array.from({ length: count }, (_, k) => ({ layer: Math.floor(k / directions),
      direction: k % directions, top: top + (count - 1 - k) * (strip + gap) }));
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

  /** The share of what the source changed that is left at a step. */
  leftAt(direction, step) {
    return this.left_shares[direction][step];
  }

  value({ layer, direction, step, unit }) {
    return this.states[((layer * this.directions + direction) * this.n + step) * this.m + unit];
  }

  // ---- drawing ----

  paint() {
    const { source, picked, directions } = this;
    beginDrawing(this, this.whole);
    // the direction that carries token `source` to the picked step; null if the step comes before it and no layer runs
    // backwards
    this.route = picked.step >= source ? 0 : directions > 1 ? 1 : null;
    for (const strip of this.strips) this.arrowsAlong(strip);
    for (let step = 0; step < this.n; step++)
      for (let layer = 0; layer < this.layers; layer++) this.arrowUp(step, layer);
    for (const strip of this.strips) this.cells(strip);
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
  arrow(x1, y1, x2, y2, wide = 0) {
    const { context } = this, angle = Math.atan2(y2 - y1, x2 - x1), head = wide ? Math.max(7, 2 * wide) : 4.5;
    const colour = this.ink(wide ? "residual-ink" : "grid-ink");
    stroke(context, colour, wide || 1);
    line(context, x1, y1, x2 - Math.cos(angle) * head, y2 - Math.sin(angle) * head);
    this.triangle(colour, [[x2, y2], ...[0.45, -0.45].map((turn) =>
      [x2 - head * Math.cos(angle + turn), y2 - head * Math.sin(angle + turn)])]);
  }

  triangle(colour, corners) {
    const { context } = this;
    context.fillStyle = colour;
    context.beginPath();
    for (const corner of corners) context.lineTo(...corner);
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
    if (n > 1 && this.column - thick > 30) this.write("Wₕ", (this.centre(0) + this.centre(1)) / 2, y - 10, WEIGHT);
  }

  /** From the token, or from the layer below, into a layer at one step. */
  arrowUp(step, layer) {
    const { source, picked } = this, x = this.centre(step), to = this.topOf(layer, 0) + this.strip + 3;
    const from = layer === 0 ? this.height - this.foot + 2 : this.topOf(layer - 1, this.directions - 1) - 2;
    const carries = layer === 0 ? step === source : layer <= picked.layer && step === picked.step;
    this.arrow(x, from, x, to, this.route !== null && carries ? 3 : 0);
    if (layer === 0 && step === 0) this.write("Wₓ", x + 8, (from + to) / 2, { ...WEIGHT, align: "left" });
  }

  cells({ layer, direction, top }) {
    const { context, n, m, strip, thick } = this, cell = strip / m, gap = cell > 7 ? 1 : -0.4;
    stroke(context, this.ink("grid-ink"));
    for (let step = 0; step < n; step++) {
      const x = this.centre(step) - thick / 2;
      for (let unit = 0; unit < m; unit++) {
        const share = this.value({ layer, direction, step, unit }) / this.reach;
        context.fillStyle = css(this.colours[Math.round(127.5 + 127.5 * share)]);
        context.fillRect(x, top + unit * cell, thick, cell - gap);
      }
      context.strokeRect(x - 0.5, top - 0.5, thick + 1, strip + 1);
    }
  }

  /** The names of the rows, at the left edge of the visible part, however far it is scrolled. */
  names() {
    const { context, text, height, foot, scale } = this, left = this.scroll.scrollLeft;
    const write = (name, y, more) => this.write(name, left + 4, y, { align: "left", bold: true, ...more });
    context.fillStyle = this.ink("page");
    context.fillRect(left, this.top - 2, this.left - 6, height - this.top);
    for (const { layer, direction, top } of this.strips) {
      const y = top + this.strip / 2, tight = this.column - this.thick <= 30, style = { meaning: "residual-ink" };
      const arrow = this.directions > 1 ? "→←"[direction] : "";
      write(`${text.hidden}${this.layers > 1 ? layer + 1 : ""}${arrow}`, y - (tight ? 8 * scale : 0), style);
      if (tight) write("Wₕ", y + 8 * scale, style);
    }
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
    const mine = this.guess === null ? "" : ` (${this.mine}: ${percent(this.guess / 100, 0)})`;
    const share = backward ? 0 : this.leftAt(this.route, picked.step);
    const left = `${share < TINY ? `< ${percent(TINY)}` : percent(share)}${mine}`;
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
    const strip = this.strips.find(({ top }) => y >= top && y < top + this.strip);
    if (!strip) return null;
    const { layer, direction, top } = strip;
    return { layer, direction, step, unit: clamp(Math.floor(((y - top) / this.strip) * this.m), this.m) };
  }

  click(event) {
    const place = this.under(event);
    if (place?.token !== undefined) this.start(place.token);
    else if (place) this.pick(place);
  }

  describe(place) {
    const { layer, direction, step, unit } = place;
    return fill(this.text.reading, { layer: layer + 1, direction: this.directions > 1 ? ` ${"→←"[direction]}` : "",
      step, unit, token: this.tokens[step], value: exact(this.value(place)) });
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
