"""Beam search: its tree, what is kept and what is pruned at each step, and all texts there are where the
vocabulary is tiny.
"""
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
import torch

from core.app.base.markdown import code
from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, latex_operand, plain_number, readable
from core.model.config import ModelConfig
from core.model.generation import Hypothesis, beam_search, exhaustive_search
from core.model.transformer import Transformer
from pages.generation.shared import PREFIX, choice, controls, in_turns, keep, note, read, start, sum_latex

N_STEPS, N_PRUNED = 8, 3
TINY_TOKENS, TINY_STEPS = "AB", 4       # 2^(4 − 1) = 8 is the widest beam
Steps = tuple[tuple[Hypothesis, ...], ...]
# The tree of a beam search, a column for each step, the kept above the pruned.
_picture = token_view("generation_beam", __file__)


@dataclass(frozen=True)
class Scene:
    """A search. steps: the hypotheses of each step, beginning with the `width` that were kept; greedy: the best of a
    search of width 1; every: all texts, most probable first, where they can be listed.
    """

    names: tuple[str, ...] | None       # of the tiny vocabulary
    vocab_size: int
    n_prompt: int
    width: int
    steps: Steps
    greedy: Hypothesis
    every: tuple[Hypothesis, ...]

    @property
    def best(self) -> Hypothesis:
        """The most probable hypothesis of the last step."""
        return self.steps[-1][0]


