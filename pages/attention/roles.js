// Matrices side by side as heatmaps, each with its name, a line about it, and its values under the pointer.
import { resize, stroke } from "../../core/components/lib/canvas.js";
import { between, css } from "../../core/components/lib/colours.js";
import { chip, fill, make, spokenLine } from "../../core/components/lib/dom.js";
import { pointedByKeys } from "../../core/components/lib/keys.js";
import { exact } from "../../core/components/lib/numbers.js";
import { showTip } from "../../core/components/lib/pattern.js";
import { abridged, emOf } from "../../core/components/lib/text.js";
import { pageScale, readTheme } from "../../core/components/lib/theme.js";
import { keepFree, mounted, View } from "../../core/components/lib/view.js";

const LETTERS = 9;      // most of a token's name

/** tokens: those of the rows, and of the columns if `keys`; said: the line about a panel; reach: the value of the
 * deepest colour; lines: rows of panels; m0, m1, …: the panels' values, row by row.
 * @typedef {{ name: string, said: string, meaning: string, rows: number, columns: number, keys: boolean,
 *   scale: "div" | "seq", reach: number }} Panel
 * @typedef {{ title: string, tokens: string[], panels: Panel[], lines: number, theme: string,
 *   [values: `m${number}`]: Float32Array, text: Record<string, string>, scale: number }} Message */

/** @typedef {Panel & Record<"left" | "top" | "wide" | "tall", number>} Drawn */

/** @extends {View<Omit<Message, "panels"> & { panels: Drawn[] }>} */
class Matrices extends View {
  constructor(root) {
    super(root);
    this.heading = spokenLine(root, "title");
    this.grid = make("div", "matrices", root);
    this.tip = make("div", "tip", root);
    this.tip.hidden = true;
    this.canvases = [];
    keepFree(this.grid, 280, 760);
    new ResizeObserver(() => this.paint()).observe(this.grid);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.grid.style.setProperty("--lines", header.lines);
    this.heading.textContent = header.title;
    while (this.canvases.length > this.panels.length) this.canvases.pop().parentNode.remove();
    while (this.canvases.length < this.panels.length) this.canvases.push(this.canvas(this.canvases.length));
    this.panels.forEach(({ name, said }, k) => { this.canvases[k].ariaLabel = `${name}: ${said}`; });
    this.paint();
  }

  /** The canvas of panel k; pointer and keys read its values. */
  canvas(k) {
    const canvas = make("canvas", "", make("div", "panel", this.grid));
    pointedByKeys(canvas, () => {
      const { left, top, wide, tall, columns, rows } = this.panels[k];
      return { left, top, width: columns * wide, height: rows * tall, columns, rows };
    }, () => (this.tip.hidden ? "" : this.tip.textContent));
    canvas.onpointermove = (event) => this.read(event, this.panels[k], this[`m${k}`]);
    canvas.onpointerleave = () => { this.tip.hidden = true; };
    return canvas;
  }

  paint() {
    this.panels?.forEach((panel, k) => this.heatmap(panel, this[`m${k}`], this.canvases[k]));
  }

  /** @param {Drawn} panel */
  heatmap(panel, values, canvas) {
    const { clientWidth: width, clientHeight: height } = canvas.parentNode, ratio = window.devicePixelRatio || 1;
    if (!width || !height) return;
    const { rows, columns, keys, scale, reach } = panel, { ink, stops } = readTheme();
    const em = emOf(this.root) * 0.82, context = canvas.getContext("2d");
    resize(canvas, Math.round(width * ratio), Math.round(height * ratio));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const left = Math.min(6.4 * em, 0.26 * width);
    const top = this.headings(context, panel, width, ink) + Math.round((keys ? 4.6 : 1.4) * em);
    if (height <= top + 1) return;      // no room for a row: the page is still being laid out
    const tall = (height - top - 1) / rows, room = (width - left - (keys ? 2.6 * em : 1)) / columns;
    const wide = keys ? Math.min(room, 2.6 * tall) : room, gap = Math.min(tall, wide) > 6 ? 1 : -0.4;
    Object.assign(panel, { left, top, tall, wide });
    values.forEach((value, index) => {
      const i = Math.floor(index / columns), j = index % columns, share = value / reach;
      context.fillStyle = css(between(stops(scale), scale === "div" ? (share + 1) / 2 : share));
      context.fillRect(left + j * wide, top + i * tall, wide - gap, tall - gap);
    });
    stroke(context, ink("grid-ink"));
    context.strokeRect(left - 0.5, top - 0.5, columns * wide + 1, rows * tall + 1);
    const every = Math.ceil((1.08 * em) / tall);
    context.font = `${Math.min(em, Math.max(tall * every * 0.95, 8 * pageScale()))}px ${ink("mono")}`;
    Object.assign(context, { fillStyle: ink("muted-ink"), textAlign: "right", textBaseline: "middle" });
    for (let i = 0; i < rows; i += every)
      context.fillText(abridged(this.tokens[i], LETTERS), left - 5,
        Math.min(height - 0.55 * em, top + (i + 0.5) * tall), left - 6);
    this.columnNames(context, panel, em, ink);
  }

  /** Name the columns: the tokens, slanted, or the numbers of the dimensions. */
  columnNames(context, { left, top, wide, columns, keys }, em, ink) {
    const size = Math.min(em, Math.max(wide * 0.95, 9 * pageScale()));
    const every = Math.ceil((keys ? 1.08 * size : 2.6 * em) / wide);
    context.font = `${keys ? size : 0.9 * em}px ${ink("mono")}`;
    Object.assign(context, { fillStyle: ink("muted-ink"), textAlign: keys ? "left" : "center",
      textBaseline: keys ? "middle" : "alphabetic" });
    for (let j = 0; j < columns; j += every) {
      context.save();
      context.translate(left + (j + 0.5) * wide, top - 0.4 * em);
      if (keys) context.rotate(-Math.PI / 3);
      context.fillText(keys ? abridged(this.tokens[j], LETTERS) : String(j), 0, 0);
      context.restore();
    }
  }

  /** Write the panel's name and the line about it; returns the y at which the cells begin.
      @param {CanvasRenderingContext2D} context @param {Panel} panel */
  headings(context, { name, said, meaning }, width, ink) {
    const em = emOf(this.root), family = ink("font");
    Object.assign(context, { textAlign: "left", textBaseline: "alphabetic" });
    context.font = `600 ${em}px ${family}`;
    context.fillStyle = ink(meaning ? `${meaning}-ink` : "text");
    context.fillText(name, 0, em, width);
    context.font = `${0.94 * em}px ${family}`;
    context.fillStyle = ink("muted-ink");
    context.fillText(said, 0, 2.25 * em, width);
    return Math.round(2.7 * em);
  }

  read(event, { left, top, wide, tall, rows, columns, keys }, values) {
    const box = event.target.getBoundingClientRect(), frame = this.root.getBoundingClientRect();
    const i = Math.floor((event.clientY - box.top - top) / tall);
    const j = Math.floor((event.clientX - box.left - left) / wide);
    this.tip.hidden = i < 0 || j < 0 || i >= rows || j >= columns;
    if (this.tip.hidden) return;
    const column = keys ? [" → ", chip(null, this.tokens[j])] : [` ${fill(this.text.dimension, { c: j })}`];
    const amount = make("b", "", null, ` ${exact(values[i * columns + j])}`);
    showTip(this.tip, [chip(null, this.tokens[i]), ...column, amount],
      event.clientX - frame.left, event.clientY - frame.top - 4, 24);
  }
}

export default mounted(Matrices);
