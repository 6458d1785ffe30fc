// What matrix and lines share: the value of a cell, its level on the colour scale, and the words and inks for it.
import { exact } from "../lib/numbers.js";
import { readTheme } from "../lib/theme.js";

// The value of a cell; NaN where the mask forbids.
export function valueOf(view, query, key) {
  if (key < view.first[query] || key > view.last[query]) return NaN;
  return view.values[view.offset[query] + key - view.first[query]];
}

// 0..255 on the colour scale: square root of a weight, or a score against the largest one, zero in the
// middle; −1 masked.
export function levelOf(view, value) {
  if (Number.isNaN(value)) return -1;
  return Math.round(view.signed ? 127.5 + 127.5 * (value / (view.reach || 1)) : 255 * Math.sqrt(value));
}

export const shown = (view, value) => (Number.isNaN(value) ? view.text.masked : exact(value));

export function inks() {
  const { ink } = readTheme();
  return { text: ink("text"), muted: ink("muted"), page: ink("page"), grid: ink("grid"), query: ink("query-ink"),
    key: ink("key-ink"), mono: ink("mono"), font: ink("font") };
}

export function shorten(token, most) {
  const letters = [...token];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : token;
}
