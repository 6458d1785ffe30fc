"""Learned: a token's row of E and a learned row of P, whose sum is the input, and all rows of P beside sinusoids."""
import bisect
import zlib

import numpy as np

from core.app.compute import growing_results
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.state import Run, reader
from core.app.state.lesson_settings import Setting
from core.base.markdown import code
from core.figures import positions as figures
from core.figures.numbers import bracketed, latex_number, plain_number, readable
from core.model import positional
from pages.positions.shared import PICTURE, Instrument

# i: the place, −1 for the picked token's own
SETTINGS = {"i": Setting(-1, -1, 4095), "principal": Setting(False), "more": Setting(False)}
LIMITS = (-0.1, 0.1, 0.9)     # cosines between the answers: opposite, nothing in common, alike, nearly the same
SHOWN_AXES = 16   # drawn principal axes, the strongest ones, whose waves are visible
# The sum of two rows; both matrices, their cosines, lengths and spectra under one cursor, beside sinusoids of the same
# shape.
_picture = Instrument("learned", __file__, SETTINGS)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask how alike two neighbouring positions are; None if there is no matrix."""
    n = 0 if run.model.P is None else len(run.model.P)
    if n < 3:
        return None
    i = min(_values(n)["i"], n - 2)

    def truth(guess: int) -> Truth:
        cosines = _geometries(run)[0].cosines
        far, cosine = int(np.abs(np.arange(n) - i).argmax()), float(cosines[i, i + 1])
        return Truth(bisect.bisect_right(LIMITS, cosine), said=readable(cosine), seen=_shape(cosines[i], i),
                     values={"cosine": readable(cosine), "far": far, "away": readable(float(cosines[i, far]))})

    limits = dict(zip(("low", "middle", "high"), map(readable, LIMITS)))
    options = [page.label(f"before_learned_{which}", **limits) for which in range(len(LIMITS) + 1)]
    return Prediction("learned", Options(options), truth, {"n": n, "i": i, "near": i + 1})


def _values(n: int) -> dict:
    """The settings, with i as a position of the n that have a row."""
    values = _picture.values()
    i = reader.selection().position if values["i"] < 0 else values["i"]
    return values | {"i": min(i, n - 1)}


def _shape(cosines: np.ndarray, i: int) -> int:
    """The shape of the cosines with position i: 0 a hill that falls to both sides, 1 a needle at i that stands alone, 2
    a level line.
    """
    others = np.delete(cosines, i)
    if others.max() - others.min() < 0.1:
        return 2 if others.mean() > 0.9 else 1
    return 0 if cosines[max(i - 1, 0): i + 2].min() > 0.5 else 1


def draw(page: Lesson, run: Run) -> Reading:
    if run.model.P is None:
        return cannot(page.label("learned_none", scheme=run.model.config.positions))
    learned, sinusoidal = _geometries(run)
    values = _values(len(learned.P))
    i, at = values["i"], reader.selection().position
    header, arrays = _message(learned, sinusoidal)
    words = {"token": at, "tokens": run.tokens, "ids": run.token_ids}
    _picture.draw(page, values, header | words, arrays | {"E": _rows(run)},
                  {"picked": lambda token: reader.select(position=token)})
    near = i + 1 if i + 1 < len(learned.P) else max(i - 1, 0)
    cosine = plain_number(learned.cosines[i, near])
    return Reading(
        lines=[_sum(page, run, at, i), *_numbers(page, learned, i, near)],
        question=_question(page, learned, i),
        functions=[figures.geometry],
        data={"learned_positions.csv": lambda: figures.matrix_table(learned.P, "position", "dimension", "value")},
        picture=PICTURE,
        title=page.label("learned_twin", n=len(learned.P), d=learned.P.shape[1], i=i, near=near, cosine=cosine,
                         length=plain_number(learned.lengths[i]), rank=learned.rank),
        summary={f"‖P{i}‖": plain_number(learned.lengths[i]), f"cos(P{i}, P{near})": cosine, "99 %": str(learned.rank)},
    )


def _rows(run: Run) -> np.ndarray:
    """(N, d) the embeddings of the prompt's tokens, before any position is added."""
    return run.trace.embedding.detach().to("cpu").float().numpy()


