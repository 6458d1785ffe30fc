// The orbit seen from above, the loss over the steps and the error over the years, at one step of the fit; and the
// position on one day.
import { decimals, grouped, significant } from "../../core/components/lib/numbers.js";
import {
  dot, fill, Instrument, line, make, mount, panelIn, Range, rich, stroke, wholeTicks, write,
} from "../../core/components/lib/position_canvas.js";
import { apart, MOTIONS, pathOf, TURN } from "./kepler_motion.js";

const LEAST = 0.01, MOST = 1e5;      // minutes of arc, the ends of the logarithmic axes
const DAY = 86400000, J2000 = Date.UTC(2000, 0, 1, 12);

/** An error as it is said: beyond half a turn it is no angle any more. */
const angle = (minutes) => (minutes < 10000 ? `${grouped(significant(minutes))}′` : `> ${grouped(10000)}′`);

class Orbit extends Instrument {
  constructor(root) {
    super(root);
    this.settings = {};
    const controls = make("div", "controls", root);
    this.button = make("button", "", controls);
    this.button.onclick = () => (this.playing ? this.stop() : this.play());
    const range = (name) => new Range(controls, name, { input: (value) => { this.stop(); this.settings[name] = value;
      this.schedule(); }, commit: () => this.commit() });
    this.ranges = { fit_step: range("fit_step"), day: range("day") };
    const grid = make("div", "panels", root);
    this.panels = { orbit: panelIn(grid, "orbit"), loss: panelIn(grid, "loss"), years: panelIn(grid, "years") };
    this.reading = make("p", "reading", root);
    this.reading.setAttribute("aria-live", "polite");
  }

  receive(data, send) {
    const fresh = JSON.stringify(data.told);
    if (this.fresh && this.fresh !== fresh) this.stop();
    this.fresh = fresh;
    this.told = data.told;
    this.root.style.setProperty("--free", `${data.height}px`);
    super.receive(data, send);
  }

  get last() {
    return this.told.steps.length - 1;
  }

  get at() {
    const { fit_step } = this.settings;
    return fit_step < 0 || fit_step > this.last ? this.last : fit_step;
  }

  play() {
    if (this.at === this.last) this.settings.fit_step = 0;
    const step = () => {
      this.settings.fit_step = this.at + 1;
      if (this.at >= this.last) this.stop();
      this.schedule();
    };
    this.playing = setInterval(step, Math.max(40, Math.min(600, 4000 / this.last)));
    this.schedule();
  }

  stop() {
    if (!this.playing) return;
    clearInterval(this.playing);
    this.playing = null;
    if (this.at === this.last) this.settings.fit_step = -1;
    this.commit();
    this.schedule();
  }

  close() {
    clearInterval(this.playing);
    super.close();
  }

  place(t) {
    return MOTIONS[this.told.structure](this.told.numbers[this.at], t, this.told.trained);
  }

  draw() {
    const { told } = this, t = this.settings.day / 365.25;
    const now = this.place(t), true_ = MOTIONS.ellipse(told.truth, t);
    this.describe(now, true_);
    for (const [name, { surface }] of Object.entries(this.panels)) {
      surface.measure();
      const context = surface.begin();
      context.font = `${this.fontSize}px ${this.theme.ink("font")}`;
      if (name === "orbit") this.drawOrbit(context, surface, now);
      else if (name === "loss") this.drawLoss(context, surface);
      else this.drawYears(context, surface, t);
    }
  }

  describe(now, true_) {
    const { told, labels, ranges, settings } = this, off = apart(now, true_);
    this.button.textContent = this.playing ? labels.pause : labels.play;
    ranges.fit_step.title(labels.step);
    ranges.fit_step.set(0, this.last, 1, this.at, String(told.steps[this.at]));
    ranges.day.title(labels.day);
    const date = new Date(J2000 + settings.day * DAY);
    const shown = date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
    ranges.day.set(0, 36525, 1, settings.day, shown);
    const longitude = ((Math.atan2(now[1], now[0]) * 180) / Math.PI + 360) % 360, distance = Math.hypot(...now);
    const values = { step: told.steps[this.at], train: angle(told.train[this.at]), test: angle(told.test[this.at]),
      date: shown, longitude: decimals(longitude, 2), distance: significant(distance, 4), off: angle(off),
      km: grouped(significant(off * Math.sqrt(3) / 60 * (Math.PI / 180) * Math.hypot(...true_) * 149.597870700)) };
    for (const [name, { say }] of Object.entries(this.panels)) say(fill(labels[`caption_${name}`], values));
    rich(this.reading, fill(labels[distance > 100 ? "reading_lost" : "reading"], values));
  }

