// The main picture: its layout, and the parts that a hand can move.
import { Figure, LOG_FLOOR, niceTop } from "./figure.js";
import { KEPT, RULES } from "./truncation.js";
import { dot, stroke } from "../lib/canvas.js";
import { fill } from "../lib/dom.js";
import { probability } from "../lib/numbers.js";

const MARGIN = { left: 40, right: 84 };
// height of all but the two plots: titles, token labels, the line of intervals; a projector's rows stand closer
const FIXED = 238, FIXED_PRESENT = 200;

export class Picture extends Figure {
  grips = {};

  /** Lay out the width of the element and the height that the window leaves, on resize, new logits and new theme. The
      two plots get the height that the other parts do not need. */
  measure(size, unit, room) {
    const width = Math.max(280, this.canvas.parentElement.clientWidth), px = (n) => n * unit;
    const margin = px(width < 460 ? 62 : MARGIN.right), [fixed, least] = unit > 1 ? [FIXED_PRESENT, 90] : [FIXED, 200];
    const plots = Math.min(px(360), Math.max(px(least), room - px(fixed)));
    const left = px(MARGIN.left), height = Math.round(px(fixed) + plots), curve = { top: px(30), height: plots * 0.44 };
    this.layOut(size, unit, { width, height, left, right: width - margin, curve,
      bars: { top: px(66) + curve.height, height: plots * 0.56 },
      strip: { top: height - px(52), height: px(30), width: width - left - px(20) } });
  }

  draw(model) {
    const { truncation, settings } = model;
    this.drawPlots(model,
      niceTop(Math.max(truncation.renormalised[truncation.firstKept()], truncation.probs[0])));
    this.labels = model.labels;
    this._rules();
    this._titles();
    if (model.pinned) this._pinned(model.pinned);
    if (settings.thousand) this._draws(model);
    if (settings.named !== null) this._named();
    this._cutLines();
    this._legend();
    this._keptPoint();
    this._intervals();
    this._throw(model.place);
  }

  /** Write above each stretch of cut tokens the rule that cut it, if the words fit. */
  _rules() {
    const { context: c, scale: { edges }, unit } = this, y = this.bars.top - 12 * unit;
    this.eachRun((first, last, rule) => {
      if (rule === KEPT) return;
      const left = edges[first], right = edges[last], name = this.words.ruleNames[RULES[rule]];
      this.box(left + 1, y, right - left - 2, 6, this.hatch);
      c.font = this.fonts.plain;
      if (c.measureText(name).width < right - left - 4)
        this.say(name, (left + right) / 2, y - 4, "excluded-ink", "center");
    });
  }

  _titles() {
    const { labels, curve, bars, left, scale, strip, unit } = this, far = scale.tail < scale.right;
    this.say(labels.curve_title, scale.right - 8 * unit, curve.top + curve.height - 8 * unit, "muted", "right",
      { halo: far ? "panel" : "page" });
    this.say(labels.bars_title, left, bars.top - 17 * unit, "muted");
    if (unit === 1) this.say(labels.strip_title, left, strip.top - 27 * unit, "muted");
    if (scale.shown < scale.size)
      this.write(labels.tail_title, scale.tail + 4 * unit, this.ground + 24 * unit, "muted", "left",
        { baseline: "top" });
  }

  _legend() {
    const { context: c, labels, bars, ink, scale, truncation, settings, unit } = this;
    const rows = [[labels.legend_before, 1],
      [fill(labels.legend_after, { mass: probability(truncation.keptMass) }), 0.3], [labels.legend_cut, 0]];
    if (settings.thousand) rows.push([labels.legend_draws, -1]);
    c.font = this.fonts.plain;
    const width = Math.max(...rows.map(([text]) => c.measureText(text).width));
    const left = scale.right - width - 22 * unit, side = 11 * unit;
    this.box(left - 5 * unit, bars.top + 2 * unit, width + 27 * unit, (4 + 17 * rows.length) * unit,
      ink(left > scale.tail ? "panel" : "page"), 0.8);
    rows.forEach(([text, alpha], row) => {
      const y = bars.top + (12 + 17 * row) * unit;
      if (alpha < 0) this._ring(left + side / 2, y, side * 0.36);
      else {
        this.box(left, y - side / 2, side, side, alpha ? ink("kept") : this.hatch, alpha || 1);
        stroke(c, ink(alpha ? "kept-ink" : "excluded-ink"));
        c.strokeRect(left, y - side / 2, side, side);
      }
      this.write(text, left + 17 * unit, y, "text");
    });
  }

