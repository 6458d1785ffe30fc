import { button, chip, fill, make, rich, spokenLine } from "../../core/components/lib/dom.js";
import { grouped } from "../../core/components/lib/numbers.js";
import { Player } from "../../core/components/lib/player.js";
import { mounted, TitledView } from "../../core/components/lib/view.js";

const SHOWN_PAIRS = 12, SHOWN_WORDS = 200;

/** The pieces with every `left` followed by `right` joined into one, from left to right. */
export function joined(pieces, left, right) {
  const out = [];
  for (let i = 0; i < pieces.length; i++) {
    if (pieces[i] === left && pieces[i + 1] === right) { out.push(left + right); i += 1; } else out.push(pieces[i]);
  }
  return out;
}

/** How often each pair of neighbours stands in the text: [{left, right, count}], the most frequent first. words: one
 * {pieces, count} for each distinct word. */
export function pairCounts(words) {
  const found = new Map();
  for (const { pieces, count } of words)
    for (let i = 1; i < pieces.length; i++) {
      const key = JSON.stringify([pieces[i - 1], pieces[i]]);
      const pair = found.get(key) ?? { left: pieces[i - 1], right: pieces[i], count: 0 };
      pair.count += count;
      found.set(key, pair);
    }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

/** The states of the words: after no merge, one, two …; a state is counted when it is asked for. */
export class States {
  constructor(words, merges) {
    this.merges = merges;
    this.cuts = [words.map(([word, count]) => ({ pieces: [...word], count }))];
  }

  at(n) {
    while (this.cuts.length <= n) {
      const [left, right] = this.merges[this.cuts.length - 1];
      this.cuts.push(this.cuts[this.cuts.length - 1].map((word) => (word.pieces.includes(left)
        ? { pieces: joined(word.pieces, left, right), count: word.count } : word)));
    }
    return this.cuts[n];
  }

  tokens(n) {
    return this.at(n).reduce((sum, word) => sum + word.count * word.pieces.length, 0);
  }
}

/** words: how often each stands in the text; merges in the order of learning; visible: a character's visible form;
 * settings.step: the merges that are done, −1 for all.
 * @typedef {{ identity: string, words: [string, number][], merges: [string, string][],
 *   visible: Record<string, string>, settings: { step: number },
 *   text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message & { states: States, painted: number }>} */
class Bpe extends TitledView {
  constructor(root) {
    super(root);
    this.player = new Player(root, this.title, { show: () => this.paint(), rest: () => this.settle() });
    const picture = make("div", "bpe-picture", root);
    const [left, right] = ["words", "pairs"].map((name) => make("div", `side ${name}`, picture));
    this.heads = [left, right].map((side) => make("div", "part", side));
    this.wordList = make("div", "scroll list", left);
    this.pairList = make("div", "scroll list", right);
    this.wordList.tabIndex = 0;
    this.detail = spokenLine(picture, "detail muted");
    this.detail.style.gridColumn = "1 / -1";
    this.rules = make("div", "rules scroll", picture);
  }

  /** @param {Message} header */
  receive(header) {
    const isNew = this.identity !== header.identity;
    Object.assign(this, header);
    this.last = this.merges.length;
    if (isNew) Object.assign(this, { states: new States(header.words, this.merges), picked: null });
    this.player.receive(this.text, this.last, Math.min(1600, Math.max(150, 30000 / Math.max(1, this.last))));
    this.player.begin(header.settings.step, header.identity, this.echoes.moves(header.settings.step));
    this.heads[0].textContent = this.text.words;
    this.wordList.ariaLabel = this.text.words;
    this.paint();
  }

  settle() {
    this.echoes.tell(this.player.told);
    this.send({ step: this.player.told });
  }

  shown(piece) {
    return [...piece].map((character) => this.visible[character] ?? character).join("");
  }

  paint() {
    const n = this.player.at;
    if (n !== this.painted) Object.assign(this, { painted: n, picked: null });
    const words = this.states.at(n), pairs = pairCounts(words), next = this.merges[n];
    const best = next && pairs.find((pair) => pair.left === next[0] && pair.right === next[1]);
    const marked = this.picked && pairs.find((pair) => pair.left === this.picked[0] && pair.right === this.picked[1])
      ? this.picked : next;
    this.say(n, words, best);
    this.paintWords(words, n, marked);
    this.paintPairs(pairs, best, marked);
    this.explain(words, pairs, best, marked);
    this.paintRules(n);
    this.player.value(fill(this.text.value, { step: n, n: this.last }));
  }

  say(n, words, best) {
    const values = { step: n, n: this.last, tokens: this.states.tokens(n), size: Object.keys(this.visible).length + n };
    if (!this.last) rich(this.title, this.text.nothing, values);
    else if (!best) rich(this.title, this.text.done, values);
    else
      rich(this.title, n ? this.text.step : this.text.begin, { ...values, count: best.count,
        left: { chip: this.shown(best.left) }, right: { chip: this.shown(best.right) } });
  }

  /** Each distinct word in its pieces: what the last merge has made, and where the marked pair stands. */
  paintWords(words, n, marked) {
    const made = n ? this.merges[n - 1].join("") : null;
    this.wordList.replaceChildren();
    for (const { pieces, count } of words.slice(0, SHOWN_WORDS)) {
      const row = make("div", "word", this.wordList), places = new Set();
      make("span", "times", row, `${grouped(count)} ×`);
      const line = make("span", "", row);
      for (let i = 1; marked && i < pieces.length; i++)
        if (pieces[i - 1] === marked[0] && pieces[i] === marked[1]) places.add(i - 1).add(i);
      pieces.forEach((piece, i) =>
        chip(line, this.shown(piece), `chip${places.has(i) ? " next" : ""}${piece === made ? " made" : ""}`));
    }
    const more = words.length - SHOWN_WORDS;
    if (more > 0) make("div", "muted", this.wordList, `… +${grouped(more)}`);
  }

  paintPairs(pairs, best, marked) {
    const most = pairs[0]?.count ?? 1, top = pairs.slice(0, SHOWN_PAIRS);
    // of equally frequent pairs the one that is joined stands first
    if (best) top.splice(0, top.length, best, ...pairs.filter((pair) => pair !== best).slice(0, SHOWN_PAIRS - 1));
    this.heads[1].textContent = fill(this.text.pairs, { n: pairs.length });
    this.pairList.replaceChildren();
    for (const pair of top) {
      const isMarked = marked && pair.left === marked[0] && pair.right === marked[1];
      const row = button(this.pairList, "", "", () => { this.picked = [pair.left, pair.right]; this.paint(); },
        `pair${pair === best ? " first" : ""}${isMarked ? " picked" : ""}`);
      row.ariaPressed = String(Boolean(isMarked));
      const names = make("span", "names", row);
      chip(names, this.shown(pair.left));
      chip(names, this.shown(pair.right));
      const measure = make("span", "measure", row);
      make("span", "length", measure).style.width = `calc(${pair.count / most} * (100% - 9em))`;
      make("span", "count", measure, grouped(pair.count));
      if (pair === best) make("span", "muted", measure, this.text.next);
    }
    if (!pairs.length) make("div", "muted", this.pairList, this.text.no_pairs);
  }

  /** The marked pair's count as a sum over the words, and how many others stand as often. */
  explain(words, pairs, best, marked) {
    this.detail.replaceChildren();
    const pair = marked && pairs.find((one) => one.left === marked[0] && one.right === marked[1]);
    if (!pair) return;
    const parts = words.map(({ pieces, count }) => [pieces.filter((piece, i) =>
      piece === pair.left && pieces[i + 1] === pair.right).length, count]).filter(([times]) => times);
    const sum = parts.slice(0, 6).map(([times, count]) => `${grouped(count)} · ${times}`).join(" + ");
    rich(this.detail, this.text.sum, { left: { chip: this.shown(pair.left) }, right: { chip: this.shown(pair.right) },
      sum: sum + (parts.length > 6 ? " + …" : ""), count: pair.count });
    const ties = best && pair === best ? pairs.filter((one) => one.count === best.count).length - 1 : 0;
    if (ties) make("span", "", this.detail, ` ${fill(ties > 1 ? this.text.ties : this.text.tie, { n: ties })}`);
  }

  /** The rules learned so far, in order; each leads back to the moment after it. */
  paintRules(n) {
    this.rules.replaceChildren();
    make("span", "muted", this.rules, n ? this.text.rules : this.text.no_rules);
    this.merges.slice(0, n).forEach(([left, right], k) => {
      const rule = button(this.rules, "", "", () => { this.player.stop(); this.player.go(k + 1); this.settle(); },
        "rule");
      make("span", "rank", rule, grouped(k + 1));
      chip(rule, this.shown(left + right));
    });
    this.rules.scrollTop = this.rules.scrollHeight;
  }
}

export default mounted(Bpe);
