"""Writing: a text token by token, each with the distribution it was drawn from; another branch is picked by hand
and left again.
"""
import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from core.app.base.markdown import code
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.components.lib.token_view import PLAYER_CSS, token_view
from core.components.sampling_panel import PanelSettings
from core.figures.numbers import latex_number, latex_operand, plain_number, readable
from core.model.generation import generate
from core.model.sampling import RULES, SamplingConfig, truncate
from core.model.sampling import draw as draw_token
from pages.generation import branches
from pages.generation.branches import Picks, Step
from pages.generation.shared import PREFIX, Start, controls, keep, note, read, sampling, start, sum_latex

QUARTERS = 4            # that an answer may lie in
MOST_PROMPT = 60        # tokens of the prompt that are shown before the text
# A text as it is written: tokens coloured by their probability, the distribution of the step that is looked at, the
# branches.
_picture = token_view("generation_writing", __file__, PLAYER_CSS)


@dataclass(frozen=True)
class Scene:
    """The text as it was drawn, then one for each of the reader's branches. active: the number of the one shown."""

    begin: Start
    config: SamplingConfig
    seed: int
    picks: tuple[Picks, ...]
    texts: tuple[tuple[Step, ...], ...]
    active: int

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.texts[self.active]

    @property
    def written(self) -> int:
        """How many tokens of the active text are written."""
        return len(self.steps) if read("written") < 0 else min(read("written"), len(self.steps))

    @property
    def step(self) -> Step | None:
        """The step whose distribution is shown; None while nothing is written."""
        if not self.written:
            return None
        return self.steps[min(read("picked"), self.written - 1) if read("picked") >= 0 else self.written - 1]


