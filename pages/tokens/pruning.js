import { button, chip, draw, drawText, fill, make, rich, sized, spokenLine } from "../../core/components/lib/dom.js";
import { grouped, percent, plain, probability } from "../../core/components/lib/numbers.js";
import { Player } from "../../core/components/lib/player.js";
import { emOf, monoFont, textWidth } from "../../core/components/lib/text.js";
import { mounted, redrawn, TitledView } from "../../core/components/lib/view.js";

const MOST_ROWS = 8, PRESENT_ROWS = 3, NOTHING = 0.01;

/** A loss in nats; what is next to nothing only as that. */
const lossOf = (nats) => (nats < NOTHING ? `< ${NOTHING}` : plain(nats, 2));

/** The edges in rows, each as low as it has room: those of the best way first, then the most probable. edges:
 * [start, end, p]; best: their starts and ends as "start,end". Returns {rows: [[edge]], left: how many found no room}.
 */
export function stacked(edges, best, mostRows) {
  const rows = [], order = edges.map((edge) => ({ edge, first: best.has(`${edge[0]},${edge[1]}`) }))
    .sort((a, b) => Number(b.first) - Number(a.first) || b.edge[2] - a.edge[2]);
  let left = 0;
  for (const { edge } of order) {
    let row = rows.find((others) => others.every(([start, end]) => edge[1] <= start || edge[0] >= end));
    if (!row && rows.length < mostRows) rows.push(row = []);
    if (row) row.push(edge); else left += 1;
  }
  return { rows, left };
}

/** letters: the visible form of each of the word's characters; piece: the picked one. Of a round, log: the objective in
 * nats; free: how many of the dropped have a loss of 0.00; edges of the word's lattice: start, end, p; cut: the length
 * of each piece of the best way, score its ln p, share its part of all ways; settings.step: rounds that are over, −1
 * for all.
 * @typedef {[piece: string, visible: string, p: number, loss: number, word: string][]} Pieces
 * @typedef {{ identity: string, word: string, letters: string[], piece: string, settings: { step: number },
 *   rounds: { size: number, log: number, n_dropped: number, n_kept: number, characters: number, kept: Pieces,
 *     dropped: Pieces, free: number, edges: [number, number, number][], cut: number[], score: number,
 *     share: number }[], text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message>} */
class Unigram extends TitledView {
  constructor(root) {
    super(root);
    this.player = new Player(root, this.title, { show: () => this.paint(), rest: () => this.settle() });
    const picture = make("div", "unigram-picture", root);
    const [left, right] = ["pieces", "word"].map((name) => make("div", `side ${name}`, picture));
    this.droppedHead = make("div", "part", left);
    this.dropped = make("div", "scroll list dropped-list", left);
    this.keptHead = make("div", "part", left);
    this.kept = make("div", "scroll list", left);
    this.wordHead = make("div", "part", right);
    this.place = make("div", "lattice-place", right);
    this.svg = draw("svg", { class: "lattice", role: "img" }, this.place);
    this.said = spokenLine(right, "said");
    redrawn(() => this.lattice(), right);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.last = this.rounds.length - 1;
    this.player.receive(this.text, this.last, 1800);
    this.player.begin(header.settings.step, header.identity, this.echoes.moves(header.settings.step));
    this.paint();
  }

  settle(picked = {}) {
    this.echoes.tell(this.player.told);
    this.send({ step: this.player.told, ...picked });
  }

  pick([piece, , , , word]) {
    this.piece = piece;
    this.paint();
    this.settle({ piece, word });
  }

  get round() {
    return this.rounds[this.player.at];
  }

  paint() {
    const round = this.round, values = { step: this.player.at + 1, n: this.last + 1, size: round.size,
      dropped: round.n_dropped, left: round.size - round.n_dropped, free: round.free };
    rich(this.title, this.player.ended ? this.text.done : this.text.round, values);
    this.droppedHead.textContent = round.n_dropped ? fill(this.text.dropped, values) : this.text.none_dropped;
    this.keptHead.textContent = fill(this.text.kept, { n: round.n_kept });
    this.paintDropped(round);
    this.paintKept(round);
    this.lattice();
    this.player.value(fill(this.text.value, values));
  }

