"""Has pictures of the open view drawn before the page hears of what changes them. Draws nothing itself. See drawn_ahead.js."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.ui.components import declare
from core.ui.components.message import AHEAD_JS, LIVE_JS, MESSAGE_JS, pack

_component = declare("drawn_ahead", js=MESSAGE_JS + LIVE_JS + AHEAD_JS + (Path(__file__).parent / "drawn_ahead.js").read_text(encoding="utf-8"))


def draw_ahead(given: Mapping) -> None:
    """Put it on every page, outside of fragments. given: "path" to ask, "page", "theme", the prompt as "text" and the CSS selector of its field, the "keys" of the pictures, and of those "of_no_prompt"."""
    _component(key="drawn_ahead", data=pack(dict(given), {}))
