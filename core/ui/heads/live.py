"""The wall while the factor is under the hand: its bytes for a question that names model, tokens and change."""
from __future__ import annotations

from core.ui import live, run, text
from core.ui.components.heads_wall import wall_answer
from core.ui.heads.reading import MEASURES, Change, patterns_of
from core.ui.heads.words import summary, wall_words

NAME = "heads"


def question(present: run.Run, change: Change) -> dict:
    """What the browser sends back with the hand's factor in place of the present one."""
    return {"model": present.model_name, "device": present.device, "token_ids": list(present.token_ids), "changed": change.names, "action": change.action}


def answer(question: dict) -> bytes:
    """The wall under the change that the question names, as `heads_wall` takes it. Raises ValueError, KeyError or TypeError for nonsense."""
    asked = run.of_tokens(question["model"], question["device"], question["token_ids"])
    change = Change.checked(question["changed"], question["action"], question["factor"])
    shown = patterns_of(asked, change.intervention(asked))
    heads = [int(head) for head in question["exact_heads"]]
    if not all(0 <= head < shown.values.shape[0] * shown.values.shape[1] for head in heads):
        raise ValueError("there is no such head")
    words = text.load("heads").of_kind(asked.model.config.kind)
    return wall_answer(shown.values, shown.allowed, heads, **wall_words(words, asked, change, shown), summary=summary(words, change, shown, MEASURES[0]))


ROUTE = live.route(NAME, answer)
