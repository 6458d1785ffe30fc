"""The stages of the model in a row, drawn in the browser: real links, lit or not, told to Python when one is followed.
"""
from pathlib import Path

import streamlit as st

from core.components import declare

HERE = Path(__file__).parent

_component = declare("strip", HERE / "strip.js", styles=(HERE / "strip.css",))


def stage_row(name: str, blocks: str, stages: list[dict], key: str) -> str | None:
    """Draw the row and return the stage that was just followed, else None.

    name: the row's name for a screen reader. blocks: the word over the repeated stages ("6 blocks"). stages: dicts
    with stage (its name), label, hint, colour (a meaning of style.py), lit, repeated, and href (None for a stage
    that leads nowhere).
    """
    followed = f"{key}_followed"
    _component(key=key, data={"name": name, "blocks": blocks, "stages": stages},
               events={"go": lambda stage: st.session_state.update({followed: stage})})
    return st.session_state.pop(followed, None)
