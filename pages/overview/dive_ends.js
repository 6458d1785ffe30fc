// Both ends of the model at one token, and what lies between: how the token becomes a row of numbers, how that row
// grows through the blocks, and how it becomes the next token's probabilities.
import { deepest } from "../../core/components/lib/canvas.js";
import { fill } from "../../core/components/lib/dom.js";
import { exact, percent, significant } from "../../core/components/lib/numbers.js";
import { isolated } from "../../core/components/lib/text.js";
import { area, bar, scene, strip, token, words } from "./dive_pieces.js";
import { placeOf, setTo } from "./dive_path.js";
import { lengthSaid } from "./layout.js";
import { valueAt } from "./paint.js";

/** The token, its id, its row of E, what its position adds, and tokens whose rows are like it, which may stand in its
    place. @param {any} dive @param {any} data of inside.py */
export function embeddingScene(dive, place, data) {
  const { map, em, width, height } = dive, [i] = place.at, { text, tokens, d } = map, isWide = width > 700;
  const left = (isWide ? 11 : 6) * em, wide = width - left - 4, images = map.geometry.images.map(({ name }) => name);
  const foot = 4.6 * em, pitch = Math.min(14 * em, (height - 5 * em - foot) / images.length), tall = pitch - 3 * em;
  const rows = images.map((name) => Float32Array.from({ length: d }, (_, c) =>
    valueAt(map, { name, base: 0, columns: d }, i, c)));
  const limit = Math.max(...rows.map((row) => deepest(row))), about = map.exact ? "" : "≈ ";
  const lines = images.flatMap((name, k) => {
    const y = 5 * em + k * pitch, isP = name === "P";
    const read = (x) => [fill(text.tip_vector, { name: text[`name_${name}`], token: isolated(tokens[i]),
      position: i, dimension: Math.floor(x * d) }), about + exact(rows[k][Math.floor(x * d)])];
    return [{ ...strip(dive, `row ${name}`, [left, y, wide, tall], rows[k], limit), read },
      words(dive, `name ${name}`, text[`dive_row_${images.length === 1 ? "alone" : name}`], left - 10, y + tall / 2,
        { align: "right", room: left - 10, bold: true, meaning: isP ? "position-ink" : "text" }),
      words(dive, `what ${name}`, fill(text[`dive_row_${images.length === 1 ? "alone" : name}_what`], { id: map.ids[i],
        v: map.vocabulary, position: i, d }), left, y + tall + 0.9 * em, { meaning: "muted-ink", room: wide })];
  });
  const values = { token: { chip: tokens[i], name: "chip query" }, id: map.ids[i], d };
  const chip = token(dive, `token ${i}`, tokens[i], left, 2.2 * em, { align: isWide ? "left" : "right",
    meaning: "query", size: 1.4, room: isWide ? wide / 2 : left });
  const next = isWide ? chip.box[0] + chip.box[2] + 0.8 * em : left + 0.5 * em;
  const like = alike(dive, i, data, isWide ? left : 0, height - foot, isWide ? wide : width);
  const children = like.filter(({ edit }) => edit).map(({ edit, box, said }) => ({ edit, box, name: said }));
  return scene(place, `row ${i}`, [left, 5 * em, wide, tall], [chip,
    words(dive, "id", fill(text.dive_id, { id: map.ids[i], v: map.vocabulary }), next, 2.2 * em,
      { size: isWide ? 1.1 : 1, room: width - next }), ...lines, ...like],
  { children, title: text.dive_title_embedding, values });
}

// The tokens whose rows are most like that of token i, as many as stand in one line; a press puts one in its place.
function alike(dive, i, data, left, top, wide) {
  const { map: { text }, em } = dive, y = top + 2.9 * em, place = placeOf("embedding", i);
  let x = left;
  const chips = data.ids.map((id, k) => {
    const chip = token(dive, `like ${id}`, data.tokens[k], x, y, { meaning: "key" });
    const cosine = words(dive, `cosine ${id}`, significant(data.cosine[k], 2), x + chip.box[2] + 0.3 * em, y,
      { mono: true, meaning: "muted-ink", size: 0.9 });
    const names = { token: isolated(data.tokens[k]), cosine: exact(data.cosine[k]) };
    x += chip.box[2] + cosine.box[2] + 1.2 * em;
    return { end: x - 0.9 * em, parts: [{ ...chip, edit: setTo(place, id), said: fill(text.dive_like_child, names),
      read: () => [fill(text.dive_tip_like, names), exact(data.cosine[k])] }, cosine] };
  });
  return [words(dive, "like", text.dive_like, left, top + em, { meaning: "muted-ink", room: wide }),
    ...chips.filter(({ end }) => end <= left + wide).flatMap(({ parts }) => parts)];
}

