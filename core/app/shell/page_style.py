"""The style of the page around the pictures: the palette as CSS variables, tight paddings, present mode's larger type.
"""
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app.lesson.experiments import told_step
from core.app.state import model_choice, reader
from core.base import catalogue, deployment, prose
from core.components.page import help_page
from core.figures import style

TRY_FOOT, CLASS_FOOT = 58, 84
TWO_LINES = 180         # characters of a step that stand in two lines on a wall of 1280 pixels
PRESENT_MARK, LOOK_MARK = "/* ==== present mode alone ==== */", "/* ==== read only alone ==== */"
# The rules that every page shares, and those of single pages. A page has the others' too: what it leaves stands until
# its own elements come.
SHEETS = [Path(__file__).with_name("page.css"), *sorted(catalogue.PAGES.glob("*/page.css"))]


def _parts() -> tuple[str, str, str]:
    """The rules of all sheets: always, in present mode, on a phone that only looks."""
    always, present, look = "", "", ""
    for sheet in SHEETS:
        rules, _, of_look = sheet.read_text(encoding="utf-8").partition(LOOK_MARK)
        rules, _, of_present = rules.partition(PRESENT_MARK)
        always, present, look = always + rules, present + of_present, look + of_look
    return always, present, look


_CSS, _PRESENT, _LOOK = _parts()


def inject() -> DeltaGenerator:
    """Put the theme's variables and the page's rules into the document; components inherit the variables. Return a
    place for elements that take no room.
    """
    own = {"--tx-scale": f"{reader.scale()}", "--tx-foot": f"{_foot()}px"}
    variables = "".join(f"{name}:{value};" for name, value in (style.css_variables(reader.theme()) | own).items())
    present = f"html {{ font-size: {reader.scale():.0%} !important; }}{_PRESENT}" if reader.present() else ""
    present += _LOOK if reader.looks_on() else ""
    # as Markdown, which arrives before any other element: the page does not jump while it loads
    with st.container(key="page_style"):
        st.markdown(f"<style>:root{{{variables}}}{_CSS}{present}</style>", unsafe_allow_html=True)
        # here, since nothing in this container takes any room
        help_page(prose.load("app").label("chart_keys"), ".st-key-prompt textarea",
                  deployment.current().prompt_characters, reader.say_cut)
        return st.container()


def _foot() -> int:
    """The height in pixels of the bar at the foot of the window: a step of a class, or of "Try this"."""
    page = model_choice.page()
    if not reader.present() or page == catalogue.MAP:
        return 0
    is_long = page in {entry.id for entry in catalogue.existing()} and len(told_step(page)) > TWO_LINES
    return CLASS_FOOT if reader.class_step() or is_long else TRY_FOOT
