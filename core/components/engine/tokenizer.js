// Text to token ids and back: byte-level byte pair encoding, with the ids that core/model/tokenizer.py gives.
import { merged, Rules } from "./merging.js";
import { visibleForm } from "./visible.js";

const END_OF_TEXT = "<|endoftext|>";
// tokens that stand for no text, as a chip shows them
const SIGNS = new Map([[END_OF_TEXT, "‹end›"], ["<|mask|>", "‹mask›"], ["<|system|>", "‹system›"],
  ["<|user|>", "‹user›"], ["<|assistant|>", "‹assistant›"]]);
// a word with the space before it, as GPT-2 splits a text. \s of JavaScript is not quite Unicode's white space
const BLANK = "\\p{White_Space}";
const WORD = new RegExp(`'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${BLANK}\\p{L}\\p{N}]+|` +
  `${BLANK}+(?![^${BLANK}])|${BLANK}+`, "gu");
const DIGITS = /(\p{N})/u;

/** GPT-2's spelling of the 256 bytes as printable characters: those of Latin-1 that can be seen stand for themselves,
    the rest for U+0100 on. */
function charactersOfBytes() {
  const isSeen = (b) => (b > 0x20 && b < 0x7f) || (b > 0xa0 && b !== 0xad);
  let unseen = 0;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(isSeen(b) ? b : 0x100 + unseen++));
}

const CHARACTERS = charactersOfBytes();
const BYTES = new Map(CHARACTERS.map((character, byte) => [character, byte]));

/** The kinds of a tokenizer.json's pre_tokenizer, one or several. */
const splitters = (pre) => (pre.type === "Sequence" ? pre.pretokenizers : [pre]).map(({ type }) => type);

/** The id of every token by its spelling: those of the vocabulary, and those added to it. */
function idsOf({ model, added_tokens }) {
  return new Map([...Object.entries(model.vocab), ...added_tokens.map(({ content, id }) => [content, id])]);
}

/** A byte-level BPE. Nothing changes it once it is made. begin: the ids that a model needs before every text; rules:
    what joins two tokens. */
export class Tokenizer {
  #ids;
  #splitsDigits;
  /** @type {Uint8Array[]} */
  #bytes;
  /** @type {string[]} */
  #visible;

  /** @param {any} json the parsed tokenizer.json of a bundled model */
  constructor(json) {
    const ids = idsOf(json);
    this.vocab_size = ids.size;
    this.begin = [ids.get(END_OF_TEXT)];
    this.#splitsDigits = splitters(json.pre_tokenizer).includes("Digits");
    this.#ids = CHARACTERS.map((character) => ids.get(character));
    this.rules = new Rules(json.model.merges.map(([left, right]) =>
      [ids.get(left), ids.get(right), ids.get(left + right)]), ids.size);
    this.#bytes = [];
    this.#visible = [];
    for (const [spelling, id] of ids) {
      this.#bytes[id] = Uint8Array.from(SIGNS.has(spelling) ? [] : spelling, (character) => BYTES.get(character));
      this.#visible[id] = SIGNS.get(spelling) ?? visibleForm(this.#bytes[id]);
    }
  }

  /** The ids of a text, without an end-of-text token. A lone surrogate is read as U+FFFD. */
  encode(text) {
    return this.words(text).flatMap((bytes) => merged(bytes, this.rules));
  }

  /** The pieces that a text is split into before any rule, each as the ids of its bytes: no token reaches from one into
      the next. @param {string} text @returns {number[][]} */
  words(text) {
    const encoder = new TextEncoder();
    return this.#parts(text).flatMap((part) => part.match(WORD) ?? []).map((word) =>
      Array.from(encoder.encode(word), (byte) => this.#ids[byte]));
  }

  /** The text of some ids; bytes that form no whole character are U+FFFD, and end of text adds nothing. */
  decode(ids) {
    const bytes = Array.from(ids, (id) => [...this.#of(this.#bytes, id)]).flat();
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  }

  /** A token as a chip shows it, never empty: ` the` as ·the, newline ⏎, stray bytes ‹E2›, end of text ‹end›. */
  visible(id) {
    return this.#of(this.#visible, id);
  }

  /** A text in the parts that no word reaches across: the whole, or each digit apart from what is between digits. */
  #parts(text) {
    return this.#splitsDigits ? text.split(DIGITS) : [text];
  }

  #of(list, id) {
    if (id in list) return list[id];
    throw new RangeError(`There is no token ${id}: this vocabulary has ids 0 to ${list.length - 1}.`);
  }
}
