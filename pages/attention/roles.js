// Matrices side by side as heatmaps, each with its name, a line about it, and its values under the pointer.
//
// header: tokens [N], the visible forms of the rows; panels [{name, said: the line about it, meaning, rows, columns,
// keys: columns are tokens, scale: "div" or "seq", reach: the value of the deepest colour, masked: whether keys after
// the query are hidden}]; arrays m0, m1, …: their values, row by row; lines: rows of panels.
import { hatch, resize, stroke } from "../../core/components/lib/canvas.js";
import { between, css } from "../../core/components/lib/colours.js";
import { chip, fill, make, spokenLine } from "../../core/components/lib/dom.js";
import { pointedByKeys } from "../../core/components/lib/keys.js";
import { exact } from "../../core/components/lib/numbers.js";
import { showTip } from "../../core/components/lib/pattern.js";
import { emOf } from "../../core/components/lib/text.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { keepFree, mounted } from "../../core/components/lib/view.js";

class Matrices {
  constructor(root) {
    this.root = root;
    this.heading = spokenLine(root, "title");
    this.grid = make("div", "matrices", root);
    this.tip = make("div", "tip", root);
    this.tip.hidden = true;
    this.canvases = [];
    keepFree(this.grid, 280, 760);
    new ResizeObserver(() => this.paint()).observe(this.grid);
  }

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

  heatmap(panel, values, canvas) {
    const { clientWidth: width, clientHeight: height } = canvas.parentNode, ratio = window.devicePixelRatio || 1;
    if (!width || !height) return;
    const { rows, columns, keys, masked, scale, reach } = panel, { ink, stops } = readTheme();
    const em = emOf(this.root) * 0.82, context = canvas.getContext("2d");
    resize(canvas, Math.round(width * ratio), Math.round(height * ratio));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const left = Math.min(5.4 * em, 0.24 * width), top = this.headings(context, panel, width, ink);
    const tall = (height - top - 1) / rows, room = (width - left - 1) / columns;
    const wide = keys ? Math.min(room, 2.6 * tall) : room, gap = Math.min(tall, wide) > 6 ? 1 : -0.4;
    Object.assign(panel, { left, top, tall, wide });
    values.forEach((value, index) => {
      const i = Math.floor(index / columns), j = index % columns, share = value / reach;
      if (masked && j > i) return;
      context.fillStyle = css(between(stops(scale), scale === "div" ? (share + 1) / 2 : share));
      context.fillRect(left + j * wide, top + i * tall, wide - gap, tall - gap);
    });
    if (masked) hatchMasked(context, panel, ink);
    stroke(context, ink("grid-ink"));
    context.strokeRect(left - 0.5, top - 0.5, columns * wide + 1, rows * tall + 1);
    const every = Math.ceil((1.08 * em) / tall);
    context.font = `${Math.min(em, Math.max(tall * every * 0.95, 8))}px ${ink("mono")}`;
    Object.assign(context, { fillStyle: ink("muted-ink"), textAlign: "right", textBaseline: "middle" });
    for (let i = 0; i < rows; i += every)
      context.fillText(this.tokens[i], left - 5, Math.min(height - 0.55 * em, top + (i + 0.5) * tall), left - 6);
  }

  /** Write the panel's name and the line about it; returns the y at which the cells begin. */
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

  read(event, { left, top, wide, tall, rows, columns, keys, masked }, values) {
    const box = event.target.getBoundingClientRect(), frame = this.root.getBoundingClientRect();
    const i = Math.floor((event.clientY - box.top - top) / tall);
    const j = Math.floor((event.clientX - box.left - left) / wide);
    this.tip.hidden = i < 0 || j < 0 || i >= rows || j >= columns;
    if (this.tip.hidden) return;
    const column = keys ? [" → ", chip(null, this.tokens[j])] : [` ${fill(this.text.dimension, { c: j })}`];
    const amount = masked && j > i ? this.text.masked : exact(values[i * columns + j]);
    showTip(this.tip, [chip(null, this.tokens[i]), ...column, make("b", "", null, ` ${amount}`)],
      event.clientX - frame.left, event.clientY - frame.top - 4, 24);
  }
}

/** Masked cells are not zeros: they stay empty, under a faint hatch. */
function hatchMasked(context, { left, top, wide, tall, rows, columns }, ink) {
  context.save();
  context.beginPath();
  for (let i = 0; i < rows - 1; i++)
    context.rect(left + (i + 1) * wide, top + i * tall, (columns - i - 1) * wide, tall);
  context.clip();
  hatch(context, left, 0, columns * wide, top + rows * tall, ink("grid"), 6);
  context.restore();
}

export default mounted(Matrices);
