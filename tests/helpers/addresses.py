"""Everything that an address may say: the settings of every lesson by their prefix, and what all lessons share."""
from __future__ import annotations

import importlib
import pkgutil

import pages
from core.app.state import address
from core.app.state.lesson_settings import Setting, Settings

SHARED = (*address.shared(), *address.SELECTION)


def _groups() -> dict[str, dict[str, Setting]]:
    """prefix -> name -> Setting, as the modules of the lessons keep them: a Settings, or a table for a
    view of Positions.
    """
    found: dict[str, dict[str, Setting]] = {}
    for module in pkgutil.walk_packages(pages.__path__, "pages."):
        if module.name.endswith(".page"):
            continue        # which Streamlit runs
        for kept in vars(importlib.import_module(module.name)).values():
            if isinstance(kept, Settings):
                found[kept.lesson] = dict(kept.each)
            elif isinstance(kept, dict) and kept and all(isinstance(one, Setting) for one in kept.values()):
                found.setdefault(f"positions_{module.name.rpartition('.')[2]}", {}).update(kept)
    return found


SETTINGS = _groups()
# tied to widgets by Streamlit, or short forms
OTHERS = ("next_token_panel", "next_token_flat", "next_token_peaked", "course_term", "term")