/** One token's row through all blocks: its length, what each part adds, and what the model would say there.
    @param {any} dive @param {any} data of inside.py */
export function streamScene(dive, place, data) {
  const { map, em, width, height } = dive, [i] = place.at, { text, tokens, n, layers } = map, isWide = width > 700;
  const depths = layers + 1, top = 2.6 * em, room = height - top, pitch = Math.min(6 * em, room / depths);
  const step = Math.ceil((1.3 * em) / pitch), lengths = Array.from({ length: depths }, (_, l) => map.stream[l * n + i]);
  const left = 8 * em, wide = width * (isWide ? 0.2 : 0.45), longest = Math.max(...lengths, 1e-12);
  const right = left + wide + (map.shifted ? 9.5 : 4.5) * em, guess = Math.max(0.52 * width, right + 13.5 * em);
  const rows = lengths.flatMap((length, l) => {
    const y = top + l * pitch, mid = y + pitch / 2;
    const name = l ? fill(text.dive_after, { block: l - 1 }) : text.dive_before;
    const size = Math.min(1, Math.max(0.8, pitch / (1.4 * em)));
    const read = () => [fill(text.dive_tip_length, { blocks: l, cosine: exact(data.cosine[l]) }), exact(length)];
    const spoken = l % step === 0 || l === layers ? [
      words(dive, `name ${l}`, name, left - 8, mid, { align: "right", size }),
      words(dive, `said ${l}`, lengthSaid(map, l, i), left + (length / longest) * wide + 0.5 * em, mid,
        { mono: true, size, meaning: "residual-ink" })] : [];
    return [{ ...bar(dive, `length ${l}`, [left, y + pitch * 0.2, (length / longest) * wide, pitch * 0.6],
      "residual"), read, into: l ? placeOf("block", l - 1) : null }, ...spoken,
    ...(isWide && l ? added(dive, l - 1, i, right, mid, pitch, size) : []),
    ...(isWide && data.guesses.length && l % step === 0 ? guesses(dive, data.guesses[l], l, guess, mid, pitch) : [])];
  });
  const heads = [words(dive, "head length", map.shifted ? text.dive_length_changed : text.dive_length, left, 0.9 * em,
    { bold: true, room: (isWide ? right : width) - left - em })];
  if (isWide) heads.push(words(dive, "head added", text.dive_added, right, 0.9 * em, { bold: true }));
  if (isWide && data.guesses.length)
    heads.push(words(dive, "head guess", text.dive_guess, guess, 0.9 * em, { bold: true }));
  const children = lengths.slice(1).map((_, l) => ({ place: placeOf("block", l), name: fill(text.block, { block: l }),
    box: [0, top + (l + 1) * pitch, width, pitch] }));
  const values = { token: { chip: tokens[i], name: "chip query" }, first: significant(lengths[0]),
    last: significant(lengths[layers]), layers };
  return scene(place, `lanes 0`, [left, top, wide, depths * pitch], [...heads, ...rows],
    { children, title: text.dive_title_stream, values });
}

// What attention and the neurons of a block add to the row.
function added(dive, l, i, x, mid, pitch, size) {
  const { map, em } = dive, k = l * map.n + i;
  const part = (name, meaning, amount, at) => words(dive, `${name} ${l}`, `+ ${significant(amount)}`, at, mid,
    { meaning, mono: true, size });
  if (pitch < 0.9 * em) return [];
  return [part("attention", "attention-ink", map.attention[k], x),
    ...(map.d_ff ? [part("neurons", "mlp-ink", map.feed_forward[k], x + 6 * em)] : [])];
}

