// The main picture and the small ones: what stands where, and what lies under the hand.
import {
  barHeight, drawBarAxis, drawBars, drawCurve, drawGrip, drawIntervals, drawMarker, drawRanks, drawRing, drawRules,
  drawTail, drawTokens, hatchOf, line, LOG_FLOOR, niceTop, probabilityText, rankScale, say, traceCurve,
} from "./figure.js";
import { KEPT, TOP_K } from "./truncation.js";

const MARGIN = { left: 40, right: 84 };
// height of all but the two plots: titles, token labels, the line of intervals
const FIXED = 238;

export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.grips = {};
  }

  /** Take the width of the element, the height that the window leaves, and the theme; the rank axis follows. Called on
      resize, new logits and new theme. What is over goes to the two plots. */
  measure(size, theme, scale, room) {
    const width = Math.max(280, this.canvas.parentElement.clientWidth), px = (n) => n * scale;
    const right = px(width < 460 ? 62 : MARGIN.right), plots = Math.min(px(360), Math.max(px(200), room - px(FIXED)));
    this.width = width;
    this.unit = px(1);
    this.height = Math.round(px(FIXED) + plots);
    this.curve = { left: px(MARGIN.left), top: px(30), height: plots * 0.44 };
    this.bars = { left: px(MARGIN.left), top: px(66) + this.curve.height, height: plots * 0.56 };
    this.strip = { left: px(MARGIN.left), top: this.height - px(52), height: px(30),
      width: width - px(MARGIN.left + 20) };
    this.scale = rankScale(size, px(MARGIN.left), width - px(MARGIN.left) - right, px(15));
    this.theme = theme;
    this.view = pictureView(theme, this.scale);
    fitCanvas(this.canvas, width, this.height);
  }

  draw(model) {
    const c = this.context, { view, curve, bars, strip } = this, { truncation, settings } = model;
    c.clearRect(0, 0, this.width, this.height);
    Object.assign(view, model.words, { logarithmic: settings.logarithmic });
    this.top = view.logarithmic ? 1
      : niceTop(Math.max(truncation.renormalised[truncation.firstKept()], truncation.probs[0]));
    const height = barHeight(bars, this.top, view.logarithmic);
    drawTail(c, view, curve.top, bars.top + bars.height);
    drawCurve(c, view, curve, truncation);
    drawBarAxis(c, view, bars, this.top, height);
    drawBars(c, view, bars, truncation, height);
    drawRules(c, view, bars.top - 12 * this.unit, truncation);
    drawTokens(c, view, bars.top + bars.height, truncation);
    drawRanks(c, view, bars.top + bars.height);
    this._titles(model);
    if (model.pinned) this._pinned(model.pinned, height);
    if (settings.thousand) this._draws(model, height);
    if (settings.named !== null) this._named(model);
    this._cutLines(model, height);
    this._legend(model);
    this._keptPoint(truncation, model.labels);
    drawIntervals(c, view, strip, truncation);
    this._throw(model, height);
  }

  _titles({ labels }) {
    const c = this.context, { view, curve, bars, strip, theme, unit } = this;
    say(c, labels.curve_title, this.scale.right - 8 * unit, curve.top + curve.height - 8 * unit, theme.muted,
      { align: "right", font: view.font, halo: this.scale.tail < this.scale.right ? theme.panel : theme.page });
    say(c, labels.bars_title, bars.left, bars.top - 17 * unit, theme.muted, { font: view.font });
    say(c, labels.strip_title, strip.left, strip.top - 27 * unit, theme.muted, { font: view.font });
    if (this.scale.shown < this.scale.size) {
      say(c, labels.tail_title, this.scale.tail + 4 * unit, bars.top + bars.height + 24 * unit, theme.muted,
        { font: view.font, baseline: "top" });
    }
  }

  _legend({ labels, truncation, settings }) {
    const c = this.context, { view, bars, theme, unit } = this;
    const rows = [[labels.legend_before, 1],
      [fill(labels.legend_after, { mass: probabilityText(truncation.keptMass) }), 0.3], [labels.legend_cut, 0]];
    if (settings.thousand) rows.push([labels.legend_draws, -1]);
    c.font = view.font;
    const width = Math.max(...rows.map(([text]) => c.measureText(text).width));
    const left = this.scale.right - width - 22 * unit;
    c.globalAlpha = 0.8;
    c.fillStyle = left > this.scale.tail ? theme.panel : theme.page;
    c.fillRect(left - 5 * unit, bars.top + 2 * unit, width + 27 * unit, (4 + 17 * rows.length) * unit);
    c.globalAlpha = 1;
    rows.forEach(([text, alpha], row) => {
      const y = bars.top + (12 + 17 * row) * unit, side = 11 * unit;
      if (alpha < 0) drawRing(c, theme, left + side / 2, y, side * 0.36);
      else {
        c.globalAlpha = alpha || 1;
        c.fillStyle = alpha ? theme.kept : view.hatch;
        c.fillRect(left, y - side / 2, side, side);
        c.globalAlpha = 1;
        c.strokeStyle = theme[alpha ? "kept-ink" : "excluded-ink"];
        c.lineWidth = 1;
        c.strokeRect(left, y - side / 2, side, side);
      }
      say(c, text, left + 17 * unit, y, theme.text, { baseline: "middle", font: view.font });
    });
  }

  /** The lines the hand can take: p across the curve, k down both plots, min-p across the bars when it is on. */
  _cutLines({ truncation, settings, labels }, height) {
    const c = this.context, { view, curve, bars, theme, scale, unit } = this;
    const allowed = truncation.left[TOP_K] > 0 ? truncation.cumulative[truncation.left[TOP_K] - 1] : 1;
    this.topPMass = allowed;
    const yP = curve.top + curve.height * (1 - settings.top_p * allowed), right = scale.right + 6 * unit;
    line(c, curve.left, yP, right, yP, theme.text, 1.5, settings.top_p < 1 ? [] : [2, 4]);
    const k = settings.top_k === null ? scale.size : Math.min(settings.top_k, scale.size), xK = scale.x(k);
    line(c, xK, curve.top - 10 * unit, xK, bars.top + bars.height, theme.text, 1.5,
      settings.top_k === null ? [2, 4] : []);
    const pText = settings.top_p < 1 ? `p = ${settings.top_p}` : `p ${labels.off}`;
    const kText = settings.top_k === null ? `k ${labels.off}` : `k = ${view.count(settings.top_k)}`;
    this.grips = {
      top_p: { ...drawGrip(c, view, pText, right, yP, "left"), line: yP, across: true },
      top_k: { ...drawGrip(c, view, kText, xK, curve.top - 16 * unit, xK > scale.right - 30 * unit ? "right"
          : "center"), line: xK },
    };
    if (settings.top_p < 1 && allowed < 1) {
      const below = this.grips.top_p.bottom < curve.top + curve.height - 4 * unit ? this.grips.top_p.bottom + 13 * unit
        : this.grips.top_p.top - 6 * unit;
      say(c, fill(labels.of_mass, { mass: probabilityText(allowed) }), right, below, theme.muted, { font: view.font });
    }
    if (settings.min_p > 0) {
      const yM = bars.top + bars.height - height(settings.min_p * truncation.probs[0]);
      line(c, bars.left, yM, right, yM, theme.text, 1.5);
      this.grips.min_p = { ...drawGrip(c, view, `min-p ${settings.min_p}`, right, yM, "left"), line: yM, across: true };
    }
  }

  _keptPoint(truncation, labels) {
    const c = this.context, { view, curve, scale, theme, unit } = this;
    const last = truncation.lastKept(), x = scale.x(last + 1);
    const y = curve.top + curve.height * (1 - truncation.cumulative[last]);
    c.beginPath();
    c.arc(x, y, 4.5 * unit, 0, 2 * Math.PI);
    c.fillStyle = theme.kept;
    c.fill();
    c.lineWidth = 2;
    c.strokeStyle = theme.page;
    c.stroke();
    const text = fill(labels[truncation.nKept === 1 ? "kept_point_one" : "kept_point"],
      { kept: view.count(truncation.nKept), mass: probabilityText(truncation.keptMass) });
    if (x < scale.right - 170 * unit) {
      const down = y < curve.top + curve.height - 34 * unit ? 19 : -10;
      say(c, text, x + 9 * unit, y + down * unit, theme["kept-ink"], { font: view.bold, halo: theme.page });
    } else {
      // left of the point and above the curve, and clear of the grip of k where that is near
      const back = y < curve.top + 14 * unit ? 70 : 9;
      say(c, text, x - back * unit, y - 10 * unit, theme["kept-ink"],
        { align: "right", font: view.bold, halo: theme.page });
    }
  }

  /** Where ξ falls, the token it lands on, and that token's bar. */
  _throw({ truncation, settings, place }, height) {
    const c = this.context, { view, bars, strip, theme, scale, unit } = this;
    const x = strip.left + settings.xi * strip.width;
    const text = `ξ = ${settings.xi.toFixed(4)} → ${view.token(truncation.tokenIds[place], 14)}`;
    c.font = view.boldMono;
    const right = x + 12 * unit + c.measureText(text).width > this.width;
    line(c, x, strip.top - 4 * unit, x, strip.top + strip.height + 3 * unit, theme.outline, 4.5);
    line(c, x, strip.top - 3 * unit, x, strip.top + strip.height + 2 * unit, theme.drawn, 2);
    drawMarker(c, theme, x, strip.top + 1, 10 * unit);
    say(c, text, x + (right ? -12 : 12) * unit, strip.top - 9 * unit,
      theme.text, { align: right ? "right" : "left", font: view.boldMono, halo: theme.page });
    const bar = scale.x(place + 0.5), top = bars.top + bars.height - height(truncation.renormalised[place]);
    drawMarker(c, theme, bar, Math.max(bars.top + 4 * unit, top - 3 * unit), 9 * unit);
    this.grips.xi = { left: x - 12, right: x + 12, top: strip.top - 20, bottom: strip.top + strip.height + 4 };
  }

  /** Relative frequencies of the thousand draws: a ring at each bar. */
  _draws({ counts, draws }, height) {
    const c = this.context, { bars, scale, theme, unit } = this;
    for (let i = 0; i < scale.shown; i++) {
      const y = bars.top + bars.height - Math.min(bars.height, height(counts[i] / draws));
      if (counts[i]) drawRing(c, theme, scale.x(i + 0.5), y, Math.min(4 * unit, scale.bar * 0.32));
    }
  }

  _pinned(pinned, height) {
    const c = this.context, { scale, curve, bars, theme } = this;
    traceCurve(c, scale, pinned, curve, 0, scale.places.length);
    c.setLineDash([7, 4]);
    c.lineWidth = 1.75;
    c.strokeStyle = theme.text;
    c.stroke();
    c.setLineDash([]);
    for (let i = 0; i < scale.shown; i++) {
      const y = bars.top + bars.height - height(pinned.renormalised[i]);
      if (pinned.cutBy[i] === KEPT) line(c, scale.x(i), y, scale.x(i + 1), y, theme.text, 2);
    }
    const end = scale.x(pinned.lastKept() + 1), y = curve.top + curve.height;
    line(c, end, y, end, y - 14, theme.text, 1.75, [7, 4]);
    say(c, "A", end, y - 17, theme.text, { align: "center", font: this.view.bold, halo: theme.page });
  }

  _named({ truncation, settings }) {
    const c = this.context, { view, curve, bars, scale, theme, unit } = this;
    const place = truncation.rankOf[settings.named], x = scale.x(place + 0.5), right = x > scale.right - 120 * unit;
    line(c, x, curve.top, x, bars.top + bars.height, theme.muted, 1, [1, 3]);
    say(c, `${view.token(settings.named, 14)} #${view.count(place + 1)}`, x + (right ? -4 : 4), bars.top + 74 * unit,
      theme.text, { align: right ? "right" : "left", font: view.boldMono, halo: theme.page });
  }

  /** What a point of the canvas is for: a line to drag, the strip, a bar, or nothing. */
  under(x, y) {
    const near = (grip) => x >= grip.left - 4 && x <= grip.right + 4 && y >= grip.top - 4 && y <= grip.bottom + 4;
    for (const [name, grip] of Object.entries(this.grips)) if (near(grip)) return { drag: name };
    if (y > this.strip.top - 6 && y < this.strip.top + this.strip.height + 6) return { drag: "xi" };
    const inCurve = y > this.curve.top - 4 && y < this.curve.top + this.curve.height + 4;
    const inside = x >= this.curve.left && x <= this.scale.right;
    const inBars = y > this.bars.top - 4 && y < this.bars.top + this.bars.height + 60 * this.unit;
    if (inside && (inCurve || inBars) && Math.abs(x - this.grips.top_k.line) < 6) return { drag: "top_k" };
    if (inside && inCurve && Math.abs(y - this.grips.top_p.line) < 7) return { drag: "top_p" };
    if (inside && inBars && this.grips.min_p && Math.abs(y - this.grips.min_p.line) < 6) return { drag: "min_p" };
    return inside && (inCurve || inBars) ? { place: Math.min(this.scale.size - 1, Math.floor(this.scale.rank(x))) }
      : {};
  }

  /** The setting that a line has when the hand holds it at (x, y). */
  valueAt(name, x, y, truncation) {
    if (name === "xi")
      return Math.min(0.9999, Math.max(0, Math.round(((x - this.strip.left) / this.strip.width) * 1e4) / 1e4));
    if (name === "top_k") {
      const k = Math.max(1, Math.round(this.scale.rank(Math.max(x, this.scale.left))));
      return k >= this.scale.size ? null : k;
    }
    const share = (box) => Math.max(0, (box.top + box.height - y) / box.height);
    if (name === "top_p") return Math.min(1, Math.round((share(this.curve) / this.topPMass) * 1000) / 1000);
    const p = this.view.logarithmic ? LOG_FLOOR * (this.top / LOG_FLOOR) ** share(this.bars)
      : share(this.bars) * this.top;
    return Math.min(1, Number((p / truncation.probs[0]).toPrecision(2)));
  }
}

