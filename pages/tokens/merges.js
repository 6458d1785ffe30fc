import { chip, draw, drawText, fill, keyPlace, make, rich, sized, spokenLine } from "../../core/components/lib/dom.js";
import { grouped } from "../../core/components/lib/numbers.js";
import { Player } from "../../core/components/lib/player.js";
import { emOf, monoFont, textWidth } from "../../core/components/lib/text.js";
import { drawTree, measureTree, treeHeight } from "../../core/components/lib/tokens.js";
import { mounted, redrawn, TitledView } from "../../core/components/lib/view.js";

const SHOWN_PAIRS = 12, LARGER = 1.12;

/** names, bytes and rules, the rank of the rule that made it, by id; leaves: ids; words: the first leaf of each; steps:
 * rank, left id, right id, id; nodes: step, start, middle, end, id, in the order of the steps, with leaves start to
 * end; pairs: the rank of all "left,right" that are ever side by side; first: the prompt's position of the first
 * token; settings.step counts the steps done.
 * @typedef {{ id: number, start: number, end: number, text: string, children: Piece[] | null, made?: boolean }} Piece
 * @typedef {{ identity: string, names: Record<number, string>, bytes: Record<number, string>,
 *   rules: Record<number, number>, leaves: number[], words: number[], steps: [number, number, number, number][],
 *   nodes: [number, number, number, number, number][], pairs: Record<string, number>, first: number,
 *   settings: { step: number, position: number }, text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message>} */
