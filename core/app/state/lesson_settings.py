"""State of instruments that handle their own pointer and keys: kept in the session under a widget-like key and
mirrored in the URL.

Streamlit binds widgets to the URL, components not. A bound widget writes its label there, not its value, and one that
Python has set writes it a run late: `attached` gives a widget the same roots as a component. Keys begin with the
lesson's id, so that links, experiments and pins treat them like any widget's.
"""
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.app.base import catalogue
from core.app.state import address, notices
from core.app.state.fragments import redraw

LONGEST = 4_000           # characters of a text; what is longer is cut
LARGEST = 10 ** 9         # in size, of a number without closer bounds


@dataclass(frozen=True)
class Setting:
    """One value: its default (which also says its type), its bounds if it is a number (LARGEST where none is named),
    the texts it may be if it is one of a few.
    """

    default: int | float | str | bool
    low: float | None = None
    high: float | None = None
    options: tuple[str, ...] = ()

    def accept(self, written: object) -> int | float | str | bool | None:
        """The value as this setting's type, within its bounds; None for what makes no sense."""
        kind, text = type(self.default), str(written)[:LONGEST]
        if kind is bool:
            return {"true": True, "false": False}.get(text.lower())
        try:
            value = kind(float(text)) if kind in (int, float) else text
        except (ValueError, OverflowError):
            return None
        if self.options and value not in self.options:
            return None
        if kind in (int, float):
            if value != value:
                return None
            low, high = (-LARGEST if self.low is None else self.low), (LARGEST if self.high is None else self.high)
            value = kind(min(max(value, low), high))
        return value


def view_setting(lesson: str) -> Setting:
    """Which view of a lesson is open: at first the first one."""
    views = catalogue.entry(lesson).views
    return Setting(views[0], options=views)


def read(prefix: str, settings: Mapping[str, Setting]) -> dict:
    """Today's values: the session's, else what the URL said when it led, else the defaults. The URL then says them."""
    said, values = address.settings(), {}
    for name, setting in settings.items():
        key = f"{prefix}_{name}"
        written = st.session_state.get(key, said.get(key))
        value = setting.default if written is None else setting.accept(written)
        if value is None and key not in st.session_state:
            notices.notice("notice_url", name=key, value="…")
        values[name] = setting.default if value is None else value
    keep(prefix, settings, values)
    return values


def of_lesson(lesson: str) -> dict:
    """Today's values of a lesson's settings that this reader's pages have read, defaults among them, by their keys."""
    return {key: st.session_state[key] for key in sorted(address.settings())
            if key.startswith(f"{lesson}_") and key in st.session_state}


def keep(prefix: str, settings: Mapping[str, Setting], values: Mapping) -> None:
    """Keeps the values that `settings` knows, in the session and, where they are not the default, in the URL; in that
    later, if it waits.
    """
    said, wrong = address.settings(), False
    for name, setting in settings.items():
        value = setting.accept(values.get(name, setting.default))
        if value is None:
            continue
        key = f"{prefix}_{name}"
        st.session_state[key] = value
        said[key] = None if value == setting.default else address.written(value)
        wrong = wrong or st.query_params.get(key) != said[key]
    if wrong:
        address.write_url()


def list_key(key: str, names: Sequence[str]) -> str:
    """The key of a list that calls its options so, another one for other names.

    The browser keeps the name of what was picked. Where the prompt or the model has given it another, it would show the
    old one, and Streamlit would take that text for the value.
    """
    return f"{key}_{zlib.crc32(chr(10).join(names).encode()):08x}"


def attached(prefix: str, settings: Mapping[str, Setting], name: str, then: Callable[[], None] = redraw,
             names: Sequence[str] = ()) -> dict:
    """The arguments key and on_change that make a widget show and keep one of the settings, and do what is to be done
    `then`. Read the settings first. names: what a list calls its options, if prompt or model decide that.
    """
    key, widget = f"{prefix}_{name}", f"{prefix}_{name}_widget"
    widget = list_key(widget, names) if names else widget
    # a value that is set goes to the browser and would undo what a quick hand did meanwhile
    if st.session_state.get(widget) != st.session_state[key]:
        st.session_state[widget] = st.session_state[key]

    def changed() -> None:
        keep(prefix, {name: settings[name]}, {name: st.session_state[widget]})
        then()

    return {"key": widget, "on_change": changed}


@dataclass(frozen=True)
class Settings:
    """All settings of one lesson by name, each read, kept and tied to a widget by its name alone."""

    lesson: str
    each: Mapping[str, Setting]

    def read_all(self) -> None:
        """Takes in what the address says of every setting, those of views that are not shown too, so that it goes on
        without defaults and what makes no sense.
        """
        read(self.lesson, self.each)

    def read(self, name: str) -> int | float | str | bool:
        """Today's value of one setting."""
        return read(self.lesson, {name: self.each[name]})[name]

    def among(self, name: str, offered: Sequence[str]) -> str:
        """Today's value of a setting that is one of a few, of which only some can be offered; the first of these where
        it is another.
        """
        value = self.read(name)
        if value in offered:
            return value
        self.keep(**{name: offered[0]})
        return offered[0]

    def keep(self, **values) -> None:
        """Sets some of them, in the session and in the URL; for callbacks."""
        keep(self.lesson, {name: self.each[name] for name in values}, values)

    def attached(self, name: str, then: Callable[[], None] = redraw, names: Sequence[str] = ()) -> dict:
        """The arguments key and on_change that tie a widget to one setting, as the function `attached` has them."""
        self.read(name)
        return attached(self.lesson, self.each, name, then, names)
