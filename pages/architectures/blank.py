"""Fill in the blank: an encoder reads both sides of a hidden word, a decoder only its left side; and the encoder's
classification head.
"""
import functools
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from core.app.bar.model_offer import title
from core.app.compute import cache
from core.app.compute.library.loading import fills
from core.app.lesson import Lesson, Prediction, Question, Reading, Truth, Word, cannot, guess_of
from core.app.parts.word_guess import judged
from core.app.state.run import Run
from core.base.markdown import code
from core.figures.numbers import latex_number, latex_operand, percent, plain_number, readable
from core.training import blanks
from core.training.blanks import CLASSES, MarkedText
from pages.architectures import blank_classes
from pages.architectures.blank_parts import MOST_CHARACTERS, attention, chip, marked_of, names, picture, stand_in
from pages.architectures.blank_work import Filled, candidates, causal, class_logits, fill, losses, toggled
from pages.architectures.live_models import FILLS_BLANKS, WRITES_ON, about, is_bundled, loaded, missing
from pages.architectures.shared import (
    PREFIX,
    choice,
    keep,
    most_probable,
    own_seed,
    probabilities,
    read,
    text_field,
)

MOST_ASKED = 200            # characters of a sentence that is asked about
ALIKE = 1.25                # two probabilities whose ratio is smaller look alike


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask for the encoder's word for the gap, in the reader's own word, if the sentence hides one token."""
    encoder, decoder = loaded(FILLS_BLANKS, run), loaded(WRITES_ON, run)
    if encoder is None or decoder is None or not _fills(encoder) or read("blank_way") != "own":
        return None
    marked = marked_of(encoder)
    gaps = marked.token_ids.count(encoder.tokenizer.mask_token) + len(marked.hidden)
    if gaps != 1 or not marked.hidden or len(marked.plain) > MOST_ASKED:
        return None

    def truth(typed: str) -> Truth:
        filled = fill(encoder, decoder, marked, None)
        (position,) = filled.blanks
        true, left = filled.true_id(position), filled.p_left(position)
        both = filled.p_encoder(position)[true]
        return judged(typed, _logits(filled, position), encoder.tokenizer,
                      2 if max(both, left) < ALIKE * min(both, left) else int(both < left), true=filled.visible(true),
                      both=percent(both), left=percent(left))

    return Prediction("blank", Word(), truth, {"sentence": gapped(marked)}, marked.plain)


def _fills(encoder: cache.LoadedModel) -> bool:
    """Whether an encoder can say what stands in a gap."""
    return is_bundled(encoder) or fills(encoder.model, encoder.tokenizer)


def gapped(marked: MarkedText) -> str:
    """The sentence with a line in place of its one hidden token, after that token's space."""
    start, end = marked.spans[marked.hidden[0]]
    word = marked.plain[start:end]
    return f"{marked.plain[:start + len(word) - len(word.lstrip())]}____{marked.plain[end:]}"


def _logits(filled: Filled, position: int) -> np.ndarray:
    """(|V|,) float64: the encoder's logits at a position."""
    return filled.trace.logits[position].double().numpy()


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    encoder, decoder = loaded(FILLS_BLANKS, run), loaded(WRITES_ON, run)
    if encoder is None or decoder is None:
        return missing(page, FILLS_BLANKS if encoder is None else WRITES_ON)
    if blank_classes.classifies(encoder):
        return blank_classes.draw(page, encoder, decoder)
    if not _fills(encoder):
        why = "blank_no_head" if encoder.model.config.head.output_head != "language" else "blank_no_mask"
        return replace(cannot(page.label(why, name=title(encoder.name))), explanation="blank_none")
    _controls(page)
    marked = marked_of(encoder)
    if not any(start < end for start, end in marked.spans):
        st.info(page.label("blank_empty"))
        marked = stand_in(page, encoder)
    filled = fill(encoder, decoder, marked, read("blank_seed") if read("blank_way") == "chance" else None)
    picked = picked_blank(filled)
    left, right = st.columns([11, 8], gap="medium")
    with left:
        guess = guess_of(page, "blank", run, marked.plain) if len(filled.blanks) == 1 else None
        picture(message(page, filled, picked, guess), key=f"{PREFIX}blank_instrument",
                 on_settings=functools.partial(_settled, filled))
    with right:
        block, head = attention(page, filled, picked)
    return _reading(page, filled, picked, block, head)


