import { pointedByKeys } from "../../core/components/lib/by_keys.js";
import { hatch } from "../../core/components/lib/canvas.js";
import { between, css } from "../../core/components/lib/colours.js";
import { exact } from "../../core/components/lib/numbers.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { chip, emOf, fill, keepFree, make, mount } from "../../core/components/lib/token_view.js";

// header: tokens [N], the visible forms of the rows; first: position of the first row; panels [{name, said, meaning,
// rows, columns, keys: columns are tokens, scale: "div" or "seq", reach: the value of the deepest colour, masked:
// whether what comes after the query is hidden}]; arrays m0, m1, …: their values, row by row; lines: rows of panels.
class Matrices {
  constructor(root) {
    this.root = root;
    this.heading = make("div", "title", root);
    this.heading.setAttribute("aria-live", "polite");
    this.grid = make("div", "matrices", root);
    this.tip = make("div", "tip", root);
    this.tip.hidden = true;
    this.places = [];
    keepFree(this.grid, 280, 760);
    new ResizeObserver(() => this.paint()).observe(this.grid);
  }

  receive(header) {
    Object.assign(this, header);
    this.root.classList.toggle("present", header.scale > 1);
    this.grid.style.setProperty("--lines", header.lines);
    this.heading.textContent = header.title;
    while (this.places.length > this.panels.length) this.places.pop().panel.remove();
    while (this.places.length < this.panels.length) {
      const panel = make("div", "panel", this.grid), canvas = make("canvas", "", panel);
      const of = () => this.panels[this.places.findIndex((one) => one.canvas === canvas)];
      pointedByKeys(canvas, () => { const { x, y, wide, cell, columns, rows } = of();
        return { left: x, top: y, width: columns * wide, height: rows * cell, columns, rows }; },
        () => (this.tip.hidden ? "" : this.tip.textContent));
      this.places.push({ panel, canvas });
    }
    this.panels.forEach((of, k) => {
      const { canvas } = this.places[k];
      canvas.setAttribute("aria-label", `${of.name}: ${of.said}`);
      canvas.onpointermove = (event) => this.read(event, k);
      canvas.onpointerleave = () => { this.tip.hidden = true; };
    });
    this.paint();
  }

  paint() {
    if (!this.panels) return;
    const { ink, stops } = readTheme();
    this.panels.forEach((of, k) => this.heatmap(of, this[`m${k}`], this.places[k], stops(of.scale), ink));
  }

  heatmap(of, values, { panel, canvas }, stops, ink) {
    const width = panel.clientWidth, height = panel.clientHeight, ratio = window.devicePixelRatio || 1;
    const em = emOf(this.root) * 0.82;
    if (!width || !height) return;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const names = Math.min(5.4 * em, 0.24 * width), top = this.headings(context, of, width, ink);
    const cell = (height - top - 1) / of.rows;
    const wide = of.keys ? Math.min((width - names - 1) / of.columns, 2.6 * cell) : (width - names - 1) / of.columns;
    Object.assign(of, { x: names, y: top, cell, wide });
    const gap = Math.min(cell, wide) > 6 ? 1 : 0;
    for (let i = 0; i < of.rows; i++) {
      for (let j = 0; j < of.columns; j++) {
        const x = names + j * wide, y = top + i * cell;
        if (of.masked && j > i) continue;
        context.fillStyle = css(shade(stops, values[i * of.columns + j], of));
        context.fillRect(x, y, wide - gap + (gap ? 0 : 0.4), cell - gap + (gap ? 0 : 0.4));
      }
    }
    if (of.masked) this.hatchMasked(context, of, ink);
    context.strokeStyle = ink("grid-ink");
    context.lineWidth = 1;
    context.strokeRect(names - 0.5, top - 0.5, of.columns * wide + 1, of.rows * cell + 1);
    const every = Math.ceil((1.08 * em) / cell);
    context.font = `${Math.min(em, Math.max(cell * every * 0.95, 8))}px ${ink("mono")}`;
    context.fillStyle = ink("muted-ink");
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let i = 0; i < of.rows; i += every)
      context.fillText(this.tokens[i], names - 5, Math.min(height - 0.55 * em, top + (i + 0.5) * cell), names - 6);
  }

  /** The panel's name and what is said of it; returns where the cells begin. */
  headings(context, of, width, ink) {
    const em = emOf(this.root), family = ink("font");
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.font = `600 ${em}px ${family}`;
    context.fillStyle = of.meaning ? ink(`${of.meaning}-ink`) : ink("text");
    context.fillText(of.name, 0, em, width);
    context.font = `${0.94 * em}px ${family}`;
    context.fillStyle = ink("muted-ink");
    context.fillText(of.said, 0, 2.25 * em, width);
    return Math.round(2.7 * em);
  }

  /** What the mask hides is no zero: it is empty and faintly hatched. */
  hatchMasked(context, { x: left, y: top, ...of }, ink) {
    context.save();
    context.beginPath();
    for (let i = 0; i < of.rows - 1; i++)
      context.rect(left + (i + 1) * of.wide, top + i * of.cell, (of.columns - i - 1) * of.wide, of.cell);
    context.clip();
    hatch(context, left, 0, of.columns * of.wide, top + of.rows * of.cell, ink("grid"), 6);
    context.restore();
  }

  read(event, k) {
    const of = this.panels[k], box = event.target.getBoundingClientRect(), around = this.root.getBoundingClientRect();
    const i = Math.floor((event.clientY - box.top - of.y) / of.cell);
    const j = Math.floor((event.clientX - box.left - of.x) / of.wide);
    this.tip.hidden = i < 0 || j < 0 || i >= of.rows || j >= of.columns;
    if (this.tip.hidden) return;
    this.tip.replaceChildren();
    const hidden = of.masked && j > i, value = this[`m${k}`][i * of.columns + j];
    chip(this.tip, this.tokens[i]);
    if (of.keys) {
      this.tip.append(" → ");
      chip(this.tip, this.tokens[j]);
    } else this.tip.append(` ${fill(this.text.dimension, { c: j })}`);
    make("b", "", this.tip, ` ${hidden ? this.text.masked : exact(value)}`);
    this.tip.style.left =
      `${Math.max(0, Math.min(event.clientX - around.left + 12, around.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${event.clientY - around.top - this.tip.offsetHeight - 8}px`;
  }
}

function shade(stops, value, { reach, scale }) {
  return between(stops, scale === "div" ? (value / reach + 1) / 2 : value / reach);
}

export default function (component) {
  mount(component, Matrices);
}
