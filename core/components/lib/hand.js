import { liveAsker } from "./live.js";

// A slider on a picture that answers while it moves: Python is asked over HTTP, and hears of the value when the hand
// has let go and the picture stands.
// node: .hand of hand.css, a label with a span, a range and an output. answered(bytes) gets each answer, moved(value)
// the value in the end, present() says what to ask with besides.
export function buildHand(node, answered, moved, present = () => ({})) {
  const [label, input, amount] = node.children;
  let given = null, held, released = true;
  const tell = (value) => { amount.textContent = value.toFixed(given.digits); };
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
    tell(held);
    asker.ask(given.path, { ...given.question, [given.name]: held, ...present() });
  };
  input.onchange = () => { released = true; if (!asker.busy) letGo(); };
  return {
    // Takes over what Python says of the slider, null for none. False where the hand is ahead of it: what was drawn for
    // an earlier value must not undo it.
    lay(hand) {
      if (held !== undefined && hand && hand.value !== held) return false;
      given = hand;
      held = undefined;
      node.hidden = !hand;
      if (!hand) return true;
      label.textContent = hand.label;
      Object.assign(input, { min: hand.low, max: hand.high, step: hand.step });
      input.value = hand.value;
      tell(Number(hand.value));
      return true;
    },
  };
}
