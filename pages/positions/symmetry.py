"""Symmetry: whether a permutation of the tokens only permutes the outputs."""
import random
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.lesson.selection_controls import seed_field
from core.app.state import Run, lesson_settings, prompts
from core.app.state.lesson_settings import Setting
from core.figures.numbers import latex_number, readable
from core.model.intervention import Intervention
from pages.positions.shared import PICTURE, Instrument

CASES = ("none", "mask", "positions", "both")
SETTINGS = {"case": Setting("none", options=CASES), "align": Setting(False)}
FOLLOW = ("all", "some", "none")     # of the outputs, their tokens: the answers
ORDERS = ("reverse", "swap", "shuffle")
ORDER = {"order": Setting("reverse", options=ORDERS), "first": Setting(2, 0, 4095), "second": Setting(5, 0, 4095),
         "seed": Setting(1, 0, 9999)}
SHOWN = 64
FEWEST = 6         # tokens that the question needs
FOLLOWS = 1e-4   # of the largest output: far above float32 rounding, far below any real change
SWITCHES = {   # case -> the changes to the model
    "none": {"positions": "none", "mask": "bidirectional"},
    "mask": {"positions": "none"},
    "positions": {"mask": "bidirectional"},
    "both": {},
}
# Outputs before and after the permutation, row beside row, with the choice of four cases.
_picture = Instrument("symmetry", __file__, SETTINGS)


@dataclass(frozen=True)
class Outcome:
    """One case: the outputs (N, d) in the prompt's order and in the new one, and the largest absolute difference of
    each token (N,).
    """

    before: np.ndarray
    after: np.ndarray
    differences: np.ndarray

    @property
    def largest(self) -> float:
        return float(self.differences.max())

    @property
    def limit(self) -> float:
        """The largest difference that counts as rounding."""
        return FOLLOWS * max(float(np.abs(self.before).max()), 1e-30)

    @property
    def follows(self) -> bool:
        return self.largest <= self.limit


def outcome(run: Run, case: str, permutation: tuple[int, ...]) -> Outcome:
    """h_final of the prompt and of its permutation: row k of the second belongs to token permutation[k] of the first.
    """
    before, after = (run.trace_with(Intervention(permutation=order, **SWITCHES[case])).h_final.float().cpu().numpy()
                     for order in (None, permutation))
    differences = np.empty(len(before))
    differences[list(permutation)] = np.abs(after - before[list(permutation)]).max(axis=1)
    return Outcome(before, after, differences)


