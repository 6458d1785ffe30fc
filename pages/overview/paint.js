// The still picture: strips of numbers (E, P, X, h and the feed-forward activations), the heads' patterns, and the
// residual stream as violet bands.
import { deepest, sharpen, stroke } from "../../core/components/lib/canvas.js";
import { cellsOf, paintCells, partsOf } from "../../core/components/lib/pattern.js";
import { middle } from "./layout.js";

const LEAST_CHANGE = 0.01;      // of an attention weight

/** Clear one of the map's canvases and make `map.context` draw on it in CSS pixels. */
export function begin(map, canvas) {
  map.context = sharpen(canvas, map.geometry.width, map.geometry.height, map.ratio);
}

// ---- strips of numbers ----

// All values of a strip's array, row by row; approximate in a long prompt, where each value is one byte. Computed once
// for a text.
function valuesOf(map, name) {
  return (map.images[name] ??= name === "X" && !map.X ? sumOf(map) : map.exact ? map[name]
    : decoded(map[name], map.scales[name]));
}

// scales: one for all bytes, or one for each of as many equal parts.
function decoded(bytes, scales) {
  const each = [scales].flat(), part = bytes.length / each.length;
  return new Float32Array(bytes).map((byte, k) => ((byte - 128) / 127) * each[Math.floor(k / part)]);
}

function sumOf(map) {
  const E = valuesOf(map, "E"), P = map.P && valuesOf(map, "P");
  return P ? E.map((value, k) => value + P[k]) : E;
}

export const valueAt = (map, { name, base, columns }, row, c) => valuesOf(map, name)[(base + row) * columns + c];

// The index of the value furthest from zero, from `from` to before `to`.
function furthest(values, from, to) {
  let best = from;
  for (let k = from + 1; k < to; k++) if (Math.abs(values[k]) > Math.abs(values[best])) best = k;
  return best;
}

/** Choose the column to draw of those that share a bin: the furthest from zero. */
export function strongestColumn(map, { name, base, columns }, row, bin, bins) {
  const start = (base + row) * columns, edges = partsOf(bins, columns);
  return furthest(valuesOf(map, name), start + edges[bin], start + edges[bin + 1]) - start;
}

// The function that colours the numbers of a strip. The scale of activations begins at zero, and each block has its
// own: in models of others a few neurons of one block are hundreds of times as large as all those of the rest.
function colouring(map, { name, base, columns }) {
  // E, P and their sum share a scale, unless a norm makes X of the sum
  const source = ["E", "P"].includes(name) && !map.X ? "X" : name, least = name === "mlp" ? 0 : -1;
  const of = () => valuesOf(map, source).subarray(base * columns, (base + map.n) * columns);
  const limit = (map.limits[`${source} ${base}`] ??= deepest(of())), table = map.theme.table(least ? "div" : "seq");
  return (value) => table[Math.round((255 * (Math.max(least, Math.min(1, value / limit)) - least)) / (1 - least))];
}

// Rows are between the edges, columns are binned to device pixels, and a line in the page's colour separates rows that
// are tall enough.
function paintStrip(map, place) {
  const { ratio, context, theme } = map, { x, w, edges, base, columns, name } = place, colourOf = colouring(map, place);
  const width = Math.round(w * ratio), bins = Math.min(columns, width), top = Math.round(edges[0] * ratio);
  const height = Math.max(1, Math.round(edges[map.n] * ratio) - top), page = theme.packed("page");
  const image = context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
  const values = valuesOf(map, name), colours = new Uint32Array(bins), binOf = partsOf(width, bins);
  const from = partsOf(bins, columns);
  for (let i = 0; i < map.n; i++) {
    const y0 = Math.round(edges[i] * ratio) - top;
    const y1 = Math.min(height, Math.max(y0 + 1, Math.round(edges[i + 1] * ratio) - top));
    if (y0 >= height) continue;
    const row = pixels.subarray(y0 * width, (y0 + 1) * width), gap = y1 - y0 >= 6 * ratio ? Math.round(ratio) : 0;
    for (let bin = 0, start = (base + i) * columns; bin < bins; bin++)
      colours[bin] = colourOf(values[furthest(values, start + from[bin], start + from[bin + 1])]);
    for (let p = 0; p < width; p++) row[p] = colours[binOf[p]];
    for (let y = y0 + 1; y < y1 - gap; y++) pixels.copyWithin(y * width, y0 * width, (y0 + 1) * width);
    pixels.fill(page, (y1 - gap) * width, y1 * width);
  }
  context.putImageData(image, Math.round(x * ratio), top);
}

// ---- patterns ----

// The weights with which token i reads in block l: one head's row, or the mean over the block's heads.
export function rowWeights(map, l, i, head) {
  const row = new Float64Array(map.n), cells = map.offset[map.n];
  const heads = head === null ? [...Array(map.heads).keys()] : [head];
  for (let j = map.first[i], cell = map.offset[i]; j <= map.last[i]; j++, cell++)
    if (map.exact)
      for (const h of heads) row[j] += (map.patterns[(l * map.heads + h) * cells + cell] || 0) / heads.length;
    else row[j] = (map.mean[l * cells + cell] / 255) ** 2;
  return row;
}

