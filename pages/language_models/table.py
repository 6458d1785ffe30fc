"""Table: how many numbers a table of all next-token probabilities would have, and how little of it a text ever shows.
"""
import math

import pandas as pd

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run
from core.base.markdown import escaped
from core.components.lib.token_view import token_view
from core.cost import counting
from core.figures.numbers import grouped, latex_number, readable
from core.language import next_token_table
from core.language.next_token_table import ATOMS, log2_entries, log10_entries
from core.model.config import ModelConfig
from core.model.presets import PRESETS
from pages.language_models.shared import PREFIX, keep, read

CONTEXTS = (0, 1, 2, 3, 4, 5, 6, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)    # tokens, the slider's steps
FEW = 0.01                                                                    # the limit between the answers
MILLION = 6                 # log10 of the entries that the least of the answers before the picture may have
_picture = token_view("lm_table", __file__)


def picked() -> tuple[int, int]:
    """The reader's length of a context, the nearest of CONTEXTS, and log2 of the vocabulary."""
    return min(CONTEXTS, key=lambda t: abs(t - read("table_t"))), read("table_bits")


def predict(page: Lesson, run: Run) -> Prediction:
    """Whether the table has at most a million entries, or more, or more than GPT-3's parameters, or than all atoms."""
    t, bits = picked()
    counted, limits = next_token_table.load(), (MILLION, _log10_parameters(PRESETS["gpt3"].config), ATOMS)

    def truth(_guess: int) -> Truth:
        five, n = counted.known[4] / counted.held_out[4], grouped(digits(t, bits))
        return Truth(sum(log10_entries(t, 2 ** bits) > limit for limit in limits),
                     said=page.label("before_table_said", n=n), seen=0 if five < 0.5 else 1,
                     values={"power": grouped(round(log2_entries(t, 2 ** bits))), "digits": n,
                             "share": readable(100 * five)})

    options, asked = [page.label(f"before_table_{k}") for k in range(4)], {"t": grouped(t), "size": grouped(2 ** bits)}
    return Prediction("table", Options(options), truth, asked, (t, bits))


def _log10_parameters(config: ModelConfig) -> float:
    return math.log10(counting.n_parameters(config))


def digits(t: int, bits: int) -> int:
    """The decimal digits of (2^bits)^(t + 1), counted exactly.

    >>> digits(1, 12), digits(2048, 16)
    (8, 9869)
    """
    return math.floor((t + 1) * bits * math.log10(2)) + 1


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the sliders, the scale and what was counted; return what they show."""
    t, bits = picked()
    counted = next_token_table.load()
    rows = table_rows(counted)
    own, gpt3 = map(_log10_parameters, (run.model.config, PRESETS["gpt3"].config))
    marks = [(page.label("table_mark_own", model=run.title), own), (page.label("table_mark_gpt3"), gpt3),
             (page.label("table_mark_atoms"), ATOMS)]
    title = page.label("table_twin", t=grouped(t), size=grouped(2 ** bits), digits=grouped(digits(t, bits)))
    header = page.header("table", twin=title) | {
        "contexts": CONTEXTS, "marks": marks, "rows": rows,
        "settings": {"t": t, "bits": bits}}
    _picture(header, key=f"{PREFIX}table", on_settings=lambda said: keep(table_t=said["t"], table_bits=said["bits"]))
    return Reading(_lines(page, run, t, bits), _question(page, counted),
                   [log10_entries, next_token_table.hashes, next_token_table.count],
                   {"sequences.csv": lambda: pd.DataFrame(rows).astype({"possible": str})}, ".table-scale", title,
                   page.table([(row["n"], grouped(row["possible"]), grouped(row["different"]), readable(row["share"]),
                                readable(row["known"])) for row in rows],
                              "length", "possible", "different", "share_seen", "known"))


def table_rows(counted: next_token_table.Sequences) -> list[dict]:
    """For each length n: the sequences that are possible, how many different ones the text has, their share, and the
    share of the held-out text's places at which a sequence stands that the text has.
    """
    return [{"n": n, "possible": counted.size ** n, "different": different, "share": counted.share(n),
             "known": known / held_out}
            for n, (different, known, held_out)
            in enumerate(zip(counted.different, counted.known, counted.held_out), 1)]


def _lines(page: Lesson, run: Run, t: int, bits: int) -> list[tuple[str, str]]:
    power, own = (t + 1) * bits, counting.n_parameters(run.model.config)
    counted = next_token_table.load()
    size = rf"\left(2^{{{bits}}}\right)"
    return [(page.label("numbers_table_entries", t=grouped(t), n=grouped(t + 1)),
             rf"|T|^{{t+1}} = {size}^{{{t + 1}}} = 2^{{{bits} \cdot {t + 1}}} = 2^{{{power}}} = "
             rf"10^{{{power} \cdot 0.301030}} = 10^{{{power * math.log10(2):.2f}}}"),
            (page.label("numbers_table_slide"),
             r"|T| \cdot t = 2^{16} \cdot 2^{11} = 2^{27}, \qquad "
             r"|T|^{t+1} = \left(2^{16}\right)^{2^{11}+1} = 2^{16 \cdot 2049} = 2^{32784}"),
            (page.label("numbers_table_parameters", model=escaped(run.title), parameters=grouped(own)),
             rf"\frac{{10^{{{power * math.log10(2):.2f}}}}}{{{own}}} = "
             rf"10^{{{power * math.log10(2) - math.log10(own):.2f}}}"),
            (page.label("numbers_table_seen", tokens=grouped(counted.tokens)),
             rf"\frac{{{counted.different[1]}}}{{{counted.size}^2}} = {latex_number(counted.share(2))}, \qquad "
             rf"\frac{{{counted.different[2]}}}{{{counted.size}^3}} = {latex_number(counted.share(3), 6)}")]


def _question(page: Lesson, counted: next_token_table.Sequences) -> Question:
    """How much larger the share of all trigrams that the text has becomes if the text is ten times as long."""
    share = 10 * counted.share(3)
    return page.question("table", [page.label(f"table_option_{k}") for k in range(3)],
                         0 if share >= 1 else 1 if share > FEW else 2, size=grouped(counted.size),
                         n=grouped(counted.size ** 3), different=grouped(counted.different[2]),
                         tokens=grouped(counted.tokens))
