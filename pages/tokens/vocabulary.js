import { button, chip, draw, fill, make, rich, sized, spokenLine } from "../../core/components/lib/dom.js";
import { focusNext } from "../../core/components/lib/keys.js";
import { grouped } from "../../core/components/lib/numbers.js";
import { emOf, monoFont } from "../../core/components/lib/text.js";
import { drawTree, measureTree, treeHeight } from "../../core/components/lib/tokens.js";
import { mounted, View } from "../../core/components/lib/view.js";

const MOST_SHOWN = 600, MOST_CHARACTERS = 8;

/** By id, names: visible forms; bytes: in hex; origins: the name of a text; parts: the ids of left and right; rules:
 * ranks. prompt: ids; marked: those of a guess, if there is one.
 * @typedef {{ names: string[], bytes: string[], origins: string[], parts: Record<number, [number, number]>,
 *   rules: Record<number, number>, prompt: number[], marked: Partial<Record<"mine" | "answer", number>>,
 *   settings: { find: string, token: number }, text: Record<string, string>, scale: number }} Message */

/** @extends {View<Message & { chosen: boolean }>} */
class Vocabulary extends View {
  constructor(root) {
    super(root);
    const left = make("div", "left", root);
    const bar = make("label", "bar", left);
    this.label = make("span", "", bar);
    this.field = make("input", "field", bar);
    Object.assign(this.field, { type: "search", spellcheck: false, autocomplete: "off", maxLength: 60, dir: "auto" });
    this.field.oninput = () => this.search();
    this.field.onchange = () => this.settle();
    this.count = spokenLine(left, "muted");
    this.list = make("div", "scroll list", left);
    this.list.onkeydown = (event) => focusNext(event, [...this.list.children],
      { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 });
    const right = make("div", "right", root);
    this.title = make("div", "title", right);
    this.facts = make("div", "facts", right);
    this.place = make("div", "scroll tree", right);
    this.svg = draw("svg", { class: "token-tree", role: "img" }, this.place);
    this.behind = make("div", "title", right);
    this.characters = make("div", "scroll characters", right);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.byteIds = new Map(this.origins.flatMap((of, id) => (of === "byte" ? [[this.bytes[id], id]] : [])));
    const { find, token } = header.settings;
    this.label.textContent = this.text.find;
    this.field.placeholder = this.text.hint;
    if (find !== this.known && this.root.getRootNode().activeElement !== this.field) this.field.value = find;
    this.known = find;
    this.token = token;
    this.search();
    this.open();
  }

  settle() {
    this.known = this.field.value;
    // only a picked token is kept
    this.send({ find: this.field.value, token: this.chosen ? this.token : null });
  }

  /** The ids of tokens that contain the typed text, with spaces as they are shown; a number also finds the token of
      that id. Whole matches come first, then beginnings, then the rest by id. */
  matches() {
    const wanted = this.field.value.replaceAll(" ", "·").toLowerCase();
    if (!wanted) return this.names.map((_, id) => id);
    const rank = (id) => {
      const name = this.names[id].toLowerCase(), bare = name.replace(/^·/, "");
      if (name === wanted || String(id) === wanted.replace("#", "")) return 0;
      return bare === wanted ? 1 : name.startsWith(wanted) || bare.startsWith(wanted) ? 2 : name.includes(wanted) ? 3
        : 4;
    };
    const ranks = this.names.map((_, id) => rank(id));
    return this.names.map((_, id) => id).filter((id) => ranks[id] < 4).sort((a, b) => ranks[a] - ranks[b] || a - b);
  }

  search() {
    const ids = this.matches();
    this.count.textContent = fill(ids.length ? this.text.found : this.byteIds.size ? this.text.none : this.text.nothing,
      { n: grouped(ids.length), size: grouped(this.names.length), shown: Math.min(ids.length, MOST_SHOWN) });
    this.list.replaceChildren();
    const bytes = new Set(utf8(this.field.value)
      .map((byte) => this.byteIds.get(hexOf(byte))).filter((id) => id !== undefined));
    for (const id of ids.length ? ids.slice(0, MOST_SHOWN) : bytes) {
      const entry = button(this.list, "", "", () => {
        Object.assign(this, { token: id, chosen: true });
        this.mark();
        this.open();
        this.settle();
      }, id === this.token ? "entry picked" : "entry");
      entry.dataset.id = id;
      for (const [name, marked] of Object.entries(this.marked)) entry.classList.toggle(name, id === marked);
      entry.tabIndex = -1;
      chip(entry, this.names[id]);
      make("span", "id", entry, String(id));
    }
    const first = this.list.querySelector(".picked") || this.list.firstChild;
    if (first) {
      first.tabIndex = 0;
      this.list.scrollTop = Math.max(0, first.offsetTop - this.list.offsetTop - this.list.clientHeight / 2);
    }
    this.spell();
  }

