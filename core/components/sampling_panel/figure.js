// The drawing. Every picture here has one horizontal axis: the tokens from the most to the least probable, the first
// ones a bar each, the rest on a logarithmic scale, so that a vocabulary of any size fits and no token is left out.
import { KEPT, RULES } from "./truncation.js";
import { line, stroke, write } from "../lib/canvas.js";
import { rgb } from "../lib/colours.js";
import { decimals, powerOfTen } from "../lib/numbers.js";
import { readTheme } from "../lib/theme.js";

const LINEAR_SHARE = 0.76, MOST_BARS = 40, LEAST_BARS = 8;
export const LOG_FLOOR = 1e-8;

/** The axis: x(rank) for rank in 0..size, its inverse, and the places to draw, one a bar and then one a pixel. */
export function rankScale(size, left, width, pitch) {
  const shown = Math.min(size, MOST_BARS, Math.max(LEAST_BARS, Math.floor((width * LINEAR_SHARE) / pitch)));
  const linear = shown === size ? width : width * LINEAR_SHARE;
  const bar = linear / shown, tail = left + linear, right = left + width, span = Math.log(size / shown) || 1;
  const x = (rank) => (rank <= shown ? left + rank * bar : tail + ((width - linear) * Math.log(rank / shown)) / span);
  const rank = (at) => (at <= tail ? (at - left) / bar
    : Math.min(size, shown * Math.exp(((at - tail) / (width - linear)) * span)));
  const places = [...Array(shown).keys()], edges = places.map(x);
  for (let at = tail; at < right - 0.5; at++) {
    const place = Math.min(size - 1, Math.floor(rank(at + 0.5)));
    if (place > places[places.length - 1]) {
      places.push(place);
      edges.push(at);
    }
  }
  edges.push(right);
  return { size, shown, bar, tail, left, right, x, rank, places, edges };
}

const INKS = ["kept", "kept-ink", "excluded", "excluded-ink", "drawn", "text", "muted", "grid", "page", "panel", "font",
  "mono"];

/** The page's colours and fonts that the panel draws with, by their names; the size of its type; a dark outline. */
export function inksAt(scale) {
  const { ink } = readTheme(), inks = Object.fromEntries(INKS.map((name) => [name, ink(name)]));
  const outline = isDark(...rgb(inks.page)) ? inks.page : inks.text;      // dark in both themes
  return { ...inks, size: 12.5 * scale, outline };
}

function isDark(red, green, blue) {
  return 0.3 * red + 0.59 * green + 0.11 * blue < 128;
}

/** A fill of faint diagonal lines, for many bars at once. */
export function hatchOf(theme) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 12;
  const c = tile.getContext("2d");
  c.scale(2, 2);
  c.strokeStyle = theme["excluded-ink"];
  c.lineWidth = 1;
  c.beginPath();
  for (const shift of [-6, 0, 6]) {
    c.moveTo(shift - 1, 7);
    c.lineTo(shift + 7, -1);
  }
  c.stroke();
  const pattern = c.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(0.5));
  return pattern;
}

/** A probability in three decimals that never claims a certainty or an impossibility that is not there. */
export function probabilityText(p) {
  if (p === 0 || p === 1) return String(p);
  return p < 0.001 ? powerOfTen(p, 2) : decimals(p, 3);
}

const grouped = new Intl.NumberFormat("en");

export function wholeNumber(n) {
  return grouped.format(n);
}

/** The smallest round number that is at least the value, at most 1: it moves in steps, so that the
    axis stands still. */
export function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return Math.min(1,
    [1, 1.5, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value * (1 - 1e-9)));
}

/** A text that stands on its line.
    @param {{font?: string, halo?: string}} options */
export function say(c, text, x, y, colour, align = "left", options = {}) {
  write(c, text, x, y, colour, align, { baseline: "alphabetic", ...options });
}

/** A line of a colour; nothing after it is dashed. */
export function ruled(c, x1, y1, x2, y2, colour, width = 1, dash = []) {
  stroke(c, colour, width, dash);
  line(c, x1, y1, x2, y2);
  c.setLineDash([]);
}

/** Walk over runs of neighbouring samples that share their fate: visit(first sample, one past the last, rule). */
function eachRun(scale, cutBy, visit) {
  const { places } = scale;
  for (let first = 0, last; first < places.length; first = last) {
    const rule = cutBy[places[first]];
    for (last = first + 1; last < places.length && cutBy[places[last]] === rule; last++);
    visit(first, last, rule);
  }
}

