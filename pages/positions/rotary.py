"""Rotary: pairs of dimensions of a query and a key, rotated by their positions."""
import math

import numpy as np
import pandas as pd
import torch

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.app.state.lesson_settings import Setting
from core.figures import positions as figures
from core.figures.numbers import latex_number, latex_operand, plain_number, readable
from core.model import positional
from core.model.norms import norm_heads
from pages.positions.shared import PICTURE, Instrument, closest

# pair: the one that is drawn alone; all: every pair is drawn
SETTINGS = {"i": Setting(12, 0, 128), "j": Setting(5, 0, 128), "shift": Setting(0, 0, 4096),
            "base": Setting(10_000.0, 1.0, 1e6), "pair": Setting(4, 0, 255), "all": Setting(False)}
FARTHEST = 128
MOVED = 100             # positions by which the question moves both words
CHANGES = ("same", "smaller", "larger")      # of the score: the answers
ROUNDING = 1e-9         # of the lengths of a query and a key: smaller changes of their score are rounding
NEAR = 4                # positions: a highest point so far from distance 0 is told as being there
# A dial for each pair of a query and a key, and their score by distance, computed in the browser in float64.
_picture = Instrument("rotary", __file__, SETTINGS)


def predict(page: Lesson, run: Run) -> Prediction:
    """Ask how the score of the picked query and key changes when both move on equally."""
    chosen = reader.selection()
    q, k = query_and_key(run, chosen.layer, chosen.head, chosen.position)
    i, j, base = (_picture.values()[name] for name in ("i", "j", "base"))

    def truth(guess: int) -> Truth:
        before, after = (score(q, k, i + moved, j + moved, base) for moved in (0, MOVED))
        change = after - before if abs(after - before) > ROUNDING * np.linalg.norm(q) * np.linalg.norm(k) else 0
        best = int(scores(q, k, base).argmax()) - FARTHEST
        return Truth((0, 2, 1)[int(np.sign(change))], seen=int(abs(best) <= NEAR), values={
            "i": i, "j": j, "i_moved": i + MOVED, "j_moved": j + MOVED, "score": readable(before),
            "moved_score": readable(after)})

    return Prediction("rotary", Options([page.label(f"before_rotary_{which}") for which in CHANGES]), truth,
                      _tokens(run) | {"moved": MOVED})


def _tokens(run: Run) -> dict[str, str]:
    """The names of the query's token and of the key's."""
    position = reader.selection().position
    return {"q_token": run.tokens[position], "k_token": run.tokens[max(position - 1, 0)]}


def scores(q: np.ndarray, k: np.ndarray, base: float) -> np.ndarray:
    """(2 FARTHEST + 1,) the score at each distance, of a query in front of its key first."""
    return np.array([score(q, k, max(t, 0), max(-t, 0), base) for t in range(-FARTHEST, FARTHEST + 1)])


