// The feed-forward part at one token: how much each neuron writes; and one neuron: where it fires, what it reads, and
// which words it makes likelier.
import { deepest } from "../../core/components/lib/canvas.js";
import { fill } from "../../core/components/lib/dom.js";
import { exact, significant } from "../../core/components/lib/numbers.js";
import { area, bar, scene, signedBars, strip, token, words } from "./dive_pieces.js";
import { placeOf } from "./dive_path.js";

/** @param {any} dive @param {any} data of inside.py */
export function neuronsScene(dive, place, data) {
  const { map, em, width, height } = dive, [l, position] = place.at, { text, tokens } = map;
  const { post, size, read } = data, d_ff = post.length, isWide = width > 700, top = 2.2 * em;
  const tall = Math.max(5 * em, height * 0.34), chart = [0, top, width, tall], limit = Math.max(...size, 1e-12);
  const order = [...size.keys()].sort((a, b) => size[b] - size[a]), indexAt = (x) => Math.floor(x * d_ff);
  const into = (x) => placeOf("neuron", l, position, order[indexAt(x)]);
  const firing = post.filter((value) => value > 0).length;
  const listTop = top + tall + 3.4 * em, pitch = 1.9 * em, columns = isWide ? 2 : 1, gap = 2 * em;
  const fits = Math.max(1, Math.floor((height - listTop) / pitch)), wide = (width - gap * (columns - 1)) / columns;
  const shown = read.slice(0, fits * columns);
  const at = (k) => [Math.floor(k / fits) * (wide + gap), listTop + (k % fits) * pitch];
  const parts = [
    words(dive, "name sizes", text.dive_sizes, 0, top / 2, { bold: true, room: width }),
    { ...signedBars(dive, "sizes", chart, order.map((m) => size[m]), ["mlp", "mlp"]), into,
      read: (x) => [fill(text.dive_tip_size, { m: order[indexAt(x)], a: exact(post[order[indexAt(x)]]) }),
        exact(size[order[indexAt(x)]])] },
    words(dive, "name read", text.dive_promote, 0, listTop - 1.2 * em, { bold: true, room: width }),
    ...shown.flatMap((row, k) => neuronRow(dive, place, data, row, at(k), [wide, pitch], limit))];
  const children = shown.map(({ neuron, promotes }, k) => ({ place: placeOf("neuron", l, position, neuron),
    box: [...at(k), wide, pitch], name: fill(text.dive_neuron_child, { m: neuron, a: significant(post[neuron]),
      words: promotes.join(", ") }) }));
  const values = { block: l, d_ff, firing, token: { chip: tokens[position], name: "chip query" } };
  const within = (id) => {
    const [kind, m] = id.split(" "), k = order.indexOf(Number(m));
    return kind === "bar" && k >= 0 ? [(k * width) / d_ff, top, width / d_ff, tall] : null;
  };
  return scene(place, `mlp ${l}`, chart, parts, { within, children, title: text.dive_title_neurons, values });
}

// One of the neurons that write most: its activation, the length of what it writes, and the words that it promotes.
function neuronRow(dive, place, { post, size }, { neuron, promotes }, corner, [wide, pitch], limit) {
  const [l, position] = place.at, [x, y] = corner, { em } = dive;
  const mid = y + pitch / 2, left = x + 10.5 * em, room = Math.max(4 * em, wide * 0.22);
  let end = left + room + 0.8 * em;
  const chips = promotes.slice(0, 4).flatMap((text, k) => {
    const part = token(dive, `promotes ${neuron} ${k}`, text, end, mid, { room: 8 * em });
    end += part.box[2] + 0.3 * em;
    return end < x + wide ? [part] : [];
  });
  return [area(`neuron ${neuron}`, [x, y, wide, pitch], { into: placeOf("neuron", l, position, neuron),
    read: () => [fill(dive.map.text.dive_tip_size, { m: neuron, a: exact(post[neuron]) }), exact(size[neuron])] }),
  words(dive, `name ${neuron}`, fill(dive.map.text.dive_neuron, { m: neuron }), x, mid, { bold: true }),
  words(dive, `fires ${neuron}`, significant(post[neuron]), left - 0.6 * em, mid, { align: "right", mono: true }),
  bar(dive, `bar ${neuron}`, [left, y + pitch * 0.2, (size[neuron] / limit) * room, pitch * 0.6], "mlp"), ...chips];
}

