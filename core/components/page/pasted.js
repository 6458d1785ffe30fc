const WHOLE = ["insertFromPaste", "insertFromDrop", "insertReplacementText"];
const LOW = /[\uDC00-\uDFFF]/g;       // the second half of a character that JavaScript counts as two

/** @param {Pick<import("../lib/view.js").Given<import("./page.js").Message>, "data" | "setTriggerValue">} component */
export default function ({ data, setTriggerValue }) {
  const before = (event) => {
    const field = event.target;
    if (!WHOLE.includes(event.inputType) || !field.matches(data.field)) return;
    const added = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
    const whole = field.value.slice(0, field.selectionStart) + added + field.value.slice(field.selectionEnd);
    if (whole.length <= data.most) return;
    const characters = whole.length - (whole.match(LOW)?.length ?? 0);
    if (characters <= data.most) return;
    event.preventDefault();
    field.select();
    // as if typed, so that it can be undone
    document.execCommand("insertText", false, Array.from(whole.slice(-2 * data.most)).slice(-data.most).join(""));
    setTriggerValue("characters", characters);
  };
  // Before Streamlit's own listeners, and through the prototype, or they would ignore the value as already seen.
  const input = ({ target, isComposing }) => {
    if (isComposing || typeof target.value !== "string" || target.value.isWellFormed?.() !== false) return;
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(target), "value").set.call(target,
      target.value.toWellFormed());
  };
  document.addEventListener("beforeinput", before);
  document.addEventListener("input", input, true);
  return () => {
    document.removeEventListener("beforeinput", before);
    document.removeEventListener("input", input, true);
  };
}
