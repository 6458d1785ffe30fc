
export default function ({ parentElement, data, setTriggerValue }) {
  show(parentElement.querySelector(".residual-grid"), data, setTriggerValue);
}
