// Over the picture: the picked token's row lit through every part, what it reads in each block, the stage being played,
// and the value under the pointer.
import { middle, rowAt } from "./layout.js";
import { fillBands, rowWeights, strongestColumn, tileCorner, valueOf } from "./paint.js";
import { fill, named } from "./words.js";
import { exact } from "../../core/components/lib/numbers.js";

const LEAST_FLOW = 0.03;    // of attention: thinner flows are not drawn

export function paintMarks(map) {
  const g = map.geometry, context = map.over.getContext("2d"), { ink } = map;
  context.setTransform(map.ratio, 0, 0, map.ratio, 0, 0);
  context.clearRect(0, 0, g.width, g.height);
  context.globalAlpha = 1;
  context.fillStyle = ink.of("residual");
  fillBands(map, context, map.position);
  context.globalAlpha = 1;
  for (const block of g.blocks) markBlock(map, context, ink, block);
  if (g.wide) paintLast(map, context, ink);
  for (const place of [...g.images, g.h]) outlineRow(map, context, ink, place);
  if (map.pointer) paintPointer(map, context, ink);
  if (map.stage !== null) paintStage(map, context, ink);
}

// The picked row of h opens into the logits: it alone is compared with every row of E.
function paintLast(map, context, ink) {
  const { h, out } = map.geometry, from = h.x + h.w + 2, to = out.x - 3, bend = (from + to) / 2;
  const [y0, y1] = [h.edges[map.position], Math.max(h.edges[map.position] + 2, h.edges[map.position + 1])];
  const top = map.sky.offsetTop, bottom = top + map.sky.offsetHeight;
  context.globalAlpha = 0.34;
  context.fillStyle = ink.of("residual");
  context.beginPath();
  context.moveTo(from, y0);
  context.bezierCurveTo(bend, y0, bend, top, to, top);
  context.lineTo(to, bottom);
  context.bezierCurveTo(bend, bottom, bend, y1, from, y1);
  context.fill();
  context.globalAlpha = 1;
}

function outlineRow(map, context, ink, { x, w, edges }) {
  const y = edges[map.position], height = Math.max(2, edges[map.position + 1] - y);
  context.strokeStyle = ink.of("query");
  context.lineWidth = 2;
  context.strokeRect(x - 1.5, y - 1, w + 3, height + 1);
}

function markBlock(map, context, ink, block) {
  if (block.thin) return;
  const part = map.stage === null ? 1 : stageShare(map, "attention", block.l);
  if (part > 0) paintFlows(map, context, ink, block, part);
  const y = middle(block.lanes, map.position);
  write(context, ink.of("attention-ink"), [5, 3], block.xa, block.tiles.bottom + 2, y);
  if (map.d_ff) write(context, ink.of("mlp-ink"), [1.5, 3], block.xm, block.mlp.edges[0] - 2, y);
  for (let head = 0; head < map.heads; head++) markTile(map, context, ink, block, head);
  if (map.d_ff) outlineRow(map, context, ink, block.mlp);
}

// The picked query's row of one head's tile, between two thin blue lines and with a notch at its left.
function markTile(map, context, ink, block, head) {
  const [x, y] = tileCorner(block.tiles, head), size = block.tiles.size, unit = size / map.n;
  const row = y + map.position * unit;
  context.strokeStyle = ink.of("grid-ink");
  context.lineWidth = 0.5;
  context.strokeRect(x - 0.5, y - 0.5, size + 1, size + 1);
  context.strokeStyle = ink.of("query");
  context.lineWidth = 1;
  if (unit >= 3) context.strokeRect(x - 0.5, row - 0.5, size + 1, unit + 0.5);
  context.fillStyle = ink.of("query");
  context.fillRect(x - 2.5, Math.min(row, y + size - 3), 2.5, Math.max(3, unit));
  if (map.pointer?.kind === "tile" && map.pointer.l === block.l && map.pointer.head === head) {
    context.lineWidth = 2;
    context.strokeStyle = ink.of("attention-ink");
    context.strokeRect(x - 1.5, y - 1.5, size + 3, size + 3);
  }
}

// What a sublayer adds comes down (attention) or up (feed-forward) into the picked token's band.
function write(context, ink, dash, x, from, to) {
  const tip = Math.sign(to - from);
  context.strokeStyle = context.fillStyle = ink;
  context.lineWidth = 2;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x, from);
  context.lineTo(x, to - 5 * tip);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(x, to);
  context.lineTo(x - 4.5, to - 7 * tip);
  context.lineTo(x + 4.5, to - 7 * tip);
  context.fill();
}

