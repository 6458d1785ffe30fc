"""The lesson's settings, and what its views read from a run: the picked head's block, and names."""
from __future__ import annotations

import functools

from torch import Tensor

from core.block import Block
from core.trace import BlockTrace
from core.ui import state, views
from core.ui.instrument_state import Setting, Settings
from core.ui.run import Run

PREFIX = "attention_"
STAGES = ("x", "qkv", "turn", "dot", "scale", "bias", "mask", "softmax", "sum", "write", "matrix")
SETTINGS = Settings("attention", {
    "view": Setting("steps", options=("steps",)),
    "step": Setting("write", options=STAGES),
    "key": Setting(-1, low=-1),                   # position of the key whose numbers are worked out; −1: the one with the largest weight
    "component": Setting(0, low=0),               # of the vectors whose numbers are worked out
    "variant": Setting("head", options=("head", "simple")),
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice, show = functools.partial(views.choice, SETTINGS), functools.partial(views.show, PREFIX)


def picked_block(run: Run) -> tuple[BlockTrace, Block]:
    """The trace and the weights of the picked layer."""
    layer = state.selection().layer
    return run.trace.blocks[layer], run.model.blocks[layer]


def to_numpy(tensor: Tensor):
    """A tensor as float64 numpy, from any device."""
    return tensor.detach().double().cpu().numpy()
