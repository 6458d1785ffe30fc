"""Structure or parameters: which Boolean functions a family f(x, θ) reaches, counted by running every θ; how many
of the bits of a function its parameters say and how many its structure; and the bound for any n and p.
"""
import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from core.analysis import boolean_functions
from core.analysis.boolean_functions import Family, Reached, reached, zeta
from core.app.compute import growing_results
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.lesson.views import choice as choose
from core.app.parts.charts import look
from core.app.state import Run, reader
from core.components.lib.token_view import token_view
from core.cost import counting
from core.figures.numbers import grouped, latex_number, power_of_ten, readable, superscript
from core.learning import kepler
from core.model.presets import PRESETS
from pages.limits import charts as figures
from pages.limits.shared import PREFIX, SETTINGS, attached, keep, read, show

LARGEST_P = 22                                  # bits of θ that are run one by one
MEASURED, NOISE, SEED = 24, 1.0, 0              # of Mars, for the four structures; minutes of arc
WHOLE_TURN = 360 * 60                           # minutes of arc
BITS_OF_A_NUMBER = 16                           # of a parameter of a transformer
TOKENS = (1, 2, 3, 4)                           # that a transformer reads, for its places in the plane
# All functions of n bits, those that the family reaches shaded; one can be picked. Below, the bits of one of them.
_picture = token_view("limits_functions", __file__)


@dataclass(frozen=True)
class Scene:
    """The functions of a family, and the pick."""

    found: Reached
    picked: int

    @property
    def family(self) -> Family:
        return self.found.family


def family() -> Family:
    """The family of today's settings."""
    name, n = read("family"), int(read("inputs"))
    if name == "table":
        return Family(name, n, min(read("entries"), 1 << n))
    return Family(name, n, 1 if name == "parity" else min(int(read("weight_bits")), _most_bits(name, n)))


