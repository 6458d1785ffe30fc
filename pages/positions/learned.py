"""Learned: the loaded model's learned positions beside sinusoids."""
import zlib

import numpy as np

from core.app.compute import growing_results
from core.app.frame import Lesson, Question, Reading, cannot
from core.app.state import Run
from core.app.state.lesson_settings import Setting
from core.figures import positions as figures
from core.figures.numbers import latex_number, plain_number
from core.model import positional
from pages.positions.shared import PICTURE, Instrument

SETTINGS = {"i": Setting(40, 0, 4095), "principal": Setting(False)}
SHOWN_AXES = 48   # drawn principal axes, the strongest ones, whose waves are visible
# Both matrices, their cosines, lengths and spectra under one cursor, beside sinusoids of the same shape.
_picture = Instrument("learned", __file__, SETTINGS)


def draw(page: Lesson, run: Run) -> Reading:
    if run.model.P is None:
        return cannot(page.label("learned_none", scheme=run.model.config.positions))
    learned, sinusoidal = _geometries(run)
    values = _picture.values()
    i = values["i"] = min(values["i"], len(learned.P) - 1)
    _picture.draw(page, values, *_message(learned, sinusoidal))
    near = min(i + 1, len(learned.P) - 1)
    cosine = plain_number(learned.cosines[i, near])
    return Reading(
        lines=_numbers(page, learned, i, near),
        question=_question(page, learned, i),
        functions=[figures.geometry],
        data={"learned_positions.csv": lambda: figures.matrix_table(learned.P, "position", "dimension", "value")},
        picture=PICTURE,
        title=page.label("learned_twin", n=len(learned.P), d=learned.P.shape[1], i=i, near=near, cosine=cosine,
                         length=plain_number(learned.lengths[i]), rank=learned.rank),
        summary={f"‖P{i}‖": plain_number(learned.lengths[i]), f"cos(P{i}, P{near})": cosine, "99 %": str(learned.rank)},
    )


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
            (page.label("learned_numbers_product"), figures.dot_latex(rf"P_{{{i}}} \cdot P_{{{near}}}", a, b)),
            (page.label("learned_numbers_cosine"), cosine)]


def _question(page: Lesson, learned: figures.Geometry, i: int) -> Question | None:
    """Which of four positions has the largest cosine with i."""
    n = len(learned.P)
    places = sorted({(i + step) % n for step in (1, n // 8, n // 3, n // 2)} - {i})
    if len(places) < 3:
        return None
    answer = int(np.argmax(learned.cosines[i, places]))
    text = "; ".join(f"{place}: {plain_number(learned.cosines[i, place])}" for place in places)
    return page.question("learned", [page.label("learned_option", place=place) for place in places], answer, i=i,
                         found=text)