def _sum(page: Lesson, run: Run, at: int, i: int) -> tuple[str, str]:
    """The first entry of the sum of a token's row of E and row i of P."""
    a, b = float(_rows(run)[at, 0]), float(run.model.P[i, 0])
    return (page.label("learned_numbers_sum", token=code(run.tokens[at]), i=i),
            rf"E_{{{run.token_ids[at]},0}} + P_{{{i},0}} = {latex_number(a)} + {bracketed(latex_number(b))} = "
            rf"{latex_number(a + b)}")


def _geometries(run: Run) -> tuple[figures.Geometry, figures.Geometry]:
    def make() -> tuple[figures.Geometry, figures.Geometry]:
        P = run.model.P.detach().to("cpu").double().numpy()
        return figures.geometry(P), figures.geometry(positional.sinusoidal(*P.shape).numpy())

    return growing_results.made(run.loaded.key("positions geometry"), make,
                                lambda value: sum(2 * g.P.nbytes + g.cosines.nbytes for g in value))


def _message(learned: figures.Geometry, sinusoidal: figures.Geometry) -> tuple[dict, dict[str, np.ndarray]]:
    """The header and the float32 arrays of learned.js for two matrices of one shape (n, d)."""
    n, d = learned.P.shape
    axes, geometries = min(SHOWN_AXES, d), {"learned": learned, "sinusoidal": sinusoidal}
    header = {"n": n, "d": d, "axes": axes, "digest": zlib.crc32(np.ascontiguousarray(learned.P)),
              "lengths": {name: g.lengths.tolist() for name, g in geometries.items()},
              "spectrum": {name: g.spectrum[:64].tolist() for name, g in geometries.items()},
              "rank": {name: g.rank for name, g in geometries.items()}}
    arrays = {"learned": learned.P} | {f"{name}_turned": g.turned[:, :axes] for name, g in geometries.items()}
    return header, {name: values.astype(np.float32) for name, values in arrays.items()}


def _numbers(page: Lesson, learned: figures.Geometry, i: int, near: int) -> list[tuple[str, str]]:
    a, b = learned.P[i], learned.P[near]
    length = (rf"\lVert P_{{{i}}} \rVert = \sqrt{{P_{{{i}}} \cdot P_{{{i}}}}} = \sqrt{{{latex_number(a @ a)}}} = "
              rf"{latex_number(learned.lengths[i])}")
    cosine = (rf"\cos(P_{{{i}}}, P_{{{near}}}) = \frac{{P_{{{i}}} \cdot P_{{{near}}}}}{{\lVert P_{{{i}}} \rVert \, "
              rf"\lVert P_{{{near}}} \rVert}} = \frac{{{latex_number(a @ b)}}}{{{latex_number(learned.lengths[i])} "
              rf"\cdot {latex_number(learned.lengths[near])}}} = {latex_number(learned.cosines[i, near])}")
    return [(page.label("learned_numbers_length", i=i), length),
            (page.label("learned_numbers_product" if near > i else "learned_numbers_before"),
             figures.dot_latex(rf"P_{{{i}}} \cdot P_{{{near}}}", a, b)),
            (page.label("learned_numbers_cosine"), cosine)]


def _question(page: Lesson, learned: figures.Geometry, i: int) -> Question | None:
    """How many principal axes give back nearly all of the matrix, in dimensions of a narrower model."""
    n, d = learned.P.shape
    nine = int(np.searchsorted(np.cumsum(learned.spectrum), 0.9) + 1)
    options = sorted({nine, d, d // 2, max(d // 8, nine + 1)})
    if len(options) < 4:
        return None
    return page.question("learned", [page.label("learned_option", count=count) for count in options],
                         options.index(nine), d=d, nine=nine, share=f"{learned.spectrum[:nine].sum():.1%}")
