// header: signs "the text", symbols "abc… .", truth [symbol per sign], model [guess number per sign], likely [[[symbol, p], …] per sign], own [p of the true symbol per sign], first: signs that are given,
// guesses [the reader's guess numbers so far], identity, columns [name], unit, score [[name, value…]], settings {guesses "1-3-1"}.
// What the model thought of a sign is shown only when the reader has found it.
class Game {
  constructor(root) {
    this.root = root;
    const place = make("div", "game", root), left = make("div", "", place);
    this.tiles = make("div", "tiles game-chart", left);
    this.tiles.setAttribute("role", "group");
    this.said = make("div", "said", left);
    this.said.setAttribute("aria-live", "polite");
    this.keys = make("div", "keys", left);
    this.legend = make("div", "legend", left);
    this.table = make("table", "", make("div", "tables", place));
    root.tabIndex = -1;
    root.onkeydown = (event) => this.typed(event);
  }

  receive(header) {
    const fresh = this.identity !== header.identity || header.settings.guesses !== this.known;
    Object.assign(this, header);
    if (fresh) Object.assign(this, { played: [...header.guesses], tried: [] });
    this.known = header.settings.guesses;
    this.root.classList.toggle("present", header.scale > 1);
    this.build();
  }

  get at() {
    return this.first + this.played.length;
  }

  typed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1) return;
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
    this.known = this.played.join("-");
    this.build();
    this.send({ guesses: this.known, identity: this.identity });
  }

  build() {
    this.tiles.replaceChildren();
    for (let i = 0; i < Math.min(this.at + 1, this.signs.length); i++) this.tile(i);
    this.buildKeys();
    this.say();
    this.legend.replaceChildren();
    make("b", "", this.legend, this.text.yours);
    this.legend.append(" · ");
    make("i", "", this.legend, this.text.models);
    this.legend.append(` · ${this.unit}`);
    this.tiles.scrollTop = this.tiles.scrollHeight;
    this.scores();
  }

  tile(i) {
    const open = i < this.at, yours = this.played[i - this.first];
    const tile = make("span", `tile${i < this.first ? " given" : ""}${open ? "" : " cursor"}${open && Math.max(this.model[i], yours ?? 0) > 5 ? " hard" : ""}`, this.tiles);
    make("span", "sign", tile, open ? (this.signs[i] === " " ? "·" : this.signs[i]) : "\u00a0");
    make("span", "n yours", tile, open && yours ? String(yours) : "\u00a0");
    make("span", "n model", tile, open ? String(this.model[i]) : "\u00a0");
    if (open) tile.title = fill(this.text.tile, { sign: this.name(this.truth[i]), model: this.model[i], p: short(this.own[i]) });
  }

  name(symbol) {
    return this.symbols[symbol] === " " ? this.text.space : symbol === this.symbols.length - 1 ? this.text.sign : this.symbols[symbol];
  }

  buildKeys() {
    this.keys.replaceChildren();
    const over = this.at >= this.signs.length;
    for (let k = 0; k < this.symbols.length; k++) {
      const wrong = this.tried.includes(k), key = button(this.keys, this.name(k), this.name(k), () => this.guess(k), wrong ? "wrong" : k > 25 ? "words" : "");
      key.disabled = over || wrong;
    }
    button(this.keys, this.text.show, this.text.show, () => this.found(this.symbols.length), "words").disabled = over;
    button(this.keys, this.text.restart, this.text.restart, () => { this.played = []; this.tried = []; this.known = ""; this.build(); this.send({ guesses: "", identity: this.identity }); }, "words").disabled = !this.played.length;
  }

  say() {
    const i = this.at - 1;
    if (this.tried.length) {
      this.said.textContent = fill(this.text.wrong, { tried: this.tried.map((k) => this.name(k)).join(" "), n: this.tried.length });
    } else if (this.played.length) {
      const list = this.likely[i].map(([symbol, p]) => `${this.name(symbol)} ${short(p)}`).join(" · ");
      this.said.textContent = fill(this.at < this.signs.length ? this.text.right : this.text.over, { sign: this.name(this.truth[i]), yours: this.played.at(-1), model: this.model[i], p: short(this.own[i]), list });
    } else this.said.textContent = this.text.begin;
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

/** A probability in two figures; what is below 1 never reads as 1. */
function short(p) {
  const shown = Number(p.toPrecision(2));
  return shown >= 1 && p < 1 ? "> 0.99" : String(shown);
}

export default function (component) {
  mount(component, Game);
}
