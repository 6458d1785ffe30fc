"""The question of a class's step, as large as the stage, with its answers, the prompt that it is about and a timer."""
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.components import declare
from core.components.lib.bytes import pack

HERE = Path(__file__).parent

_component = declare("class_question", HERE / "class_question.js", html='<div class="component question"></div>',
                     styles=(HERE / "class_question.css",))


def class_question(ask: str, options: Sequence[str], prompt: str, text: Mapping[str, str], scale: float, key: str, *,
                   short: bool = False) -> None:
    """Draw it. options: the answers to choose from, if any. prompt: "" if the question needs none. text: timer,
    timer_go, timer_stop (names of the timer's button), time_is_up. scale: of the type. short: leave room below.
    """
    _component(key=key, data=pack({"ask": ask, "options": list(options), "prompt": prompt, "text": dict(text),
                                   "scale": scale, "short": short}, {}))
