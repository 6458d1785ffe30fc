// The width of texts, in drawings that place them.
import { readTheme } from "./theme.js";

const MOST_WIDTHS = 20000;

const widths = new Map();
let measurer = null;

export function emOf(root) {
  return parseFloat(getComputedStyle(root).fontSize);
}

/** The width of a text in pixels, measured once for each text and font. */
export function textWidth(text, font) {
  const key = `${font} ${text}`;
  if (!widths.has(key)) {
    measurer ??= document.createElement("canvas").getContext("2d");
    measurer.font = font;
    if (widths.size > MOST_WIDTHS) widths.clear();
    widths.set(key, measurer.measureText(text).width);
  }
  return widths.get(key);
}

/** Calls again once the code font is there: on a first visit texts may have been measured in another one. */
export function onFont(again) {
  document.fonts.load(monoFont(16)).then(() => { widths.clear(); again(); });
}

export function monoFont(size) {
  return `${size}px ${readTheme().ink("mono")}`;
}

/** A text that is cut where it would be wider than there is room. */
export function shortened(text, font, room) {
  let shown = text;
  while (shown.length > 1 && textWidth(shown, font) > room) shown = `${shown.slice(0, shown.endsWith("…") ? -2 : -1)}…`;
  return shown;
}
