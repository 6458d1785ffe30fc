"""The style of the page around the pictures: the palette as CSS variables, tight paddings, present mode's larger type.
"""
from pathlib import Path

import streamlit as st

from core.app.base import deployment, prose
from core.app.state import reader
from core.components.page import help_page
from core.figures import style

_CSS, _PRESENT = (Path(__file__).parent / "page.css").read_text(encoding="utf-8").split(
    "/* ==== present mode alone ==== */")


def inject() -> None:
    """Put the theme's variables and the page's rules into the document; components inherit the variables."""
    variables = "".join(f"{name}:{value};" for name, value in (style.css_variables(reader.theme())
                                                               | {"--tx-scale": f"{reader.scale()}"}).items())
    present = f"html {{ font-size: {reader.scale():.0%} !important; }}{_PRESENT}" if reader.present() else ""
    # as Markdown, which is there before any other element: no jump while the page loads
    with st.container(key="page_style"):
        st.markdown(f"<style>:root{{{variables}}}{_CSS}{present}</style>", unsafe_allow_html=True)
        # Here, where nothing takes any room.
        help_page(prose.load("app").label("chart_keys"), ".st-key-prompt textarea",
                  deployment.current().prompt_characters, reader.say_cut)
