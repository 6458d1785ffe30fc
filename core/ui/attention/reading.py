"""The lesson's settings."""
from __future__ import annotations

import functools

import streamlit as st

from core import worksheet
from core.ui import views
from core.ui.instrument_state import Setting, Settings
from core.ui.lesson import Lesson

PREFIX = "attention_"
SETTINGS = Settings("attention", {
    "view": Setting("worksheet", options=("worksheet", "scaling", "roles")),
    "sheet_width": Setting("2", options=tuple(map(str, worksheet.WIDTHS))),      # d_k = d_v
    "sheet_seed": Setting(0, low=0, high=9999),
    "scaling_d": Setting(64, low=1, high=512),                                   # d_k; a power of two
    "scaling_keys": Setting("16", options=("4", "8", "16", "32")),
    "scaling_seed": Setting(0, low=0, high=9999),
    "roles_part": Setting("symmetric", options=("symmetric", "change", "relabel")),
    "roles_stretch": Setting(3.0, low=1.0, high=10.0),                           # of the matrix A: its greatest singular value; the least is 1 over it
    "roles_seed": Setting(0, low=0, high=9999),
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice = functools.partial(views.choice, SETTINGS)


def throw_again(page: Lesson, name: str, **values) -> None:
    """A button that shows the seed of a setting and takes the next one. Its labels are `<name>` and `<name>_help`, the latter with `values`."""
    st.button(page.label(name, seed=read(name)), help=page.label(f"{name}_help", **values), on_click=lambda: keep(**{name: (read(name) + 1) % 10_000}), key=f"{PREFIX}{name}_next")
