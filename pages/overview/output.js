// The right end of the map: the logits as a skyline over the vocabulary, the likeliest next tokens as bars, and the
// random draw of one.
import { button, fill, make, rich } from "../../core/components/lib/dom.js";
import { percent } from "../../core/components/lib/numbers.js";
import { tokenChip } from "../../core/components/lib/pattern.js";

/** Build the parts and store them on the map by their names. toLast() picks the last token. */
export function buildOutput(map, toLast) {
  const { out } = map;
  const heading = (name) => button(out, "", "", () => map.send("opened", map.lessons[name]), "head");
  map.heading = { logits: heading("logits") };
  map.sky = make("canvas", "sky", out);
  map.heading.softmax = heading("softmax");
  map.bars = make("ol", "bars", out);
  map.actual = make("p", "actual", out);
  map.dice = make("div", "dice", out);
  map.stick = make("div", "stick", map.dice);
  map.sentence = make("p", "said", map.dice);
  const row = make("div", "row", map.dice);
  const handlers = { append: () => map.send("appended", map.draw.id), throw: () => map.send("thrown", true),
    undo: () => { if (map.canUndo) map.send("undone", true); } };
  for (const [name, handler] of Object.entries(handlers)) map[name] = button(row, "", "", handler, `do ${name}`);
  map.toLast = button(out, "", "", toLast, "do last");
  map.silent = make("p", "silent", out);
}

/** The right end: what the model predicts; of one without a language head the sentence that says so (`silence`). */
export function drawOutput(map) {
  for (const part of map.out.children) if (part !== map.silent) part.style.display = map.silence ? "none" : "";
  map.silent.hidden = !map.silence;
  map.silent.textContent = map.silence;
  if (!map.silence) drawPredictions(map);
}

function drawPredictions(map) {
  const { text, here, position, draw, lessons } = map, atEnd = position === map.n - 1;
  for (const [name, node] of Object.entries(map.heading)) {
    node.replaceChildren(make("b", "", null, text[`head_${name}`]),
      make("small", "", null, fill(text[`shape_${name}`], { n: map.n, v: map.vocabulary })));
    node.disabled = !lessons[name];
    node.title = lessons[name] ? text.open : "";
  }
  map.sky.classList.toggle("waiting", position !== map.sent);
  map.sky.ariaLabel = text.sky;
  drawBars(map, atEnd);
  // the position whose token is predicted: this one, or the one after it
  const predicted = position + (here ? 0 : 1);
  map.actual.hidden = !(predicted in map.tokens) || map.blanks.includes(predicted);
  map.toLast.hidden = here || atEnd;
  map.toLast.textContent = text.last;
  if (!map.actual.hidden)
    map.actual.replaceChildren(text.actual, " ", tokenChip(map.tokens[predicted]), " ",
      probabilityOf(map, map.ids[predicted]));
  map.dice.hidden = !atEnd || !draw;
  if (!map.dice.hidden) drawDice(map, draw);
}

// A token's probability and rank, as soon as the logits of the picked position are there.
function probabilityOf({ logits, position, sent, text }, id) {
  if (position !== sent) return "";
  const peak = mostOf(logits), sum = logits.reduce((total, u) => total + Math.exp(u - peak), 0);
  const ahead = logits.filter((u, k) => u > logits[id] || (u === logits[id] && k < id)).length;
  return fill(text.actual_rank, { p: percent(Math.exp(logits[id] - peak) / sum), rank: ahead + 1 });
}

const mostOf = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

function drawBars(map, atEnd) {
  const { bars, geometry: g, here, draw } = map, drawn = atEnd && draw ? draw.id : null;
  const most = g.wide ? Math.max(3, Math.floor((g.height - 18 * g.em) / (1.55 * g.em))) : Infinity;
  const candidates = map.candidates[map.position].slice(0, most);
  while (bars.children.length > candidates.length) bars.lastChild.remove();
  while (bars.children.length < candidates.length) bars.append(newBar());
  candidates.forEach(([token, id, p], k) => {
    const bar = bars.children[k], hint = fill(map.text.bar_hint, { token, id, p: percent(p) });
    bar.chip.textContent = token;
    bar.fill.style.width = `${100 * p}%`;
    bar.number.textContent = percent(p);
    bar.className = id === drawn ? "drawn" : "";
    bar.button.ariaLabel = hint;
    Object.assign(bar.button, { title: hint, disabled: here || !atEnd, onclick: () => map.send("appended", id) });
  });
}

function newBar() {
  const bar = make("li"), press = button(bar), chip = tokenChip(""), track = make("span", "track");
  Object.assign(bar, { button: press, chip, fill: make("i", "", track), number: make("b") });
  press.append(chip, track, bar.number);
  return bar;
}

// [0, 1) cut into the tokens' intervals, the likeliest first; the marker is ξ.
function drawDice(map, draw) {
  const { text } = map, pieces = draw.ends.flatMap((end, k) => {
    const from = draw.ends[k - 1] ?? 0, piece = make("i", k === draw.place ? "drawn" : k % 2 ? "odd" : "");
    Object.assign(piece.style, { left: `${100 * from}%`, width: `${100 * (end - from)}%` });
    return end - from < 0.002 ? [] : [piece];
  });
  const marker = make("b", "marker", null, "▼");
  marker.style.left = `${100 * draw.xi}%`;
  map.stick.replaceChildren(...pieces, marker);
  let digits = 4;
  while (digits < 15 && draw.from.toFixed(digits) === draw.to.toFixed(digits)) digits++;
  const [xi, from, to] = [draw.xi, draw.from, draw.to].map((value) => value.toFixed(digits));
  rich(map.sentence, text.drawn, { xi, from, to, drawn: { chip: draw.token } });
  map.append.replaceChildren(`${text.append} `, tokenChip(draw.token));
  map.throw.textContent = text.throw;
  map.undo.textContent = text.undo;
  map.undo.ariaDisabled = String(!map.canUndo);       // a disabled button would lose the focus
}

/** The logits of the picked position in the order of the ids: each pixel column reaches from the smallest to the
    largest of its tokens. */
export function paintSky({ sky, logits, ratio, ink, candidates, sent }) {
  if (!sky.clientWidth) return;
  const width = Math.round(sky.clientWidth * ratio), height = Math.round(sky.clientHeight * ratio);
  Object.assign(sky, { width, height });
  const context = sky.getContext("2d"), columns = Math.min(width, logits.length);
  const tops = new Float32Array(columns).fill(-Infinity);
  let least = Infinity;
  for (let c = 0, id = 0; c < columns; c++)
    for (const end = Math.floor(((c + 1) * logits.length) / columns); id < end; id++) {
      tops[c] = Math.max(tops[c], logits[id]);
      least = Math.min(least, logits[id]);
    }
  const span = mostOf(tops) - least || 1;
  const y = (u) => 3 * ratio + (1 - (u - least) / span) * (height - 4 * ratio);
  context.fillStyle = ink("kept");
  for (let c = 0; c < columns; c++) {
    const top = y(tops[c]);
    context.fillRect((c * width) / columns, top, Math.max(1, width / columns), height - top);
  }
  context.strokeStyle = ink("text");
  context.fillStyle = ink("drawn");
  context.lineWidth = 1.5 * ratio;
  for (const [, id] of candidates[sent].slice(0, 3)) {
    context.beginPath();
    context.arc(((id + 0.5) / logits.length) * width, y(logits[id]) + 1.5 * ratio, 3 * ratio, 0, 7);
    context.fill();
    context.stroke();
  }
}
