// Stepping through states.
import { button, labelled, make, setRange } from "./dom.js";

/** A bar to go through the states 0 to `last`: to the next, to an end, by a slider, or by itself. `show()` draws state
 * `at`; `rest()` is called when hand or play have come to rest, `turn()` before a button or the play moves. `live` is
 * a node that is read out when it changes, but not while the bar plays. */
export class Player {
  constructor(parent, live, { show, rest, turn = () => {} }) {
    this.live = live;
    this.show = show;
    this.rest = rest;
    this.turn = turn;
    this.last = 0;
    this.timer = null;
    this.bar = make("div", "bar", parent);
    this.buttons = make("div", "buttons", this.bar);
    const step = (sign, by) => button(this.buttons, sign, "", () => {
      this.stop();
      this.turn();
      this.go(this.at + by);
      this.rest();
    });
    this.steps = { start: step("«", -Infinity), back: step("◀", -1) };
    this.play = button(this.buttons, "", "", () => this.toggle(), "play");
    Object.assign(this.steps, { forward: step("▶", 1), end: step("»", Infinity) });
    this.slider = make("input", "", this.bar);
    Object.assign(this.slider, { type: "range", min: 0, step: 1 });
    this.slider.oninput = () => { this.stop(); this.go(Number(this.slider.value)); };
    this.slider.onchange = () => this.rest();
  }

  /** Set the labels, the last state, and the milliseconds for each state while it plays. */
  receive(text, last, pause) {
    this.text = text;
    this.last = last;
    this.pause = pause;
    this.slider.max = last;
    this.slider.ariaLabel = text.slider;
    for (const [name, node] of Object.entries(this.steps)) labelled(node, text[name]);
    this.play.title = text.play;
    this.label();
  }

  /** Go to Python's `step`, −1 for the last: the first time, for another identity, and if Python has `moved` it.
   * Return whether it did. */
  begin(step, identity, moved) {
    const begins = this.at === undefined || this.identity !== identity || moved;
    this.identity = identity;
    if (!begins) return false;
    this.stop();
    this.at = Math.min(step < 0 ? this.last : step, this.last);
    return true;
  }

  /** The state as a number for Python; −1 for the last. */
  get told() {
    return this.ended ? -1 : this.at;
  }

  get playing() {
    return this.timer !== null;
  }

  get ended() {
    return this.at >= this.last;
  }

  label() {
    this.play.textContent = this.playing ? this.text.pause : this.text.play;
    this.play.ariaLabel = this.play.textContent;
    this.live.ariaLive = this.playing ? "off" : "polite";
  }

  go(at) {
    this.at = Math.min(this.last, Math.max(0, at));
    this.show();
  }

  toggle() {
    if (this.playing) { this.stop(); this.rest(); return; }
    this.turn();
    if (this.ended) this.go(0);
    this.timer = setInterval(() => {
      if (!this.bar.isConnected) return this.stop();
      this.go(this.at + 1);
      if (this.ended) { this.stop(); this.rest(); }
    }, this.pause);
    this.label();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.label();
  }

  /** Set the slider to the present state, and `text` as its value for screen readers. */
  value(text) {
    setRange(this.slider, this.at);
    this.slider.ariaValueText = text;
  }
}
