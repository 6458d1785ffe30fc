// A block, and all of its heads: the patterns of attention above the stream of each token, the neurons below it.
import { deepest, line, matrixPicture, stroke } from "../../core/components/lib/canvas.js";
import { fill } from "../../core/components/lib/dom.js";
import { probability, significant } from "../../core/components/lib/numbers.js";
import { cellsOf } from "../../core/components/lib/pattern.js";
import { lengthSaid, rowEdges, tileGrid } from "./layout.js";
import { readingOf } from "./marks.js";
import { area, image, scene, token, words } from "./dive_pieces.js";
import { placeOf } from "./dive_path.js";
import { isChanged, outlineChanged, rowWeights } from "./paint.js";

const LEAST_FLOW = 0.03, MOST_NAMED = 3;

/** A head's pattern with a pixel a cell; masked cells are empty. */
export function patternPicture(dive, l, head) {
  const { map } = dive;
  return dive.kept(`pattern ${l}.${head}`, () => {
    const { levels, rows, columns } = cellsOf(map.cells, map.patterns, l * map.heads + head);
    return matrixPicture(rows, columns, (r, c) => (levels[r * columns + c] < 0 ? NaN : levels[r * columns + c]),
      dive.table("seq"), 0, 255);
  });
}

/** The key that a query looks at most in a head, and with which weight. */
export function mostSeen(map, l, head, query) {
  const weights = rowWeights(map, l, query, head), weight = Math.max(...weights);
  return { key: weights.indexOf(weight), weight };
}

function headTile(dive, l, head, box) {
  const { map } = dive, part = image(dive, `tile ${l}.${head}`, box, patternPicture(dive, l, head));
  const read = (x, y) => map.exact ? readingOf(map, { kind: "tile", l, head, row: Math.floor(y * map.n),
    column: Math.floor(x * map.n) }) : [fill(map.text.dive_head, { block: l, head }), ""];
  return { ...part, into: placeOf("head", l, head), read, paint: (context, area) => {
    part.paint(context, area);
    if (isChanged(map, l, head)) outlineChanged(context, dive.ink, area);
    if ([`heads.${l}`, `head.${l}.${head}`].includes(map.edit)) strike(context, dive.ink("drawn-ink"), area);
  } };
}

/** Cross a part out that is switched off. @param {number[]} box */
function strike(context, colour, box) {
  const [x, y, w, h] = box;
  stroke(context, colour, 3);
  line(context, x, y, x + w, y + h);
  line(context, x, y + h, x + w, y);
}

const headChild = ({ map }, l, head, box) => {
  const { key, weight } = mostSeen(map, l, head, map.position);
  const name = fill(map.text.dive_head_child, { block: l, head, token: map.tokens[map.position], key: map.tokens[key],
    weight: probability(weight) });
  return { name, box, place: placeOf("head", l, head) };
};

const boxesOf = ({ x, y, size, columns }, heads, apart = 3, below = 0) => Array.from({ length: heads }, (_, head) =>
  [x + (head % columns) * (size + apart), y + Math.floor(head / columns) * (size + apart + below), size, size]);

