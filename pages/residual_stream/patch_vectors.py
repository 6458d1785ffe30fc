"""Patching of the stream: one vector of the other run at each depth and position."""
import numpy as np
import pandas as pd

from core.analysis import patching
from core.analysis.arrays import to_numpy
from core.analysis.patching import Patching
from core.app.lesson import Lesson, Options, Prediction, Question, Truth
from core.base.markdown import code
from core.model.intervention import Intervention, Patch
from pages.residual_stream.patch_pair import Pair, measured_whole, question_of, share_text
from pages.residual_stream.shared import depth_names, keep, read, stretch

NAME, PATCHED = "patching", patching.patched
CARRIES = 0.2           # of the way: a token that moves the answer so far carries part of it


def handover(shares: np.ndarray, first: int) -> int:
    """The first depth at which the last token's vector moves the answer further than that of the changed token."""
    return int(np.argmax(shares[:, -1] > shares[:, first]))


def predict(page: Lesson, pair: Pair) -> Prediction | None:
    """In which block the last token's vector comes to decide, and no longer the changed word's: the first, one of
    the first half or of the second, or the last.
    """
    last, n_layers = len(pair.here.token_ids) - 1, pair.here.model.config.n_layers
    if pair.first == last or n_layers == 1:
        return None

    def truth(_: int) -> Truth:
        shares = to_numpy(measured_whole(page, pair, PATCHED).shares)
        depth = handover(shares, pair.first)
        between = shares[:, pair.first + 1:last]
        return Truth(stretch(depth, n_layers, 1), seen=int(between.size > 0 and np.abs(between).max() >= CARRIES),
                     values={"depth": depth, "before": share_text(shares[max(depth - 1, 0), pair.first]),
                             "after": share_text(shares[depth, last])})

    return Prediction(NAME, Options([*page.labels("guess_vectors").values()]), truth,
                      {**pair.asked(), "last": pair.here.tokens[last], "n_layers": n_layers}, pair.texts)


def names(page: Lesson, pair: Pair) -> tuple[list[str], list[str]]:
    """Row names: the depths. Column names: the tokens; both if the texts differ."""
    return depth_names(page, pair.here.model.config.n_layers), [
        own if own == other else f"{own}/{other}" for own, other in zip(pair.here.tokens, pair.there.tokens)]


def picked(pair: Pair, _: Patching) -> tuple[int, int]:
    """The depth and position picked: until one was picked, the changed word half way up."""
    last, n_layers = len(pair.here.token_ids) - 1, pair.here.model.config.n_layers
    depth, position = read("patch_depth"), read("patch_position")
    return (depth if 0 <= depth <= n_layers else n_layers // 2), (position if 0 <= position <= last else pair.first)


def pick(pair: Pair, depth: int, position: int) -> None:
    """Callback: a cell is picked."""
    keep(patch_depth=depth, patch_position=position)


def logits(pair: Pair, depth: int, position: int) -> np.ndarray:
    """(|V|,) the last token's logits with one vector exchanged."""
    return to_numpy(_run_with(pair, [depth], position))


def _run_with(pair: Pair, depths: list[int], position: int):
    """(|V|,) the last token's logits, with the vectors of a token at some depths exchanged."""
    patches = tuple(Patch(depth, position, pair.there.token_ids, position) for depth in depths)
    return pair.here.trace_with(Intervention(patches=patches)).logits[-1].double()


def what(page: Lesson, pair: Pair, depth: int, position: int) -> str:
    """The title's words for what is exchanged."""
    return page.label("patch_vector_of", token=code(pair.there.tokens[position]),
                      where=depth_names(page, pair.here.model.config.n_layers)[depth])


def question(page: Lesson, pair: Pair, found: Patching) -> Question | None:
    """How far the answer moves with all vectors of the token before the changed one exchanged; by a pass of its own."""
    if pair.first == 0:
        return None
    before, tokens = pair.first - 1, pair.here.tokens
    moved = to_numpy(_run_with(pair, list(range(len(found.logits))), before))
    return question_of(page, NAME, found, moved, 0.5, token=code(tokens[before]), word=code(tokens[pair.first]),
                       last=code(tokens[-1]))


def table(pair: Pair, found: Patching) -> pd.DataFrame:
    """A row for each exchange."""
    shares, gaps = to_numpy(found.shares), to_numpy(found.gaps)
    return pd.DataFrame([{"depth": depth, "position": position, "token": pair.here.tokens[position],
                          "other_token": pair.there.tokens[position], "gap": gaps[depth, position], "share": share}
                         for (depth, position), share in np.ndenumerate(shares)])
