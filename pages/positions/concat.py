"""Add or concatenate: X + P against [X, P]."""
import numpy as np
import pandas as pd
import torch

from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.app.state.lesson_settings import Setting
from core.figures import positions as figures
from core.figures.numbers import grouped, latex_number, plain_number
from core.model import positional
from pages.positions.shared import PICTURE, Instrument

WIDEST = 256
SETTINGS = {"mode": Setting("concatenate", options=("concatenate", "add")), "i": Setting(7, 0, 255),
            "width": Setting(64, 2, WIDEST)}
# The product with W and its two parts, computed in the browser in float64 with the first `width` rows of W_P.
_picture = Instrument("concat", __file__, SETTINGS)


def draw(page: Lesson, run: Run) -> Reading:
    values = _picture.values()
    values["width"] -= values["width"] % 2
    chosen = reader.selection()
    x = run.trace.embedding[chosen.position].double().cpu().numpy()
    W_X = run.model.blocks[chosen.layer].W_Q[chosen.head].detach().double().cpu().numpy()
    W_P = made_up_weights(W_X.shape[1], float(W_X.std()))
    token = run.tokens[chosen.position]
    _picture.draw(page, values, {"d": W_X.shape[0], "k": W_X.shape[1], "token": token},
                  {name: matrix.astype(np.float32) for name, matrix in (("x", x), ("W_X", W_X), ("W_P", W_P))})
    mode, i, width = (values[name] for name in SETTINGS)
    adding = mode == "add"
    p = positional.sinusoidal(i + 1, len(x) if adding else width)[-1].numpy()
    rows = W_X if adding else W_P[:width]
    whole, parts = ((x + p) @ W_X, x @ W_X + p @ W_X) if adding else figures.concatenated(x, p, W_X, rows)
    table = pd.DataFrame({"output": np.arange(len(whole)), "from x": x @ W_X, "from p": p @ rows, "whole": whole})
    return Reading(
        lines=_numbers(page, adding, table, len(x), len(p), len(whole), float(np.abs(whole - parts).max())),
        question=_question(page, np.abs(p @ rows)),
        functions=[figures.concatenated],
        data={"add_or_concatenate.csv": lambda: table},
        picture=PICTURE,
        title=page.label(f"concat_twin_{mode}", token=token, i=i, d=len(x), width=len(p),
                         worst=plain_number(float(np.abs(whole - parts).max()))),
        summary={"mode": mode, "W": grouped((len(x) if adding else len(x) + len(p)) * len(whole))},
    )


def made_up_weights(k: int, spread: float) -> np.ndarray:
    """(WIDEST, k) rows of W for a concatenated position: normal with W_X's standard deviation `spread`, from a fixed
    seed.
    """
    return torch.randn(WIDEST, k, generator=torch.Generator().manual_seed(0)).double().numpy() * spread


def _numbers(page: Lesson, adding: bool, table: pd.DataFrame, d: int, width: int, k: int,
             worst: float) -> list[tuple[str, str]]:
    first = table.iloc[0]
    a, b, c = (latex_number(first[name]) for name in ("from x", "from p", "whole"))
    if adding:
        law, sides = r"(x + p)\,W = x\,W + p\,W", r"(x+p)W - (xW + pW)"
        size = rf"d \cdot d_k = {d} \cdot {k} = {d * k}"
    else:
        law = r"[x, p]\,W = [x, p]\begin{pmatrix} W_X \\ W_P \end{pmatrix} = x\,W_X + p\,W_P"
        sides = r"[x,p]W - (xW_X + pW_P)"
        size = rf"(d + d_p)\,d_k = ({d} + {width}) \cdot {k} = {(d + width) * k}"
    return [(page.label("concat_numbers_add" if adding else "concat_numbers_split"), law),
            (page.label("concat_numbers_first"), rf"{a} + ({b}) = {c}"),
            (page.label("concat_numbers_worst"), rf"\max\big|{sides}\big| = {latex_number(worst)}"),
            (page.label("concat_numbers_size"), size)]


def _question(page: Lesson, from_p: np.ndarray) -> Question | None:
    """Which of four outputs the position changes most."""
    if len(from_p) < 4:
        return None
    places = sorted({int(place) for place in (from_p.argmax(), *from_p.argsort()[:3])})
    answer = int(np.argmax(from_p[places]))
    text = "; ".join(f"{place}: {plain_number(from_p[place])}" for place in places)
    return page.question("concat", [page.label("concat_option", place=place) for place in places], answer, found=text)
