// Over the picture: the picked token's row lit through every part, what it reads in each block, the stage being played,
// and the value under the pointer.
import { line, stroke } from "../../core/components/lib/canvas.js";
import { fill } from "../../core/components/lib/dom.js";
import { exact } from "../../core/components/lib/numbers.js";
import { valueIn } from "../../core/components/lib/pattern.js";
import { isolated } from "../../core/components/lib/text.js";
import { middle, rowAt } from "./layout.js";
import { begin, fillBands, isChanged, outlineChanged, rowWeights, strongestColumn, tileCorner, valueAt }
  from "./paint.js";

const LEAST_FLOW = 0.03;    // of attention: thinner flows are not drawn

export function paintMarks(map) {
  const { images, h, blocks, wide } = map.geometry;
  begin(map, map.over);
  map.context.fillStyle = map.ink("residual");
  fillBands(map, map.position);
  for (const block of blocks) if (!block.thin) markBlock(map, block);
  if (wide && !map.silence) paintLast(map);
  for (const place of [...images, h]) outlineRow(map, place);
  if (map.pointer?.kind === "tile") paintPointer(map, map.pointer);
  else if (map.into?.depth === "block") paintEntrance(map, blocks[map.into.at[0]]);
  if (map.stage !== null) paintStage(map);
}

// The picked row of h opens into the logits: only this row is compared with every row of E.
function paintLast({ context, ink, sky, position, geometry: { h, out } }) {
  const from = h.x + h.w + 2, to = out.x - 3, bend = (from + to) / 2;
  const [y0, y1] = [h.edges[position], Math.max(h.edges[position] + 2, h.edges[position + 1])];
  const top = sky.offsetTop, bottom = top + sky.offsetHeight;
  context.globalAlpha = 0.34;
  context.fillStyle = ink("residual");
  context.beginPath();
  context.moveTo(from, y0);
  context.bezierCurveTo(bend, y0, bend, top, to, top);
  context.lineTo(to, bottom);
  context.bezierCurveTo(bend, bottom, bend, y1, from, y1);
  context.fill();
  context.globalAlpha = 1;
}

function outlineRow({ context, ink, position }, { x, w, edges }) {
  const y = edges[position], height = Math.max(2, edges[position + 1] - y);
  stroke(context, ink("query"), 2);
  context.strokeRect(x - 1.5, y - 1, w + 3, height + 1);
}

function markBlock(map, block) {
  const share = map.stage === null ? 1 : attentionShare(map, block.l), y = middle(block.lanes, map.position);
  if (share > 0) paintFlows(map, block, share);
  paintWriting(map, "attention-ink", [5, 3], block.xa, block.tiles.bottom + 2, y);
  for (let head = 0; head < map.heads; head++) markTile(map, block, head);
  if (!map.d_ff) return;
  paintWriting(map, "mlp-ink", [1.5, 3], block.xm, block.mlp.edges[0] - 2, y);
  outlineRow(map, block.mlp);
}

const isPointed = ({ pointer }, block) => pointer?.kind === "tile" && pointer.l === block.l;

// The picked query's row of one head's tile, between two thin blue lines and with a notch at its left.
function markTile(map, block, head) {
  const { context, ink } = map, { size } = block.tiles, unit = size / map.n, [x, y] = tileCorner(block.tiles, head);
  const row = y + map.position * unit;
  stroke(context, ink("grid-ink"), 0.5);
  context.strokeRect(x - 0.5, y - 0.5, size + 1, size + 1);
  stroke(context, ink("query"));
  if (unit >= 3) context.strokeRect(x - 0.5, row - 0.5, size + 1, unit + 0.5);
  context.fillStyle = ink("query");
  context.fillRect(x - 2.5, Math.min(row, y + size - 3), 2.5, Math.max(3, unit));
  if (isChanged(map, block.l, head)) outlineChanged(context, ink, [x, y, size, size]);
  if (!isPointed(map, block) || map.pointer.head !== head) return;
  stroke(context, ink("attention-ink"), 2);
  context.strokeRect(x - 1.5, y - 1.5, size + 3, size + 3);
}

