// The still picture: images of E, P, X, h and the feed-forward activations, the heads' patterns, and the residual
// stream as violet bands.
import { middle } from "./layout.js";
import { readTheme } from "../../core/components/lib/theme.js";

export function inks() {
  const { ink, packed, table } = readTheme();
  return { of: ink, signed: table("div"), amount: table("seq"), page: packed("page"), grid: packed("grid") };
}

// A packed image row after row; about right in a long prompt, where a byte stands for a value. Made once for a text: it
// is read for every pixel.
function imageOf(map, name) {
  return (map.images[name] ??= name === "X" && !map.X ? sumOf(map) : map.exact ? map[name]
    : valuesOf(map[name], map.scales[name]));
}

function sumOf(map) {
  const E = imageOf(map, "E"), P = map.P && imageOf(map, "P");
  if (!P) return E;
  const sum = new Float32Array(E.length);
  for (let at = 0; at < sum.length; at++) sum[at] = E[at] + P[at];
  return sum;
}

function valuesOf(bytes, scale) {
  const values = new Float32Array(bytes.length);
  for (let at = 0; at < values.length; at++) values[at] = ((bytes[at] - 128) / 127) * scale;
  return values;
}

export const valueOf = (map, name, i, c, columns) => imageOf(map, name)[i * columns + c];

// Which of the columns that share a pixel is drawn: the one furthest from zero.
export function strongestColumn(map, name, i, bin, bins, columns) {
  let best = Math.floor((bin * columns) / bins);
  const end = Math.max(best + 1, Math.floor(((bin + 1) * columns) / bins)), image = imageOf(map, name);
  const row = i * columns;
  let most = Math.abs(image[row + best]);
  for (let c = best + 1; c < end; c++) {
    const size = Math.abs(image[row + c]);
    if (size > most) { best = c; most = size; }
  }
  return best;
}

// Where the colours end: 99 of 100 values lie within, the rest take the last colour.
function limitOf(map, name, rows, columns) {
  const image = imageOf(map, name), step = Math.max(1, Math.floor((rows * columns) / 4000));
  const sizes = new Float32Array(Math.ceil((rows * columns) / step));
  for (let k = 0; k < sizes.length; k++) sizes[k] = Math.abs(image[k * step]);
  sizes.sort();
  return sizes[Math.floor(sizes.length * 0.99)] || sizes[sizes.length - 1] || 1;
}

// One image into the canvas: rows between the edges, columns binned to device pixels, a page-coloured line between rows
// that are tall enough.
function paintImage(context, ratio, { x, w, edges }, columns, pick, colourOf, page) {
  const bins = Math.min(columns, Math.round(w * ratio)), width = Math.round(w * ratio);
  const top = Math.round(edges[0] * ratio);
  const height = Math.max(1, Math.round(edges[edges.length - 1] * ratio) - top), n = edges.length - 1;
  const image = context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < n; i++) {
    const y0 = Math.round(edges[i] * ratio) - top;
    const y1 = Math.min(height, Math.max(y0 + 1, Math.round(edges[i + 1] * ratio) - top));
    if (y0 >= height) continue;
    const row = pixels.subarray(y0 * width, (y0 + 1) * width), gap = y1 - y0 >= 6 * ratio ? Math.round(ratio) : 0;
    for (let p = 0; p < width; p++) row[p] = colourOf(pick(i, Math.floor((p * bins) / width), bins));
    for (let y = y0 + 1; y < y1 - gap; y++) pixels.copyWithin(y * width, y0 * width, (y0 + 1) * width);
    for (let y = y1 - gap; y < y1; y++) pixels.fill(page, y * width, (y + 1) * width);
  }
  context.putImageData(image, Math.round(x * ratio), top);
}

function paintVectors(map, context, ink, place) {
  const { d } = map, name = place.name;
  // E, P and their sum on one scale; not where a norm makes X of the sum
  const own = name === "h" || map.X ? name : "X";
  const limit = (map.limits[own] ??= limitOf(map, own, map.n, d));
  const pick = (i, bin, bins) => valueOf(map, name, i, strongestColumn(map, name, i, bin, bins, d), d);
  paintImage(context, map.ratio, place, d, pick,
    (v) => ink.signed[Math.round(127.5 + 127.5 * Math.max(-1, Math.min(1, v / limit)))], ink.page);
}

