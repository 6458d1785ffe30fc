"""The wall for a hand that moves: its bytes for a question that names a model, its tokens and a change of heads."""
from core.app.state import run
from core.base import prose
from core.components.attention_view import payload
from core.components.heads_wall import wall_answer
from pages.heads.shared import Change, patterns_of, reached
from pages.heads.words import heads_of

NAME, ROLLOUT = "heads", "heads_rollout"


def question(present: run.Run, change: Change) -> dict:
    """The browser's request, with the hand's factor in place of the present one."""
    return present.named() | {"changed": change.names, "action": change.action}


def answer(question: dict) -> bytes:
    """The wall under the change that the question names, as `heads_wall` takes it.

    Raises ValueError, KeyError or TypeError for nonsense.
    """
    asked, words = _asked(question)
    change = Change.checked(question["changed"], question["action"], question["factor"])
    shown = patterns_of(asked, change.intervention(asked))
    heads = [int(head) for head in question["exact_heads"]]
    if not all(0 <= head < shown.values.shape[0] * shown.values.shape[1] for head in heads):
        raise ValueError("there is no such head")
    return wall_answer(heads_of(words, change, change.heads(asked), shown), heads)


def rollout_question(present: run.Run, query: int) -> dict:
    """The browser's request, with the block under the hand."""
    return present.named() | {"query": query}


def rollout_answer(question: dict) -> bytes:
    """The rollout up to the block that the question names, as `attention_view` takes it.

    Raises ValueError, KeyError or TypeError for nonsense.
    """
    asked, words = _asked(question)
    block, query = int(question["block"]), int(question["query"])
    if not (0 <= block < asked.model.config.n_layers and 0 <= query < len(asked.token_ids)):
        raise ValueError("there is no such block or position")
    shown = reached(asked, block, query)
    return payload(shown.values, patterns_of(asked).allowed, shown.title(words, asked), shown.picked, {})


def _asked(question: dict) -> tuple[run.Run, prose.TextFile]:
    """The Run that a question names, and the lesson's words for its model."""
    asked = run.of_tokens(question["model"], question["device"], question["token_ids"])
    return asked, prose.load("heads").of_kind(asked.model.config.kind)