  drawOrbit(context, surface, now) {
    const { theme, told } = this, side = Math.min(surface.width, surface.height), scale = side / 2 / 1.78;
    const cx = surface.width / 2, cy = surface.height / 2;
    const x = ([px]) => cx + scale * px, y = ([, py]) => cy - scale * py;
    const far = (p) => Math.abs(p[0]) > 50 || Math.abs(p[1]) > 50;
    stroke(context, theme.ink("grid-ink"), 1, [2, 4]);
    context.beginPath();
    context.arc(cx, cy, scale, 0, TURN);
    context.stroke();
    write(context, this.labels.earth, cx, cy + scale - 9, theme.ink("muted"), "center");
    stroke(context, theme.ink("key-ink"), 1);
    for (const [t, ...p] of told.measured) {
      const says = this.place(t);
      if (!far(says)) line(context, x(p), y(p), x(says), y(says));
    }
    stroke(context, theme.ink("kept-ink"), 2.2);
    context.beginPath();
    for (const p of pathOf(told.structure, told.numbers[this.at], told.trained))
      if (!far(p)) context.lineTo(x(p), y(p));
    context.stroke();
    for (const [, ...p] of told.held_out)
      dot(context, x(p), y(p), 3.2, theme.ink("query-ink"), theme.ink("page"), true);
    for (const [, ...p] of told.measured) dot(context, x(p), y(p), 4, theme.ink("excluded-ink"), theme.ink("page"));
    dot(context, cx, cy, 7, theme.ink("drawn"), theme.ink("text"));
    write(context, this.labels.sun, cx, cy + 16, theme.ink("text"), "center");
    if (!far(now)) this.mark(context, x(now), y(now));
  }

  /** The planet on the picked day: a ring that no measurement has. */
  mark(context, x, y) {
    for (const [colour, width, radius] of [["text", 4, 8], ["drawn", 2, 8]]) {
      stroke(context, this.theme.ink(colour), width);
      context.beginPath();
      context.arc(x, y, radius, 0, TURN);
      context.stroke();
    }
  }

  /** A frame with a logarithmic upright axis in minutes of arc, its first share shaded: the box, and where
      a value stands. */
  frame(context, surface, low, high, shaded = 0) {
    const { theme } = this, left = 3.7 * this.fontSize, top = 6, width = surface.width - left - 8;
    const height = surface.height - top - 20;
    context.fillStyle = theme.ink("panel");
    context.fillRect(left, top, shaded * width, height);
    const y = (value) => top + height * (1
      - (Math.log10(Math.max(low, Math.min(high, value))) - Math.log10(low)) / (Math.log10(high) - Math.log10(low)));
    const powers = Math.round(Math.log10(high / low)), every = Math.ceil((1.25 * this.fontSize * powers) / height);
    for (let power = Math.round(Math.log10(low)); power <= Math.log10(high) + 1e-9; power += every) {
      stroke(context, theme.ink("grid"));
      line(context, left, y(10 ** power), left + width, y(10 ** power));
      write(context, `${grouped(power < 0 ? (10 ** power).toFixed(-power) : 10 ** power)}′`, left - 5, y(10 ** power),
        theme.ink("muted"), "right");
    }
    if (this.told.noise > 0) {
      stroke(context, theme.ink("text"), 1, [5, 3]);
      line(context, left, y(this.told.noise), left + width, y(this.told.noise));
    }
    return { left, top, width, height, y };
  }

