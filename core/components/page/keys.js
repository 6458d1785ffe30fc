// Keys belong to whatever has the focus (a slider, a field, a picture); a step is taken only if nothing has it, or an
// element that contains the whole page, as Streamlit's scrolling part does once it has been clicked.
import { isShortcut } from "../lib/keys.js";

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };

export default function ({ parentElement, setTriggerValue }) {
  parentElement.end?.();          // Streamlit calls this again when the theme changes, but ends only the last call
  const host = parentElement.getRootNode().host ?? parentElement;
  const pressed = (event) => {
    const free = document.activeElement?.contains(host) ?? true;
    if (!free || !(event.key in STEPS) || isShortcut(event) || event.shiftKey) return;
    event.preventDefault();
    setTriggerValue("step", STEPS[event.key]);
  };
  document.addEventListener("keydown", pressed);
  parentElement.end = () => document.removeEventListener("keydown", pressed);
  return parentElement.end;
}
