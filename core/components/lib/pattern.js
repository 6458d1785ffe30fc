// Patterns of heads: their packed rows, the words under the pointer, and cells painted on a colour scale.
import { chip, make } from "./dom.js";
import { readTheme } from "./theme.js";

// The keys that each query may see stand from first[i] to last[i]; offset[i] is where row i begins among the
// packed values.
export function rowOffsets(first, last) {
  const offset = new Uint32Array(first.length + 1);
  for (let i = 0; i < first.length; i++) offset[i + 1] = offset[i] + last[i] - first[i] + 1;
  return offset;
}

/** The value of a cell among packed `values`, NaN where the mask forbids. @param {object} rows {first, last, offset} */
export function valueIn({ first, last, offset }, values, query, key) {
  return key < first[query] || key > last[query] ? NaN : values[offset[query] + key - first[query]];
}

const LONG_TOKEN = 12;

// A token as a chip that may be cut: a long one says itself in full under the pointer.
export function tokenChip(token, meaning) {
  const node = chip(null, token, `chip ${meaning || ""}`);
  if (token.length > LONG_TOKEN) node.title = token;
  return node;
}

// What is read under the pointer: where, query chip → key chip, the exact amount, and a line of further words.
export function reading(where, query, key, amount, note) {
  const pair = make("div", "pair");
  pair.append(make("b", "", null, where), tokenChip(query, "query"), make("span", "", null, "→"), tokenChip(key, "key"),
    make("output", "", null, amount));
  return [pair, make("small", "", null, note)];
}

// Shows `content` centred above the point (x, y) of its parent, below where there is no room (y + drop), and never
// outside the parent.
export function showTip(tip, content, x, y, drop) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const room = tip.parentElement.clientWidth - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(x - tip.offsetWidth / 2, room))}px`;
  const above = y - tip.offsetHeight - 4;
  tip.style.top = `${above >= 0 ? above : y + drop}px`;
}

// Of levels (rows × columns) at most down × across: of those that become one the furthest from `zero`.
function strongest({ levels, rows, columns, zero = 0 }, down, across) {
  if (rows <= down && columns <= across) return { levels, rows, columns };
  const fewer = { rows: Math.min(rows, down), columns: Math.min(columns, across) };
  fewer.levels = new Int16Array(fewer.rows * fewer.columns).fill(-1);
  levels.forEach((level, k) => {
    const row = Math.floor((Math.floor(k / columns) * fewer.rows) / rows);
    const at = row * fewer.columns + Math.floor(((k % columns) * fewer.columns) / columns), held = fewer.levels[at];
    if (level >= 0 && (held < 0 || Math.abs(level - zero) > Math.abs(held - zero))) fewer.levels[at] = level;
  });
  return fewer;
}

// Paints cells, {levels, rows, columns, zero}, into an image, in a box of its pixels: each pixel takes the cell it lies
// in, or the strongest of several. Levels are 0 … 255 of the scale and −1 where the mask leaves nothing, a faint hatch.
export function paintCells({ data, width: stride }, [left, top, width, height], cells, scale, period) {
  const pixels = new Uint32Array(data.buffer), { packed } = readTheme(), hatch = packed("grid"), page = packed("page");
  const { levels, rows, columns } = strongest(cells, height, width);
  for (let y = 0; y < height; y++) {
    const row = Math.floor((y * rows) / height) * columns, at = (top + y) * stride + left;
    for (let x = 0; x < width; x++) {
      const level = levels[row + Math.floor((x * columns) / width)];
      pixels[at + x] = level >= 0 ? scale[level] : (x + y) % period === 0 ? hatch : page;
    }
  }
}
