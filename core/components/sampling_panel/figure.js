// The drawing. Every picture here has one horizontal axis: the tokens from the most to the least probable, the first
// ones a bar each, the rest on a logarithmic scale, so that a vocabulary of any size fits and no token is left out.
import { niceStep } from "../lib/axis.js";
import { line, sharpen, stroke, write } from "../lib/canvas.js";
import { luminance, rgb } from "../lib/colours.js";
import { powerOfTen, readable } from "../lib/numbers.js";
import { Surface } from "../lib/surface.js";
import { readTheme } from "../lib/theme.js";
import { KEPT } from "./truncation.js";

const LINEAR_SHARE = 0.76, MOST_BARS = 40, LEAST_BARS = 8;
export const LOG_FLOOR = 1e-8;

/** The axis: x(rank) for rank in 0..size, its inverse, and the places to draw, one per bar and then one per pixel. */
export function rankScale(size, left, width, pitch) {
  const shown = Math.min(size, MOST_BARS, Math.max(LEAST_BARS, Math.floor((width * LINEAR_SHARE) / pitch)));
  const linear = shown === size ? width : width * LINEAR_SHARE;
  const bar = linear / shown, tail = left + linear, right = left + width, span = Math.log(size / shown) || 1;
  const x = (rank) => (rank <= shown ? left + rank * bar : tail + ((width - linear) * Math.log(rank / shown)) / span);
  const rank = (px) => (px <= tail ? (px - left) / bar
    : Math.min(size, shown * Math.exp(((px - tail) / (width - linear)) * span)));
  const places = [...Array(shown).keys()], edges = places.map(x);
  for (let px = tail; px < right - 0.5; px++) {
    const place = Math.min(size - 1, Math.floor(rank(px + 0.5)));
    if (place > places[places.length - 1]) {
      places.push(place);
      edges.push(px);
    }
  }
  edges.push(right);
  return { size, shown, bar, tail, left, right, x, rank, places, edges };
}

/** A fill of faint diagonal lines, for many bars at once. */
function hatchOf(colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 12;
  const c = tile.getContext("2d");
  c.scale(2, 2);
  stroke(c, colour);
  for (const shift of [-6, 0, 6]) line(c, shift - 1, 7, shift + 7, -1);
  const pattern = c.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(0.5));
  return pattern;
}

/** The smallest round number that is at least the value, but at most 1: it changes in steps, so that the axis does not
    move all the time. */
export function niceTop(value) {
  return Math.min(1, niceStep(value, [1, 1.5, 2, 3, 4, 6, 8, 10]));
}

/** @typedef {{ top: number, height: number }} Part */
/** @typedef {{ left: number, curve: Part, bars: Part, strip?: Part & { width: number }, unit: number, type: number,
 *   ink: (meaning: string) => string, fonts: Record<"plain" | "bold" | "mono" | "boldMono", string>, outline: string,
 *   scale: ReturnType<typeof rankScale> }} Layout */
/** @typedef {new (...given: ConstructorParameters<typeof Surface>) => Surface & Layout} LaidOut */

/** One truncation drawn: its cumulative curve above its bars. */
export class Figure extends /** @type {LaidOut} */ (Surface) {
  /** Lay out width × height pixels: the axis of `size` tokens from left to right, curve and bars at {top, height}, all
      scaled by `unit`. */
  layOut(size, unit, { right, ...place }) {
    const { ink } = readTheme(), type = 12.5 * unit, font = (weight, family) => `${weight} ${type}px ${ink(family)}`;
    if (ink !== this.ink) this.hatch = hatchOf(ink("excluded-ink"));
    Object.assign(this, place, { unit, type, ink,
      fonts: { plain: font(400, "font"), bold: font(600, "font"), mono: font(400, "mono"),
        boldMono: font(600, "mono") },
      outline: [ink("page"), ink("text")].sort((a, b) => luminance(rgb(a)) - luminance(rgb(b)))[0],
      scale: rankScale(size, place.left, right - place.left, 15 * unit) });
  }

  /** The y of the foot of the bars. */
  get ground() {
    return this.bars.top + this.bars.height;
  }

