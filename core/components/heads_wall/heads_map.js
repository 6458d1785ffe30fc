// The map beside a wall that is too large to be seen whole: one cell per head, layers downwards, coloured by one
// measure. A frame shows the part of the wall in sight; a click or Enter scrolls to a head and picks it, dragging and
// the arrow keys only scroll to it.
import { sharpen, stroke, write } from "../lib/canvas.js";
import { css } from "../lib/colours.js";
import { make } from "../lib/dom.js";
import { exact, readable } from "../lib/numbers.js";
import { showTip } from "../lib/pattern.js";
import { pageScale, readTheme } from "../lib/theme.js";
import { fitHeight } from "../lib/view.js";
import { bringIntoSight, GAP, labelHeight, measureOf, name, neighbour, place } from "./tiles.js";

const MAP_LEFT = 22, MAP_TOP = 14, MAP_SHARE = 0.3, STACKED = 520;

/** Give a wall its map. */
export function buildMap(wall) {
  const part = (name) => wall.root.querySelector(name), [label, select] = part(".map label").children;
  const places = part(".places"), [canvas, window, here] = places.children, [ramp, range] = part(".ends").children;
  wall.summary = { root: part(".map"), frame: part(".frame"), label, select, places, canvas, window, here, ramp,
    range };
  select.onchange = () => chooseMeasure(wall, select.value);
  places.onpointerdown = (event) => {
    wall.dragged = false;
    wall.grip = [event.clientX, event.clientY];
    places.setPointerCapture(event.pointerId);
  };
  places.onpointermove = (event) => overMap(wall, event);
  places.onpointerleave = () => wall.forget();
  places.onclick = (event) => {
    const head = headOnMap(wall, event);
    if (head !== null && !wall.dragged) goTo(wall, head);
  };
  places.onkeydown = (event) => stepOnMap(wall, event);
  places.onblur = () => { wall.cursor = undefined; wall.forget(); };
  wall.scroll.onscroll = () => frameWindow(wall);
  Object.assign(wall, { describeMap: () => describeMap(wall), layMap: () => layMap(wall),
    markOnMap: () => markOnMap(wall), paintMap: () => { paintMap(wall); frameWindow(wall); } });
}

// At most `most` of 0 ... n − 1, evenly spaced, the first and the last among them.
export function thinned(n, most) {
  const every = Math.max(1, Math.ceil((n - 1) / Math.max(1, most - 1))), kept = [];
  for (let i = 0; i < n - 1; i += every) if (i === 0 || n - 1 - i >= every) kept.push(i);
  return [...kept, n - 1];
}

const within = (low, value, high) => Math.max(low, Math.min(high, Math.floor(value)));

// The top left corner of a head's cell on the map.
const cornerOnMap = ({ cell: [w, h], heads }, head) =>
  [MAP_LEFT + (head % heads) * w, MAP_TOP + Math.floor(head / heads) * h];

function layMap(wall) {
  const { root, frame, places } = wall.summary, { layers, heads } = wall;
  const wide = frame.clientWidth, stacked = Boolean(wall.map) && wide < STACKED;
  root.hidden = !wall.map;
  frame.classList.toggle("stacked", stacked);
  if (!wall.map) { wall.scroll.style.maxHeight = ""; return; }
  const room = stacked ? wall.height : fitHeight(frame, wall.height, wall.most), tall = stacked ? 190 : room - 70;
  wall.cell = [within(3, ((stacked ? wide : wide * MAP_SHARE) - MAP_LEFT - 8) / heads, stacked ? 30 : 14),
    within(3, (tall - MAP_TOP) / layers, stacked ? 12 : 20)];
  wall.mapSize = [MAP_LEFT + heads * wall.cell[0] + 7, MAP_TOP + layers * wall.cell[1] + 1];
  const [width, height] = wall.mapSize.map((size) => `${size}px`);
  root.style.width = stacked ? "100%" : width;
  Object.assign(places.style, { width, height });
  wall.scroll.style.maxHeight = `${room}px`;
}

const shownMeasure = (wall) => wall.measured.indexOf(wall.map.shown);

function describeMap(wall) {
  if (!wall.map) return;
  const { label, select, places } = wall.summary, { measured: names, map: { labels } } = wall;
  if (wall.chosen === wall.map.shown) wall.chosen = undefined;
  if (wall.chosen) wall.map.shown = wall.chosen;          // the hand is ahead of Python
  label.textContent = wall.text.measure;
  const option = (name, i) => Object.assign(make("option", "", null, labels[i]), { value: name });
  if (select.children.length !== names.length) select.replaceChildren(...names.map(option));
  select.value = wall.map.shown;
  places.ariaLabel = wall.text.map;
}

