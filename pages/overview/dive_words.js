// What stands in words around the picture: the way back as crumbs, what is changed, and what the keys go into.
import { button, fill, labelled, make } from "../../core/components/lib/dom.js";
import { DEPTHS, wayTo, written } from "./dive_path.js";

// the depths whose part can be switched off
const SWITCHES = ["heads", "head", "product", "neurons", "neuron"];

/** @import { Place } from "./dive_path.js" */

/** The name of a place as a crumb. @param {any} dive @param {Place} place */
function nameOf(dive, { depth, at }) {
  const { tokens, d_k = 1, text } = dive.map;
  const { block, head, query, token, key, number, neuron, word } = Object.fromEntries(
    DEPTHS[depth].names.map((name, k) => [name, at[k]]));
  return fill(text[`dive_crumb_${depth}`], { block, head, token: tokens[query ?? token], key: tokens[key], neuron,
    word: dive.words.get(word), name: text[number >= d_k ? "dive_key" : "dive_query"], c: number % d_k });
}

/** The places around the open one, each a way back, and what can be done at it. @param {any} dive */
export function writeCrumbs(dive) {
  const { map, crumbs, place } = dive, { text } = map;
  if (!dive.isOpen) { crumbs.replaceChildren(); return; }
  const way = wayTo(place);
  crumbs.ariaLabel = text.dive_crumbs;
  crumbs.replaceChildren(...way.flatMap((outer, k) => crumb(dive, outer, k === way.length - 1)),
    make("span", "hint", null, text[`dive_hint_${place.depth}`] ?? text.dive_hint), ...doings(dive));
  crumbs.scrollLeft = crumbs.scrollWidth;
}

function crumb(dive, place, isLast) {
  const node = button(null, nameOf(dive, place), "", () => dive.goTo(place, { byKeys: true }), "crumb");
  if (!isLast) return [node, make("span", "sign", null, "›")];
  node.ariaCurrent = "location";
  return [node];
}

function doings({ map, place }) {
  const { depth } = place, at = written(place), { text } = map;
  const canSwitch = SWITCHES.includes(depth) && map.edit !== at;
  return [
    ...(canSwitch ? [button(null, text[`dive_switch_${depth}`], "", () => map.send("edited", at), "switch")] : []),
    ...(depth in map.more
      ? [button(null, fill(text.dive_more, { name: map.more[depth] }), "", () => map.send("opened", depth), "more")]
      : [])];
}

/** The button that says what is changed, and puts it back. @param {any} dive */
export function writeRestore({ map: { restore, edited, send } }) {
  restore.hidden = !edited;
  restore.textContent = edited;
  restore.onclick = () => send("edited", "");
}

/** What the keys go into or change, each over its part of the picture. @param {any} dive */
export function writeChildren(dive, { children, chosen = 0 }) {
  dive.list.replaceChildren(...children.map(({ name, box: [x, y, w, h], place, edit }, k) => {
    const press = () => (edit ? dive.map.send("edited", edit) : dive.goTo(place, { byKeys: true }));
    const node = button(null, "", "", press, "child");
    labelled(node, name).title = "";
    node.tabIndex = k === chosen ? 0 : -1;
    Object.assign(node.style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });
    return node;
  }));
}

/** The focus goes to what the keys would enter, or to where one is. @param {any} dive */
export function focusOn({ isOpen, list, crumbs, map }) {
  const target = isOpen ? list.querySelector("[tabindex='0']") ?? crumbs.querySelector("[aria-current]") : map.over;
  /** @type {HTMLElement} */ (target)?.focus({ preventScroll: true });
}