  name(context, text, x, y, colour, align) {
    stroke(context, this.theme.ink("page"), 4);
    context.textAlign = align;
    context.textBaseline = "middle";
    context.strokeText(text, x, y);
    write(context, text, x, y, colour, align);
  }

  drawLoss(context, surface) {
    const { told, theme, labels } = this, all = [...told.train, ...told.test, told.noise].filter((value) => value > 0);
    const low = Math.max(LEAST, 10 ** Math.floor(Math.log10(Math.min(...all))));
    const high = Math.max(10 * low, Math.min(MOST, 10 ** Math.ceil(Math.log10(Math.max(...all)))));
    const { left, top, width, height, y } = this.frame(context, surface, low, high), most = told.steps[this.last] || 1;
    const x = (step) => left + 6 + ((width - 12) * step) / most;
    for (const tick of wholeTicks(most + 1, width / 60))
      write(context, String(tick), x(tick), top + height + 11, theme.ink("muted"), "center");
    stroke(context, theme.ink("grid-ink"), 1.5);
    line(context, x(told.steps[this.at]), top, x(told.steps[this.at]), top + height);
    for (const [values, colour, dash] of [[told.test, "query-ink", []], [told.train, "excluded-ink", [3, 3]]]) {
      stroke(context, theme.ink(colour), 2.2, dash);
      context.beginPath();
      values.slice(0, this.at + 1).forEach((value, i) => context.lineTo(x(told.steps[i]), y(value)));
      context.stroke();
      dot(context, x(told.steps[this.at]), y(values[this.at]), 4, theme.ink(colour), theme.ink("page"),
        colour === "query-ink");
    }
    const right = left + width - 2;
    const ends = [[told.test[this.at], labels.test, "query-ink"], [told.train[this.at], labels.train, "excluded-ink"]];
    const flip = x(told.steps[this.at]) > left + width / 2, levels = ends.map(([value]) => y(value));
    const apart_ = levels[1] - levels[0], gap = this.fontSize + 5;
    if (Math.abs(apart_) < gap) {
      levels[0] -= (gap - Math.abs(apart_)) / 2 + (apart_ < 0 ? -apart_ : 0);
      levels[1] = levels[0] + gap;
    }
    ends.forEach(([, text, colour], i) => this.name(context, text, flip ? Math.min(right, x(told.steps[this.at])) - 10
        : x(told.steps[this.at]) + 10, Math.max(top + 6, Math.min(top + height - 6, levels[i])),
      theme.ink(colour), flip ? "right" : "left"));
    if (told.noise > 0) this.name(context, labels.noise, left + 4, y(told.noise) - 8, theme.ink("text"), "left");
  }

  drawYears(context, surface, t) {
    const { told, theme, labels } = this;
    const { left, top, width, height, y } = this.frame(context, surface, LEAST, 1e4, told.trained / told.tested);
    const x = (years) => left + (width * years) / told.tested;
    write(context, labels.fitted, left + 4, top + 7, theme.ink("muted"), "left");
    if (x(told.tested) - x(told.trained) > 100)
      write(context, labels.held_out, x(told.trained) + 6, top + 7, theme.ink("muted"), "left");
    for (let year = 0; year <= told.tested; year += width > 420 ? 2 : 5)
      write(context, String(told.epoch + year), Math.min(x(year), surface.width - 16), top + height + 11,
        theme.ink("muted"), "center");
    stroke(context, theme.ink("kept-ink"), 2);
    context.beginPath();
    for (let i = 0; i <= width; i += 1) {
      const years = (told.tested * i) / width;
      context.lineTo(left + i, y(apart(this.place(years), MOTIONS.ellipse(told.truth, years))));
    }
    context.stroke();
    for (const [list, colour, hollow] of [[told.measured, "excluded-ink", false], [told.held_out, "query-ink", true]]) {
      for (const [years, ...p] of list)
        dot(context, x(years), y(apart(this.place(years), p)), 3, theme.ink(colour), theme.ink("page"), hollow);
    }
    if (t <= told.tested) {
      stroke(context, theme.ink("drawn-ink"), 2);
      line(context, x(t), top, x(t), top + height);
    }
  }
}

export default function (component) {
  return mount(component, Orbit);
}
