// The field that finds every place of the app: a button in the prompt bar, and the keys that open it. The places, and
// the script that searches them, are loaded when it is first opened.
import { button, draw, labelled, make } from "../lib/dom.js";

const TYPED = "input:not([type=checkbox], [type=radio], [type=range], [type=button]), textarea, [contenteditable=true]";

/** Whether a key was pressed in a field for text; a component's own field is found inside its shadow root. */
function isTyped(event) {
  const [node] = event.composedPath();
  return node instanceof Element && node.matches(TYPED);
}

function opens(event) {
  if (event.defaultPrevented || event.altKey) return false;
  const held = event.ctrlKey || event.metaKey;
  return held ? event.key.toLowerCase() === "k" && !event.shiftKey : event.key === "/" && !isTyped(event);
}

/** path: the address that has all places. @typedef {{ text: Record<string, string>, path: string }} Message */

/** @param {import("../lib/view.js").Given<Message>} component */
export default function ({ data, parentElement, setTriggerValue }) {
  parentElement.end?.();          // Streamlit calls this again when the theme changes, but ends only the last call
  const root = parentElement.querySelector(".component");
  root.told = { data, go: (id) => setTriggerValue("go", id) };
  if (!root.firstChild) {
    const opener = button(root, "", "", () => open(root), "opener");
    const glass = draw("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, opener);
    draw("path", { d: "M10.2 10.2 L14.5 14.5 M11.5 6.7 a4.8 4.8 0 1 1 -9.6 0 a4.8 4.8 0 1 1 9.6 0" }, glass);
    make("span", "", opener, data.text.find);
    make("kbd", "", opener, "/").ariaHidden = "true";
    opener.setAttribute("aria-keyshortcuts", "Control+K /");
    labelled(opener, data.text.find_title);
  }
  const pressed = (event) => {
    if (!opens(event) || document.querySelector("[role=dialog][aria-modal=true]")) return;
    event.preventDefault();
    open(root);
  };
  document.addEventListener("keydown", pressed);
  parentElement.end = () => document.removeEventListener("keydown", pressed);
  return parentElement.end;
}

async function open(root) {
  const { Finder } = await import("./finder.js");
  root.finder ??= new Finder(root);
  root.finder.open(root.told);
}
