// Beside a wall too large to be seen whole: one cell a head, layers downwards, coloured by one measure. A frame shows
// which part of the wall is in sight; a click or Enter brings a head into sight and picks it, dragging and the arrow
// keys only bring it into sight.
import { css } from "../lib/colours.js";
import { exact } from "../lib/numbers.js";
import { element, fitHeight, showTip } from "../lib/pattern.js";
import { readTheme } from "../lib/theme.js";
import { bringIntoSight, GAP, LABEL, name, neighbour, place } from "./tiles.js";

const MAP_LEFT = 22, MAP_TOP = 14, MAP_SHARE = 0.3, STACKED = 520;

export function buildMap(wall) {
  const part = (name) => wall.root.querySelector(name), places = part(".places");
  const [label, select] = part(".map label").children, [ramp, range] = part(".ends").children;
  wall.summary = { root: part(".map"), frame: part(".frame"), label, select, places,
    canvas: places.querySelector("canvas"), window: part(".window"), here: part(".here"), ramp, range };
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
}

// At most `most` of 0 ... n − 1, evenly spaced, the first and the last among them.
function thinned(n, most) {
  const every = Math.max(1, Math.ceil((n - 1) / Math.max(1, most - 1))), kept = [];
  for (let i = 0; i < n - 1; i += every) if (i === 0 || n - 1 - i >= every) kept.push(i);
  return [...kept, n - 1];
}

export function layMap(wall) {
  const { root, frame, canvas, places } = wall.summary, { layers, heads } = wall;
  root.hidden = !wall.map;
  if (!wall.map) { wall.scroll.style.maxHeight = ""; frame.classList.remove("stacked"); return; }
  const wide = frame.clientWidth, stacked = wide < STACKED;
  const within = (low, value, high) => Math.max(low, Math.min(high, Math.floor(value)));
  frame.classList.toggle("stacked", stacked);
  const tall = stacked ? 190 : fitHeight(frame, wall.height, wall.most) - 70;
  wall.cell = [within(3, ((stacked ? wide : wide * MAP_SHARE) - MAP_LEFT - 8) / heads, stacked ? 30 : 14),
    within(3, (tall - MAP_TOP) / layers, stacked ? 12 : 20)];
  const width = MAP_LEFT + heads * wall.cell[0] + 7, height = MAP_TOP + layers * wall.cell[1] + 1;
  const ratio = window.devicePixelRatio || 1;
  root.style.width = stacked ? "100%" : `${width}px`;
  for (const node of [places, canvas]) Object.assign(node.style, { width: `${width}px`, height: `${height}px` });
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  wall.scroll.style.maxHeight = `${stacked ? wall.height : fitHeight(frame, wall.height, wall.most)}px`;
}

const shownMeasure = (wall) => wall.map.names.indexOf(wall.map.shown);
const measureOf = (wall, head) => wall.map_values[shownMeasure(wall) * wall.layers * wall.heads + head];

export function describeMap(wall) {
  if (!wall.map) return;
  const { label, select, places } = wall.summary, { names, labels } = wall.map;
  if (wall.chosen === wall.map.shown) wall.chosen = undefined;
  if (wall.chosen) wall.map.shown = wall.chosen;          // the hand is ahead of Python
  label.textContent = wall.text.measure;
  if (select.children.length !== names.length)
    select.replaceChildren(...names.map((name, i) => Object.assign(element("option", "", labels[i]), { value: name })));
  select.value = wall.map.shown;
  places.setAttribute("aria-label", wall.text.map);
}

