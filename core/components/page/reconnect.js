// The attribute of the app's element in which Streamlit keeps the state of its connection.
const STATE = "data-test-connection-state";

export default function ({ setTriggerValue }) {
  const app = document.querySelector(`[${STATE}]`);
  if (!app) return;
  let lost = false;
  const watch = new MutationObserver(() => {
    const connected = app.getAttribute(STATE) === "CONNECTED";
    if (connected && lost) setTriggerValue("back", true);
    lost = !connected;
  });
  watch.observe(app, { attributes: true, attributeFilter: [STATE] });
  return () => watch.disconnect();
}
