"""The style of the page around the pictures: the palette as CSS variables, tight paddings, present mode's larger type."""
from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.figures import style
from core.ui import deployment, state, text
from core.ui.components.page import help_page

_CSS, _PRESENT = (Path(__file__).parent / "page.css").read_text(encoding="utf-8").split("/* ==== present mode alone ==== */")


def inject() -> None:
    """Put the theme's variables and the page's rules into the document; components inherit the variables."""
    variables = "".join(f"{name}:{value};" for name, value in (style.css_variables(state.theme()) | {"--tx-scale": f"{state.scale()}"}).items())
    present = f"html {{ font-size: {state.scale():.0%} !important; }}{_PRESENT}" if state.present() else ""
    with st.container(key="page_style"):        # as Markdown, which is there before any other element: no jump while the page loads
        st.markdown(f"<style>:root{{{variables}}}{_CSS}{present}</style>", unsafe_allow_html=True)
        # Here, where nothing takes any room.
        help_page(text.load("app").label("chart_keys"), ".st-key-prompt textarea", deployment.current().prompt_characters,
                  state.say_cut)
