"""Translate: an encoder-decoder translates dates between words and digits, another says rows of a table, or a model of
the library translates texts, and its cross-attention shows the alignment.
"""
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.app.compute import cache
from core.app.lesson import Lesson, Place, Prediction, Question, Reading, Truth, guess_of
from core.app.state import Run
from core.app.state.run import greedy
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, plain_number, probability
from core.model.block import KVCache
from core.model.generation import next_logits
from core.model.trace import BlockTrace, CrossTrace, Trace
from core.training import dates, tables, translation
from core.training.dates import Pair, Phrase
from core.training.translation import Alignment
from pages.architectures.live_models import SAYS_ROWS, TRANSLATES, about, is_bundled, loaded, missing
from pages.architectures.shared import PREFIX, SHARED_CSS, keep, most_probable, probabilities, read, text_field

CANDIDATES = 5
MOST_CHARACTERS = 200       # of the source
MOST_READ = 64              # source tokens: the bundled model's context, and the most columns that are legible
MEASURED = 50               # held-out dates in each direction, and held-out rows
MOST_FACTORS = 16           # of a written-out product; the table has all probabilities
LEAST_ASKED = 3             # tokens of a source that is asked about
STANDS_OUT = 1.5            # times the even share: the least weight that stands out
ROW_SIGN, ROWS = "|", "rows"      # a text with the sign is a row of a table
# the settings of the source: for the bundled models, for one of the library
BUNDLED, TEXTS, PLAIN = "translate_text", "translate_loaded_text", "translate_plain_text"
EXPLAINED = {TEXTS: "translate_loaded", PLAIN: "translate_plain"}      # by the field: the paragraphs below
PICKS = "attention", "block", "head", "step"     # settings that are picked in the picture
# A translation token by token, and its three kinds of attention.
_picture = token_view("architecture_translate", __file__, SHARED_CSS)


@dataclass(frozen=True)
class Translation:
    """A source, its greedy translation, and the trace of the pass that predicts it. n_cut: source tokens that were left
    out. The decoder's inputs are the first token and the translation without its last token.
    """

    model: cache.LoadedModel
    source: tuple[int, ...]
    n_cut: int
    target: tuple[int, ...]
    trace: Trace

    @property
    def source_tokens(self) -> list[str]:
        """The M source tokens in their visible form."""
        return [self.model.tokenizer.visible(i) for i in self.source]

    @property
    def target_tokens(self) -> list[str]:
        """The N target tokens in their visible form, end of text last."""
        return [self.model.tokenizer.visible(i) for i in self.target]

    @property
    def input_tokens(self) -> list[str]:
        """The decoder's N input tokens: the first token of every text, then the target tokens before."""
        return [self.model.tokenizer.visible(int(i)) for i in self.trace.token_ids]

    @property
    def text(self) -> str:
        """The translation as text, without end of text."""
        return self.model.tokenizer.decode(self.target)

    @property
    def ends(self) -> bool:
        """Whether the model itself ended the translation."""
        return self.target[-1] == self.model.model.config.end_of_text

    @property
    def probabilities(self) -> np.ndarray:
        """(N,) float64: p of each target token given the source and the tokens before it."""
        return probabilities(self.trace.logits)[range(len(self.target)), self.target]


