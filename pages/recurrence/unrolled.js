// A recurrent network unrolled: tokens below, a strip of m hidden units above each, layer over layer; arrows carry the
// state from step to step. A click on a strip picks a step and a unit, a click on a token the start of the path; arrow
// keys move step and unit, with shift the start.
import { css } from "../../core/components/lib/colours.js";
import { exact } from "../../core/components/lib/numbers.js";
import {
  beginDrawing, chip, element, fitHeight, keepFitted, showTip, writeText,
} from "../../core/components/lib/pattern.js";
import { unpack } from "../../core/components/lib/bytes.js";
import { whenStyled } from "../../core/components/lib/theme.js";

const ARCS = 54, CHIPS = 34, GAP = 26, LEAST_COLUMN = 42, MOST_COLUMN = 260;

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".unrolled");
  const view = (root.view ??= build(root));
  view.send = setTriggerValue;
  receive(view, data);
}

function receive(view, data) {
  Object.assign(view, unpack(data));
  view.reach = view.states.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1;
  view.stage.setAttribute("aria-label", view.text.keys);
  whenStyled(view.root, () => { arrange(view); reveal(view); });
}

function build(root) {
  const find = (name) => root.querySelector(name);
  const view = { root, stage: find(".stage"), scroll: find(".scroll"), canvas: find("canvas"), tip: find(".tip"),
    spoken: find(".spoken") };
  view.stage.onpointermove = (event) => hover(view, event);
  view.stage.onpointerleave = () => { view.tip.hidden = true; };
  view.stage.onclick = (event) => click(view, event);
  view.scroll.onscroll = () => { view.tip.hidden = true; paint(view); };
  view.stage.onkeydown = (event) => keyed(view, event);
  keepFitted(root, () => view.text && arrange(view));
  return view;
}

const clamp = (value, n) => Math.max(0, Math.min(n - 1, value));
const value = (view, layer, direction, step, unit) =>
  view.states[((layer * view.directions + direction) * view.n + step) * view.m + unit];

function pick(view, change) {
  view.picked = { ...view.picked, ...change };
  const { layer, direction, step, unit } = view.picked;
  view.spoken.textContent = describe(view, layer, direction, step, unit);
  paint(view);
  reveal(view);
  view.send("picked", view.picked);
}

function start(view, source) {
  view.source = source;
  paint(view);
  view.send("source", source);
}

function keyed(view, event) {
  const { step, unit } = view.picked;
  const across = { ArrowLeft: -1, ArrowRight: 1 }[event.key], along = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!across && !along) return;
  event.preventDefault();
  event.stopPropagation();
  if (across && event.shiftKey) start(view, clamp(view.source + across, view.n));
  else if (across) pick(view, { step: clamp(step + across, view.n) });
  else pick(view, { unit: clamp(unit + along, view.m) });
}

function arrange(view) {
  const width = view.scroll.clientWidth, ratio = window.devicePixelRatio || 1;
  if (!width) return;
  const type = 12 * view.scale, left = 46 * view.scale;
  const height = fitHeight(view.stage, view.least, view.most, view.below);
  const column = Math.min(MOST_COLUMN, Math.max(LEAST_COLUMN * view.scale, (width - left - 4) / view.n));
  const whole = Math.max(width, left + column * view.n + 4);
  const strips = view.layers * view.directions, top = ARCS * view.scale, foot = CHIPS * view.scale;
  const gap = GAP * view.scale;
  const strip = (height - top - foot - gap * strips) / strips, thick = Math.min(30, column * 0.36);
  Object.assign(view, { ratio, type, left, height, column, whole, top, foot, gap, strip, thick });
  view.stage.style.height = `${height}px`;
  view.stage.style.width = `${whole}px`;
  Object.assign(view.canvas.style, { width: `${whole}px`, height: `${height}px` });
  [view.canvas.width, view.canvas.height] = [Math.round(whole * ratio), Math.round(height * ratio)];
  paint(view);
}

function reveal(view) {
  const x = centre(view, view.picked.step), { scrollLeft, clientWidth } = view.scroll;
  if (x - view.column < scrollLeft) view.scroll.scrollLeft = x - view.column;
  else if (x + view.column > scrollLeft + clientWidth) view.scroll.scrollLeft = x + view.column - clientWidth;
}

const centre = (view, step) => view.left + (step + 0.5) * view.column;
// The top of a strip: the last layer highest; of two directions the backward one above.
const topOf = (view, layer, direction) => view.top
  + (view.layers * view.directions - 1 - (layer * view.directions + direction)) * (view.strip + view.gap);

function paint(view) {
  beginDrawing(view, view.whole);
  pathOf(view);
  arrows(view);
  for (let layer = 0; layer < view.layers; layer++)
    for (let direction = 0; direction < view.directions; direction++) strips(view, layer, direction);
  tokens(view);
  attention(view);
  outline(view);
  names(view);
}

