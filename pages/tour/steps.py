"""The page: the open step computed, and drawn by one component. Each act of the reader draws it again, a fragment."""
from dataclasses import replace
from pathlib import Path

import streamlit as st

from core.app.compute import growing_results
from core.app.lesson import lesson, prediction
from core.app.state import Run, prompts, reader
from core.base import catalogue, prose
from core.components import declare
from core.components.lib.bytes import pack
from pages.tour import ending, looking, pieces, words
from pages.tour.shared import MET, STEPS, acts, is_named, keep, number

COMPUTE = {"finish": words.finish, "write": words.write, "change": words.change, "pieces": pieces.pieces,
           "near": pieces.near, "numbers": pieces.numbers, "look": looking.look, "heads": looking.heads,
           "layers": looking.layers, "dice": ending.dice, "learn": ending.learn, "map": ending.whole}
# in the session: the entrance, and the sentence, that a press asks for
OPEN, PROMPT = "tour_open", "tour_prompt"
# steps with a right guess
GUESSED = ("finish", "change", "pieces", "near", "numbers", "look", "layers", "dice", "learn")
N_SENTENCES = 3             # offered where a step needs one
HERE = Path(__file__).parent
CONTENT, STYLES = '<div class="component tour"></div>', (HERE / "tour.css",)
_tour = declare("tour", HERE / "tour.js", html=CONTENT, styles=STYLES)


def draw() -> None:
    """Draw the whole page."""
    page = lesson.Lesson(catalogue.TOUR, prose.load(catalogue.TOUR), prose.load("app"))

    def body() -> None:
        if prompt := st.session_state.pop(PROMPT, None):
            reader.set_prompt(str(prompt))
        run, named = page.run(), is_named()
        if asked := st.session_state.pop(OPEN, None):
            lesson_id, settings = ending.place(page, run, asked)
            prediction.look(lesson_id)
            if number() == len(STEPS):
                st.session_state[MET] = True
            reader.open_lesson(lesson_id, settings)
        at, progress = number(), st.container()
        with growing_results.frame() as frame:
            _draw(page, run, at, named)
        growing_results.follow(frame, progress, page.frame_words)

    lesson.fragment(body, run_every=growing_results.every())()


def _draw(page: lesson.Lesson, run: Run, at: int, named: bool) -> None:
    """The step `at`, with what the reader has done in it."""
    done = acts(run)
    _tour(key="tour_picture", data=message(page, run, at, done, named=named, scale=reader.scale()),
          on_settings=lambda settings: keep(settings["at"]),
          events={"act": lambda act: _act(done, act), "again": lambda acts: take_up(done, acts),
                  "prompt": lambda prompt: st.session_state.update({PROMPT: prompt}),
                  "open": lambda entrance: st.session_state.update({OPEN: entrance})})


def message(page: lesson.Lesson, run: Run, at: int, done: dict, *, named: bool, scale: float) -> bytes:
    """The message about the step `at`, from 1. done: the reader's acts; named: whether anybody asked for this step."""
    step = COMPUTE[STEPS[at - 1]](page, run, done)
    if STEPS[at - 1] == "map":
        step = replace(step, said=right_guesses(page, run, done))
    header = {"text": page.words.labels | symbols(page, run),
              "steps": STEPS, "at": at, "named": named, "scale": scale,
              "of": f"{run.model_name} {run.token_ids}", "title": page.text("title"), "done": done, "leads": True,
              "asks": step.asks, "tells": step.tells, "said": list(step.said), "values": dict(step.values),
              "sentences": list(prompts.example_prompts()[:N_SENTENCES]) if step.asks is None else []}
    return pack(header, dict(step.arrays))


def right_guesses(page: lesson.Lesson, run: Run, done: dict) -> list[tuple[str, dict]]:
    """How many of the reader's guesses were right, and how sure the first one was; nothing of who has guessed nothing.
    """
    verdicts = [(name, COMPUTE[name](page, run, done)) for name in GUESSED if name in done]
    told = {name: step.said[0] for name, step in verdicts if step.tells and step.said}
    if not told:
        return []
    right = sum(label.endswith(("_same", "_right")) for label, _ in told.values())
    values = {"right": right, "n": len(told)} | told.get("finish", ("", {}))[1]
    return [("told_map" if "finish" in told else "told_map_unsure", values)]


def symbols(page: lesson.Lesson, run: Run) -> dict[str, str]:
    """The steps' formulas that are others for this model: E is not tied, the scores are not divided."""
    config = run.model.config
    changed = ([] if config.tied_embeddings else [("layers", "untied"), ("map", "untied")])
    changed += [] if config.scores.scale_scores else [("look", "unscaled")]
    return {f"symbol_{step}": page.label(f"symbol_{step}_{how}") for step, how in changed}


def take_up(done: dict, acts: object) -> None:
    """Callback: what the browser remembers of the reader's acts with this prompt, after it has loaded the page anew."""
    if isinstance(acts, dict):
        done |= {step: act for step, act in acts.items() if step in STEPS and isinstance(act, dict)} | done


def _act(done: dict, act: dict) -> None:
    """Callback: what the reader has done in a step stands in place of what was done there before; a token of "write"
    is added to those before it.
    """
    step = act.pop("step")
    if step == "write" and "add" in act:
        act = {"added": [*done.get(step, {}).get("added", ()), act["add"]]}
    done[step] = act
