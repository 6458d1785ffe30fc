import { show } from "./grid.js";


export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".residual-grid");
  show(root, data, setTriggerValue);
}