def _most_bits(name: str, n: int) -> int:
    """The widest weights of a family whose θ can all be run."""
    return min(4, LARGEST_P // Family(name, n, 1).n_weights)


def found_by(of: Family) -> Reached:
    """The family's functions, counted once for all readers."""
    return growing_results.made(("boolean functions", of), lambda: reached(of), lambda value: 2 * value.counts.nbytes)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether the family reaches every function, half of them or more, or fewer."""
    of = family()

    def truth(_guess: int) -> Truth:
        found = found_by(of)
        n_reached, shades = found.n_reached, set(found.counts[found.counts > 0].tolist())
        return Truth(0 if n_reached == of.n_functions else 1 if 2 * n_reached >= of.n_functions else 2,
                     said=page.label("before_structure_said", reached=n_reached, all=of.n_functions),
                     seen=int(len(shades) == 1),
                     values={"reached": n_reached, "said": readable(found.said_by_parameters),
                             "all": 1 << of.n, "left": readable(found.said_by_structure)})

    return Prediction("structure", Options([page.label(f"before_structure_{k}") for k in range(3)]), truth,
                      {"n": of.n, "functions": of.n_functions, "p": of.p, "thetas": 1 << of.p,
                       "family": page.label(f"structure_asked_{of.name}")}, of)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the family's controls, all functions and the bits of one, and the plane of n and p."""
    left, right = st.columns([6, 5], gap="medium")
    with left:
        scene = _scene(page)
        title = _title(page, scene)
        about = "" if reader.present() else page.label(f"structure_about_{scene.family.name}")
        st.markdown(f"**{_title(page, scene, 'short') if reader.present() else title}** {about}")
        _picture(_message(page, scene), key=f"{PREFIX}functions",
                 on_settings=lambda settings: keep(function=settings["function"]),
                 arrays={"counts": scene.found.counts.astype("float32")})
    with right:
        n, exponent = _sliders(page)
        st.markdown(_verdict(page, n, exponent))
        _plane(page, run, scene.family, n, exponent)
        page.note(page.label("structure_note"))
    return Reading(_lines(page, scene, n, exponent), _question(page, scene.family),
                   [boolean_functions.functions, reached, zeta], {"functions.csv": lambda: _table(page, scene)},
                   f".st-key-{PREFIX}functions", title, _kepler(page))


def _scene(page: Lesson) -> Scene:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = choose(SETTINGS, page, "family")
        n = int(choose(SETTINGS, page, "inputs"))
        if name == "table":
            if read("entries") > 1 << n:
                keep(entries=1 << n)
            st.slider(page.label("entries"), 0, 1 << n, width=190, label_visibility="collapsed",
                      format=page.label("entries_value"), **attached("entries"))
        elif name != "parity":
            choose(SETTINGS, page, "weight_bits", [str(bits + 1) for bits in range(_most_bits(name, n))])
    found, picked = found_by(family()), read("function")
    if not 0 <= picked < found.family.n_functions:      # at first: whether the number of ones is odd
        picked = sum(1 << x for x in range(1 << n) if x.bit_count() % 2)
    return Scene(found, picked)


def _title(page: Lesson, scene: Scene, length: str = "title") -> str:
    of, found = scene.family, scene.found
    return page.label(f"structure_{length}", n=of.n, functions=of.n_functions, p=of.p, thetas=1 << of.p,
                      reached=found.n_reached, said=readable(found.said_by_parameters),
                      left=readable(found.said_by_structure), all=1 << of.n)


def _message(page: Lesson, scene: Scene) -> dict:
    """The header of the component, as structure.js has it."""
    of, found = scene.family, scene.found
    return page.header("functions") | {
        "n": of.n, "thetas": 1 << of.p, "settings": {"function": scene.picked},
        "solutions": [_solution(page, of, int(theta)) for theta in found.first],
        "bits": {"all": 1 << of.n, "p": of.p, "said": found.said_by_parameters}}


def _solution(page: Lesson, of: Family, theta: int) -> str:
    """One θ, in words; "" for −1."""
    if theta < 0:
        return ""
    values = [readable(int(w)) for w in of.weights(pd.Series([theta]).to_numpy())[0]] if of.n_weights else []
    n = of.n
    if of.name == "network":
        one, other, last = values[:n + 1], values[n + 1:2 * n + 2], values[-3:]
        return page.label("structure_theta_network", one=", ".join(one), other=", ".join(other), last=", ".join(last))
    if of.name == "table":
        return page.label("structure_theta_table", values=" ".join(values) or "–")
    return page.label("structure_theta", w=", ".join(values[:n]), b=values[n])


def _sliders(page: Lesson) -> tuple[int, int]:
    """n, and the exponent of p = 2^exponent."""
    one, other = st.columns(2, gap="medium")
    with one:
        n = st.slider(page.label("wide"), 1, 48, **attached("wide"))
    with other:
        exponent = st.slider(page.label("budget"), 0, 48, **attached("budget"))
    return n, exponent


def _verdict(page: Lesson, n: int, exponent: int) -> str:
    """The place of most information, for a typical g of n bits and p = 2^exponent."""
    kind = "all" if exponent >= n else "equal" if exponent == n - 1 else "structure"
    left = max(0, (1 << n) - (1 << exponent))
    return page.label(f"structure_verdict_{kind}", n=n, p=_bits(1 << exponent), all=_bits(1 << n),
                      zeta=_bits(1 << n - 1), left=_bits(left))


def _bits(count: int) -> str:
    return grouped(count) if count < 10 ** 6 else superscript(count)


def _plane(page: Lesson, run: Run, of: Family, n: int, exponent: int) -> None:
    """Chart the plane of n and log₂ p, with the counted family, this transformer and GPT-3 in it."""
    own = math.log2(BITS_OF_A_NUMBER * run.model.n_parameters)
    width = math.ceil(math.log2(run.model.config.vocab_size))
    points = [(k * width, own, page.label("structure_point_own", name=run.title), k == 1) for k in TOKENS]
    gpt3 = PRESETS["gpt3"].config
    points += [(k * math.ceil(math.log2(gpt3.vocab_size)), math.log2(BITS_OF_A_NUMBER * counting.n_parameters(gpt3)),
                page.label("structure_point_gpt3"), k == 1) for k in TOKENS[:3]]
    points += [(of.n, math.log2(of.p), page.label("structure_point_family"), True)] if of.p else []
    frame = pd.DataFrame([(x, y, name, name if first else "", readable(2 ** y)) for x, y, name, first in points
                          if x <= 48 and y <= 48], columns=["n", "log_p", "name", "label", "p"])
    show(figures.plane(frame, (n, exponent), page.labels("plane"), **look(330, presenting=250)), "plane")


def _lines(page: Lesson, scene: Scene, n: int, exponent: int) -> list[tuple[str, str]]:
    of, found = scene.family, scene.found
    said, left = latex_number(found.said_by_parameters), latex_number(found.said_by_structure)
    lines = [(page.label("numbers_functions", n=of.n),
              rf"2^{{2^{{{of.n}}}}} = 2^{{{1 << of.n}}} = {of.n_functions}, \qquad 2^{{{of.p}}} = {1 << of.p}"),
             (page.label("numbers_reached", reached=found.n_reached),
              rf"\log_2 {found.n_reached} = {said} \le {of.p}"),
             (page.label("numbers_structure"),
              rf"2^{{{of.n}}} - \log_2 {found.n_reached} = {1 << of.n} - {said} = {left}"),
             (page.label("numbers_zeta"), rf"\zeta({of.n}) = 2^{{{of.n}-1}} = {1 << of.n - 1}")]
    if exponent < n:
        lines.append((page.label("numbers_typical", n=n),
                      rf"2^{{{n}}} - 2^{{{exponent}}} = {(1 << n) - (1 << exponent)}"))
    return lines


def _question(page: Lesson, of: Family) -> Question:
    """How many bits the structure must carry for most functions of two bits more, with the same θ."""
    n = of.n + 2
    right = (1 << n) - of.p
    options = sorted({right, 1 << n, n - 1, 1 << n - 1} if right > 0 else {0, 1 << n, 1 << n - 1})
    return page.question("structure", [page.label("structure_bits", count=count) for count in options],
                         options.index(max(right, 0)), n=n, p=of.p, all=1 << n, left=max(right, 0))


def _kepler(page: Lesson) -> pd.DataFrame:
    """The four structures of the lesson Training fitted to the same measurements of Mars: numbers, and both errors."""
    def fits() -> list[tuple[str, int, float, float]]:
        data = kepler.measure(MEASURED, NOISE, SEED)
        made = [kepler.fit(name, "lm", *data) for name in kepler.STRUCTURES]
        return [(fit.structure, fit.numbers.shape[1], fit.train[-1], fit.test[-1]) for fit in made]

    rows = growing_results.made(("four structures", MEASURED, NOISE, SEED), fits, lambda _: 1_000)
    return page.table([(page.label(f"structure_of_{name}"), n, _minutes(train), _minutes(test))
                       for name, n, train, test in rows], "law", "free", "fitted", "later")


def _minutes(error: float) -> str:
    """An error in minutes of arc; one beyond all angles as a power of ten, since no further digit is right."""
    return f"{readable(error) if error < WHOLE_TURN else power_of_ten(round(math.log10(error)))}′"


def _table(page: Lesson, scene: Scene) -> pd.DataFrame:
    of, found = scene.family, scene.found
    return pd.DataFrame({"function": range(of.n_functions),
                         "values": [f"{g:0{1 << of.n}b}"[::-1] for g in range(of.n_functions)],
                         "thetas": found.counts, "theta": [_solution(page, of, int(t)) for t in found.first]})
