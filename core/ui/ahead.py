"""Pictures that are drawn ahead of their page when the prompt is sent: the browser asks for them over HTTP and gives the prompt to the page when they stand.

A run of the page makes the browser go over everything on it, which takes many times as long as the picture that the reader waits for. The question says what the answer
depends on, as in core.ui.live; the run that follows finds the forward pass made.
"""
from __future__ import annotations

import urllib.parse

from core.ui import live, prerender, run, state

FIELD = ".st-key-prompt textarea"
NAME = "prerender"      # the route that any page's picture is asked of


def offer(name: str, present: run.Run, /, **question) -> dict | None:
    """What askAhead of ahead.js is told: where to ask, with what, and which text is drawn already. None for a model whose pass may take longer than a key can wait."""
    if present.model.n_parameters > run.LARGE:
        return None
    return {"field": FIELD, "path": live.address(name), "text": present.text,
            "question": {"model": present.model_name, "device": present.device, "position": state.picked_position(), **question}}


def picture(present: run.Run, key: str) -> dict | None:
    """The same for a component of the open page that is fed as Python feeds it, by its key: the page itself is asked what it would give it."""
    if present.model.n_parameters > run.LARGE:
        return None
    question = {"page": state.page(), "query": state.link({"prompt": None}).removeprefix("?"), "theme": state.theme(), "key": key}
    return {"field": FIELD, "path": live.address(NAME), "text": present.text, "question": question}


def answer(question: dict) -> bytes:
    """What the page gives its component where the prompt is the question's text. Raises ValueError, KeyError or TypeError for nonsense."""
    query, text = question["query"], question["text"]
    if not isinstance(query, str) or not isinstance(text, str):
        raise ValueError("there is no such address or text")
    prompt = urllib.parse.urlencode({"prompt": text}, quote_via=urllib.parse.quote)
    return prerender.drawn(prerender.Asked(question["page"], f"{query}&{prompt}", question["theme"], question["key"]))


def run_of(question: dict) -> tuple[run.Run, int]:
    """The Run of the question's text, and the position that is selected in it. ValueError, KeyError or TypeError for what makes no sense."""
    loaded, text, position = run.asked_model(question["model"], question["device"]), question["text"], question["position"]
    if not isinstance(text, str) or not (position is None or isinstance(position, int)):
        raise ValueError("there is no such text or position")
    if loaded.model.n_parameters > run.LARGE:
        raise ValueError("this model's passes take too long")
    asked = run.read(loaded, text)
    return asked, run.bounds_of(asked).place(position)
