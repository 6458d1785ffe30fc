// The orbit seen from above, the loss over the steps and the error over the years, at one step of the fit; and the
// position on one day.
import { powers, wholeTicks } from "../../core/components/lib/axis.js";
import { dot, line, stroke, write } from "../../core/components/lib/canvas.js";
import { fill, make, marked } from "../../core/components/lib/dom.js";
import { Instrument, panelIn, Range } from "../../core/components/lib/instrument.js";
import { decimals, grouped, significant } from "../../core/components/lib/numbers.js";
import { mounted } from "../../core/components/lib/view.js";
import { apart, MOTIONS, pathOf, TURN } from "./kepler_motion.js";

/** A line through points [x, y]. */
function path(context, points) {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.stroke();
}

function ring(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, TURN);
  context.stroke();
}

const LEAST = 0.01, MOST = 1e5;      // minutes of arc, the ends of the logarithmic axes
const DAY = 86400000, J2000 = Date.UTC(2000, 0, 1, 12);

/** An error as it is said: beyond half a turn it is no angle any more. */
const angle = (minutes) => (minutes < 10000 ? `${significant(minutes)}′` : `> ${grouped(10000)}′`);

/** measured, held_out: a year and the position then; trained, tested: years; numbers: after each of the steps.
 * @typedef {{ structure: keyof typeof MOTIONS, truth: number[], measured: Placed[], held_out: Placed[], noise: number,
 *   trained: number, tested: number, epoch: number, numbers: number[][], steps: number[], train: number[],
 *   test: number[] }} Fit */
/** @typedef {[number, number, number, number]} Placed */
/** @typedef {{ settings: { fit_step: number, day: number }, fit: Fit, labels: Record<string, string>,
 *   height: number, present: boolean }} Message */

/** @extends {Instrument<Pick<Message, "settings">>} */
class Orbit extends Instrument {
  constructor(root) {
    super(root);
    const controls = make("div", "controls", root);
    this.button = make("button", "", controls);
    this.button.onclick = () => (this.playing ? this.stop() : this.play());
    const range = (name) => new Range(controls, name, { input: (value) => { this.stop(); this.settings[name] = value;
      this.schedule(); }, commit: () => this.commit() });
    this.ranges = { fit_step: range("fit_step"), day: range("day") };
    const grid = make("div", "panels", root);
    this.panels = { orbit: panelIn(grid, "orbit"), loss: panelIn(grid, "loss"), years: panelIn(grid, "years") };
    this.reading = make("p", "reading", root);
    this.reading.ariaLive = "polite";
  }

  /** @param {Message} data */
  receive(data) {
    const fresh = JSON.stringify(data.fit);
    if (this.fresh && this.fresh !== fresh) this.stop();
    this.fresh = fresh;
    this.fit = data.fit;
    this.root.style.setProperty("--free", `${data.height}px`);
    super.receive(data);
  }

  get last() {
    return this.fit.steps.length - 1;
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
    return MOTIONS[this.fit.structure](this.fit.numbers[this.at], t, this.fit.trained);
  }

  draw() {
    const { fit } = this, t = this.settings.day / 365.25;
    const now = this.place(t), true_ = MOTIONS.ellipse(fit.truth, t);
    this.describe(now, true_);
    for (const [name, { surface }] of Object.entries(this.panels)) {
      surface.measure();
      if (!surface.width) continue;
      const context = surface.begin();
      context.font = `${this.fontSize}px ${this.theme.ink("font")}`;
      if (name === "orbit") this.drawOrbit(context, surface, now);
      else if (name === "loss") this.drawLoss(context, surface);
      else this.drawYears(context, surface, t);
    }
  }

