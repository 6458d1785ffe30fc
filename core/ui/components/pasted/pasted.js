const WHOLE = ["insertFromPaste", "insertFromDrop", "insertReplacementText"];
const LOW = /[\uDC00-\uDFFF]/g;       // the second half of a character that JavaScript counts as two

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
    document.execCommand("insertText", false, Array.from(whole.slice(-2 * data.most)).slice(-data.most).join(""));      // as if typed: it can be undone
    setTriggerValue("characters", characters);
  };
  document.addEventListener("beforeinput", before);
  return () => document.removeEventListener("beforeinput", before);
}