/** A context beside another: the same k and p on its own distribution. */
export class SmallPicture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  measure(size, theme, scale) {
    const width = Math.max(260, this.canvas.parentElement.clientWidth), px = (n) => n * scale;
    this.curve = { left: px(34), top: px(14), height: px(88) };
    this.bars = { left: px(34), top: px(122), height: px(84) };
    this.width = width;
    this.height = Math.round(px(272));
    this.scale = rankScale(size, px(34), width - px(44), px(15));
    this.theme = theme;
    this.view = pictureView(theme, this.scale);
    fitCanvas(this.canvas, width, this.height);
  }

  draw({ truncation, settings, words, top }) {
    const c = this.context, { view, curve, bars, theme, scale } = this;
    c.clearRect(0, 0, this.width, this.height);
    Object.assign(view, words, { logarithmic: settings.logarithmic });
    const height = barHeight(bars, top, view.logarithmic);
    drawTail(c, view, curve.top, bars.top + bars.height);
    drawCurve(c, view, curve, truncation);
    drawBarAxis(c, view, bars, top, height);
    drawBars(c, view, bars, truncation, height);
    drawTokens(c, view, bars.top + bars.height, truncation);
    drawRanks(c, view, bars.top + bars.height);
    const k = settings.top_k === null ? scale.size : Math.min(settings.top_k, scale.size), xK = scale.x(k);
    line(c, xK, curve.top - 6, xK, bars.top + bars.height, theme.text, 1.5, settings.top_k === null ? [2, 4] : []);
    const yP = curve.top + curve.height * (1 - settings.top_p * truncation.cumulative[truncation.left[TOP_K] - 1]);
    line(c, curve.left, yP, scale.right, yP, theme.text, 1.5, settings.top_p < 1 ? [] : [2, 4]);
  }
}

function pictureView(theme, scale) {
  return {
    theme, scale, hatch: hatchOf(theme),
    font: `${theme.size}px ${theme.font}`, bold: `600 ${theme.size}px ${theme.font}`,
    mono: `${theme.size}px ${theme.mono}`, boldMono: `600 ${theme.size}px ${theme.mono}`,
  };
}

function fitCanvas(canvas, width, height) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
}

/** A sentence of the text file with its {names} filled in. */
export function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
