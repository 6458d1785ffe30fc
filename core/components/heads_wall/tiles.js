// Where the tiles of the wall stand, and how they come into sight.

export const LABEL = 15, GAP = 6;      // px

export const name = (wall, head) => `${Math.floor(head / wall.heads)}.${head % wall.heads}`;

export const corner = (wall, head) => [wall.rail + 2 + (head % wall.heads) * (wall.tile + GAP),
  LABEL + Math.floor(head / wall.heads) * (wall.tile + LABEL + GAP)];

// The head that a key leads to from head `at`, itself at the edge; undefined for a key that leads nowhere.
export function neighbour(wall, at, key) {
  const column = at % wall.heads, last = wall.layers * wall.heads - 1;
  const to = { ArrowLeft: column > 0 ? at - 1 : at, ArrowRight: column < wall.heads - 1 ? at + 1 : at,
    ArrowUp: at - wall.heads, ArrowDown: at + wall.heads, Home: 0, End: last }[key];
  return to === undefined || (to >= 0 && to <= last) ? to : at;
}

export function place(node, left, top, width, height) {
  Object.assign(node.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
  return node;
}

// Scrolls the wall inside itself, as little as needed or until the head stands in its middle; the page
// stays where it is.
export function bringIntoSight(wall, head, centred) {
  const { scroll, tile, rail } = wall, [x, y] = corner(wall, head), into = (at, size, now, room, before) =>
    centred ? at + size / 2 - room / 2 : Math.max(at + size + GAP - room, Math.min(now, at - before));
  scroll.scrollLeft = into(x, tile, scroll.scrollLeft, scroll.clientWidth, rail + 4);
  scroll.scrollTop = into(y - LABEL, tile + LABEL, scroll.scrollTop, scroll.clientHeight, 2);
}