def _controls(page: Lesson) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        text_field(page, "blank_text", "blank", MOST_CHARACTERS, blank_way="own", blank_picked=-1)
        with st.container(width="content"):
            way = choice(page, "blank_way")
        if way == "chance":
            own_seed(page, "blank_seed", page.label("blank_seed"))


def picked_blank(filled: Filled) -> int | None:
    """The position of the picked blank, by default the first; None if nothing is hidden."""
    picked = read("blank_picked")
    return picked if picked in filled.blanks else next(iter(filled.blanks), None)


# ---- the component's data --------------------------------------------------------------------------------------------


def message(page: Lesson, filled: Filled, picked: int | None, guess: str | None = None) -> dict:
    """The header of the component: chips, the picked blank's candidates under both models, the losses, the class.
    guess: the reader's own word for the blank.
    """
    nats = losses(filled)
    encoder, decoder = ((None, None) if picked is None
                        else (candidates(filled, picked, both_sides, guess) for both_sides in (True, False)))
    return page.header("blank") | {"you": page.frame_words.label("before_mine"),
            "masks_text": page.labels("masks"), "sizes": {"n": len(filled.inputs)},
            "tokens": [chip(page, filled, position) for position in range(len(filled.inputs))], "picked": picked,
            "n_cut": filled.marked.n_cut, "notes": notes(page, filled, picked), "encoder": encoder, "decoder": decoder,
            "losses": [readable(loss) for loss in nats.values()],
            "mean": readable(np.mean([*nats.values()])) if nats else None,
            "verdict": _verdict(page, filled)}


def notes(page: Lesson, filled: Filled, picked: int | None) -> dict[str, str]:
    """A note on each of the two models: what it reads, and whether its tokens differ."""
    encoder, visible = filled.encoder, filled.decoder.tokenizer.visible
    encoder_note = page.label("blank_both_note") if is_bundled(encoder) else about(page, encoder)
    decoder_notes = [page.label("blank_left_note")]
    if picked is not None and filled.p_decoder(picked) is None:
        decoder_notes = [page.label("blank_left_unknown")]
    elif picked is not None and not filled.shares:
        ids = filled.decoder_ids(picked)
        decoder_notes.append(page.label("blank_left_own", n=filled.decoder.tokenizer.vocab_size))
        if len(ids) > 1:
            decoder_notes.append(page.label("blank_left_several", tokens=" ".join(map(visible, ids)),
                                         p=percent(filled.p_left(picked))))
    return {"encoder": encoder_note, "decoder": " ".join(decoder_notes)}


def _verdict(page: Lesson, filled: Filled) -> dict | None:
    """The class of the row with nothing hidden; None for an encoder without a classification head."""
    if not filled.classifies:
        return None
    classes, names = probabilities(class_logits(filled.encoder, [filled.true_ids]))[0], page.labels("class")
    best = int(classes.argmax())
    return {"place": filled.name(0), "index": best, "p": classes[best], "shown": percent(classes[best]),
            "names": [names[name] for name in CLASSES]}


def _settled(filled: Filled, settings: dict) -> None:
    position = int(settings["position"])
    if settings["act"] == "pick":
        keep(blank_picked=position)
    elif position in filled.body:
        keep(blank_text=toggled(filled, position), blank_way="own", blank_picked=position)


# ---- in numbers, the question, the data ------------------------------------------------------------------------------


def _reading(page: Lesson, filled: Filled, picked: int | None, block: int, head: int) -> Reading:
    data = {"blanks.csv": lambda: candidate_table(page, filled),
            "attention.csv": lambda: pd.DataFrame(filled.trace.blocks[block].pattern[head].numpy(),
                                                  columns=names(filled))}
    return Reading(_lines(page, filled, picked), _question(page, filled, picked),
                   [fill, blanks.hide, Filled.p_encoder, Filled.p_decoder], data, ".blank-picture",
                   _title(page, filled, picked), _loss_table(page, filled),
                   explanation="" if is_bundled(filled.encoder) else "blank_loaded")


def _title(page: Lesson, filled: Filled, picked: int | None) -> str:
    if picked is None:
        return page.label("blank_title_none", n=len(filled.body))
    p, true, q = filled.p_encoder(picked), filled.true_id(picked), filled.p_left(picked)
    best = code(filled.visible(int(p.argmax())))
    if true is None:
        return page.label("blank_title_unknown", best=best, p=percent(p.max()))
    return page.label("blank_title", true=code(filled.visible(true)), p=percent(p[true]),
                      q="–" if q is None else percent(q), best=best)


