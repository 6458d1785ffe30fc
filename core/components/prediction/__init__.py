"""A question before its picture, with the means to guess; and the guess beside the truth.

Questions and guesses stay only in the browser's storage, from which the course shows them. A question that this browser
has answered in an earlier visit is not asked again: the component tells Python so instead of drawing it.
"""
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from core.components import declare
from core.components.lib.bytes import pack

_HERE = Path(__file__).parent
_question, _switch = (declare(name, _HERE / script, html='<div class="component prediction"></div>',
                             styles=[_HERE / "prediction.css"])
                     for name, script in (("prediction", "prediction.js"), ("prediction_switch", "switch.js")))


def prediction_picture(header: dict, *, key: str, events: Mapping[str, Callable[[Any], None]]) -> None:
    """Draw it. header: mode "ask" (id, again, question, guess, text, scale), "told" (id, question, guess, mine, sure,
    answer, said, own, bars, right, statements, seen, reason, text, scale), "switch" (on, again, text) or "declined"
    (text), the way back in the place where `never` was pressed.

    events: in "ask" `guess` with {guess, sure}, `look`, and `never`, when the reader wants no questions, with whether
    the reader has said so just now; in "switch" and "declined" `switch` with whether the reader wants to be asked, and,
    if the header's again is true, `again`.
    """
    component = _switch if header["mode"] == "switch" else _question
    component(key=key, data=pack(header, {}), events=events)