  mark() {
    for (const entry of this.list.children) entry.classList.toggle("picked", Number(entry.dataset.id) === this.token);
  }

  tree(id) {
    const parts = this.parts[id];
    return { text: this.names[id], children: parts ? parts.map((part) => this.tree(part)) : null };
  }

  /** The picked token: its id, its rule, and its tree of merges. */
  open() {
    const id = this.token, rank = this.rules[id], em = emOf(this.root);
    rich(this.title, this.text.token, { token: { chip: this.names[id] }, id });
    const places = this.prompt.flatMap((other, position) => (other === id ? [position] : []));
    const parts = this.parts[id] ?? [];
    rich(this.facts, this.text[this.origins[id]],
      { rank: rank && grouped(rank), id, left: { chip: this.names[parts[0]] ?? "" },
        right: { chip: this.names[parts[1]] ?? "" } });
    this.facts.append(" ", places.length
        ? fill(this.text.places, { n: places.slice(0, 12).join(", ") + (places.length > 12 ? ", …" : "") })
        : this.text.nowhere);
    const tree = measureTree(this.tree(id), 1.15 * em, monoFont(1.15 * em)), width = tree.width + 2;
    const height = treeHeight(tree.depth, 1.15 * em) + 4;
    sized(this.svg, width, height, this.title.textContent);
    this.svg.replaceChildren();
    drawTree(this.svg, tree, 1, 1, 1.15 * em);
    this.spell();
  }

  /** The UTF-8 bytes, in bits, of the characters of the typed text, or else of the picked token. */
  spell() {
    if (this.token === undefined) return;
    const typed = this.field.value, hex = this.bytes[this.token] ? this.bytes[this.token].split(" ") : [];
    const bytes = typed ? utf8(typed) : hex.map((pair) => parseInt(pair, 16));
    rich(this.behind, typed ? this.text.behind_typed : this.text.behind,
      { n: bytes.length, token: { chip: typed || this.names[this.token] } });
    const all = characters(bytes);
    this.characters.replaceChildren();
    for (const character of all.slice(0, MOST_CHARACTERS)) this.character(character);
    if (all.length > MOST_CHARACTERS) make("div", "muted", this.characters, `… +${all.length - MOST_CHARACTERS}`);
  }

  character({ text, bytes }) {
    const row = make("div", "character", this.characters);
    const ids = bytes.map((byte) => this.byteIds.get(hexOf(byte)));
    chip(row, text === null ? bytes.map((byte) => `‹${hexOf(byte)}›`).join("") : text === " " ? "·"
        : /\p{C}|\s/u.test(text) ? `‹${text.codePointAt(0).toString(16).toUpperCase()}›` : text, "chip large");
    make("span", "code muted", row,
      text === null ? this.text.part : `U+${text.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
    const list = make("span", "bytes", row);
    bytes.forEach((byte, k) => {
      const item = make("span", "byte", list), bits = byte.toString(2).padStart(8, "0");
      const frame = byte < 0x80 ? 1 : byte < 0xc0 ? 2 : byte < 0xe0 ? 3 : byte < 0xf0 ? 4 : 5;
      const code = make("span", "code", item);
      make("span", "frame", code, bits.slice(0, frame));
      make("b", "", code, bits.slice(frame));
      make("span", "code muted", item, hexOf(byte));
      if (ids[k] !== undefined) make("span", "id", item, fill(this.text.id, { id: ids[k] }));
    });
  }
}

const utf8 = (text) => [...new TextEncoder().encode(text)];
const hexOf = (byte) => byte.toString(16).toUpperCase().padStart(2, "0");

/** Bytes as characters [{text, bytes}]; a byte that belongs to no whole character is an entry of its own, text null. */
function characters(bytes) {
  const list = [];
  for (let i = 0; i < bytes.length;) {
    const count = bytes[i] < 0x80 ? 1 : bytes[i] >= 0xf0 ? 4 : bytes[i] >= 0xe0 ? 3 : bytes[i] >= 0xc0 ? 2 : 1;
    const unit = bytes.slice(i, i + count);
    let text = null;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(unit));
    } catch {
      unit.length = 1;
    }
    list.push({ text, bytes: unit });
    i += unit.length;
  }
  return list;
}

export default mounted(Vocabulary);
