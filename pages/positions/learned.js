// The learned positions P of the model beside sinusoids of the same shape: the matrices, the cosines between positions,
// lengths and spectra, under one cursor.
import { decimals, significant } from "../../core/components/lib/numbers.js";
import {
  fill, Instrument, line, make, matrixPicture, mount, panelIn, placePicture, Range, rich, stroke, wholeTicks, write,
} from "../../core/components/lib/position_canvas.js";

/** Cosines between the rows of M (n × d), flat n × n. */
function cosines(M, n, d) {
  const length = Float64Array.from({ length: n }, (_, i) => {
    let sum = 0;
    for (let c = 0; c < d; c += 1) sum += M[i * d + c] ** 2;
    return Math.sqrt(sum) || 1;
  });
  const out = new Float32Array(n * n);
  for (let i = 0; i < n; i += 1) {
    for (let j = i; j < n; j += 1) {
      let sum = 0;
      for (let c = 0; c < d; c += 1) sum += M[i * d + c] * M[j * d + c];
      out[i * n + j] = out[j * n + i] = sum / (length[i] * length[j]);
    }
  }
  return out;
}

/** Sinusoids (n × d) with base 10 000, as in core/model/positional.py. */
function sinusoids(n, d) {
  return Float64Array.from({ length: n * d }, (_, k) => {
    const [i, c] = [Math.floor(k / d), k % d];
    return (c % 2 ? Math.cos : Math.sin)(i * 10000 ** (-(c - (c % 2)) / d));
  });
}

const greatest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-12);

class Learned extends Instrument {
  constructor(root) {
    super(root);
    this.settings = {};
    this.hover = null;
    const top = make("div", "controls", root);
    this.position = new Range(top, "i",
      { input: (value) => { this.settings.i = value; this.schedule(); }, commit: () => this.commit() });
    const choice = make("label", "axes", top);
    this.axes = make("input", "", choice);
    this.axes.type = "checkbox";
    this.axesText = make("span", "", choice);
    this.axes.onchange = () => {
      this.settings.principal = this.axes.checked;
      this.picturesTheme = null;
      this.schedule();
      this.commit();
    };
    const grid = make("div", "panels", root);
    this.panels = {};
    for (const name of ["learned", "learned-cosines", "sinusoidal", "sinusoidal-cosines", "lengths", "spectrum"]) {
      this.panels[name] = panelIn(grid, name);
      this.panels[name].surface.point((x, y, phase) => this.pointed(name, x, y, phase), () => this.cells(name));
    }
    this.reading = make("p", "reading", root);
    this.reading.setAttribute("aria-live", "polite");
  }

  receive(header, send) {
    super.receive(header, send);
    const { n, d, axes } = header;
    const turned = { learned: header.learned_turned, sinusoidal: header.sinusoidal_turned };
    Object.assign(this, { n, d, shownAxes: axes, stats: header, turned });
    if (this.digest !== header.digest) {
      this.digest = header.digest;
      this.stored = { learned: header.learned, sinusoidal: sinusoids(n, d) };
      this.cos = { learned: cosines(this.stored.learned, n, d), sinusoidal: cosines(this.stored.sinusoidal, n, d) };
    }
    this.picturesTheme = null;
    this.axes.checked = Boolean(this.settings.principal);
    this.axesText.textContent = this.labels.axes;
  }

  /** How many rows of a matrix are drawn: all dimensions as stored, the strongest axes when turned. */
  rows() {
    return this.settings.principal ? this.shownAxes : this.d;
  }

  matrix(which) {
    return (this.settings.principal ? this.turned : this.stored)[which];
  }

  /** Where the colours end: at 1 for sinusoids, at three times the root mean square for learned entries, so that a few
      large ones do not wash out the rest. */
  limit(which) {
    if (which === "sinusoidal" && !this.settings.principal) return 1;
    const M = this.matrix(which);
    return 3 * Math.sqrt(M.reduce((sum, value) => sum + value * value, 0) / M.length) || 1;
  }

  pictures() {
    if (this.picturesTheme === this.theme) return;
    this.picturesTheme = this.theme;
    this.made = {};
    const { n } = this;
    for (const which of ["learned", "sinusoidal"]) {
      const M = this.matrix(which);
      const most = this.limit(which);
      this.made[which] = matrixPicture(this.rows(), n, (r, c) => M[c * this.rows() + r], this.theme.table("div"), -most,
        most);
      this.made[`${which}-cosines`] = matrixPicture(n, n, (r, c) => this.cos[which][r * n + c], this.theme.table("div"),
        -1, 1);
    }
  }

  box(name, surface) {
    const square = name.endsWith("cosines");
    const left = 40;
    const height = surface.height - 18;
    return { left, height, width: square ? Math.min(height, surface.width - left - 4) : surface.width - left - 8 };
  }

  columns(name) {
    return name === "spectrum" ? this.stats.spectrum.learned.length : this.n;
  }

  cells(name) {
    const rows = name.endsWith("cosines") ? this.n : name === "spectrum" || name === "lengths" ? 1 : this.rows();
    return { ...this.box(name, this.panels[name].surface), columns: this.columns(name), rows,
      from: [name === "spectrum" ? 0 : this.settings.i, 0] };
  }