/** The block. */
export function blockScene(dive, place) {
  const { map, em, width, height } = dive, [l] = place.at, { text } = map, isWide = width > 700;
  const left = (isWide ? 9.5 : 6.5) * em, right = 5 * em, inner = width - left - right, line1 = 1.7 * em;
  const free = height - 3 * line1, most = free * (map.d_ff ? 0.42 : 0.5);
  const grid = /** @type {any} */ (tileGrid(map.heads, left, line1, inner, most)), tilesTall = grid.tall;
  const boxes = boxesOf({ ...grid, x: left, y: line1 }, map.heads), mlpTall = map.d_ff ? (free - tilesTall) * 0.3 : 0;
  const lanesTop = 2 * line1 + tilesTall, lanesTall = free - tilesTall - mlpTall;
  const lanes = [left, lanesTop, inner, lanesTall];
  const parts = [
    area(`tiles ${l}`, [left - 4, line1 - 4, inner + 8, tilesTall + 8], { into: placeOf("heads", l) }),
    { ...words(dive, "name attention", fill(text.dive_attention, { heads: map.heads }), left, line1 / 2,
      { meaning: "attention-ink", bold: true, room: inner + right }), into: placeOf("heads", l) },
    ...boxes.map((box, head) => headTile(dive, l, head, box)),
    words(dive, "name stream", text.dive_stream, left, lanesTop - line1 / 2, { meaning: "residual-ink", bold: true,
      room: inner * 0.52 }),
    bands(dive, l, lanes), ...laneTokens(dive, l, lanes), ...amounts(dive, l, lanes),
    ...(map.d_ff ? neurons(dive, l, [left, height - mlpTall, inner, mlpTall - 2], line1) : []),
  ];
  const children = [{ name: fill(text.dive_heads_child, { heads: map.heads }), place: placeOf("heads", l),
    box: [left - 4, line1 - 4, inner + 8, tilesTall + 8] },
  ...boxes.map((box, head) => headChild(dive, l, head, box)),
  ...(map.neurons[l] ? [{ name: fill(text.dive_neurons_child, { d_ff: map.d_ff, token: map.tokens[map.position] }),
    place: placeOf("neurons", l, map.position), box: [left, height - mlpTall, inner, mlpTall - 2] }] : [])];
  const values = { block: l, token: { chip: map.tokens[map.position], name: "chip query" },
    attention: significant(map.attention[l * map.n + map.position]),
    mlp: map.d_ff ? significant(map.feed_forward[l * map.n + map.position]) : "" };
  const title = map.d_ff ? text.dive_title_block : text.dive_title_block_attention;
  return scene(place, `block ${l}`, [0, 0, width, height], parts, { children, title, values });
}

/** The edges of the rows of tokens in a box. @param {number[]} box */
const edgesIn = (map, box) => rowEdges(map.n, box[1], box[3], map.position, 4, box[3] / map.n, 18);

// The tokens that are named where there is no room for all: the picked one, those that it looks at most, others.
function namedTokens(map, weights, heightOf, apart) {
  const byWeight = [...Array(map.n).keys()].sort((a, b) => weights[b] - weights[a]), named = [];
  for (const i of [map.position, ...byWeight])
    if (named.every((other) => Math.abs(heightOf(i) - heightOf(other)) >= apart)) named.push(i);
  return named;
}

/** @param {number[]} lanes */
function laneTokens(dive, l, lanes) {
  const { map, em } = dive, edges = edgesIn(map, lanes), middle = (i) => (edges[i] + edges[i + 1]) / 2;
  return namedTokens(map, rowWeights(map, l, map.position, null), middle, 1.15 * em)
    .map((i) => ({ ...token(dive, `token ${i}`, map.tokens[i], lanes[0] - 8, middle(i),
      { align: "right", room: lanes[0] - 12, meaning: i === map.position ? "query" : "",
        size: i === map.position ? 1 : 0.9 }),
    read: () => [fill(map.text.chip_hint, { id: map.ids[i], position: i }), ""] }));
}

