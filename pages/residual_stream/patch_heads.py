"""Patching of outputs: what one head of one block writes, or its feed-forward part, is the other run's."""
import numpy as np
import pandas as pd

from core.analysis import patching
from core.analysis.arrays import to_numpy
from core.analysis.patching import Patching
from core.app.lesson import Lesson, Options, Prediction, Question, Truth
from core.app.state import reader
from core.base.markdown import code
from core.figures.numbers import percent
from pages.residual_stream.patch_pair import Pair, measured_whole, question_of, share_text
from pages.residual_stream.shared import keep, read

NAME, PATCHED = "patching_heads", patching.patched_outputs
CARRIED = 0.5, 0.2      # of the way: the limits between the options
STANDS_OUT = 2          # times as far as the next head moves the answer the one that carries it alone


def of_heads(pair: Pair, shares: np.ndarray) -> np.ndarray:
    """(L, h) the shares of the heads, without those of feed-forward parts."""
    return shares[:, :pair.here.model.config.n_heads]


def predict(page: Lesson, pair: Pair) -> Prediction | None:
    """How far one head alone moves the answer: more than half of the way, a fifth, or less."""
    n_layers, n_heads = pair.here.model.config.n_layers, pair.here.model.config.n_heads
    if n_layers == 1:
        return None

    def truth(_: int) -> Truth:
        shares = of_heads(pair, to_numpy(measured_whole(page, pair, PATCHED).shares))
        first, second = (divmod(int(place), n_heads) for place in np.argsort(-shares, axis=None, kind="stable")[:2])
        return Truth(int(sum(shares[first] <= limit for limit in CARRIED)), said=share_text(shares[first]),
                     seen=int(shares[first] < STANDS_OUT * shares[second]), values={
            "head": page.label("part_head", layer=first[0], head=first[1]), "most": share_text(shares[first]),
            "second": page.label("part_head", layer=second[0], head=second[1]), "less": share_text(shares[second])})

    return Prediction(NAME, Options([*page.labels("guess_carried").values()]), truth,
                      {**pair.asked(), "n": n_layers * n_heads}, pair.texts)


def names(page: Lesson, pair: Pair) -> tuple[list[str], list[str]]:
    """Row names: the blocks. Column names: heads, then the feed-forward part."""
    config = pair.here.model.config
    parts = [] if config.d_ff is None else [page.label("patch_feed_forward")]
    return ([page.label("block", block=layer) for layer in range(config.n_layers)],
            [page.label("patch_head", head=head) for head in range(config.n_heads)] + parts)


def picked(pair: Pair, found: Patching) -> tuple[int, int]:
    """The block and the column picked: until one was picked, the head that moves the answer furthest."""
    config, layer, column = pair.here.model.config, read("patch_block"), read("patch_part")
    if layer in range(config.n_layers) and column in range(config.n_heads + (config.d_ff is not None)):
        return layer, column
    return divmod(int(np.nanargmax(of_heads(pair, to_numpy(found.shares)))), config.n_heads)


def pick(pair: Pair, layer: int, column: int) -> None:
    """Callback: a cell is picked, and its head in all lessons."""
    keep(patch_block=layer, patch_part=column)
    if column < pair.here.model.config.n_heads:
        reader.select(layer=layer, head=column)


def logits(pair: Pair, layer: int, column: int) -> np.ndarray:
    """(|V|,) the last token's logits with one output exchanged."""
    if column == pair.here.model.config.n_heads:
        return to_numpy(patching.with_feed_forward(*pair.runs, layer).double())
    return to_numpy(patching.with_heads(*pair.runs, layer, [column])[0].double())


def what(page: Lesson, pair: Pair, layer: int, column: int) -> str:
    """The title's words for what is exchanged."""
    if column == pair.here.model.config.n_heads:
        return page.label("patch_output_of_mlp", layer=layer)
    return page.label("patch_output_of", head=page.label("part_head", layer=layer, head=column))


def question(page: Lesson, pair: Pair, found: Patching) -> Question | None:
    """How far the answer moves with the outputs of all heads exchanged at once; by a pass of its own. Only where the
    texts have the same last token, to which nothing but heads brings what differs.
    """
    if pair.here.token_ids[-1] != pair.there.token_ids[-1]:
        return None
    total = float(of_heads(pair, to_numpy(found.shares)).sum())
    moved = to_numpy(patching.with_all_heads(*pair.runs).double())
    return question_of(page, NAME, found, moved, total, n=of_heads(pair, to_numpy(found.shares)).size,
                       total=percent(total), last=code(pair.here.tokens[-1]))


def table(pair: Pair, found: Patching) -> pd.DataFrame:
    """A row for each exchange; head: None of a feed-forward part."""
    shares, gaps, n_heads = to_numpy(found.shares), to_numpy(found.gaps), pair.here.model.config.n_heads
    return pd.DataFrame([{"layer": layer, "part": "head" if column < n_heads else "mlp",
                          "head": column if column < n_heads else None, "gap": gaps[layer, column], "share": share}
                         for (layer, column), share in np.ndenumerate(shares)])
