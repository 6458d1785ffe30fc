"""Tuning: pretraining, supervised fine-tuning and alignment with preferences, on the reader's own copy of a model."""
from bisect import bisect

import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Reading, Truth, cannot
from core.app.state import Run
from core.base.markdown import escaped
from core.figures.numbers import readable
from pages.training import alignment, fine_tuning, pretraining
from pages.training.shared import PREFIX, choice, read, side_by_side
from pages.training.tuning_parts import LEAST_CONTEXT, base_of, tuner_settings, wizard_step

STAGES = {"pretrained": pretraining, "tuned": fine_tuning, "aligned": alignment}
STILL = 0.02          # the share by which a loss may change and count as unmoved
LIMITS = (1 - STILL, 1 + STILL, 1.5)      # of the loss after over that before, between the options of the question


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask how the recorded fine-tuning changed the loss on the model's stories."""
    kept = fine_tuning.recorded(page, base_of(run), tuner_settings()) if read("stage") == "tuned" else None
    if kept is None:
        return None
    first, last = kept.history[0], kept.history[-1]

    def truth(_: int) -> Truth:
        above = {step.held_out > step.old for step in kept.history}
        return Truth(bisect(LIMITS, last.old / first.old), said=page.label("said_nats", nats=readable(last.old)),
                     seen=0 if len(above) > 1 else 2 if above == {True} else 1,
                     values={"old": readable(last.old), "held_out_before": readable(first.held_out),
                             "held_out": readable(last.held_out)})

    return Prediction("tuning", Options([page.label(f"old_{i}") for i in range(len(LIMITS) + 1)]), truth,
                      {"steps": last.step, "n": fine_tuning.N_TRAIN, "before": readable(first.old),
                       "task": page.label(f"pairs_{read('pairs')}")})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    loaded = base_of(run)
    with side_by_side("top", "medium", key=f"{PREFIX}wizard"):
        with wizard_step(page, "stage"):
            stage = STAGES[choice(page, "stage")]
        with wizard_step(page, stage.STEP):
            stage.settings(page)
        last = st.container(width="content")
    if loaded.model.config.n_context < LEAST_CONTEXT:
        return cannot(page.label("tuning_too_short", name=escaped(loaded.title), n=loaded.model.config.n_context,
                                 least=LEAST_CONTEXT))
    return stage.draw(page, run, loaded, last)
