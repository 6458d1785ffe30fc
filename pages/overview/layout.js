// The layout of the map. Wide: one row per token, the whole pass from left to right. Narrow: the same parts below each
// other.

import { fill } from "../../core/components/lib/dom.js";
import { percent, significant } from "../../core/components/lib/numbers.js";

const NARROW = 700, GAP = 8, LEAST_BLOCK = 45;
// of more blocks than ALL_OPEN, if they do not all fit, only those around the picked one are open
const ALL_OPEN = 8, OPEN_BLOCK = 78, THIN_BLOCK = 13;

const clamp = (low, value, high) => Math.max(low, Math.min(high, value));

// The edges of n rows between top and top + height. If rows of the least height do not all fit, those around `focus`
// are open and the others share the rest.
export function rowEdges(n, top, height, focus, least, most, opened = least) {
  const edges = new Float64Array(n + 1), fits = n * least <= height;
  const open = fits ? n : Math.max(1, Math.floor((0.62 * height) / opened));
  const from = fits ? 0 : clamp(0, focus - Math.floor(open / 2), n - open);
  const pitch = fits ? Math.min(most, height / n) : opened, thin = fits ? 0 : (height - open * opened) / (n - open);
  edges[0] = top + (fits ? (height - n * pitch) / 2 : 0);
  for (let i = 0; i < n; i++) edges[i + 1] = edges[i] + (i >= from && i < from + open ? pitch : thin);
  return edges;
}

// The widths of the blocks in the room they share, and which of them are open.
function blockWidths(layers, room, focus) {
  if (layers <= ALL_OPEN || room >= layers * LEAST_BLOCK)
    return { widths: Array(layers).fill(Math.max(LEAST_BLOCK, room / layers)), from: 0, to: layers };
  const open = clamp(1, Math.floor((room - layers * THIN_BLOCK) / (OPEN_BLOCK - THIN_BLOCK)), layers);
  const from = clamp(0, focus - (open >> 1), layers - open), to = from + open;
  const thin = Math.max(THIN_BLOCK, (room - open * OPEN_BLOCK) / Math.max(1, layers - open));
  return { widths: Array.from({ length: layers }, (_, l) => (l >= from && l < to ? OPEN_BLOCK : thin)), from, to };
}

export const middle = (edges, i) => (edges[i] + edges[i + 1]) / 2;

/** The row whose edges enclose y; −1 for none. */
export const rowAt = (edges, y) => (y < edges[0] ? -1 : edges.subarray(1).findIndex((end) => y < end));

/**
 * The places of all parts, in CSS pixels. A strip, of E, P, X, h or the feed-forward activations, is {name, x, w,
 * edges, base, columns}: row i of the picture is row base + i of its array.
 */
export function layOut(map, width, height) {
  const geometry = width < NARROW ? layOutNarrow(map, width) : layOutWide(map, width, height);
  const { images, h, blocks } = geometry;
  return { ...geometry, strips: [...images, h, ...(map.d_ff ? blocks.map((block) => block.mlp) : [])] };
}

const vectors = (map, name, x, w, edges) => ({ name, x, w, edges, base: 0, columns: map.d });

function activations({ n, columns, position }, l, x, w, top, height, most) {
  return { name: "mlp", l, x, w, base: l * n, columns, edges: rowEdges(n, top, height, position, 2, most) };
}

// E, P and X, or X alone if nothing is added, with room for a sign between them; each is as wide as wide(their number).
function imagesFrom(map, left, sign, rows, wide) {
  const names = map.P ? ["E", "P", "X"] : ["X"], w = wide(names.length);
  return names.map((name, i) => vectors(map, name, left + i * (w + sign), w, rows));
}

// The tiles of a block's heads: as many columns as make them largest in the box.
export function tileGrid(heads, x, y, w, h) {
  let best = { size: 0 };
  for (let columns = 1; columns <= heads; columns++) {
    const rows = Math.ceil(heads / columns);
    const size = Math.floor(Math.min((w - (columns - 1) * 3) / columns, (h - (rows - 1) * 3) / rows));
    if (size > best.size) best = { size, columns, rows };
  }
  const used = best.columns * (best.size + 3) - 3, tall = best.rows * (best.size + 3) - 3;
  return { ...best, tall, x: Math.round(x + (w - used) / 2), y: Math.round(y + (h - tall) / 2),
    bottom: Math.round(y + (h + tall) / 2) };
}

