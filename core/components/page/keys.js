// Keys belong to the element that takes them: a field, a slider, a list, a picture. All others are a presenter's.
import { button, make } from "../lib/dom.js";
import { isShortcut, takesKeys } from "../lib/keys.js";
import { Pen } from "./pen.js";

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
const ZOOMED = "tx-picture-alone";        // the class of the document that shows the picture alone: page.css

// The action of each key. A presenter's remote sends the arrows, PageUp, PageDown and "."
const DEEDS = { b: "blank", ".": "blank", p: "write", l: "pointer", z: "zoom", f: "full", "?": "list",
  Escape: "leave" };

/** titles: of the steps, `number` of which stands; keys: the rows of the list.
 * @typedef {{ name: string, titles: string[], number: number, keys: [string, string][] }} Message */

class Keys {
  constructor(parent) {
    this.root = parent.querySelector(".component");
    this.dark = make("div", "dark", this.root);
    this.dot = make("div", "dot", this.root);
    this.sheet = make("div", "sheet", this.root);
    this.pen = new Pen(make("canvas", "pen", this.root));
    for (const node of [this.dark, this.dot, this.sheet]) node.hidden = true;
    this.dark.onclick = () => this.blank();
    this.listeners = { keydown: (event) => this.pressed(event), pointermove: (event) => this.point(event) };
    for (const [name, listener] of Object.entries(this.listeners)) document.addEventListener(name, listener);
  }

  /** @param {Message} data */
  receive(data, trigger) {
    this.data = data;
    this.trigger = trigger;
  }

  /** Hear a key; after a press on a button or a link the arrows are still the presenter's. */
  pressed(event) {
    if (isShortcut(event) || takesKeys(event, this.root)) return;
    const { key } = event;
    if (!this.dark.hidden && (key in STEPS || /^\d$/.test(key))) { event.preventDefault(); this.blank(); return; }
    if (key in STEPS && !event.shiftKey) this.trigger("step", STEPS[key]);
    else if (/^\d$/.test(key)) this.jump(Number(key) || 10);
    else if (key in DEEDS) this[DEEDS[key]]();
    else return;
    event.preventDefault();
  }

  jump(to) {
    this.leave();
    if (to <= this.data.titles.length) this.trigger("jump", to);
  }

  blank() { this.dark.hidden = !this.dark.hidden; }

  write() { this.pen.toggle(); }

  pointer() {
    this.dot.hidden = !this.dot.hidden;
    document.documentElement.style.cursor = this.dot.hidden ? "" : "none";
  }

  point({ clientX, clientY }) { this.dot.style.translate = `${clientX}px ${clientY}px`; }

  zoom() {
    document.documentElement.classList.toggle(ZOOMED);
    window.dispatchEvent(new Event("resize"));      // the pictures fit themselves to their new room
  }

  full() { document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen?.(); }

  leave() {
    this.dark.hidden = this.sheet.hidden = true;
    if (!this.dot.hidden) this.pointer();
    if (this.pen.isOn) this.pen.toggle();
    if (document.documentElement.classList.contains(ZOOMED)) this.zoom();
  }

  /** List the steps, each a button, and the actions of the keys. */
  list() {
    const { sheet, data } = this;
    sheet.hidden = !sheet.hidden;
    if (sheet.hidden) return;
    sheet.replaceChildren();
    Object.assign(sheet, { role: "dialog", ariaLabel: data.name, tabIndex: -1 });
    const steps = make("ol", "", sheet), keys = make("dl", "", sheet);
    data.titles.forEach((title, index) => {
      const step = button(make("li", "", steps), title, "", () => this.jump(index + 1));
      if (index + 1 === data.number) step.ariaCurrent = "step";
    });
    for (const [key, deed] of data.keys) {
      make("dt", "", keys, key);
      make("dd", "", keys, deed);
    }
    sheet.focus();
  }

  end() {
    this.leave();
    this.pen.close();
    for (const [name, listener] of Object.entries(this.listeners)) document.removeEventListener(name, listener);
  }
}

/** @param {import("../lib/view.js").Given<Message>} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".component");
  root.presenter ??= new Keys(parentElement);
  root.presenter.receive(data, setTriggerValue);
  return () => { root.presenter?.end(); root.presenter = null; root.replaceChildren(); };
}
