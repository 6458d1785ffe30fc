
export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".residual-grid");
  root.answered = (bytes) => show(root, bytes, setTriggerValue);
  root.answered(data);
}
