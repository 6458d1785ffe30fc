"""Beam search: its tree of kept and pruned hypotheses and, for a tiny vocabulary, the list of all possible texts."""
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
import torch

from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, latex_operand, plain_number, readable
from core.model.config import ModelConfig
from core.model.generation import Hypothesis, beam_search, exhaustive_search
from core.model.transformer import Transformer
from pages.generation.shared import PREFIX, choice, controls, in_turns, keep, note, read, start, sum_latex

N_STEPS, N_PRUNED = 8, 3
TWICE = 2               # as probable as greedy's text: the limit between two answers before the picture
TINY_TOKENS, TINY_STEPS = "AB", 4       # 2^(4 − 1) = 8 is the widest beam
Steps = tuple[tuple[Hypothesis, ...], ...]
# The tree of a beam search: a column for each step, kept hypotheses above pruned ones.
_picture = token_view("generation_beam", __file__)


@dataclass(frozen=True)
class Beam:
    """A beam search. steps: the hypotheses of each step, the `width` kept ones first; greedy: the best of a search of
    width 1; every: all texts, most probable first, for the tiny vocabulary.
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
    """A random transformer of two tokens without end of text, whose probabilities are uneven enough for a search."""
    config = ModelConfig(vocab_size=len(TINY_TOKENS), d_model=16, n_layers=2, n_heads=2, n_context=8,
                         tied_embeddings=False, end_of_text=None)
    model = Transformer(config).initialise(torch.Generator().manual_seed(seed)).eval().requires_grad_(False)
    for weights, factor in ((model.E, 50), (model.P, 50), (model.W_U, 25)):
        weights.mul_(factor)
    return model


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether the best text of the beam is that of greedy decoding, a less probable one, or a more probable one."""
    if read("source") == "tiny" or read("width") < 2:
        return None
    begin, width = start(run, N_STEPS), read("width")

    def truth(guess: int) -> Truth:
        bests = []
        for n in (1, width):
            *_, last = in_turns(run, beam_search, begin.token_ids, n, begin.length)
            bests.append(last[0])
        is_same = bests[0].token_ids == bests[1].token_ids
        ratio = math.exp(bests[1].log_prob - bests[0].log_prob)
        answer = 0 if is_same else 1 if ratio < 1 else 2 if ratio < TWICE else 3
        first = [best.token_ids[len(begin.token_ids)] for best in bests]
        why = "same" if is_same else "less" if ratio < 1 else "more"
        return Truth(answer, said="" if is_same else page.label("before_beam_said", ratio=readable(ratio)),
                     seen=2 if is_same else int(first[0] == first[1]),
                     values={"what": page.label(f"because_beam_{why}", ratio=readable(ratio))})

    options = [page.label(f"before_beam_{k}") for k in range(4)]
    return Prediction("beam", Options(options), truth, {"width": width, "n": begin.length})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the tree; return their Reading."""
    tiny = read("source") == "tiny"
    with controls(page, "width", *(["seed"] if tiny else [])):
        tiny = choice(page, "source") == "tiny"
    beam, whole = (_tiny(read("width"), read("seed")), True) if tiny else _searched(page, run, read("width"))
    step, place = picked(beam)
    _picture(message(page, run, beam, (step, place)), key=f"{PREFIX}beam",
             on_settings=lambda settings: keep(hypothesis=settings["hypothesis"]))
    title = page.label("beam_twin", width=beam.width, n=len(beam.steps), path=code(path(run, beam, beam.best)),
                       best=readable(beam.best.log_prob), greedy=readable(beam.greedy.log_prob))
    return Reading(_lines(page, run, beam, beam.steps[step][place]), _question(page, run, beam) if whole else None,
                   [beam_search, exhaustive_search] if tiny else [beam_search],
                   {"beams.csv": lambda: _table(page, run, beam)}, ".beam-picture", title, _every(page, run, beam),
                   {f"ln P ({beam.width})": readable(beam.best.log_prob)})


def _searched(page: Lesson, run: Run, width: int) -> tuple[Beam, bool]:
    """The search so far, and whether it is finished."""
    begin = start(run, N_STEPS)

    def steps() -> Iterator[Part]:
        *_, (greedy,) = in_turns(run, beam_search, begin.token_ids, 1, begin.length)
        kept: Steps = ()
        for step in in_turns(run, beam_search, begin.token_ids, width, begin.length, N_PRUNED):
            # where greedy decoding finds the same text, rounding must not make the two differ
            kept, best = (*kept, step), step[0]
            yield Part(Beam(None, run.model.config.vocab_size, len(begin.token_ids), width, kept,
                            best if best.token_ids == greedy.token_ids else greedy, ()), len(kept), begin.length)

    return growing_results.growing(run.loaded.key("generation beam", begin, width), steps, lambda _: 40_000,
                                   page.label("beam_progress", width=width))


@functools.lru_cache(maxsize=64)
def _tiny(width: int, seed: int) -> Beam:
    model, prompt = tiny_model(seed), (0,)
    steps = tuple(beam_search(model, prompt, width, TINY_STEPS, N_PRUNED))
    *_, (greedy,) = beam_search(model, prompt, 1, TINY_STEPS)
    return Beam(tuple(TINY_TOKENS), len(TINY_TOKENS), 1, width, steps, greedy,
                tuple(exhaustive_search(model, prompt, TINY_STEPS)))


def visible(run: Run, beam: Beam, token_id: int) -> str:
    """A token of the model or of the tiny vocabulary in visible form."""
    return run.tokenizer.visible(token_id) if beam.names is None else beam.names[token_id]


def path(run: Run, beam: Beam, h: Hypothesis) -> str:
    """The continuation of hypothesis h in visible form, its tokens joined."""
    return "".join(visible(run, beam, token_id) for token_id in h.token_ids[beam.n_prompt:])


def picked(beam: Beam) -> tuple[int, int]:
    """Step and place of the hypothesis that the reader has picked, or of the best one of the last step."""
    step, _, place = read("hypothesis").partition(".")
    if (all(part.isascii() and part.isdigit() and len(part) < 4 for part in (step, place))
            and int(step) < len(beam.steps) and int(place) < len(beam.steps[int(step)])):
        return int(step), int(place)
    return len(beam.steps) - 1, 0


def fates(beam: Beam) -> list[list[str]]:
    """The fate of each hypothesis: "pruned", "dead" (kept, but without a descendant at the end), "on", "final", or
    "best" for the best and its ancestors.
    """
    fates = [["dead" if place < beam.width else "pruned" for place in range(len(step))] for step in beam.steps]
    for last in reversed(range(min(beam.width, len(beam.steps[-1])))):
        place = last
        for step in reversed(range(len(beam.steps))):
            fate = "final" if step == len(beam.steps) - 1 else "on"
            fates[step][place] = "best" if last == 0 else fate
            place = beam.steps[step][place].parent
    return fates


def message(page: Lesson, run: Run, beam: Beam, chosen: tuple[int, int]) -> dict:
    """The message to beam.js."""
    steps = [[[visible(run, beam, h.token_ids[-1]), h.parent, h.log_prob, h.log_probs[-1],
               fate, path(run, beam, h), len(h.log_probs) == number]
              for h, fate in zip(step, row)]
             for number, (step, row) in enumerate(zip(beam.steps, fates(beam)), 1)]
    rank = next((i for i, h in enumerate(beam.every, 1) if h.token_ids == beam.best.token_ids), 0)
    text = page.label("beam_model_note") if beam.names else note(page, start(run, N_STEPS))
    return page.header("beam", note=text) | {
        "steps": steps, "width": beam.width,
        "picked": list(chosen), "rank": rank, "all": len(beam.every), "best": readable(beam.best.log_prob, 4),
        "greedy": readable(beam.greedy.log_prob, 4), "same": beam.greedy.token_ids == beam.best.token_ids}


def _lines(page: Lesson, run: Run, beam: Beam, h: Hypothesis) -> list[tuple[str, str]]:
    lines = [(page.label("numbers_beam", path=code(path(run, beam, h))),
              rf"\ln P = {sum_latex(h.log_probs)} = {latex_number(h.log_prob)}"),
             (page.label("numbers_greedy"),
              rf"e^{{{latex_operand(beam.best.log_prob)} - ({latex_operand(beam.greedy.log_prob)})}} = "
              rf"{latex_number(math.exp(beam.best.log_prob - beam.greedy.log_prob))}")]
    v, n = beam.vocab_size, len(beam.steps)
    extended = [1, *(sum(not h.finished for h in step[:beam.width]) for step in beam.steps[:-1])]
    lines.append((page.label("numbers_compared", n=n), rf"({' + '.join(map(str, extended))}) \cdot {v} = "
                                                       rf"{sum(extended) * v} \qquad {v}^{{{n}}} = {_power(v, n)}"))
    return lines


def _power(base: int, exponent: int) -> str:
    number = base ** exponent
    tens = int(math.log10(number))
    return str(number) if number < 10 ** 7 else rf"{number / 10 ** tens:.4f} \cdot 10^{{{tens}}}"


def _question(page: Lesson, run: Run, beam: Beam) -> Question:
    """Question: does the best text begin with the most probable first token?"""
    first, best = beam.steps[0][0].token_ids[-1], beam.best.token_ids[beam.n_prompt]
    place = next(i for i, h in enumerate(beam.steps[0], 1) if h.token_ids[-1] == best)
    return page.question("tree", [page.label(f"question_tree_{name}") for name in ("yes", "no")], int(first != best),
                         token=code(visible(run, beam, first)), path=code(path(run, beam, beam.best)),
                         first=code(visible(run, beam, best)), place=place)


def _table(page: Lesson, run: Run, beam: Beam) -> pd.DataFrame:
    rows = [(step, place, path(run, beam, h), h.log_prob, place <= beam.width)
            for step, hypotheses in enumerate(beam.steps, 1) for place, h in enumerate(hypotheses, 1)]
    return page.table(rows, "step", "place", "text", "log", "kept_at")


def _every(page: Lesson, run: Run, beam: Beam) -> pd.DataFrame | None:
    """All texts of the tiny vocabulary, most probable first, and whether the search kept them to the end."""
    if not beam.every:
        return None
    kept = {h.token_ids for h in beam.steps[-1][:beam.width]}
    rows = [(i, path(run, beam, h), plain_number(h.log_prob), h.token_ids in kept)
            for i, h in enumerate(beam.every, 1)]
    return page.table(rows, "rank", "text", "log", "kept_at")
