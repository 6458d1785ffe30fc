"""Translate: an encoder-decoder translates dates between words and digits, another says rows of a table, or a model of
the library translates texts, and its cross-attention shows the alignment.
"""
import numpy as np
import streamlit as st

from core.app.compute import cache
from core.app.lesson import Lesson, Place, Prediction, Question, Reading, Truth, guess_of
from core.app.state import Run
from core.app.state.run import greedy
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import percent, probability
from core.training import tables, translation
from pages.architectures import translate_numbers
from pages.architectures.live_models import SAYS_ROWS, TRANSLATES, about, is_bundled, loaded, missing
from pages.architectures.shared import PREFIX, SHARED_CSS, keep, most_probable, probabilities, read, text_field
from pages.architectures.translate_work import (
    MEASURED,
    ROW_SIGN,
    HeldOut,
    Translation,
    direction_of,
    forward,
    held_out,
    patterns,
    random_source,
    row_verdict,
    source_of,
    swapped,
    translate,
    verdict,
)

CANDIDATES = 5
MOST_CHARACTERS = 200       # of the source
LEAST_ASKED = 3             # tokens of a source that is asked about
STANDS_OUT = 1.5            # times the even share: the least weight that stands out
# the settings of the source: for the bundled models, for one of the library
BUNDLED, TEXTS, PLAIN = "translate_text", "translate_loaded_text", "translate_plain_text"
EXPLAINED = {TEXTS: "translate_loaded", PLAIN: "translate_plain"}      # by the field: the paragraphs below
PICKS = "attention", "block", "head", "step"     # settings that are picked in the picture
# A translation token by token, and its three kinds of attention.
_picture = token_view("architecture_translate", __file__, SHARED_CSS)


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
    forbidden = ", ".join(map(pair.model.tokenizer.visible, pair.model.model.config.special.never_written))
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
    data = {"tokens.csv": lambda: translate_numbers.token_table(page, pair),
            "cross_attention.csv": lambda: translate_numbers.cross_table(page, pair)}
    if measures:
        data["alignment.csv"] = lambda: translate_numbers.alignment_table(page, measures)
    lines = translate_numbers.mean_lines(page, pair, block, step) if head < 0 else []
    return Reading(lines + translate_numbers.lines(page, pair, block, followed, step), _question(page, pair),
                   [forward, patterns, translation.alignment if measures else greedy], data, ".heat", title,
                   translate_numbers.weights_table(page, pair, cross, followed, step),
                   {page.label("translate_written"): pair.text},
                   "translate_rows" if pair.model.name == SAYS_ROWS else EXPLAINED.get(field_of(pair.model), ""))


def _question(page: Lesson, pair: Translation) -> Question:
    """Whether the decoder writes the same rest after a wrong first token."""
    target, tokenizer = pair.target, pair.model.tokenizer
    altered = cache.result(pair.model.key("forced translation", pair.source),
                         lambda: swapped(pair), lambda _: 1024)
    first = {"own": code(tokenizer.visible(target[0])), "other": code(tokenizer.visible(altered[0]))}
    return page.question("translate", [page.label("translate_same"), page.label("translate_differs")],
                         int(altered[1:] != target[1:]), **first, text=code(tokenizer.decode(target)),
                         made=code(tokenizer.decode(altered)))
