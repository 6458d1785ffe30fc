import { keepFocus } from "../lib/focus.js";

const KEY = "st-key-";      // Streamlit's class of an element with a key
const LEVELS = 3;           // places around a control to search for its heir: its own, its row, the rows
const CONTROL = "button, input, textarea, a[href], summary, [tabindex]";

// The places of a control: the selectors of the innermost elements around it that have a key, each with the control's
// rank among the controls there.
function placesOf(node) {
  const places = [];
  for (let place = node.closest(`[class*="${KEY}"]`); place && places.length < LEVELS;
      place = place.parentElement.closest(`[class*="${KEY}"]`)) {
    const key = [...place.classList].find((name) => name.startsWith(KEY));
    places.push({ selector: `.${CSS.escape(key)}`, rank: [...place.querySelectorAll(CONTROL)].indexOf(node),
      tag: node.tagName });
  }
  return places;
}

const heirOf = (places) =>
  places.map(({ selector, rank }) => document.querySelector(selector)?.querySelectorAll(CONTROL)[rank])
    .find((heir) => heir?.tagName === places[0].tag);

export default () => keepFocus(document, placesOf, heirOf);
