// The switch that lets questions come before pictures, and the way to a question that was answered: __init__.py
// describes the messages and events.
import { button, make } from "../lib/dom.js";
import { mounted, View } from "../lib/view.js";
import { setAsks } from "./memory.js";

/** @extends {View} */
class Switch extends View {
  /** @param {{ mode: string, on: boolean, again?: boolean, text: Record<string, string> }} header */
  receive(header) {
    const written = JSON.stringify(header);
    if (written === this.written) return;
    this.written = written;
    this.root.dataset.mode = header.mode;
    this.root.replaceChildren();
    const label = make("label", "switch", this.root), box = make("input", "", label);
    box.type = "checkbox";
    box.role = "switch";
    box.checked = header.on;
    label.append(header.text.switch);
    box.onchange = () => { setAsks(box.checked); this.trigger("switch", box.checked); };
    if (header.again) button(this.root, header.text.again, "", () => this.trigger("again", true), "quiet");
  }
}

export default mounted(Switch);