def tiny_model(seed: int) -> Transformer:
    """A random transformer of two tokens, no end of text, whose choices are uneven enough to be worth searching."""
    config = ModelConfig(vocab_size=len(TINY_TOKENS), d_model=16, n_layers=2, n_heads=2, n_context=8,
                         tied_embeddings=False, end_of_text=None)
    model = Transformer(config).initialise(torch.Generator().manual_seed(seed)).eval().requires_grad_(False)
    for weights, factor in ((model.E, 50), (model.P, 50), (model.W_U, 25)):
        weights.mul_(factor)
    return model


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the tree; return what they show."""
    tiny = read("source") == "tiny"
    with controls(page, "width", *(["seed"] if tiny else [])):
        tiny = choice(page, "source") == "tiny"
    here, whole = (_tiny(read("width"), read("seed")), True) if tiny else _searched(page, run, read("width"))
    step, place = picked(here)
    _picture(message(page, run, here, (step, place)), key=f"{PREFIX}beam",
             on_settings=lambda settings: keep(hypothesis=settings["hypothesis"]))
    title = page.label("beam_twin", width=here.width, n=len(here.steps), path=code(path(run, here, here.best)),
                       best=readable(here.best.log_prob), greedy=readable(here.greedy.log_prob))
    return Reading(_lines(page, run, here, here.steps[step][place]), _question(page, run, here) if whole else None,
                   [beam_search, exhaustive_search] if tiny else [beam_search],
                   {"beams.csv": lambda: _table(page, run, here)}, ".beam-picture", title, _every(page, run, here),
                   {f"ln P ({here.width})": readable(here.best.log_prob)})


def _searched(page: Lesson, run: Run, width: int) -> tuple[Scene, bool]:
    """The search so far, and whether it is finished."""
    begin = start(run, N_STEPS)

    def steps() -> Iterator[Part]:
        *_, (greedy,) = in_turns(run, beam_search, begin.token_ids, 1, begin.length)
        done: Steps = ()
        for step in in_turns(run, beam_search, begin.token_ids, width, begin.length, N_PRUNED):
            # where greedy finds the same text, rounding must not tell the two apart
            done, best = (*done, step), step[0]
            yield Part(Scene(None, run.model.config.vocab_size, len(begin.token_ids), width, done,
                             best if best.token_ids == greedy.token_ids else greedy, ()), len(done), begin.length)

    return growing_results.growing(run.loaded.key("generation beam", begin, width), steps, lambda _: 40_000,
                                   page.label("beam_progress", width=width))


@functools.lru_cache(maxsize=64)
def _tiny(width: int, seed: int) -> Scene:
    model, prompt = tiny_model(seed), (0,)
    steps = tuple(beam_search(model, prompt, width, TINY_STEPS, N_PRUNED))
    *_, (greedy,) = beam_search(model, prompt, 1, TINY_STEPS)
    return Scene(tuple(TINY_TOKENS), len(TINY_TOKENS), 1, width, steps, greedy,
                 tuple(exhaustive_search(model, prompt, TINY_STEPS)))


def visible(run: Run, here: Scene, token_id: int) -> str:
    """A token of the model or of the tiny vocabulary as it is shown."""
    return run.tokenizer.visible(token_id) if here.names is None else here.names[token_id]


def path(run: Run, here: Scene, one: Hypothesis) -> str:
    """The continuation of a hypothesis as one piece of text, in visible form."""
    return "".join(visible(run, here, token_id) for token_id in one.token_ids[here.n_prompt:])


def picked(here: Scene) -> tuple[int, int]:
    """Step and place of the hypothesis that the reader has picked; before that, of the best one of the last step."""
    step, _, place = read("hypothesis").partition(".")
    if (all(part.isascii() and part.isdigit() and len(part) < 4 for part in (step, place))
            and int(step) < len(here.steps) and int(place) < len(here.steps[int(step)])):
        return int(step), int(place)
    return len(here.steps) - 1, 0


def fates(here: Scene) -> list[list[str]]:
    """What became of each hypothesis: "pruned", "dead" (kept, with no descendant at the end), "on", "final", and "best"
    for the best and all it goes on from.
    """
    found = [["dead" if place < here.width else "pruned" for place in range(len(step))] for step in here.steps]
    for last in reversed(range(min(here.width, len(here.steps[-1])))):
        place = last
        for step in reversed(range(len(here.steps))):
            fate = "final" if step == len(here.steps) - 1 else "on"
            found[step][place] = "best" if last == 0 else fate
            place = here.steps[step][place].parent
    return found


def message(page: Lesson, run: Run, here: Scene, chosen: tuple[int, int]) -> dict:
    """The header of the component, as beam.js has it."""
    steps = [[[visible(run, here, one.token_ids[-1]), one.parent, one.log_prob, one.log_probs[-1],
               fate, path(run, here, one), len(one.log_probs) == number]
              for one, fate in zip(step, row)]
             for number, (step, row) in enumerate(zip(here.steps, fates(here)), 1)]
    rank = next((i for i, one in enumerate(here.every, 1) if one.token_ids == here.best.token_ids), 0)
    said = page.label("beam_model_note") if here.names else note(page, start(run, N_STEPS))
    return page.header("beam", note=said) | {
        "steps": steps, "width": here.width,
        "picked": list(chosen), "rank": rank, "all": len(here.every), "best": readable(here.best.log_prob, 4),
        "greedy": readable(here.greedy.log_prob, 4), "same": here.greedy.token_ids == here.best.token_ids}


def _lines(page: Lesson, run: Run, here: Scene, one: Hypothesis) -> list[tuple[str, str]]:
    lines = [(page.label("numbers_beam", path=code(path(run, here, one))),
              rf"\ln P = {sum_latex(one.log_probs)} = {latex_number(one.log_prob)}"),
             (page.label("numbers_greedy"),
              rf"e^{{{latex_operand(here.best.log_prob)} - ({latex_operand(here.greedy.log_prob)})}} = "
              rf"{latex_number(math.exp(here.best.log_prob - here.greedy.log_prob))}")]
    v, n = here.vocab_size, len(here.steps)
    extended = [1, *(sum(not one.finished for one in step[:here.width]) for step in here.steps[:-1])]
    lines.append((page.label("numbers_compared", n=n), rf"({' + '.join(map(str, extended))}) \cdot {v} = "
                                                       rf"{sum(extended) * v} \qquad {v}^{{{n}}} = {_power(v, n)}"))
    return lines


def _power(base: int, exponent: int) -> str:
    number = base ** exponent
    tens = int(math.log10(number))
    return str(number) if number < 10 ** 7 else rf"{number / 10 ** tens:.4f} \cdot 10^{{{tens}}}"


def _question(page: Lesson, run: Run, here: Scene) -> Question:
    """Whether the first step's favourite begins the best text."""
    first, begins = here.steps[0][0].token_ids[-1], here.best.token_ids[here.n_prompt]
    place = next(i for i, one in enumerate(here.steps[0], 1) if one.token_ids[-1] == begins)
    return page.question("tree", [page.label(f"question_tree_{name}") for name in ("yes", "no")], int(first != begins),
                         token=code(visible(run, here, first)), path=code(path(run, here, here.best)),
                         first=code(visible(run, here, begins)), place=place)


def _table(page: Lesson, run: Run, here: Scene) -> pd.DataFrame:
    rows = [(step, place, path(run, here, one), one.log_prob, place <= here.width)
            for step, hypotheses in enumerate(here.steps, 1) for place, one in enumerate(hypotheses, 1)]
    return page.table(rows, "step", "place", "text", "log", "kept_at")


def _every(page: Lesson, run: Run, here: Scene) -> pd.DataFrame | None:
    """All texts of the tiny vocabulary, most probable first, and whether the search kept them to the end."""
    if not here.every:
        return None
    kept = {one.token_ids for one in here.steps[-1][:here.width]}
    rows = [(i, path(run, here, one), plain_number(one.log_prob), one.token_ids in kept)
            for i, one in enumerate(here.every, 1)]
    return page.table(rows, "rank", "text", "log", "kept_at")
