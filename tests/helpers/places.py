"""Whether an address makes sense: every setting in it is known to its lesson and within its bounds."""
from __future__ import annotations

import importlib

from core.app.state.lesson_settings import Setting, Settings
from core.app.state.reader import MOST_SEED
from core.base.tables import Place
from core.components.sampling_panel import PanelSettings

POSITIONS = ("symmetry", "waves", "rotary", "learned", "biases", "concat", "beyond", "measured")
SHARED = {"prompt": Setting(""), "model": Setting(""), "layer": Setting(0, low=0), "head": Setting(0, low=0),
          "position": Setting(0, low=0), "target": Setting(0, low=0), "seed": Setting(0, low=0, high=MOST_SEED),
          "xi": Setting(0.0, low=0, high=0.9999)}


def nonsense(place: Place) -> list[str]:
    """The settings of a place that its lesson does not know, or that it would change or refuse."""
    known = SHARED | known_to(place.lesson)
    return [key for key, value in place.settings.items() if key not in known or not _taken(known[key], value)]


def known_to(lesson: str) -> dict:
    """The settings of a lesson by their names in an address: a Setting, or what reads the value and raises ValueError.
    """
    if lesson == "next_token":
        return {"next_token_panel": PanelSettings.from_link}
    if lesson == "positions":
        modules = [importlib.import_module(f"pages.positions.{view}") for view in POSITIONS]
        own = {f"positions_{view}_{name}": setting for view, module in zip(POSITIONS, modules)
               for name, setting in _each(module.SETTINGS).items()}
        return (own | _settings(lesson, "shared")
                | {f"positions_{name}": setting
                   for name, setting in modules[POSITIONS.index("symmetry")].ORDER.items()})
    return _settings(lesson, "shared")


def _settings(lesson: str, module: str) -> dict[str, Setting]:
    return {f"{lesson}_{name}": setting
            for name, setting in importlib.import_module(f"pages.{lesson}.{module}").SETTINGS.each.items()}


def _each(settings) -> dict[str, Setting]:
    return dict(settings.each) if isinstance(settings, Settings) else settings


def _taken(known, written: str) -> bool:
    if isinstance(known, Setting):
        value = known.accept(written)
        return value is not None and (isinstance(known.default, str | bool) or float(written) == value)
    try:
        known(written)
    except ValueError:
        return False
    return True
