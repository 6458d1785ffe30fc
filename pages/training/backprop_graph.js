// The network as a drawing: x, z and h, u and p, y and L as cells, the weights as lines; under a number its derivative.
import { draw, drawLine, drawText, sized } from "../../core/components/lib/dom.js";
import { significant } from "../../core/components/lib/numbers.js";

/** From which step of the pass on a number is there, and from which its derivative; those of W and V stand on lines. */
export const SINCE = { x: 0, w: 0, v: 0, y: 0, z: 1, h: 2, u: 3, p: 4, L: 5,
  du: 6, dv: 7, dh: 8, dz: 9, dw: 10, dx: 11 };
export const FORWARD = 5, UPDATE = 12;
const INDEX = { 1: "₁", 2: "₂", 3: "₃" };
const WIDE = 5.1, SLIM = 4.4, NARROW = 2.2, HIGH = 3.9;      // em
const ROOMY = 58;                                  // em of a drawing whose cells are wide
const AWAY = 2.5;                                  // em from a weight's number to the box behind it
// where a weight stands on its line, as a share of it, by its row; from top to bottom the lines of V lie closer
const NEAR = { w: [0.3, 0.3], v: [0.75, 0.75] }, CLOSE = { w: [0.3, 0.3], v: [0.78, 0.5] };

/** A number's name as it is written: z₁, f′(z₁), ∂L/∂w₁₂. */
export function symbol(name) {
  if (name[0] === "d") return `∂L/∂${symbol(name.slice(1))}`;
  if (name[0] === "s") return `f′(z${INDEX[name[1]]})`;
  return name.replace(/\d/g, (digit) => INDEX[digit]);
}

/** How a derivative or a weight is written in the drawing. */
export const short = (value) => significant(value, 3);

/** Lay out a drawing of this width: across if there is room, else from top to bottom. */
export function layout(width, height, em) {
  const across = width > 36 * em, along = across ? width : Math.max(height, 47 * em), over = across ? height : width;
  const CELL = width > ROOMY * em || !across ? WIDE : SLIM;
  const deep = (n, narrow = 0) => (across ? CELL : HIGH) * n * em + narrow * (across ? NARROW : 2) * em;
  const columns = { x: deep(1), z: deep(2), u: deep(2, 1), L: deep(1) };
  const free = along - Object.values(columns).reduce((sum, value) => sum + value, 0) - 2 * em;
  const gaps = { x: 0, z: 0.38 * free, u: 0.54 * free, L: 0.08 * free }, first = {};
  let at = em;
  for (const name of Object.keys(columns)) { first[name] = at += gaps[name]; at += columns[name]; }
  const counts = { x: 2, z: 2, u: 3, L: 1 };
  const middle = (name, i) => ((i + 0.5) / counts[name]) * over;
  const thick = (across ? HIGH : CELL) * em;
  /** The box of a cell: the column of its box, its row, its place in the box, and whether it is the narrow one. */
  const box = (column, row, place, narrow = false) => {
    const start = first[column] + place * (across ? CELL : HIGH) * em;
    const long = narrow ? (across ? NARROW : 2) * em : (across ? CELL : HIGH) * em;
    const low = middle(column, row) - thick / 2;
    return across ? { x: start, y: low, width: long, height: thick } : { x: low, y: start, width: thick, height: long };
  };
  const ends = { w: ["x", "z"], v: ["z", "u"] };
  /** The line of a weight, and where its number stands. */
  const line = (kind, i, j) => {
    const [from, to] = ends[kind], a = [first[from] + columns[from], middle(from, i)], b = [first[to], middle(to, j)];
    const share = across ? Math.min(NEAR[kind][i], 1 - (AWAY * em) / (b[0] - a[0])) : CLOSE[kind][i];
    const at_ = a.map((value, axis) => value + share * (b[axis] - value));
    const turned = (point) => (across ? point : [point[1], point[0]]);
    return { from: turned(a), to: turned(b), at: turned(at_) };
  };
  return { across, width, height: across ? height : along, box, line, first };
}

// where a number leads: through a weight to what it is multiplied into, and on
const LEADS = {
  x: (i) => [1, 2].flatMap((j) => [`w${i}${j}`, `z${j}`]), w: (_, j) => [`z${j}`], z: (j) => [`h${j}`],
  h: (j) => [1, 2, 3].flatMap((k) => [`v${j}${k}`, `u${k}`]), v: (_, k) => [`u${k}`], u: (k) => [`p${k}`],
  p: () => ["L"], y: () => ["L"], L: () => [],
};

/** A number and all that it leads to, up to L: its paths. */
export function onPath(name, reached = new Set()) {
  reached.add(name);
  for (const next of LEADS[name[0]](...name.slice(1))) onPath(next, reached);
  return reached;
}

/** Draws the network. state: at (the step), now and back (pass and derivatives), next (the numbers after an update, by
    name), nextLoss, picked, tokens, title(name) in words, pick(name). */