function guesses(dive, said, l, x, mid, pitch) {
  let end = x;
  return said.flatMap(([text, p], k) => {
    const chip = token(dive, `guess ${l} ${k}`, text, end, mid, { room: 9 * dive.em,
      meaning: k ? "" : "kept", size: Math.min(1, Math.max(0.8, pitch / (1.6 * dive.em))) });
    const amount = words(dive, `guess ${l} ${k} said`, percent(p), end + chip.box[2] + 0.4 * dive.em, mid,
      { mono: true, size: 0.9 });
    end += chip.box[2] + amount.box[2] + 1.6 * dive.em;
    return end < dive.width + dive.em ? [chip, amount] : [];
  });
}

/** From the last row to the next token: scores, and the probabilities that the softmax makes of them.
    @param {any} dive @param {any} data of inside.py */
export function endScene(dive, place, data) {
  const { map, em, width, height } = dive, [i] = place.at, { text, tokens } = map, isWide = width > 700;
  const top = 3.4 * em, foot = 2.2 * em, fits = Math.max(1, Math.floor((height - top - foot) / (1.7 * em)));
  const count = Math.min(fits, data.ids.length), pitch = Math.min(2.6 * em, (height - top - foot) / count);
  const left = (isWide ? 11 : 7) * em, free = width - left, gap = 5 * em;
  const score = [left, free * (isWide ? 0.36 : 0.4) - gap], prob = [left + free * 0.46, free * 0.54 - gap];
  const low = Math.min(0, ...data.logits.slice(0, count)), high = Math.max(0, data.logits[0]), largest = data.probs[0];
  const at = (logit) => score[0] + ((logit - low) / (high - low || 1)) * score[1];
  /** @returns {[number, number, number, number]} */
  const boxOf = (k) => [0, top + k * pitch, width, pitch];
  const rows = data.ids.slice(0, count).flatMap((id, k) => {
    const y = top + k * pitch, mid = y + pitch / 2, u = data.logits[k], from = Math.min(at(0), at(u));
    const barBox = [prob[0], y + pitch * 0.16, (data.probs[k] / largest) * prob[1], pitch * 0.68];
    return [area(`word ${id}`, boxOf(k), { into: placeOf("logit", i, id), read: () => [
      fill(text.dive_tip_end, { token: isolated(data.tokens[k]), logit: exact(u) }), percent(data.probs[k])] }),
    token(dive, `next ${id}`, data.tokens[k], left - 8, mid, { align: "right", room: left - 10,
      meaning: k ? "" : "kept" }),
    bar(dive, `logit ${id}`, [from, y + pitch * 0.2, Math.abs(at(u) - at(0)), pitch * 0.6], "residual"),
    words(dive, `logit said ${id}`, significant(u), score[0] + score[1] + 0.5 * em, mid, { mono: true }),
    bar(dive, `p ${id}`, barBox, "kept", { outlined: id === map.draw?.id ? "drawn-ink" : "" }),
    words(dive, `p said ${id}`, percent(data.probs[k]), prob[0] + barBox[2] + 0.5 * em, mid, { mono: true, bold: !k })];
  });
  const shown = data.probs.slice(0, count).reduce((sum, p) => sum + p, 0);
  const others = fill(text.dive_end_others, { n: map.vocabulary - count, p: percent(Math.max(0, 1 - shown)) });
  const was = map.edit && fill(text.dive_end_was, { token: map.was[i][0], p: percent(map.was[i][1]) });
  const put = (id, label, how, x) => [words(dive, id, label, x, 0.9 * em, { bold: true }),
    words(dive, `${id} how`, isWide ? how : "", x, 2.3 * em, { meaning: "muted-ink", size: 0.9 })];
  const children = data.ids.slice(0, count).map((id, k) => ({ place: placeOf("logit", i, id), box: boxOf(k),
    name: fill(text.dive_word_child, { token: data.tokens[k], logit: significant(data.logits[k]),
      p: percent(data.probs[k]) }) }));
  const values = { token: { chip: tokens[i], name: "chip query" }, v: map.vocabulary, top: { chip: data.tokens[0] },
    p: percent(data.probs[0]) };
  return scene(place, `last ${i}`, [0, 0, width, height], [...rows,
    ...put("head logit", text.dive_logit, text.dive_logit_how, score[0]),
    ...put("head p", text.dive_p, fill(text.dive_p_how, { total: significant(data.total) }), prob[0]),
    words(dive, "others", [others, was].filter(Boolean).join(". "), left, height - foot / 2,
      { meaning: "muted-ink", room: width - left })],
  { children, title: text.dive_title_end, values });
}
