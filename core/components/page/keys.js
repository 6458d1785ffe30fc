// Keys belong to whatever has the focus (a slider, a field, a picture); a step is taken only when nothing has it, or
// what holds the whole page, as Streamlit's scrolling part does once it has been clicked.
import { isShortcut } from "../lib/keys.js";

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };

export default function ({ parentElement, setTriggerValue }) {
  parentElement.end?.();          // Streamlit calls anew when the theme changes, and ends the last call alone
  const here = parentElement.getRootNode().host ?? parentElement;
  const pressed = (event) => {
    const free = document.activeElement?.contains(here) ?? true;
    if (!free || !(event.key in STEPS) || isShortcut(event) || event.shiftKey) return;
    event.preventDefault();
    setTriggerValue("step", STEPS[event.key]);
  };
  document.addEventListener("keydown", pressed);
  parentElement.end = () => document.removeEventListener("keydown", pressed);
  return parentElement.end;
}