  describe(now, true_) {
    const { fit, labels, ranges, settings } = this, off = apart(now, true_);
    this.button.textContent = this.playing ? labels.pause : labels.play;
    ranges.fit_step.title(labels.step);
    ranges.fit_step.set(0, this.last, 1, this.at, String(fit.steps[this.at]));
    ranges.day.title(labels.day);
    const date = new Date(J2000 + settings.day * DAY);
    const shown = date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
    ranges.day.set(0, 36525, 1, settings.day, shown);
    const longitude = ((Math.atan2(now[1], now[0]) * 180) / Math.PI + 360) % 360, distance = Math.hypot(...now);
    const values = { step: fit.steps[this.at], train: angle(fit.train[this.at]), test: angle(fit.test[this.at]),
      date: shown, longitude: decimals(longitude, 2), distance: significant(distance, 4), off: angle(off),
      angle: angle(off * Math.sqrt(3)),
      km: significant(off * Math.sqrt(3) / 60 * (Math.PI / 180) * Math.hypot(...true_) * 149.597870700) };
    for (const [name, { say }] of Object.entries(this.panels)) say(fill(labels[`caption_${name}`], values));
    marked(this.reading, fill(labels[distance > 100 ? "reading_lost" : "reading"], values));
  }

  drawOrbit(context, surface, now) {
    const { theme, fit } = this, side = Math.min(surface.width, surface.height), scale = side / 2 / 1.78;
    const cx = surface.width / 2, cy = surface.height / 2;
    /** @type {(p: number[]) => [number, number]} */
    const at = ([px, py]) => [cx + scale * px, cy - scale * py];
    const far = (p) => Math.abs(p[0]) > 50 || Math.abs(p[1]) > 50;
    stroke(context, theme.ink("grid-ink"), 1, [2, 4]);
    ring(context, cx, cy, scale);
    write(context, this.labels.earth, cx, cy + scale - 9, theme.ink("muted"), "center");
    stroke(context, theme.ink("key-ink"), 1);
    for (const [t, ...p] of fit.measured) {
      const says = this.place(t);
      if (!far(says)) line(context, ...at(p), ...at(says));
    }
    stroke(context, theme.ink("kept-ink"), 2.2);
    const orbit = pathOf(fit.structure, fit.numbers[this.at], fit.trained);
    path(context, orbit.filter((p) => !far(p)).map(at));
    for (const [, ...p] of fit.held_out) dot(context, ...at(p), 3.2, theme.ink("query-ink"), theme.ink("page"), true);
    for (const [, ...p] of fit.measured) dot(context, ...at(p), 4, theme.ink("excluded-ink"), theme.ink("page"));
    dot(context, cx, cy, 7, theme.ink("drawn"), theme.ink("text"));
    write(context, this.labels.sun, cx, cy + 16, theme.ink("text"), "center");
    // the planet on the picked day: a ring that no measurement has
    if (!far(now)) {
      for (const [colour, width] of Object.entries({ text: 4, drawn: 2 })) {
        stroke(context, theme.ink(colour), width);
        ring(context, ...at(now), 8);
      }
    }
  }

  /** A frame with a logarithmic upright axis in minutes of arc, its first share shaded: the box, and where
      a value stands. */
  frame(context, surface, low, high, shaded = 0) {
    const { theme, fontSize: em } = this, left = 3.7 * em, top = em / 2, width = surface.width - left - 8;
    const height = surface.height - top - 1.67 * em;
    context.fillStyle = theme.ink("panel");
    context.fillRect(left, top, shaded * width, height);
    const decades = Math.log10(high / low), every = Math.ceil((1.25 * em * Math.round(decades)) / height);
    const y = (value) => top + height * (1 - Math.log10(Math.max(low, Math.min(high, value)) / low) / decades);
    for (const power of powers(low, high, every)) {
      const value = 10 ** power;
      stroke(context, theme.ink("grid"));
      line(context, left, y(value), left + width, y(value));
      write(context, `${grouped(power < 0 ? value.toFixed(-power) : value)}′`, left - 5, y(value), theme.ink("muted"),
        "right");
    }
    if (this.fit.noise > 0) {
      stroke(context, theme.ink("text"), 1, [5, 3]);
      line(context, left, y(this.fit.noise), left + width, y(this.fit.noise));
    }
    return { left, top, width, height, y };
  }

