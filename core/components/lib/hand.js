import { setRange } from "./dom.js";
import { liveAsker } from "./live.js";
import { decimals } from "./numbers.js";

/** What Python says of the slider.
 * @typedef {{ path: string, name: string, label: string, low: number, high: number, step: number, digits: number,
 *   value: number, question: object }} Hand */

// A slider over a picture that follows the moving hand: it asks Python over HTTP, and reports its value when the hand
// has let go and the picture is drawn.
// node: .hand of hand.css, a label with a span, a range and an output. answered(bytes) gets each answer, moved(value)
// the final value; context() gives further fields of each question.
export function buildHand(node, answered, moved, context = () => ({})) {
  const [label, input, amount] = node.children;
  let config = null, held, released = true;
  const showValue = (value) => { amount.textContent = decimals(value, config.digits); };
  // After the frame that shows the last answer.
  const letGo = () => {
    if (!released || held === undefined) return;
    const value = held;
    requestAnimationFrame(() => setTimeout(() => { if (held === value) moved(value); }, 0));
  };
  const asker = liveAsker(answered, letGo);
  input.oninput = () => {
    held = Number(input.value);
    released = false;
    setRange(input, held);
    showValue(held);
    asker.ask(config.path, { ...config.question, [config.name]: held, ...context() });
  };
  input.onchange = () => { released = true; if (!asker.busy) letGo(); };
  return {
    // Take over Python's description of the slider, null for none. Return false if the hand is ahead of it: a picture
    // of an earlier value must not undo the hand's.
    receive(hand) {
      if (held !== undefined && hand && hand.value !== held) return false;
      config = hand;
      held = undefined;
      node.hidden = !hand;
      if (!hand) return true;
      label.textContent = hand.label;
      Object.assign(input, { min: hand.low, max: hand.high, step: hand.step });
      setRange(input, hand.value);
      showValue(Number(hand.value));
      return true;
    },
  };
}
