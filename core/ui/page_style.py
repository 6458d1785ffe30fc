"""The style of the page around the pictures: the palette as CSS variables, tight paddings, present mode's larger type."""
from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.figures import style
from core.ui import deployment, state, text
from core.ui.components.chart_keys import read_charts_by_keys
from core.ui.components.copied import copy_over_http
from core.ui.components.kept_focus import keep_focus
from core.ui.components.pasted import cut_what_is_pasted
from core.ui.components.reconnect import run_after_reconnection

_CSS = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")

_PRESENT = """
html {{ font-size: {size} !important; }}
[data-testid="stHeader"] {{ display: none; }}
[data-testid="stMainBlockContainer"] {{ padding-top: 0.2rem; }}
"""


def inject() -> None:
    """Put the theme's variables and the page's rules into the document; components inherit the variables."""
    variables = "".join(f"{name}:{value};" for name, value in (style.css_variables(state.theme()) | {"--tx-scale": f"{state.scale()}"}).items())
    present = _PRESENT.format(size=f"{state.scale() * 100:.0f}%") if state.present() else ""
    with st.container(key="page_style"):        # as Markdown, which is there before any other element: no jump while the page loads
        st.markdown(f"<style>:root{{{variables}}}{_CSS}{present}</style>", unsafe_allow_html=True)
        run_after_reconnection()        # here, where nothing takes any room
        keep_focus()
        copy_over_http()
        read_charts_by_keys(text.load("app").label("chart_keys"))
        cut_what_is_pasted(".st-key-prompt textarea", deployment.current().prompt_characters, state.say_cut)
