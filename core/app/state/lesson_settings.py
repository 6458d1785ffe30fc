"""State of instruments that handle their own pointer and keys: kept in the session under a widget-like key and
mirrored in the URL.

Streamlit can bind widgets to the URL, but not components. A bound widget writes its label there, not its value, and a
widget set by Python writes it a run late: `attached` ties a widget to session and URL in the same way as a component.
Keys begin with the lesson's id, so that links, experiments and pins treat them like any widget's.
"""
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.app.state import address, notices
from core.app.state.fragments import redraw
from core.app.state.setting import Setting
from core.base import catalogue


def view_setting(lesson: str) -> Setting:
    """The setting for the open view of a lesson; its default is the first view."""
    views = catalogue.entry(lesson).views
    return Setting(views[0], options=views)


def read(prefix: str, settings: Mapping[str, Setting]) -> dict:
    """The present values: the session's, else the URL's when it led, else the defaults. They are written to the URL."""
    said, values = address.settings(), {}
    for name, setting in settings.items():
        key = f"{prefix}_{name}"
        written = st.session_state.get(key, said.get(key))
        value = setting.default if written is None else setting.accept(written)
        if value is None and key not in st.session_state:
            notices.notice("notice_url", name=key, value="…")
        values[name] = setting.default if value is None else value
    _keep(said, prefix, settings, values)
    return values


def keep(prefix: str, settings: Mapping[str, Setting], values: Mapping) -> None:
    """Keep the values of these `settings` in the session and, unless they are the default, in the URL; there later, if
    it waits.
    """
    accepted = {name: setting.accept(values.get(name, setting.default)) for name, setting in settings.items()}
    _keep(address.settings(), prefix, settings, accepted)


def _keep(said: dict, prefix: str, settings: Mapping[str, Setting], values: Mapping) -> None:
    wrong = False
    for name, setting in settings.items():
        value = values[name]
        if value is None:
            continue
        key = f"{prefix}_{name}"
        st.session_state[key] = value
        said[key] = None if value == setting.default else address.written(value)
        wrong = wrong or st.query_params.get(key) != said[key]
    if wrong:
        address.write_url()


def list_key(key: str, names: Sequence[str]) -> str:
    """The key of a list whose options have these names; other names give another key.

    The browser keeps the name of the picked option. If the prompt or the model changes that name, it would show the old
    name, and Streamlit would take that text for the value.
    """
    return f"{key}_{zlib.crc32(chr(10).join(names).encode()):08x}"


def attached(prefix: str, settings: Mapping[str, Setting], name: str, then: Callable[[], None] = redraw,
             names: Sequence[str] = ()) -> dict:
    """The arguments key and on_change that make a widget show and keep one of the settings, and then call `then`. Read
    the settings first. names: the names of a list's options, if they depend on prompt or model.
    """
    key, widget = f"{prefix}_{name}", f"{prefix}_{name}_widget"
    widget = list_key(widget, names) if names else widget
    # a value set here goes to the browser and would undo a change that a quick hand has made meanwhile
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
        """Read every setting from the address, also those of views that are not shown, so that it then has neither
        defaults nor invalid values.
        """
        read(self.lesson, self.each)

    def read(self, name: str) -> int | float | str | bool:
        """The present value of one setting."""
        return read(self.lesson, {name: self.each[name]})[name]

    def among(self, name: str, offered: Sequence[str]) -> str:
        """The present value of a setting with only some options `offered`; the first of them if the value is not among
        them.
        """
        value = self.read(name)
        if value in offered:
            return value
        self.keep(**{name: offered[0]})
        return offered[0]

    def keep(self, **values) -> None:
        """Set some of them, in the session and in the URL; for callbacks."""
        keep(self.lesson, {name: self.each[name] for name in values}, values)

    def attached(self, name: str, then: Callable[[], None] = redraw, names: Sequence[str] = ()) -> dict:
        """The arguments key and on_change that tie a widget to one setting; see the function `attached`."""
        self.read(name)
        return attached(self.lesson, self.each, name, then, names)