function paintActivations(map, context, ink, block) {
  const columns = map.columns, base = block.l * map.n;
  const limit = (map.limits.mlp ??= limitOf(map, "mlp", map.layers * map.n, columns));
  const pick = (i, bin, bins) =>
    valueOf(map, "mlp", base + i, strongestColumn(map, "mlp", base + i, bin, bins, columns), columns);
  paintImage(context, map.ratio, block.mlp, columns, pick,
    (v) => ink.amount[Math.round(255 * Math.max(0, Math.min(1, v / limit)))], ink.page);
}

// ---- patterns ----

// that a tile's bytes stand for
const WEIGHTS = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255) ** 2);

// One head's weights, side × side, −1 where the mask leaves nothing.
function weightsOf(map, l, head) {
  const at = l * map.heads + head, side = map.exact ? map.n : map.side, grid = new Float32Array(side * side).fill(-1);
  if (!map.exact) {
    for (let k = 0; k < side * side; k++) if (map.seen[k]) grid[k] = WEIGHTS[map.tiles[at * side * side + k]];
    return { grid, side };
  }
  for (let i = 0; i < side; i++)
    for (let j = map.first[i], k = at * map.offset[side] + map.offset[i]; j <= map.last[i]; j++, k++)
      grid[i * side + j] = Number.isNaN(map.patterns[k]) ? -1 : map.patterns[k];
  return { grid, side };
}

// What token i reads in block l: one head's row of weights, or the mean over the block's heads.
export function rowWeights(map, l, i, head) {
  const row = new Float64Array(map.n), cells = map.offset[map.n];
  const heads = head === null ? [...Array(map.heads).keys()] : [head];
  for (let j = map.first[i]; j <= map.last[i]; j++) {
    const cell = map.offset[i] + j - map.first[i];
    if (map.exact)
      for (const a of heads) row[j] += (map.patterns[(l * map.heads + a) * cells + cell] || 0) / heads.length;
    else row[j] = (map.mean[l * cells + cell] / 255) ** 2;
  }
  return row;
}

function shrink(grid, side, size) {
  if (side <= size) return { grid, side };
  const out = new Float32Array(size * size).fill(-1);
  for (let i = 0; i < side; i++)
    for (let j = 0; j < side; j++) {
      const at = Math.floor((i * size) / side) * size + Math.floor((j * size) / side);
      out[at] = Math.max(out[at], grid[i * side + j]);
    }
  return { grid: out, side: size };
}

export function tileCorner({ x, y, size, columns }, head) {
  return [x + (head % columns) * (size + 3), y + Math.floor(head / columns) * (size + 3)];
}

function paintTiles(map, context, ink, block) {
  const ratio = map.ratio, size = Math.round(block.tiles.size * ratio), period = Math.round(4 * ratio);
  for (let head = 0; head < map.heads; head++) {
    const whole = weightsOf(map, block.l, head), { grid, side } = shrink(whole.grid, whole.side, size);
    const image = context.createImageData(size, size), pixels = new Uint32Array(image.data.buffer);
    for (let y = 0; y < size; y++)
      for (let x = 0; x < size; x++) {
        const value = grid[Math.floor((y * side) / size) * side + Math.floor((x * side) / size)];
        pixels[y * size + x] = value >= 0 ? ink.amount[Math.round(255 * Math.sqrt(Math.min(1, value)))]
          : (x + y) % period === 0 ? ink.grid : ink.page;
      }
    const [x, y] = tileCorner(block.tiles, head);
    context.putImageData(image, Math.round(x * ratio), Math.round(y * ratio));
  }
}

// ---- the residual stream ----