// Names stand above and below the strips that they name.
const write = (view, text, x, y, options = {}) => writeText(view, text, x, y, { align: "center", ...options });

// The direction that carries token `source` to the picked step: forward, backward, or none where the step comes before
// and nothing runs back.
function pathOf(view) {
  const { source, picked, directions } = view;
  view.way = picked.step >= source ? 0 : directions > 1 ? 1 : null;
  view.low = Math.min(source, picked.step);
  view.high = Math.max(source, picked.step);
}

function arrow(view, x1, y1, x2, y2, strong) {
  const { context, ink } = view, angle = Math.atan2(y2 - y1, x2 - x1), head = strong ? 7 : 4.5;
  context.strokeStyle = context.fillStyle = ink(strong ? "residual-ink" : "grid-ink");
  context.lineWidth = strong ? 3 : 1;
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2 - Math.cos(angle) * head, y2 - Math.sin(angle) * head);
  context.stroke();
  context.beginPath();
  context.moveTo(x2, y2);
  for (const turn of [0.45, -0.45])
    context.lineTo(x2 - head * Math.cos(angle + turn), y2 - head * Math.sin(angle + turn));
  context.fill();
}

function arrows(view) {
  const { n, layers, directions, strip, thick, way, low, high, source, picked } = view;
  for (let layer = 0; layer < layers; layer++) for (let direction = 0; direction < directions; direction++) {
    const y = topOf(view, layer, direction) + strip / 2, onWay = way === direction && layer === 0;
    for (let step = 0; step + 1 < n; step++) {
      const a = centre(view, step) + thick / 2 + 2, b = centre(view, step + 1) - thick / 2 - 2;
      const strong = onWay && step >= low && step < high;
      arrow(view, direction ? b : a, y, direction ? a : b, y, strong);
    }
    if (n > 1 && view.column - thick > 30)
      write(view, "Wₕ", (centre(view, 0) + centre(view, 1)) / 2, y - 10,
        { meaning: "residual-ink", bold: true, size: 0.95 });
  }
  const chips = view.height - view.foot;
  for (let step = 0; step < n; step++) for (let layer = 0; layer < layers; layer++) {
    const from = layer === 0 ? chips + 2 : topOf(view, layer - 1, directions - 1) - 2;
    const to = topOf(view, layer, 0) + strip + 3;
    const strong = way !== null
      && ((layer === 0 && step === source) || (layer > 0 && layer <= picked.layer && step === picked.step));
    arrow(view, centre(view, step), from, centre(view, step), to, strong);
    if (layer === 0 && step === 0)
      write(view, "Wₓ", centre(view, 0) + 8, (from + to) / 2,
        { align: "left", meaning: "residual-ink", bold: true, size: 0.95 });
  }
}

function strips(view, layer, direction) {
  const { context, colours, n, m, strip, thick, reach } = view, top = topOf(view, layer, direction), cell = strip / m;
  const gap = cell > 7 ? 1 : 0;
  for (let step = 0; step < n; step++) for (let unit = 0; unit < m; unit++) {
    context.fillStyle = css(colours[Math.round(127.5 + (127.5 * value(view, layer, direction, step, unit)) / reach)]);
    context.fillRect(centre(view, step) - thick / 2, top + unit * cell, thick, cell - gap + (gap ? 0 : 0.4));
  }
  context.strokeStyle = view.ink("grid-ink");
  context.lineWidth = 1;
  for (let step = 0; step < n; step++)
    context.strokeRect(centre(view, step) - thick / 2 - 0.5, top - 0.5, thick + 1, strip + 1);
}

// What each row is, at the left edge of what is seen, however far it is scrolled.
function names(view) {
  const { context, ink, left, strip, text, height, foot, layers, directions, column, thick } = view;
  const x = view.scroll.scrollLeft;
  context.fillStyle = ink("page");
  context.fillRect(x, view.top - 2, left - 6, height - view.top);
  for (let layer = 0; layer < layers; layer++) for (let direction = 0; direction < directions; direction++) {
    const y = topOf(view, layer, direction) + strip / 2, tight = column - thick <= 30;
    write(view, `${text.hidden}${layers > 1 ? layer + 1 : ""}${directions > 1 ? (direction ? "←" : "→") : ""}`, x + 4,
      y - (tight ? 8 * view.scale : 0), { align: "left", bold: true, meaning: "residual-ink" });
    if (tight) write(view, "Wₕ", x + 4, y + 8 * view.scale, { align: "left", bold: true, meaning: "residual-ink" });
  }
  write(view, text.input, x + 4, height - foot + 4 + (foot - 10) / 2, { align: "left", bold: true });
}

function clipped(view, text, room) {
  const { context } = view;
  if (context.measureText(text).width <= room) return text;
  let end = [...text].length;
  while (end > 1 && context.measureText([...text].slice(0, end).join("") + "…").width > room) end--;
  return [...text].slice(0, end).join("") + "…";
}

