// The teacher's side of a class: what is sent to phones and what they answer, with a dialog that shows how to join as
// large as the screen. Code that only an open dialog needs is loaded with it.
import { fill, make } from "../lib/dom.js";
import { linkTo } from "../class_wall/link.js";
import { FOLLOWED, keep, kept, offer } from "./class_desk.js";
import { isOwn } from "./own.js";

const FOLLOWED_EVERY = 700;              // ms
// settings in an address that only the teacher's page has
const OWN = ["present", "class", "class_plan", "class_revealed", "ask", "look"];

/** The path of the page in its form for phones. */
function placeOf({ pathname, search }) {
  const query = new URLSearchParams(search);
  for (const name of OWN) query.delete(name);
  query.set("ask", "0");
  return `${pathname}?${query}`;
}

const STEP = ".st-key-class_question";
/** Whether a question stands on the wall in place of its picture, which phones must not see before. */
const isCovered = () => Boolean(document.querySelector(`.st-key-class_wall, ${STEP}`));

/** __init__.py describes it.
 * @typedef {{ text: Record<string, string>, open: string, code?: string, key?: string, prompt?: string,
 *   address?: { events: string, act: string }, addresses?: { short: string, qr: string }[], only_here?: boolean,
 *   lead?: string, lead_qr?: string, notes?: object | null, present?: boolean, shelf?: [string, string][], told?: any,
 *   heads?: any, effect?: any }} Message */

export class Desk {
  constructor(root) {
    this.root = root;
    this.opener = root.opener;
    /** @type {import("./dialog.js").DeskDialog} */
    this.dialog = null;
  }

  /** @param {{ data: Message, tell(name: string, value: any): void }} latest */
  receive({ data, tell }) {
    const { code, key } = data;
    this.tell = tell;
    this.data = data;
    this.text = data.text;
    const name = code ? `${code} ${key}` : "";
    if (name) keep(name);
    else if (kept() && !this.restored) {        // the page was reloaded
      this.restored = true;
      this.tell("opened", kept().split(" "));
    }
    if (name !== this.name) this.follow(name);
    this.sayCount();
    this.note();
    this.dialog?.receive();
  }

  /** Listen to the class that is open now. */
  follow(name) {
    this.quiet?.();
    clearInterval(this.following);
    this.follows = "off";
    this.name = name;
    this.shown = null;
    this.link = name ? linkTo(this.data.code, this.data.key, this.data.address) : null;
    this.quiet = this.link?.listen((shown) => {
      this.shown = shown;
      if (shown?.phase === "over") { keep(""); this.tell("ended", true); }
      this.heed(shown?.signal);
      this.goOnFollowing(shown);
      this.sayCount();
      this.dialog?.hear(shown);
      this.showOwn(shown);
    });
  }

  close() {
    this.quiet?.();
    clearInterval(this.following);
    this.dialog?.close();
  }

  /** After a reload, let phones follow as before. */
  goOnFollowing(shown) {
    const [code, key, follows] = kept(FOLLOWED).split(" ");
    if (!shown || this.follows !== "off" || `${code} ${key}` !== this.name) return;
    if (follows === "freeze") this.follows = follows;       // the phones still have that picture
    else this.letFollow(follows);
  }

  /** Show the teacher's own question, which the second device may have asked, alone on the wall. */
  showOwn(shown) {
    if (shown?.phase === "open" && isOwn(shown.asked)) this.withDialog((dialog) => dialog.showOwn(shown.asked));
  }

  /** Do what the second device asks for: a game; or the next or previous step, as by a presenter's remote, which also
      reveals the question of a step. */
  heed([number, what, given] = [0, "", ""]) {
    const isNew = this.heard !== undefined && number > this.heard, isStep = document.querySelector(STEP);
    const key = { next: "PageDown", back: "PageUp", reveal: isStep ? "PageDown" : "" }[what];
    this.heard = number;
    if (!isNew || ["next", "reveal"].includes(what) && this.dialog?.goOn(what)) return;
    if (["story", "guess", "heads"].includes(what)) this.play(what, given);
    else if (what === "stop") this.dialog?.node.close();
    else if (key) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }

  /** Tell the second device the present step of the plan. */
  note() {
    const { notes } = this.data, written = JSON.stringify(notes);
    if (!this.link || written === this.noted) return;
    this.noted = written;
    this.link.act("note", { notes });
  }

  /** Let phones show the picture on the wall as it changes ("on"), the picture of this moment ("freeze"), or none
      ("off"). */
  letFollow(how) {
    clearInterval(this.following);
    this.sent = undefined;
    this.follows = how;
    keep(how === "off" ? "" : `${this.name} ${how}`, FOLLOWED);
    if (how === "off") { this.link?.act("follow", { link: "" }); return; }
    const say = () => {
      const link = isCovered() ? "" : placeOf(location);
      if (link === this.sent) return;
      this.sent = link;
      this.link?.act("follow", { link });
    };
    say();
    if (how === "on") this.following = setInterval(say, FOLLOWED_EVERY);
  }

  sayCount() {
    const { code, addresses } = this.data, n = this.shown?.there ?? 0;
    offer(this.opener, this.data);
    if (!code) return;
    this.opener.replaceChildren();
    make("span", "at", this.opener, addresses[0].short);
    make("span", "", this.opener, fill(this.text.opener, { code, n }));
    this.opener.title = this.text.opener_title;
    this.opener.classList.add("on");
  }

  /** Ask how probable the model finds these words after a text; `data.told` then has the answer. */
  read(text, words) {
    this.tell("read", [text, words]);
  }

  async press() {
    await this.withDialog((dialog) => dialog.open());
    if (!this.data.code) this.begin();
  }

  play(kind, given) {
    return this.withDialog((dialog) => dialog.play(kind, given));
  }

  async withDialog(then) {
    const { DeskDialog } = await import("./dialog.js");
    then(this.dialog ??= new DeskDialog(this));
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