def scene(run: Run) -> Scene:
    """Today's texts."""
    begin, config, seed = start(run), sampling(), read("seed")
    kept = branches.from_link(branches.identity(run, begin, config, seed), read("branches"))
    picks = ((), *(one for one in kept if one and branches.fits(run, begin, config, seed, one)))
    texts = tuple(branches.text_of(run, begin, config, seed, one) for one in picks)
    return Scene(begin, config, seed, picks, texts, min(read("branch"), len(picks) - 1))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the instrument; return what they show."""
    controls(page, "temperature", "top_k", "top_p", "seed")
    here = scene(run)
    _picture(message(page, run, here), key=f"{PREFIX}writing",
             on_settings=lambda settings: _settled(run, here, settings))
    title = sentence(page, run, here)
    if here.step is not None:
        at = here.steps.index(here.step)
        settings = {"prompt": run.text + run.tokenizer.decode([step.token_id for step in here.steps[:at]]),
                    "next_token_panel": PanelSettings(here.config, xi=here.step.xi).to_link()}
        st.markdown(page.label("to_next_token", link=reader.link(settings, "next_token")))
    return Reading(_lines(page, run, here), _question(page, run, here), [generate, truncate, draw_token],
                   {"text.csv": lambda: _table(page, run, here)}, ".written-picture", title,
                   _candidates(page, run, here.step),
                   {page.label("column_surprisal"): readable(_surprisal(here.steps))})


def message(page: Lesson, run: Run, here: Scene) -> dict:
    """The header of the component, as writing.js has it."""
    visible = run.tokenizer.visible
    rules = [page.label(f"rule_{rule}") if rule else "" for rule in RULES]
    first = len(run.tokenizer.begin) if here.begin.token_ids[:1] == run.tokenizer.begin[:1] else 0
    before = here.begin.token_ids[first:]
    return page.header("writing", note=note(page, here.begin)) | {
        "identity": f"{branches.identity(run, here.begin, here.config, here.seed)} {here.picks} {here.active}",
        "prompt": [visible(i) for i in before[-MOST_PROMPT:]],
        "cut": len(before) > MOST_PROMPT, "rules": rules, "size": run.model.config.vocab_size,
        "ends": bool(here.steps) and here.steps[-1].token_id == run.model.config.end_of_text, "seed": here.seed,
        "steps": [_step(run, step) for step in here.steps],
        "texts": [_row(run, one, steps) for one, steps in zip(here.picks, here.texts)], "active": here.active,
        "full": len(here.picks) > branches.MOST_BRANCHES,
        "settings": {"written": read("written"), "picked": read("picked")}}


def _step(run: Run, step: Step) -> dict:
    shown = [*step.candidates, *([] if step.taken.place < len(step.candidates) else [step.taken])]
    return {"token": run.tokenizer.visible(step.token_id), "p": step.p, "surprisal": -step.log_prob, "xi": step.xi,
            "hand": step.by_hand, "place": step.taken.place, "kept": step.n_kept, "mass": step.kept_mass,
            "candidates": [[one.token_id, run.tokenizer.visible(one.token_id), one.place, one.prob, one.renormalised,
                            one.cut_by, one.start, one.end] for one in shown]}


def _row(run: Run, picks: Picks, steps: tuple[Step, ...]) -> dict:
    """One text in the list of branches: where it leaves the one before its last pick, and its tokens."""
    return {"from": picks[-1][0] if picks else 0, "tokens": [run.tokenizer.visible(step.token_id) for step in steps],
            "p": [round(step.p, 4) for step in steps], "log_prob": sum(step.log_prob for step in steps)}


def _settled(run: Run, here: Scene, settings: dict) -> None:
    """Callback: what the reader has done in the picture."""
    keep(written=settings["written"], picked=settings["picked"], branch=settings["branch"])
    if settings["choose"] is not None:
        _branch_off(run, here, *settings["choose"])
    if settings["take"]:
        new = run.tokenizer.decode([step.token_id for step in here.steps[:here.written]
                                    if step.token_id != run.model.config.end_of_text])
        reader.apply({"prompt": run.text + new.rstrip("\ufffd"), "generation_written": -1, "generation_picked": -1,
                      "generation_branch": 0, "generation_branches": ""})


def _branch_off(run: Run, here: Scene, step: int, token_id: int) -> None:
    """A text that takes `token_id` at `step` of the active one, which stays; the text that does so already,
    where there is one.
    """
    for number, text in enumerate(here.texts):
        if (len(text) > step
                and [s.token_id for s in text[:step + 1]] == [*(s.token_id for s in here.steps[:step]), token_id]):
            return keep(branch=number, picked=step)
    if len(here.picks) > branches.MOST_BRANCHES:
        return None
    own = (*(pick for pick in here.picks[here.active] if pick[0] < step), (step, token_id))
    name = branches.identity(run, here.begin, here.config, here.seed)
    return keep(branches=branches.to_link(name, [*here.picks[1:], own]), branch=len(here.picks),
                written=-1, picked=step)


def sentence(page: Lesson, run: Run, here: Scene) -> str:
    """The picture in a sentence."""
    if not here.steps:
        return page.label("writing_twin_none")
    new = run.tokenizer.decode([step.token_id for step in here.steps[:here.written]])
    return page.label("writing_twin", n=here.written, text=code(new.replace("\n", "⏎")), seed=here.seed,
                      log=readable(sum(step.log_prob for step in here.steps[:here.written])))


def _surprisal(steps: tuple[Step, ...]) -> float:
    return -sum(step.log_prob for step in steps) / len(steps) if steps else math.nan


def _candidates(page: Lesson, run: Run, step: Step | None) -> pd.DataFrame | None:
    if step is None:
        return None
    rows = [(one.place + 1, run.tokenizer.visible(one.token_id), plain_number(one.prob), plain_number(one.renormalised),
             page.label(f"rule_{RULES[one.cut_by]}") if one.cut_by else "")
            for one in step.candidates]
    return page.table(rows, "rank", "token", "y", "renormalised", "cut")


def _table(page: Lesson, run: Run, here: Scene) -> pd.DataFrame:
    rows = [(i, run.tokenizer.visible(step.token_id), step.p, -step.log_prob, step.taken.prob, step.taken.renormalised,
             step.xi, step.taken.place + 1, step.n_kept, step.by_hand)
            for i, step in enumerate(here.steps)]
    return page.table(rows, "step", "token", "p", "surprisal", "y", "renormalised", "xi", "rank", "kept", "hand")


def _lines(page: Lesson, run: Run, here: Scene) -> list[tuple[str, str]]:
    step = here.step
    if step is None:
        return []
    one, token = step.taken, code(run.tokenizer.visible(step.token_id))
    lines = [(page.label("numbers_p", token=token),
              rf"p(x_t \mid x_{{<t}}) = {latex_number(step.p)} \qquad -\ln p = {latex_number(-step.log_prob)}")]
    if one.cut_by:
        lines.append((page.label("numbers_cut", token=token, rule=page.label(f"rule_{RULES[one.cut_by]}")),
                      rf"y = {latex_number(one.prob)} \to 0"))
    else:
        lines.append((page.label("numbers_renormalised", token=token, n=step.n_kept),
                      rf"\frac{{y}}{{\sum_{{\mathrm{{kept}}}} y}} = "
                      rf"\frac{{{latex_operand(one.prob)}}}{{{latex_operand(step.kept_mass)}}} = "
                      rf"{latex_number(one.renormalised)}"))
        link = r"\qquad" if step.by_hand else r"\in"
        lines.append((page.label("numbers_hand" if step.by_hand else "numbers_interval", token=token),
                      rf"\xi = {latex_number(step.xi, 6)} {link} [{latex_number(one.start, 6)},\ "
                      rf"{latex_number(one.end, 6)})"))
    steps = here.steps[:here.written]
    terms = sum_latex(each.log_prob for each in steps[:4]) + (r" - \cdots" if len(steps) > 4 else "")
    return [*lines, (page.label("numbers_chain", n=len(steps)), rf"\ln P = \sum_t \ln p(x_t \mid x_{{<t}}) = {terms} = "
                                                                rf"{latex_number(sum(s.log_prob for s in steps))}")]


def _question(page: Lesson, run: Run, here: Scene) -> Question | None:
    """How many tokens of the whole text were the most probable one at their step."""
    n = len(here.steps)
    if not n:
        return None
    first = sum(step.taken.place == 0 for step in here.steps)
    return page.question("first", [page.label(f"question_first_{i}") for i in range(QUARTERS)],
                         min(QUARTERS * first // n, QUARTERS - 1), n=n, first=first,
                         expected=readable(sum(step.candidates[0].renormalised for step in here.steps)))
