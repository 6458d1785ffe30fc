"""What Streamlit 1.67 does many times over in every run of a page, done once; app.py puts these in the place of Streamlit's own.

The threads of a whole class share one Python, so that what a run takes all the others wait for.
"""
from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from streamlit import config
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.state.common import is_element_id
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import _is_internal_key

_all_of, _populate_theme = SafeSessionState.filtered_state.fget, app_session._populate_theme_msg


class NamedState(Mapping):
    """`SafeSessionState.filtered_state`, looked up as it is asked for.

    Most widgets ask it for their own key alone. Streamlit would gather the values of all keys for each of them, and make a class of its own for every component among these: a tenth of a run.
    """

    def __init__(self, state: SafeSessionState) -> None:
        self._state = state

    def __getitem__(self, key: str) -> object:
        if is_element_id(key) or _is_internal_key(key):       # what has no name of the app's
            raise KeyError(key)
        with self._state._lock:
            return self._state._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_all_of(self._state))

    def __len__(self) -> int:
        return len(_all_of(self._state))


def populate_theme(message: CustomThemeConfig, section: str = "theme") -> None:
    """`app_session._populate_theme_msg`: every run tells the browser the same of all sections of the theme, for which Streamlit goes through all of its settings six times."""
    message.MergeFrom(_theme_of(section))


@functools.cache
def _theme_of(section: str) -> CustomThemeConfig:
    message = CustomThemeConfig()
    _populate_theme(message, section)
    return message


config.on_config_parsed(_theme_of.cache_clear, force_connect=True)      # a file of settings is read anew when it has changed
