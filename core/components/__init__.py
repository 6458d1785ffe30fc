"""Small pictures and controls of hand-written JavaScript and CSS, each beside its Python face."""
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from core.app.base import scripts

# Streamlit makes a module of its own from the text of a component's script, and from there no relative import leads
# anywhere. So that text is this loader, and the script a file that it imports; what that imports is asked for with it.
#
# Streamlit calls the default export for each new data, without waiting for the call before it; when that one ends late,
# Streamlit calls what it returned, to end what the component began. So while the file is on its way the last call alone
# is for the component, and only the last call's return value ends it. A file that does not come is asked for once more:
# Streamlit would show the failure in the picture's place until the reader leaves the page.
_LOADER = """const script = new URL("ADDRESS", location), last = new WeakMap();
for (const file of FILES) import(new URL(file, script)).catch(() => {});
const load = () => import(script).catch(() => new Promise((go) => setTimeout(go, 1000)).then(() => import(script)));
export default async (component) => {
  const { parentElement } = component, isLast = () => last.get(parentElement) === component;
  last.set(parentElement, component);
  const module = await load();
  const end = isLast() && module.default(component);
  return () => { if (end && isLast()) end(); };
};"""


_STYLE = Path(__file__).parent / "lib" / "component.css"


def declare(name: str, script: Path, *, html: str = "", styles: Sequence[Path] = ()) -> Callable:
    """Register a component of Streamlit and return the function that draws it.

    script: the ES module whose default export draws it; Streamlit's documentation of components says what that is given
    and may return. html: what the component's root holds at first. styles: CSS files, after the one that all share.

    Callbacks are called only while the component has a state to read. A picture tells of a pick with a little
    delay: what a reader does meanwhile may have taken the picture off the page, and its state with it; the pick
    comes nevertheless.
    """
    css = "\n".join(path.read_text(encoding="utf-8") for path in (_STYLE, *styles)) if styles else None
    loader = _LOADER.replace("ADDRESS", scripts.address(script)).replace("FILES", json.dumps(scripts.imported(script)))
    component = st.components.v2.component(name, html=html or None, css=css, js=loader)

    def mounted(*, key: str, **arguments):
        for argument, value in arguments.items():
            if argument.startswith("on_"):
                arguments[argument] = _while_it_stands(key, value)
        return component(key=key, **arguments)

    return mounted


def _while_it_stands(key: str, callback: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        if key in st.session_state:
            callback()

    return call