function layOutWide(map, room, height) {
  const { scale, layers, n, position } = map, em = 13 * scale, line = 1.35 * em, top = 3.1 * em;
  const body = height - top - 2, rows = rowEdges(n, top + 2, body - 4, position, 1.1 * em, 2.9 * em, 1.9 * em);
  const chipWidth = clamp(6.4 * em, room * 0.085, 9.2 * em);
  const imageWidth = clamp(46, room * 0.041, 76) * Math.sqrt(scale);
  const images = imagesFrom(map, chipWidth + 6, 12 * scale, rows, () => imageWidth);
  const fan = Math.max(30, room * 0.028), fanFrom = images.at(-1).x + imageWidth, fanTo = fanFrom + fan;
  const gutter = 1.35 * em, left = fanTo + gutter;
  const outWidth = clamp(14.5 * em, room * 0.2, 23 * em), hWidth = Math.max(20, imageWidth * 0.5);
  const right = 6 + hWidth + fan * 0.8 + outWidth;
  const { widths, from, to } = blockWidths(layers, room - left - right, map.focus);
  const starts = widths.reduce((all, w) => [...all, all.at(-1) + w], [left]);
  const grid = tileGrid(map.heads, 0, 0, Math.max(...widths) - GAP - 10, body * 0.4);
  const rest = body - 3 * line - grid.tall - 8, lanesTop = top + line + grid.tall + 5;
  const parts = { tiles: top + line, lanes: lanesTop, mlp: lanesTop + 2 * line + rest * 0.62 };
  const lanes = rowEdges(n, parts.lanes + line, parts.mlp - parts.lanes - 2 * line, position, 4 * scale, 2 * em,
    7 * scale);
  const blocks = widths.map((w, l) => wideBlock(map, l, starts[l], w, parts, lanes, height - 4, l < from || l >= to));
  const h = vectors(map, "h", starts[layers] + 6, hWidth, lanes);
  return { wide: true, width: Math.max(room, starts[layers] + right), height, top, em, line, parts, rows, images,
    sign: 12 * scale, fan, gutter, blocks, h, chips: { x: 0, w: chipWidth },
    out: { x: h.x + h.w + fan * 0.8, y: 0, w: outWidth }, fanFrom, fanTo };
}

function wideBlock(map, l, x, w, parts, lanes, bottom, thin) {
  const inner = w - (thin ? 2 : GAP), pad = thin ? 1 : 5, line = 1.35 * 13 * map.scale;
  return { l, x, w, inner, thin, top: parts.tiles - line, bottom, lanes, xa: x + inner * 0.6, xm: x + inner * 0.87,
    tiles: tileGrid(map.heads, x + pad, parts.tiles + 1, inner - 2 * pad, parts.lanes - parts.tiles - 3),
    writeTop: parts.lanes, writeBottom: parts.mlp - line,
    mlp: activations(map, l, x + pad, inner - 2 * pad, parts.mlp + 1, bottom - parts.mlp - 6, 26) };
}

