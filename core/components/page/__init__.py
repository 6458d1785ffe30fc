"""What helps on every page and draws nothing: one component for all, since each costs the server a
millisecond of every run.

chart_keys.js: the keys read every chart of Altair and Plotly as the pointer reads it. A chart becomes a stop of the Tab
key, named after its axes and the picture's text twin; arrows go from mark to mark, Home and End to the first and the
last, Enter or Space clicks, Escape lets go. What is shown is said in a live region too.

copied.js: the buttons that copy a link or code work at a plain http address, where a class reaches a teacher's laptop.

history.js: one deed of the reader is one entry of the browser's history. Streamlit makes one of every address that a
run writes and of every page that it opens, so a step of a class made eight, most of which nobody had seen.

kept_focus.js: the focus stays where the reader put it when Streamlit takes it away. A button is switched off while its
download is made, or built anew with what it stands in; the keyboard would have to begin again at the top of the page.

pasted.js: what is pasted or dropped into the prompt is cut before the browser lays it out and sends it, and half a
character (a lone surrogate) becomes U+FFFD in any field. Ten megabytes keep a browser busy for half a minute, and more
than the server takes in one message ends the connection; the browser would then send the same again and again. Half a
character makes a message that the server cannot read.

reconnect.js: the page runs when a lost connection is back. Streamlit asks for a run only if one was cut off. A server
that has started anew, or another replica, knows nothing of the reader until then: what the reader did first would be
lost, since the session begins with it and takes its state from the address.

text_end.js: where nobody writes in the prompt's field, it shows the end of the text, from which the model goes on.
"""
from collections.abc import Callable
from pathlib import Path

from core.components import declare

_component = declare("page", Path(__file__).with_name("page.js"))
_KEY = "page_helper"


def help_page(hint: str, field: str, most: int, on_cut: Callable[[int], None]) -> None:
    """Put it on every page, outside of fragments.

    hint: what a chart says of its keys. field: CSS selector of the text area that keeps the last `most` characters of
    what is pasted; on_cut is called with how many there were.
    """
    _component(key=_KEY, data={"hint": hint, "field": field, "most": most},
               events={"back": lambda _: None, "characters": on_cut})
