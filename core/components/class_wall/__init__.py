"""A question to a class that answers from its phones: the number of answers, buttons to close and to reveal it; then,
beside the picture, the answers of the class and of the model.
"""
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from core.components import declare
from core.components.lib.bytes import pack

_HERE = Path(__file__).parent
_component = declare("class_wall", _HERE / "class_wall.js", html='<div class="component prediction class-wall"></div>',
                     styles=[_HERE.parent / "prediction" / "prediction.css",
                             _HERE.parent / "class_tally" / "class_tally.css", _HERE / "class_wall.css"])


def class_wall(header: dict, *, key: str, events: Mapping[str, Callable[[Any], None]]) -> None:
    """Draw it. header: mode "ask" or "told", or "step", the counts of a question that stands above in large type; code,
    key and address {events, act} of the class; asked {ask, prompt, guess, about}; text, scale, and inline, if it stands
    below a picture; in "told" also model {answer, said, bars} or None, statements, seen (the number of the true
    statement), reason, lesson (whose picture is meant), and folded, if it begins as one line. mode "offer": a picture
    that was there before the class stays; its question can be asked.

    events: in "offer" `asked`, once the phones have the question; in "ask" `reveal` with {guess}, the most frequent
    answer, or null, and `look`, if the picture is wanted without the class.
    """
    _component(key=key, data=pack(header, {}), events=events)
