"""Translate: an encoder-decoder turns dates in words into digits and back, or one of the library a text into another,
and its cross-attention shows where it looks.
"""
import functools
import itertools
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.app.base.markdown import code
from core.app.compute import cache
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, latex_number, latex_operand, plain_number, probability
from core.model.block import KVCache
from core.model.generation import next_logits, translations
from core.model.trace import BlockTrace, CrossTrace, Trace
from core.model.transformer import Transformer
from core.training import dates, translation
from core.training.dates import Phrase
from core.training.translation import Alignment
from pages.architectures.live_models import TRANSLATES, about, is_bundled, loaded, missing
from pages.architectures.shared import PREFIX, SHARED_CSS, keep, most_probable, probabilities, read, text_field

CANDIDATES = 5
MOST_CHARACTERS = 200       # of what is typed
MOST_READ = 64              # tokens: as many as the bundled model reads, and as many columns as can be told apart
MOST_WRITTEN = 40           # tokens; the longest date has 16
MEASURED = 50               # held-out dates in each direction
MOST_FACTORS = 16           # of a product that is written out; all probabilities stand in the table
# the settings for what is read: by the bundled model of dates, by one of the library
DATES, TEXTS = "translate_text", "translate_loaded_text"
PICKS = "attention", "block", "head", "step"     # what is picked in the picture
# A translation token by token, and its three kinds of attention under the hand.
_picture = token_view("architecture_translate", __file__, SHARED_CSS)


@dataclass(frozen=True)
class Translated:
    """A source, its greedy translation, and the pass that wrote it: inputs are the token that every text begins with
    and all of the translation but its last token.
    """

    model: cache.LoadedModel
    source: tuple[int, ...]
    n_cut: int
    target: tuple[int, ...]
    trace: Trace

    @property
    def source_tokens(self) -> list[str]:
        """The M tokens that are read, as they are shown."""
        return [self.model.tokenizer.visible(i) for i in self.source]

    @property
    def target_tokens(self) -> list[str]:
        """The N tokens that are written, end of text last."""
        return [self.model.tokenizer.visible(i) for i in self.target]

    @property
    def input_tokens(self) -> list[str]:
        """What the decoder read at each of its N steps: the token that begins every text, then what it had written."""
        return [self.model.tokenizer.visible(int(i)) for i in self.trace.token_ids]

    @property
    def text(self) -> str:
        """The translation as text, without its end of text."""
        return self.model.tokenizer.decode(self.target)

    @property
    def ends(self) -> bool:
        """Whether the model itself ended the translation."""
        return self.target[-1] == self.model.model.config.end_of_text

    @property
    def probabilities(self) -> np.ndarray:
        """(N,) float64: of each written token, under the source and the tokens before it."""
        return probabilities(self.trace.logits)[range(len(self.target)), self.target]


@dataclass(frozen=True)
class HeldOut:
    """On held-out dates of one direction: how aligned the heads are, and the smallest probability that any token of a
    true translation had.
    """

    alignment: Alignment
    least: float

    @property
    def aligned(self) -> np.ndarray:
        """(L, h + 1) the share aligned of every head of each block, and last of the mean of its heads."""
        return np.column_stack([self.alignment.heads, self.alignment.means])


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    model = loaded(TRANSLATES, run)
    if model is None:
        return missing(page, TRANSLATES)
    asked = DATES if is_bundled(model) else TEXTS
    _controls(page, asked)
    ids = model.tokenizer.encode(read(asked)[:MOST_CHARACTERS])
    if not ids:
        st.info(page.label(f"{asked}_empty"))
        ids = model.tokenizer.encode(page.label(f"{asked}_stand_in"))
    found = translated(model, tuple(ids))
    measures = measured(model, direction_of(model.tokenizer.decode(found.source))) if is_bundled(model) else None
    _picture(message(page, found, measures), key=f"{PREFIX}translate_instrument", arrays=patterns(found.trace),
             on_settings=_settled)
    return _reading(page, found, measures)


