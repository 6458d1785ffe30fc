// Past the trained length: what each scheme has to offer at positions that training never showed. Geometry alone; the
// browser computes it.
import { hatch } from "../../core/components/lib/canvas.js";
import { decimals, grouped } from "../../core/components/lib/numbers.js";
import {
  fill, Instrument, line, make, matrixPicture, mount, panelIn, placePicture, Range, rich, stroke, wholeTicks, write,
} from "../../core/components/lib/position_canvas.js";

/** Whether position i shows pair ω an angle that positions 0 … trained − 1 never did (their last angle, in a full turn
    not yet closed). */
function isNewAngle(i, omega, trained) {
  const last = (trained - 1) * omega;
  if (i < trained || last + omega >= 2 * Math.PI) return false;
  return (i * omega) % (2 * Math.PI) > last;
}

class Beyond extends Instrument {
  constructor(root) {
    super(root);
    this.settings = {};
    this.hover = null;
    const controls = make("div", "controls", root);
    const range = (name, convert = (x) => x) => new Range(controls, name,
      { input: (value) => { this.settings[name] = convert(value); this.schedule(); }, commit: () => this.commit() });
    this.ranges = { trained: range("trained"), read: range("read"),
      base: range("base", (e) => Number((10 ** e).toPrecision(3))), clip: range("clip") };
    const grid = make("div", "panels", root);
    this.panels = {};
    for (const name of ["learned", "angles", "alibi", "relative"]) {
      this.panels[name] = panelIn(grid, name);
      this.panels[name].surface.point((x, y, phase) => this.pointed(name, x, y, phase),
        () => ({ ...this.plot(this.panels[name].surface), columns: this.settings.read, rows: this.rows(name) }));
    }
    this.reading = make("p", "reading", root);
    this.reading.setAttribute("aria-live", "polite");
  }

  receive(header, send) {
    super.receive(header, send);
    Object.assign(this, { pairs: header.pairs, slopes: header.slopes });
  }

  plot(surface) {
    return { left: 52, width: surface.width - 62, height: surface.height - 18 };
  }

  rows(name) {
    return name === "angles" ? this.pairs : name === "alibi" ? this.slopes.length : 1;
  }

  pointed(name, x, y, phase) {
    const { left, width, height } = this.plot(this.panels[name].surface);
    const inside = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
    this.hover = phase === "out" ? null
      : { name, i: inside((x - left) / width, this.settings.read), row: inside(y / height, this.rows(name)) };
    this.schedule();
  }

  draw() {
    const s = this.settings;
    s.read = Math.max(s.read, s.trained);
    this.omega = Float64Array.from({ length: this.pairs }, (_, m) => s.base ** (-m / this.pairs));
    this.describe();
    for (const [name, { surface }] of Object.entries(this.panels)) {
      surface.measure();
      const context = surface.begin();
      context.font = `${this.fontSize}px ${this.theme.ink("font")}`;
      this[`draw_${name}`](context, surface);
      this.drawEdge(context, surface);
    }
  }

  describe() {
    const { settings: s, labels, ranges } = this;
    const set = (range, label, ...rest) => { range.title(label); range.set(...rest); };
    set(ranges.trained, labels.trained, 8, 512, 8, s.trained, String(s.trained));
    set(ranges.read, labels.read, 8, 2048, 8, s.read, String(s.read));
    set(ranges.base, labels.base, 0, 6, 0.05, Number(Math.log10(s.base).toFixed(6)), grouped(s.base));
    set(ranges.clip, labels.clip, 2, 256, 2, s.clip, String(s.clip));
    const open = this.omega.filter((omega) => s.trained * omega < 2 * Math.PI).length;
    const values = { trained: s.trained, read: s.read, last: s.trained - 1, missing: Math.max(0, s.read - s.trained),
      open, pairs: this.pairs, heads: this.slopes.length, clip: s.clip };
    for (const [name, { say }] of Object.entries(this.panels)) say(fill(labels[`${name}`], values));
    rich(this.reading, this.hover ? this.hoverText() : labels.hint);
  }