// Draw a sublayer's output, coming down (attention) or up (feed-forward) into the picked token's band.
function paintWriting({ context, ink }, meaning, dash, x, from, to) {
  const tip = Math.sign(to - from);
  context.fillStyle = ink(meaning);
  stroke(context, ink(meaning), 2, dash);
  line(context, x, from, x, to - 5 * tip);
  context.beginPath();
  for (const [dx, dy] of [[0, 0], [-4.5, 7], [4.5, 7]]) context.lineTo(x + dx, to - dy * tip);
  context.fill();
}

// Attention as flows from the rows of the keys into the picked row: width is the weight, the mean over the heads or the
// one under the pointer.
function paintFlows(map, block, share) {
  const { context, position } = map, { lanes, xa: end } = block, to = middle(lanes, position);
  const weights = rowWeights(map, block.l, position, isPointed(map, block) ? map.pointer.head : null);
  const start = block.x + block.inner * 0.08, bend = (start + end) / 2;
  const widest = Math.max(4, Math.min(16, block.inner * 0.14));
  weights.forEach((weight, j) => {
    if (j === position || weight < LEAST_FLOW) return;
    const from = middle(lanes, j);
    context.globalAlpha = 0.4 + 0.6 * Math.min(1, weight * 2);
    stroke(context, map.ink("attention-ink"), Math.max(1, weight * widest), share < 1 ? [share * 300, 600] : []);
    context.beginPath();
    context.moveTo(start, from);
    context.bezierCurveTo(bend + 8, from, bend - 4, to, end, to);
    context.stroke();
  });
  context.globalAlpha = 1;
}

// ---- playing ----

// How much of a block's attention is done while the pass plays: 0 before, 1 after.
function attentionShare(map, l) {
  const index = map.stages.findIndex((stage) => stage.name === "attention" && stage.l === l);
  return map.stage > index ? 1 : map.stage < index ? 0 : map.moved;
}

// Parts that are not computed yet are veiled; along the lanes of the stage being computed a light runs from left to
// right.
function paintStage(map) {
  const { context, ink } = map, { name, l } = map.stages[map.stage], block = map.geometry.blocks[l];
  context.fillStyle = ink("page");
  context.globalAlpha = 0.88;
  for (const { stage, x, y, w, h } of map.regions) if (stage > map.stage) context.fillRect(x, y, w, h);
  context.globalAlpha = 1;
  if (!block) return;
  const attends = name === "attention", cut = (block.xa + block.xm) / 2;
  const [y, bottom] = attends ? [block.top, block.writeTop] : [block.writeBottom, block.bottom];
  stroke(context, ink(attends ? "attention-ink" : "mlp-ink"), 2.5);
  context.beginPath();
  context.roundRect(block.x, y, block.inner, bottom - y, 6);
  context.stroke();
  if (map.moved < 1) paintLight(map, block.lanes, ...(attends ? [block.x, cut] : [cut, block.x + block.w]));
}

function paintLight({ context, ink, n, moved }, lanes, from, to) {
  const x = from + (to - from) * moved, reach = 26, light = context.createLinearGradient(x - reach, 0, x, 0);
  light.addColorStop(0, `${ink("drawn")}00`);
  light.addColorStop(1, ink("drawn"));
  context.fillStyle = light;
  for (let i = 0; i < n; i++) {
    const half = Math.max(1, (lanes[i + 1] - lanes[i]) * 0.3);
    context.fillRect(Math.max(from, x - reach), middle(lanes, i) - half, Math.min(reach, x - from), 2 * half);
  }
}

// ---- the value under the pointer ----

const within = (value, from, size) => value >= from && value < from + size;

/** The part at a point of the stage: a number of a strip, a tile's cell, a band, or null. */
export function findAt(map, x, y) {
  for (const place of map.geometry.strips) {
    const row = within(x, place.x, place.w) ? rowAt(place.edges, y) : -1;
    if (row >= 0) return { kind: "strip", place, l: place.l, row, x };
  }
  for (const { l, x: left, w, xa, xm, lanes, tiles } of map.geometry.blocks) {
    const lane = within(x, left, w) ? rowAt(lanes, y) : -1;
    if (lane >= 0) return { kind: "lane", l, row: lane, after: Number(x > xa) + Number(x > xm) };
    for (let head = 0; head < map.heads; head++) {
      const [dx, dy] = tileCorner(tiles, head).map((corner, axis) => [x, y][axis] - corner), { size } = tiles;
      if (within(dx, 0, size) && within(dy, 0, size))
        return { kind: "tile", l, head, row: Math.floor((dy / size) * map.n), column: Math.floor((dx / size) * map.n) };
    }
  }
  return null;
}