  paintDropped(round) {
    this.dropped.replaceChildren();
    for (const item of round.dropped) {
      const node = button(this.dropped, "", "", () => this.pick(item),
        item[0] === this.piece ? "piece-button picked" : "piece-button");
      chip(node, item[1]);
      make("span", "loss", node, lossOf(item[3]));
    }
    const more = round.n_dropped - round.dropped.length;
    if (more > 0) make("span", "muted", this.dropped, `… +${grouped(more)}`);
  }

  /** @param {Message["rounds"][number]} round */
  paintKept(round) {
    const most = Math.max(...round.kept.map((item) => item[3]), 1e-9);
    this.kept.replaceChildren();
    for (const item of round.kept) {
      const node = button(this.kept, "", "", () => this.pick(item), item[0] === this.piece ? "kept picked" : "kept");
      chip(make("span", "name", node), item[1]);
      make("span", "p", node, fill(this.text.p, { p: probability(item[2]) }));
      const measure = make("span", "measure", node);
      make("span", "length", measure).style.width = `calc(${item[3] / most} * (100% - 5em))`;
      make("span", "", measure, lossOf(item[3]));
    }
    const more = round.n_kept - round.kept.length;
    if (more > 0) make("div", "muted", this.kept, `… +${grouped(more)}`);
  }

  name(start, end) {
    return this.letters.slice(start, end).join("");
  }

  /** The picked word with every piece that stands in it, each over the letters that it covers; the best way filled. */
  lattice() {
    const width = this.place.clientWidth, em = emOf(this.root);
    if (!width || !this.rounds) return;
    const round = this.round, n = this.letters.length, best = new Set();
    let at = 0;
    for (const length of round.cut) { best.add(`${at},${at + length}`); at += length; }
    const dropped = new Set(round.dropped.map((item) => item[0]));
    const { rows, left } = stacked(round.edges, best,
      this.root.classList.contains("present") ? PRESENT_ROWS : MOST_ROWS);
    const cell = Math.min(5.4 * em, Math.max(1.7 * em, (width - 2) / n)), line = 2.5 * em, top = 1.9 * em;
    this.svg.replaceChildren();
    sized(this.svg, Math.max(width, n * cell + 2), top + rows.length * line + 2, this.text.twin);
    this.letters.forEach((letter, k) =>
      drawText(this.svg, (k + 0.5) * cell, 1.2 * em, letter, { anchor: "middle", size: 1.15 * em, name: "" }));
    rows.forEach((row, k) => row.forEach(([start, end, p]) => {
      const piece = [...this.word].slice(start, end).join(""), key = `${start},${end}`;
      const marks = [best.has(key) && "best", dropped.has(piece) && "dropped", piece === this.piece && "picked"];
      this.edge({ x: start * cell + 1, y: top + k * line, width: (end - start) * cell - 3, em,
        name: this.name(start, end), p: probability(p, 2), marks: marks.filter(Boolean).join(" ") });
    }));
    this.say(round, best, left);
  }

  edge({ x, y, width, em, name, p, marks }) {
    const group = draw("g", { class: `edge ${marks}` }, this.svg);
    draw("rect", { x, y, width, height: 2.25 * em, rx: 4 }, group);
    drawText(group, x + width / 2, y + 0.98 * em, name, { anchor: "middle", name: "name" });
    if (textWidth(p, monoFont(0.74 * em)) < width)
      drawText(group, x + width / 2, y + 1.95 * em, p, { anchor: "middle", size: 0.74 * em, name: "p" });
    draw("title", {}, group, `${name}: p = ${p}`);
  }

  /** @param {Message["rounds"][number]} round */
  say(round, best, left) {
    rich(this.wordHead, this.text.word, { word: { chip: this.letters.join("") }, n: round.edges.length });
    this.said.replaceChildren(`${this.text.best} `);
    for (const key of best) chip(this.said, this.name(...key.split(",").map(Number)));
    this.said.append(` ${fill(this.text.share, { score: plain(round.score, 3), share: percent(round.share) })}`);
    if (left) make("span", "muted", this.said, ` ${fill(this.text.more, { n: left })}`);
  }
}

export default mounted(Unigram);
