"""The feed-forward part beyond averages: the outputs for all mixtures of two tokens leave the line between them."""
import pandas as pd
import streamlit as st

from core.analysis.mixing import Mixed, can_be_mixed, mixed
from core.analysis.stream_and_heads import looked_at
from core.app.lesson import Lesson, Question, Reading, cannot
from core.app.lesson.selection_controls import pick, short_list
from core.app.state import Run, reader
from core.app.state.run import selection
from core.base.markdown import code, escaped
from core.figures import residual_stream as figures
from core.figures.numbers import latex_number, latex_operand, percent
from core.model.block import Block
from pages.attention.shared import PREFIX, attached, picked_block, read, show

PICTURE = f".st-key-{PREFIX}bend"
CHART, CHART_PRESENT = 360, 320     # pixels
HALF = 20               # the mixture with half of each, of 41


def other(run: Run) -> int:
    """The second token: the reader's, if it is another than the first; else that which the head looks at most."""
    i, named = selection(run).position, read("bend_other")
    if 0 <= named < len(run.tokens) and named != i:
        return named
    return looked_at(picked_block(run)[0].pattern[selection(run).head, i], i)


def controls(page: Lesson, run: Run) -> None:
    """The block and the two tokens."""
    pick(page, run, "layer", "position")
    if len(run.tokens) > 1:
        st.session_state[f"{PREFIX}bend_other"] = other(run)
        names = {i: page.label("bend_token", token=token, n=i) for i, token in enumerate(run.tokens)
                 if i != selection(run).position}
        short_list(page.label("bend_other"), list(names), names.__getitem__, 170,
                   **attached("bend_other", names=[*names.values()]))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the line between two tokens and what the feed-forward part makes of the mixtures on it."""
    block, weights = picked_block(run)
    a = selection(run).position
    if not can_be_mixed(run.model.config):
        return cannot(page.label("bend_cannot", model=escaped(run.title)))
    if len(run.tokens) < 2:
        return cannot(page.label("bend_short"))
    b = other(run)
    found = mixed(block, weights, a, b)
    tokens = {"token": code(run.tokens[a]), "other": code(run.tokens[b])}
    aside = percent(abs(float(found.plane[HALF, 1])))           # as the picture's axis says it
    title = page.label("bend_title", block=selection(run).layer, **tokens, away=aside)
    st.markdown(f"**{title}**")
    show(_chart(page, run, found, a, b), "bend")
    page.note(page.label("bend_note"))
    return Reading(_lines(page, found, a, b, tokens), _question(page, run, tokens), [mixed, Block.feed_forward],
                   {"mixtures.csv": lambda: table(found)}, PICTURE, title,
                   summary={page.label("bend_summary"): aside})


def table(found: Mixed) -> pd.DataFrame:
    """A row for each mixture: its share, its place in the plane, and how far it is from the average."""
    return pd.DataFrame({"t": found.shares, "along": found.plane[:, 0], "aside": found.plane[:, 1],
                         "away": found.away})


def _chart(page: Lesson, run: Run, found: Mixed, a: int, b: int):
    names = {name: page.label(f"bend_{name}") for name in ("average", "output")}
    axes = tuple(page.label(f"bend_axis_{name}") for name in ("along", "aside"))
    return figures.left_line(found.plane.numpy(), found.shares.numpy(), (run.tokens[a], run.tokens[b]), names, axes,
                             reader.theme(), reader.scale(), CHART_PRESENT if reader.present() else CHART)


def _lines(page: Lesson, found: Mixed, a: int, b: int, tokens: dict[str, str]) -> list[tuple[str, str]]:
    """Component 0 of the mixture's output and of the average of the outputs; then the distance of the whole vectors."""
    first, last, half = (float(found.outputs[k, 0]) for k in (0, -1, HALF))
    gap = float((found.outputs[HALF] - found.averages[HALF]).norm())
    return [(page.label("numbers_bend_average", **tokens),
             rf"\tfrac12 \operatorname{{FFN}}(z_{{{a}}})_0 + \tfrac12 \operatorname{{FFN}}(z_{{{b}}})_0 = "
             rf"\tfrac12 \cdot ({latex_operand(first)}) + \tfrac12 \cdot ({latex_operand(last)}) = "
             rf"{latex_number((first + last) / 2)}"),
            (page.label("numbers_bend_output"),
             rf"\operatorname{{FFN}}(\tfrac12 z_{{{a}}} + \tfrac12 z_{{{b}}})_0 = {latex_number(half)}"),
            (page.label("numbers_bend_away", d=found.outputs.shape[1]),
             rf"\frac{{{latex_operand(gap)}}}{{{latex_operand(found.length)}}} = {latex_number(gap / found.length)}")]


def _question(page: Lesson, run: Run, tokens: dict[str, str]) -> Question:
    """Whether the same could be seen of what a head makes of the mixture, with its weights held still."""
    return page.question("bend", [page.label(f"bend_option_{k}") for k in range(4)], 0, **tokens)
