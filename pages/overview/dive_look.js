// One look: the query's scores of all keys, the weights that the softmax makes of them, and what they fetch.
import { deepest, stroke } from "../../core/components/lib/canvas.js";
import { fill } from "../../core/components/lib/dom.js";
import { exact, percent, probability, significant } from "../../core/components/lib/numbers.js";
import { isolated } from "../../core/components/lib/text.js";
import { area, bar, scene, strip, token, words } from "./dive_pieces.js";
import { isSet, placeOf, setTo } from "./dive_path.js";

const HEADROOM = 0.15;      // of the scores' span, beyond the largest: a score may be dragged further
const NUDGE = 0.5;          // of a score, by a key

/** The keys of which there is room for `most`: those with the largest weights, in their order. */
export function shownKeys(weights, allowed, most) {
  const seen = [...weights.keys()].filter((k) => allowed[k]);
  return seen.sort((a, b) => weights[b] - weights[a]).slice(0, most).sort((a, b) => a - b);
}

/** The numbers of a look in which the score of key k is another: the softmax shares the weights out anew.
    @param {any} data of inside.py */
export function rescored(data, k, score) {
  const scores = data.scores.slice(), d_v = data.output.length;
  scores[k] = score;
  const powers = scores.map((one, j) => (data.allowed[j] ? Math.exp(one - data.top) : 0));
  const sunk = data.sunk * data.total, total = powers.reduce((sum, one) => sum + one, sunk);
  const weights = powers.map((one) => one / total);
  const output = Float32Array.from({ length: d_v }, (_, c) =>
    weights.reduce((sum, weight, j) => sum + weight * data.V[j * d_v + c], 0));
  return { ...data, scores, weights, output, total, sunk: sunk / total };
}

/** @param {any} dive @param {any} data of inside.py */
export function lookScene(dive, place, data) {
  const { map, em, width, height } = dive, [l, head, query] = place.at, { text, tokens } = map;
  const isWide = width > 700, top = 3.2 * em, foot = 2.6 * em, room = Math.floor((height - top - foot) / (1.6 * em));
  const all = [...data.weights.keys()].filter((k) => data.allowed[k]);
  const keys = shownKeys(data.weights, data.allowed, all.length <= room ? room : room - 1);
  const lines = keys.length + Number(keys.length < all.length || data.sunk > 0);
  const pitch = Math.min(4.2 * em, (height - top - foot) / lines), end = top + lines * pitch;
  const columns = columnsOf(width, em, isWide);
  const rows = keys.map((k, r) => ({ k, j: data.from + k, y: top + r * pitch }));
  const best = keys.reduce((one, k) => (data.weights[k] > data.weights[one] ? k : one));
  const rest = all.filter((k) => !keys.includes(k)).reduce((sum, k) => sum + data.weights[k], 0) + data.sunk;
  const parts = [...headings(dive, columns, data, isWide), ...scoreBars(dive, query, data, rows, columns.score, pitch),
    ...weightBars(dive, query, data, rows, columns.weight, pitch, best),
    ...(isWide ? fetched(dive, data, rows, columns.value, pitch, end) : []),
    ...grips(dive, place, data, rows, columns.score, pitch),
    ...rows.map(({ k, j, y }) => token(dive, `token ${j}`, tokens[j], columns.token - 8, y + pitch / 2,
      { align: "right", room: columns.token - 12, meaning: k === best ? "key" : "" })),
    ...foots(dive, data, rest, all.length - keys.length, columns, top + keys.length * pitch, pitch, end + 1.2 * em)];
  const changed = rows.findIndex(({ j }) => isSet(map.edit, placeOf("product", l, head, query, j)));
  const children = rows.map(({ k, j, y }) => ({ place: placeOf("product", l, head, query, j),
    nudge: (step) => setTo(placeOf("product", l, head, query, j), rounded(data.scores[k] + step * NUDGE)),
    box: [0, y, width, pitch], name: fill(text.dive_key_child, { key: tokens[j], position: j,
      score: significant(data.scores[k]), weight: probability(data.weights[k]) }) }));
  const read = (k, j) => [fill(text.dive_tip_look, { query: isolated(tokens[query]), key: isolated(tokens[j]),
    score: exact(data.scores[k]) }), exact(data.weights[k])];
  const live = data.dots ? rows.map(({ k, j, y }) => area(`key ${j}`, [0, y, width, pitch],
    { into: placeOf("product", l, head, query, j), read: () => read(k, j) })) : [];
  const title = all.length > 1 ? text.dive_title_look : text.dive_title_look_one;
  const values = { block: l, head, token: { chip: tokens[query], name: "chip query" },
    key: { chip: tokens[data.from + best] }, weight: percent(data.weights[best]), keys: all.length,
    score: significant(data.scores[best]) };
  return scene(place, `row ${query}`, [columns.weight[0], top, columns.weight[1], keys.length * pitch],
    [...live, ...parts], { children: data.dots ? children : [], title, values,
      chosen: changed < 0 ? keys.indexOf(best) : changed });
}

/** The left ends and widths of what stands beside the tokens of the keys.
 * @returns {{ token: number, score: number[], weight: number[], value?: number[] }} */
function columnsOf(width, em, isWide) {
  const left = (isWide ? 10 : 6.5) * em, free = width - left, gap = (isWide ? 5.5 : 3.6) * em;
  if (!isWide)
    return { token: left, score: [left, free * 0.36 - gap], weight: [left + free * 0.42, free * 0.58 - gap] };
  return { token: left, score: [left, free * 0.3 - gap], weight: [left + free * 0.32, free * 0.36 - gap],
    value: [left + free * 0.7, free * 0.3] };
}

