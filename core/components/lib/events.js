// A reader's actions in a picture, as events for Python.
const REPEATED = 5000;          // ms

const told = new WeakMap();     // by a component's root: [number, name, value] of each event
let last = 0;

/** A number greater than all before: from the clock, so that a reloaded page counts on. */
export const nextNumber = () => (last = Math.max(last + 1, Date.now()));

/**
 * The component with a setTriggerValue that loses no event. While the server is busy, Streamlit keeps only the newest
 * event of a component. So each event takes those of the last moments along, numbered, and Python passes on the ones
 * that it has not heard yet.
 */
export function tellingAll(component) {
  const { parentElement, setTriggerValue } = component;
  return { ...component, setTriggerValue: (name, value) => {
    const now = nextNumber(), recent = (told.get(parentElement) ?? []).filter(([number]) => number > now - REPEATED);
    told.set(parentElement, [...recent, [now, name, value]]);
    setTriggerValue("told", told.get(parentElement));
  } };
}
