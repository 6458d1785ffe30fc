// The right end of the map: the logits as a skyline over the vocabulary, the likeliest next tokens as bars, and the
// throw that picks one.
import { exact, significant } from "../../core/components/lib/numbers.js";
import { chip, element } from "../../core/components/lib/pattern.js";
import { fill, phrase } from "./words.js";

// toLast() picks the last token.
export function buildOutput(map, toLast) {
  const { out } = map, part = (tag, name, parent = out) => parent.appendChild(element(tag, name));
  map.heading = { logits: part("button", "head") };
  map.sky = part("canvas", "sky");
  map.heading.softmax = part("button", "head");
  map.bars = part("ol", "bars");
  map.actual = part("p", "actual");
  map.dice = part("div", "dice");
  map.stick = part("div", "stick", map.dice);
  map.said = part("p", "said", map.dice);
  const row = part("div", "row", map.dice);
  for (const name of ["append", "throw", "undo"]) (map[name] = part("button", `do ${name}`, row)).type = "button";
  map.append.onclick = () => map.send("appended", map.draw.id);
  map.throw.onclick = () => map.send("thrown", true);
  map.undo.onclick = () => { if (map.canUndo) map.send("undone", true); };
  map.toLast = part("button", "do last");
  map.toLast.onclick = toLast;
}

function head(map, node, part, title, shape) {
  node.type = "button";
  node.replaceChildren(element("b", "", title), element("small", "", shape));
  node.disabled = !map.lessons[part];
  node.title = map.lessons[part] ? map.text.open : "";
  node.onclick = () => map.lessons[part] && map.send("opened", map.lessons[part]);
}

export function drawOutput(map) {
  const { text, here } = map, atEnd = map.position === map.n - 1;
  const candidates = map.candidates[map.position].slice(0, barsThatFit(map)), fresh = map.position === map.sent;
  head(map, map.heading.logits, "logits", fill(text.head_logits, {}),
    fill(text.shape_logits, { n: map.n, v: map.vocabulary }));
  head(map, map.heading.softmax, "softmax", fill(text.head_softmax, {}),
    fill(text.shape_softmax, { v: map.vocabulary }));
  map.sky.classList.toggle("waiting", !fresh);
  map.sky.setAttribute("aria-label", text.sky);
  drawBars(map, candidates, atEnd && map.draw ? map.draw.id : null);
  // what is predicted at a position: the token that stands there, or the one after it
  const foretold = map.position + (here ? 0 : 1);
  map.actual.hidden = !(foretold in map.tokens) || map.blanks.includes(foretold);
  map.toLast.hidden = here || atEnd;
  if (!map.actual.hidden)
    map.actual.replaceChildren(text.actual, " ", chip(map.tokens[foretold], ""), " ",
      probabilityOf(map, map.ids[foretold]));
  map.toLast.textContent = fill(text.last, {});
  map.dice.hidden = !atEnd || !map.draw;
  if (!map.dice.hidden) drawDice(map);
}

function barsThatFit({ geometry: g }) {
  return g.wide ? Math.max(3, Math.floor((g.height - 18 * g.em) / (1.55 * g.em))) : Infinity;
}

function probabilityOf(map, id) {
  if (map.position !== map.sent) return "";
  const peak = map.logits.reduce((a, b) => Math.max(a, b), -Infinity);
  let sum = 0, rank = 1;
  for (let k = 0; k < map.logits.length; k++) {
    sum += Math.exp(map.logits[k] - peak);
    if (map.logits[k] > map.logits[id] || (map.logits[k] === map.logits[id] && k < id)) rank++;
  }
  return fill(map.text.actual_rank, { p: significant(Math.exp(map.logits[id] - peak) / sum), rank });
}