  /** Draw the lines that can be dragged: p across the curve, k down both plots, min-p across the bars if it is on. */
  _cutLines() {
    const { truncation, settings, labels, curve, left, scale, ground, unit, words } = this;
    const { allowed, k, p } = this.cutPlaces(), right = scale.right + 6 * unit;
    this.topPMass = allowed;
    this.rule(left, p, right, p, "text", 1.5, settings.top_p < 1 ? [] : [2, 4]);
    this.rule(k, curve.top - 10 * unit, k, ground, "text", 1.5, settings.top_k === null ? [2, 4] : []);
    const pText = settings.top_p < 1 ? `p = ${settings.top_p}` : `p ${labels.off}`;
    const kText = settings.top_k === null ? `k ${labels.off}` : `k = ${words.count(settings.top_k)}`;
    this.grips = {
      top_p: { ...this._grip(pText, right, p, "left"), line: p },
      top_k: { ...this._grip(kText, k, curve.top - 16 * unit, k > scale.right - 30 * unit ? "right" : "center"),
        line: k },
    };
    if (settings.top_p < 1 && allowed < 1) {
      const { top, bottom } = this.grips.top_p, below = bottom < curve.top + curve.height - 4 * unit;
      this.say(fill(labels.of_mass, { mass: probability(allowed) }), right,
        below ? bottom + 13 * unit : top - 6 * unit, "muted");
    }
    if (settings.min_p > 0) {
      const y = ground - this.barHeight(settings.min_p * truncation.probs[0]);
      this.rule(left, y, right, y, "text", 1.5);
      this.grips.min_p = { ...this._grip(`min-p ${settings.min_p}`, right, y, "left"), line: y };
    }
  }

  /** Draw a labelled grip by which a line is dragged. */
  _grip(text, x, y, align) {
    const c = this.context;
    c.font = this.fonts.bold;
    const width = c.measureText(text).width + 14, height = this.type * 1.6;
    const left = align === "right" ? x - width : align === "center" ? x - width / 2 : x;
    c.fillStyle = this.ink("text");
    c.beginPath();
    c.roundRect(left, y - height / 2, width, height, 4);
    c.fill();
    this.write(text, left + width / 2, y + 0.5, "page", "center", { font: "bold" });
    return { left, right: left + width, top: y - height / 2, bottom: y + height / 2 };
  }

  _keptPoint() {
    const { context, truncation, labels, curve, scale, ink, unit } = this, last = truncation.lastKept();
    const x = scale.x(last + 1), y = curve.top + curve.height * (1 - truncation.cumulative[last]);
    dot(context, x, y, 4.5 * unit, ink("kept"), ink("page"));
    const text = fill(labels[truncation.nKept === 1 ? "kept_point_one" : "kept_point"],
      { kept: this.words.count(truncation.nKept), mass: probability(truncation.keptMass) });
    const say = (across, down, align) =>
      this.say(text, x + across * unit, y + down * unit, "kept-ink", align, { font: "bold", halo: "page" });
    if (x < scale.right - 170 * unit) say(9, y < curve.top + curve.height - 34 * unit ? 19 : -10, "left");
    // left of the point and above the curve, and clear of the grip of k if that is near
    else say(y < curve.top + 14 * unit ? -70 : -9, -10, "right");
  }

  /** Draw [0, 1] cut into the intervals of the renormalised probabilities, in the order of the bars. */
  _intervals() {
    const { context: c, left, strip, ink, truncation } = this, { intervalEnds, renormalised, cutBy } = truncation;
    const x = (p) => left + p * strip.width, kept = ink("kept"), last = truncation.lastKept();
    let shade = 0;
    for (let i = 0; i <= last; i++) {
      if (cutBy[i] !== KEPT) continue;
      const width = renormalised[i] * strip.width, from = x(intervalEnds[i]) - width;
      // from here on the intervals are finer than a pixel: one tint for all of them
      if (width < 1.5) {
        this.box(from, strip.top, left + strip.width - from, strip.height, kept, 0.5);
        break;
      }
      this.box(from, strip.top, Math.max(0.5, width - 1), strip.height, kept, shade++ % 2 ? 0.82 : 1);
      const name = width > 14 ? this.words.token(truncation.tokenIds[i], 12) : "";
      c.font = this.fonts.mono;
      if (name && c.measureText(name).width < width - 6)
        this.write(name, from + width / 2, strip.top + strip.height / 2, "page", "center", { font: "mono" });
    }
    const foot = strip.top + strip.height;
    for (const p of [0, 0.25, 0.5, 0.75, 1]) {
      this.rule(x(p), foot, x(p), foot + 4, "muted");
      this.write(String(p), x(p), foot + 6, "muted", "center", { baseline: "top" });
    }
  }

  /** Mark the place of ξ, the token that it draws, and that token's bar. */
  _throw(place) {
    const { context: c, truncation, settings, strip, scale, unit } = this;
    const x = this.left + settings.xi * strip.width, foot = strip.top + strip.height;
    const text = `ξ = ${settings.xi.toFixed(4)} → ${this.words.token(truncation.tokenIds[place], 14)}`;
    c.font = this.fonts.boldMono;
    const right = x + 12 * unit + c.measureText(text).width > this.width;
    const outline = this.outline === this.ink("page") ? "page" : "text";
    this.rule(x, strip.top - 4 * unit, x, foot + 3 * unit, outline, 4.5);
    this.rule(x, strip.top - 3 * unit, x, foot + 2 * unit, "drawn", 2);
    this._marker(x, strip.top + 1, 10 * unit);
    this.say(text, x + (right ? -12 : 12) * unit, strip.top - 9 * unit, "text", right ? "right" : "left",
      { font: "boldMono", halo: "page" });
    const top = this.ground - this.barHeight(truncation.renormalised[place]);
    this._marker(scale.x(place + 0.5), Math.max(this.bars.top + 4 * unit, top - 3 * unit), 9 * unit);
    this.grips.xi = { left: x - 12, right: x + 12, top: strip.top - 20, bottom: foot + 4 * unit };
  }

