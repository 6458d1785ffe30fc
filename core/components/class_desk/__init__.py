"""A class of phones in the prompt bar: a button that opens a class, then its code, how to join, the teacher's own
question, games, the numbers and the end.
"""
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from core.components import declare

_HERE = Path(__file__).parent
_component = declare("class_desk", _HERE / "class_desk.js",
                     html='<div class="component prediction class-wall class-desk"></div>',
                     styles=[_HERE.parent / "prediction" / "prediction.css",
                             _HERE.parent / "class_tally" / "class_tally.css",
                             _HERE.parent / "class_wall" / "class_wall.css", _HERE / "class_desk.css"])


def class_desk(data: dict, *, key: str, events: Mapping[str, Callable[[Any], None]]) -> None:
    """Draw it. data: text, open (the address that opens a class); for an open class also code, key, address
    {events, act} and addresses, [{short, qr}]: each address at which phones may reach it, as written on the wall, and
    its QR code; only_here, whether no other machine reaches it; lead and lead_qr, the link of the second device, and
    its notes; present; prompt; shelf, [[title, text]] to guess; told, from `class_games.next_words`, or None; if heads
    can be switched off, heads, and effect, from `class_games.head_truth`, or None.

    events: `opened` with [code, key]; `read` with [text, words], on which the model is asked; `heads` with
    [about, place of a head or null]; and `ended`.
    """
    _component(key=key, data=data, events=events, width="content")
