"""The code of a lesson, read from the running source, the downloads, and the picture's text twin."""
from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core.app.parts.guard import fragment
from core.app.state import address
from core.base.markdown import unmarked
from core.base.prose import TextFile
from core.components.picture_download import picture_download
from core.figures.names import distinct

if TYPE_CHECKING:
    import pandas as pd

FUNCTION = "code_"          # the key of a function's source begins with it
LED = "code_led_to"         # of the session: when the link was followed for which a drawer of code was opened last
_FORMULA = re.compile(r"[=+\-@\t\r](?![\d.]+(e[+-]?\d+)?$).")      # more than the sign alone, and not a number


@fragment
def draw(lesson: str, title: str, functions: Sequence[Callable], data: Mapping[str, Callable[[], pd.DataFrame]],
         picture: str, twin: str, words: TextFile) -> None:
    """Draw the twin as a sentence, the functions' source in a drawer, each table in a drawer and as CSV, the picture as
    PNG, SVG and HTML.

    The link of an idea opens the drawer on a function whose class, as `.st-key-code_Block-forward`, is its element.
    A drawer is filled when it is opened, and a table made when a drawer or a download asks for it: the browser goes
    over everything that is on the page at every change, even in a closed drawer.
    """
    with st.container(key="lesson_code"):
        st.markdown(f"## {words.label('code')}")
        with st.container(key="lesson_twin"):
            st.markdown(twin)
        opens = f"{lesson}_source_open"
        if _is_led_to():
            st.session_state[opens] = True
        with st.expander(words.label("code_intro"), key=opens, on_change="rerun") as drawer:
            if drawer.open:
                for function in functions:
                    with st.container(key=FUNCTION + function.__qualname__):
                        # wrapped, since no key reaches what scrolls sideways in Streamlit
                        st.code(source(function), language="python", wrap_lines=True)
        with st.container(key="lesson_downloads", horizontal=True, vertical_alignment="center"):
            picture_download(picture, name=f"transformer-{lesson}", title=title, twin=unmarked(twin),
                             missing=words.label("picture_missing"), key=f"{lesson}_picture")
            for name, table in data.items():
                st.download_button(name, lambda table=table: as_csv(table()), file_name=name, mime="text/csv",
                                   key=f"{lesson}_{name}", on_click="ignore")
        with st.expander(words.label("table"), key=f"{lesson}_tables_open", on_change="rerun") as drawer:
            if drawer.open:
                for name, table in data.items():
                    st.caption(name)
                    made = table()      # two columns of one token have one name, which Streamlit does not draw
                    st.dataframe(made.set_axis(distinct(map(str, made.columns)), axis=1), hide_index=True)


def _is_led_to() -> bool:
    """Whether a link to a function was followed for which no drawer has been opened yet."""
    element, at = address.followed_element() or ("", "")
    is_new = element.startswith(f".st-key-{FUNCTION}") and st.session_state.get(LED) != at
    if is_new:
        st.session_state[LED] = at
    return is_new


def as_csv(table: pd.DataFrame) -> str:
    """Write a table as CSV for any program: an apostrophe goes before a text that a spreadsheet would compute, which
    spreadsheets read as "this is text".

    >>> import pandas as pd
    >>> as_csv(pd.DataFrame({"token": ["=1+1", "-", "-0.5", "a"]})).split()
    ['token', "'=1+1", '-', '-0.5', 'a']
    """
    return table.map(lambda cell: f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell).to_csv(
        index=False)


def source(function: Callable) -> str:
    """A function's source from the file that ran, without the indentation of a class around it."""
    return textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
