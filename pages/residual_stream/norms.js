import { clipped, draw, fontOf, hoverCell, pick, show } from "../../core/components/residual_grid/grid.js";
import { significant } from "../../core/components/lib/numbers.js";
import { readTheme } from "../../core/components/lib/theme.js";


// Beside the grid, the lines of one token: its stream, what attention and what the feed-forward part add, with every
// other token faint behind. Both follow one hover: a cell of the grid shows its token's lines, the nearest line of the
// chart shows its cell.
const KINDS = {
  residual: { dash: [], mark: "circle" }, attention: { dash: [8, 5], mark: "square" },
  mlp: { dash: [2, 4], mark: "triangle" },
};

function frameOf(state) {
  const { data, profile } = state, type = data.type;
  const width = profile.clientWidth, height = profile.clientHeight, context = profile.getContext("2d");
  context.font = fontOf(state, 13, "font", "600");
  // of the names at the lines' ends
  const longest = Math.max(...data.kinds.map((kind) => context.measureText(data.names[kind]).width));
  return { width, height, left: 46 * type, right: width - longest - 16, top: 30 * type, bottom: height - 40 * type };
}

function scales(state) {
  const { data } = state, at = frameOf(state);
  const x = (depth) => at.left + ((at.right - at.left) * depth) / (data.depths.length - 1);
  const [low, high] = data.lengths, log = data.log_lengths;
  const y = (value) => {
    const share = log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : value / high;
    return at.bottom - (at.bottom - at.top) * share;
  };
  return { at, x, y };
}

function lengthOf(state, kind, depth, token) {
  const { data } = state;
  const row = kind === "residual" ? depth : depth - 1;      // what block l adds leads to depth l + 1
  return row < 0 ? NaN : data[kind][row * data.columns + token];
}

function drawProfile(state) {
  const { data, profile, theme } = state;
  if (!profile.clientWidth) return;
  const ratio = window.devicePixelRatio || 1, { at, x, y } = scales(state);
  const width = Math.round(at.width * ratio), height = Math.round(at.height * ratio);
  if (profile.width !== width || profile.height !== height) { profile.width = width; profile.height = height; }
  const context = profile.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, at.width, at.height);
  drawAxes(state, context);
  const shown = (state.hover || state.picked || { column: 0 }).column;
  context.strokeStyle = readTheme().ink(`${data.faint}-ink`); context.lineWidth = 1;
  context.globalAlpha = data.columns > 60 ? 0.16 : 0.28;
  for (let token = 0; token < data.columns; token++)
    if (token !== shown) trace(state, context, data.faint, token, x, y);
  context.globalAlpha = 1;
  for (const kind of data.kinds) drawLine(state, context, kind, shown, x, y);
  drawEndLabels(state, context, shown, x, y);
  context.font = fontOf(state, 13, "mono", "bold"); context.fillStyle = theme.text; context.textAlign = "left";
  context.textBaseline = "top";
  context.fillText(clipped(context, `i = ${shown}  ${data.column_labels[shown]}`, at.right - at.left), at.left, 2);
}

function ticks(state) {
  const [low, high] = state.data.lengths;
  if (state.data.log_lengths) {
    const powers = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const factor of Math.log10(high / low) > 3 ? [1] : [1, 2, 5]) powers.push(factor * 10 ** power);
    return powers.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  }
  const rough = high / 5, base = 10 ** Math.floor(Math.log10(rough));
  const step = base * [1, 2, 5, 10].find((factor) => factor * base >= rough);
  return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, i) => i * step);
}

function drawAxes(state, context) {
  const { data, theme } = state, { at, x, y } = scales(state);
  context.font = fontOf(state, 12); context.textBaseline = "middle"; context.lineWidth = 1;
  for (const value of ticks(state)) {
    context.strokeStyle = theme.grid; context.beginPath(); context.moveTo(at.left, y(value));
    context.lineTo(at.right, y(value)); context.stroke();
    context.fillStyle = theme.muted; context.textAlign = "right";
    context.fillText(String(Number(value.toPrecision(3))), at.left - 8, y(value));
  }
  const depth = (state.hover || state.picked || { row: -1 }).row + (data.rows === data.depths.length ? 0 : 1);
  context.textAlign = "center";
  const every = Math.ceil((26 * data.type * data.depths.length) / (at.right - at.left));
  data.depths.forEach((name, i) => {
    context.font = fontOf(state, 12, "font", i === depth ? "bold" : "");
    context.fillStyle = i === depth ? theme.text : theme.muted;
    if (i === depth || (i % every === 0 && (depth < 0 || Math.abs(i - depth) >= every)))
      context.fillText(name, x(i), at.bottom + 14 * data.type);
  });
  context.font = fontOf(state, 12); context.fillStyle = theme.muted;
  context.fillText(data.depth_title, (at.left + at.right) / 2, at.bottom + 31 * data.type);
  context.save(); context.translate(10 * data.type, (at.top + at.bottom) / 2); context.rotate(-Math.PI / 2);
  context.fillText(data.length_title, 0, 0); context.restore();
  if (depth >= 0) {
    context.strokeStyle = theme.edge; context.setLineDash([3, 3]); context.beginPath();
    context.moveTo(x(depth), at.top); context.lineTo(x(depth), at.bottom); context.stroke();
    context.setLineDash([]);
  }
}