  /** Draw the drawn token's marker: yellow, dark outline, pointing down at (x, y). */
  _marker(x, y, size) {
    const c = this.context;
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(x - size * 0.7, y - size * 1.3);
    c.lineTo(x + size * 0.7, y - size * 1.3);
    c.closePath();
    c.fillStyle = this.ink("drawn");
    c.fill();
    stroke(c, this.outline, 1.75);
    c.stroke();
  }

  /** Draw the mark of a share of the thousand draws: yellow, dark outline, round. */
  _ring(x, y, radius) {
    dot(this.context, x, y, radius, this.ink("drawn"), this.outline);
  }

  /** Draw the relative frequencies of the thousand draws: a ring at each bar. */
  _draws({ counts, draws }) {
    const { bars, scale, unit } = this;
    for (let i = 0; i < scale.shown; i++) {
      const y = this.ground - Math.min(bars.height, this.barHeight(counts[i] / draws));
      if (counts[i]) this._ring(scale.x(i + 0.5), y, Math.min(4 * unit, scale.bar * 0.32));
    }
  }

  _pinned(pinned) {
    const { context: c, scale, curve, ink } = this;
    this.traceCurve(pinned, 0, scale.places.length);
    stroke(c, ink("text"), 1.75, [7, 4]);
    c.stroke();
    for (let i = 0; i < scale.shown; i++) {
      const y = this.ground - this.barHeight(pinned.renormalised[i]);
      if (pinned.cutBy[i] === KEPT) this.rule(scale.x(i), y, scale.x(i + 1), y, "text", 2);
    }
    const end = scale.x(pinned.lastKept() + 1), y = curve.top + curve.height;
    this.rule(end, y, end, y - 14, "text", 1.75, [7, 4]);
    this.say("A", end, y - 17, "text", "center", { font: "bold", halo: "page" });
  }

  _named() {
    const { truncation, settings: { named }, words, curve, bars, scale, unit } = this;
    const place = truncation.rankOf[named], x = scale.x(place + 0.5), right = x > scale.right - 120 * unit;
    this.rule(x, curve.top, x, this.ground, "muted", 1, [1, 3]);
    this.say(`${words.token(named, 14)} #${words.count(place + 1)}`, x + (right ? -4 : 4), bars.top + 74 * unit, "text",
      right ? "right" : "left", { font: "boldMono", halo: "page" });
  }

  /** The part at a point of the canvas: a line to drag, the strip, a bar, or nothing. */
  under(x, y) {
    const near = (grip) => x >= grip.left - 4 && x <= grip.right + 4 && y >= grip.top - 4 && y <= grip.bottom + 4;
    for (const [name, grip] of Object.entries(this.grips)) if (near(grip)) return { drag: name };
    const { strip, curve, bars, grips, left, scale } = this, inside = x >= left && x <= scale.right;
    const within = (box, above, below) => y > box.top - above && y < box.top + box.height + below;
    if (within(strip, 6, 6)) return { drag: "xi" };
    const inCurve = inside && within(curve, 4, 4), inBars = inside && within(bars, 4, 60 * this.unit);
    if (!inCurve && !inBars) return {};
    const onLine = { top_k: Math.abs(x - grips.top_k.line) < 6, top_p: inCurve && Math.abs(y - grips.top_p.line) < 7,
      min_p: inBars && Math.abs(y - grips.min_p?.line) < 6 };
    const drag = Object.keys(onLine).find((name) => onLine[name]);
    return drag ? { drag } : { place: Math.min(scale.size - 1, Math.floor(scale.rank(x))) };
  }

  /** The setting's value when its line is dragged to (x, y). */
  valueAt(name, x, y, truncation) {
    if (name === "xi")
      return Math.min(0.9999, Math.max(0, Math.round(((x - this.left) / this.strip.width) * 1e4) / 1e4));
    if (name === "top_k") {
      const k = Math.max(1, Math.round(this.scale.rank(Math.max(x, this.scale.left))));
      return k >= this.scale.size ? null : k;
    }
    const share = (box) => Math.max(0, (box.top + box.height - y) / box.height);
    if (name === "top_p") return Math.min(1, Math.round((share(this.curve) / this.topPMass) * 1000) / 1000);
    const p = this.settings.logarithmic ? LOG_FLOOR * (this.top / LOG_FLOOR) ** share(this.bars)
      : share(this.bars) * this.top;
    return Math.min(1, Number((p / truncation.probs[0]).toPrecision(2)));
  }
}
