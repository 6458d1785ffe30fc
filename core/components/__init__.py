"""Small pictures and controls in hand-written JavaScript and CSS, each beside the Python that draws it."""
import contextlib
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from core.components import scripts

# Streamlit makes a module from the text of a component's script, in which relative imports do not work. So that text is
# this loader, which imports the script as a file and asks for the script's own imports at the same time.
#
# Streamlit calls the default export for each new data, without waiting for the previous call; if that call ends late,
# Streamlit calls the function that it returned, to end the component. So while the file is on its way, only the last
# call reaches the component, and only its return value ends it. A file that does not come is asked for once more, since
# Streamlit would show the failure in the picture's place until the reader leaves the page. The second time all files
# have another address, since many browsers remember a failed address and do not ask again (Firefox 153, Chromium 150).
_LOADER = """const last = new WeakMap();
let again = "";
const at = (path) => new URL(path.replace("/VERSION/", `/VERSION${again}/`), location);
for (const file of FILES) import(new URL(file, at("ADDRESS"))).catch(() => {});
const get = () => Promise.all([import(at("ADDRESS")), import(at("EVENTS"))]);
const load = () => get().catch(async () => {
  await new Promise((go) => setTimeout(go, 1000));
  again = "AGAIN";
  return get();
});
export default async (component) => {
  const { parentElement } = component, isLast = () => last.get(parentElement) === component;
  last.set(parentElement, component);
  const [module, { tellingAll }] = await load();
  const end = isLast() && module.default(tellingAll(component));
  return () => { if (end && isLast()) end(); };
};"""


COMPONENTS = Path(__file__).parent
_LIB = COMPONENTS / "lib"
SENT = "sent"           # the entry in settings with their number


def declare(name: str, script: Path, *, html: str = "", styles: Sequence[Path] = ()) -> Callable:
    """Register a component of Streamlit and return the function that draws it.

    script: the ES module whose default export draws it; Streamlit's documentation of components says what the export
    gets and may return. html: the first content of the component's root. styles: CSS files, after the shared one.

    The function takes `key`, Streamlit's own arguments, and callbacks: `events`, by the name of a trigger, called with
    the value of each event, once for each and in their order; `on_settings`, called with the state "settings". With
    `on_settings`, `data` are bytes, and the number of the picture's last message that Python has heard follows them:
    echo.js needs it.

    A picture reports a pick with a little delay: meanwhile the reader may have removed the picture from the page, and
    its state with it. Then nothing is called.
    """
    css = "\n".join(path.read_text(encoding="utf-8") for path in (_LIB / "component.css", *styles)) if styles else None
    loader = (_LOADER.replace("ADDRESS", scripts.address(script)).replace("FILES", json.dumps(scripts.imported(script)))
              .replace("EVENTS", scripts.address(_LIB / "events.js")).replace("VERSION", scripts.version())
              .replace("AGAIN", scripts.AGAIN))
    component = st.components.v2.component(name, html=html or None, css=css, js=loader)

    def mounted(*, key: str, events: Mapping[str, Callable[[Any], None]] | None = None,
                on_settings: Callable[[dict], None] | None = None, **arguments) -> None:
        if events:
            arguments["on_told_change"] = functools.partial(_pass_on, key, events)
        if on_settings:
            # numpy comes with it, which a server that starts does not load
            from core.components.lib.bytes import with_heard
            arguments["on_settings_change"] = functools.partial(_settle, key, on_settings)
            arguments["data"] = with_heard(arguments["data"], _heard(key))
        component(key=key, **arguments)

    return mounted


def _pass_on(key: str, events: Mapping[str, Callable[[Any], None]]) -> None:
    heard = f"{key}_heard"
    told = st.session_state[key].told or () if key in st.session_state else ()
    news = [event for event in told if event[0] > st.session_state.get(heard, 0)]
    if news:
        st.session_state[heard] = news[-1][0]
    # all are called; if several ask for a run, the last decides which run
    with contextlib.ExitStack() as calls:
        for _, name, value in reversed(news):
            calls.callback(events[name], value)


def _settle(key: str, on_settings: Callable[[dict], None]) -> None:
    if key in st.session_state:
        on_settings({name: value for name, value in _settings(key).items() if name != SENT})


def _heard(key: str) -> int:
    """The number of a picture's last message that Python has heard; 0 for none, and for a picture without numbers."""
    return _settings(key).get(SENT, 0)


def _settings(key: str) -> dict:
    """The state "settings" of a component, as sent by the browser; empty before that."""
    return (st.session_state[key].get("settings") if key in st.session_state else None) or {}
