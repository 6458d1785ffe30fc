"""Writing: a text token by token, each with the distribution it was drawn from; the reader can branch off with another
token and return.
"""
import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, address, dice, reader
from core.app.state.dice import Dice
from core.base.markdown import code
from core.components.lib.token_view import PLAYER_CSS, token_view
from core.components.sampling_panel import PanelSettings
from core.figures.numbers import latex_number, latex_operand, percent, plain_number, readable
from core.model.generation import generate
from core.model.sampling import RULES, SamplingConfig, truncate
from core.model.sampling import draw as draw_token
from pages.generation import branches
from pages.generation.branches import Picks, Step
from pages.generation.shared import (
    PREFIX,
    Start,
    controls,
    in_turns,
    keep,
    note,
    read,
    sampling,
    start,
    sum_latex,
)

PARTINGS = (1, 5, 20)   # tokens that two texts share: the bounds between the answers of the question
LEAST_LENGTH = 8        # tokens, of a text that the question before the picture is about
RARE = 0.1              # the probability below which it calls a drawn token improbable
MOST_PROMPT = 60        # tokens of the prompt shown before the text
# The growing text, its tokens coloured by probability, the distribution of the picked step, and the branches.
_picture = token_view("generation_writing", __file__, PLAYER_CSS)


@dataclass(frozen=True)
class Scene:
    """The drawn text and one for each of the reader's branches. active: the index of the shown one."""

    begin: Start
    config: SamplingConfig
    dice: Dice
    picks: tuple[Picks, ...]
    texts: tuple[tuple[Step, ...], ...]
    active: int

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.texts[self.active]

    @property
    def written(self) -> int:
        """The number of written tokens of the active text."""
        return len(self.steps) if read("written") < 0 else min(read("written"), len(self.steps))

    @property
    def step(self) -> Step | None:
        """The step whose distribution is shown; None while nothing is written."""
        if not self.written:
            return None
        return self.steps[min(read("picked"), self.written - 1) if read("picked") >= 0 else self.written - 1]