function tokens(view) {
  const { context, ink, n, column, height, foot, source, picked, type } = view, top = height - foot + 4;
  const tall = foot - 10;
  for (let step = 0; step < n; step++) {
    context.font = `${type}px ${ink("mono")}`;
    const shown = clipped(view, view.tokens[step], column - 12);
    const wide = Math.min(column - 4, context.measureText(shown).width + 12);
    const chosen = step === source || step === picked.step;
    context.fillStyle = ink("panel");
    context.strokeStyle = ink(step === source ? "key" : step === picked.step ? "query" : "grid-ink");
    context.lineWidth = chosen ? 2.5 : 1;
    context.beginPath();
    context.roundRect(centre(view, step) - wide / 2, top, wide, tall, 4);
    context.fill();
    context.stroke();
    write(view, shown, centre(view, step), top + tall / 2 + 0.5, { mono: true, bold: chosen, room: wide - 4 });
  }
}

// What attention does over the same distance: one arc from the picked step to the token, above everything.
function attention(view) {
  const { context, ink, source, picked, top, text } = view, from = centre(view, source), to = centre(view, picked.step);
  const base = top - 4, peak = 20 * view.scale, middle = (from + to) / 2, distance = Math.abs(picked.step - source);
  const backward = view.way === null;
  if (source !== picked.step) {
    context.strokeStyle = ink(backward ? "excluded-ink" : "attention-ink");
    context.lineWidth = 2.5;
    context.setLineDash(backward ? [2, 5] : [7, 4]);
    context.beginPath();
    context.moveTo(from, base);
    context.bezierCurveTo(from, peak - 12, to, peak - 12, to, base);
    context.stroke();
    context.setLineDash([]);
    if (!backward) arrow2(view, to, base);
  }
  const words = backward ? text.none : text.path.replace("{steps}", distance);
  const { scrollLeft, clientWidth } = view.scroll;
  context.font = `700 ${view.type}px ${ink("font")}`;
  // on the screen, wherever the arc is
  const half = context.measureText(words).width / 2 + 4;
  const x = Math.max(scrollLeft + half, Math.min(scrollLeft + clientWidth - half, middle));
  write(view, words, x, 9 * view.scale, { bold: true, meaning: backward ? "muted" : "text" });
}

function arrow2(view, x, y) {
  const { context, ink } = view;
  context.fillStyle = ink("attention-ink");
  context.beginPath();
  context.moveTo(x, y + 3);
  context.lineTo(x - 4, y - 6);
  context.lineTo(x + 4, y - 6);
  context.fill();
}

function outline(view) {
  const { context, ink, strip, thick, m, picked } = view, top = topOf(view, picked.layer, picked.direction);
  const cell = strip / m, x = centre(view, picked.step) - thick / 2;
  for (const [line, meaning] of [[5, "text"], [2.5, "drawn"]]) {
    context.strokeStyle = ink(meaning);
    context.lineWidth = line;
    context.strokeRect(x - 3, top + picked.unit * cell - 1, thick + 6, Math.max(cell, 4) + 1);
  }
}

// What is under the pointer: a token below, a unit of a strip, or nothing.
function under(view, event) {
  const box = view.stage.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const step = Math.floor((x - view.left) / view.column);
  if (step < 0 || step >= view.n) return null;
  if (y > view.height - view.foot) return { token: step };
  for (let layer = 0; layer < view.layers; layer++) for (let direction = 0; direction < view.directions; direction++) {
    const inside = y - topOf(view, layer, direction);
    if (inside >= 0 && inside < view.strip)
      return { layer, direction, step, unit: clamp(Math.floor((inside / view.strip) * view.m), view.m) };
  }
  return null;
}

function click(view, event) {
  const found = under(view, event);
  if (found?.token !== undefined) start(view, found.token);
  else if (found) pick(view, found);
}

function describe(view, layer, direction, step, unit) {
  return view.text.reading.replace("{layer}", layer + 1).replace("{direction}",
    view.directions > 1 ? (direction ? " ←" : " →") : "").replace("{step}", step).replace("{unit}", unit)
    .replace("{token}", view.tokens[step]).replace("{value}", exact(value(view, layer, direction, step, unit)));
}

function hover(view, event) {
  const found = under(view, event);
  view.tip.hidden = true;
  if (!found) return;
  const x = centre(view, found.step ?? found.token) - view.scroll.scrollLeft;
  if (found.token !== undefined)
    return showTip(view.tip, [chip(view.tokens[found.token], "key"), element("small", "", ` ${found.token}`)], x,
      view.height - view.foot, view.foot);
  const y = topOf(view, found.layer, found.direction) + (found.unit * view.strip) / view.m;
  showTip(view.tip, [element("span", "", describe(view, found.layer, found.direction, found.step, found.unit))], x, y,
    24);
}