  hoverText() {
    const { name, i, row } = this.hover;
    const { trained, clip } = this.settings;
    const past = i >= trained;
    if (name === "learned") return fill(this.labels[past ? "tip_no_row" : "tip_row"], { i });
    if (name === "angles")
      return fill(this.labels[isNewAngle(i, this.omega[row], trained) ? "tip_new" : "tip_seen"],
        { i, row, angle: decimals(i * this.omega[row]), last: decimals((trained - 1) * this.omega[row]) });
    if (name === "alibi")
      return fill(this.labels.tip_alibi,
        { i, row, bias: decimals(-this.slopes[row] * i), factor: decimals(Math.exp(-this.slopes[row] * i)) });
    return fill(this.labels.tip_relative, { i, shared: Math.min(i, clip) });
  }

  /** The dashed line where training ended, the axis, and the hovered position. */
  drawEdge(context, surface) {
    const { left, width, height } = this.plot(surface);
    const { theme, settings: s } = this;
    stroke(context, theme.ink("text"), 2, [6, 4]);
    const edge = left + (s.trained / s.read) * width;
    if (s.read > s.trained) line(context, edge, 0, edge, height);
    for (const tick of wholeTicks(s.read, surface.width / 70))
      write(context, String(tick), left + ((tick + 0.5) / s.read) * width, height + 10, theme.ink("muted"), "center");
    if (!this.hover) return;
    stroke(context, theme.ink("muted"), 1);
    const x = left + ((this.hover.i + 0.5) / s.read) * width;
    line(context, x, 0, x, height);
    context.setLineDash([]);
  }

  draw_learned(context, surface) {
    const { left, width, height } = this.plot(surface);
    const edge = Math.min(1, this.settings.trained / this.settings.read) * width;
    context.fillStyle = this.theme.ink("position");
    context.fillRect(left, 0, edge, height);
    hatch(context, left + edge, 0, width - edge, height, this.theme.ink("excluded-ink"));
    write(context, "P", left - 8, height / 2, this.theme.ink("muted"), "right");
  }

  draw_angles(context, surface) {
    const { left, width, height } = this.plot(surface);
    const { trained, read } = this.settings;
    const columns = Math.min(read, Math.ceil(width));
    const at = (c) => Math.floor((c * read) / columns);
    hatch(context, left, 0, width, height, this.theme.ink("excluded-ink"), 6);
    const seen = matrixPicture(this.pairs, columns,
      (r, c) => (isNewAngle(at(c), this.omega[r], trained) ? NaN : Math.cos(at(c) * this.omega[r])),
      this.theme.table("div"), -1, 1);
    placePicture(context, seen, left, 0, width, height);
    for (const tick of wholeTicks(this.pairs, height / 28))
      write(context, String(tick), left - 6, Math.max(6, ((tick + 0.5) / this.pairs) * height),
        this.theme.ink("muted"), "right");
  }

  draw_alibi(context, surface) {
    const { left, width, height } = this.plot(surface);
    const { read } = this.settings;
    const columns = Math.min(read, Math.ceil(width));
    const factor = matrixPicture(this.slopes.length, columns,
      (r, c) => Math.exp(-this.slopes[r] * Math.floor((c * read) / columns)), this.theme.table("seq"), 0, 1);
    placePicture(context, factor, left, 0, width, height);
    this.slopes.forEach((_, r) => {
      if (height / this.slopes.length > 11)
        write(context, String(r), left - 6, ((r + 0.5) / this.slopes.length) * height, this.theme.ink("muted"),
          "right");
    });
  }

  draw_relative(context, surface) {
    const { left, width, height } = this.plot(surface);
    const { read, clip } = this.settings;
    const columns = Math.min(read, Math.ceil(width));
    const entry = matrixPicture(1, columns, (_, c) => Math.min(clip, Math.floor((c * read) / columns)),
      this.theme.table("seq"), 0, clip * 1.4);
    placePicture(context, entry, left, 0, width, height);
    write(context, "r", left - 8, height / 2, this.theme.ink("muted"), "right");
  }
}

export default function (component) {
  return mount(component, Beyond);
}
