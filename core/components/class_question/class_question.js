// The question in large type, its answers and the prompt below it, and a timer that its button or the key t starts and
// stops.
import { button, make, setText } from "../lib/dom.js";
import { isShortcut, takesKeys } from "../lib/keys.js";
import { mounted, View } from "../lib/view.js";
import { inline } from "../prediction/inline.js";

const SECONDS = 60, TICK = 250;       // TICK in ms

/** @typedef {{ ask: string, options: string[], prompt: string, text: Record<string, string>, scale: number,
 *   short: boolean }} Message */

/** @extends {View} */
class Question extends View {
  constructor(root) {
    super(root);
    this.ask = make("p", "ask", root);
    this.options = make("ol", "options", root);
    this.prompt = make("p", "prompt", root);
    this.prompt.dir = "auto";
    const timer = make("div", "timer", root);
    this.button = button(timer, "", "", () => this.press());
    this.clock = make("span", "clock", this.button);
    this.track = make("span", "track", timer);
    this.left = SECONDS * 1000;
    this.end = 0;                     // when it runs: the time at which it is over
    this.pressed = (event) => {
      if (event.key !== "t" || isShortcut(event) || takesKeys(event, root)) return;
      event.preventDefault();
      this.press();
    };
    document.addEventListener("keydown", this.pressed);
  }

  /** @param {Message} header */
  receive({ ask, options, prompt, text, short }) {
    this.text = text;
    this.options.hidden = !options.length;
    this.options.replaceChildren();
    for (const option of options) inline(make("li", "", this.options), option).dir = "auto";
    this.root.classList.toggle("short", short);
    setText(this.ask, ask);
    setText(this.prompt, prompt);
    this.prompt.hidden = !prompt;
    this.show();
  }

  /** Start the timer, stop it if it runs, and reset it if it is over. */
  press() {
    if (this.end) this.stop();
    else {
      if (this.left <= 0) this.left = SECONDS * 1000;
      this.end = Date.now() + this.left;
      this.ticking = setInterval(() => this.show(), TICK);
    }
    this.show();
  }

  stop() {
    this.left = Math.max(0, this.end - Date.now());
    this.end = 0;
    clearInterval(this.ticking);
  }

  show() {
    if (this.end && this.end <= Date.now()) this.stop();
    const left = this.end ? this.end - Date.now() : this.left, seconds = Math.ceil(left / 1000);
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    setText(this.clock, left > 0 ? `${this.end ? "❚❚" : "▶"} ${time}` : this.text.time_is_up);
    this.button.ariaLabel = `${this.end ? this.text.timer_stop : this.text.timer_go}, ${time}`;
    this.button.title = this.text.timer;
    this.track.style.setProperty("--share", left / (SECONDS * 1000));
    this.root.classList.toggle("over", left <= 0);
  }

  close() {
    clearInterval(this.ticking);
    document.removeEventListener("keydown", this.pressed);
  }
}

export default mounted(Question);