function paintMap(wall) {
  if (!wall.map) return;
  const { canvas, ramp, range } = wall.summary, { ink, table } = readTheme(), scale = table("seq");
  const { layers, heads, map, cell: [w, h] } = wall, measure = shownMeasure(wall), end = map.ends[measure];
  const context = sharpen(canvas, ...wall.mapSize);
  let known = false;
  for (let head = 0; head < layers * heads; head++) {
    const value = measureOf(wall, measure, head), share = Math.max(0, Math.min(1, value / end));
    known ||= !Number.isNaN(value);
    context.fillStyle = Number.isNaN(value) ? ink("page")
      : css(scale[Math.round((map.rooted[measure] ? Math.sqrt(share) : share) * 255)]);
    context.fillRect(...cornerOnMap(wall, head), w - Number(w > 5), h - Number(h > 5));
  }
  stroke(context, ink("grid"));
  context.strokeRect(MAP_LEFT - 0.5, MAP_TOP - 0.5, heads * w + 1, layers * h + 1);
  writeMapLabels(wall, context, ink);
  ramp.hidden = !known;
  range.textContent = known ? `0 … ${readable(end)}` : wall.text.nothing;
}

function writeMapLabels(wall, context, ink) {
  const { layers, heads, cell: [w, h] } = wall, label = (number, x, y, align) =>
    write(context, String(number), x, y, ink("muted"), align, { font: `${10 * pageScale()}px ${ink("mono")}` });
  for (const layer of thinned(layers, Math.floor((layers * h) / 13)))
    label(layer, MAP_LEFT - 4, MAP_TOP + (layer + 0.5) * h, "right");
  for (const head of thinned(heads, Math.floor((heads * w) / 20)))
    label(head, MAP_LEFT + (head + 0.5) * w, MAP_TOP / 2 - 1, "center");
}

// Frame the part of the wall in sight on the map.
function frameWindow(wall) {
  if (!wall.map || !wall.tile) return;
  const { scroll, heads, layers, cell: [w, h] } = wall, across = wall.tile + GAP;
  const down = wall.tile + labelHeight() + GAP;
  const left = scroll.scrollLeft / across;
  const right = Math.min(heads, (scroll.scrollLeft + scroll.clientWidth - wall.rail) / across);
  const top = scroll.scrollTop / down, bottom = Math.min(layers, (scroll.scrollTop + scroll.clientHeight) / down);
  place(wall.summary.window, MAP_LEFT + left * w - 2, MAP_TOP + top * h - 2, (right - left) * w + 3,
    (bottom - top) * h + 3);
}

function markOnMap(wall) {
  if (!wall.map) return;
  const [x, y] = cornerOnMap(wall, wall.pointer?.head ?? wall.cursor ?? wall.selected), [w, h] = wall.cell;
  place(wall.summary.here, x - 2, y - 2, w + 3, h + 3);
}

function headOnMap(wall, event) {
  const box = wall.summary.places.getBoundingClientRect(), [w, h] = wall.cell;
  const column = Math.floor((event.clientX - box.left - MAP_LEFT) / w);
  const row = Math.floor((event.clientY - box.top - MAP_TOP) / h);
  return column < 0 || row < 0 || column >= wall.heads || row >= wall.layers ? null : row * wall.heads + column;
}

function overMap(wall, event) {
  const head = headOnMap(wall, event);
  if (head === null) { wall.forget(); return; }
  if (event.buttons && Math.hypot(event.clientX - wall.grip[0], event.clientY - wall.grip[1]) > 4) wall.dragged = true;
  if (wall.dragged && event.buttons) bringIntoSight(wall, head, true);
  wall.cursor = head;
  readOnMap(wall, head);
  wall.cursor = undefined;
}

// Show the head's measure in words, beside its cell.
function readOnMap(wall, head) {
  const { places } = wall.summary, [w, h] = wall.cell, [x, y] = cornerOnMap(wall, head);
  const measure = shownMeasure(wall), value = measureOf(wall, measure, head);
  const text = `${wall.map.labels[measure]}: ${Number.isNaN(value) ? "–" : exact(value)}`;
  markOnMap(wall);
  places.ariaLabel = `${name(wall, head)} ${text}. ${wall.text.map}`;
  showTip(wall.tip, wall.words(head, text), places.offsetLeft + x + w / 2, places.offsetTop + y, h + 4);
}

function chooseMeasure(wall, measure) {
  wall.map.shown = wall.chosen = measure;
  paintMap(wall);
  wall.trigger("measured", measure);
}

function goTo(wall, head) {
  bringIntoSight(wall, head, true);
  if (wall.map.picks) wall.pick(head);
  else wall.buttons[head].focus({ preventScroll: true });
}

function stepOnMap(wall, event) {
  const from = wall.cursor ?? wall.selected;
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); goTo(wall, from); return; }
  const to = neighbour(wall, from, event.key);
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  wall.cursor = to;
  bringIntoSight(wall, to, false);
  readOnMap(wall, to);
}

