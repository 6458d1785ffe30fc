// One product: a query's numbers times a key's, added up, and divided; and one number of either, the sum of as many
// products as the stream has dimensions.
import { deepest, dot, line, stroke } from "../../core/components/lib/canvas.js";
import { fill } from "../../core/components/lib/dom.js";
import { exact, probability, significant } from "../../core/components/lib/numbers.js";
import { isolated } from "../../core/components/lib/text.js";
import { scene, signedBars, strip, token, words } from "./dive_pieces.js";
import { isSet, placeOf } from "./dive_path.js";

const said = (value) => significant(value, 2);
const indexAt = (values, x) => Math.min(values.length - 1, Math.floor(x * values.length));

/** @param {any} dive @param {any} data the answer of inside.py to the look */
export function productScene(dive, place, data) {
  const { map, em, width, height } = dive, [l, head, query, key] = place.at, { text, tokens } = map;
  const k = key - data.from, { q } = data, d_k = q.length, keyRow = data.K.subarray(k * d_k, (k + 1) * d_k);
  const terms = Float64Array.from(q, (value, c) => value * keyRow[c]), left = (width > 700 ? 9 : 6.5) * em;
  const steps = stepsOf(map, place, data, k), wide = width - left - 4, foot = footOf(dive, steps);
  const tall = Math.min(3.2 * em, (height - foot) * 0.14);
  const limit = deepest([...q, ...keyRow]), y = (row) => 0.6 * em + row * (tall + 1.1 * em);
  const to = (c, side) => placeOf("number", l, head, query, key, c + side * d_k);
  const numbers = (id, name, values, row, side) => ({
    ...strip(dive, id, [left, y(row), wide, tall], values, limit, said),
    into: (x) => to(indexAt(values, x), side), read: (x) => {
      const c = indexAt(values, x);
      return [fill(text[`dive_tip_${name}`], { c, token: isolated(tokens[side ? key : query]) }),
        exact(values[c])];
    } });
  const chart = [left, y(2), wide, Math.max(6 * em, height - foot - y(2))];
  const read = (x) => {
    const c = indexAt(terms, x);
    return [fill(text.dive_tip_term, { c, q: exact(q[c]), k: exact(keyRow[c]) }), exact(terms[c])];
  };
  const parts = [
    token(dive, `token q`, tokens[query], left - 8, y(0) + tall * 0.32, { align: "right", room: left - 12,
      meaning: "query" }),
    words(dive, "name q", text.dive_query, left - 8, y(0) + tall * 0.32 + 1.5 * em, { align: "right",
      meaning: "query-ink" }),
    token(dive, `token ${key}`, tokens[key], left - 8, y(1) + tall * 0.32, { align: "right", room: left - 12,
      meaning: "key" }),
    words(dive, "name k", text.dive_key, left - 8, y(1) + tall * 0.32 + 1.5 * em, { align: "right",
      meaning: "key-ink" }),
    numbers("q", "query", q, 0, 0), numbers("k", "key", keyRow, 1, 1),
    words(dive, "times", "×", left + wide / 2, y(1) - 0.55 * em, { align: "center", bold: true }),
    { ...signedBars(dive, "terms", chart, terms, ["kept", "excluded-ink"]),
      read, into: (x) => to(indexAt(terms, x), 0) },
    words(dive, "name terms", text.dive_terms, left - 8, chart[1] + chart[3] / 2, { align: "right", bold: true,
      room: left - 10 }),
    ...sums(dive, steps, left, height - foot)];
  const cells = [0, 1].flatMap((side) => Array.from({ length: d_k }, (_, c) => ({ place: to(c, side),
    box: [left + (c * wide) / d_k, y(side), wide / d_k, tall], name: fill(text[`dive_tip_${side ? "key" : "query"}`],
      { c, token: tokens[side ? key : query] }) + ` ${significant((side ? keyRow : q)[c])}` })));
  const values = { token: { chip: tokens[query], name: "chip query" }, key: { chip: tokens[key] }, d_k,
    score: significant(data.scores[k]), dot: significant(data.products[k]) };
  const within = (id) => {
    const [kind, c] = id.split(" ");
    return kind === "number" ? [left + ((c % d_k) * wide) / d_k, y(Math.floor(c / d_k)), wide / d_k, tall] : null;
  };
  return scene(place, `key ${key}`, [0, 0, width, height], parts,
    { within, children: cells, title: text[`dive_title_product${isSet(map.edit, place) ? "_set" : ""}`], values });
}

// A line for all steps of the sum, or one for each where they do not stand beside each other.
const footOf = ({ em, width }, steps) => (width > 700 ? 4.6 : Math.max(4.6, 1.35 * steps.length + 0.4)) * em;

// The sum of the products, and what becomes of it up to the weight, in a line that breaks where there is no room.
function sums(dive, steps, left, y) {
  const { em, width } = dive;
  if (width > 700) return [words(dive, "sums", steps.join("   →   "), left, y + 2.2 * em, { size: 1.2, bold: true,
    room: width - left })];
  return steps.map((step, r) => words(dive, `sums ${r}`, step, 0, y + (0.7 + 1.35 * r) * em,
    { room: width, bold: true }));
}