def _controls(page: Lesson, asked: str) -> None:
    """The field for the text, examples of it, and for the bundled model a random date."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        text_field(page, asked, asked, MOST_CHARACTERS, translate_step=-1)
        if asked != DATES:
            return
        seed = read("translate_seed")
        st.button(page.label("translate_random", seed=seed), key=f"{PREFIX}translate_random",
                  help=page.label("translate_random_help"), on_click=keep,
                  kwargs={"translate_text": random_source(seed), "translate_seed": (seed + 1) % 10_000,
                          "translate_step": -1})


def random_source(seed: int) -> str:
    """A date in words or digits that no training met, always the same one for a seed."""
    return next(dates.random_pairs(np.random.default_rng(seed), held_out=True)).source.text


def direction_of(source: str) -> str:
    """Which way a source is translated: what has no letter is taken for digits."""
    return dates.TO_DIGITS if any(character.isalpha() for character in source) else dates.TO_WORDS


def translated(model: cache.LoadedModel, ids: tuple[int, ...]) -> Translated:
    """The greedy translation of the first tokens of a source, as many as are read, with its trace."""
    begin, end = model.tokenizer.begin if not is_bundled(model) else (), model.tokenizer.end
    kept = ids[:max(1, min(MOST_READ, model.model.config.n_context) - len(begin) - len(end))]
    source = (*begin, *kept, *end)

    def make() -> Translated:
        target = greedy(model.runner, source)
        return Translated(model, source, len(ids) - len(kept), target, traced(model, source, target))

    return cache.result(model.key("translation", ids), make, lambda value: value.trace.n_bytes)


def greedy(model: Transformer, source: tuple[int, ...]) -> tuple[int, ...]:
    """The most probable token again and again, up to end of text or MOST_WRITTEN of them."""
    with torch.inference_mode():
        return dict(translations(model, [source], MOST_WRITTEN))[0]


def traced(model: cache.LoadedModel, source: tuple[int, ...], target: tuple[int, ...]) -> Trace:
    """The pass that predicts every token of the target from the source and the tokens before it."""
    with torch.inference_mode():
        ids = torch.tensor([model.model.config.first_token, *target[:-1]], device=model.device)
        return model.runner(ids, source_ids=torch.tensor(source, device=model.device)).to("cpu")


def patterns(trace: Trace) -> dict[str, np.ndarray]:
    """The weights of every block and head, as the component wants them: encoder (L, h, M, M), decoder (L, h, N, N),
    cross (L, h, N, M).
    """
    stacks = {"encoder": [block.pattern for block in trace.encoder.blocks],
              "decoder": [block.pattern for block in trace.blocks],
              "cross": [block.cross.pattern for block in trace.blocks]}
    return {name: torch.stack(stack).float().numpy() for name, stack in stacks.items()}


def measured(model: cache.LoadedModel, direction: str) -> HeldOut:
    """The model on held-out dates of one direction, computed once."""
    def make() -> HeldOut:
        pairs, tokenizer = translation.held_out_pairs(direction, MEASURED), model.tokenizer
        texts = [(tuple(tokenizer.encode(pair.source.text)),
                  (*tokenizer.encode(pair.target.text), tokenizer.end_of_text)) for pair in pairs]
        least = min(float(Translated(model, source, 0, target, traced(model, source, target)).probabilities.min())
                    for source, target in texts)
        return HeldOut(translation.alignment(model.runner, tokenizer, pairs), least)

    return cache.result(model.key("alignment", direction), make, lambda _: 4096)


# ---- what is right ---------------------------------------------------------------------------------------------------


def phrases(source: str, written: str) -> tuple[Phrase, Phrase] | None:
    """Source and translation as phrases of one date with its parts, where that is what they are; else None."""
    digits, words = (written, source) if direction_of(source) == dates.TO_DIGITS else (source, written)
    try:
        day = date.fromisoformat(digits)
    except ValueError:
        return None
    if len(digits) != 10 or not dates.FIRST <= day <= dates.LAST:
        return None
    ways = itertools.product(range(len(dates.PHRASINGS)), range(len(dates.year_readings(day.year))))
    for phrase in itertools.starmap(functools.partial(dates.in_words, day), ways):
        if phrase.text == words:
            return (phrase, dates.in_digits(day)) if digits == written else (dates.in_digits(day), phrase)
    return None


def verdict(found: Translated, least: float) -> str:
    """"right": source and translation are one date, as the rules write it; "unknown": a token was less probable than
    any of a held-out date; else "unchecked".
    """
    if phrases(found.model.tokenizer.decode(found.source), found.text) is not None:
        return "right"
    return "unknown" if found.probabilities.min() < least else "unchecked"


# ---- what the component is given -------------------------------------------------------------------------------------


def message(page: Lesson, found: Translated, measures: HeldOut | None) -> dict:
    """The header of the component, as translate.js describes it."""
    config, judged = found.model.model.config, measures and verdict(found, measures.least)
    tops = [[{"token": found.model.tokenizer.visible(i), "p": p[i], "shown": probability(p[i])}
             for i in most_probable(p, CANDIDATES)] for p in probabilities(found.trace.logits)]
    return page.header("translate") | {
            "step_text": page.labels("translate_step"), "masks_text": page.labels("masks"),
            "source": found.source_tokens, "target": found.target_tokens, "inputs": found.input_tokens,
            "shown": [probability(p) for p in found.probabilities], "tops": tops,
            "sizes": {"n": len(found.target), "m": len(found.source), "h": config.n_heads},
            "blocks": {"encoder": config.n_encoder_layers, "decoder": config.n_layers, "cross": config.n_layers},
            "heads": config.n_heads, "aligned": measures and measures.aligned.tolist(),
            "verdict": _verdict_text(page, found, judged, measures), "right": judged == "right",
            "n_measured": MEASURED, "cut": page.label("translate_cut", n=found.n_cut) if found.n_cut else "",
            "settings": {name: read(f"translate_{name}") for name in PICKS}}


def _verdict_text(page: Lesson, found: Translated, judged: str | None, measures: HeldOut | None) -> str:
    """A sentence that judges the translation: a date by the calendar, another model's text by its least probable token.
    """
    weakest = int(found.probabilities.argmin())
    values = {"token": found.target_tokens[weakest], "p": probability(found.probabilities[weakest]),
              "n": MEASURED if measures else len(found.target)}
    if measures:
        return page.label(f"translate_verdict_{judged}", least=probability(measures.least), **values)
    stopped = "" if found.ends else " " + page.label("translate_stopped", n=len(found.target))
    return f"{about(page, found.model)} {page.label('translate_loaded_verdict', **values)}{stopped}"


def _settled(settings: dict) -> None:
    keep(**{f"translate_{name}": settings[name] for name in PICKS})


# ---- in numbers, the question, the data ------------------------------------------------------------------------------


def step_of(found: Translated) -> int:
    """The number of the token that is looked at, from 0: the last one written."""
    wanted = read("translate_step")
    return len(found.target) - 1 if wanted < 1 else min(wanted, len(found.target)) - 1


def _reading(page: Lesson, found: Translated, measures: HeldOut | None) -> Reading:
    step, config = step_of(found), found.model.model.config
    block = min(read("translate_block"), config.n_layers - 1)
    head = min(read("translate_head"), config.n_heads - 1)
    cross = found.trace.blocks[block].cross
    row = cross.pattern[:, step].mean(0) if head < 0 else cross.pattern[head, step]
    title = page.label("translate_twin", source=code(found.model.tokenizer.decode(found.source)),
                       target=code(found.text or " ".join(found.target_tokens)),
                       p=probability(found.probabilities.prod()), token=code(found.target_tokens[step]),
                       most=code(found.source_tokens[int(row.argmax())]), weight=probability(float(row.max())))
    # in numbers one head is followed: of their mean, the best aligned one
    shown = head if head >= 0 else int(measures.alignment.heads[block].argmax()) if measures else 0
    data = {"tokens.csv": lambda: token_table(page, found), "cross_attention.csv": lambda: cross_table(page, found)}
    if measures:
        data["alignment.csv"] = lambda: alignment_table(page, measures)
    return Reading(_lines(page, found, block, shown, step), _question(page, found),
                   [traced, patterns, translation.alignment if measures else greedy], data, ".heat", title,
                   weights_table(page, found, cross, shown, step), {page.label("translate_written"): found.text},
                   "" if measures else "translate_loaded")


def _lines(page: Lesson, found: Translated, block: int, head: int, step: int) -> list[tuple[str, str]]:
    p, cross = found.probabilities, found.trace.blocks[block].cross
    factors = [*map(latex_operand, p)]
    product = r" \cdot ".join(factors if len(p) <= MOST_FACTORS else [*factors[:3], r"\ldots", factors[-1]])
    strongest = int(cross.pattern[head, step].argmax())
    scores, (dot, width) = cross.scores[head, step].double(), _dot(cross, head, step, strongest)
    score, total = latex_operand(scores[strongest]), bracketed(latex_operand(scores.logsumexp(-1)))
    place = {"token": code(found.target_tokens[step]), "source": code(found.source_tokens[strongest]),
             "head": f"{block}.{head}"}
    n, m = len(p), len(found.source)
    scaled = found.model.model.config.scale_scores
    match, divisor = r"q \cdot k", r" / \sqrt{d_k}" if scaled else ""
    if scaled:
        match = rf"\frac{{{match}}}{{\sqrt{{d_k}}}} = \frac{{{latex_operand(dot)}}}{{\sqrt{{{width}}}}}"
    return [(page.label("translate_numbers_p"),
             rf"p(y_{{1:{n}}}) = \prod_t p(y_t \mid y_{{<t}}, x) = {product} = {latex_number(p.prod())}"),
            (page.label("translate_numbers_score" if scaled else "translate_numbers_score_unscaled", **place),
             rf"{match} = {latex_number(scores[strongest])}"),
            (page.label("translate_numbers_weight", **place),
             rf"\alpha = \frac{{e^{{q \cdot k{divisor}}}}}{{\sum_j e^{{q \cdot k_j{divisor}}}}} = "
             rf"e^{{{score} - {total}}} = {latex_number(probabilities(scores)[strongest])}"),
            *_biased(page, found, block, head, step),
            (page.label("translate_numbers_shapes"),
             rf"\text{{encoder }} [{m} \times {m}], \quad \text{{decoder }} [{n} \times {n}], \quad \text{{cross }} "
             rf"[{n} \times {m}]")]


def _biased(page: Lesson, found: Translated, block: int, head: int, step: int) -> list[tuple[str, str]]:
    """How a score of the decoder's own attention is made where a learned bias for the distance is added to it; nothing
    where positions enter otherwise.
    """
    config, own = found.model.model.config, found.trace.blocks[block]
    if config.positions != "relative":
        return []
    key = int(own.pattern[head, step].argmax())
    (dot, width), score = _dot(own, head, step, key), float(own.scores[head, step, key])
    match = dot / (width ** 0.5 if config.scale_scores else 1.0)
    place = {"head": f"{block}.{head}", "query": code(found.input_tokens[step]), "read": code(found.input_tokens[key]),
             "distance": step - key}
    return [(page.label("translate_numbers_bias", **place),
             rf"{latex_operand(match)} + {bracketed(latex_operand(score - match))} = {latex_number(score)}")]


def _dot(attention: CrossTrace | BlockTrace, head: int, query: int, key: int) -> tuple[float, int]:
    """q · k of a head, float64, and how many components q has; several query heads may read one key head."""
    q = attention.Q[head, query].double()
    return float(q @ attention.K[head // (len(attention.Q) // len(attention.K)), key].double()), len(q)


def weights_table(page: Lesson, found: Translated, cross: CrossTrace, head: int, step: int) -> pd.DataFrame:
    """One row of a head's cross-attention: every source token with its score and weight."""
    scores = cross.scores[head, step].double()
    rows = zip(found.source_tokens, map(plain_number, scores), map(plain_number, probabilities(scores)))
    return page.table(rows, "source", "score", "weight")


