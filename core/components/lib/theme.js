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
 * The page's present theme; the same object until the page has another.
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

/** The scale of everything drawn: 1, and more in present mode. */
export function pageScale() {
  return Number(variable("scale")) || 1;
}

let fonts = null, lettered = false;

/** Whether the page's fonts are there, or will not come. */
export const isLettered = () => lettered;

/** Note when the fonts are there. */
function letters() {
  const came = () => { lettered = true; };
  return fonts ??= Promise.all(["font", "mono"].map((name) => document.fonts.load(`16px ${variable(name)}`)))
    .then(came, came);
}

/** Call draw() once the page's colours are there, and again once its fonts are: on a first visit both may be late, and
    a canvas would stay black, or in another font. */
export function whenStyled(node, draw) {
  if (variable("page")) {
    draw();
    if (!lettered) letters().then(() => node.isConnected && draw());
  } else if (node.isConnected) requestAnimationFrame(() => whenStyled(node, draw));
}

/** The pixels at the foot of the window that present mode keeps for a step of a class or of "Try this"; else 0. */
export function pageFoot() {
  return parseFloat(variable("foot")) || 0;
}