function trace(state, context, kind, token, x, y) {
  context.beginPath();
  for (let depth = kind === "residual" ? 0 : 1; depth < state.data.depths.length; depth++)
    context.lineTo(x(depth), y(lengthOf(state, kind, depth, token)));
  context.stroke();
}

function drawLine(state, context, kind, token, x, y) {
  const { type } = state.data;
  context.strokeStyle = context.fillStyle = readTheme().ink(`${kind}-ink`);
  context.lineWidth = (kind === "residual" ? 3.5 : 2.8) * type;
  context.setLineDash(KINDS[kind].dash.map((length) => length * type)); trace(state, context, kind, token, x, y);
  context.setLineDash([]);
  for (let depth = kind === "residual" ? 0 : 1; depth < state.data.depths.length; depth++)
    mark(context, KINDS[kind].mark, x(depth), y(lengthOf(state, kind, depth, token)), 4.2 * type);
}

function mark(context, shape, x, y, size) {
  context.beginPath();
  if (shape === "circle") context.arc(x, y, size, 0, 2 * Math.PI);
  else if (shape === "square") context.rect(x - size * 0.9, y - size * 0.9, 1.8 * size, 1.8 * size);
  else {
    context.moveTo(x, y - 1.2 * size);
    context.lineTo(x + 1.15 * size, y + 0.9 * size);
    context.lineTo(x - 1.15 * size, y + 0.9 * size);
    context.closePath();
  }
  context.fill();
}

// The name and, for the depth under the hand, the value of each line, at its end and clear of each other.
function drawEndLabels(state, context, token, x, y) {
  const { data } = state, last = data.depths.length - 1, { at } = scales(state), step = 32 * data.type;
  const cell = state.hover || state.picked;
  const depth = cell ? cell.row + (data.rows === data.depths.length ? 0 : 1) : last;
  const labels = data.kinds.map((kind) => ({ kind, y: y(lengthOf(state, kind, last, token)) }))
    .sort((a, b) => a.y - b.y);
  labels.forEach((label, i) => { if (i) label.y = Math.max(label.y, labels[i - 1].y + step); });
  const over = labels[labels.length - 1].y - (at.bottom - 8);
  if (over > 0)
    for (let i = labels.length - 1, bottom = at.bottom - 8; i >= 0; i--, bottom -= step)
      labels[i].y = Math.min(labels[i].y, bottom);
  context.textAlign = "left"; context.textBaseline = "middle";
  for (const label of labels) {
    context.fillStyle = readTheme().ink(`${label.kind}-ink`);
    context.font = fontOf(state, 13, "font", "600");
    context.fillText(data.names[label.kind], at.right + 12, label.y - 7 * data.type);
    context.font = fontOf(state, 13);
    context.fillText(significant(lengthOf(state, label.kind, depth, token)), at.right + 12, label.y + 8 * data.type);
  }
}

// The token and depth whose faint line is nearest to the pointer.
function nearest(state, event) {
  const { data, profile } = state, bounds = profile.getBoundingClientRect(), { at, y } = scales(state);
  const px = event.clientX - bounds.left, py = event.clientY - bounds.top, steps = data.depths.length - 1;
  const from = data.faint === "residual" ? 0 : 1;
  const depth = Math.min(steps, Math.max(from, Math.round(((px - at.left) / (at.right - at.left)) * steps)));
  if (px < at.left - 20 || px > at.right + 20 || py < at.top - 10 || py > at.bottom + 10) return null;
  let best = 0;
  for (let token = 1; token < data.columns; token++)
    if (Math.abs(y(lengthOf(state, data.faint, depth, token)) - py)
        < Math.abs(y(lengthOf(state, data.faint, depth, best)) - py))
      best = token;
  const row = depth - (data.rows === data.depths.length ? 0 : 1);
  return { row: Math.max(0, row), column: best };
}

export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".residual-norms"), profile = root.querySelector(".profile");
  const more = { profile, also: drawProfile }, state = show(root, data, setTriggerValue, more);
  profile.setAttribute("role", "img");
  profile.setAttribute("aria-label", `${state.data.length_title}, ${state.data.depth_title}`);
  profile.dataset.ranges = "";            // the keys of the grid move its lines too
  profile.onmousemove = (event) => {
    const cell = nearest(state, event);
    if (cell) revealColumn(state, cell);
    hoverCell(state, cell);
  };
  profile.onmouseleave = () => { state.hover = null; state.tip.hidden = true; draw(state); };
  profile.onclick = (event) => { const cell = nearest(state, event); if (cell) pick(state, cell, 0); };
}

function revealColumn(state, cell) {
  const at = cell.column * state.column, view = state.width - state.left - state.right;
  if (at < state.scroller.scrollLeft || at + state.column > state.scroller.scrollLeft + view)
    state.scroller.scrollLeft = at - view / 2;
}