// Attention as flows from the rows of the keys into the picked row: width is the weight, the mean over the heads or the
// one under the pointer.
function paintFlows(map, context, ink, block, part) {
  const head = map.pointer?.kind === "tile" && map.pointer.l === block.l ? map.pointer.head : null;
  const weights = rowWeights(map, block.l, map.position, head), { lanes } = block, to = middle(lanes, map.position);
  const start = block.x + block.inner * 0.08, end = block.xa, widest = Math.max(4, Math.min(16, block.inner * 0.14));
  context.strokeStyle = ink.of("attention-ink");
  context.lineCap = "butt";
  for (let j = 0; j < map.n; j++) {
    if (j === map.position || weights[j] < LEAST_FLOW) continue;
    const from = middle(lanes, j), bend = (start + end) / 2;
    context.globalAlpha = 0.4 + 0.6 * Math.min(1, weights[j] * 2);
    context.lineWidth = Math.max(1, weights[j] * widest);
    context.setLineDash(part < 1 ? [part * 300, 600] : []);
    context.beginPath();
    context.moveTo(start, from);
    context.bezierCurveTo(bend + 8, from, bend - 4, to, end, to);
    context.stroke();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

// ---- playing ----

// How much of a stage is done while the pass plays: 0 before, 1 after.
function stageShare(map, name, l) {
  const at = map.stages.findIndex((stage) => stage.name === name && (stage.l === undefined || stage.l === l));
  return map.stage > at ? 1 : map.stage < at ? 0 : map.moved;
}

// What has not been computed yet is veiled; along the lanes of the stage being computed a light runs from
// left to right.
function paintStage(map, context, ink) {
  context.fillStyle = ink.of("page");
  context.globalAlpha = 0.88;
  for (const { stage, x, y, w, h } of map.regions) if (stage > map.stage) context.fillRect(x, y, w, h);
  context.globalAlpha = 1;
  const stage = map.stages[map.stage], block = map.geometry.blocks[stage.l];
  if (!block) return;
  context.strokeStyle = ink.of(stage.name === "attention" ? "attention-ink" : "mlp-ink");
  context.lineWidth = 2.5;
  context.beginPath();
  const [y, bottom] = stage.name === "attention" ? [block.top, block.writeTop] : [block.writeBottom, block.bottom];
  context.roundRect(block.x, y, block.inner, bottom - y, 6);
  context.stroke();
  if (map.moved < 1) paintLight(map, context, ink, block, stage.name);
}

function paintLight(map, context, ink, block, name) {
  const cut = (block.xa + block.xm) / 2, [from, to] = name === "attention" ? [block.x, cut] : [cut, block.x + block.w];
  const x = from + (to - from) * map.moved, reach = 26;
  for (let i = 0; i < map.n; i++) {
    const y = middle(block.lanes, i), half = Math.max(1, (block.lanes[i + 1] - block.lanes[i]) * 0.3);
    const light = context.createLinearGradient(x - reach, 0, x, 0);
    light.addColorStop(0, `${ink.of("drawn")}00`);
    light.addColorStop(1, ink.of("drawn"));
    context.fillStyle = light;
    context.fillRect(Math.max(from, x - reach), y - half, Math.min(reach, x - from), 2 * half);
  }
}

// ---- the value under the pointer ----

function inside(x, y, left, top, w, h) {
  return x >= left && x < left + w && y >= top && y < top + h;
}

// What lies at a place of the stage: an image's cell, a tile's cell, a band, or nothing.
export function findAt(map, x, y) {
  const g = map.geometry;
  for (const place of [...g.images, g.h])
    if (x >= place.x && x < place.x + place.w && rowAt(place.edges, y) >= 0)
      return { kind: "vector", name: place.name, place, row: rowAt(place.edges, y), x };
  for (const block of g.blocks) {
    if (map.d_ff && x >= block.mlp.x && x < block.mlp.x + block.mlp.w && rowAt(block.mlp.edges, y) >= 0)
      return { kind: "neurons", l: block.l, place: block.mlp, row: rowAt(block.mlp.edges, y), x };
    if (inside(x, y, block.x, block.lanes[0], block.w, block.lanes[map.n] - block.lanes[0]))
      return { kind: "lane", l: block.l, row: rowAt(block.lanes, y), after: (x > block.xa) + (x > block.xm) };
    for (let head = 0; head < map.heads; head++) {
      const [left, top] = tileCorner(block.tiles, head), size = block.tiles.size;
      if (inside(x, y, left, top, size, size))
        return { kind: "tile", l: block.l, head, row: Math.floor(((y - top) / size) * map.n),
          column: Math.floor(((x - left) / size) * map.n) };
    }
  }
  return null;
}

function paintPointer(map, context, ink) {
  const at = map.pointer;
  if (at.kind !== "tile") return;
  const block = map.geometry.blocks[at.l], [x, y] = tileCorner(block.tiles, at.head), unit = block.tiles.size / map.n;
  context.lineWidth = 1;
  context.strokeStyle = ink.of("query-ink");
  context.strokeRect(x, y + at.row * unit, block.tiles.size, Math.max(unit, 1.5));
  context.strokeStyle = ink.of("key-ink");
  context.strokeRect(x + at.column * unit, y, Math.max(unit, 1.5), block.tiles.size);
}

// The reading as [what, value]: the words come from Python, the numbers from the bytes.
// The places that the arrow keys go to, left to right as the numbers do: of a vector the largest entry, of a head the
// key with the largest weight.
export function keyPlaces(map) {
  const g = map.geometry, places = [];
  const largest = (place, name, base, columns) => (row) => [place.x
      + ((strongestColumn(map, name, base + row, 0, 1, columns) + 0.5) * place.w) / columns, middle(place.edges, row)];
  for (const image of g.images) places.push(largest(image, image.name, 0, map.d));
  for (const block of g.blocks) {
    for (let head = 0; head < map.heads; head++) {
      places.push((row) => {
        const weights = rowWeights(map, block.l, row, head), [left, top] = tileCorner(block.tiles, head);
        const size = block.tiles.size;
        return [left + ((weights.indexOf(Math.max(...weights)) + 0.5) * size) / map.n,
          top + ((row + 0.5) * size) / map.n];
      });
    }
    for (const x of [(block.x + block.xa) / 2, (block.xa + block.xm) / 2, (block.xm + block.x + block.w) / 2])
      places.push((row) => [x, middle(block.lanes, row)]);
    if (map.d_ff) places.push(largest(block.mlp, "mlp", block.l * map.n, map.columns));
  }
  return [...places, largest(g.h, "h", 0, map.d)];
}

export function readingOf(map, at) {
  const { text } = map, about = map.exact ? "" : "≈ ", token = named(map, at.row);
  if (at.kind === "vector") {
    const bins = Math.min(map.d, Math.round(at.place.w * map.ratio));
    const bin = Math.floor(((at.x - at.place.x) / at.place.w) * bins);
    const c = strongestColumn(map, at.name, at.row, bin, bins, map.d);
    return [fill(text.tip_vector, { name: text[`name_${at.name}`], token, position: at.row, dimension: c }),
      about + exact(valueOf(map, at.name, at.row, c, map.d))];
  }
  if (at.kind === "neurons") {
    const columns = map.columns, bins = Math.min(columns, Math.round(at.place.w * map.ratio));
    const base = at.l * map.n + at.row;
    const c = strongestColumn(map, "mlp", base, Math.floor(((at.x - at.place.x) / at.place.w) * bins), bins, columns);
    const group = Math.ceil(map.d_ff / columns);
    return [fill(text.tip_neurons,
      { block: at.l, token, from: c * group, to: Math.min(map.d_ff, (c + 1) * group) - 1 }),
      about + exact(valueOf(map, "mlp", base, c, columns))];
  }
  if (at.kind === "lane") {
    const norm = [map.stream[at.l * map.n + at.row], map.middle[at.l * map.n + at.row],
      map.stream[(at.l + 1) * map.n + at.row]][at.after];
    return [fill(text[`tip_lane_${at.after}`], { block: at.l, token }),
      norm > map.full ? fill(text.clipped, { norm: exact(norm) }) : exact(norm)];
  }
  return [fill(text.tip_tile, { block: at.l, head: at.head, query: token, key: named(map, at.column) }),
    readWeight(map, at)];
}

function readWeight(map, { l, head, row, column }) {
  if (column < map.first[row] || column > map.last[row]) return map.text.masked;
  if (map.exact) {
    const value = map.patterns[(l * map.heads + head) * map.offset[map.n] + map.offset[row] + column - map.first[row]];
    return Number.isNaN(value) ? map.text.masked : exact(value);
  }
  const cell = Math.floor(row / map.step) * map.side + Math.floor(column / map.step);
  return fill(map.text.tip_summary,
    { side: map.step, value: exact((map.tiles[(l * map.heads + head) * map.side ** 2 + cell] / 255) ** 2) });
}
