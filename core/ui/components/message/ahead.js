// Pictures that are drawn ahead of their page: what the reader does is asked for over HTTP first, and goes on to the page when the picture stands.
// The page's own answer makes the browser go over everything on it; asked for together, the two would hold each other up.
const WAITS = 250;      // milliseconds, at most: a busy server's answer comes with the page

// Holds an event back until answered(bytes) has drawn what was asked for.
function holdBack(answered) {
  let held = null;
  const release = () => {
    const again = held;
    held = null;
    again?.();
  };
  const asker = liveAsker((bytes) => { if (held) answered(bytes); }, () => requestAnimationFrame(() => setTimeout(release, 0)));       // after the frame that shows it
  const swallow = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  return {
    // again() does to the page what the event would have done.
    hold(event, again, path, question) {
      swallow(event);
      held = again;
      setTimeout(() => { if (held === again) release(); }, WAITS);
      asker.ask(path, question);
    },
    release,
    swallow,
    get holds() { return held !== null; },
  };
}

// Whether a key sends the text of a field.
const isSent = (event, field) => event.isTrusted && event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing && event.target.matches(field);

const sendAgain = ({ target, key, ctrlKey, metaKey }) => target.dispatchEvent(new KeyboardEvent("keydown", { key, ctrlKey, metaKey, bubbles: true, cancelable: true }));

// For a picture that asks another text of a route of its own: answered(bytes) gets the answer, present() says what to ask with besides. Gives a function that is told, each time Python has
// drawn the picture, {field, path, text, question}, or null where nothing is to be asked.
function askAhead(node, answered, present = () => ({})) {
  let ahead = null;
  const later = holdBack((bytes) => { if (node.isConnected) answered(bytes); });
  const pressed = (event) => {
    if (!node.isConnected) { document.removeEventListener("keydown", pressed, true); return; }
    if (later.holds || !ahead || !isSent(event, ahead.field) || event.target.value === ahead.text) return;
    later.hold(event, () => sendAgain(event), ahead.path, { ...ahead.question, ...present(), text: event.target.value });
  };
  document.addEventListener("keydown", pressed, true);
  return (given) => { ahead = given; };
}