def draw(page: Lesson, run: Run) -> Reading:
    values, chosen = _picture.values(), reader.selection()
    q, k = query_and_key(run, chosen.layer, chosen.head, chosen.position)
    names = {"head": f"{chosen.layer}.{chosen.head}", **_tokens(run)}
    values["pair"] = min(values["pair"], len(q) // 2 - 1)
    _picture.draw(page, values, {"q": q.tolist(), "k": k.tolist(), "names": names})
    i, j, shift, base = (values[name] for name in ("i", "j", "shift", "base"))
    plain, shifted = score(q, k, i, j, base), score(q, k, i + shift, j + shift, base)
    return Reading(
        lines=_numbers(page, q, k, values, plain, shifted),
        question=_question(page, len(q), base),
        functions=[positional.frequencies, positional.rotary_angles, positional.rotate],
        data={"rotary_score_by_distance.csv": lambda: pd.DataFrame(
            {"i-j": np.arange(-FARTHEST, FARTHEST + 1), "score": scores(q, k, base)})},
        picture=PICTURE,
        title=page.label("rotary_twin", i=i, j=j, score=plain_number(plain), shift=shift,
                         difference=readable(abs(plain - shifted))),
        summary={f"q{i} · k{j}": plain_number(plain), f"q{i + shift} · k{j + shift}": plain_number(shifted)},
    )


def query_and_key(run: Run, layer: int, head: int, position: int) -> tuple[np.ndarray, np.ndarray]:
    """The head's query at `position` and the key before it, float64, after their norm and before any rotation: only the
    dimensions that the model rotates, or all d_k without rotary positions. An odd width loses its last entry.
    """
    block, weights, config = run.trace.blocks[layer], run.model.blocks[layer], run.model.config
    shared = head * block.K.shape[-3] // block.Q.shape[-3]
    Q, K = (x[:, [at]] for x, at in ((block.Q, position), (block.K, max(position - 1, 0))))
    if weights.q_norm is not None:
        Q, K = norm_heads(Q, weights.q_norm, weights.config), norm_heads(K, weights.k_norm, weights.config)
    q, k = Q[head, 0], K[shared, 0]
    width = (config.rotary_width if config.positions == "rotary" else config.d_k) // 2 * 2
    return q[:width].double().cpu().numpy(), k[:width].double().cpu().numpy()


def score(q: np.ndarray, k: np.ndarray, i: int, j: int, base: float) -> float:
    """The product of q rotated to position i and k rotated to position j, in float64."""
    turned = [positional.rotate(torch.from_numpy(x)[None].clone(), positional.rotary_angles(1, len(x), base, start=at))
              for x, at in ((q, i), (k, j))]
    return float((turned[0] * turned[1]).sum())


def _numbers(page: Lesson, q: np.ndarray, k: np.ndarray, values: dict, plain: float,
             shifted: float) -> list[tuple[str, str]]:
    i, j, shift, base, pair = (values[name] for name in ("i", "j", "shift", "base", "pair"))
    omegas = positional.frequencies(len(q), base).numpy()
    half = len(omegas)
    omega = omegas[pair]
    members = rf"\begin{{pmatrix}} {latex_number(q[pair])} & {latex_number(q[pair + half])} \end{{pmatrix}}"
    cos, sin = math.cos(i * omega), math.sin(i * omega)
    turned = (rf"\begin{{pmatrix}} {latex_number(q[pair] * cos - q[pair + half] * sin)} & "
              rf"{latex_number(q[pair] * sin + q[pair + half] * cos)} \end{{pmatrix}}")
    same = (rf"q_{{{i + shift}}} \cdot k_{{{j + shift}}} = {latex_number(shifted)}, \qquad q_{{{i}}} \cdot k_{{{j}}} = "
            rf"{latex_number(plain)}, \qquad \text{{{page.label('rotary_difference')}}} = "
            rf"{latex_number(abs(plain - shifted)) if plain != shifted else 0}")
    return [
        (page.label("rotary_numbers_pair", pair=pair, i=i),
         rf"i\,\omega_{{{pair}}} = {i} \cdot {latex_operand(omega)} = {latex_number(i * omega)}"),
        (page.label("rotary_numbers_turn"), rf"{members} \; {figures.rotation_latex(i * omega)} = {turned}"),
        (page.label("rotary_numbers_relative"),
         rf"q_i \cdot k_j = \big(q\,R(i\omega)\big)\big(k\,R(j\omega)\big)^{{\mathsf T}} = "
         rf"q\,R\big((i-j)\,\omega\big)\,k^{{\mathsf T}}, \qquad i - j = {i - j}"),
        (page.label("rotary_numbers_same"), same),
    ]


def _question(page: Lesson, d_k: int, base: float) -> Question:
    """The wavelength of the slowest pair in positions."""
    wavelength = 2 * math.pi / float(positional.frequencies(d_k, base)[-1])
    options = sorted({2 * math.pi, float(d_k), wavelength, 2 * math.pi * base + d_k})
    return page.question("rotary", [page.label("rotary_option", n=plain_number(option, 1)) for option in options],
                         closest(options, wavelength), d_k=d_k, base=readable(base, 4), pair=d_k // 2 - 1,
                         wavelength=plain_number(wavelength, 1))