// The norm whose band is as thick as its row. Position 0 may have a stream many times as long as all others: it does
// not count beyond twice theirs.
function fullWidth(map) {
  let first = 0, most = 0;
  for (let l = 0; l <= map.layers; l++) {
    first = Math.max(first, map.stream[l * map.n]);
    for (let i = 1; i < map.n; i++) most = Math.max(most, map.stream[l * map.n + i]);
  }
  return (map.n === 1 || first <= 2 * most ? Math.max(first, most) : most) || 1;
}

const share = (map, norm) => Math.min(1, norm / map.full);

// The band of row i through a block as points (x, share): before attention writes, between, after.
function bandOf(map, block, i) {
  const { n } = map, l = block.l, ease = Math.min(9, block.inner * 0.08), end = block.x + block.w;
  const [before, between, after] = [map.stream[l * n + i], map.middle[l * n + i], map.stream[(l + 1) * n + i]]
    .map((norm) => share(map, norm));
  return [[block.x, before], [block.xa - ease, before], [block.xa + ease, between], [block.xm - ease, between],
    [block.xm + ease, after], [end, after]];
}

function fillBand(context, points, y, pitch) {
  const half = (s) => Math.max(Math.min(0.35, pitch * 0.3), s * pitch * 0.43);
  context.beginPath();
  points.forEach(([x, s], k) => (k ? context.lineTo(x, y - half(s)) : context.moveTo(x, y - half(s))));
  for (let k = points.length - 1; k >= 0; k--) context.lineTo(points[k][0], y + half(points[k][1]));
  context.fill();
}

export function fillBands(map, context, i) {
  const g = map.geometry;
  for (const block of g.blocks)
    fillBand(context, bandOf(map, block, i), middle(block.lanes, i), block.lanes[i + 1] - block.lanes[i]);
  if (g.wide) fillFan(map, context, i);
}

// From X's tall rows into the lanes, and from the last block into h.
function fillFan(map, context, i) {
  const g = map.geometry, lanes = g.blocks[0].lanes, pitch = lanes[i + 1] - lanes[i];
  const half = Math.max(Math.min(0.35, pitch * 0.3), share(map, map.stream[i]) * pitch * 0.43);
  const [a, b, y] = [g.fanFrom + 3, g.fanTo, middle(lanes, i)], bend = (a + b) / 2;
  const [y0, y1] = [g.rows[i] + 0.5, g.rows[i + 1] - 1];
  context.beginPath();
  context.moveTo(a, y0);
  context.bezierCurveTo(bend, y0, bend, y - half, b, y - half);
  context.lineTo(g.blocks[0].x, y - half);
  context.lineTo(g.blocks[0].x, y + half);
  context.lineTo(b, y + half);
  context.bezierCurveTo(bend, y + half, bend, y1, a, y1);
  context.fill();
  const after = share(map, map.stream[map.layers * map.n + i]), end = g.blocks[map.layers - 1];
  fillBand(context, [[end.x + end.w - 1, after], [g.h.x - 1, after]], y, pitch);
}

function paintStream(map, context, ink) {
  context.fillStyle = ink.of("residual");
  for (let i = 0; i < map.n; i++) {
    context.globalAlpha = map.geometry.blocks[0].lanes[i + 1] - map.geometry.blocks[0].lanes[i] < 2 ? 0.2 : 0.34;
    fillBands(map, context, i);
  }
  context.globalAlpha = 1;
}

function paintFrames(map, context, ink) {
  for (const block of map.geometry.blocks) {
    context.fillStyle = ink.of("panel");
    context.beginPath();
    context.roundRect(block.x, block.top, block.inner, block.bottom - block.top, 6);
    context.fill();
  }
}

export function paintBase(map) {
  const g = map.geometry, context = map.base.getContext("2d"), { ink } = map;
  context.setTransform(map.ratio, 0, 0, map.ratio, 0, 0);
  context.clearRect(0, 0, g.width, g.height);
  map.limits = {};
  map.full = fullWidth(map);
  paintFrames(map, context, ink);
  paintStream(map, context, ink);
  for (const place of [...g.images, g.h]) paintVectors(map, context, ink, place);
  for (const block of g.blocks) {
    paintTiles(map, context, ink, block);
    if (map.d_ff) paintActivations(map, context, ink, block);
  }
}
