// Tokens as a reader sees them, never empty; core/model/tokenizer.py has the same rules.

const VISIBLE = { " ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "·": "‹U+00B7›" };
const EMPTY = "\u115f\u1160\u3164\uffa0\u2800";      // printable by their category, and nothing to the eye
const DOTTED_CIRCLE = "◌";                           // carries a mark that stands alone, as in the tables of Unicode
const UNPRINTABLE = /[\p{C}\p{Z}]/u, MARK = /\p{M}/u;
const SELECTOR = /[\u180b-\u180d\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;

const STRICT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const hexadecimal = (number, digits) => number.toString(16).toUpperCase().padStart(digits, "0");

function byNumber(character) {
  const code = character.codePointAt(0);
  return code < 0x80 ? `‹${hexadecimal(code, 2)}›` : `‹U+${hexadecimal(code, 4)}›`;
}

/** Bytes in UTF-8 a character begins with, by its first one; 0 for a byte that begins none. */
const lengthOf = (byte) => (byte < 0x80 ? 1 : byte >> 5 === 6 ? 2 : byte >> 4 === 14 ? 3 : byte >> 3 === 30 ? 4 : 0);

/** The whole character that begins at a byte; null if there is none. */
function characterAt(bytes, at) {
  try {
    return STRICT.decode(bytes.subarray(at, at + lengthOf(bytes[at]))) || null;
  } catch {
    return null;
  }
}

function visibleCharacter(character) {
  if (Object.hasOwn(VISIBLE, character)) return VISIBLE[character];
  return UNPRINTABLE.test(character) || EMPTY.includes(character) ? byNumber(character) : character;
}

/** A mark that belongs on the letter before, in another token: on a dotted circle, or by number if it has no form. */
const visibleMark = (mark) => (SELECTOR.test(mark) ? byNumber(mark) : DOTTED_CIRCLE + mark);

/**
 * The bytes of a token: blanks as signs, and by number what cannot be seen and bytes that are no whole character.
 * @param {Uint8Array} bytes
 */
export function visibleForm(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const character = characterAt(bytes, at);
    if (character === null) text += `‹${hexadecimal(bytes[at], 2)}›`;
    else text += at === 0 && MARK.test(character) ? visibleMark(character) : visibleCharacter(character);
    at += character === null ? 1 : lengthOf(bytes[at]);
  }
  return text;
}