@dataclass(frozen=True)
class HeldOut:
    """Measures on held-out dates of one direction or on held-out rows: the alignment of the heads, and the smallest
    probability of any token of a true translation.
    """

    alignment: Alignment
    least: float

    @property
    def aligned(self) -> np.ndarray:
        """(L, h + 1) the aligned share of every head of each block, then that of the mean of its heads."""
        return np.column_stack([self.alignment.heads, self.alignment.means])


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which source token gets most cross-attention while the first token is written."""
    model = model_of(run)
    if model is None or read("translate_attention") != "cross":
        return None
    ids = model.tokenizer.encode(text_of(model))
    source, block, head = source_of(model, ids), *picked(model)
    if not ids or len(source) < LEAST_ASKED:
        return None

    def truth(guess: int) -> Truth:
        pair = translate(model, tuple(ids))
        row = first_row(pair, block, head)
        key, share = int(row.argmax()), float(row.max())
        return Truth(key, said=percent(share), own=percent(float(row[guess])),
                     seen=0 if share >= 0.5 else 2 if share < STANDS_OUT / len(row) else 1,
                     values={"token": pair.target_tokens[0], "key": pair.source_tokens[key], "share": percent(share)})

    where = page.label("translate_asked_mean" if head < 0 else "translate_asked_head", block=block, head=head)
    return Prediction("translate", Place([model.tokenizer.visible(i) for i in source]), truth, {"where": where},
                      (source, block, head))


def model_of(run: Run) -> cache.LoadedModel | None:
    """The model that translates: the reader's own, else the bundled one for the text in the field; None if it is
    missing.
    """
    return loaded(SAYS_ROWS if ROW_SIGN in read(BUNDLED) else TRANSLATES, run)


def text_of(model: cache.LoadedModel) -> str:
    """The text that is translated: what stands in the field, a row with the names of all its columns; "" for a row that
    is not whole.
    """
    text = read(field_of(model))[:MOST_CHARACTERS]
    if model.name != SAYS_ROWS:
        return text
    row = tables.parsed(text)
    return tables.in_a_row(row).text if row else ""


def field_of(model: cache.LoadedModel) -> str:
    """The setting of the text that this model translates: T5 alone, which has relative positions, is told a task in
    front of it.
    """
    return BUNDLED if is_bundled(model) else TEXTS if model.model.config.positions == "relative" else PLAIN


def picked(model: cache.LoadedModel) -> tuple[int, int]:
    """The picked block and head of the cross-attention; −1 for the mean of the block's heads."""
    config = model.model.config
    return min(read("translate_block"), config.n_layers - 1), min(read("translate_head"), config.n_heads - 1)


def first_row(pair: Translation, block: int, head: int) -> np.ndarray:
    """(M,) the weights of the source while the first token is written, of a head or, for −1, of the block's mean."""
    first = pair.trace.blocks[block].cross.pattern[:, 0].double().numpy()
    return first.mean(0) if head < 0 else first[head]


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    model = model_of(run)
    if model is None:
        return missing(page, TRANSLATES)
    _controls(page, model)
    ids = model.tokenizer.encode(text_of(model))
    if not ids:
        labels = "translate_row" if model.name == SAYS_ROWS else field_of(model)
        st.info(page.label(f"{labels}_empty"))
        ids = model.tokenizer.encode(page.label(f"{labels}_stand_in"))
    pair = translate(model, tuple(ids))
    guess = guess_of(page, "translate", run, (pair.source, *picked(model)))
    measures = held_out(model, direction_of(model.tokenizer.decode(pair.source))) if is_bundled(model) else None
    mark = {"guess": guess, "you": page.frame_words.label("before_mine")}
    _picture(message(page, pair, measures) | mark, key=f"{PREFIX}translate_instrument", arrays=patterns(pair.trace),
             on_settings=_settled)
    return _reading(page, pair, measures)


def _controls(page: Lesson, model: cache.LoadedModel) -> None:
    """Draw the field for the text and its examples, for rows the values that are known, and for a bundled model the
    button for a random text.
    """
    field, is_row = field_of(model), model.name == SAYS_ROWS
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        text_field(page, field, field, MOST_CHARACTERS, translate_step=1)
        if field != BUNDLED:
            return
        if is_row:
            _values(page)
        seed, label = read("translate_seed"), "translate_random_row" if is_row else "translate_random"
        st.button(page.label(label, seed=seed), key=f"{PREFIX}translate_random", help=page.label(f"{label}_help"),
                  on_click=keep, kwargs={BUNDLED: random_source(seed, is_row), "translate_seed": (seed + 1) % 10_000,
                                         "translate_step": 1})


