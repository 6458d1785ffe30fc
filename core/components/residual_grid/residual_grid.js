import { show } from "./grid.js";

/** @param {import("../lib/view.js").Given<Uint8Array>} component */
export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".residual-grid");
  show(root, data, setTriggerValue);
}
