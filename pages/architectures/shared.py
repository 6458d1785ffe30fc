"""The lesson's settings, and the small pieces that its views share."""
import functools
from collections.abc import Callable
from pathlib import Path

import altair as alt
import numpy as np
import streamlit as st
import torch
from torch import Tensor

from core.app.lesson import Lesson, selection_controls, views
from core.app.parts import charts
from core.app.state import reader
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.learning.modifications import VARIANTS

PREFIX = "architectures_"
SHARED_CSS = Path(__file__).with_suffix(".css")      # of the pictures
# the views of the hardware count its pass: the chosen model's, or that of a preset that writes
MACHINE_MODELS = "own", "gpt2", "gpt3", "llama-7b", "llama2-70b"
SETTINGS = Settings("architectures", {
    "view": view_setting("architectures"),
    "design": Setting("stories"),                     # see designs.py
    "base": Setting(""),                              # the baseline; empty: the unchanged preset
    "prefix": Setting(-1, low=-1),                    # tokens that see each other; −1: half of them
    "cost": Setting("growth", options=("growth", "patterns")),
    "width": Setting(64, low=16, high=256),           # of the timed vectors
    "window": Setting(64, low=16, high=256),
    "length": Setting(32, low=8, high=64),            # tokens of the sparse patterns
    "near": Setting(2, low=0, high=8),                # tokens on either side
    "central": Setting(1, low=0, high=4),
    "drawn": Setting(2, low=0, high=6),
    "seed": Setting(0, low=0, high=9999),             # likewise, of the random keys
    "record": Setting("models", options=("models", "family", "scaling", "translation", "data", "pieces",
                                         "modifications")),
    "relative": Setting("gpt4"),                      # of the GPT family, by its id
    "mix": Setting("gpt3", options=("gpt3", "models")),
    "patch": Setting(16, low=8, high=56),             # points of a side
    "sequence": Setting("lengths", options=("lengths", "head", "joined")),
    "piece": Setting(39, low=-16, high=783),          # the patch that asks; of the words before them −1 is the last
    "placed": Setting(False),                         # whether patches have positions
    "mixed": Setting(False),                          # whether they have changed places
    "modification": Setting("swiglu", options=tuple(VARIANTS)),
    "measure": Setting("parameters", options=("parameters", "layers", "width", "heads", "context", "tokens", "compute",
                                              "energy")),
    "pair": Setting("en_de", options=("en_de", "en_fr")),
    "parameters": Setting(175.0, low=1e-6, high=1e5), # of a training, in billions; it opens as GPT-3's
    "tokens": Setting(300.0, low=1e-6, high=1e6),     # likewise
    "hardware": Setting("v100", options=("p100", "v100", "a100", "h100", "tpu_v4")),
    "devices": Setting(10_000, low=1, high=10_000_000),
    "share": Setting(20, low=1, high=100),            # utilisation of the hardware's peak in training, %
    "pue": Setting(1.1, low=1, high=2),               # power of the site over its devices'
    "price": Setting(2.0, low=0.01, high=1000),       # of a device-hour, in dollars
    "machine": Setting("pass", options=("pass", "roofline", "array")),
    "pass_model": Setting("own", options=MACHINE_MODELS),
    "machine_length": Setting(0, low=0),              # tokens that are read; 0: the prompt's
    "roofline_model": Setting("gpt3", options=MACHINE_MODELS),
    "machine_context": Setting(2048, low=1),          # tokens that are read at once, or written one by one
    "machine_batch": Setting(1, low=1, high=1024),    # texts that are written at the same time
    "machine_device": Setting("h100", options=("v100", "a100", "h100", "tpu_v4")),
    "machine_rows": Setting(3, low=1, high=8),        # of the matrix that flows through the array
    "machine_side": Setting(3, low=3, high=4),        # of the array, in cells
    "machine_tick": Setting(0, low=0),
    "machine_cell": Setting(""),                      # "row,column" of the cell that is opened; "": none
    "blank_text": Setting("The little dog was very [sad] because he lost his bone."),
    "blank_way": Setting("own", options=("own", "chance")),
    "blank_seed": Setting(0, low=0, high=9999),
    "blank_picked": Setting(-1, low=-1),              # position of the picked blank; −1: the first
    "blank_block": Setting(0, low=0),
    "blank_head": Setting(3, low=0),
    "translate_text": Setting("the twenty-first of march nineteen eighty-four"),
    # for an encoder-decoder of the library: one that is asked in words, and one that does a single thing
    "translate_loaded_text": Setting("translate English to German: The little dog is very sad."),
    "translate_plain_text": Setting("The little dog is very sad."),
    "translate_seed": Setting(0, low=0, high=9999),
    "translate_attention": Setting("cross", options=("encoder", "decoder", "cross")),
    "translate_block": Setting(1, low=0),
    "translate_head": Setting(-1, low=-1),            # −1: the mean of the block's heads
    "translate_step": Setting(1, low=-1),             # number of written tokens; −1: all
    "norms_where": Setting("attention", options=("attention", "mlp", "final")),
    "norms_feature": Setting(0, low=0),
    "norms_other": Setting("Tom and Mia went to the park."),
    "activations_x": Setting(-1.0, low=-5.0, high=5.0),
    "activations_beta": Setting(1.0, low=0.1, high=50.0),
    "activations_second": Setting(1.5, low=-5.0, high=5.0),
    "experts_n": Setting(8, low=2, high=16),          # beside a model that has none
    "experts_k": Setting(2, low=1, high=16),
    "experts_seed": Setting(0, low=0, high=9999),     # of the router that nobody trained
    "activations_gate": Setting("swiglu", options=("swiglu", "geglu")),
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice = functools.partial(views.choice, SETTINGS)
own_seed = functools.partial(selection_controls.own_seed, SETTINGS)


def show(name: str, figure: Callable[..., alt.TopLevelMixin], *args, **options) -> None:
    """Draw a figure of charts.py in the reader's theme and size of type; `args` and `options` are the figure's."""
    charts.draw(PREFIX, figure(*args, theme=reader.theme(), scale=reader.scale(), **options), name)


def text_field(page: Lesson, setting: str, labels: str, most: int, **fresh) -> None:
    """Draw a text field of at most `most` characters, and buttons with examples, which also set the settings
    `fresh`.
    """
    st.text_input(page.label(f"{labels}_field"), max_chars=most, label_visibility="collapsed",
                  placeholder=page.label(f"{labels}_hint"), live=True, width="stretch", **attached(setting))
    with st.popover(page.label("examples"), key=f"{PREFIX}{labels}_examples"):
        for i, example in enumerate(filter(None, page.text(f"{labels}_examples").splitlines())):
            st.button(example.replace("[", "\\["), key=f"{PREFIX}{labels}_example_{i}", type="tertiary", on_click=keep,
                      kwargs={setting: example, **fresh})


def pick(page: Lesson, name: str, n: int, **attachment) -> int:
    """Draw a select box of n blocks or heads and return the choice; `name` is "block" or "head"."""
    return st.selectbox(page.label(name), range(n), format_func=lambda i: page.label(f"{name}_named", i=i),
                        label_visibility="collapsed", width=130 if reader.scale() == 1 else 190, **attachment)


def probabilities(logits: Tensor) -> np.ndarray:
    """Softmax along the last axis, in float64."""
    return torch.softmax(logits.double(), -1).numpy()


def most_probable(p: np.ndarray, n: int) -> list[int]:
    """The token ids of the n largest probabilities p (|V|,), the largest first."""
    return np.argsort(-p, kind="stable")[:n].tolist()


def histogram(values: np.ndarray, edges: tuple[float, float], bins: int) -> list[int]:
    """The counts of the values in each bin between the edges; values beyond are in none."""
    return np.histogram(values, bins, edges)[0].tolist()


def prefixed(value: float, unit: str = "", digits: int = 4) -> str:
    """A large number with `digits` significant figures and a decimal prefix, or B for billions without a unit; an
    integer below 1000 unchanged.

    >>> prefixed(174_604_259_328), prefixed(12), prefixed(999_999), prefixed(3.5e20, "FLOP")
    ('174.6 B', '12', '1.000 M', '350.0 EFLOP')
    """
    names = ("", "k", "M", "G" if unit else "B", "T", "P", "E", "Z", "Y")
    power, sign = 0, "−" if value < 0 else ""
    value = abs(value)
    while power + 1 < len(names) and float(f"{value:.{digits}g}") >= 1000:
        value, power = value / 1000, power + 1
    written = f"{value:.0f}" if power == 0 and value == int(value) else f"{value:#.{digits}g}".rstrip(".")
    return f"{sign}{written} {names[power]}{unit}".rstrip()