export function tileCorner({ x, y, size, columns }, head) {
  return [x + (head % columns) * (size + 3), y + Math.floor(head / columns) * (size + 3)];
}

// The tiles of a block in one image, on the block's ground.
function paintTiles(map, { l, tiles }) {
  const { context, ratio, cells, patterns, theme: { table, packed } } = map, size = Math.round(tiles.size * ratio);
  const corner = (head) => tileCorner(tiles, head).map((value) => Math.round(value * ratio));
  const [left, top] = corner(0), [right, bottom] = corner(tiles.rows * tiles.columns - 1);
  const image = context.createImageData(right + size - left, bottom + size - top);
  new Uint32Array(image.data.buffer).fill(packed("panel"));
  paintCells(image, Array.from({ length: map.heads }, (_, head) => {
    const [x, y] = corner(head);
    return [[x - left, y - top, size, size], cellsOf(cells, patterns, l * map.heads + head)];
  }), table("seq"), Math.round(4 * ratio));
  context.putImageData(image, left, top);
}

// ---- what differs, if something is switched off ----

/** Whether a weight of the head differs by enough to be seen. */
export const isChanged = ({ differs, heads }, l, head) => Boolean(differs) && differs[l * heads + head] > LEAST_CHANGE;

/** The frame of what differs. @param {number[]} box */
export function outlineChanged(context, ink, box) {
  const [x, y, w, h] = box;
  stroke(context, ink("drawn-ink"), 4);
  context.strokeRect(x, y, w, h);
  stroke(context, ink("drawn"), 2);
  context.strokeRect(x, y, w, h);
}

// ---- the residual stream ----

// The norm whose band is as thick as its row: the largest one. Position 0 may have a stream many times as long as all
// others; if it is more than twice theirs, it does not count.
function fullWidth({ stream, n }) {
  let first = 0, most = 0;
  stream.forEach((norm, k) => {
    if (k % n) most = Math.max(most, norm);
    else first = Math.max(first, norm);
  });
  return (n === 1 || first <= 2 * most ? Math.max(first, most) : most) || 1;
}

const pitchOf = (lanes, i) => lanes[i + 1] - lanes[i];

// Half the thickness of a band.
function halfOf(map, norm, pitch) {
  return Math.max(Math.min(0.35, pitch * 0.3), Math.min(1, norm / map.full) * pitch * 0.43);
}

// The band of row i along `points`, [x, norm of the stream there].
function fillBand(map, points, lanes, i) {
  const { context } = map, y = middle(lanes, i), pitch = pitchOf(lanes, i);
  context.beginPath();
  for (const [x, norm] of points) context.lineTo(x, y - halfOf(map, norm, pitch));
  for (const [x, norm] of [...points].reverse()) context.lineTo(x, y + halfOf(map, norm, pitch));
  context.fill();
}

/** The band of row i through all blocks: in each before attention writes, between its sublayers, and after. */
export function fillBands(map, i) {
  const { n, stream, geometry: { blocks, wide } } = map;
  for (const { l, x, w, inner, xa, xm, lanes } of blocks) {
    const ease = Math.min(9, inner * 0.08);
    const [before, between, after] = [stream[l * n + i], map.middle[l * n + i], stream[(l + 1) * n + i]];
    fillBand(map, [[x, before], [xa - ease, before], [xa + ease, between], [xm - ease, between], [xm + ease, after],
      [x + w, after]], lanes, i);
  }
  if (wide) fillFan(map, i);
}

// From X's tall rows into the lanes, and from the last block into h.
function fillFan(map, i) {
  const { context, geometry: g } = map, { lanes, x } = g.blocks[0], end = g.blocks[map.layers - 1];
  const half = halfOf(map, map.stream[i], pitchOf(lanes, i));
  const [a, b, y] = [g.fanFrom + 3, g.fanTo, middle(lanes, i)], bend = (a + b) / 2;
  const [y0, y1] = [g.rows[i] + 0.5, g.rows[i + 1] - 1];
  context.beginPath();
  context.moveTo(a, y0);
  context.bezierCurveTo(bend, y0, bend, y - half, b, y - half);
  context.lineTo(x, y - half);
  context.lineTo(x, y + half);
  context.lineTo(b, y + half);
  context.bezierCurveTo(bend, y + half, bend, y1, a, y1);
  context.fill();
  const after = map.stream[map.layers * map.n + i];
  fillBand(map, [[end.x + end.w - 1, after], [g.h.x - 1, after]], lanes, i);
}

export function paintBase(map) {
  const { blocks, strips } = map.geometry;
  map.full = fullWidth(map);
  begin(map, map.base);
  const { context, ink } = map;
  context.fillStyle = ink("panel");
  for (const block of blocks) {
    context.beginPath();
    context.roundRect(block.x, block.top, block.inner, block.bottom - block.top, 6);
    context.fill();
  }
  context.fillStyle = ink("residual");
  for (let i = 0; i < map.n; i++) {
    context.globalAlpha = pitchOf(blocks[0].lanes, i) < 2 ? 0.2 : 0.34;
    fillBands(map, i);
  }
  context.globalAlpha = 1;
  for (const place of strips) paintStrip(map, place);
  for (const block of blocks) paintTiles(map, block);
}