def _lines(page: Lesson, filled: Filled, picked: int | None) -> list[tuple[str, str]]:
    lines, nats = [], losses(filled)
    if picked is not None:
        token_id, u = filled.known_id(picked), filled.trace.logits[picked].double()
        both = page.label("blank_numbers_shared" if filled.shares else "blank_numbers_apart")
        lines.append((f"{page.label('blank_numbers_p', token=code(filled.visible(token_id)), n=len(u))} {both}",
                      rf"y = \frac{{e^{{u}}}}{{\sum_{{t}} e^{{u_t}}}} = e^{{{latex_operand(u[token_id])} - "
                      rf"{latex_operand(u.logsumexp(-1))}}} = {latex_number(filled.p_encoder(picked)[token_id])}"))
    if nats:
        lines.append((page.label("blank_numbers_loss", n=len(nats)),
                      rf"\mathcal{{L}} = -\frac{{1}}{{{len(nats)}}} \sum_{{i\ \text{{hidden}}}} \ln y_i = "
                      rf"\frac{{{' + '.join(map(latex_operand, nats.values()))}}}{{{len(nats)}}} = "
                      rf"{latex_number(np.mean([*nats.values()]))}"))
    if filled.classifies:
        logits = class_logits(filled.encoder, [filled.true_ids])[0]
        negative, positive = map(latex_operand, logits)
        lines.append((page.label("blank_numbers_class"),
                      rf"y_{{\text{{positive}}}} = \frac{{e^{{{positive}}}}}{{e^{{{negative}}} + e^{{{positive}}}}} = "
                      rf"{latex_number(probabilities(logits)[1])}"))
    return lines


def _loss_table(page: Lesson, filled: Filled) -> pd.DataFrame | None:
    """For each hidden token its probability under both models, and its loss."""
    rows = []
    for position, loss in losses(filled).items():
        true, q = filled.true_id(position), filled.p_left(position)
        rows.append((filled.visible(true), plain_number(filled.p_encoder(position)[true]),
                     "–" if q is None else plain_number(q), plain_number(loss)))
    return page.table(rows, "hidden", "p_encoder", "p_decoder", "loss") if rows else None


def candidate_table(page: Lesson, filled: Filled) -> pd.DataFrame:
    """The ten most probable tokens of every blank under both models."""
    rows = [(position, name, rank, model.tokenizer.visible(token_id), p[token_id])
            for position in filled.blanks
            for name, model, p in (("encoder", filled.encoder, filled.p_encoder(position)),
                                   ("decoder", filled.decoder, filled.p_decoder(position))) if p is not None
            for rank, token_id in enumerate(most_probable(p, 10), 1)]
    return page.table(rows, "position", "model", "rank", "token", "p")


def _question(page: Lesson, filled: Filled, picked: int | None) -> Question | None:
    """How a causal mask changes the encoder's probability of the hidden word; with nothing hidden, of the class, if it
    has one.
    """
    if picked is None:
        return _class_question(page, filled) if filled.classifies else None
    token_id = filled.known_id(picked)
    before, after = (filled.p_encoder(picked)[token_id],
                     probabilities(causal(filled.encoder, filled.inputs).logits[picked])[token_id])
    answer = 0 if after < before / 2 else 1 if after < before else 2
    return page.question("blank_mask", [page.label(f"blank_option_{name}") for name in ("halved", "less", "more")],
                         answer, token=code(filled.visible(token_id)), before=percent(before),
                         after=percent(after))


def _class_question(page: Lesson, filled: Filled) -> Question:
    """Whether the class still depends on the sentence under a causal mask, where [CLS] sees only itself."""
    stand_in_trace = causal(filled.encoder, stand_in(page, filled.encoder).token_ids)
    positive = {name: probabilities(trace.class_logits)[1] for name, trace in (
        ("before", filled.trace), ("after", causal(filled.encoder, filled.inputs)), ("other", stand_in_trace))}
    same = abs(positive["after"] - positive["other"]) < 1e-6
    return page.question("blank_class", [page.label("blank_class_same"), page.label("blank_class_differs")],
                         0 if same else 1, **{name: percent(p) for name, p in positive.items()})