// The row of every token as a band as thick as it is long, before attention, between, and after; what the picked one
// reads flows into it.
/** @param {number[]} lanes */
function bands(dive, l, lanes) {
  const { map, ink } = dive, { n, position } = map;
  const read = (x, y) => {
    const edges = edgesIn(map, [0, 0, 1, lanes[3]]), row = edges.subarray(1).findIndex((end) => y * lanes[3] < end);
    return row < 0 ? null : readingOf(map, { kind: "lane", l, row, after: Number(x > 0.55) + Number(x > 0.9) });
  };
  const into = (_, y) => {
    const row = edgesIn(map, [0, 0, 1, lanes[3]]).subarray(1).findIndex((end) => y * lanes[3] < end);
    return row < 0 ? null : placeOf("stream", row);
  };
  return { id: `lanes ${l}`, box: lanes, read, into, paint(context, [x, y, w, h]) {
    const edges = edgesIn(map, [x, y, w, h]);
    const at = (share) => x + share * w, ease = 0.03;
    for (let i = 0; i < n; i++) {
      const pitch = edges[i + 1] - edges[i], mid = (edges[i] + edges[i + 1]) / 2;
      const half = (norm) => Math.max(0.4, Math.min(1, norm / map.full) * pitch * 0.43);
      const [a, b, c] = [map.stream[l * n + i], map.middle[l * n + i], map.stream[(l + 1) * n + i]].map(half);
      const points = [[0, a], [0.55 - ease, a], [0.55 + ease, b], [0.9 - ease, b], [0.9 + ease, c], [1, c]];
      context.beginPath();
      for (const [s, thick] of points) context.lineTo(at(s), mid - thick);
      for (const [s, thick] of points.reverse()) context.lineTo(at(s), mid + thick);
      context.fillStyle = ink("residual");
      context.save();
      context.globalAlpha *= i === position ? 1 : 0.34;
      context.fill();
      context.restore();
    }
    flows(dive, l, context, edges, at);
  } };
}