  pointed(name, x, y, phase) {
    const { surface } = this.panels[name];
    const { left, width, height } = this.box(name, surface);
    const inside = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
    const column = inside((x - left) / width, this.columns(name));
    this.hover = phase === "out" ? null
      : { name, column, row: inside(y / height, name.endsWith("cosines") ? this.n : this.rows()) };
    if ((phase === "down" || phase === "drag") && name !== "spectrum") this.settings.i = column;
    if (phase === "up") this.commit();
    this.schedule();
  }

  draw() {
    this.settings.i = Math.min(this.settings.i, this.n - 1);
    this.pictures();
    const { labels, settings } = this;
    this.position.title(labels.i);
    this.position.set(0, this.n - 1, 1, settings.i, String(settings.i));
    for (const [name, { surface, say }] of Object.entries(this.panels)) {
      surface.measure();
      const turned = settings.principal && (name === "learned" || name === "sinusoidal");
      say(fill(labels[turned ? `${name}_turned` : name.replace("-", "_")],
        { n: this.n, d: this.rows(), rank: this.stats.rank.learned, sinusoidal_rank: this.stats.rank.sinusoidal,
          limit: significant(this.limit(name === "sinusoidal" ? name : "learned")),
          sinusoidal_length: significant(this.stats.lengths.sinusoidal[0], 4) }));
      const context = surface.begin();
      context.font = `${this.fontSize}px ${this.theme.ink("font")}`;
      if (name === "lengths")
        this.drawLines(context, name, surface, { learned: this.stats.lengths.learned, sinusoidal: [] }, true);
      else if (name === "spectrum") this.drawLines(context, name, surface, this.stats.spectrum, false);
      else this.drawMatrix(context, name, surface);
    }
    rich(this.reading, this.hover ? this.hoverText()
        : fill(labels.reading, { i: settings.i, ...this.values(settings.i) }));
  }

  values(i) {
    const near = Math.min(i + 1, this.n - 1);
    return { near, length: decimals(this.stats.lengths.learned[i]),
      sinusoidal_length: decimals(this.stats.lengths.sinusoidal[i]),
      cosine: decimals(this.cos.learned[i * this.n + near]),
      sinusoidal_cosine: decimals(this.cos.sinusoidal[i * this.n + near]) };
  }

  hoverText() {
    const { name, column, row } = this.hover;
    const which = name.startsWith("sinusoidal") ? "sinusoidal" : "learned";
    if (name.endsWith("cosines"))
      return fill(this.labels.tip_cosine,
        { i: row, j: column, value: decimals(this.cos[which][row * this.n + column]) });
    if (name === "lengths")
      return fill(this.labels.tip_length, { i: column, value: decimals(this.stats.lengths.learned[column]),
        other: decimals(this.stats.lengths.sinusoidal[column]) });
    if (name === "spectrum")
      return fill(this.labels.tip_spectrum, { k: column + 1, value: decimals(this.stats.spectrum.learned[column]),
        other: decimals(this.stats.spectrum.sinusoidal[column]) });
    return fill(this.labels[this.settings.principal ? "tip_turned" : "tip"],
      { i: column, dimension: row, value: decimals(this.matrix(which)[column * this.rows() + row]) });
  }

  drawMatrix(context, name, surface) {
    const { left, width, height } = this.box(name, surface);
    const { theme, n } = this;
    const rows = name.endsWith("cosines") ? n : this.rows();
    placePicture(context, this.made[name], left, 0, width, height);
    for (const tick of wholeTicks(n, width / 55))
      write(context, String(tick), left + ((tick + 0.5) / n) * width, height + 10, theme.ink("muted"), "center");
    for (const tick of wholeTicks(rows, height / 30))
      write(context, String(tick), left - 6, Math.max(6, ((tick + 0.5) / rows) * height), theme.ink("muted"), "right");
    stroke(context, theme.ink("text"), 1.25);
    const at = left + ((this.settings.i + 0.5) / n) * width;
    line(context, at, 0, at, height);
    if (name.endsWith("cosines"))
      line(context, left, ((this.settings.i + 0.5) / n) * height, left + width, ((this.settings.i + 0.5) / n) * height);
  }

  /** Learned solid, sinusoids dashed, each labelled at its end. */
  drawLines(context, name, surface, series, cursor) {
    const { left, width, height } = this.box(name, surface);
    const { theme } = this;
    const most = greatest([...series.learned, ...series.sinusoidal]) * 1.08;
    const count = series.learned.length;
    const x = (k) => left + ((k + 0.5) / count) * width;
    const y = (value) => height - 2 - (value / most) * (height - 8);
    stroke(context, theme.ink("grid"));
    line(context, left, y(0), left + width, y(0));
    for (const value of [0, most / 1.08])
      write(context, value ? decimals(value, 2) : "0", left - 6, y(value), theme.ink("muted"), "right");
    for (const tick of wholeTicks(count, width / 55))
      write(context, String(tick + (cursor ? 0 : 1)), x(tick), height + 10, theme.ink("muted"), "center");
    for (const [which, dash] of [["sinusoidal", [5, 4]], ["learned", []]]) {
      stroke(context, theme.ink("position-ink"), which === "learned" ? 2 : 1.5, dash);
      context.beginPath();
      series[which].forEach((value, k) => context.lineTo(x(k), y(value)));
      context.stroke();
    }
    if (!cursor) return;
    stroke(context, theme.ink("text"), 1.25);
    line(context, x(this.settings.i), 0, x(this.settings.i), height);
  }
}

export default function (component) {
  return mount(component, Learned);
}
