// A picture that is drawn ahead of its page: a text that is sent from a field with Ctrl+Enter is asked for over HTTP first, and the key goes on to the page when the picture stands.
// The page's own answer makes the browser go over everything on it; asked for together, the two would hold each other up.
const KEY_WAITS = 250;      // milliseconds, at most: a busy server's answer comes with the page

// answered(bytes) gets the answer, present() says what to ask with besides. Gives a function that is told, each time Python has drawn the picture, {field, path, text, question}, or null
// where nothing is to be asked.
function askAhead(node, answered, present = () => ({})) {
  let ahead = null, held = null;
  const release = () => {
    const event = held;
    held = null;
    if (event) event.target.dispatchEvent(new KeyboardEvent("keydown", { key: event.key, ctrlKey: event.ctrlKey, metaKey: event.metaKey, bubbles: true, cancelable: true }));
  };
  const asker = liveAsker((bytes) => { if (held && node.isConnected) answered(bytes); }, () => requestAnimationFrame(() => setTimeout(release, 0)));       // after the frame that shows it
  const pressed = (event) => {
    if (!node.isConnected) { document.removeEventListener("keydown", pressed, true); return; }
    const sends = event.isTrusted && event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing;
    if (!sends || held || !ahead || !event.target.matches(ahead.field) || event.target.value === ahead.text) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    held = event;
    setTimeout(() => { if (held === event) release(); }, KEY_WAITS);
    asker.ask(ahead.path, { ...ahead.question, ...present(), text: event.target.value });
  };
  document.addEventListener("keydown", pressed, true);
  return (given) => { ahead = given; };
}