def _values(page: Lesson) -> None:
    """Draw a list for each column with the values that the model knows: what is picked takes the old value's place."""
    row = tables.parsed(read(BUNDLED)) or tables.parsed(page.label("translate_row_stand_in"))
    with st.popover(page.label("translate_values"), key=f"{PREFIX}translate_values"):
        for column, known in tables.VALUES.items():
            key, value = f"{PREFIX}translate_value_{column}", row[column]
            st.session_state[key] = value
            st.selectbox(column, known if value in known else (*known, value), key=key, on_change=_put,
                         args=(row, column))


def _put(row: tables.Row, column: str) -> None:
    value = st.session_state[f"{PREFIX}translate_value_{column}"]
    keep(**{BUNDLED: tables.in_a_row({**row, column: value}).text, "translate_step": 1})


def random_source(seed: int, is_row: bool) -> str:
    """A held-out row, or a held-out date in words or digits, always the same for a seed."""
    generator = np.random.default_rng(seed)
    return next(tables.random_pairs(generator, True) if is_row else dates.random_pairs(generator, True)).source.text


def direction_of(source: str) -> str:
    """The direction in which a source is translated, or ROWS: a source without letters is a date in digits."""
    if ROW_SIGN in source:
        return ROWS
    return dates.TO_DIGITS if any(character.isalpha() for character in source) else dates.TO_WORDS


def translate(model: cache.LoadedModel, ids: tuple[int, ...]) -> Translation:
    """The greedy translation of the first tokens of a source, as many as the model reads."""
    source = source_of(model, ids)
    n_added = len(source_of(model, ()))

    def make() -> Translation:
        target = greedy(model.runner, source)
        return Translation(model, source, len(ids) - len(source) + n_added, target, forward(model, source, target))

    return cache.result(model.key("translation", ids), make, lambda value: value.trace.n_bytes)


def source_of(model: cache.LoadedModel, ids: Sequence[int]) -> tuple[int, ...]:
    """The first tokens of a source, as many as the model reads, with those that its texts begin and end with."""
    begin, end = model.tokenizer.begin if not is_bundled(model) else (), model.tokenizer.end
    room = min(MOST_READ, model.model.config.n_context) - len(begin) - len(end)
    return (*begin, *ids[:max(1, room)], *end)


def forward(model: cache.LoadedModel, source: tuple[int, ...], target: tuple[int, ...]) -> Trace:
    """The pass that predicts every token of the target from the source and the tokens before it."""
    with torch.inference_mode():
        ids = torch.tensor([model.model.config.first_token, *target[:-1]], device=model.device)
        return model.runner(ids, source_ids=torch.tensor(source, device=model.device)).to("cpu")


def patterns(trace: Trace) -> dict[str, np.ndarray]:
    """The attention weights of all blocks and heads: encoder (L, h, M, M), decoder (L, h, N, N), cross (L, h, N, M).
    """
    stacks = {"encoder": [block.pattern for block in trace.encoder.blocks],
              "decoder": [block.pattern for block in trace.blocks],
              "cross": [block.cross.pattern for block in trace.blocks]}
    return {name: torch.stack(stack).float().numpy() for name, stack in stacks.items()}


def held_out(model: cache.LoadedModel, direction: str) -> HeldOut:
    """The measures on held-out dates of one direction or on held-out rows, shared by all readers. The first token of a
    row's sentence, for which there are several right ones, does not count.
    """
    def make() -> HeldOut:
        pairs, tokenizer, first = held_out_of(direction), model.tokenizer, int(direction == ROWS)
        texts = [(tuple(tokenizer.encode(example.source.text)),
                  (*tokenizer.encode(example.target.text), tokenizer.end_of_text)) for example in pairs]
        least = min(float(Translation(model, source, 0, target, forward(model, source, target))
                          .probabilities[first:].min()) for source, target in texts)
        return HeldOut(translation.alignment(model.runner, tokenizer, pairs), least)

    return cache.result(model.key("alignment", direction), make, lambda _: 4096)


def held_out_of(direction: str) -> Sequence[Pair]:
    """The held-out dates of one direction, or the held-out rows, that are measured."""
    return (translation.said_in_turn(translation.held_out_rows(MEASURED)) if direction == ROWS
            else translation.held_out_pairs(direction, MEASURED))