function flows({ map, ink, em }, l, context, edges, at) {
  const { position } = map, weights = rowWeights(map, l, position, null), mid = (i) => (edges[i] + edges[i + 1]) / 2;
  const named = [...weights.keys()].filter((j) => j !== position && weights[j] >= LEAST_FLOW)
    .sort((a, b) => weights[b] - weights[a]);
  for (const j of named) {
    stroke(context, ink("attention-ink"), Math.max(1, weights[j] * 22));
    context.beginPath();
    context.moveTo(at(0.08), mid(j));
    context.bezierCurveTo(at(0.36), mid(j), at(0.3), mid(position), at(0.55), mid(position));
    context.stroke();
  }
  context.font = `600 ${0.85 * em}px ${ink("font")}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const j of named.slice(0, MOST_NAMED)) {
    context.lineWidth = 4;
    context.strokeStyle = ink("page");
    context.strokeText(probability(weights[j]), at(0.02), mid(j));
    context.fillStyle = ink("attention-ink");
    context.fillText(probability(weights[j]), at(0.02), mid(j));
  }
}

// What both sublayers add to the picked row, on arrows into it, and its length at the end.
/** @param {number[]} lanes */
function amounts(dive, l, lanes) {
  const [x, y, w, h] = lanes, { map, em } = dive, edges = edgesIn(map, lanes), k = l * map.n + map.position;
  const mid = (edges[map.position] + edges[map.position + 1]) / 2;
  const arrow = (id, share, from, meaning, dash, amount) => {
    const tip = Math.sign(mid - from), box = [x + share * w - 4, Math.min(from, mid), 8, Math.abs(mid - from)];
    return [{ id, box, paint(context, [bx, by, bw, bh]) {
      const middle = bx + bw / 2, [start, end] = tip > 0 ? [by, by + bh] : [by + bh, by];
      stroke(context, dive.ink(meaning), 2.5, dash);
      line(context, middle, start, middle, end - 7 * tip);
      context.fillStyle = dive.ink(meaning);
      context.beginPath();
      for (const [dx, dy] of [[0, 0], [-5.5, 9], [5.5, 9]]) context.lineTo(middle + dx, end - dy * tip);
      context.fill();
    } }, ...(dive.width > 700 ? [words(dive, `${id} amount`, `+ ${significant(amount)}`, x + share * w + 0.7 * em,
      from - tip * 0.1 * em, { meaning, bold: true })] : [])];
  };
  return [
    ...arrow("writes attention", 0.55, y - 0.9 * em, "attention-ink", [6, 4], map.attention[k]),
    ...(map.d_ff ? arrow("writes mlp", 0.9, y + h + 0.9 * em, "mlp-ink", [2, 4], map.feed_forward[k]) : []),
    words(dive, "length after", lengthSaid(map, l + 1, map.position), x + w + 0.5 * em, mid,
      { meaning: "residual-ink", bold: true, room: 4.4 * em }),
  ];
}

function neurons(dive, l, box, above) {
  const { map } = dive, { columns, n, text } = map, base = l * n;
  const values = dive.kept("mlp", () => (map.exact ? map.mlp : Float32Array.from(map.mlp, (byte, k) =>
    ((byte - 128) / 127) * [map.scales.mlp].flat()[Math.floor(k / (n * columns))])));
  const own = values.subarray(base * columns, (base + n) * columns);
  const picture = dive.kept(`mlp ${l}`, () => matrixPicture(n, columns, (r, c) => Math.max(0, own[r * columns + c]),
    dive.table("seq"), 0, deepest(own)));
  const read = (x, y) => readingOf(map, { kind: "strip", l, row: Math.floor(y * n), x: x * box[2],
    place: { name: "mlp", x: 0, w: box[2], base, columns } });
  const name = map.experts[l] ? text.dive_experts : fill(text.dive_neurons, { d_ff: map.d_ff });
  return [words(dive, "name mlp", name, box[0], box[1] - above / 2, { meaning: "mlp-ink", bold: true,
    room: box[2] * (dive.width > 700 ? 0.85 : 1) }),
    { ...image(dive, `mlp ${l}`, box, picture), read, into: (_, y) => (map.neurons[l]
      ? placeOf("neurons", l, Math.floor(y * n)) : null) }, picked(dive, "picked mlp", box, map.position, n)];
}

/** The frame of a row of a picture. */
/** @param {number[]} box */
export function picked(dive, id, box, row, rows) {
  const [x, y, w, h] = box;
  const tall = h / rows;
  return { id, box: [x, y + row * tall, w, tall], paint(context, [bx, by, bw, bh]) {
    stroke(context, dive.ink("query-ink"), 2);
    context.strokeRect(bx - 1.5, by - 1, bw + 3, Math.max(bh, 2) + 2);
  } };
}

/** All heads of a block. */
export function headsScene(dive, place) {
  const { map, em, width, height } = dive, [l] = place.at, below = 1.7 * em, apart = 0.9 * em;
  let best = { size: 0, columns: 1, rows: 1 };
  for (let columns = 1; columns <= map.heads; columns++) {
    const rows = Math.ceil(map.heads / columns);
    const size = Math.floor(Math.min((width - (columns - 1) * apart) / columns,
      (height - (rows - 1) * apart) / rows - below));
    if (size > best.size) best = { size, columns, rows };
  }
  const { size, columns, rows } = best, wide = columns * (size + apart) - apart;
  const grid = { x: (width - wide) / 2, y: (height - rows * (size + apart + below) + apart) / 2, size, columns };
  const boxes = boxesOf(grid, map.heads, apart, below);
  const says = boxes.map(([x, y], head) => {
    const { key, weight } = mostSeen(map, l, head, map.position), name = `${l}.${head}`;
    const said = size > 8 * em ? `${name}  → ${map.tokens[key]} ${probability(weight, 2)}` : name;
    return words(dive, `says ${name}`, size > 2.5 * em ? said : "", x + size / 2, y + size + below / 2,
      { align: "center", room: size, size: 1.1 });
  });
  const all = Array.from({ length: map.heads }, (_, head) => ({ head, ...mostSeen(map, l, head, map.position) }));
  const { head, key, weight } = all.reduce((one, other) => (other.weight > one.weight ? other : one));
  const values = { block: l, heads: map.heads, head, token: { chip: map.tokens[map.position], name: "chip query" },
    key: { chip: map.tokens[key] }, weight: probability(weight) };
  return scene(place, `tiles ${l}`, [grid.x, grid.y, wide, rows * (size + apart + below) - apart - below],
    [...boxes.map((box, index) => headTile(dive, l, index, box)), ...says],
    { children: boxes.map((box, index) => headChild(dive, l, index, box)), title: map.text.dive_title_heads, values });
}

