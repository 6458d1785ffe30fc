// The places of the wall's tiles, how they are scrolled into sight, and the note on each head.

import { fill } from "../lib/dom.js";
import { probability, readable } from "../lib/numbers.js";
import { pageScale } from "../lib/theme.js";

export const GAP = 6;      // px

/** The height of a tile's name, in pixels. */
export const labelHeight = () => Math.round(15 * pageScale());

export const name = (wall, head) => `${Math.floor(head / wall.heads)}.${head % wall.heads}`;

/** A head's value of a measure, by its place among them; NaN: unknown. */
export const measureOf = (wall, measure, head) => wall.measures[measure * wall.layers * wall.heads + head];

/** The head's measures in words, with three significant digits; a dash for an unknown one. */
export const noteOf = (wall, head) => fill(wall.note, Object.fromEntries(wall.measured.map((measure, i) => {
  const value = measureOf(wall, i, head);
  return [measure, value > 1 ? readable(value) : probability(value)];
})));

/** The width of a tile's name if it stands beside the tile. */
export const labelWidth = () => Math.round(40 * pageScale());

// The room for a tile's name on its left, and above it.
export const beside = (wall) => (wall.aside ? labelWidth() : 0);
export const above = (wall) => (wall.aside ? 2 : labelHeight());

export const corner = (wall, head) => [
  wall.rail + 2 + beside(wall) + (head % wall.heads) * (wall.tile + beside(wall) + GAP),
  above(wall) + Math.floor(head / wall.heads) * (wall.tile + above(wall) + GAP)];

// The head that a key leads to from `head`, the same head at the edge; undefined for a key that leads nowhere.
export function neighbour(wall, head, key) {
  const column = head % wall.heads, last = wall.layers * wall.heads - 1;
  const to = { ArrowLeft: column > 0 ? head - 1 : head, ArrowRight: column < wall.heads - 1 ? head + 1 : head,
    ArrowUp: head - wall.heads, ArrowDown: head + wall.heads, Home: 0, End: last }[key];
  return to === undefined || (to >= 0 && to <= last) ? to : head;
}

export function place(node, left, top, width, height) {
  Object.assign(node.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
  return node;
}

// Scrolls the wall inside itself, as little as needed or until the head is in its middle; the page does not move.
export function bringIntoSight(wall, head, centred) {
  const { scroll, tile, rail } = wall, [x, y] = corner(wall, head), into = (start, size, now, room, before) =>
    centred ? start + size / 2 - room / 2 : Math.max(start + size + GAP - room, Math.min(now, start - before));
  scroll.scrollLeft = into(x, tile, scroll.scrollLeft, scroll.clientWidth, rail + 4);
  scroll.scrollTop = into(y - labelHeight(), tile + labelHeight(), scroll.scrollTop, scroll.clientHeight, 2);
}