def reordered(order: str, n: int, first: int, second: int, seed: int) -> tuple[int, ...]:
    """The chosen permutation of n places."""
    places = list(range(n))
    if order == "reverse":
        places.reverse()
    elif order == "swap":
        a, b = min(first, n - 1), min(second, n - 1)
        places[a], places[b] = places[b], places[a]
    else:
        random.Random(seed).shuffle(places)
    return tuple(places)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask if all, some or no outputs follow their tokens without positions and mask; None if no token moves."""
    n = len(run.tokens)
    permutation = reordered(n=n, **lesson_settings.read("positions", ORDER))
    if permutation == tuple(range(n)):
        return None

    def truth(guess: int) -> Truth:
        outcomes = all_outcomes(run, permutation)
        plain, follow = outcomes["none"], sum(o.follows for o in outcomes.values())
        same = int((plain.differences <= plain.limit).sum())
        return Truth(0 if same == n else 1 if same else 2, said=page.label("before_symmetry_same", same=same, n=n),
                     seen={1: 0, 2: 1}.get(follow, 2), values={"same": same, "largest": readable(plain.largest, 2)})

    options = [page.label(f"before_symmetry_{which}") for which in FOLLOW]
    return Prediction("symmetry", Options(options), truth, {"n": n})


def all_outcomes(run: Run, permutation: tuple[int, ...]) -> dict[str, Outcome]:
    """The four cases."""
    return {case: outcome(run, case, permutation) for case in CASES}


def draw(page: Lesson, run: Run) -> Reading:
    permutation = _choose(page, len(run.tokens))
    outcomes = all_outcomes(run, permutation)
    values = _picture.values()
    picked = outcomes[values["case"]]
    arrays = {"before": picked.before[:, :SHOWN], "after": picked.after[:, :SHOWN]}
    _picture.draw(page, values, {"tokens": run.tokens, "permutation": permutation,
                                 "differences": picked.differences.tolist(), "shown": arrays["before"].shape[1],
                                 "cases": _cases(page, outcomes)}, arrays)
    return Reading(
        lines=_numbers(page, picked, permutation),
        question=_question(page, run),
        functions=[outcome, reordered],
        data={"symmetry.csv": lambda: _table(run, outcomes, permutation)},
        picture=PICTURE,
        title=page.label("symmetry_twin", **{case: readable(o.largest, 2) for case, o in outcomes.items()}),
        summary={page.label(f"symmetry_case_{case}"): readable(o.largest, 2) for case, o in outcomes.items()},
    )


def _choose(page: Lesson, n: int) -> tuple[int, ...]:
    """Draw the controls of the new order, and return the permutation."""
    order, first, second, seed = lesson_settings.read("positions", ORDER).values()

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(page.label("symmetry_order"), ORDERS, required=True,
                             format_func=lambda name: page.label(f"symmetry_{name}"),
                             **lesson_settings.attached("positions", ORDER, "order"))
        for name in ("first", "second") if order == "swap" else ():
            st.number_input(page.label(f"symmetry_{name}"), int(ORDER[name].low), int(ORDER[name].high), width=130,
                            **lesson_settings.attached("positions", ORDER, name))
        if order == "shuffle":
            seed_field(page, int(ORDER["seed"].low), int(ORDER["seed"].high),
                       **lesson_settings.attached("positions", ORDER, "seed"))
    return reordered(order, n, first, second, seed)


def _cases(page: Lesson, outcomes: dict[str, Outcome]) -> list[dict]:
    return [{"id": case, "title": page.label(f"symmetry_case_{case}"),
             "number": readable(o.largest, 2), "follows": o.follows,
             "verdict": page.label("symmetry_follows" if o.follows else "symmetry_differs")}
            for case, o in outcomes.items()]


def _numbers(page: Lesson, o: Outcome, permutation: tuple[int, ...]) -> list[tuple[str, str]]:
    t = permutation[0]
    row = (rf"h_0' = ({latex_number(o.after[0, 0])},\; {latex_number(o.after[0, 1])},\; \dots), \qquad "
           rf"h_{{{t}}} = ({latex_number(o.before[t, 0])},\; {latex_number(o.before[t, 1])},\; \dots)")
    law = (r"f(\Pi X) = \Pi f(X): \qquad \mathrm{softmax}\big((\Pi Q)(\Pi K)^{\mathsf T}\big)\,\Pi V = "
           r"\Pi\,\mathrm{softmax}(QK^{\mathsf T})\,\Pi^{\mathsf T}\Pi\,V = \Pi\,\mathrm{softmax}(QK^{\mathsf T})\,V")
    largest = (rf"\max\lvert h' - \Pi h\rvert = {latex_number(o.largest)}, \qquad \max\lvert h\rvert = "
               rf"{latex_number(float(np.abs(o.before).max()))}")
    return [(page.label("symmetry_numbers_law"), law), (page.label("symmetry_numbers_row", t=t), row),
            (page.label("symmetry_numbers_largest"), largest)]


def _table(run: Run, outcomes: dict[str, Outcome], permutation: tuple[int, ...]) -> pd.DataFrame:
    places = np.argsort(permutation)
    return pd.DataFrame({"place": np.arange(len(run.tokens)), "token": run.tokens, "new place": places}
                        | {case: o.differences for case, o in outcomes.items()})


def _question(page: Lesson, run: Run) -> Question:
    """How many outputs of the other tokens stay the same under the mask alone when two adjacent tokens are swapped; of
    the app's own prompt where the reader's is too short to swap in.
    """
    if len(run.tokens) < FEWEST:
        run = run.with_text(prompts.default_prompt())
    n = len(run.tokens)
    a = n // 2
    o = outcome(run, "mask", reordered("swap", n, a, a + 1, 0))
    same = int((np.delete(o.differences, [a, a + 1]) <= o.limit).sum())
    options = sorted({same, 0, n - 2, n - a - 2})
    return page.question("symmetry", [page.label("symmetry_option", count=count) for count in options],
                         options.index(same), a=a, b=a + 1, n=n, same=same)