export function drawGraph(svg, size, em, state, label) {
  svg.replaceChildren();
  sized(svg, size.width, size.height, label);
  svg.setAttribute("font-size", em);
  const path = state.picked ? onPath(state.picked) : new Set();
  for (const kind of ["w", "v"]) edges(svg, size, em, state, kind, path);
  for (const i of [0, 1]) cell(svg, size.box("x", i, 0), em, state, `x${i + 1}`, state.now.x[i], state.back.x[i], path);
  for (const j of [0, 1]) for (const [place, name] of ["z", "h"].entries())
    cell(svg, size.box("z", j, place), em, state, `${name}${j + 1}`, state.now[name][j], state.back[name][j], path);
  for (const k of [0, 1, 2]) {
    cell(svg, size.box("u", k, 0), em, state, `u${k + 1}`, state.now.u[k], state.back.u[k], path);
    cell(svg, size.box("u", k, 1), em, state, `p${k + 1}`, state.now.p[k], null, path);
    cell(svg, size.box("u", k, 2, true), em, state, `y${k + 1}`, state.now.y[k], null, path);
  }
  for (const k of [0, 1, 2]) {
    toLoss(svg, size, k, state, path);
    const { x, y } = size.box("u", k, 0), box = size.box("u", k, 2, true);
    const at = size.across ? [(x + box.x + box.width) / 2, y - 0.45 * em]
      : [box.x + box.width / 2, box.y + box.height + 1.1 * em];
    drawText(svg, ...at, state.tokens[k],
      { anchor: "middle", name: `halo ${state.now.y[k] ? "token true" : "token"}` });
  }
  cell(svg, size.box("L", 0, 0), em, state, "L", state.now.loss, null, path);
}

/** The line from a token's p and y to the loss. */
function toLoss(svg, { across, box }, k, state, path) {
  const from = box("u", k, 2, true), to = box("L", 0, 0);
  const [a, b] = across
    ? [[from.x + from.width, from.y + from.height / 2], [to.x, to.y + to.height / 2]]
    : [[from.x + from.width / 2, from.y + from.height], [to.x + to.width / 2, to.y]];
  drawLine(svg, ...a, ...b, { class: path.has(`p${k + 1}`) ? "edge on" : "edge", "stroke-width": 1.4,
    "stroke-dasharray": state.now.y[k] ? "none" : "2 4" });
}

function edges(svg, size, em, state, kind, path) {
  const rows = kind === "w" ? state.now.W : state.now.V, grads = kind === "w" ? state.back.W : state.back.V;
  rows.forEach((row, i) => row.forEach((value, j) => {
    const name = `${kind}${i + 1}${j + 1}`, { from, to } = size.line(kind, i, j);
    drawLine(svg, ...from, ...to, { class: path.has(name) ? "edge on" : "edge",
      "stroke-width": (1 + 1.4 * Math.min(3, Math.abs(value))).toFixed(2) });
  }));
  rows.forEach((row, i) => row.forEach((value, j) => {
    const name = `${kind}${i + 1}${j + 1}`, [x, y] = size.line(kind, i, j).at;
    const two = state.at >= SINCE[`d${kind}`], texts = [short(value), two ? under(state, name, grads[i][j]) : ""];
    const group = mark(svg, state, name);
    const width = (0.7 + 0.56 * Math.max(...texts.map((text) => text.length))) * em;
    draw("rect", { class: name === state.picked ? "ground picked" : "ground", x: x - width / 2,
      y: y - (two ? 1.25 : 0.75) * em, width, height: (two ? 2.5 : 1.5) * em, rx: 4 }, group);
    drawText(group, x, y + (two ? -0.2 : 0.35) * em, short(value), { anchor: "middle", name: "number" });
    if (two) below(group, x, y + 0.95 * em, state, name, grads[i][j]);
  }));
}

const isMoved = (state, name) => state.at >= UPDATE && state.next[name] !== undefined;

/** The text under a weight: its derivative, or its value after an update. */
const under = (state, name, slope) => (isMoved(state, name) ? `→ ${short(state.next[name])}` : short(slope));

function below(group, x, y, state, name, slope) {
  const moved = isMoved(state, name);
  const isNew = moved || state.at === SINCE[`d${name[0]}`];
  drawText(group, x, y, under(state, name, slope),
    { anchor: "middle", name: `${moved ? "next" : "slope"}${isNew ? " new" : ""}` });
}

function mark(svg, state, name) {
  const group = draw("g", { class: "mark", "data-name": name }, svg);
  draw("title", {}, group, state.title(name));
  group.onclick = () => state.pick(name);
  return group;
}

function cell(svg, { x, y, width, height }, em, state, name, value, slope, path) {
  const group = mark(svg, state, name), middle = x + width / 2, kind = name[0];
  const known = state.at >= SINCE[kind], isNew = state.at === SINCE[kind] && state.at > 0;
  const classes = ["box", kind === "y" ? "aim" : "", path.has(name) ? "on" : "", isNew ? "new" : "",
    name === state.picked ? "picked" : ""];
  draw("rect", { class: classes.join(" "), x: x + 1, y: y + 1, width: width - 2, height: height - 2, rx: 4 }, group);
  const short_ = height < 2.5 * em;
  if (short_) {
    drawText(group, middle, y + height / 2 + 0.35 * em, `${symbol(name)} = ${value}`, { anchor: "middle" });
    return;
  }
  drawText(group, middle, y + 1.05 * em, symbol(name), { anchor: "middle", name: "sans", size: 0.9 * em });
  drawText(group, middle, y + 2.2 * em, known ? (kind === "y" ? value : short(value)) : "·",
    { anchor: "middle", name: isNew ? "number new" : "number" });
  if (name === "L" && state.at >= UPDATE)
    drawText(group, middle, y + 3.4 * em, `→ ${short(state.nextLoss)}`, { anchor: "middle", name: "next new" });
  else if (slope !== null && state.at >= SINCE[`d${kind}`])
    drawText(group, middle, y + 3.4 * em, short(slope),
      { anchor: "middle", name: state.at === SINCE[`d${kind}`] ? "slope new" : "slope" });
}