# ---- correctness -----------------------------------------------------------------------------------------------------


def phrases(source: str, target: str) -> tuple[Phrase, Phrase] | None:
    """Source and translation as phrases of one date, if they are; else None."""
    digits, words = (target, source) if direction_of(source) == dates.TO_DIGITS else (source, target)
    try:
        day = date.fromisoformat(digits)
    except ValueError:
        return None
    if len(digits) != 10 or not dates.FIRST <= day <= dates.LAST:
        return None
    ways = itertools.product(range(len(dates.PHRASINGS)), range(len(dates.year_readings(day.year))))
    for phrase in itertools.starmap(functools.partial(dates.in_words, day), ways):
        if phrase.text == words:
            return (phrase, dates.in_digits(day)) if digits == target else (dates.in_digits(day), phrase)
    return None


def verdict(pair: Translation, least: float) -> str:
    """"right": source and translation are the same date by the rules; "unknown": a token is less probable than any of a
    held-out date; else "unchecked".
    """
    if phrases(pair.model.tokenizer.decode(pair.source), pair.text) is not None:
        return "right"
    return "unknown" if pair.probabilities.min() < least else "unchecked"


def row_verdict(row: tables.Row | None, text: str) -> str:
    """Judge a sentence for a row: "cut", if the row was cut (None); "unknown", if the model was not taught
    all of its values; "unsaid", if a value is missing; "right", if it is one of the row's sentences; else "other".
    """
    if row is None:
        return "cut"
    if tables.unknown(row):
        return "unknown"
    return "unsaid" if tables.unsaid(row, text) else "right" if text in tables.sentences(row) else "other"


# ---- the component's data --------------------------------------------------------------------------------------------


def message(page: Lesson, pair: Translation, measures: HeldOut | None) -> dict:
    """The header of the component, as translate.js describes it."""
    config = pair.model.model.config
    said, is_right = _judged(page, pair, measures)
    tops = [[{"token": pair.model.tokenizer.visible(i), "p": p[i], "shown": percent(p[i])}
             for i in most_probable(p, CANDIDATES)] for p in probabilities(pair.trace.logits)]
    is_row = pair.model.name == SAYS_ROWS
    words = {"aligned": page.labels("translate_row")["aligned"]} if is_row else {}
    return page.header("translate", **words) | {
            "step_text": page.labels("translate_step"), "masks_text": page.labels("masks"),
            "source": pair.source_tokens, "target": pair.target_tokens, "inputs": pair.input_tokens,
            "shown": [percent(p) for p in pair.probabilities], "tops": tops,
            "sizes": {"n": len(pair.target), "m": len(pair.source), "h": config.n_heads},
            "blocks": {"encoder": config.n_encoder_layers, "decoder": config.n_layers, "cross": config.n_layers},
            "heads": config.n_heads, "aligned": measures and measures.aligned.tolist(),
            "verdict": said, "right": is_right,
            "n_measured": MEASURED, "cut": page.label("translate_cut", n=pair.n_cut) if pair.n_cut else "",
            "settings": {name: read(f"translate_{name}") for name in PICKS}}


def _judged(page: Lesson, pair: Translation, measures: HeldOut | None) -> tuple[str, bool]:
    """A sentence on the translation, and whether it is known to be right: on a date by the calendar, on a row by its
    values, on another model's text by its least probable token.
    """
    weakest = int(pair.probabilities.argmin())
    values = {"token": pair.target_tokens[weakest], "p": percent(pair.probabilities[weakest]),
              "n": MEASURED if measures else len(pair.target)}
    if pair.model.name == SAYS_ROWS:
        row = tables.parsed(pair.model.tokenizer.decode(pair.source))
        judged, known = row_verdict(row, pair.text), row or {}
        return page.label(f"translate_row_{judged}", unknown=", ".join(tables.unknown(known).values()),
                          unsaid=", ".join(tables.unsaid(known, pair.text))), judged == "right"
    if measures:
        judged = verdict(pair, measures.least)
        return (page.label(f"translate_verdict_{judged}", least=percent(measures.least), **values), judged == "right")
    stopped = "" if pair.ends else " " + page.label("translate_stopped", n=len(pair.target))
    forbidden = ", ".join(map(pair.model.tokenizer.visible, pair.model.model.config.never_written))
    barred = " " + page.label("translate_forbidden", tokens=forbidden) if forbidden else ""
    said = page.label("translate_loaded_verdict", **values)
    return f"{about(page, pair.model)} {said}{stopped}{barred}", False


