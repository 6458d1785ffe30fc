// One head: its matrix of weights, and the same weights as lines between the tokens.
import { matrixPicture, stroke, write } from "../../core/components/lib/canvas.js";
import { fill } from "../../core/components/lib/dom.js";
import { exact, probability } from "../../core/components/lib/numbers.js";
import { rowOffsets, valueIn } from "../../core/components/lib/pattern.js";
import { isolated } from "../../core/components/lib/text.js";
import { picked } from "./dive_block.js";
import { fontOf, image, scene, token, words } from "./dive_pieces.js";
import { placeOf } from "./dive_path.js";

const LEAST_LINE = 0.02;

/** The weights of the head as a function of query and key, NaN where the mask hides one. */
function weightsOf({ first, last, pattern }) {
  const rows = { first, last, offset: rowOffsets(first, last) };
  return (i, j) => valueIn(rows, pattern, i, j);
}

function most(weights, i, n) {
  let key = 0;
  for (let j = 1; j < n; j++) if (!(weights(i, j) <= weights(i, key))) key = Number.isNaN(weights(i, j)) ? key : j;
  return { key, weight: weights(i, key) };
}

/** @param {any} dive */
export function headScene(dive, place, data) {
  const { map, em, width, height } = dive, [l, head] = place.at, { n, text, tokens, position } = map;
  const weights = weightsOf(data), isWide = width > 700, left = (isWide ? 9 : 6) * em, top = 6.2 * em;
  const side = Math.min(height - top - 2, isWide ? 0.52 * (width - left) : width - left - 2);
  const box = [left, top, side, side];
  const picture = dive.kept(`weights ${l}.${head}`, () => matrixPicture(n, n, (i, j) => Math.sqrt(weights(i, j)),
    dive.table("seq"), 0, 1));
  const cell = side / n, cellAt = (x, y) => [Math.floor(y * n), Math.floor(x * n)];
  const read = (x, y) => {
    const [i, j] = cellAt(x, y), weight = weights(i, j);
    return [fill(text.tip_tile, { block: l, head, query: isolated(tokens[i]), key: isolated(tokens[j]) }),
      Number.isNaN(weight) ? text.masked : exact(weight)];
  };
  const into = (_, y) => placeOf("look", l, head, Math.floor(y * n));
  const parts = [
    { ...image(dive, `tile ${l}.${head}`, box, picture, { masked: true }), read, into },
    picked(dive, "row", box, position, n),
    ...rowTokens(dive, box, into), ...columnTokens(dive, box),
    words(dive, "axis rows", text.dive_axis_rows, left - 8, top - 0.9 * em, { align: "right", meaning: "query-ink" }),
    words(dive, "axis columns", text.dive_axis_columns, left - 8, top - 2.3 * em,
      { align: "right", meaning: "key-ink" }),
    ...(isWide ? linesBeside(dive, [l, head], weights, box, into) : []),
  ];
  const { key, weight } = most(weights, position, n);
  const children = [...Array(n).keys()].map((i) => {
    const seen = most(weights, i, n);
    const name = fill(text.dive_row_child, { token: tokens[i], position: i, key: tokens[seen.key],
      weight: probability(seen.weight) });
    return { name, box: [left, top + i * cell, side, cell], place: placeOf("look", l, head, i) };
  });
  const values = { block: l, head, token: { chip: tokens[position], name: "chip query" }, key: { chip: tokens[key] },
    weight: probability(weight) };
  const inside = (id) => {
    const [kind, i, j] = id.split(/[ .]/);
    if (kind === "row") return [left, top + Number(i) * cell, side, cell];
    return kind === "cell" ? [left + Number(j) * cell, top + Number(i) * cell, cell, cell] : null;
  };
  return scene(place, `tile ${l}.${head}`, box, parts,
    { within: inside, children, chosen: position, title: text.dive_title_head, values });
}

const isShown = (dive, i, pitch) => i === dive.map.position || pitch >= 1.05 * dive.em;

/** @param {number[]} box */
function rowTokens(dive, box, into) {
  const [x, y, , h] = box, { map, em } = dive, cell = h / map.n;
  return map.tokens.flatMap((text, i) => (isShown(dive, i, cell) ? [{
    ...token(dive, `token ${i}`, text, x - 6, y + (i + 0.5) * cell, { align: "right", room: x - 8,
      meaning: i === map.position ? "query" : "", size: i === map.position ? 1 : Math.min(1, cell / (1.45 * em)) }),
    into: () => into(0, (i + 0.5) / map.n) }] : []));
}

/** The tokens above their columns, upright. @param {number[]} box */
function columnTokens(dive, box) {
  const [x, y, w] = box, { map, em } = dive, cell = w / map.n;
  const font = fontOf(dive, { mono: true, size: Math.min(1, cell / em) });
  if (cell < 0.75 * em) return [];
  return map.tokens.map((text, j) => ({ id: `column ${j}`, box: [x + j * cell, y - 5.8 * em, cell, 5.6 * em],
    paint(context, [bx, by, bw, bh]) {
      context.save();
      context.translate(bx + bw / 2, by + bh);
      context.rotate(-Math.PI / 2);
      const shown = text.length > 9 ? `${text.slice(0, 8)}…` : text;
      write(context, shown, 0, 0, dive.ink("text"), "left", { font });
      context.restore();
    } }));
}

// Queries at the right, on the height of their rows, and lines to the keys that they look at.
/** @param {number[]} matrix its box */
function linesBeside(dive, [l, head], weights, matrix, into) {
  const [x, y, w, h] = matrix, { map, em, width, ink } = dive, { n, position } = map, cell = h / n;
  const from = x + w + 10 * em, to = Math.max(from + 4 * em, width - 9.5 * em), mid = (i) => y + (i + 0.5) * cell;
  const box = [from, y, to - from, h];
  const size = (i) => (i === position ? 1 : Math.min(1, cell / (1.45 * em)));
  const shown = [...Array(n).keys()].filter((i) => isShown(dive, i, cell));
  const lines = { id: `lines ${l}.${head}`, box, into, paint(context, [bx, by, bw, bh]) {
    const height = (i) => by + ((i + 0.5) / n) * bh;
    for (const i of [...Array(n).keys()].filter((row) => row !== position).concat(position))
      for (let j = 0; j < n; j++) {
        const weight = weights(i, j);
        if (!(weight >= (i === position ? LEAST_LINE : 0.12))) continue;
        context.save();
        context.globalAlpha *= i === position ? 1 : 0.16;
        stroke(context, ink("attention-ink"), Math.max(0.8, weight * (i === position ? 10 : 5)));
        context.beginPath();
        context.moveTo(bx, height(j));
        context.bezierCurveTo(bx + bw / 2, height(j), bx + bw / 2, height(i), bx + bw, height(i));
        context.stroke();
        context.restore();
      }
  } };
  const { key } = most(weights, position, n);
  return [lines,
    words(dive, "lines keys", map.text.dive_lines_keys, from - 6, y - 0.9 * em, { align: "right",
      meaning: "key-ink" }),
    words(dive, "lines queries", map.text.dive_lines_queries, to + 6, y - 0.9 * em, { meaning: "query-ink" }),
    ...shown.map((i) => token(dive, `key ${i}`, map.tokens[i], from - 6, mid(i), { align: "right", size: size(i),
      meaning: i === key ? "key" : "" })),
    ...shown.map((i) => ({ ...token(dive, `query ${i}`, map.tokens[i], to + 6, mid(i), { size: size(i),
      meaning: i === position ? "query" : "", room: 9 * em }), into: () => into(0, (i + 0.5) / n) }))];
}
