// A class of phones, in the prompt bar: a button that opens it and then says its code and how many are there, with a
// dialog that shows the way in as large as the screen. What only an open dialog needs is loaded with it.
import { button, fill, setText } from "../lib/dom.js";
import { linkTo } from "../class_wall/link.js";

const KEPT = "transformer-class";        // in the storage of this tab: "CODE KEY"

export function kept() {
  try {
    return sessionStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

export function keep(text) {
  try {
    if (text) sessionStorage.setItem(KEPT, text);
    else sessionStorage.removeItem(KEPT);
  } catch { /* a browser that keeps nothing: the class lasts as long as the page */ }
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".component");
  root.desk ??= new Desk(root);
  root.desk.tell = setTriggerValue;
  root.desk.receive(data);
}

export class Desk {
  constructor(root) {
    this.root = root;
    this.opener = button(root, "", "", () => this.press(), "opener");
  }

  receive(data) {
    const { code, key } = data;
    Object.assign(this, { data, text: data.text });
    const name = code ? `${code} ${key}` : "";
    if (name) keep(name);
    else if (kept() && !this.restored) {        // the page was loaded anew
      this.restored = true;
      this.tell("opened", kept().split(" "));
    }
    if (name !== this.name) this.follow(name);
    this.sayCount();
    this.dialog?.receive();
  }

  /** Hear of the class that is open now. */
  follow(name) {
    this.quiet?.();
    this.name = name;
    this.shown = null;
    this.link = name ? linkTo(this.data.code, this.data.key, this.data.address) : null;
    this.quiet = this.link?.listen((shown) => {
      this.shown = shown;
      if (shown?.phase === "over") { keep(""); this.tell("ended", true); }
      this.sayCount();
      this.dialog?.hear(shown);
    });
  }

  sayCount() {
    const { code } = this.data;
    setText(this.opener, code ? fill(this.text.opener, { code, n: this.shown?.there ?? 0 }) : this.text.open);
    this.opener.title = code ? this.text.opener_title : this.text.open_title;
    this.opener.classList.toggle("on", Boolean(code));
  }

  async press() {
    const { DeskDialog } = await import("./dialog.js");
    this.dialog ??= new DeskDialog(this);
    this.dialog.open();
    if (!this.data.code) this.begin();
  }

  async begin() {
    try {
      const answer = await fetch(this.data.open, { method: "POST", body: "{}" });
      if (!answer.ok) throw new Error(String(answer.status));
      const { code, key } = await answer.json();
      this.tell("opened", [code, key]);
    } catch {
      this.dialog.say(this.text.cannot_open);
    }
  }

  async end() {
    await this.link?.act("end");
    keep("");
    this.tell("ended", true);
  }
}
