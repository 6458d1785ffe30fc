import { findAcross } from "../lib/find.js";
import { contentsAround } from "../lib/scrolled.js";

const LOOKS = 100, STILL = 4;           // ms between two looks, and looks in which an element has not moved: it stands
const PATIENCE = 90_000, FRAMED = 8_000;        // ms until it is given up, and ms that the frame stays
const MOST = 5;                         // scrolls: the parts above may still grow
const AIR = 6;                          // px between the element and its frame
const MARGIN = 10;                      // px between an element that is scrolled to and the bars over the page
const DEEDS = ["pointerdown", "keydown", "wheel"];
let told = "", stop = () => {};

/** The element's selector, and a new text for each time that it must be shown.
 * @param {Pick<import("../lib/view.js").Given<{ element: string, at: string }>, "data" | "parentElement">} component */
export default function ({ data, parentElement }) {
  if (data.at === told) return;
  told = data.at;
  stop();
  show(data.element, () => parentElement.isConnected);
}

function show(element, isWanted) {
  const frame = document.createElement("div");
  let until = Date.now() + PATIENCE, seen = "", looks = 0, scrolls = 0;
  const follow = () => {
    const node = findAcross(document, element), box = node?.getBoundingClientRect();
    frame.hidden = !box?.width;
    if (box) place(frame, box);
    return box?.width ? { node, box } : null;
  };
  const look = () => {
    if (Date.now() > until || !isWanted()) { stop(); return; }
    const found = follow(), { left, top, width, height } = found?.box ?? {}, now = `${[left, top, width, height]}`;
    looks = found && now === seen ? looks + 1 : 0;
    seen = now;
    if (looks < STILL) return;
    if (scrolls < MOST && bringIntoSight(found.node, found.box)) { scrolls++; looks = 0; }
    if (frame.isConnected) return;
    frame.className = "idea-frame";
    document.body.append(frame);
    until = Date.now() + FRAMED;
  };
  const timer = setInterval(look, LOOKS);
  addEventListener("scroll", follow, true);
  /** @type {(event: any) => void} */
  const deed = ({ repeat }) => { if (!repeat) stop(); };
  for (const kind of DEEDS) addEventListener(kind, deed, true);
  stop = () => {
    clearInterval(timer);
    frame.remove();
    removeEventListener("scroll", follow, true);
    for (const kind of DEEDS) removeEventListener(kind, deed, true);
  };
}

function place(frame, { left, top, width, height }) {
  Object.assign(frame.style, { left: `${left - AIR}px`, top: `${top - AIR}px`, width: `${width + 2 * AIR}px`,
    height: `${height + 2 * AIR}px` });
}

/** Scroll to an element that is not wholly in sight, and return whether that was needed. An element higher than the
    room for it is shown from its top. */
function bringIntoSight(node, { top, bottom, height }) {
  const { scrollPaddingTop, scrollPaddingBottom } = getComputedStyle(contentsAround(node).at(-1).parentElement);
  const first = parseFloat(scrollPaddingTop), last = innerHeight - parseFloat(scrollPaddingBottom);
  const isHigh = height > last - first;
  if (isHigh ? Math.abs(top - first) < 1 : top >= first - MARGIN && bottom <= last + MARGIN) return false;
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
  node.scrollIntoView({ block: isHigh ? "start" : "nearest", inline: "nearest", behavior });
  return true;
}
