"""Pictures that are drawn ahead of their page: the browser asks for them over HTTP and gives what the reader did to the page when they stand.

A run of the page makes the browser go over everything on it, which takes many times as long as the picture that the reader waits for. The question says what the answer
depends on, as in core.ui.live; the run that follows finds the forward pass made.

Most pictures are asked of their page, which is run for it without a session (core.ui.prerender): of another prompt, and with a control of the view pressed. Three have answers of their own, to
another prompt alone.
"""
from __future__ import annotations

import urllib.parse
from collections.abc import Mapping

import numpy as np

from core.ui import jobs, live, prerender, run, state
from core.ui.components.drawn_ahead import draw_ahead
from core.ui.components.message import pack

FIELD = ".st-key-prompt textarea"
NAME = "prerender"      # the route that any page's pictures are asked of
MOST_RUNS = 2           # of a page, for its reader or for its pictures, beside which one is still run for its pictures alone

# By page the pictures, components and charts, that stand by the address and the prompt alone, whatever the reader did before: their keys without the page's name. A chart that sometimes
# shows what its reader did says so (`own` of core.ui.charts).
OF_PROMPT = {
    "tokens": ("merges_player", "methods_table", "vocabulary_search", "training"),
    "embeddings": ("product", "paths", "alike"),
    "positions": ("symmetry_instrument", "concat_instrument", "rotary_instrument"),
    "attention": ("steps_instrument", "average", "likeness", "scaling", "roles", "pattern_before", "pattern_after", "switches_bars"),
    "residual_stream": ("norms", "turns", "cosines", "lens_grid", "guesses", "target", "waterfall", "matrix_raw", "matrix_features", "matrix_tokens", "vector_before", "vector_standard",
                        "vector_after", "neurons", "cut_tokens", "cut_lines"),
    "recurrence": ("unrolled",),
    "architectures": ("design_picture", "blank_instrument", "blank_pattern", "norms_matrix", "norms_table", "activations_instrument"),
    "language_models": ("coder",),
    "generation": ("beam", "futures"),
    "limits": ("inputs",),
    "training": ("columns", "guesses"),
}
# Those that show nothing of the prompt, and change with the controls of their view alone.
OF_NO_PROMPT = {
    "embeddings": ("neighbours", "spread", "sums", "plane", "verdict"),
    "positions": ("measured_losses",),
    "attention": ("sheet",),
    "residual_stream": ("placement",),
    "recurrence": ("gradient", "steps", "flops"),
    "architectures": ("operations", "patterns_picture"),
    "language_models": ("rows", "tasks"),
    "limits": ("facts", "items", "shares", "memory_recited", "memory_nats", "given", "given_counts", "control", "control_counts", "movers", "ratios", "spreads"),
    "training": ("childhood_loss", "childhood_scores", "next_token", "schedule", "surface", "descent_loss", "descent_growth", "kepler_instrument"),
}


def keys(page: str, of: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The keys of the pictures of a page."""
    return [f"{page}_{name}" for name in of.get(page, ())]


def watch() -> None:
    """Has the browser ask for the open page's pictures. Call in the frame, once the page is known."""
    page = state.page()
    draw_ahead({"field": FIELD, "path": live.address(NAME), "page": page, "theme": state.theme(), "text": state.prompt(), "keys": keys(page, OF_PROMPT),
                "of_no_prompt": keys(page, OF_NO_PROMPT)})


def question(key: str) -> dict:
    """What a picture asks with that has hands of its own, of the route NAME: itself, by its key, on the open page; the query of the address as its hands have it comes with it."""
    return {"page": state.page(), "theme": state.theme(), "text": state.prompt(), "keys": [key]}


def answer(question: dict) -> bytes:
    """What the page gives its pictures, by their keys, where the prompt is the question's text and one control is pressed. Raises ValueError, KeyError or TypeError for nonsense.

    Nothing while many pages run: the page itself would answer as soon, and all would wait for what is computed twice. But for what is asked "again", to set right what stands.
    """
    page, query, text, asked, pressed = (question.get(name) for name in ("page", "query", "text", "keys", "pressed"))
    if not isinstance(query, str) or not isinstance(text, str) or not isinstance(asked, list) or not {*asked} <= {*keys(page, OF_PROMPT), *keys(page, OF_NO_PROMPT)}:
        raise ValueError("there is no such address, text or picture")
    if jobs.n_threads(jobs.PAGE, prerender.THREAD) > MOST_RUNS and question.get("again") is not True:
        return pack({"busy": True}, {})
    prompt = urllib.parse.urlencode({"prompt": text}, quote_via=urllib.parse.quote)
    drawn = prerender.drawn(prerender.Asked(page, f"{query}&{prompt}", question["theme"], frozenset(asked), None if pressed is None else prerender.Pressed(*pressed)))
    return pack({}, {key: np.frombuffer(sent, np.uint8) for key, sent in drawn.items()})


def offer(name: str, present: run.Run, /, **question) -> dict | None:
    """What askAhead of ahead.js is told: where to ask, with what, and which text is drawn already. None for a model whose pass may take longer than a key can wait."""
    if present.model.n_parameters > run.LARGE:
        return None
    return {"field": FIELD, "path": live.address(name), "text": present.text,
            "question": {"model": present.model_name, "device": present.device, "position": state.picked_position(), **question}}


def run_of(question: dict) -> tuple[run.Run, int]:
    """The Run of the question's text, and the position that is selected in it. ValueError, KeyError or TypeError for what makes no sense."""
    loaded, text, position = run.asked_model(question["model"], question["device"]), question["text"], question["position"]
    if not isinstance(text, str) or not (position is None or isinstance(position, int)):
        raise ValueError("there is no such text or position")
    if loaded.model.n_parameters > run.LARGE:
        raise ValueError("this model's passes take too long")
    asked = run.read(loaded, text)
    return asked, run.bounds_of(asked).place(position)
