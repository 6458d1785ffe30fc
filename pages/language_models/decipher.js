import { draw, drawLine, drawText, fill, make, sized } from "../../core/components/lib/dom.js";
import { plain } from "../../core/components/lib/numbers.js";
import { Player } from "../../core/components/lib/player.js";
import { emOf, monoFont, shortened } from "../../core/components/lib/text.js";
import { mounted, redrawn, TitledView } from "../../core/components/lib/view.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const isLetter = (sign) => LETTERS.includes(sign.toLowerCase());

/** truth: the text before it was enciphered; keys: the letters read for a…z; scores: ln p of each reading; steps: its
 * number in the search; goal: ln p of the true text; used: the letters of the ciphertext, commonest first; shares: per
 * cent of the ciphertext; language: per cent of a…z in the training text; settings.step −1 is the last.
 * @typedef {{ identity: string, cipher: string, truth: string | null, keys: string[], scores: number[],
 *   steps: number[], goal: number | null, used: string, shares: Record<string, number>, language: number[],
 *   settings: { step: number }, text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message>} */
class Cipher extends TitledView {
  constructor(root) {
    super(root);
    this.player = new Player(root, this.title, { show: () => this.paint(), rest: () => this.settle() });
    this.lines = make("div", "lines", root);
    this.lines.role = "img";
    const below = make("div", "below-lines", root);
    this.keyPlace = make("div", "key-place", below);
    this.key = draw("svg", { class: "cipher-key", role: "img" }, this.keyPlace);
    this.walkPlace = make("div", "walk-place", below);
    this.walk = draw("svg", { class: "cipher-walk", role: "img" }, this.walkPlace);
    this.walkPlace.onpointerdown = (event) => this.drag(event);
    this.walkPlace.onpointermove = (event) => event.buttons && this.drag(event);
    this.walkPlace.onpointerup = () => this.settle();
    redrawn(() => this.paint(), root);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    const last = this.keys.length - 1, { step } = header.settings;
    this.player.receive(this.text, last, Math.min(700, Math.max(120, 9000 / Math.max(1, last))));
    this.player.begin(step, header.identity, this.echoes.moves(step));
    this.player.bar.hidden = last === 0;
    this.tall = this.scale > 1 ? 1.9 : 6.2;     // em of the bars: in present mode the lines are large, and all must fit
    this.paint();
  }

  settle() {
    const step = this.player.told;
    this.echoes.tell(step);
    this.send({ step });
  }

  drag(event) {
    const box = this.walk.getBoundingClientRect();
    const share = (event.clientX - box.left - this.room.left) / this.room.width;
    this.player.stop();
    this.player.go(Math.round(share * (this.keys.length - 1)));
  }

  paint() {
    if (!this.keys || !this.root.clientWidth) return;
    const key = this.keys[this.player.at], read = [...this.cipher].map((sign) => reading(sign, key));
    const n = read.filter(isLetter).length, right = n - read.filter((sign, i) => this.isWrong(sign, i)).length;
    const values = { step: this.steps[this.player.at], n, right, score: plain(this.scores[this.player.at], 1),
      goal: this.goal === null ? "" : plain(this.goal, 1) };
    this.title.textContent = fill(this.truth === null ? this.text.unknown : this.text.known, values);
    this.player.value(this.title.textContent);
    this.write(read);
    this.drawKey(key);
    this.drawWalk(values);
  }

  write(read) {
    this.lines.replaceChildren();
    this.lines.ariaLabel = read.join("");
    let word = null;
    [...this.cipher].forEach((sign, i) => {
      word ??= make("span", "word", this.lines);
      const wrong = this.isWrong(read[i], i);
      const pair = make("span", wrong ? "pair wrong" : "pair", word);
      make("span", "given", pair, sign);
      make("span", "read", pair, read[i]);
      if (wrong) pair.title = fill(this.text.should, { letter: this.truth[i] });
      if (sign === " ") word = null;
    });
  }

