// The page's colours and fonts: the variables --tx-… that core/figures/style.py names, on the document's root.
import { packed, rgb, tableOf } from "./colours.js";

const STOPS = 9;

let current = null;

function variable(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--tx-${name}`).trim();
}

function remembered(make) {
  const known = new Map();
  return (name) => {
    if (!known.has(name)) known.set(name, make(name));
    return known.get(name);
  };
}

/**
 * The theme as the page has it now; the same object until the page has another.
 * ink(name) is a colour or font as CSS, packed(name) a colour for ImageData, stops(scale) the nine [r, g, b] of "seq"
 * or "div", and table(scale) 256 packed colours between them.
 */
export function readTheme() {
  const page = variable("page");
  if (current?.page === page) return current;
  const ink = remembered(variable);
  const stops = remembered((scale) => Array.from({ length: STOPS }, (_, k) => rgb(ink(`${scale}-${k}`))));
  const table = remembered((scale) => tableOf(stops(scale)));
  current = { page, ink, stops, table, packed: remembered((name) => packed(rgb(ink(name)))) };
  return current;
}

/** How much larger than usual everything is drawn: above 1 in present mode. */
export function pageScale() {
  return Number(variable("scale")) || 1;
}

/** Call draw() once the page's colours are there: on a first visit they may be late, and a canvas would stay black. */
export function whenStyled(node, draw) {
  if (variable("page")) draw();
  else if (node.isConnected) requestAnimationFrame(() => whenStyled(node, draw));
}

/** The pixels at the foot of the window that present mode keeps for a step of a class or of "Try this"; else 0. */
export function pageFoot() {
  return parseFloat(variable("foot")) || 0;
}
