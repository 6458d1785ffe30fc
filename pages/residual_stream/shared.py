"""The lesson's settings, and the small pieces that its views share."""
import functools

from core.app.lesson import Lesson, selection_controls, views
from core.app.parts import charts
from core.app.state import Run, reader
from core.app.state.lesson_settings import Setting, Settings, view_setting

PREFIX = "residual_stream_"
CHART = 330           # px of a chart: the rest of a 720 px screen
CHART_PRESENT = 290   # the same in present mode
# blocks whose rows fit the first screen with their names; with more, the rows are flatter or scroll
SEEN_WHOLE = 12
SETTINGS = Settings("residual_stream", {
    "view": view_setting("residual_stream"),
    "measure": Setting("stream", options=("stream", "attention", "mlp", "change", "turn")),
    "log": Setting(False),
    "depth": Setting(0, low=-1),                  # of the lens: blocks passed, 0 the embedding; −1: all of them
    "row": Setting(-1, low=-1),                   # of the lengths: blocks passed; −1: all of them
    "detail": Setting("parts", options=("parts", "sublayers")),
    "order": Setting("model", options=("model", "size")),
    "all": Setting(False),                        # whether each small part of a large model has a bar
    "norm_view": Setting("vector", options=("vector", "batch")),
    "norm_where": Setting("attention", options=("attention", "mlp", "final", "embedding")),
    "feature": Setting(0, low=0),
    "neuron": Setting(-1, low=-1),                # of the feed-forward part; −1: that with the largest output
    "random_depth": Setting(6, low=2, high=24),
    "random_seed": Setting(0, low=0, high=9),
    "block_order": Setting("own", options=("own", "pre", "post")),      # where the norms stand
    "beside": Setting(-1, low=-1),                # the other token; −1: that which is looked at most
    "exchange": Setting("none", options=("none", "attention", "cross", "mlp")),
    "placement_warmup": Setting("0", options=("0", "60")),      # steps
    "patch_pair": Setting("give", options=("give", "copy", "opposite", "pronoun", "agreement", "own")),
    "patch_place": Setting(-1, low=-1),           # the word of the reader's prompt; −1: one with a usual counterpart
    "patch_other": Setting(""),                   # what stands in its place; empty: that counterpart
    "patch_depth": Setting(-1, low=-1),           # blocks passed; −1: half of them
    "patch_position": Setting(-1, low=-1),        # −1: the changed word
    "patch_what": Setting("stream", options=("stream", "heads")),
    "patch_block": Setting(-1, low=-1),           # of the exchanged output; −1: of the head that moves the answer most
    "patch_part": Setting(-1, low=-1),            # its head, or the number of heads: the feed-forward part
    "cut_measure": Setting("likeness", options=("likeness", "length")),
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice, show = functools.partial(views.choice, SETTINGS), functools.partial(charts.draw, PREFIX)
show_spec = functools.partial(charts.draw_spec, PREFIX)
own_seed = functools.partial(selection_controls.own_seed, SETTINGS)


def depth_names(page: Lesson, n_layers: int) -> list[str]:
    """The L + 1 names of the depths of the stream: the entry of block 0, then after n of L blocks."""
    return [page.label("entering")] + [page.label("after_blocks", n=n, all=n_layers)
                                         for n in range(1, n_layers + 1)]


def short_depth_names(page: Lesson, n_layers: int) -> list[str]:
    """The L + 1 short names of the depths for an axis."""
    return [page.label("entering_short")] + [str(n) for n in range(1, n_layers + 1)]


def target_token(run: Run, position: int) -> int:
    """The token whose probability is followed: the reader's, else the most probable after `position`."""
    target = reader.selection().target
    return int(run.trace.logits[position].argmax()) if target is None else target


def unembedding_name(run: Run) -> str:
    """The symbol of the unembedding matrix in a sentence."""
    return "E" if run.model.config.tied_embeddings else "W_U"


def stretch(depth: int, n_layers: int, first: int) -> int:
    """In which of four stretches of the model a depth lies, counted from 0: up to `first` blocks, up to half of them,
    before the last one, all of them.

    >>> [stretch(depth, 6, 1) for depth in range(7)]
    [0, 0, 1, 1, 2, 2, 3]
    """
    return 0 if depth <= first else 3 if depth == n_layers else 1 + (2 * depth > n_layers)


def depth_of(n_layers: int) -> int:
    """The picked depth: from 0, the embedding, to L, the whole model."""
    depth = read("depth")
    return n_layers if depth < 0 else min(depth, n_layers)


def look(less: int = 0, presenting: int = 0) -> dict:
    """A chart's theme, scale of the type, and height in pixels with which it fits the first screen. less, or presenting
    in present mode: the height of other elements there.
    """
    return charts.look(CHART - less, CHART_PRESENT - presenting)
