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

from core.ui import live, prerender, run, state
from core.ui.components.drawn_ahead import draw_ahead
from core.ui.components.message import pack

FIELD = ".st-key-prompt textarea"
NAME = "prerender"      # the route that any page's pictures are asked of
# By page the keys of the pictures that stand by the address and the prompt alone, whatever the reader did before.
PICTURES: Mapping[str, tuple[str, ...]] = {
    "tokens": ("tokens_merges_player", "tokens_methods_table", "tokens_vocabulary_search", "tokens_training"),
    "embeddings": ("embeddings_product",),
    "positions": ("positions_symmetry_instrument", "positions_concat_instrument", "positions_rotary_instrument"),
    "attention": ("attention_steps_instrument", "attention_average", "attention_scaling", "attention_roles", "attention_pattern_before", "attention_pattern_after"),
    "residual_stream": ("residual_stream_norms", "residual_stream_turns", "residual_stream_lens_grid", "residual_stream_guesses",
                        *(f"residual_stream_matrix_{name}" for name in ("raw", "features", "tokens"))),
    "recurrence": ("recurrence_unrolled",),
    "architectures": ("architectures_design_picture", "architectures_blank_instrument", "architectures_blank_pattern", "architectures_norms_matrix", "architectures_norms_table",
                      "architectures_activations_instrument"),
    "language_models": ("language_models_coder",),
    "generation": ("generation_beam", "generation_futures"),
    "limits": ("limits_inputs",),
    "training": ("training_columns",),
}
# Those that show nothing of the prompt, and change with the controls of their view alone.
OF_NO_PROMPT: Mapping[str, tuple[str, ...]] = {"attention": ("attention_sheet",), "language_models": ("language_models_rows", "language_models_tasks"), "limits": ("limits_facts", "limits_items")}


def watch() -> None:
    """Has the browser ask for the open page's pictures. Call in the frame, once the page is known."""
    page = state.page()
    draw_ahead({"field": FIELD, "path": live.address(NAME), "page": page, "theme": state.theme(), "text": state.prompt(), "keys": PICTURES.get(page, ()),
                "of_no_prompt": OF_NO_PROMPT.get(page, ())})


def answer(question: dict) -> bytes:
    """What the page gives its pictures, by their keys, where the prompt is the question's text and one control is pressed. Raises ValueError, KeyError or TypeError for nonsense."""
    page, query, text, keys, pressed = (question.get(name) for name in ("page", "query", "text", "keys", "pressed"))
    if not isinstance(query, str) or not isinstance(text, str) or not isinstance(keys, list) or not {*keys} <= {*PICTURES[page], *OF_NO_PROMPT.get(page, ())}:
        raise ValueError("there is no such address, text or picture")
    prompt = urllib.parse.urlencode({"prompt": text}, quote_via=urllib.parse.quote)
    drawn = prerender.drawn(prerender.Asked(page, f"{query}&{prompt}", question["theme"], frozenset(keys), None if pressed is None else prerender.Pressed(*pressed)))
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
