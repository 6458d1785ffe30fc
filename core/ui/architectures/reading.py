"""The lesson's settings."""
from __future__ import annotations

import functools

from core.ui import views
from core.ui.instrument_state import Setting, Settings

PREFIX = "architectures_"
SETTINGS = Settings("architectures", {
    "view": Setting("blank", options=("blank", "translate", "norms", "activations")),
    "blank_text": Setting("The little dog was very [sad] because he lost his bone."),
    "blank_way": Setting("own", options=("own", "chance")),
    "blank_seed": Setting(0, low=0, high=9999),
    "blank_picked": Setting(-1, low=-1),              # position of the blank that is looked at; −1: the first
    "blank_block": Setting(0, low=0),
    "blank_head": Setting(3, low=0),
    "translate_text": Setting("the twenty-first of march nineteen eighty-four"),
    "translate_seed": Setting(0, low=0, high=9999),
    "translate_attention": Setting("cross", options=("encoder", "decoder", "cross")),
    "translate_block": Setting(1, low=0),
    "translate_head": Setting(-1, low=-1),            # −1: the mean of the block's heads
    "translate_step": Setting(-1, low=-1),            # tokens written; −1: all of them
    "norms_where": Setting("attention", options=("attention", "mlp", "final")),
    "norms_feature": Setting(0, low=0),
    "norms_other": Setting("Tom and Mia went to the park."),
    "activations_x": Setting(-1.0, low=-5.0, high=5.0),
    "activations_beta": Setting(1.0, low=0.1, high=50.0),
    "activations_second": Setting(1.5, low=-5.0, high=5.0),
    "activations_gate": Setting("swiglu", options=("swiglu", "geglu")),
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice, show = functools.partial(views.choice, SETTINGS), functools.partial(views.show, PREFIX)