/** @param {any} dive @param {any} data of inside.py */
export function neuronScene(dive, place, data) {
  const { map, em, width, height } = dive, [l, position, m] = place.at, { text, tokens } = map, isWide = width > 700;
  const { x, w, fires } = data, left = (isWide ? 9 : 6.5) * em, wide = width - left - 4, d = x.length;
  const terms = Float32Array.from(x, (value, k) => value * w[k]), tall = Math.min(2 * em, height * 0.07);
  const y = (row) => 2 * em + row * (tall + 0.8 * em), indexAt = (share) => Math.floor(share * d);
  /** @type {[string, ArrayLike<number>, string][]} */
  const strips = [["x", x, "dive_x"], ["w", w, "dive_w_in"], ["xw", terms, "dive_xw"]];
  const rows = strips.flatMap(([id, values, label], row) => [
    { ...strip(dive, id, [left, y(row), wide, tall], values, deepest(Array.from(values))),
      read: (share) => [fill(text[`${label}_tip`], { m: indexAt(share) }), exact(values[indexAt(share)])] },
    words(dive, `name ${id}`, text[label], left - 8, y(row) + tall / 2, { align: "right", room: left - 8 })]);
  const after = y(3) + 0.5 * em, steps = [fill(text.dive_neuron_sum, { bias: significant(data.bias),
    pre: significant(data.pre) }), fill(data.up === null ? text.dive_neuron_act : text.dive_neuron_gate,
    { post: significant(data.post), up: significant(data.up ?? 0) })];
  const fireTop = after + 3.6 * em, half = isWide ? width * 0.46 : width;
  const values = { block: l, m, token: { chip: tokens[position], name: "chip query" }, a: significant(data.post),
    word: { chip: data.promotes[0] ?? "" } };
  return scene(place, `bar ${m}`, [0, 0, width, height], [...rows,
    ...(isWide ? [steps.join("   ")] : steps).map((step, k) => words(dive, `steps ${k}`, step, isWide ? left : 0,
      after + (isWide ? 0.4 : 1.3 * k - 0.2) * em, { bold: true, room: width - (isWide ? left : 0) })),
    ...firing(dive, fires, position, [0, fireTop, half, height - fireTop - em]),
    ...(isWide ? promoted(dive, data, [half + 3 * em, fireTop, width - half - 3 * em]) : [])],
  { children: [], title: data.promotes.length ? text.dive_title_neuron : text.dive_title_neuron_silent, values });
}

/** The tokens at which it fires: all, or the strongest of them and the picked one. @param {number[]} place its box */
function firing(dive, fires, position, place) {
  const [x, y, w, h] = place, { em, map } = dive, left = x + 9 * em, fits = Math.max(1, Math.floor(h / (1.15 * em)));
  const order = [...fires.keys()].sort((a, b) => Math.abs(fires[b]) - Math.abs(fires[a]));
  const shown = [...new Set([position, ...order])].slice(0, fits).sort((a, b) => a - b);
  const limit = Math.max(...fires.map(Math.abs), 1e-12), pitch = Math.min(2 * em, h / shown.length);
  const name = shown.length < fires.length ? map.text.dive_fires_most : map.text.dive_fires;
  return [words(dive, "name fires", name, x, y - 1 * em, { bold: true }), ...shown.flatMap((i, row) => {
    const top = y + row * pitch, wide = (Math.abs(fires[i]) / limit) * (w - 9 * em - 5 * em);
    const box = [left, top + pitch * 0.15, wide, pitch * 0.7], meaning = fires[i] < 0 ? "excluded" : "mlp";
    return [
      { ...bar(dive, `fires ${i}`, box, meaning, { outlined: i === position ? "query-ink" : "" }),
        read: () => [fill(map.text.dive_tip_fires, { i }), exact(fires[i])] },
      token(dive, `token ${i}`, map.tokens[i], left - 6, top + pitch / 2, { align: "right", size: 0.9,
        meaning: i === position ? "query" : "" }),
      words(dive, `fires ${i} said`, significant(fires[i]), left + wide + 0.4 * em, top + pitch / 2,
        { mono: true, size: 0.9 })];
  })];
}

/** The tokens whose logits it raises and lowers most. @param {number[]} place x, y, width */
function promoted(dive, { promotes, suppresses, amounts }, place) {
  const [x, y, w] = place, { em, map: { text } } = dive, pitch = 1.9 * em, count = promotes.length;
  const limit = Math.max(...amounts.map(Math.abs), 1e-12), left = x + 9 * em;
  const list = (id, label, meaning, tokens, from, top) => [
    words(dive, `name ${id}`, label, x, top - 1 * em, { bold: true }), ...tokens.flatMap((one, k) => {
      const amount = amounts[from + k], wide = (Math.abs(amount) / limit) * (w - 9 * em - 5 * em);
      const row = top + k * pitch;
      return [token(dive, `${id} ${k}`, one, left - 6, row + pitch / 2, { align: "right" }),
        bar(dive, `${id} bar ${k}`, [left, row + pitch * 0.2, wide, pitch * 0.6], meaning),
        words(dive, `${id} said ${k}`, significant(amount), left + wide + 0.4 * em, row + pitch / 2, { mono: true })];
    })];
  return count ? [...list("raises", text.dive_raises, "kept", promotes, 0, y),
    ...list("lowers", text.dive_lowers, "excluded-ink", suppresses, count, y + count * pitch + 3 * em)] : [];
}