/** Path along the cumulative curve over samples [first, last); with `ground`, closed as an area down to it. */
export function traceCurve(c, scale, truncation, box, first, last, ground) {
  const { places, edges } = scale, { cumulative } = truncation;
  const y = (p) => box.top + box.height * (1 - p);
  c.beginPath();
  if (ground !== undefined) c.moveTo(edges[first], ground);
  c.lineTo(edges[first], y(first ? cumulative[places[first] - 1] : 0));
  for (let s = first; s < last; s++)
    c.lineTo(edges[s + 1], y(cumulative[s + 1 < places.length ? places[s + 1] - 1 : truncation.size - 1]));
  if (ground !== undefined) c.lineTo(edges[last], ground);
}

/** The cumulative curve: kept stretches solid over a filled area, cut stretches dashed over nothing. */
export function drawCurve(c, view, box, truncation) {
  const { theme, scale } = view, ground = box.top + box.height;
  for (const p of [0, 0.5, 1]) {
    ruled(c, box.left, box.top + box.height * (1 - p), scale.right, box.top + box.height * (1 - p), theme.grid);
    write(c, String(p), box.left - 6, box.top + box.height * (1 - p), theme.muted, "right", { font: view.font });
  }
  eachRun(scale, truncation.cutBy, (first, last, rule) => {
    if (rule === KEPT) {
      traceCurve(c, scale, truncation, box, first, last, ground);
      c.globalAlpha = 0.16;
      c.fillStyle = theme.kept;
      c.fill();
      c.globalAlpha = 1;
    }
    traceCurve(c, scale, truncation, box, first, last);
    c.setLineDash(rule === KEPT ? [] : [3, 3]);
    c.lineWidth = rule === KEPT ? 3 : 2;
    c.strokeStyle = theme[rule === KEPT ? "kept-ink" : "excluded-ink"];
    c.stroke();
    c.setLineDash([]);
  });
}

/** height(p) in pixels of a bar on the linear or the logarithmic scale whose top is `top`. */
export function barHeight(box, top, logarithmic) {
  if (!logarithmic) return (p) => (p / top) * box.height;
  const decades = Math.log10(top / LOG_FLOOR);
  return (p) => (p > LOG_FLOOR ? (Math.log10(p / LOG_FLOOR) / decades) * box.height : 0);
}

export function drawBarAxis(c, view, box, top, height) {
  const { theme, scale } = view;
  const marks = view.logarithmic ? [1e-8, 1e-6, 1e-4, 0.01, 1] : [0, top / 2, top];
  for (const p of marks) {
    const y = box.top + box.height - height(p);
    ruled(c, box.left, y, scale.right, y, theme.grid);
    const text = view.logarithmic && p < 0.01 ? probabilityText(p).replace(/^1\.0·/, "")
      : String(Number(p.toPrecision(3)));
    write(c, text, box.left - 6, y, theme.muted, "right", { font: view.font });
  }
}

/** Bars of the sorted distribution: kept ones filled up to y, with what renormalising adds in outline;
    cut ones hatched. */
export function drawBars(c, view, box, truncation, height) {
  const { theme, scale } = view, { places, edges } = scale, ground = box.top + box.height;
  const hatched = new Path2D();
  for (let s = 0; s < places.length; s++) {
    const i = places[s], wide = s < scale.shown, gap = wide ? Math.min(3, scale.bar * 0.18) : 0;
    const x = edges[s] + gap / 2, width = edges[s + 1] - edges[s] - gap, before = height(truncation.probs[i]);
    if (truncation.cutBy[i] !== KEPT) {
      hatched.rect(x, ground - before, width, before);
      continue;
    }
    const after = height(truncation.renormalised[i]);
    c.fillStyle = theme.kept;
    c.fillRect(x, ground - before, width, before);
    if (after - before > 0.5) {
      c.globalAlpha = 0.3;
      c.fillRect(x, ground - after, width, after - before);
      c.globalAlpha = 1;
      if (wide) {
        c.strokeStyle = theme["kept-ink"];
        c.lineWidth = 1;
        c.strokeRect(x + 0.5, ground - after + 0.5, width - 1, after - before);
      }
    }
  }
  c.fillStyle = view.hatch;
  c.fill(hatched);
  c.strokeStyle = theme["excluded-ink"];
  c.lineWidth = 1;
  c.stroke(hatched);
}

/** Above each stretch of cut tokens, the rule that cut it, where the words fit. */
export function drawRules(c, view, y, truncation) {
  const { theme, scale } = view;
  c.font = view.font;
  eachRun(scale, truncation.cutBy, (first, last, rule) => {
    if (rule === KEPT) return;
    const left = scale.edges[first], right = scale.edges[last], name = view.ruleNames[RULES[rule]];
    c.fillStyle = view.hatch;
    c.fillRect(left + 1, y, right - left - 2, 6);
    const text = c.measureText(name).width < right - left - 4 ? name : "";
    if (text) say(c, text, (left + right) / 2, y - 4, theme["excluded-ink"], "center");
  });
}

