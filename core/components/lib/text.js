// Measuring texts, for drawings that place them.
import { isLettered, readTheme } from "./theme.js";

const MOST_WIDTHS = 20000;

const widths = new Map();
let measurer = null;

export function emOf(root) {
  return parseFloat(getComputedStyle(root).fontSize);
}

/** The width of a text in pixels, measured once for each text and font, but each time until the page's fonts are
    there. */
export function textWidth(text, font) {
  if (!isLettered()) return measured(text, font);
  const key = `${font} ${text}`;
  if (!widths.has(key)) {
    if (widths.size > MOST_WIDTHS) widths.clear();
    widths.set(key, measured(text, font));
  }
  return widths.get(key);
}

function measured(text, font) {
  measurer ??= document.createElement("canvas").getContext("2d");
  measurer.font = font;
  return measurer.measureText(text).width;
}

export function monoFont(size) {
  return `${size}px ${readTheme().ink("mono")}`;
}

/** A token in Unicode isolates, so that right-to-left letters do not turn the sentence around. */
export const isolated = (token) => `\u2068${token}\u2069`;

/** A text, cut until fits(text) is true; at least one character and … stay. */
export function cut(text, fits) {
  if (fits(text)) return text;
  const characters = [...text];
  while (characters.length > 1 && !fits(`${characters.join("")}…`)) characters.pop();
  return `${characters.join("")}…`;
}

/** A text that is cut if it would be wider than `room`. */
export const shortened = (text, font, room) => cut(text, (shown) => textWidth(shown, font) <= room);

/** A text of at most `most` characters. */
export const abridged = (text, most) => cut(text, (shown) => [...shown].length <= most);
