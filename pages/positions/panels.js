// Parts that the lesson's pictures share: ranges above, canvases below, and one cell under pointer and keys.
import { wholeTicks } from "../../core/components/lib/axis.js";
import { line, stroke, write } from "../../core/components/lib/canvas.js";
import { fill, make } from "../../core/components/lib/dom.js";
import { Instrument, panelIn, Range } from "../../core/components/lib/instrument.js";
import { grouped, written } from "../../core/components/lib/numbers.js";

/** @import { BaseOf } from "../../core/components/lib/view.js" */

/** The cell, of `count`, that is at a share (0 … 1) of the way across them. */
const cellAt = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));

/** The base at a range's exponent, of three significant digits, so that Python gets the very same number. */
export const baseAt = (exponent) => Number((10 ** exponent).toPrecision(3));

/** A line through the points [x, y]. */
export function polyline(context, points) {
  context.beginPath();
  for (const point of points) context.lineTo(...point);
  context.stroke();
}

export function circle(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

/** A cell of a panel under the pointer, which is at (x, y).
 * @typedef {{ name: string, column: number, row: number, x: number, y: number }} Cell */
/** The box and grid of a panel's picture, as for Surface.point.
 * @typedef {{ left: number, top?: number, width: number, height: number, columns: number, rows: number,
 *   from?: number[] }} Cells */
/** What a picture defines: what follows from the settings, all words, and a panel's picture and its cells; pick, if
 * there is one, gets the cell that is pressed or dragged over, and the share of the height at which.
 * @typedef {{ compute(): void, describe(): void, drawPanel(name: string, context: CanvasRenderingContext2D): void,
 *   cells(name: string): Cells, pick?(cell: Cell, share: number): void }} Parts */

/** @extends {Instrument<Parts>} */
class PanelsBase extends Instrument {
  constructor(root) {
    super(root);
    this.settings = /** @type {object} */ ({});
    this.hover = /** @type {Cell | null} */ (null);
    this.ranges = /** @type {Record<string, Range>} */ ({});
    this.panels = /** @type {Record<string, ReturnType<typeof panelIn>>} */ ({});
    this.controls = make("div", "controls", root);
    this.grid = make("div", "panels", root);
    this.reading = make("p", "reading", root);
    this.reading.ariaLive = "polite";
  }

  get ink() {
    return this.theme.ink;
  }

  /** Whether it stands on a projector, which has room for the panels that carry the point. */
  get isPresented() {
    return this.root.classList.contains("present");
  }

  /** A range of the setting `name`. */
  range(name, { parent = this.controls, className = name, convert = (value) => value } = {}) {
    this.ranges[name] = new Range(parent, className, { input: (value) => this.set(name, convert(value)),
      commit: () => this.commit() });
  }

  set(name, value) {
    this.settings[name] = value;
    this.schedule();
  }

  /** Show a range: its label, bounds, value, and the value's text. */
  show(name, low, high, { step = 1, value = this.settings[name], text = written(value), hint = "" } = {}) {
    this.ranges[name].title(this.labels[name], hint);
    this.ranges[name].set(low, high, step, value, text);
  }

  /** The same for the base b, by its exponent. */
  showBase(hint) {
    const { base } = /** @type {{ base: number }} */ (this.settings);
    this.show("base", 0, 6, { step: 0.05, value: Number(Math.log10(base).toFixed(6)), text: grouped(base), hint });
  }

  /** A checkbox of the setting `name`; its text is the label of that name. */
  checkbox(parent, name, changed) {
    const choice = make("label", "choice", parent), input = make("input", "", choice);
    input.type = "checkbox";
    const text = make("span", "", choice);
    input.onchange = () => { this.set(name, input.checked); changed(); this.commit(); };
    return () => {
      input.checked = Boolean(this.settings[name]);
      text.textContent = this.labels[name];
    };
  }

  /** A panel with pointer and keys; without keys if ranges do all that the pointer does. */
  panel(name, hasKeys = true) {
    const panel = this.panels[name] = panelIn(this.grid, name);
    panel.surface.point((x, y, phase) => this.pointed(name, x, y, phase), hasKeys ? () => this.cells(name) : null);
    return panel;
  }

  pointed(name, x, y, phase) {
    const { left, top = 0, width, height, columns, rows } = this.cells(name), share = (y - top) / height;
    const cell = { name, column: cellAt((x - left) / width, columns), row: cellAt(share, rows), x, y };
    this.hover = phase === "out" ? null : cell;
    if (phase === "down" || phase === "drag") this.pick?.(cell, share);
    if (phase === "up") this.commit();
    this.schedule();
  }

  /** Captions of all panels: the labels that `key` names, with {values} put in. */
  caption(values, key = (name) => name) {
    for (const [name, { say }] of Object.entries(this.panels))
      say(fill(this.labels[key(name).replace("-", "_")], values));
  }

  draw() {
    this.compute();
    this.describe();
    const shown = Object.entries(this.panels).filter(([, { cell }]) => !cell.hidden);
    for (const [, { surface }] of shown) surface.measure();
    for (const [name, { surface }] of shown) {
      const context = surface.begin();
      context.font = `${this.fontSize}px ${this.ink("font")}`;
      this.drawPanel(name, context);
    }
  }

  /** A number of an axis. */
  tick(context, number, x, y, align = "right") {
    write(context, grouped(number), x, y, this.ink("muted"), align);
  }

  /** The numbers of about `wanted` columns, below a picture. */
  columnTicks(context, { left, top = 0, width, height, columns }, wanted, first = 0) {
    for (const column of wholeTicks(columns, wanted))
      this.tick(context, column + first, left + ((column + 0.5) / columns) * width, top + height + 10, "center");
  }

  /** The numbers of about `wanted` rows, beside a picture and never above its panel. */
  rowTicks(context, { left, top = 0, height, rows }, wanted, shown = () => true) {
    for (const row of wholeTicks(rows, wanted).filter(shown))
      this.tick(context, row, left - 6, Math.max(6, top + ((row + 0.5) / rows) * height));
  }

  /** A grid line at each value, and the number beside it. */
  levels(context, { left, width }, values, y, text = written) {
    stroke(context, this.ink("grid"));
    for (const value of values) {
      line(context, left, y(value), left + width, y(value));
      this.tick(context, text(value), left - 6, y(value));
    }
  }
}

/** An instrument of ranges and panels, each known by its name. */
export const Panels = /** @type {BaseOf<PanelsBase>} */ (PanelsBase);