  /** A text in a meaning's colour and one of the fonts; `halo` is a meaning as well.
      @param {{font?: string, halo?: string, baseline?: CanvasTextBaseline}} options */
  write(text, x, y, meaning, align = "left", options = {}) {
    const { font = "plain", halo, baseline } = options;
    write(this.context, text, x, y, this.ink(meaning), align,
      { font: this.fonts[font], halo: halo && this.ink(halo), baseline });
  }

  /** A text with its baseline at y. */
  say(text, x, y, meaning, align, options) {
    this.write(text, x, y, meaning, align, { baseline: "alphabetic", ...options });
  }

  /** A line in a meaning's colour; its dashes end with it. */
  rule(x1, y1, x2, y2, meaning, width = 1, dash = []) {
    stroke(this.context, this.ink(meaning), width, dash);
    line(this.context, x1, y1, x2, y2);
    this.context.setLineDash([]);
  }

  /** A box in a colour, of opacity `alpha`. */
  box(x, y, width, height, colour, alpha = 1) {
    const c = this.context;
    c.globalAlpha = alpha;
    c.fillStyle = colour;
    c.fillRect(x, y, width, height);
    c.globalAlpha = 1;
  }

  /** Draw both plots; the bars reach up to `top`, on a logarithmic scale up to 1. */
  drawPlots({ truncation, settings, words }, top) {
    const { curve, scale, ground } = this;
    this.truncation = truncation;
    this.settings = settings;
    this.words = words;
    this.top = settings.logarithmic ? 1 : top;
    sharpen(this.canvas, this.width, this.height);
    if (scale.shown < scale.size)
      this.box(scale.tail, curve.top, scale.right - scale.tail, ground - curve.top, this.ink("panel"));
    this._curve();
    this._barAxis();
    this._bars();
    this._tokens();
    this._ranks();
  }

  /** The height of a probability's bar, in pixels. */
  barHeight(p) {
    const { bars: { height }, top } = this;
    if (!this.settings.logarithmic) return (p / top) * height;
    return p > LOG_FLOOR ? (Math.log10(p / LOG_FLOOR) / Math.log10(top / LOG_FLOOR)) * height : 0;
  }

  /** The places of the lines of k (x) and of p (y), which is a share of the mass `allowed` that k leaves. */
  cutPlaces() {
    const { scale, curve, truncation, settings } = this, left = truncation.left.top_k;
    const allowed = left > 0 ? truncation.cumulative[left - 1] : 1;
    return { allowed, k: scale.x(Math.min(settings.top_k ?? scale.size, scale.size)),
      p: curve.top + curve.height * (1 - settings.top_p * allowed) };
  }

  /** Walk over runs of neighbouring samples with the same rule: visit(first sample, one past the last, rule). */
  eachRun(visit) {
    const { scale: { places }, truncation: { cutBy } } = this;
    for (let first = 0, last; first < places.length; first = last) {
      const rule = cutBy[places[first]];
      for (last = first + 1; last < places.length && cutBy[places[last]] === rule; last++);
      visit(first, last, rule);
    }
  }

  /** Path along a truncation's curve over samples [first, last); with `ground`, closed as an area down to it. */
  traceCurve({ cumulative, size }, first, last, ground) {
    const { context: c, curve, scale: { places, edges } } = this, y = (p) => curve.top + curve.height * (1 - p);
    c.beginPath();
    if (ground !== undefined) c.moveTo(edges[first], ground);
    c.lineTo(edges[first], y(first ? cumulative[places[first] - 1] : 0));
    for (let s = first; s < last; s++)
      c.lineTo(edges[s + 1], y(cumulative[s + 1 < places.length ? places[s + 1] - 1 : size - 1]));
    if (ground !== undefined) c.lineTo(edges[last], ground);
  }

  /** The cumulative curve: kept stretches solid over a filled area, cut stretches dashed over nothing. */
  _curve() {
    const { context: c, curve, left, scale, truncation, ink } = this;
    for (const p of [0, 0.5, 1]) {
      const y = curve.top + curve.height * (1 - p);
      this.rule(left, y, scale.right, y, "grid");
      this.write(String(p), left - 6, y, "muted", "right");
    }
    this.eachRun((first, last, rule) => {
      if (rule === KEPT) {
        this.traceCurve(truncation, first, last, curve.top + curve.height);
        c.globalAlpha = 0.16;
        c.fillStyle = ink("kept");
        c.fill();
        c.globalAlpha = 1;
        stroke(c, ink("kept-ink"), 3);
      } else stroke(c, ink("excluded-ink"), 2, [3, 3]);
      this.traceCurve(truncation, first, last);
      c.stroke();
      c.setLineDash([]);
    });
  }