def current(run: Run) -> Scene:
    """The texts of the current settings."""
    begin, config, thrown = start(run), sampling(), dice.of(len(run.token_ids))
    stored = branches.from_link(branches.identity(run, begin, config, thrown), read("branches"))
    picks = ((), *(branch for branch in stored if branch and branches.fits(run, begin, config, thrown, branch)))
    texts = tuple(branches.text_of(run, begin, config, thrown, branch) for branch in picks)
    return Scene(begin, config, thrown, picks, texts, min(read("branch"), len(picks) - 1))


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How often the token that is drawn is the model's first choice: always, more often than not, less often, never."""
    begin = start(run)
    if begin.length < LEAST_LENGTH:
        return None

    def truth(guess: int) -> Truth:
        steps = list(in_turns(run, generate, begin.token_ids, sampling(), dice.of(len(run.token_ids)).numbers(),
                              max_new_tokens=begin.length))
        first, n = sum(step.place == 0 for step in steps), len(steps)
        rarest = min(steps, key=lambda step: step.log_prob)
        p = math.exp(rarest.log_prob)
        said = page.label("before_writing_said", first=first, all=n)
        return Truth(0 if first == n else 1 if 2 * first > n else 2 if first else 3, said=said, seen=int(p >= RARE),
                     values={"said": said, "token": run.tokenizer.visible(rarest.token_id), "p": percent(p)})

    options = [page.label(f"before_writing_{k}") for k in range(4)]
    return Prediction("writing", Options(options), truth, {"n": begin.length})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the picture; return their Reading."""
    controls(page, "temperature", "top_k", "top_p", "dice")
    scene = current(run)
    _picture(message(page, run, scene), key=f"{PREFIX}writing",
             on_settings=lambda settings: _apply(run, scene, settings))
    title = sentence(page, run, scene)
    if scene.step is not None:
        at = scene.steps.index(scene.step)
        settings = {"prompt": run.text + run.tokenizer.decode([step.token_id for step in scene.steps[:at]]),
                    "next_token_panel": PanelSettings(scene.config).to_link(), "xi": scene.step.xi}
        if not reader.present():
            st.markdown(page.label("to_next_token", link=address.link(settings, "next_token")))
    return Reading(_lines(page, run, scene), _question(page, run, scene), [generate, truncate, draw_token],
                   {"text.csv": lambda: _table(page, run, scene)}, ".written-picture", title,
                   _candidates(page, run, scene.step),
                   {page.label("column_surprisal"): readable(_surprisal(scene.steps))})


def message(page: Lesson, run: Run, scene: Scene) -> dict:
    """The message to writing.js."""
    visible = run.tokenizer.visible
    rules = [page.label(f"rule_{rule}") if rule else "" for rule in RULES]
    first = len(run.tokenizer.begin) if scene.begin.token_ids[:1] == run.tokenizer.begin[:1] else 0
    before = scene.begin.token_ids[first:]
    return page.header("writing", note=note(page, scene.begin)) | {
        "identity": f"{branches.identity(run, scene.begin, scene.config, scene.dice)} {scene.picks} {scene.active}",
        "prompt": [visible(i) for i in before[-MOST_PROMPT:]],
        "cut": len(before) > MOST_PROMPT, "rules": rules, "size": run.model.config.vocab_size,
        "ends": bool(scene.steps) and scene.steps[-1].token_id in run.model.config.ends, "seed": scene.dice.seed,
        "steps": [_step(run, step) for step in scene.steps],
        "texts": [_row(run, branch, steps) for branch, steps in zip(scene.picks, scene.texts)], "active": scene.active,
        "full": len(scene.picks) > branches.MOST_BRANCHES,
        "settings": {"written": read("written"), "picked": read("picked")}}


def _step(run: Run, step: Step) -> dict:
    candidates = [*step.candidates, *([] if step.taken.place < len(step.candidates) else [step.taken])]
    return {"token": run.tokenizer.visible(step.token_id), "p": step.p, "surprisal": -step.log_prob, "xi": step.xi,
            "hand": step.by_hand, "place": step.taken.place, "kept": step.n_kept, "mass": step.kept_mass,
            "candidates": [[c.token_id, run.tokenizer.visible(c.token_id), c.place, c.prob, c.renormalised,
                            c.cut_by, c.start, c.end] for c in candidates]}


def _row(run: Run, picks: Picks, steps: tuple[Step, ...]) -> dict:
    """One text in the list of branches: the step of its last pick, and its tokens."""
    return {"from": picks[-1][0] if picks else 0, "tokens": [run.tokenizer.visible(step.token_id) for step in steps],
            "p": [round(step.p, 4) for step in steps], "log_prob": sum(step.log_prob for step in steps)}


def _apply(run: Run, scene: Scene, settings: dict) -> None:
    """Callback: store the reader's actions in the picture."""
    keep(written=settings["written"], picked=settings["picked"], branch=settings["branch"])
    if settings["choose"] is not None:
        _branch_off(run, scene, *settings["choose"])
    if settings["take"]:
        new = run.tokenizer.decode([step.token_id for step in scene.steps[:scene.written]
                                    if step.token_id not in run.model.config.ends])
        reader.apply({"prompt": run.text + new.rstrip("\ufffd"), "generation_written": 0, "generation_picked": -1,
                      "generation_branch": 0, "generation_branches": ""})


def _branch_off(run: Run, scene: Scene, step: int, token_id: int) -> None:
    """Make active the text that takes `token_id` at `step` of the active text: an existing one, or a new branch."""
    for number, text in enumerate(scene.texts):
        if (len(text) > step
                and [s.token_id for s in text[:step + 1]] == [*(s.token_id for s in scene.steps[:step]), token_id]):
            return keep(branch=number, picked=step)
    if len(scene.picks) > branches.MOST_BRANCHES:
        return None
    picks = (*(pick for pick in scene.picks[scene.active] if pick[0] < step), (step, token_id))
    name = branches.identity(run, scene.begin, scene.config, scene.dice)
    return keep(branches=branches.to_link(name, [*scene.picks[1:], picks]), branch=len(scene.picks),
                written=-1, picked=step)