/** @param {ReturnType<typeof columnsOf>} columns */
function headings(dive, columns, data, isWide) {
  const { token: left, score, weight, value } = columns, { em, map: { text } } = dive, y = 0.8 * em;
  const put = (id, label, x, small) => [
    words(dive, id, label, x, y, { bold: true }),
    words(dive, `${id} how`, small, x, y + 1.4 * em, { meaning: "muted-ink", size: 0.9 })];
  const divided = !data.dots ? text.dive_score_added : data.divisor === 1 ? text.dive_score_bare
    : fill(text.dive_score_how, { divisor: significant(data.divisor) });
  return [...put("head keys", text.dive_keys, Math.max(0, left - 8 * em), text.dive_keys_how),
    ...put("head score", text.dive_score, score[0], isWide ? divided : ""),
    ...put("head weight", text.dive_weight, weight[0], isWide ? text.dive_weight_how : ""),
    ...(isWide ? put("head value", text.dive_value, value[0], text.dive_value_how) : [])];
}

const rounded = (score) => Math.round(score * 100) / 100;

/** Where each score stands on the axis of the column, which a drag leaves as it is.
    @param {any} data @param {any[]} rows @param {number[]} column */
function axisOf(data, rows, [x, w]) {
  const shown = rows.map(({ k }) => data.scores[k]), [low, high] = data.span ?? [Math.min(0, ...shown),
    Math.max(0, ...shown)];
  const span = (high - low || 1) * (1 + HEADROOM);
  return { at: (score) => Math.max(x, Math.min(x + w, x + ((score - low) / span) * w)), low, high, step: span / w };
}

/** The ends of the bars, by which a score is dragged; the picture answers at once, Python when it is let go. */
function grips(dive, place, data, rows, column, pitch) {
  const [l, head, query] = place.at, { text, tokens, edit } = dive.map;
  const { at, low, high, step } = axisOf(data, rows, column), span = [low, high];
  return rows.map(({ k, j, y }) => {
    const look = placeOf("product", l, head, query, j), x = at(data.scores[k]), r = Math.min(6, 0.28 * pitch);
    return { id: `grip ${j}`, box: [x - 11, y, 22, pitch],
      read: () => [fill(text.dive_tip_score, { key: isolated(tokens[j]) }), exact(data.scores[k])],
      drag: (pixels) => {
        const score = rounded(Math.max(low, Math.min(high + (high - low) * HEADROOM, data.scores[k] + pixels * step)));
        return { edit: setTo(look, score), scene: lookScene(dive, place, { ...rescored(data, k, score), span }) };
      },
      paint(context, [bx, by, bw, bh]) {
        context.beginPath();
        context.arc(bx + bw / 2, by + bh / 2, r, 0, 2 * Math.PI);
        context.fillStyle = dive.ink(isSet(edit, look) ? "drawn" : "page");
        context.fill();
        stroke(context, dive.ink(isSet(edit, look) ? "drawn-ink" : "query-ink"), 2);
        context.stroke();
      } };
  });
}

/** @param {number[]} column */
function scoreBars(dive, query, data, rows, column, pitch) {
  const [x, w] = column, { em } = dive, { at } = axisOf(data, rows, column);
  return rows.flatMap(({ k, j, y }) => {
    const score = data.scores[k], from = Math.min(at(0), at(score));
    const box = [from, y + pitch * 0.2, Math.abs(at(score) - at(0)), pitch * 0.6];
    return [bar(dive, `score ${query}.${j}`, box, "query"),
      words(dive, `score ${query}.${j} said`, significant(score), x + w + 0.5 * em, y + pitch / 2, { mono: true })];
  });
}

/** @param {number[]} column */
function weightBars(dive, query, data, rows, column, pitch, best) {
  const [x, w] = column, largest = Math.max(...data.weights);
  return rows.flatMap(({ k, j, y }) => {
    const box = [x, y + pitch * 0.16, (data.weights[k] / largest) * w, pitch * 0.68];
    return [bar(dive, `cell ${query}.${j}`, box, "attention", { outlined: k === best ? "attention-ink" : "" }),
      words(dive, `weight ${query}.${j} said`, probability(data.weights[k]), x + box[2] + 0.5 * dive.em, y + pitch / 2,
        { mono: true, bold: k === best })];
  });
}

// Of each key its value times its weight, as a strip of numbers, and under them their sum.
/** @param {number[]} column */
function fetched(dive, data, rows, column, pitch, bottom) {
  const [x, w] = column, d_v = data.output.length, limit = deepest(data.output);
  const strips = rows.map(({ k, j, y }) => {
    const scaled = Float32Array.from({ length: d_v }, (_, c) => data.weights[k] * data.V[k * d_v + c]);
    return strip(dive, `fetched ${j}`, [x, y + pitch * 0.2, w, pitch * 0.6], scaled, limit);
  });
  return [...strips, strip(dive, "fetched sum", [x, bottom + 0.45 * dive.em, w, 1.5 * dive.em], data.output, limit)];
}

/** @param {ReturnType<typeof columnsOf>} columns */
function foots(dive, data, rest, others, columns, y, pitch, bottom) {
  const { score, weight, value } = columns, { map: { text }, em } = dive;
  const sum = [...data.weights].reduce((total, one) => total + one, 0);
  const more = others || data.sunk ? [words(dive, "others", fill(others ? text.dive_others : text.dive_sink,
    { n: others, weight: probability(rest) }), score[0], y + pitch / 2, { meaning: "muted-ink" })] : [];
  return [...more, words(dive, "sum weight", fill(text.dive_sum, { sum: probability(sum) }), weight[0], bottom,
    { bold: true }),
  ...(value ? [words(dive, "sum value", text.dive_sum_value, value[0] - 0.6 * em, bottom,
    { align: "right", bold: true, room: value[0] - weight[0] - 9 * em })] : [])];
}