  /** Each letter of the ciphertext, commonest first: its share as a bar, and beside it the share in the language of the
      letter that it is read as. */
  drawKey(key) {
    const em = emOf(this.root), width = this.keyPlace.clientWidth, bar = this.tall * em, top = 1.6 * em;
    const column = width / Math.max(1, this.used.length), { key: svg } = this;
    const most = Math.max(...this.language, ...Object.values(this.shares));
    svg.replaceChildren();
    sized(svg, width, top + bar + 2.4 * em, fill(this.text.key_label,
      { pairs: [...this.used].map((letter) => `${letter} ${reading(letter, key)}`).join(", ") }));
    drawText(svg, 0, 0.95 * em, shortened(this.text.key, monoFont(0.92 * em), width), { name: "sans strong" });
    [...this.used].forEach((letter, i) => {
      const x = i * column, read = reading(letter, key), height = (this.shares[letter] / most) * bar;
      const other = (this.language[LETTERS.indexOf(read)] / most) * bar, thick = Math.max(2, 0.36 * column);
      const wrong = this.isWrong(read, this.cipher.toLowerCase().indexOf(letter));
      const group = draw("g", { class: wrong ? "wrong" : "" }, svg);
      draw("title", {}, group, fill(this.text.key_hover,
        { letter, read, own: plain(this.shares[letter], 1), other: plain(this.language[LETTERS.indexOf(read)], 1) }));
      draw("rect", { class: "own", x: x + 0.1 * column, y: top + bar - height, width: thick, height: height }, group);
      draw("rect", { class: "language", x: x + 0.1 * column + thick + 1, y: top + bar - other, width: thick,
        height: Math.max(1, other) }, group);
      drawText(group, x + column / 2, top + bar + 1.1 * em, letter, { anchor: "middle", name: "small" });
      drawText(group, x + column / 2, top + bar + 2.2 * em, read, { anchor: "middle", name: "read" });
    });
  }

  /** Whether the sign read at an index is a wrong letter; never so if only the reader knows the text. */
  isWrong(sign, index) {
    return this.truth !== null && isLetter(sign) && sign.toLowerCase() !== this.truth[index].toLowerCase();
  }

  drawWalk(values) {
    this.walkPlace.hidden = this.keys.length < 2;
    const em = emOf(this.root), width = this.walkPlace.clientWidth, height = (this.tall + 4) * em, { walk: svg } = this;
    const n = this.keys.length, all = [...this.scores, ...(this.goal === null ? [] : [this.goal])];
    const low = Math.min(...all), high = Math.max(...all), span = high - low || 1, left = 4.6 * em;
    const room = { left, width: Math.max(1, width - left - 0.8 * em) };
    this.room = room;
    const x = (i) => left + (n > 1 ? i / (n - 1) : 1) * room.width;
    const y = (score) => 2.1 * em + ((high - score) / span) * (height - 4.4 * em);
    svg.replaceChildren();
    sized(svg, width, height, fill(this.text.walk_label, values));
    drawText(svg, 0, 0.95 * em, shortened(this.text.walk, monoFont(0.92 * em), width), { name: "sans strong" });
    for (const score of new Set([low, high]))
      drawText(svg, left - 0.5 * em, y(score) + 0.3 * em, plain(score, 1), { anchor: "end", name: "sans small" });
    drawLine(svg, left, height - 1.9 * em, left + room.width, height - 1.9 * em, { class: "axis" });
    drawText(svg, left, height - 0.6 * em, this.steps[0], { name: "sans small" });
    drawText(svg, left + room.width, height - 0.6 * em, fill(this.text.to, { step: this.steps[n - 1] }),
      { anchor: "end", name: "sans small" });
    if (this.goal !== null) {
      drawLine(svg, left, y(this.goal), left + room.width, y(this.goal), { class: "goal" });
      drawText(svg, left + 0.3 * em, y(this.goal) + (y(this.goal) < 4 * em ? 1.2 : -0.5) * em, this.text.goal,
        { name: "sans small" });
    }
    draw("polyline", { class: "path", points: this.scores.map((score, i) => `${x(i)},${y(score)}`).join(" ") }, svg);
    draw("circle", { class: "here", cx: x(this.player.at), cy: y(this.scores[this.player.at]), r: 0.45 * em }, svg);
  }
}

function reading(sign, key) {
  const index = LETTERS.indexOf(sign.toLowerCase());
  return index < 0 ? sign : sign === LETTERS[index] ? key[index] : key[index].toUpperCase();
}

export default mounted(Cipher);