def _settled(settings: dict) -> None:
    keep(**{f"translate_{name}": settings[name] for name in PICKS})


# ---- in numbers, the question, the data ------------------------------------------------------------------------------


def step_of(pair: Translation) -> int:
    """The index of the picked target token; of all written ones the last."""
    picked = read("translate_step")
    return len(pair.target) - 1 if picked < 1 else min(picked, len(pair.target)) - 1


def _reading(page: Lesson, pair: Translation, measures: HeldOut | None) -> Reading:
    step, (block, head) = step_of(pair), picked(pair.model)
    cross = pair.trace.blocks[block].cross
    row = cross.pattern[:, step].mean(0) if head < 0 else cross.pattern[head, step]
    title = page.label("translate_twin", source=code(pair.model.tokenizer.decode(pair.source)),
                       target=code(pair.text or " ".join(pair.target_tokens)),
                       p=percent(pair.probabilities.prod()), token=code(pair.target_tokens[step]),
                       most=code(pair.source_tokens[int(row.argmax())]), weight=probability(float(row.max())))
    # the numbers follow one head; for the mean of all heads, the best aligned one
    followed = head if head >= 0 else int(measures.alignment.heads[block].argmax()) if measures else 0
    data = {"tokens.csv": lambda: token_table(page, pair), "cross_attention.csv": lambda: cross_table(page, pair)}
    if measures:
        data["alignment.csv"] = lambda: alignment_table(page, measures)
    lines = (_mean_lines(page, pair, block, step) if head < 0 else []) + _lines(page, pair, block, followed, step)
    return Reading(lines, _question(page, pair),
                   [forward, patterns, translation.alignment if measures else greedy], data, ".heat", title,
                   weights_table(page, pair, cross, followed, step), {page.label("translate_written"): pair.text},
                   "translate_rows" if pair.model.name == SAYS_ROWS else EXPLAINED.get(field_of(pair.model), ""))


def _lines(page: Lesson, pair: Translation, block: int, head: int, step: int) -> list[tuple[str, str]]:
    p, cross = pair.probabilities, pair.trace.blocks[block].cross
    factors = [*map(latex_operand, p)]
    product = r" \cdot ".join(factors if len(p) <= MOST_FACTORS else [*factors[:3], r"\ldots", factors[-1]])
    strongest = int(cross.pattern[head, step].argmax())
    scores, (dot, width) = cross.scores[head, step].double(), _dot(cross, head, step, strongest)
    score, total = latex_operand(scores[strongest]), bracketed(latex_operand(scores.logsumexp(-1)))
    place = {"token": code(pair.target_tokens[step]), "source": code(pair.source_tokens[strongest]),
             "head": f"{block}.{head}"}
    n, m = len(p), len(pair.source)
    scaled = pair.model.model.config.scale_scores
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
            *_biased(page, pair, block, head, step),
            (page.label("translate_numbers_shapes"),
             rf"\text{{encoder }} [{m} \times {m}], \quad \text{{decoder }} [{n} \times {n}], \quad \text{{cross }} "
             rf"[{n} \times {m}]")]


def _mean_lines(page: Lesson, pair: Translation, block: int, step: int) -> list[tuple[str, str]]:
    """The weight shown with the mean of all heads: the strongest source token's."""
    weights = pair.trace.blocks[block].cross.pattern[:, step].double()
    mean = weights.mean(0)
    strongest = int(mean.argmax())
    added = " + ".join(latex_operand(weight) for weight in weights[:, strongest])
    return [(page.label("translate_numbers_mean", block=block, token=code(pair.target_tokens[step]),
                        source=code(pair.source_tokens[strongest])),
             rf"\bar\alpha = \frac{{{added}}}{{{len(weights)}}} = {latex_number(mean[strongest])}")]


