import { button, draw, drawLine, fill, make, sized, spokenLine } from "../../core/components/lib/dom.js";
import { percent } from "../../core/components/lib/numbers.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { isShortcut } from "../../core/components/lib/keys.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted, onWidth, View } from "../../core/components/lib/view.js";

const HARD = 5;     // guesses: more give a sign a coloured ground

/** Of each sign, truth: its symbol's number; model: the number of the model's right guess; own: p of the true symbol;
 * likely: symbols and their p. first: signs that are given; guesses: the reader's guess numbers so far, "1-3-1" in
 * settings. The model's guesses of a sign are shown only when the reader has found it.
 * @typedef {{ identity: string, signs: string, symbols: string[], truth: number[], model: number[], first: number,
 *   own: number[], likely: [number, number][][], guesses: number[], columns: string[], unit: string, score: string[][],
 *   settings: { guesses: string }, text: Record<string, string>, scale: number }} Message */

/** @extends {View<Message>} */
class Game extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    this.played = [];
    const place = make("div", "game", root), left = make("div", "", place);
    this.tiles = draw("svg", { class: "tiles game-chart", role: "img" }, left);
    this.status = spokenLine(left, "said");
    this.keys = make("div", "keys", left);
    this.legend = make("div", "legend", left);
    this.table = make("table", "", make("div", "tables", place));
    root.tabIndex = -1;
    onWidth(left, () => this.tile());
    root.onkeydown = (event) => this.typed(event);
  }

  /** @param {Message} header */
  receive(header) {
    const moved = this.echoes.moves(header.settings.guesses);
    const fresh = moved || this.identity !== header.identity;
    Object.assign(this, header);
    if (fresh) Object.assign(this, { played: [...header.guesses], tried: [] });
    this.build();
  }

  get at() {
    return this.first + this.played.length;
  }

  typed(event) {
    if (isShortcut(event) || event.key.length !== 1
        || (event.key === " " && event.target.matches("button")))
      return;
    const symbol = this.symbols.indexOf(event.key.toLowerCase());
    event.preventDefault();
    this.guess(symbol < 0 ? this.symbols.length - 1 : symbol);
  }

  guess(symbol) {
    if (this.at >= this.signs.length || this.tried.includes(symbol)) return;
    this.tried.push(symbol);
    if (symbol === this.truth[this.at]) this.found(this.tried.length);
    else this.build();
    this.root.focus({ preventScroll: true });
  }

  found(number) {
    this.played.push(number);
    this.tried = [];
    this.build();
    this.tell();
  }

  tell() {
    const guesses = this.played.join("-");
    this.echoes.tell(guesses);
    this.send({ guesses, identity: this.identity });
  }

  build() {
    this.tile();
    this.buildKeys();
    this.say();
    this.legend.replaceChildren();
    make("b", "", this.legend, this.text.yours);
    this.legend.append(" · ");
    make("i", "", this.legend, this.text.models);
    this.legend.append(` · ${this.unit}`);
    this.scores();
  }

  /** The known signs in lines of equal cells, under each the reader's and the model's guess; present mode has room for
      the last two lines. */
  tile() {
    const width = this.tiles.parentElement.clientWidth;
    if (!width || !this.signs) return;
    const present = this.scale > 1, em = emOf(this.root), cell = { width: 1.5 * em, height: 3.5 * em };
    const columns = Math.max(1, Math.floor(width / cell.width));
    const count = Math.min(this.at + 1, this.signs.length), lines = Math.ceil(count / columns);
    const skipped = present ? Math.max(0, lines - 2) : 0;
    const height = Math.max(lines - skipped, present ? 2 : 3) * cell.height;
    this.tiles.replaceChildren();
    sized(this.tiles, width, height, this.signs.slice(0, this.at));
    for (let i = skipped * columns; i < count; i++)
      this.cell(i, (i % columns) * cell.width, (Math.floor(i / columns) - skipped) * cell.height, cell, em);
  }

  cell(i, x, y, cell, em) {
    const open = i < this.at, yours = this.played[i - this.first];
    const middle = { x: x + cell.width / 2, "text-anchor": "middle" };
    const group = draw("g", { class: `tile${i < this.first ? " given" : ""}${open ? "" : " cursor"}` }, this.tiles);
    if (!open) {
      drawLine(group, x + 2, y + 1.6 * em, x + cell.width - 2, y + 1.6 * em);
      return;
    }
    draw("title", {}, group,
      fill(this.text.tile, { sign: this.name(this.truth[i]), model: this.model[i], p: percent(this.own[i]) }));
    if (Math.max(this.model[i], yours ?? 0) > HARD)
      draw("rect", { x, y, width: cell.width, height: cell.height - 0.2 * em }, group);
    draw("text", { ...middle, y: y + 1.35 * em, "font-size": 1.35 * em, class: "sign" }, group,
      this.signs[i] === " " ? "·" : this.signs[i]);
    if (yours)
      draw("text", { ...middle, y: y + 2.3 * em, "font-size": 0.85 * em, class: "yours" }, group, String(yours));
    draw("text", { ...middle, y: y + 3.15 * em, "font-size": 0.85 * em, class: "model" }, group, String(this.model[i]));
  }

  name(symbol) {
    return this.symbols[symbol] === " " ? this.text.space : symbol === this.symbols.length - 1 ? this.text.sign
      : this.symbols[symbol];
  }

  buildKeys() {
    this.keys.replaceChildren();
    const over = this.at >= this.signs.length;
    for (let k = 0; k < this.symbols.length; k++) {
      const wrong = this.tried.includes(k), key = button(this.keys, this.name(k), this.name(k), () => this.guess(k),
        wrong ? "wrong" : k > 25 ? "words" : "");
      key.disabled = over || wrong;
    }
    // a disabled button would lose the focus
    button(this.keys, this.text.show, this.text.show, () => { if (!over) this.found(this.symbols.length); },
      "words").ariaDisabled = String(over);
    button(this.keys, this.text.restart, this.text.restart, () => { this.played = []; this.tried = []; this.build();
      this.tell(); }, "words").ariaDisabled = String(!this.played.length);
  }

  say() {
    const i = this.at - 1;
    if (this.tried.length) {
      this.status.textContent = fill(this.text.wrong,
        { tried: this.tried.map((k) => this.name(k)).join(" "), n: this.tried.length });
    } else if (this.played.length) {
      const list = this.likely[i].map(([symbol, p]) => `${this.name(symbol)} ${percent(p)}`).join(" · ");
      this.status.textContent = fill(this.at < this.signs.length ? this.text.right : this.text.over, {
        sign: this.name(this.truth[i]), yours: this.played.at(-1), model: this.model[i],
        p: percent(this.own[i]), list });
    } else this.status.textContent = this.text.begin;
  }

  scores() {
    this.table.replaceChildren();
    const head = make("tr", "", make("thead", "", this.table)), body = make("tbody", "", this.table);
    for (const name of this.columns) make("th", "", head, name);
    for (const [name, ...values] of this.score) {
      const row = make("tr", "", body);
      make("th", "", row, name).scope = "row";
      for (const value of values) make("td", "strong", row, value);
    }
  }
}

export default mounted(Game);