def sentence(page: Lesson, run: Run, scene: Scene) -> str:
    """A sentence that describes the picture."""
    if not scene.steps:
        return page.label("writing_twin_none")
    new = run.tokenizer.decode([step.token_id for step in scene.steps[:scene.written]])
    return page.label("writing_twin", n=scene.written, text=code(new.replace("\n", "⏎")), seed=scene.dice.seed,
                      log=readable(sum(step.log_prob for step in scene.steps[:scene.written])))


def _surprisal(steps: tuple[Step, ...]) -> float:
    return -sum(step.log_prob for step in steps) / len(steps) if steps else math.nan


def _candidates(page: Lesson, run: Run, step: Step | None) -> pd.DataFrame | None:
    if step is None:
        return None
    rows = [(c.place + 1, run.tokenizer.visible(c.token_id), plain_number(c.prob), plain_number(c.renormalised),
             page.label(f"rule_{RULES[c.cut_by]}") if c.cut_by else "")
            for c in step.candidates]
    return page.table(rows, "rank", "token", "y", "renormalised", "cut")


def _table(page: Lesson, run: Run, scene: Scene) -> pd.DataFrame:
    rows = [(i, run.tokenizer.visible(step.token_id), step.p, -step.log_prob, step.taken.prob, step.taken.renormalised,
             step.xi, step.taken.place + 1, step.n_kept, step.by_hand)
            for i, step in enumerate(scene.steps)]
    return page.table(rows, "step", "token", "p", "surprisal", "y", "renormalised", "xi", "rank", "kept", "hand")


def _lines(page: Lesson, run: Run, scene: Scene) -> list[tuple[str, str]]:
    step = scene.step
    if step is None:
        return []
    taken, token = step.taken, code(run.tokenizer.visible(step.token_id))
    lines = [(page.label("numbers_p", token=token),
              rf"p(x_t \mid x_{{<t}}) = {latex_number(step.p)} \qquad -\ln p = {latex_number(-step.log_prob)}")]
    if taken.cut_by:
        lines.append((page.label("numbers_cut", token=token, rule=page.label(f"rule_{RULES[taken.cut_by]}")),
                      rf"y = {latex_number(taken.prob)} \to 0"))
    else:
        lines.append((page.label("numbers_renormalised", token=token, n=step.n_kept),
                      rf"\frac{{y}}{{\sum_{{\mathrm{{kept}}}} y}} = "
                      rf"\frac{{{latex_operand(taken.prob)}}}{{{latex_operand(step.kept_mass)}}} = "
                      rf"{latex_number(taken.renormalised)}"))
        link = r"\qquad" if step.by_hand else r"\in"
        lines.append((page.label("numbers_hand" if step.by_hand else "numbers_interval", token=token),
                      rf"\xi = {latex_number(step.xi, 6)} {link} [{latex_number(taken.start, 6)},\ "
                      rf"{latex_number(taken.end, 6)})"))
    steps = scene.steps[:scene.written]
    terms = sum_latex(s.log_prob for s in steps[:4]) + (r" - \cdots" if len(steps) > 4 else "")
    return [*lines, (page.label("numbers_chain", n=len(steps)), rf"\ln P = \sum_t \ln p(x_t \mid x_{{<t}}) = {terms} = "
                                                                rf"{latex_number(sum(s.log_prob for s in steps))}")]


def _question(page: Lesson, run: Run, scene: Scene) -> Question | None:
    """Question: after how many tokens does the text of the next seed part from this one?"""
    if not scene.texts[0]:
        return None
    seed = scene.dice.seed + 1
    shown = [step.token_id for step in scene.texts[0]]

    def answer() -> tuple[int, str]:
        steps = in_turns(run, generate, scene.begin.token_ids, scene.config,
                         Dice(seed, scene.dice.n_tokens).numbers(), max_new_tokens=scene.begin.length)
        other = [step.token_id for step in steps]
        n = next((i for i, (one, two) in enumerate(zip(shown, other)) if one != two), min(len(shown), len(other)))
        text = run.tokenizer.decode(other).replace("\n", "⏎")
        return sum(n >= bound for bound in PARTINGS), page.label("because_parting", seed=seed, n=n, text=code(text))

    options = [page.label(f"question_parting_{i}") for i in range(len(PARTINGS) + 1)]
    return Question("parting", page.label("question_parting", seed=seed), options, answer,
                    about=(run.key("parting"), seed, scene.config))
