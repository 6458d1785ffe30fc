// Patterns of heads: their packed rows, the words under the pointer, and cells painted on a colour scale.
import { chip, make } from "./dom.js";
import { readTheme } from "./theme.js";

// Query i may see the keys first[i] to last[i]; offset[i] is where its row begins among the packed values.
export function rowOffsets(first, last) {
  const offset = new Uint32Array(first.length + 1);
  for (let i = 0; i < first.length; i++) offset[i + 1] = offset[i] + last[i] - first[i] + 1;
  return offset;
}

/** The value of a cell among packed `values`, NaN if it is masked.
    @param {Record<"first" | "last" | "offset", ArrayLike<number>>} rows */
export function valueIn({ first, last, offset }, values, query, key) {
  return key < first[query] || key > last[query] ? NaN : values[offset[query] + key - first[query]];
}

const LONG_TOKEN = 12;

// A token as a chip that may be cut off: a long token is in its title in full.
export function tokenChip(token, meaning) {
  const node = chip(null, token, `chip ${meaning || ""}`);
  if (token.length > LONG_TOKEN) node.title = token;
  return node;
}

// The reading under the pointer: where, query chip → key chip, the exact amount, and a line of further words.
export function reading(where, query, key, amount, note) {
  const pair = make("div", "pair");
  pair.append(make("b", "", null, where), tokenChip(query, "query"), make("span", "", null, "→"), tokenChip(key, "key"),
    make("output", "", null, amount));
  return [pair, make("small", "", null, note)];
}

// Show `content` centred above the point (x, y) of its parent, or below (y + drop) if there is no room above, and never
// outside the parent.
export function showTip(tip, content, x, y, drop) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const room = tip.parentElement.clientWidth - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(x - tip.offsetWidth / 2, room))}px`;
  const above = y - tip.offsetHeight - 4;
  tip.style.top = `${above >= 0 ? above : y + drop}px`;
}

/** The index of the part, among `parts` equal ones, in which each of `count` places lies, and `parts` at the end. */
export const partsOf = (count, parts) =>
  Int32Array.from({ length: count + 1 }, (_, k) => Math.floor((k * parts) / count));

/** A head's cells to paint, from the `values` of all heads by rows {first, last, offset}: weights, whose levels follow
    their square root, or bytes that are levels already. */
export function cellsOf({ first, last, offset }, values, head) {
  const side = first.length, levels = new Int16Array(side * side).fill(-1), leveled = values instanceof Uint8Array;
  for (let i = 0, index = head * offset[side]; i < side; i++)
    for (let k = i * side + first[i]; k <= i * side + last[i]; k++, index++)
      if (leveled) levels[k] = values[index];
      else if (!Number.isNaN(values[index])) levels[k] = Math.round(255 * Math.sqrt(values[index]));
  return { levels, rows: side, columns: side };
}

// Levels (rows × columns) reduced to at most down × across: of cells that merge, the level furthest from `zero`.
function strongest({ levels, rows, columns, zero = 0 }, down, across) {
  if (rows <= down && columns <= across) return { levels, rows, columns };
  const fewer = { rows: Math.min(rows, down), columns: Math.min(columns, across) };
  const kept = (fewer.levels = new Int16Array(fewer.rows * fewer.columns).fill(-1));
  const rowOf = partsOf(rows, fewer.rows), columnOf = partsOf(columns, fewer.columns);
  for (let r = 0, k = 0; r < rows; r++)
    for (let c = 0; c < columns; c++, k++) {
      const level = levels[k], index = rowOf[r] * fewer.columns + columnOf[c];
      if (level >= 0 && (kept[index] < 0 || Math.abs(level - zero) > Math.abs(kept[index] - zero))) kept[index] = level;
    }
  return fewer;
}

// Paint tiles of cells, {levels, rows, columns, zero}, into an image, each in a box of its pixels: a pixel takes the
// cell it lies in, or the strongest of several. Levels are 0 … 255 of the scale, and −1, a faint hatch, for masked
// cells.
export function paintCells({ data, width: stride, height: most }, tiles, scale, period) {
  const pixels = new Uint32Array(data.buffer), { packed } = readTheme();
  const ground = new Uint32Array(stride + most).map((_, k) => packed(k % period ? "page" : "grid"));
  for (const [[left, top, width, height], cells] of tiles) {
    const { levels, rows, columns } = strongest(cells, height, width);
    const rowOf = partsOf(height, rows), columnOf = partsOf(width, columns);
    for (let y = 0; y < height; y++)
      for (let x = 0, pixel = (top + y) * stride + left, row = rowOf[y] * columns; x < width; x++, pixel++) {
        const level = levels[row + columnOf[x]];
        pixels[pixel] = level < 0 ? ground[x + y] : scale[level];
      }
  }
}
