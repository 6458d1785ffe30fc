// Small numbers on the parts of the map, for a reader who comes from the tour: the step in which each part was met, and
// the way back to it.
import { fill, make } from "../../core/components/lib/dom.js";
import { followed } from "../../core/components/lib/links.js";

const APART = 5;            // px between a part's name and its number
const STAGES = { tokens: "tokens", E: "embed", blocks: "attention", attention: "attention",
  feed_forward: "feed_forward", softmax: "softmax", draw: "draw" };

/** The numbers of `map.met`, {part: {step, href}}: behind a part's name, in the gutter before the first block, or in
    the column of predictions. Each is veiled with its part. */
export function placeMet(map) {
  for (const [part, { step, href }] of Object.entries(map.met)) {
    const node = (map.badges[part] ??= newBadge(map, part)), name = fill(map.text.met, { step });
    const place = placeOf(map, part);
    Object.assign(node, { href, step, title: name, ariaLabel: name, hidden: !place,
      stage: part === "draw" ? 0 : map.stages.findIndex((stage) => stage.name === STAGES[part]) });
    node.textContent = String(step);
    Object.assign(node.style, place);
  }
}

function newBadge(map, part) {
  const homes = { softmax: map.out, draw: map.append.parentElement };
  const node = make("a", "met", homes[part] ?? map.labels);
  followed(node, () => map.send("stepped", node.step));
  node.addEventListener("click", (event) => event.stopPropagation());       // the map takes it for a press on a row
  return node;
}

// Its style; null if this model has no such part.
function placeOf(map, part) {
  const { geometry: g, nodes, heading } = map;
  if (["softmax", "draw"].includes(part) && map.silence) return null;
  if (part === "draw") return {};                     // in a row with the buttons
  if (part === "softmax") return behind(heading.softmax.firstChild, map.out);
  if (g.wide && part in { attention: 1, feed_forward: 1 }) {
    if (part === "feed_forward" && !map.d_ff) return null;
    const y = (part === "attention" ? g.parts.tiles : g.parts.mlp) - g.line / 2;
    return { left: `${g.fanTo - 2 + g.gutter / 2}px`, top: `${y}px`, translate: "-50% -50%" };
  }
  if (part === "E") return behindImage(map);
  const label = nodes.get({ attention: "block_0", feed_forward: "wrote_mlp_0" }[part] ?? part);
  return label ? behind(label.firstChild, map.labels) : null;
}

// Behind the name of E, or of X where nothing is added, or else behind its shape, where the next name leaves no room.
function behindImage({ nodes, badges, labels }) {
  const [name, shape] = (nodes.get("head_E") ?? nodes.get("head_X")).children, next = nodes.get("head_P");
  const place = behind(name, labels), end = parseFloat(place.left) + badges.E.offsetWidth;
  return next && end > next.offsetLeft ? behind(shape, labels) : place;
}

function behind(text, home) {
  const box = text.getBoundingClientRect(), from = home.getBoundingClientRect();
  return { left: `${box.right - from.left + APART}px`, top: `${(box.top + box.bottom) / 2 - from.top}px`,
    translate: "0 -50%" };
}
