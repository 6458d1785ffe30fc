"""Beyond the length: the geometry of each scheme at positions beyond the trained length."""
import numpy as np
import pandas as pd

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run
from core.app.state.lesson_settings import Setting
from core.figures import positions as figures
from core.figures.numbers import latex_number, latex_operand
from core.model import positional
from pages.positions.shared import PICTURE, Instrument

PAIRS = 32
SETTINGS = {"trained": Setting(256, 8, 512), "read": Setting(1024, 8, 2048), "base": Setting(10_000.0, 1.0, 1e6),
            "clip": Setting(128, 2, 256)}
# Missing rows, angles outside training, biases that continue to fall, entries that distances share.
_picture = Instrument("beyond", __file__, SETTINGS)


SCHEMES = ("learned", "angles", "alibi", "relative")


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which scheme meets no number new since training; None if every one does, or none."""
    trained, read, base, clip = (_picture.values()[name] for name in SETTINGS)
    if read <= trained or clip >= trained:
        return None
    still_open = int(figures.open_pairs(positional.frequencies(2 * PAIRS, base).numpy(), trained).sum())

    def truth(guess: int) -> Truth:
        return Truth(SCHEMES.index("relative"), {"missing": read - trained, "open": still_open, "clip": clip},
                     seen=0 if still_open else 1)

    return Prediction("beyond", Options([page.label(f"beyond_scheme_{scheme}", clip=clip) for scheme in SCHEMES]),
                      truth, {"trained": trained, "read": f"{read:,}"})


def draw(page: Lesson, run: Run) -> Reading:
    slopes = positional.alibi_slopes(run.model.config.n_heads).numpy()
    values = _picture.values()
    _picture.draw(page, values, {"pairs": PAIRS, "slopes": slopes.tolist()})
    trained, read, base, clip = (values[name] for name in SETTINGS)
    read = max(read, trained)
    omegas = positional.frequencies(2 * PAIRS, base).numpy()
    still_open = figures.open_pairs(omegas, trained)
    return Reading(
        lines=_numbers(page, trained, read, omegas, slopes, clip),
        question=_question(page, omegas, trained),
        functions=[figures.open_pairs, positional.frequencies],
        data={"pairs.csv": lambda: pd.DataFrame({"pair": np.arange(PAIRS), "wavelength": 2 * np.pi / omegas,
                                                 "largest trained angle": (trained - 1) * omegas, "open": still_open})},
        picture=PICTURE,
        title=page.label("beyond_twin", trained=trained, read=read, missing=read - trained,
                         open=int(still_open.sum()), pairs=PAIRS, clip=clip),
        summary={"N": str(trained), "open": f"{int(still_open.sum())} / {PAIRS}"},
    )


def _numbers(page: Lesson, trained: int, read: int, omegas: np.ndarray, slopes: np.ndarray,
             clip: int) -> list[tuple[str, str]]:
    last = omegas[-1]
    slope, angle = slopes[-1], (trained - 1) * last
    turned = "<" if angle < 2 * np.pi else r"\ge"
    return [
        (page.label("beyond_numbers_angle", pair=len(omegas) - 1),
         rf"({trained} - 1)\,\omega = {latex_number(angle)} {turned} 2\pi, \qquad "
         rf"({read} - 1)\,\omega = "
         rf"{latex_number((read - 1) * last)}"),
        (page.label("beyond_numbers_alibi", head=len(slopes) - 1),
         rf"e^{{-m\,({read}-1)}} = e^{{-{latex_operand(slope)} \cdot {read - 1}}} = "
         rf"{latex_number(float(np.exp(-slope * (read - 1))))}"),
        (page.label("beyond_numbers_relative"),
         rf"r_{{\min(i - j,\;{clip})}} = r_{{{min(read - 1, clip)}}} \quad \text{{(i - j = {read - 1})}}"),
    ]


def _question(page: Lesson, omegas: np.ndarray, trained: int) -> Question:
    """How many pairs of dimensions have not turned a full circle when the trained length doubles."""
    now, doubled = int(figures.open_pairs(omegas, trained).sum()), int(figures.open_pairs(omegas, 2 * trained).sum())
    options = sorted({doubled, now, now // 2, max(now - 1, 0)})
    return page.question("beyond", [page.label("beyond_option", count=count) for count in options],
                         options.index(doubled), now=now, pairs=len(omegas), trained=trained, doubled=doubled,
                         twice=2 * trained)