function stepsOf({ text, edit }, place, data, k) {
  const steps = [fill(text.dive_step_sum, { dot: significant(data.products[k]) })], bias = data.bias[k];
  if (data.divisor !== 1) steps.push(fill(text.dive_step_divided, { divisor: significant(data.divisor),
    scaled: significant(data.scaled[k]) }));
  if (isSet(edit, place)) steps.push(fill(text.dive_step_set, { score: exact(data.scores[k]) }));
  else {
    if (data.cap) steps.push(fill(text.dive_step_capped, { cap: significant(data.cap) }));
    if (bias) steps.push(fill(text.dive_step_bias, { bias: significant(bias) }));
    if (data.cap || bias) steps.push(fill(text.dive_step_score, { score: significant(data.scores[k]) }));
  }
  return [...steps, fill(text.dive_step_weight, { weight: probability(data.weights[k]) })];
}

/** One number of a query or a key. @param {any} dive @param {any} data of inside.py */
export function numberScene(dive, place, data) {
  const { d_k, tokens, text } = dive.map, [, , query, key, number] = place.at, isKey = number >= d_k;
  const name = isKey ? "key" : "query", values = { c: number % d_k, name: text[`dive_${name}`],
    token: { chip: tokens[isKey ? key : query], name: `chip ${name}` } };
  return sumScene(dive, place, data, { anchor: `number ${number}`, meaning: `${name}-ink`, values,
    title: text.dive_title_number, w: "dive_w", used: text.dive_number_used });
}

/** One logit: the last row times a row of the unembedding. @param {any} dive @param {any} data of inside.py */
export function logitScene(dive, place, data) {
  const { text, tokens } = dive.map, [i, word] = place.at;
  const values = { word: { chip: data.token }, token: { chip: tokens[i], name: "chip query" } };
  return sumScene(dive, place, data, { anchor: `word ${word}`, meaning: "text", values, title: text.dive_title_logit,
    w: "dive_w_logit", used: text.dive_logit_used });
}

// A number as the sum of products of two rows of numbers.
function sumScene(dive, place, data, { anchor, meaning, values, title, w: label, used }) {
  const { map: { text }, em, width, height } = dive, { x, w } = data, d = x.length, left = (width > 700 ? 9 : 6.5) * em;
  const wide = width - left - 5.5 * em, terms = Float64Array.from(x, (value, m) => value * w[m]), foot = 3 * em;
  const tall = Math.min(2.4 * em, height * 0.1), y = (row) => 0.6 * em + row * (tall + 0.9 * em);
  const reads = (row, name) => (share) =>
    [fill(text[name], { m: indexAt(row, share) }), exact(row[indexAt(row, share)])];
  /** @type {[string, ArrayLike<number>, string][]} */
  const strips = [["x", x, "dive_x"], ["w", w, label], ["xw", terms, "dive_xw"]];
  const rows = strips.flatMap(([id, row, name], k) => [
    { ...strip(dive, id, [left, y(k), wide, tall], row, deepest(Array.from(row))), read: reads(row, `${name}_tip`) },
    words(dive, `name ${id}`, text[name], left - 8, y(k) + tall / 2, { align: "right", room: left - 8,
      meaning: id === "w" ? meaning : "text" })]);
  const chart = [left, y(3) + 0.8 * em, wide, Math.max(5 * em, height - foot - y(3) - 0.8 * em)];
  const isChanged = Math.abs(data.used - data.value) > 1e-4 * Math.max(1, Math.abs(data.value));
  const ends = [data.bias ? fill(text.dive_number_bias, { bias: significant(data.bias) }) : "",
    isChanged ? fill(used, { used: significant(data.used) }) : ""].filter(Boolean).join("   ");
  return scene(place, anchor, [0, 0, width, height], [...rows,
    runningSum(dive, chart, terms, data), words(dive, "name sum", text.dive_running, left - 8, chart[1] + chart[3] / 2,
      { align: "right", room: left - 8, bold: true }),
    words(dive, "ends", ends, left, height - foot / 2, { meaning: "muted-ink", room: width - left })],
  { children: [], title, values: { ...values, d, value: significant(data.value) } });
}

// The products added one after the other, from the bias to the number itself.
function runningSum(dive, box, terms, { bias, value }) {
  const { em } = dive, sums = Float64Array.from({ length: terms.length + 1 });
  sums[0] = bias;
  terms.forEach((term, m) => { sums[m + 1] = sums[m] + term; });
  const low = Math.min(0, ...sums), high = Math.max(0, ...sums), span = high - low || 1;
  const read = (x) => {
    const m = Math.round(x * terms.length);
    return [fill(dive.map.text.dive_running_tip, { m }), exact(sums[m])];
  };
  return { id: "running sum", box, read, paint(context, [x, y, w, h]) {
    const at = (sum) => y + h - ((sum - low) / span) * h;
    stroke(context, dive.ink("grid-ink"), 1);
    line(context, x, at(0), x + w, at(0));
    stroke(context, dive.ink("residual-ink"), 2);
    context.beginPath();
    sums.forEach((sum, m) => context.lineTo(x + (m / terms.length) * w, at(sum)));
    context.stroke();
    dot(context, x + w, at(sums.at(-1)), 5, dive.ink("query"), dive.ink("page"));
    context.font = `600 ${1.1 * em}px ${dive.ink("font")}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = dive.ink("text");
    context.fillText(significant(value), x + w + 0.7 * em, at(sums.at(-1)));
    context.font = `${0.9 * em}px ${dive.ink("font")}`;
    context.fillStyle = dive.ink("muted-ink");
    context.fillText("0", x + w + 0.7 * em, at(0));
  } };
}