def token_table(page: Lesson, found: Translated) -> pd.DataFrame:
    """Every written token with its probability."""
    return page.table([*zip(found.target_tokens, found.probabilities)], "token", "p")


def cross_table(page: Lesson, found: Translated) -> pd.DataFrame:
    """Every weight of the cross-attention."""
    rows = [(block, head, n, found.target_tokens[n], m, found.source_tokens[m], weight)
            for (block, head, n, m), weight in np.ndenumerate(patterns(found.trace)["cross"])]
    return page.table(rows, "block", "head", "step", "token", "position", "source", "weight")


def alignment_table(page: Lesson, measures: HeldOut) -> pd.DataFrame:
    """The share aligned of every head of every block, and of the mean of each block's heads."""
    n_heads = measures.alignment.heads.shape[1]
    rows = [(block, str(head) if head < n_heads else page.label("translate_mean"), score)
            for (block, head), score in np.ndenumerate(measures.aligned)]
    return page.table(rows, "block", "head", "aligned")


def forced(found: Translated) -> tuple[int, ...]:
    """The translation with its first token replaced by the second most probable one, and the model's own choices after
    that, token by token.
    """
    config, runner = found.model.model.config, found.model.runner
    target, cached = (most_probable(probabilities(found.trace.logits[0]), 2)[1],), KVCache()
    with torch.inference_mode():
        memory = runner.encode(torch.tensor([found.source], device=found.model.device))
        while target[-1] != config.end_of_text and len(target) < len(found.target) + 4:
            target = (*target, int(next_logits(runner, [(config.first_token, *target)], cached, memory)[0].argmax()))
    return target


def _question(page: Lesson, found: Translated) -> Question:
    """A wrong first token is put in by hand: does the decoder, which reads what it wrote, go on as before?"""
    own, tokenizer = found.target, found.model.tokenizer
    other = cache.result(found.model.key("forced translation", found.source),
                         lambda: forced(found), lambda _: 1024)
    first = {"own": code(tokenizer.visible(own[0])), "other": code(tokenizer.visible(other[0]))}
    return page.question("translate", [page.label("translate_same"), page.label("translate_differs")],
                         int(other[1:] != own[1:]), **first, text=code(tokenizer.decode(own)),
                         made=code(tokenizer.decode(other)))
