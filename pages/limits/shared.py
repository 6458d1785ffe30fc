"""The lesson's settings, and what is known of a model's training text."""
import functools
from collections.abc import Iterator

import streamlit as st

from core.analysis.boolean_functions import FAMILIES
from core.app.compute import cache
from core.app.compute.library import names
from core.app.lesson import Lesson, samples, selection_controls, views
from core.app.parts import charts
from core.app.state import Run
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.base.markdown import escaped
from core.language import contrasts, word_order
from core.learning.probe import DISTANCES
from core.training.language_modelling import LanguageModelling, Mixture, Task
from core.training.recipes import RECIPES

PREFIX = "limits_"
USUAL = "usual"             # as the model was taught; one of others plainly, as nobody taught it this form
PHRASINGS = ("taught", "other", "polite", "labels", "story")
SOURCES = ("exercises", "pages", "prompt")
SETTINGS = Settings("limits", {
    "view": view_setting("limits"),
    "whole": Setting(False),                      # count all of a large model too, and no sample
    # the kind of fact in question, a name in assets/teaching/facts.json
    "relation": Setting("author"),
    "phrasing": Setting(USUAL, options=(USUAL, *PHRASINGS)),
    "subject": Setting(""),                       # the reader's own, in place of the made-up one
    # the picked case of the relation in each group
    "taught": Setting(0, low=0, high=3), "untaught": Setting(0, low=0, high=3), "invented": Setting(0, low=0, high=3),
    "threshold": Setting(0.7, low=0, high=1),
    "passage": Setting("giant"),                  # the name of a canary and its twin
    "start": Setting(8, low=1, high=48),          # tokens of it that the model is given
    "source": Setting("pages", options=SOURCES),
    "temperature": Setting(1.0, low=0.2, high=2),
    # inputs
    "control": Setting("none", options=("none", "random", "other")),
    "detail": Setting("tokens", options=("tokens", "components")), "component": Setting(-1, low=-1),
    "baseline": Setting("end", options=("end", "zero")),        # of integrated gradients
    "steps": Setting("64", options=("8", "64", "256")),          # gradients in its sum
    # the picked token; −1: the one whose removal changes most
    "token": Setting(-1, low=-1),
    # words
    "pair": Setting("girl", options=(*contrasts.sets()["pairs"], "own")),
    "span": Setting("one", options=("one", "all", "tone")),      # one sentence, all of them, or calm and rude ones
    "sentence": Setting(0, low=0, high=len(contrasts.sets()["sentences"]) - 1),
    "by": Setting("probability", options=("probability", "ratio")),
    # the index of the changed word in the prompt; −1: the first word that occurs in the pairs, else the last word
    "place": Setting(-1, low=-1),
    "other": Setting(""),                                        # its replacement; empty: the lesson's
    "counted": Setting(""),                                      # the counted words; empty: the pair's
    # meaning
    "test": Setting("agreement", options=tuple(word_order.TESTS)),
    "n": Setting("40", options=("20", "40", "80")),
    "item": Setting(0, low=0, high=79),                          # the picked item
    # context: a token exchanged, or the recorded probes, of a block (0: none yet) and a distance
    "trace": Setting("exchange", options=("exchange", "probe")),
    "probe_block": Setting(6, low=0, high=6), "probe_back": Setting(4, low=0, high=DISTANCES[-1]),
    # structure: the family of functions of `inputs` bits, the bits of a weight, the inputs that a table says
    "family": Setting("threshold", options=FAMILIES), "inputs": Setting("3", options=("1", "2", "3")),
    "weight_bits": Setting("2", options=("1", "2", "3", "4")), "entries": Setting(5, low=0, high=8),
    "function": Setting(-1, low=-1, high=255),                   # the picked one; −1: parity
    "wide": Setting(28, low=1, high=48), "budget": Setting(26, low=0, high=48),      # n, and p = 2^budget, of the bound
    "seed": Setting(1, low=0, high=999_999),                     # of calibration's samples and of the items of meaning
})
read, among, keep, attached = SETTINGS.read, SETTINGS.among, SETTINGS.keep, SETTINGS.attached
choice, show = functools.partial(views.choice, SETTINGS), functools.partial(charts.draw, PREFIX)
own_seed = functools.partial(selection_controls.own_seed, SETTINGS)
# of a large model every k-th item is counted, and the page says so
step_of = functools.partial(samples.step_of, SETTINGS)


def say_sample(page: Lesson, run: Run, n_tokens: int, name: str, **values: int) -> None:
    """Say how much of a large model is counted, beside the button for the whole."""
    samples.say(page, SETTINGS, run, n_tokens, name, **values)


def captioned_choice(page: Lesson, name: str) -> None:
    """Draw the choice of a setting under its caption."""
    with st.container(width="content", gap=None):
        st.caption(page.label(name))
        choice(page, name)


def met_teaching(name: str) -> str:
    """How much of the teaching text and its canaries a model has read, by its recipe: "whole", "part" or "none"; for a
    model without a recipe "random", "published" (by others) or "unknown".
    """
    if names.is_library_name(name):
        return "published"
    base, step = cache.name_and_step(name)
    if base not in RECIPES:
        return "random" if base == cache.RANDOM_MODEL else "unknown"
    stages = [stage for stage in RECIPES[base].stages if any(task.canaries for task in _texts(stage.task))]
    if not stages or step == 0:
        return "none"
    return "whole" if step is None and any(stage.epochs for stage in stages) else "part"


def _texts(task: Task) -> Iterator[LanguageModelling]:
    if isinstance(task, Mixture):
        for part, _ in task.parts:
            yield from _texts(part)
    elif isinstance(task, LanguageModelling):
        yield task


def origin(page: Lesson, name: str) -> str:
    """A sentence on how much of the teaching text the model has read; empty if it has read all of it."""
    met = met_teaching(name)
    return "" if met == "whole" else page.label(f"met_{met}", name=escaped(names.short(name)))