class Merges extends TitledView {
  constructor(root) {
    super(root);
    this.player = new Player(root, this.title, { show: () => this.paint(), rest: () => this.settle() });
    this.place = keyPlace(root, "scroll picture", (event) => this.key(event));
    this.svg = draw("svg", { class: "merge-tree" }, this.place);
    this.detail = spokenLine(root, "detail");
    this.waiting = make("div", "waiting", root);
    redrawn(() => this.layout(), this.place);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.last = this.steps.length;
    this.player.receive(this.text, this.last, Math.min(700, Math.max(150, 20000 / Math.max(1, this.last))));
    this.place.ariaLabel = this.text.twin;
    const { step, position } = header.settings;
    this.player.begin(step, header.identity, this.echoes.moves(step));
    this.position = position;
    this.positionOf = this.positions();
    this.layout();
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const pieces = this.pieces();
      const index = pieces.findIndex((piece) => piece === this.pickedPiece(pieces));
      this.pick(pieces[Math.min(pieces.length - 1, Math.max(0, index + step))]);
    } else if (event.key === "Home" || event.key === "End") this.player.go(event.key === "Home" ? 0 : this.last);
    else if (event.key === " ") this.player.toggle();
    else return;
    event.preventDefault();
  }

  get step() {
    return this.player.at;
  }

  settle() {
    const step = this.player.told;
    this.echoes.tell(step);
    // only a picked position is kept
    this.send({ step, position: this.chosen === undefined ? null : this.position });
  }

  /** The pieces after `step` steps, as trees: {id, start, end, children, made}. */
  pieces(step = this.step) {
    /** @type {Piece[]} */
    const trees = this.leaves.map((id, i) => ({ id, start: i, end: i + 1, text: this.names[id], children: null }));
    for (const [when, start, middle, end, id] of this.nodes) {
      if (when >= step) break;
      const children = [trees[start], trees[middle]];
      trees[start] = { id, start, end, text: this.names[id], children, made: when === step - 1 };
    }
    const pieces = [];
    for (let i = 0; i < trees.length; i = trees[i].end) pieces.push(trees[i]);
    return pieces;
  }

  /** The prompt's position of every leaf, once all is merged. */
  positions() {
    const position = new Int32Array(this.leaves.length);
    this.pieces(this.last).forEach((piece, k) => position.fill(this.first + k, piece.start, piece.end));
    return position;
  }

  pickedPiece(pieces) {
    return this.chosen !== undefined && pieces.find((piece) => piece.start <= this.chosen && this.chosen < piece.end)
      || pieces.find((piece) => this.positionOf[piece.start] === this.position) || pieces[pieces.length - 1];
  }

  pick(piece) {
    if (!piece) return;
    this.chosen = piece.start;
    this.position = this.positionOf[piece.start];
    this.paint();
    if (!this.player.playing) this.settle();
  }

  ofWord(pieces, w) {
    const end = this.words[w + 1] ?? this.leaves.length;
    return pieces.filter((piece) => piece.start >= this.words[w] && piece.start < end);
  }

  /** The place of each word: rows as wide as the picture, each as high as its deepest tree will be in the end. */
  layout() {
    const em = LARGER * emOf(this.root), font = monoFont(em), width = this.place.clientWidth;
    const gap = 0.55 * em;
    if (!width || !this.leaves) return;
    this.em = em;
    const whole = this.pieces(this.last).map((piece) => measureTree(piece, em, font));
    const byWord = this.words.map((_, w) => this.ofWord(whole, w));
    this.spots = [];
    let x = 0, y = 0, deepest = 0, widest = 0;
    for (const word of byWord) {
      // Room for every state of the word: its letters side by side, or a later token that is wider than they are.
      const leaves = word.flatMap((piece) => this.leaves.slice(piece.start, piece.end))
        .reduce((sum, id) => sum + measureTree({ text: this.names[id] }, em, font).width, 0);
      const room = Math.max(leaves, word.reduce((sum, piece) => sum + piece.width, 0));
      const depth = Math.max(...word.map((piece) => piece.depth));
      if (x && x + room > width) { x = 0; y += treeHeight(deepest, em) + 1.8 * em; deepest = 0; }
      this.spots.push({ x, y, room });
      x += room + gap;
      deepest = Math.max(deepest, depth);
      widest = Math.max(widest, x - gap);
    }
    this.size = [Math.max(widest, 1), y + treeHeight(Math.max(1, deepest), em) + 1.1 * em];
    this.paint();
  }

  paint() {
    if (!this.spots) return;
    const pieces = this.pieces(), em = this.em, font = monoFont(em), small = monoFont(0.72 * em);
    const picked = this.pickedPiece(pieces);
    const next = this.steps[this.step], isNext = new Set();
    if (next) for (const [when, start, middle] of this.nodes) if (when === this.step) isNext.add(start).add(middle);
    sized(this.svg, ...this.size, "");
    this.svg.replaceChildren();
    this.words.forEach((_, w) => {
      const word = this.ofWord(pieces, w).map((piece) => measureTree(piece, em, font));
      const spot = this.spots[w], total = word.reduce((sum, piece) => sum + piece.width, 0);
      let x = spot.x + (spot.room - total) / 2;
      for (const piece of word) {
        piece.marks = [piece.made && this.step < this.last && "made", piece === picked && "picked",
          isNext.has(piece.start) && "next"].filter(Boolean).join(" ");
        const group = drawTree(this.svg, piece, x, spot.y + em, em);
        if (textWidth(String(piece.id), small) <= piece.width)
          drawText(this.svg, x + piece.width / 2, spot.y + 0.7 * em, piece.id,
            { anchor: "middle", size: 0.72 * em, name: "number" });
        draw("title", {}, group, fill(this.text.hover,
          { token: piece.text, id: piece.id, position: this.positionOf[piece.start], bytes: this.bytes[piece.id] }));
        group.onclick = () => this.pick(piece);
        x += piece.width;
      }
    });
    this.player.value(fill(this.text.value, { step: this.step, n: this.last }));
    this.say(pieces, picked);
    this.queue(pieces);
  }

  say(pieces, picked) {
    const counts = { step: this.step, n: this.last, tokens: pieces.length, bytes: this.leaves.length };
    const done = this.steps[this.step - 1];
    if (!this.last) rich(this.title, this.text.nothing, counts);
    else if (this.step >= this.last) rich(this.title, this.text.done, counts);
    else if (!done) rich(this.title, this.text.begin, counts);
    else
      rich(this.title, this.text.step, { ...counts, rank: grouped(done[0]), left: { chip: this.names[done[1]] },
        right: { chip: this.names[done[2]] }, result: { chip: this.names[done[3]] } });
    if (!picked) { this.detail.textContent = ""; return; }
    const rank = this.rules[picked.id];
    rich(this.detail, rank ? this.text.token : this.text.byte,
      { token: { chip: picked.text }, id: picked.id, rank: rank && grouped(rank), bytes: this.bytes[picked.id] });
    if (this.text.note) make("span", "muted", this.detail, ` ${this.text.note}`);
  }

  /** The pairs that a rule joins, lowest rank first: the algorithm takes the first of them. */
  queue(pieces) {
    const starts = new Set(this.words), pairs = new Map();
    for (let i = 1; i < pieces.length; i++) {
      if (starts.has(pieces[i].start)) continue;
      const rank = this.pairs[`${pieces[i - 1].id},${pieces[i].id}`];
      if (rank) pairs.set(rank, [pieces[i - 1].text, pieces[i].text, (pairs.get(rank)?.[2] ?? 0) + 1]);
    }
    const ranks = [...pairs.keys()].sort((a, b) => a - b);
    this.waiting.replaceChildren();
    make("span", "muted", this.waiting,
      fill(ranks.length ? this.text.waiting : this.text.none_waiting, { n: ranks.length }));
    for (const rank of ranks.slice(0, SHOWN_PAIRS)) {
      const [left, right, times] = pairs.get(rank);
      const item = make("span", rank === ranks[0] ? "pair first" : "pair", this.waiting);
      chip(item, left);
      chip(item, right);
      make("span", "rank", item, grouped(rank) + (times > 1 ? ` ×${times}` : ""));
    }
  }
}

export default mounted(Merges);