  _barAxis() {
    const { left, scale, top, settings: { logarithmic } } = this;
    for (const p of logarithmic ? [1e-8, 1e-6, 1e-4, 0.01, 1] : [0, top / 2, top]) {
      const y = this.ground - this.barHeight(p);
      this.rule(left, y, scale.right, y, "grid");
      const text = logarithmic && p < 0.01 ? powerOfTen(p, 1).replace("1\u00a0·\u00a0", "") : readable(p);
      this.write(text, left - 6, y, "muted", "right");
    }
  }

  /** Bars of the sorted distribution: kept ones filled up to y, with the gain of renormalising in outline; cut ones
      hatched. */
  _bars() {
    const { context: c, ground, ink, scale, scale: { places, edges }, truncation } = this, hatched = new Path2D();
    places.forEach((i, s) => {
      const wide = s < scale.shown, gap = wide ? Math.min(3, scale.bar * 0.18) : 0, x = edges[s] + gap / 2;
      const width = edges[s + 1] - edges[s] - gap, before = this.barHeight(truncation.probs[i]);
      if (truncation.cutBy[i] !== KEPT) {
        hatched.rect(x, ground - before, width, before);
        return;
      }
      const after = this.barHeight(truncation.renormalised[i]);
      this.box(x, ground - before, width, before, ink("kept"));
      if (after - before <= 0.5) return;
      this.box(x, ground - after, width, after - before, ink("kept"), 0.3);
      stroke(c, ink("kept-ink"));
      if (wide) c.strokeRect(x + 0.5, ground - after + 0.5, width - 1, after - before);
    });
    c.fillStyle = this.hatch;
    c.fill(hatched);
    stroke(c, ink("excluded-ink"));
    c.stroke(hatched);
  }

  /** Token labels under the bars, slanted so that neighbours never touch. */
  _tokens() {
    const { context: c, scale, truncation: { tokenIds, cutBy }, words } = this;
    for (let i = 0; i < scale.shown; i++) {
      c.save();
      c.translate(scale.left + (i + 0.5) * scale.bar, this.ground + 5);
      c.rotate(-Math.PI / 3);
      this.write(words.token(tokenIds[i], 9), 0, 0, cutBy[i] === KEPT ? "text" : "excluded-ink", "right",
        { font: "mono" });
      c.restore();
    }
  }

  /** Draw ranks along the foot, in the part where the scale is logarithmic. */
  _ranks() {
    const { scale, ground: y, type } = this;
    if (scale.shown === scale.size) return;
    const ticks = [100, 1000, 10000, 100000]
      .filter((rank) => scale.x(rank) > scale.tail + 1.3 * type && scale.x(rank) < scale.right - 3.9 * type);
    for (const rank of [...ticks, scale.size]) {
      const x = scale.x(rank);
      this.rule(x, y, x, y + 4, "muted");
      this.write(this.words.count(rank), x, y + 7, "muted", rank === scale.size ? "right" : "center",
        { baseline: "top" });
    }
  }
}

/** The figure of a further context: the same k and p on another distribution. */
export class SmallPicture extends Figure {
  measure(size, unit) {
    const width = Math.max(260, this.canvas.parentElement.clientWidth);
    this.layOut(size, unit, { width, height: Math.round(272 * unit), left: 34 * unit, right: width - 10 * unit,
      curve: { top: 14 * unit, height: 88 * unit }, bars: { top: 122 * unit, height: 84 * unit } });
  }

  draw(model, top) {
    this.drawPlots(model, top);
    const { curve, left, scale, settings } = this, { k, p } = this.cutPlaces();
    this.rule(k, curve.top - 6, k, this.ground, "text", 1.5, settings.top_k === null ? [2, 4] : []);
    this.rule(left, p, scale.right, p, "text", 1.5, settings.top_p < 1 ? [] : [2, 4]);
  }
}
