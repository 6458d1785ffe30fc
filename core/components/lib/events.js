// What a reader does in a picture, as Python hears of it.
const REPEATED = 5000;          // ms

const told = new WeakMap();     // by a component's root: [number, name, value] of each event
let last = 0;

/** A number greater than all before: by the clock, so that a page that is loaded anew counts on. */
export const nextNumber = () => (last = Math.max(last + 1, Date.now()));

/**
 * The component with a setTriggerValue that loses nothing. Of what a component tells while the server is busy,
 * Streamlit keeps the newest alone. So each event takes those of the last moments along, numbered, and Python passes on
 * the ones that it has not heard of.
 */
export function tellingAll(component) {
  const { parentElement, setTriggerValue } = component;
  return { ...component, setTriggerValue: (name, value) => {
    const now = nextNumber(), recent = (told.get(parentElement) ?? []).filter(([number]) => number > now - REPEATED);
    told.set(parentElement, [...recent, [now, name, value]]);
    setTriggerValue("told", told.get(parentElement));
  } };
}