/** Where the scale turns logarithmic: a tinted ground, and ranks written along the bottom. */
export function drawTail(c, view, top, bottom) {
  const { theme, scale } = view;
  if (scale.shown === scale.size) return;
  c.fillStyle = theme.panel;
  c.fillRect(scale.tail, top, scale.right - scale.tail, bottom - top);
}

export function drawRanks(c, view, y) {
  const { theme, scale } = view;
  if (scale.shown === scale.size) return;
  const room = theme.size * 2.6;
  const ticks = [100, 1000, 10000, 100000]
    .filter((rank) => scale.x(rank) > scale.tail + room / 2 && scale.x(rank) < scale.right - 1.5 * room);
  for (const rank of [...ticks, scale.size]) {
    const x = scale.x(rank);
    ruled(c, x, y, x, y + 4, theme.muted);
    const align = rank === scale.size ? "right" : "center";
    write(c, view.count(rank), x, y + 7, theme.muted, align, { baseline: "top", font: view.font });
  }
}

/** Token labels under the bars, slanted so that neighbours never touch. */
export function drawTokens(c, view, y, truncation) {
  const { theme, scale } = view;
  c.font = view.mono;
  for (let i = 0; i < scale.shown; i++) {
    c.save();
    c.translate(scale.left + (i + 0.5) * scale.bar, y + 5);
    c.rotate(-Math.PI / 3);
    write(c, view.token(truncation.tokenIds[i], 9), 0, 0, truncation.cutBy[i] === KEPT ? theme.text
        : theme["excluded-ink"], "right");
    c.restore();
  }
}

/** [0, 1] cut into the intervals of the renormalised probabilities, in the order of the bars. */
export function drawIntervals(c, view, box, truncation) {
  const { theme } = view, { intervalEnds, renormalised, cutBy } = truncation;
  const x = (p) => box.left + p * box.width;
  c.font = view.mono;
  let shade = 0, rest = 0;
  for (let i = 0; i < truncation.prefix; i++) {
    if (cutBy[i] !== KEPT) continue;
    const end = x(intervalEnds[i]), width = renormalised[i] * box.width, left = end - width;
    // from here on the intervals are finer than a pixel: one tint stands for them
    if (width < 1.5) {
      rest = left;
      break;
    }
    c.globalAlpha = shade++ % 2 ? 0.82 : 1;
    c.fillStyle = theme.kept;
    c.fillRect(left, box.top, Math.max(0.5, width - 1), box.height);
    c.globalAlpha = 1;
    const name = width > 14 ? view.token(truncation.tokenIds[i], 12) : "";
    if (name && c.measureText(name).width < width - 6) {
      write(c, name, left + width / 2, box.top + box.height / 2, theme.page, "center");
    }
  }
  if (rest) {
    c.globalAlpha = 0.5;
    c.fillStyle = theme.kept;
    c.fillRect(rest, box.top, box.left + box.width - rest, box.height);
    c.globalAlpha = 1;
  }
  for (const p of [0, 0.25, 0.5, 0.75, 1]) {
    ruled(c, x(p), box.top + box.height, x(p), box.top + box.height + 4, theme.muted);
    write(c, String(p), x(p), box.top + box.height + 6, theme.muted, "center", { baseline: "top", font: view.font });
  }
}

/** The drawn token's marker: yellow, dark outline, pointing down at (x, y). */
export function drawMarker(c, theme, x, y, size) {
  c.beginPath();
  c.moveTo(x, y);
  c.lineTo(x - size * 0.7, y - size * 1.3);
  c.lineTo(x + size * 0.7, y - size * 1.3);
  c.closePath();
  c.fillStyle = theme.drawn;
  c.fill();
  c.lineWidth = 1.75;
  c.strokeStyle = theme.outline;
  c.stroke();
}

/** A share of the thousand draws: yellow, dark outline, round. */
export function drawRing(c, theme, x, y, radius) {
  c.beginPath();
  c.arc(x, y, radius, 0, 2 * Math.PI);
  c.fillStyle = theme.drawn;
  c.fill();
  c.lineWidth = 1.75;
  c.strokeStyle = theme.outline;
  c.stroke();
}

/** A labelled grip on a line: what the hand takes hold of. */
export function drawGrip(c, view, text, x, y, align) {
  const { theme } = view;
  c.font = view.bold;
  const width = c.measureText(text).width + 14, height = view.theme.size * 1.6;
  const left = align === "right" ? x - width : align === "center" ? x - width / 2 : x;
  c.fillStyle = theme.text;
  c.beginPath();
  c.roundRect(left, y - height / 2, width, height, 4);
  c.fill();
  write(c, text, left + width / 2, y + 0.5, theme.page, "center");
  return { left, right: left + width, top: y - height / 2, bottom: y + height / 2 };
}