function paintPointer({ context, ink, n, geometry }, { l, head, row, column }) {
  const { tiles } = geometry.blocks[l], { size } = tiles, [x, y] = tileCorner(tiles, head), unit = size / n;
  stroke(context, ink("query-ink"));
  context.strokeRect(x, y + row * unit, size, Math.max(unit, 1.5));
  stroke(context, ink("key-ink"));
  context.strokeRect(x + column * unit, y, Math.max(unit, 1.5), size);
}

// The block that a press enters.
function paintEntrance({ context, ink }, { x, top, inner, bottom }) {
  stroke(context, ink("accent-ink"), 2);
  context.beginPath();
  context.roundRect(x, top, inner, bottom - top, 6);
  context.stroke();
}

/** The points that the arrow keys go to, from left to right: in a strip the largest entry, in a head the key with the
    largest weight. */
export function keyPlaces(map) {
  const { images, blocks, h } = map.geometry;
  const largest = (place) => (row) =>
    [place.x + ((strongestColumn(map, place, row, 0, 1) + 0.5) * place.w) / place.columns, middle(place.edges, row)];
  const heaviest = ({ l, tiles }) => (_, head) => (row) => {
    const weights = rowWeights(map, l, row, head), [left, top] = tileCorner(tiles, head), unit = tiles.size / map.n;
    return [left + (weights.indexOf(Math.max(...weights)) + 0.5) * unit, top + (row + 0.5) * unit];
  };
  const inBlock = (block) => [...Array.from({ length: map.heads }, heaviest(block)),
    ...[block.x + block.xa, block.xa + block.xm, block.xm + block.x + block.w]
      .map((sum) => (row) => [sum / 2, middle(block.lanes, row)]), ...(map.d_ff ? [largest(block.mlp)] : [])];
  return [...images.map(largest), ...blocks.flatMap(inBlock), largest(h)];
}

/** The reading as [name, value]: the words come from Python, the numbers from the bytes. */
export function readingOf(map, hit) {
  const { text, n } = map, { l, row } = hit, token = isolated(map.tokens[row]);
  if (hit.kind === "strip") return stripReading(map, hit, token);
  if (hit.kind === "lane") {
    const norm = [map.stream[l * n + row], map.middle[l * n + row], map.stream[(l + 1) * n + row]][hit.after];
    return [fill(text[`tip_lane_${hit.after}`], { block: l, token }),
      norm > map.full ? fill(text.clipped, { norm: exact(norm) }) : exact(norm)];
  }
  return [fill(text.tip_tile, { block: l, head: hit.head, query: token, key: isolated(map.tokens[hit.column]) }),
    weightReading(map, hit)];
}

function stripReading(map, { place, l, row, x }, token) {
  const { text, d_ff } = map, { name, columns, w } = place, bins = Math.min(columns, Math.round(w * map.ratio));
  const c = strongestColumn(map, place, row, Math.floor(((x - place.x) / w) * bins), bins);
  const experts = name === "mlp" && map.experts[l], all = experts || d_ff;
  const group = Math.ceil(all / columns), value = exact(valueAt(map, place, row, c));
  const values = { name: text[`name_${name}`], token, position: row, dimension: c, block: l, from: c * group,
    to: Math.min(all, (c + 1) * group) - 1 };
  const tip = name === "mlp" ? (experts ? "tip_experts" : "tip_neurons") : "tip_vector";
  return [fill(text[tip], values), map.exact ? value : `≈ ${value}`];
}

function weightReading(map, { l, head, row, column }) {
  if (column < map.first[row] || column > map.last[row]) return map.text.masked;
  const cells = map.cells, values = map.patterns.subarray((l * map.heads + head) * cells.offset.at(-1));
  const value = valueIn(cells, values, Math.floor(row / map.step), Math.floor(column / map.step));
  if (!map.exact) return fill(map.text.tip_summary, { side: map.step, value: exact((value / 255) ** 2) });
  return Number.isNaN(value) ? map.text.masked : exact(value);
}
