"""Add or concatenate: [x, p] W beside (x + p) W, in numbers that one can follow by hand."""
import numpy as np
import pandas as pd
import torch

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.app.state.lesson_settings import Setting
from core.figures import positions as figures
from core.figures.numbers import latex_number
from core.model import positional
from pages.positions.shared import PICTURE, Instrument

# mode "add": the rows of W that meet p are copies of the first rows that meet x
SETTINGS = {"mode": Setting("concatenate", options=("concatenate", "add")), "i": Setting(7, 0, 255)}
OF_X, OF_P, COLUMNS = 4, 2, 3       # how many numbers of x, of p and of a result are shown
MIXED = ("none", "some", "all")     # of the results: the answers
ASKED_WIDTH = 64                    # of p, in the question at the foot
# Both products are computed in the browser in float64.
_picture = Instrument("concat", __file__, SETTINGS)


def predict(page: Lesson, run: Run) -> Prediction:
    """In which of the results word and position are mixed: in none, some or all."""
    x, p, W_X, W_P = corner(run, **_picture.values())
    k = W_X.shape[1]

    def truth(guess: int) -> Truth:
        mixed = int(((x @ W_X != 0) & (p @ W_P != 0)).sum())
        return Truth(0 if mixed == 0 else 2 if mixed == k else 1, said=page.label("before_concat_mixed", n=mixed, k=k))

    return Prediction("concat", Options([page.label(f"before_concat_{which}") for which in MIXED]), truth,
                      {"d": len(x), "width": len(p), "k": k})


def draw(page: Lesson, run: Run) -> Reading:
    values, chosen = _picture.values(), reader.selection()
    x, p, W_X, W_P = corner(run, **values)
    token = run.tokens[chosen.position]
    own = corner(run, "concatenate", values["i"])[3]
    _picture.draw(page, values, {"k": W_X.shape[1], "token": token},
                  {name: matrix.astype(np.float32) for name, matrix in (("x", x), ("W_X", W_X), ("W_P", own))})
    beside, added = figures.concatenated(x, p, W_X, W_P)[0], (x + np.pad(p, (0, len(x) - len(p)))) @ W_X
    table = pd.DataFrame({"result": np.arange(len(beside)), "from x": x @ W_X, "from p": p @ W_P, "[x, p] W": beside,
                          "(x + p) W_X": added})
    config = run.model.config
    return Reading(
        lines=_numbers(page, table),
        question=_question(page, config.d_model, run.model.blocks[chosen.layer].W_Q[chosen.head].shape[1]),
        functions=[figures.concatenated],
        data={"add_or_concatenate.csv": lambda: table},
        picture=f"{PICTURE} .panels",
        title=page.label(f"concat_twin_{values['mode']}", token=token, i=values["i"], d=len(x), width=len(p)),
        summary={"mode": values["mode"], "i": str(values["i"])},
    )


def corner(run: Run, mode: str, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x, p, W_X and W_P, float64: the first numbers of the picked token's embedding, the first wave at position i, the
    corner of the picked head's query weights that meets x, and the rows that meet p.
    """
    chosen = reader.selection()
    x = run.trace.embedding[chosen.position].double().cpu().numpy()[:OF_X]
    whole = run.model.blocks[chosen.layer].W_Q[chosen.head].detach().double().cpu().numpy()
    W_X, p = whole[:OF_X, :COLUMNS], positional.sinusoidal(i + 1, min(OF_P, len(x)))[-1].numpy()
    return x, p, W_X, W_X[:len(p)] if mode == "add" else made_up_weights(W_X.shape[1], float(whole.std()))[:len(p)]


def made_up_weights(k: int, spread: float) -> np.ndarray:
    """(OF_P, k) rows of W for a concatenated position: normal with standard deviation `spread`, from a fixed seed."""
    return torch.randn(OF_P, k, generator=torch.Generator().manual_seed(0)).double().numpy() * spread


def _numbers(page: Lesson, table: pd.DataFrame) -> list[tuple[str, str]]:
    a, b, whole, added = (latex_number(table[name][0]) for name in ("from x", "from p", "[x, p] W", "(x + p) W_X"))
    apart = float((table["[x, p] W"] - table["(x + p) W_X"]).abs().max())
    return [(page.label("concat_numbers_split"),
             r"[x, p]\,W = [x, p]\begin{pmatrix} W_X \\ W_P \end{pmatrix} = x\,W_X + p\,W_P"),
            (page.label("concat_numbers_first"), rf"{a} + ({b}) = {whole}"),
            (page.label("concat_numbers_special"),
             r"W_P = \begin{pmatrix} I & 0 \end{pmatrix} W_X \;\Rightarrow\; x\,W_X + p\,W_P = (x + p)\,W_X"),
            (page.label("concat_numbers_apart"),
             rf"{whole} - ({added}), \qquad \max\lvert\,\cdot\,\rvert = {latex_number(apart)}")]


def _question(page: Lesson, d: int, k: int) -> Question:
    """How many more numbers W has when a position stands beside the vector."""
    answer = ASKED_WIDTH * k
    options = sorted({answer, d * k, ASKED_WIDTH, d + ASKED_WIDTH})
    return page.question("concat", [page.label("concat_option", count=f"{count:,}") for count in options],
                         options.index(answer), d=d, width=ASKED_WIDTH, k=k, rows=d + ASKED_WIDTH,
                         count=f"{answer:,}")
