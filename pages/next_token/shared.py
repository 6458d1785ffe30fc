"""The settings of the page: those of the panel, read, sent to it and received from it, and the two other contexts."""
from dataclasses import replace

import streamlit as st

from core.app.state import dice, notices, reader
from core.app.state.lesson_settings import Setting, Settings
from core.base import prose
from core.base.markdown import escaped
from core.components.sampling_panel import PanelSettings

CONTEXTS = ("flat", "peaked")
SETTINGS = Settings("next_token", {
    "panel": Setting(PanelSettings().to_link()),
    **{name: Setting(prose.load("next_token").label(f"{name}_prompt")) for name in CONTEXTS},
})
PANEL = "next_token_component"
INITIAL = "next_token_given"      # (settings, named token, version) last sent to the panel
KNOWN = "next_token_heard"        # (settings, named token) last received from the panel, or sent to it


def settings(n_tokens: int) -> PanelSettings:
    """The reader's settings, with ξ of the draw after the first `n_tokens`."""
    return replace(stored(), xi=dice.of(n_tokens).xi())


def take_xi() -> None:
    """A link that names ξ in the panel's settings sets the one of all lessons, and is kept without it."""
    panel = stored()
    if panel.xi is not None:
        reader.select(xi=panel.xi)
        SETTINGS.keep(panel=replace(panel, xi=None).to_link())


def stored() -> PanelSettings:
    """The settings as they stand in the address; the defaults, with a notice, if a link has invalid ones."""
    link = SETTINGS.read("panel")
    try:
        return PanelSettings.from_link(link)
    except ValueError:
        notices.notice("notice_url", name="next_token_panel", value=escaped(link[:40]))
        return PanelSettings()


def initial(n_tokens: int, anew: bool) -> tuple[PanelSettings, int | None, int]:
    """The panel's initial settings and named token, and a version that grows when Python changes them.

    They stay the same while only the panel changes its settings, so that the message to the browser is not sent again.
    """
    present, last = (settings(n_tokens), reader.selection().target), st.session_state.get(INITIAL)
    if last is None or anew or st.session_state.get(KNOWN) != present:
        last = (*present, last[2] + 1 if last else 1)
        st.session_state.update({INITIAL: last, KNOWN: present})
    return last


def take_settings(sent: dict) -> None:
    """Callback of the panel: store its settings."""
    new = PanelSettings.from_browser(sent)
    SETTINGS.keep(panel=replace(new, xi=None).to_link())
    if new.xi != st.session_state[KNOWN][0].xi:
        reader.select(xi=new.xi)
    if sent["named"] != reader.selection().target:
        reader.select(target=sent["named"])
    st.session_state[KNOWN] = (new, sent["named"])
