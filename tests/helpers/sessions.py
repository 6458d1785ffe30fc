"""One reader's session and address without a server: what the state of the app reads and writes."""
from __future__ import annotations

import types

import pytest

from core.app.state import address, lesson_settings, model_choice, notices, reader
from core.app.streamlit import context


class Query(dict):
    """Stands for Streamlit's query parameters. `messages`: how often it has told the browser of a new address."""

    messages = 0
    to_dict = dict.copy

    def from_dict(self, values: dict[str, str]) -> None:
        """Takes these in place of all that it had."""
        self.clear()
        self.update(values)
        self.messages += 1


def stand_in(monkeypatch: pytest.MonkeyPatch, session: dict, query: Query,
             from_history: bool = False) -> tuple[dict, Query]:
    """Puts both in the place of Streamlit's, and returns them. from_history: in a run that the browser's history asked
    for.
    """
    streamlit = types.SimpleNamespace(session_state=session, query_params=query)
    for module in (address, lesson_settings, model_choice, notices, reader):
        monkeypatch.setattr(module, "st", streamlit)
    monkeypatch.setattr(context, "is_from_history", lambda: from_history)
    return session, query