  drawLoss(context, surface) {
    const { fit, theme, labels } = this, all = [...fit.train, ...fit.test, fit.noise].filter((value) => value > 0);
    const low = Math.max(LEAST, 10 ** Math.floor(Math.log10(Math.min(...all))));
    const high = Math.max(10 * low, Math.min(MOST, 10 ** Math.ceil(Math.log10(Math.max(...all)))));
    const { left, top, width, height, y } = this.frame(context, surface, low, high), most = fit.steps[this.last] || 1;
    const x = (step) => left + 6 + ((width - 12) * step) / most, now = x(fit.steps[this.at]);
    const halo = { halo: theme.ink("page") };
    for (const tick of wholeTicks(most + 1, width / 60))
      write(context, String(tick), x(tick), top + height + 11, theme.ink("muted"), "center");
    stroke(context, theme.ink("grid-ink"), 1.5);
    line(context, now, top, now, top + height);
    /** @type {[number[], string, string, number[]][]} */
    const lines = [[fit.test, labels.test, "query-ink", []], [fit.train, labels.train, "excluded-ink", [3, 3]]];
    for (const [values, , colour, dash] of lines) {
      stroke(context, theme.ink(colour), 2.2, dash);
      path(context, values.slice(0, this.at + 1).map((value, i) => [x(fit.steps[i]), y(value)]));
      dot(context, now, y(values[this.at]), 4, theme.ink(colour), theme.ink("page"), colour === "query-ink");
    }
    const flip = now > left + width / 2, levels = lines.map(([values]) => y(values[this.at]));
    const apart_ = levels[1] - levels[0], gap = this.fontSize + 5;
    if (Math.abs(apart_) < gap) {
      levels[0] -= (gap - Math.abs(apart_)) / 2 + (apart_ < 0 ? -apart_ : 0);
      levels[1] = levels[0] + gap;
    }
    lines.forEach(([, text, colour], i) => write(context, text, now + (flip ? -10 : 10),
      Math.max(top + 6, Math.min(top + height - 6, levels[i])), theme.ink(colour), flip ? "right" : "left", halo));
    if (fit.noise > 0) write(context, labels.noise, left + 4, y(fit.noise) - 8, theme.ink("text"), "left", halo);
  }

  drawYears(context, surface, t) {
    const { fit, theme, labels, fontSize: em } = this;
    const { left, top, width, height, y } = this.frame(context, surface, LEAST, 1e4, fit.trained / fit.tested);
    const x = (years) => left + (width * years) / fit.tested;
    write(context, labels.fitted, left + 4, top + 0.6 * em, theme.ink("muted"), "left");
    if (x(fit.tested) - x(fit.trained) > 100)
      write(context, labels.held_out, x(fit.trained) + 6, top + 0.6 * em, theme.ink("muted"), "left");
    for (let year = 0; year <= fit.tested; year += width > 420 ? 2 : 5)
      write(context, String(fit.epoch + year), Math.min(x(year), surface.width - 1.34 * em), top + height + 0.92 * em,
        theme.ink("muted"), "center");
    stroke(context, theme.ink("kept-ink"), 2);
    path(context, Array.from({ length: Math.floor(width) + 1 }, (_, i) => {
      const years = (fit.tested * i) / width;
      return [left + i, y(apart(this.place(years), MOTIONS.ellipse(fit.truth, years)))];
    }));
    for (const hollow of [false, true]) {
      const ink = theme.ink(hollow ? "query-ink" : "excluded-ink");
      for (const [years, ...p] of hollow ? fit.held_out : fit.measured)
        dot(context, x(years), y(apart(this.place(years), p)), 3, ink, theme.ink("page"), hollow);
    }
    if (t <= fit.tested) {
      stroke(context, theme.ink("drawn-ink"), 2);
      line(context, x(t), top, x(t), top + height);
    }
  }
}

export default mounted(Orbit);
