// Pointer, wheel and keys inside the picture: what is read, and where a press leads.
import { make } from "../../core/components/lib/dom.js";
import { isShortcut } from "../../core/components/lib/keys.js";
import { showTip } from "../../core/components/lib/pattern.js";
import { around, beside } from "./dive_path.js";

const WHEELED = 60;             // of a wheel with Ctrl, or of two fingers on a pad, until it leads in or out
const PINCHED = 1.35;           // times as far apart as they began, or as close, until two fingers lead in or out

/** @param {any} dive */
export function listen(dive) {
  const { canvas, map, root, crumbs } = dive;
  canvas.onpointermove = (event) => point(dive, event);
  canvas.onpointerleave = () => point(dive, null);
  canvas.onclick = (event) => press(dive, event);
  canvas.onpointerdown = (event) => grab(dive, event);
  const turn = wheelOf(dive), pinch = pinchOf(dive);
  for (const stage of [canvas, map.area]) {
    stage.addEventListener("wheel", turn, { passive: false });
    for (const type of ["touchstart", "touchmove"]) stage.addEventListener(type, pinch, { passive: false });
  }
  root.onkeydown = crumbs.onkeydown = (event) => key(dive, event);
}

function partAt(dive, event) {
  const box = dive.canvas.getBoundingClientRect(), [px, py] = [event.clientX - box.left, event.clientY - box.top];
  for (const part of [...(dive.scene?.parts ?? [])].reverse()) {
    const [x, y, w, h] = part.box, [dx, dy] = [(px - x) / w, (py - y) / h];
    if ((part.into || part.read || part.drag) && dx >= 0 && dy >= 0 && dx < 1 && dy < 1) {
      const into = typeof part.into === "function" ? part.into(dx, dy) : part.into;
      return { part, into, reading: part.read?.(dx, dy) ?? null };
    }
  }
  return null;
}

function point(dive, event) {
  const { map, scene, canvas } = dive, hit = event && partAt(dive, event);
  map.tip.hidden = !hit?.reading;
  canvas.style.cursor = hit?.part.drag ? "ew-resize" : hit?.into || hit?.part.edit ? "pointer" : "";
  if (hit?.reading) readOut(map, hit.reading, event);
  dive.mark = hit?.into ? markedIn(scene, hit) : null;
  if (!map.root.classList.contains("travels")) requestAnimationFrame(() => dive.rest());
}

function readOut(map, [name, value], { clientX, clientY }) {
  const frame = map.root.getBoundingClientRect();
  showTip(map.tip, [make("span", "", null, name), ...(value ? [make("b", "", null, value)] : [])],
    clientX - frame.left, clientY - frame.top - 10, 30);
}

// The box of what a press enters: a row, a number, or the part itself.
function markedIn(scene, { part, into: { depth, at } }) {
  const kind = { look: "row", number: "number" }[depth];
  return (kind && scene.where(`${kind} ${at.at(-1)}`)) ?? part.box;
}

function press(dive, event) {
  const hit = dive.hasDragged ? null : partAt(dive, event);
  if (hit?.part.edit) dive.map.send("edited", hit.part.edit);
  else if (hit?.into) dive.goTo(hit.into);
}

// A part that is dragged shows at every step what it changes; Python hears of the last one.
function grab(dive, event) {
  const { canvas, map } = dive, drag = partAt(dive, event)?.part.drag, before = dive.scene;
  dive.hasDragged = false;
  if (!drag || event.button) return;
  let changed = null;
  const moved = ({ clientX }) => {
    dive.hasDragged = true;
    changed = drag(clientX - event.clientX);
    map.tip.hidden = true;
    dive.preview(changed.scene);
  };
  canvas.setPointerCapture(event.pointerId);
  canvas.onpointermove = moved;
  canvas.onpointerup = canvas.onpointercancel = ({ type }) => {
    canvas.onpointermove = (other) => point(dive, other);
    canvas.onpointerup = canvas.onpointercancel = null;
    if (!changed) return;
    if (type === "pointerup") map.send("edited", changed.edit);
    else dive.preview(before);
  };
}

// Two fingers that part on a pad come as a wheel with Ctrl, as in maps.
function wheelOf(dive) {
  let wheeled = 0;
  return (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    wheeled += event.deltaY;
    if (Math.abs(wheeled) < WHEELED) return;
    const isIn = wheeled < 0;
    wheeled = 0;
    if (isIn) goIn(dive, event);
    else out(dive);
  };
}

// On a screen the two fingers themselves come: one pinch is one step.
function pinchOf(dive) {
  let began = 0;
  return (event) => {
    const [a, b, more] = event.touches;
    if (!b || more) { began = 0; return; }
    event.preventDefault();
    const apart = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    if (event.type === "touchstart") began = apart;
    if (!began || (apart < PINCHED * began && began < PINCHED * apart)) return;
    const isIn = apart > began;
    began = 0;
    if (isIn) goIn(dive, { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 });
    else out(dive);
  };
}

function goIn(dive, event) {
  if (dive.isOpen) press(dive, event);
  else dive.map.area.onclick(event);
}

function out(dive, options = {}) {
  const outer = around(dive.place);
  if (outer) dive.goTo(outer, options);
}

// Up and down choose what is inside, left and right go to the neighbour, Escape goes out; Enter presses the chosen, and
// plus and minus change its score.
function key(dive, event) {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, "+": 1, "-": -1 }, step = steps[event.key];
  if (!dive.isOpen || isShortcut(event) || (event.key !== "Escape" && !step)) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key === "Escape") out(dive, { byKeys: true });
  else if (["ArrowLeft", "ArrowRight"].includes(event.key)) {
    const next = beside(dive.place, step, dive.map);
    if (next) dive.goTo(next, { byKeys: true });
  } else if (["+", "-"].includes(event.key)) nudge(dive, step);
  else choose(dive, step);
}

function choose(dive, step) {
  const nodes = [...dive.list.children], now = nodes.findIndex((node) => node.tabIndex === 0);
  const to = Math.max(0, Math.min(nodes.length - 1, now + (dive.holdsFocus ? step : 0)));
  nodes.forEach((node, k) => { node.tabIndex = k === to ? 0 : -1; });
  nodes[to]?.focus({ preventScroll: true });
}

function nudge({ list, scene, map }, step) {
  const now = [...list.children].findIndex((node) => node.tabIndex === 0);
  const edit = scene.children[now]?.nudge?.(step);
  if (edit) map.send("edited", edit);
}
