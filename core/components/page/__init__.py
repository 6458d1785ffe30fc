"""Helpers on every page that draw nothing: one component for all, since each costs the server a millisecond in every
run.

chart_keys.js: the keys read every chart of Altair and Plotly as the pointer reads it. A chart becomes a stop of the Tab
key, named after its axes and the picture's text twin; arrows go from mark to mark, Home and End to the first and the
last, Enter or Space clicks, Escape lets go. The values shown are also announced in a live region.

copied.js: the buttons that copy a link or code work at a plain http address, at which a class reaches a teacher's
laptop.

history.js: one action of the reader is one entry in the browser's history. Streamlit makes an entry for every address
that a run writes and for every page that it opens, so a step of a class made eight, and nobody had seen most of them.

kept_focus.js: the focus stays where the reader put it when Streamlit takes it away. A button is disabled while its
download is made, or rebuilt with its container; the keyboard would have to begin again at the top of the page.

pasted.js: a text that is pasted or dropped into the prompt is cut before the browser lays it out and sends it, and half
a character (a lone surrogate) becomes U+FFFD in any field. Ten megabytes keep a browser busy for half a minute, and a
message larger than the server takes ends the connection; the browser would then send it again and again. Half a
character makes a message that the server cannot read.

reconnect.js: the page runs when a lost connection is back. Streamlit asks for a run only if one was cut off. Until then
a restarted server, or another replica, knows nothing of the reader: the reader's first action would be lost, since the
session begins with it and takes its state from the address.

text_end.js: while nobody writes in the prompt's field, it shows the end of the text, from which the model goes on.
"""
from collections.abc import Callable
from pathlib import Path

from core.components import declare

_component = declare("page", Path(__file__).with_name("page.js"))
_KEY = "page_helper"


def help_page(hint: str, field: str, most: int, on_cut: Callable[[int], None]) -> None:
    """Put the helpers on a page, outside of fragments.

    hint: a chart's sentence on its keys. field: CSS selector of the text area that keeps the last `most` characters of
    a pasted text; on_cut is called with the number of characters that it had.
    """
    _component(key=_KEY, data={"hint": hint, "field": field, "most": most},
               events={"back": lambda _: None, "characters": on_cut})