export function paintMap(wall) {
  if (!wall.map) return;
  const { canvas, ramp, range } = wall.summary, context = canvas.getContext("2d"), { ink, table } = readTheme();
  const scale = table("seq"), [w, h] = wall.cell, { layers, heads, map } = wall;
  const measure = shownMeasure(wall);
  context.clearRect(0, 0, canvas.width, canvas.height);
  let read = 0;
  for (let head = 0; head < layers * heads; head++) {
    const value = measureOf(wall, head), x = MAP_LEFT + (head % heads) * w, y = MAP_TOP + Math.floor(head / heads) * h;
    if (!Number.isNaN(value)) read++;
    context.fillStyle = Number.isNaN(value) ? ink("page")
      : mapColour(scale, value / map.ends[measure], map.rooted[measure]);
    context.fillRect(x, y, w - (w > 5), h - (h > 5));
  }
  context.strokeStyle = ink("grid");
  context.lineWidth = 1;
  context.strokeRect(MAP_LEFT - 0.5, MAP_TOP - 0.5, heads * w + 1, layers * h + 1);
  writeMapLabels(wall, context, ink);
  ramp.hidden = !read;
  range.textContent = read ? `0 … ${exact(Number(map.ends[measure].toPrecision(3)))}` : wall.text.nothing;
}

function mapColour(scale, share, rooted) {
  const amount = Math.max(0, Math.min(1, share));
  return css(scale[Math.round((rooted ? Math.sqrt(amount) : amount) * 255)]);
}

function writeMapLabels(wall, context, ink) {
  const [w, h] = wall.cell, { layers, heads } = wall;
  context.font = `10px ${ink("mono")}`;
  context.fillStyle = ink("muted");
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const layer of thinned(layers, Math.floor((layers * h) / 13)))
    context.fillText(String(layer), MAP_LEFT - 4, MAP_TOP + (layer + 0.5) * h);
  context.textAlign = "center";
  for (const head of thinned(heads, Math.floor((heads * w) / 20)))
    context.fillText(String(head), MAP_LEFT + (head + 0.5) * w, MAP_TOP / 2 - 1);
}

// The part of the wall in sight, as a frame on the map.
export function frameWindow(wall) {
  if (!wall.map || !wall.tile) return;
  const { scroll, heads, layers, cell: [w, h] } = wall, across = wall.tile + GAP, down = wall.tile + LABEL + GAP;
  const left = scroll.scrollLeft / across;
  const right = Math.min(heads, (scroll.scrollLeft + scroll.clientWidth - wall.rail) / across);
  const top = scroll.scrollTop / down, bottom = Math.min(layers, (scroll.scrollTop + scroll.clientHeight) / down);
  place(wall.summary.window, MAP_LEFT + left * w - 2, MAP_TOP + top * h - 2, (right - left) * w + 3,
    (bottom - top) * h + 3);
}

export function markOnMap(wall) {
  if (!wall.map) return;
  const head = wall.pointer?.head ?? wall.cursor ?? wall.selected, [w, h] = wall.cell;
  place(wall.summary.here, MAP_LEFT + (head % wall.heads) * w - 2, MAP_TOP + Math.floor(head / wall.heads) * h - 2,
    w + 3, h + 3);
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

// The head's measure in words, beside its cell.
function readOnMap(wall, head) {
  const { places } = wall.summary, [w, h] = wall.cell, value = measureOf(wall, head);
  const amount = Number.isNaN(value) ? "–" : exact(value);
  const said = `${wall.map.labels[shownMeasure(wall)]}: ${amount}`;
  markOnMap(wall);
  places.setAttribute("aria-label", `${name(wall, head)} ${said}. ${wall.text.map}`);
  showTip(wall.tip, [element("b", "", name(wall, head)), element("small", "", ` ${said}`)],
    places.offsetLeft + MAP_LEFT + (head % wall.heads + 0.5) * w,
    places.offsetTop + MAP_TOP + Math.floor(head / wall.heads) * h, h + 4);
}

function chooseMeasure(wall, measure) {
  wall.map.shown = wall.chosen = measure;
  paintMap(wall);
  wall.send("measured", measure);
}

function goTo(wall, head) {
  bringIntoSight(wall, head, true);
  if (wall.map.picks) wall.pick(head);
  else wall.buttons[head].focus({ preventScroll: true });
}

function stepOnMap(wall, event) {
  const at = wall.cursor ?? wall.selected;
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); goTo(wall, at); return; }
  const to = neighbour(wall, at, event.key);
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  wall.cursor = to;
  bringIntoSight(wall, to, false);
  readOnMap(wall, to);
}