function drawBars(map, candidates, drawn) {
  while (map.bars.children.length > candidates.length) map.bars.lastChild.remove();
  while (map.bars.children.length < candidates.length) map.bars.appendChild(newBar());
  candidates.forEach(([token, id, p], k) => {
    const bar = map.bars.children[k];
    bar.chip.textContent = token;
    bar.fill.style.width = `${100 * p}%`;
    bar.number.textContent = significant(p);
    bar.className = id === drawn ? "drawn" : "";
    bar.button.title = fill(map.text.bar_hint, { token, id, p: exact(p) });
    bar.button.setAttribute("aria-label", bar.button.title);
    bar.button.onclick = () => map.send("appended", id);
    bar.button.disabled = map.here || map.position !== map.n - 1;
  });
}

function newBar() {
  const bar = element("li"), button = bar.appendChild(element("button"));
  button.type = "button";
  const track = element("span", "track");
  Object.assign(bar, { button, chip: chip("", ""), fill: track.appendChild(element("i")), number: element("b") });
  button.append(bar.chip, track, bar.number);
  return bar;
}

// [0, 1) cut into the tokens' intervals, the likeliest first; the marker is ξ.
function drawDice(map) {
  const { draw, text, stick } = map, pieces = [];
  draw.ends.forEach((end, k) => {
    const from = k ? draw.ends[k - 1] : 0;
    if (end - from < 0.002) return;
    const piece = element("i", k === draw.place ? "drawn" : k % 2 ? "odd" : "");
    Object.assign(piece.style, { left: `${100 * from}%`, width: `${100 * (end - from)}%` });
    pieces.push(piece);
  });
  const marker = element("b", "marker", "▼");
  marker.style.left = `${100 * draw.xi}%`;
  stick.replaceChildren(...pieces, marker);
  let digits = 4;
  while (digits < 15 && draw.from.toFixed(digits) === draw.to.toFixed(digits)) digits++;
  const [xi, from, to] = [draw.xi, draw.from, draw.to].map((value) => value.toFixed(digits));
  map.said.replaceChildren(...phrase(text.drawn, { xi, from, to, drawn: draw.token }, ["drawn"]));
  map.append.replaceChildren(`${text.append} `, chip(draw.token, ""));
  map.throw.textContent = text.throw;
  map.undo.textContent = text.undo;
  map.undo.ariaDisabled = String(!map.canUndo);       // one that is switched off loses the focus
}

// The logits of the picked position in the order of the ids: each pixel column reaches from the smallest to the largest
// of its tokens.
export function paintSky(map) {
  const width = map.sky.clientWidth, height = map.sky.clientHeight, { logits } = map;
  if (!width) return;
  [map.sky.width, map.sky.height] = [Math.round(width * map.ratio), Math.round(height * map.ratio)];
  const context = map.sky.getContext("2d"), { ink } = map, columns = Math.min(map.sky.width, logits.length);
  const least = logits.reduce((a, b) => Math.min(a, b), Infinity);
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const y = (u) => 3 * map.ratio + (1 - (u - least) / (most - least || 1)) * (map.sky.height - 4 * map.ratio);
  context.fillStyle = ink.of("kept");
  for (let c = 0; c < columns; c++) {
    const from = Math.floor((c * logits.length) / columns);
    const to = Math.max(from + 1, Math.floor(((c + 1) * logits.length) / columns));
    let top = -Infinity;
    for (let k = from; k < to; k++) top = Math.max(top, logits[k]);
    const x = (c * map.sky.width) / columns;
    context.fillRect(x, y(top), Math.max(1, map.sky.width / columns), map.sky.height - y(top));
  }
  for (const [, id] of map.candidates[map.sent].slice(0, 3)) {
    context.strokeStyle = ink.of("text");
    context.fillStyle = ink.of("drawn");
    context.lineWidth = 1.5 * map.ratio;
    context.beginPath();
    context.arc(((id + 0.5) / logits.length) * map.sky.width, y(logits[id]) + 1.5 * map.ratio, 3 * map.ratio, 0, 7);
    context.fill();
    context.stroke();
  }
}
