"""Waves: sinusoidal positions under sliders."""
import numpy as np

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run
from core.app.state.lesson_settings import Setting
from core.figures import positions as figures
from core.figures.numbers import latex_number, plain_number, readable
from core.model import positional
from pages.positions.shared import PICTURE, Instrument, closest

SETTINGS = {
    "n": Setting(128, 4, 256), "d": Setting(64, 2, 512), "base": Setting(10_000.0, 1.0, 1e6),
    "pair": Setting(8, 0, 255), "i": Setting(40, 0, 255), "j": Setting(52, 0, 255),
}
# Heatmap, waves, wavelengths and dot products, computed in the browser in float64.
_picture = Instrument("waves", __file__, SETTINGS)


FEWEST = 4      # pairs of dimensions that are worth a guess
FULL = 0.99     # of the dot product at distance 0: so high it has come back to its first value
SHAPES = ("level", "falls", "wavers", "returns")      # of the dot product over the distance: the answers


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask how the dot product of two positions changes with their distance."""
    values = fitted(_picture.values())
    n, pairs = values["n"], values["d"] // 2
    if pairs < FEWEST:
        return None

    def truth(guess: int) -> Truth:
        omegas = positional.frequencies(2 * pairs, values["base"]).numpy()
        waves, products = 2 * np.pi / omegas, by_distance(n, omegas)
        turned, least = int((waves <= n).sum()), int(products.argmin())
        return Truth(SHAPES.index(shape_of(products)), seen=0 if 2 * turned <= pairs else 1 if turned < pairs else 2,
                     values={"turned": turned, "slowest": f"{waves[-1]:,.0f}", "most": readable(products[0]),
                             "least": readable(products[least]), "where": least})

    return Prediction("waves", Options([page.label(f"before_waves_{shape}") for shape in SHAPES]), truth,
                      {"n": n, "pairs": pairs, "last": n - 1})


def by_distance(n: int, omegas: np.ndarray) -> np.ndarray:
    """(n,) the dot product of two positions at each distance from 0 on."""
    return np.cos(np.arange(n)[:, None] * omegas).sum(axis=1)


def shape_of(products: np.ndarray) -> str:
    """The course of the dot product as the distance grows: it stays, it falls on and on, it falls and then rises again,
    or it rises until it is back.

    >>> [shape_of(np.array(products)) for products in ([4, 4, 4], [4, 3, 1], [4, 1, 3], [4, 1, 4])]
    ['level', 'falls', 'wavers', 'returns']
    """
    steps = np.diff(products)
    if np.ptp(products) < (1 - FULL) * products[0]:
        return "level"
    if (steps <= 0).all():
        return "falls"
    return "returns" if products[int((steps > 0).argmax()) + 1:].max() >= FULL * products[0] else "wavers"


def draw(page: Lesson, run: Run) -> Reading:
    values = fitted(_picture.values())
    _picture.draw(page, values)
    n, d, base, pair, i, j = (values[name] for name in SETTINGS)
    P = positional.sinusoidal(n, d, base).numpy()
    omegas = positional.frequencies(d, base).numpy()
    return Reading(
        lines=_numbers(page, P, omegas, values),
        question=_question(page, P, i, j),
        functions=[positional.frequencies, positional.sinusoidal],
        data={"pairs.csv": lambda: figures.pair_table(i, j, omegas, page.label("waves_columns").split("|")),
              "positions.csv": lambda: figures.matrix_table(P, "position", "dimension", "value")},
        picture=PICTURE,
        title=page.label("waves_twin", n=n, d=d, base=readable(base, 4), pair=pair,
                         wavelength=readable(2 * np.pi / omegas[pair], 4), i=i, j=j, product=plain_number(P[i] @ P[j])),
        summary={"N": str(n), "d": str(d), "b": readable(base, 4), "λ": readable(2 * np.pi / omegas[pair], 4),
                 f"P{i} · P{j}": plain_number(P[i] @ P[j])},
    )


def fitted(values: dict) -> dict:
    """The settings with an even width, and pair and positions within the matrix, as in the browser."""
    d = values["d"] - values["d"] % 2
    last = values["n"] - 1
    return values | {"d": d, "pair": min(values["pair"], d // 2 - 1), "i": min(values["i"], last),
                     "j": min(values["j"], last)}


def residual(P: np.ndarray, omegas: np.ndarray) -> float:
    """The largest |P_i · P_j − Σ cos((i − j)ω)| over all i and j of P (n, d)."""
    distance = np.arange(len(P))
    return float(np.abs(P @ P.T - by_distance(len(P), omegas)[np.abs(distance[:, None] - distance)]).max())


def _numbers(page: Lesson, P: np.ndarray, omegas: np.ndarray, values: dict) -> list[tuple[str, str]]:
    n, d, base, pair, i, j = (values[name] for name in SETTINGS)
    omega = omegas[pair]
    return [
        (page.label("waves_angle"), figures.angle_latex(i, pair, d, base, omega)),
        (page.label("waves_entries"), figures.entries_latex(i, pair, omega)),
        (page.label("waves_wavelength"), figures.wavelength_latex(omega)),
        (page.label("waves_product_numbers", i=i, j=j), figures.product_latex(i, j, omegas)),
        (page.label("waves_residual", n=n),
         rf"\max_{{i,j}}\Big|P_i \cdot P_j - \sum_{{\delta'}}\cos\big((i-j)\,\omega_{{\delta'}}\big)\Big| = "
         rf"{latex_number(residual(P, omegas))}"),
        (page.label("waves_step", i=i, j=j), figures.step_latex(i, j, omega)),
    ]


def _question(page: Lesson, P: np.ndarray, i: int, j: int) -> Question | None:
    """Ask which pair of positions has the same dot product as i and j; None if the matrix is too small."""
    distance, n = abs(i - j), len(P)
    if n < 16 or distance == 0 or distance > n // 2 - 2:
        return None
    start = (i + n // 3) % (n - distance)
    places = [(start, start + distance), (0, min(n - 1, 2 * distance + 1)),
              (i, min(n - 1, i + distance // 2 + (distance < 3) * 3)), (max(0, j - 1), max(0, j - 1))]
    places = places[2:] + places[:2]
    answer = closest([P[a] @ P[b] for a, b in places], P[i] @ P[j])
    products = "; ".join(f"P{a} · P{b} = {plain_number(P[a] @ P[b])}" for a, b in places)
    return page.question("waves", [page.label("waves_option", a=a, b=b) for a, b in places], answer, i=i, j=j,
                         distance=distance, product=plain_number(P[i] @ P[j]), products=products)
