// Keys belong to whatever has the focus (a slider, a field, a picture); a step is taken only when nothing has it.
const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };

export default function ({ parentElement, setTriggerValue }) {
  parentElement.end?.();          // Streamlit calls anew when the theme changes, and ends the last call alone
  const pressed = (event) => {
    const focus = document.activeElement;
    const free = !focus || focus === document.body || focus.matches("[data-testid=stMain], [data-testid=stApp]");
    if (!free || !(event.key in STEPS) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    setTriggerValue("step", STEPS[event.key]);
  };
  document.addEventListener("keydown", pressed);
  parentElement.end = () => document.removeEventListener("keydown", pressed);
  return parentElement.end;
}
