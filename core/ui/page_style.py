"""The style of the page around the pictures: the palette as CSS variables, tight paddings, present mode's larger type."""
from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.figures import style
from core.ui import state

_CSS = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")


def inject() -> None:
    """Puts the theme's variables and the page's rules into the document; components inherit the variables."""
    variables = "".join(f"{name}:{value};" for name, value in (style.css_variables(state.theme()) | {"--tx-scale": f"{state.scale()}"}).items())
    present = f"html{{font-size:{state.scale() * 100:.0f}% !important}}" if state.present() else ""
    st.html(f"<style>:root{{{variables}}}{present}{_CSS}</style>")
