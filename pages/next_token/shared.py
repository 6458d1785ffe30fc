"""The panel's settings, which the page keeps for it: where they stand, how the panel is told and how it tells."""
import streamlit as st

from core.app.base.markdown import escaped
from core.app.state import reader
from core.components.sampling_panel import PanelSettings

SETTINGS = "next_token_panel"     # the panel's settings as PanelSettings.to_link writes them; bound to the URL
PANEL = "next_token_component"
GIVEN = "next_token_given"        # (settings, named token, version) as the panel was last given them
HEARD = "next_token_heard"        # (settings, named token) as the panel last told them, or was given them


def settings() -> PanelSettings:
    """The reader's settings; the usual ones, with a notice, where a link asks for something that cannot be."""
    written = st.session_state.get(SETTINGS) or PanelSettings().to_link()
    try:
        return PanelSettings.from_link(written)
    except ValueError:
        reader.notice("notice_url", name=SETTINGS, value=escaped(written[:40]))
        return PanelSettings()


def given(anew: bool) -> tuple[PanelSettings, int | None, int]:
    """What the panel is to start from: settings, named token, and a version that grows when Python sets them anew.

    While only the panel moves they stay as they were: the message to the browser does not change and is not sent again.
    """
    present, last = (settings(), reader.selection().target), st.session_state.get(GIVEN)
    if last is None or anew or st.session_state.get(HEARD) != present:
        last = (*present, last[2] + 1 if last else 1)
        st.session_state.update({GIVEN: last, HEARD: present})
    return last


def take_settings() -> None:
    """Callback of the panel: the hand has let go."""
    sent = st.session_state[PANEL]["settings"]
    heard = PanelSettings.from_browser(sent)
    st.session_state[SETTINGS] = heard.to_link()
    if sent["named"] != reader.selection().target:
        reader.select(target=sent["named"])
    st.session_state[HEARD] = (heard, sent["named"])