function layOutNarrow(map, width) {
  const { scale, layers, n, position, heads } = map, em = 13 * scale, line = 1.35 * em, sign = 12;
  const chipWidth = Math.min(8 * em, width * 0.28), top = 3.1 * em, tall = Math.min(n * 1.9 * em, 420);
  const rows = rowEdges(n, top + 2, tall, position, 1.2 * em, 2.1 * em, 1.9 * em);
  const images = imagesFrom(map, chipWidth + 8, sign, rows,
    (count) => (width - chipWidth - 11 - (count - 1) * sign) / count);
  const small = layers > ALL_OPEN ? 0.45 : 1;                // many blocks below each other are flatter
  const lanesTall = small * clamp(40, n * 13, 150), mlpTall = small * clamp(16, n * 5, 60);
  const perRow = Math.min(heads, Math.ceil(heads / Math.ceil((heads * (small < 1 ? 20 : 30)) / (width - 10))));
  const tileTall = Math.ceil(heads / perRow) * ((width - 10) / perRow);
  const blockTall = tileTall + lanesTall + mlpTall + 3 * line + 16, first = top + tall + line * 2.4;
  const blocks = Array.from({ length: layers }, (_, l) => {
    const y = first + l * (blockTall + GAP), writeTop = y + line + tileTall + 4;
    const mlpTop = writeTop + 2 * line + lanesTall;
    return { l, x: 0, w: width, inner: width, top: y, bottom: y + blockTall, xa: width * 0.6, xm: width * 0.87,
      writeTop, writeBottom: mlpTop - line, tiles: tileGrid(heads, 5, y + line, width - 10, tileTall),
      lanes: rowEdges(n, writeTop + line, lanesTall, position, 6, 2 * em),
      mlp: activations(map, l, 5, width - 10, mlpTop + 1, mlpTall, 16) };
  });
  const hTop = first + layers * (blockTall + GAP) + line * 2.4, hTall = clamp(16, n * 6, 80);
  return { wide: false, width, height: hTop + hTall + 6, top, em, line, rows, images,
    sign, blocks, chips: { x: 0, w: chipWidth }, firstBlock: first,
    h: vectors(map, "h", 0, width, rowEdges(n, hTop, hTall, position, 2, 16)) };
}

/** The stages of the pass in their order. */
export function stagesOf(map) {
  const parts = ["attention", ...(map.d_ff ? ["feed_forward"] : [])];
  const inBlocks = Array.from({ length: map.layers }, (_, l) => parts.map((name) => ({ name, l }))).flat();
  const named = (...names) => names.map((name) => ({ name }));
  return [...named("tokens", "embed", "position"), ...inBlocks,
    ...named("norm", ...(map.silence ? [] : ["logits", "softmax", "draw"]))];
}

/** The rectangles of the canvas that each stage lights. */
export function regionsOf(map) {
  const g = map.geometry, regions = [], box = (stage, x, y, w, h) => regions.push({ stage, x, y, w, h });
  const tall = (edges) => [edges[0] - 3, edges.at(-1) - edges[0] + 6], [top, height] = tall(g.rows);
  for (const image of g.images) box(image.name === "E" ? 1 : 2, image.x - 3, top, image.w + 6, height);
  if (g.wide) box(3, g.fanFrom + 3, g.top - 4, g.blocks[0].x - g.fanFrom - 3, g.height - g.top + 4);
  const perBlock = map.d_ff ? 2 : 1;
  for (const b of g.blocks) {
    const stage = 3 + b.l * perBlock, [y, h] = tall(b.lanes), cut = (b.xa + b.xm) / 2;
    box(stage, b.x - 1, b.top, b.inner + 2, b.writeTop - b.top + g.line - 2);
    box(stage, b.x - 1, b.writeTop + g.line - 2, cut - b.x + 1, b.writeBottom - b.writeTop - g.line + 4);
    if (!map.d_ff) continue;
    box(stage + 1, cut, y, b.x + b.w - cut, h);
    box(stage + 1, b.x - 1, b.writeBottom, b.inner + 2, b.bottom - b.writeBottom + 2);
  }
  const last = 3 + map.layers * perBlock, [y, h] = tall(g.h.edges), end = g.blocks.at(-1), right = g.h.x + g.h.w + 4;
  const from = g.wide ? end.x + end.inner + 1 : g.h.x;
  box(last, from, y, right - from, h);
  if (g.wide && !map.silence) box(last + 1, right, 0, g.out.x - right, g.height);
  return regions;
}

/** The length of a row before block l, and by how much it differs if something is switched off. */
export function lengthSaid({ stream, shifted, n }, l, i, changed = "{length} {share}") {
  const length = significant(stream[l * n + i]), share = shifted?.[l * n + i];
  return share ? fill(changed, { length, share: `Δ ${percent(share, 0)}` }) : length;
}
