"""The lesson's settings, the picked block, and small controls that several views draw."""
import functools

from core.app.lesson import Lesson, selection_controls, views
from core.app.lesson.selection_controls import short_list
from core.app.parts import charts
from core.app.state import Run
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.app.state.run import selection
from core.model.block import Block
from core.model.config import SCORES, ModelConfig
from core.model.trace import BlockTrace
from core.sheets import attention_by_hand

PREFIX = "attention_"
STAGES = ("x", "qkv", "norm", "turn", "dot", "scale", "cap", "bias", "mask", "softmax", "sum", "write", "matrix")
SETTINGS = Settings("attention", {
    "view": view_setting("attention"),
    "step": Setting("softmax", options=STAGES),       # a visit begins where the weights stand
    # position of the key whose numbers are shown; −1: the one with the largest weight
    "key": Setting(-1, low=-1),
    "component": Setting(0, low=0),               # index of the component whose numbers are shown
    "variant": Setting("head", options=("head", "simple")),
    "three_points": Setting("1.6,0.4;-0.8,1.4;1.2,1"),          # x₁; x₂; x₃
    "three_weights": Setting("off", options=("off", "on")),
    "scaling": Setting("off", options=("own", "off")),
    "mask": Setting("own", options=("own", "causal", "bidirectional", "sliding-window")),
    "width": Setting(4, low=1, high=64),          # keys under a sliding window
    "score": Setting("own", options=("own", *SCORES, "cosine")),
    "seed": Setting(0, low=0, high=9),            # of the weights of a score function that the model has not learned
    "average_part": Setting("average", options=("average", "bend")),
    "bend_other": Setting(-1, low=-1),            # position of the second token; −1: the one that the head looks at
    "temperature": Setting(0.0, low=-6.0, high=6.0),    # log2 τ of the scores
    "sheet_width": Setting("2", options=tuple(map(str, attention_by_hand.WIDTHS))),      # d_k = d_v
    "sheet_seed": Setting(0, low=0, high=9999),
    "scaling_d": Setting(64, low=1, high=512),                                   # d_k; a power of two
    "scaling_keys": Setting("16", options=("4", "8", "16", "32")),
    "scaling_seed": Setting(0, low=0, high=9999),
    "roles_part": Setting("symmetric", options=("symmetric", "product", "change", "relabel")),
    "roles_values": Setting("weights", options=("weights", "scores")),
    # of the matrix A: its greatest singular value; the least is 1 over it
    "roles_stretch": Setting(3.0, low=1.0, high=10.0),
    "roles_seed": Setting(0, low=0, high=9999),
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice, show = functools.partial(views.choice, SETTINGS), functools.partial(charts.draw, PREFIX)
own_seed = functools.partial(selection_controls.own_seed, SETTINGS)


def picked_block(run: Run) -> tuple[BlockTrace, Block]:
    """The trace and the weights of the picked layer."""
    layer = selection(run).layer
    return run.trace.blocks[layer], run.model.blocks[layer]


def between(config: ModelConfig) -> str:
    """The label of the part of a score beside the product of query and key: another score, a
    norm of both, or the model's positions.
    """
    if config.score != "dot" or not config.sublayer.qk_norm:
        return config.score if config.score != "dot" else config.positions
    norms = config.sublayer
    return "joint_norm" if norms.qk_norm_joint else "norm_per_head" if norms.qk_norm_heads else "qk_norm"


def listed(page: Lesson, name: str, default: str, width: int) -> str:
    """Draw a list tied to one setting and return its value. The labels are `<name>_<option>`, with the model's
    `default` as {own}.
    """
    names = {option: page.label(f"{name}_{option}", own=default) for option in SETTINGS.each[name].options}
    short_list(page.label(name), list(names), names.__getitem__, width, **attached(name, names=[*names.values()]))
    return read(name)


def numbered(page: Lesson, name: str) -> None:
    """Draw a list of the integers that one setting may be; the label is `<name>_n`."""
    setting = SETTINGS.each[name]
    short_list(page.label(name), range(int(setting.low), int(setting.high) + 1),
               lambda n: page.label(f"{name}_n", n=n), 95, **attached(name))