def _biased(page: Lesson, pair: Translation, block: int, head: int, step: int) -> list[tuple[str, str]]:
    """The calculation of a score in the decoder's self-attention with a learned bias of the distance; empty in a model
    with other positions.
    """
    config, attn = pair.model.model.config, pair.trace.blocks[block]
    if config.positions != "relative":
        return []
    key = int(attn.pattern[head, step].argmax())
    (dot, width), score = _dot(attn, head, step, key), float(attn.scores[head, step, key])
    match = dot / (width ** 0.5 if config.scale_scores else 1.0)
    place = {"head": f"{block}.{head}", "query": code(pair.input_tokens[step]), "read": code(pair.input_tokens[key]),
             "distance": step - key}
    return [(page.label("translate_numbers_bias", **place),
             rf"{latex_operand(match)} + {bracketed(latex_operand(score - match))} = {latex_number(score)}")]


def _dot(attention: CrossTrace | BlockTrace, head: int, query: int, key: int) -> tuple[float, int]:
    """q · k of a head, float64, and the number of components of q; several query heads may share one key head."""
    q = attention.Q[head, query].double()
    return float(q @ attention.K[head // (len(attention.Q) // len(attention.K)), key].double()), len(q)


def weights_table(page: Lesson, pair: Translation, cross: CrossTrace, head: int, step: int) -> pd.DataFrame:
    """One row of a head's cross-attention: every source token with its score and weight."""
    scores = cross.scores[head, step].double()
    rows = zip(pair.source_tokens, map(plain_number, scores), map(plain_number, probabilities(scores)))
    return page.table(rows, "source", "score", "weight")


def token_table(page: Lesson, pair: Translation) -> pd.DataFrame:
    """Every target token with its probability."""
    return page.table([*zip(pair.target_tokens, pair.probabilities)], "token", "p")


def cross_table(page: Lesson, pair: Translation) -> pd.DataFrame:
    """Every weight of the cross-attention."""
    rows = [(block, head, n, pair.target_tokens[n], m, pair.source_tokens[m], weight)
            for (block, head, n, m), weight in np.ndenumerate(patterns(pair.trace)["cross"])]
    return page.table(rows, "block", "head", "step", "token", "position", "source", "weight")


def alignment_table(page: Lesson, measures: HeldOut) -> pd.DataFrame:
    """The aligned share of every head of every block, and of the mean of each block's heads."""
    n_heads = measures.alignment.heads.shape[1]
    rows = [(block, str(head) if head < n_heads else page.label("translate_mean"), score)
            for (block, head), score in np.ndenumerate(measures.aligned)]
    return page.table(rows, "block", "head", "aligned")


def swapped(pair: Translation) -> tuple[int, ...]:
    """The translation with its first token replaced by the second most probable one, continued greedily."""
    config, runner = pair.model.model.config, pair.model.runner
    target, cached = (most_probable(probabilities(pair.trace.logits[0]), 2)[1],), KVCache()
    with torch.inference_mode():
        memory = runner.encode(torch.tensor([pair.source], device=pair.model.device))
        while target[-1] != config.end_of_text and len(target) < len(pair.target) + 4:
            target = (*target, int(next_logits(runner, [(config.first_token, *target)], cached, memory)[0].argmax()))
    return target


def _question(page: Lesson, pair: Translation) -> Question:
    """Whether the decoder writes the same rest after a wrong first token."""
    target, tokenizer = pair.target, pair.model.tokenizer
    altered = cache.result(pair.model.key("forced translation", pair.source),
                         lambda: swapped(pair), lambda _: 1024)
    first = {"own": code(tokenizer.visible(target[0])), "other": code(tokenizer.visible(altered[0]))}
    return page.question("translate", [page.label("translate_same"), page.label("translate_differs")],
                         int(altered[1:] != target[1:]), **first, text=code(tokenizer.decode(target)),
                         made=code(tokenizer.decode(altered)))
