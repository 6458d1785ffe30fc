"""Fill in the blank: an encoder reads both sides of a hidden word, a decoder its left side alone; and a vector
that classifies.
"""
import functools
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.app.base.markdown import code
from core.app.compute import cache
from core.app.compute.library.loading import fills
from core.app.frame import Lesson, Question, Reading, cannot
from core.app.frame.model_offer import title
from core.app.state import reader
from core.app.state.run import Run, room
from core.components.attention_view import attention_view
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, latex_operand, plain_number, probability, readable
from core.model.intervention import Intervention
from core.model.trace import Trace
from core.training import blanks
from core.training.blanks import CLASSES, MarkedText
from core.training.corpus import IGNORE
from pages.architectures.live_models import FILLS_BLANKS, WRITES_ON, about, is_bundled, loaded, missing
from pages.architectures.shared import KINDS_CSS, PREFIX, attached, choice, keep, read

CANDIDATES = 6
MOST_CHARACTERS = 1000      # of the sentence; the bundled model takes 128 tokens
PICTURE = (190, 420)        # least and most pixels of the attention pattern
# A sentence with hidden words, what an encoder and a decoder say of one of them, and the three kinds of masks.
_picture = token_view("architecture_blank", __file__, KINDS_CSS)


@dataclass(frozen=True)
class Filled:
    """A row with blanks, and what both models say of them.

    marked: the text, its own blanks where nobody knows what stood there; inputs: as the encoder read it; blanks: the
    positions that are asked for; trace: the encoder's pass over inputs.
    """

    encoder: cache.LoadedModel
    decoder: cache.LoadedModel
    marked: MarkedText
    inputs: tuple[int, ...]
    blanks: tuple[int, ...]
    trace: Trace

    @property
    def true_ids(self) -> tuple[int, ...]:
        """The row with nothing hidden, a mask token where nobody knows."""
        return self.marked.token_ids

    @property
    def own(self) -> range:
        """The positions of the text's own tokens, between what the tokenizer puts before and after it."""
        tokenizer = self.encoder.tokenizer
        return range(len(tokenizer.begin), len(self.true_ids) - len(tokenizer.end))

    @property
    def shares(self) -> bool:
        """Whether the decoder cuts a text as the encoder does and has the same tokens but for the mask, so that their
        probabilities are of the same things.
        """
        own, other = self.encoder.tokenizer, self.decoder.tokenizer
        return own.vocab_size == other.vocab_size + 1 and own.merges == other.merges

    def true_id(self, position: int) -> int | None:
        """What stood at the position; None where nobody knows."""
        token_id = self.true_ids[position]
        return None if token_id == self.encoder.tokenizer.mask_token else token_id

    def name(self, position: int) -> str:
        """The token as the encoder read it, in its visible form; the place whose vector is classified is called [CLS].
        """
        classifies = position == 0 and self.encoder.model.config.n_classes > 0
        return blanks.CLASSIFIES if classifies else self.encoder.tokenizer.visible(self.inputs[position])

    def of_encoder(self, position: int) -> Tensor:
        """(|V|,) float64 probabilities of what stood at the position, from both sides."""
        return torch.softmax(self.trace.logits[position].double(), -1)

    def of_decoder(self, position: int) -> Tensor | None:
        """Float64 probabilities of the decoder's own tokens, from the left; None behind a blank that nobody can read.
        """
        found = self._left(position)
        return None if found is None else torch.softmax(found[1][0].double(), -1)

    def left_of_true(self, position: int) -> float | None:
        """How probable the decoder holds what stood there: the product over the tokens that it cuts it into; None where
        that cannot be said.
        """
        found = None if self.true_id(position) is None else self._left(position)
        if found is None or not found[0]:
            return None
        ids, logits = found
        return float(torch.softmax(logits.double(), -1)[range(len(ids)), list(ids)].prod())

    def in_decoder(self, position: int) -> tuple[int, ...]:
        """What stood at the position as the decoder's tokens; none where nobody knows."""
        found = None if self.true_id(position) is None else self._left(position)
        return () if found is None else found[0]

    def _left(self, position: int) -> tuple[tuple[int, ...], Tensor] | None:
        """The decoder's tokens for what stood at the position, and for each of them (at least one) the logits
        (k, |V|) before it.
        """
        unknown = next((i for i in self.own if self.true_id(i) is None), len(self.true_ids))
        if position > unknown:
            return None
        if self.shares:
            ids = self.true_ids[:unknown][:self.decoder.model.config.n_context]
            return (None if position > len(ids)
                    else (ids[position:position + 1], cache.trace(self.decoder, ids).logits[position - 1:position]))
        start, end = self.marked.spans[position]
        before = self.marked.plain[:start].rstrip(" ")
        own = self.decoder.tokenizer.encode(self.marked.plain[len(before):end]) if position < unknown else []
        read = self.decoder.tokenizer.prompt(before, self.decoder.model.config.n_context - len(own)).token_ids
        logits = cache.trace(self.decoder, (*read, *own[:-1])).logits
        return tuple(own), logits[len(read) - 1:]


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    encoder, decoder = loaded(FILLS_BLANKS, run), loaded(WRITES_ON, run)
    if encoder is None or decoder is None:
        return missing(page, FILLS_BLANKS if encoder is None else WRITES_ON)
    if not is_bundled(encoder) and not fills(encoder.model, encoder.tokenizer):
        return cannot(page.label("blank_no_head" if encoder.tokenizer.mask_token is not None else "blank_no_mask",
                                 name=title(encoder.name)))
    _controls(page)
    marked = blanks.marked_text(read("blank_text")[:MOST_CHARACTERS], encoder.tokenizer, room(encoder.model.config))
    if not any(start < end for start, end in marked.spans):
        st.info(page.label("blank_empty"))
        marked = stand_in(page, encoder)
    filled = fill(encoder, decoder, marked, read("blank_seed") if read("blank_way") == "chance" else None)
    picked = picked_blank(filled)
    left, right = st.columns([11, 8], gap="medium")
    with left:
        _picture(message(page, filled, picked), key=f"{PREFIX}blank_instrument",
                 on_settings=functools.partial(_settled, filled))
    with right:
        block, head = _attention(page, filled, picked)
    return _reading(page, filled, picked, block, head)


def _controls(page: Lesson) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.text_input(page.label("blank_field"), max_chars=MOST_CHARACTERS, label_visibility="collapsed",
                      placeholder=page.label("blank_hint"), live=True, width="stretch", **attached("blank_text"))
        with st.popover(page.label("examples"), key=f"{PREFIX}blank_examples"):
            for i, example in enumerate(filter(None, page.text("blank_examples").splitlines())):
                st.button(example.replace("[", "\\["), key=f"{PREFIX}blank_example_{i}", type="tertiary", on_click=keep,
                          kwargs={"blank_text": example, "blank_way": "own", "blank_picked": -1})
        with st.container(width="content"):
            way = choice(page, "blank_way")
        if way == "chance":
            st.number_input(page.label("blank_seed"), 0, 9999, label_visibility="collapsed", width=120,
                            help=page.label("blank_seed"), **attached("blank_seed"))


def stand_in(page: Lesson, encoder: cache.LoadedModel) -> MarkedText:
    """The sentence that is read where there is none."""
    return blanks.marked_text(page.label("blank_stand_in"), encoder.tokenizer, room(encoder.model.config))


def fill(encoder: cache.LoadedModel, decoder: cache.LoadedModel, marked: MarkedText, seed: int | None) -> Filled:
    """The marked text under both models; with a seed, tokens are hidden as in training instead of where the marks are.
    """
    ids, mask = marked.token_ids, encoder.tokenizer.mask_token
    if seed is None:
        inputs = tuple(mask if position in marked.hidden else token_id for position, token_id in enumerate(ids))
        asked = tuple(position for position, token_id in enumerate(inputs) if token_id == mask)
    else:
        shown, targets = blanks.hide(np.array([ids]), encoder.tokenizer, np.random.default_rng(seed))
        inputs, asked = (tuple(map(int, shown[0])),
                         tuple(int(position) for position in np.flatnonzero(targets[0] != IGNORE)))
    return Filled(encoder, decoder, marked, inputs, asked, cache.trace(encoder, inputs))


def picked_blank(filled: Filled) -> int | None:
    """The position of the blank that is looked at: the one the reader has picked, else the first; None where
    nothing is hidden.
    """
    wanted = read("blank_picked")
    return wanted if wanted in filled.blanks else next(iter(filled.blanks), None)


def class_probabilities(encoder: cache.LoadedModel, rows: list[tuple[int, ...]]) -> np.ndarray:
    """(len(rows), 2) float64: how the classification head reads rows of one length."""
    with torch.inference_mode():
        logits = encoder.runner.class_logits(torch.tensor(rows, device=encoder.device))
    return torch.softmax(logits.double(), -1).cpu().numpy()


def sentiments(filled: Filled, position: int, candidates: list[int]) -> np.ndarray:
    """(candidates, 2) the classes of the whole sentence with each candidate at the position."""
    return class_probabilities(filled.encoder, [(*filled.true_ids[:position], token_id, *filled.true_ids[position + 1:])
                                                for token_id in candidates])


# ---- what the component is given -------------------------------------------------------------------------------------


def message(page: Lesson, filled: Filled, picked: int | None) -> dict:
    """The header of the component: chips, the picked blank's candidates under both models, the losses, the class."""
    tokenizer, found = filled.encoder.tokenizer, losses(filled)
    return {"text": page.labels("blank"), "masks_text": page.labels("masks"), "scale": reader.scale(),
            "lit": "encoder", "sizes": {"n": len(filled.inputs)},
            "tokens": [_chip(page, filled, position) for position in range(len(filled.inputs))], "picked": picked,
            "n_cut": filled.marked.n_cut, "notes": notes(page, filled, picked),
            "encoder": None if picked is None else candidates(filled, picked, True),
            "decoder": None if picked is None else candidates(filled, picked, False),
            "true": None if picked is None or filled.true_id(picked) is None
                    else tokenizer.visible(filled.true_id(picked)),
            "losses": [{"token": tokenizer.visible(filled.true_ids[position]), "loss": readable(loss)}
                       for position, loss in found],
            "mean": readable(float(np.mean([loss for _, loss in found]))) if found else None,
            "verdict": _verdict(page, filled)}


def notes(page: Lesson, filled: Filled, picked: int | None) -> dict[str, str]:
    """What has to be known of each of the two models."""
    encoder, decoder = filled.encoder, filled.decoder
    said = {"encoder": page.label("blank_both_note") if is_bundled(encoder) else about(page, encoder),
            "decoder": page.label("blank_left_note")}
    if picked is not None and filled.of_decoder(picked) is None:
        said["decoder"] = page.label("blank_left_unknown")
    elif picked is not None and not filled.shares:
        ids = filled.in_decoder(picked)
        said["decoder"] += " " + page.label("blank_left_own", n=decoder.tokenizer.vocab_size)
        if len(ids) > 1:
            said["decoder"] += " " + page.label("blank_left_several",
                                                tokens=" ".join(map(decoder.tokenizer.visible, ids)),
                                                p=probability(filled.left_of_true(picked)))
    return said


def _chip(page: Lesson, filled: Filled, position: int) -> dict:
    """A token as the encoder reads it: "seen", "hidden", "unknown", and of the ones asked for by chance "replaced" or
    "left" as it is.
    """
    tokenizer, shown, true = filled.encoder.tokenizer, filled.inputs[position], filled.true_ids[position]
    if position not in filled.blanks:
        how = "seen"
    elif shown == tokenizer.mask_token:
        how = "unknown" if true == shown else "hidden"
    else:
        how = "left" if shown == true else "replaced"
    special = "" if position in filled.own else page.label("blank_cls" if is_bundled(filled.encoder)
                                                           else "blank_special", token=filled.name(position))
    return {"token": filled.name(position), "true": tokenizer.visible(true), "how": how, "special": special,
            "can": not special and blanks.can_be_marked(true, tokenizer)}


def candidates(filled: Filled, position: int, both_sides: bool) -> dict | None:
    """The most probable tokens at a blank, the true one after them if it is not among them, and what all others share;
    None where the decoder cannot read that far.
    """
    p = filled.of_encoder(position) if both_sides else filled.of_decoder(position)
    if p is None:
        return None
    true, tokenizer = filled.true_id(position), (filled.encoder if both_sides else filled.decoder).tokenizer
    if not both_sides:
        own = filled.in_decoder(position)
        true = own[0] if len(own) == 1 else None
    top = [int(i) for i in p.topk(CANDIDATES).indices]
    shown = top + ([true] if true is not None and true not in top else [])
    classes = sentiments(filled, position, shown) if both_sides and filled.encoder.model.config.n_classes else None
    rows = [{"token": tokenizer.visible(i), "p": float(p[i]), "shown": probability(float(p[i])),
             "rank": int((p > p[i]).sum()) + 1, "true": i == true,
             "class": None if classes is None else int(classes[k].argmax()),
             "sure": None if classes is None else probability(float(classes[k].max()))} for k, i in enumerate(shown)]
    rest = max(0.0, 1.0 - sum(row["p"] for row in rows))
    return {"rows": rows, "others": len(p) - len(rows), "rest": rest, "rest_shown": probability(rest)}


def losses(filled: Filled) -> list[tuple[int, float]]:
    """−ln p of each hidden token that is known, in nats, by position."""
    return [(position, -float(torch.log_softmax(filled.trace.logits[position].double(), -1)[filled.true_id(position)]))
            for position in filled.blanks if filled.true_id(position) is not None]


def _verdict(page: Lesson, filled: Filled) -> dict | None:
    """The class of the row with nothing hidden; None for an encoder without a classification head."""
    if not filled.encoder.model.config.n_classes:
        return None
    probabilities = class_probabilities(filled.encoder, [filled.true_ids])[0]
    best = int(probabilities.argmax())
    return {"place": filled.name(0), "index": best, "name": page.label(f"class_{CLASSES[best]}"),
            "p": float(probabilities[best]), "shown": probability(float(probabilities[best])),
            "names": [page.label(f"class_{name}") for name in CLASSES]}


def toggled(filled: Filled, position: int) -> str:
    """The text with one more token hidden, or one less."""
    hidden = {place for place in filled.blanks if filled.true_id(place) is not None} ^ {position}
    return blanks.with_marks(replace(filled.marked, hidden=tuple(sorted(hidden))))


def _settled(filled: Filled, settings: dict) -> None:
    position = int(settings["position"])
    if settings["act"] == "pick":
        keep(blank_picked=position)
    elif position in filled.own:
        keep(blank_text=toggled(filled, position), blank_way="own", blank_picked=position)


# ---- the attention pattern -------------------------------------------------------------------------------------------


def _attention(page: Lesson, filled: Filled, picked: int | None) -> tuple[int, int]:
    config = filled.encoder.model.config
    keep(blank_block=min(read("blank_block"), config.n_layers - 1),
         blank_head=min(read("blank_head"), config.n_heads - 1))
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        block = st.selectbox(page.label("block"), range(config.n_layers),
                             format_func=lambda i: page.label("block_named", i=i), label_visibility="collapsed",
                             width=120, **attached("blank_block"))
        head = st.selectbox(page.label("head"), range(config.n_heads),
                            format_func=lambda i: page.label("head_named", i=i), label_visibility="collapsed",
                            width=120, **attached("blank_head"))
    traced = filled.trace.blocks[block]
    pattern, tokens = traced.pattern[head].cpu().numpy(), names(filled)
    query = 0 if picked is None else picked
    left, own, right = sides(pattern, query)
    said = page.label("blank_sides", head=f"{block}.{head}", token=tokens[query], left=probability(left),
                      own=probability(own), right=probability(right))
    labels = {"title": said} | {name: page.label(f"attention_{name}")
                                for name in ("scale", "masked", "key_axis", "query_axis", "keys_help")}
    attention_view(pattern, traced.allowed.cpu().numpy(), tokens, key=f"{PREFIX}blank_pattern", text=labels,
                   label=f"{block}.{head}", picked=(query, int(pattern[query].argmax())), height=PICTURE,
                   scale=reader.scale(), theme=reader.theme(), on_pick=lambda query, key: keep(blank_picked=query))
    return block, head


def sides(pattern: np.ndarray, query: int) -> tuple[float, float, float]:
    """What a query's weights give to the tokens before it, to itself, and to those after it."""
    row = pattern[query].astype(float)
    return float(row[:query].sum()), float(row[query]), float(row[query + 1:].sum())


def names(filled: Filled) -> list[str]:
    """Every token as the encoder read it."""
    return [filled.name(position) for position in range(len(filled.inputs))]


# ---- in numbers, the question, the data ------------------------------------------------------------------------------


def _reading(page: Lesson, filled: Filled, picked: int | None, block: int, head: int) -> Reading:
    said = _title(page, filled, picked)
    data = {"blanks.csv": lambda: every_candidate(page, filled),
            "attention.csv": lambda: pd.DataFrame(filled.trace.blocks[block].pattern[head].cpu().numpy(),
                                                  columns=names(filled))}
    return Reading(_lines(page, filled, picked), _question(page, filled, picked),
                   [fill, blanks.hide, Filled.of_encoder, Filled.of_decoder], data, ".blank-picture", said,
                   _loss_table(page, filled), explanation="" if is_bundled(filled.encoder) else "blank_loaded")


def _title(page: Lesson, filled: Filled, picked: int | None) -> str:
    tokenizer, name = filled.encoder.tokenizer, filled.encoder.tokenizer.visible
    if picked is None:
        return page.label("blank_title_none", n=len(filled.own))
    p, true = filled.of_encoder(picked), filled.true_id(picked)
    best = int(p.argmax())
    if true is None:
        return page.label("blank_title_unknown", best=code(name(best)), p=probability(float(p[best])))
    q = filled.left_of_true(picked)
    return page.label("blank_title", true=code(tokenizer.visible(true)), p=probability(float(p[true])),
                      q="–" if q is None else probability(q), best=code(name(best)))


def _lines(page: Lesson, filled: Filled, picked: int | None) -> list[tuple[str, str]]:
    lines, name = [], filled.encoder.tokenizer.visible
    if picked is not None:
        token_id = filled.true_id(picked)
        token_id = int(filled.of_encoder(picked).argmax()) if token_id is None else token_id
        u = filled.trace.logits[picked].double()
        total, p = torch.logsumexp(u, -1), float(torch.softmax(u, -1)[token_id])
        both = page.label("blank_numbers_shared" if filled.shares else "blank_numbers_apart")
        lines.append((f"{page.label('blank_numbers_p', token=code(name(token_id)), n=len(u))} {both}",
                      rf"y = \frac{{e^{{u}}}}{{\sum_{{t}} e^{{u_t}}}} = e^{{{latex_operand(float(u[token_id]))} - "
                      rf"{latex_operand(float(total))}}} = {latex_number(p)}"))
    found = losses(filled)
    if found:
        terms = " + ".join(latex_operand(loss) for _, loss in found)
        mean = float(np.mean([loss for _, loss in found]))
        lines.append((page.label("blank_numbers_loss", n=len(found)),
                      rf"\mathcal{{L}} = -\frac{{1}}{{{len(found)}}} \sum_{{i\ \text{{hidden}}}} \ln y_i = "
                      rf"\frac{{{terms}}}{{{len(found)}}} = {latex_number(mean)}"))
    if not filled.encoder.model.config.n_classes:
        return lines
    negative, positive = class_logits(filled)
    sure = 1 / (1 + np.exp(negative - positive))
    lines.append(
        (page.label("blank_numbers_class"),
         rf"y_{{\text{{positive}}}} = \frac{{e^{{{latex_operand(positive)}}}}}{{e^{{{latex_operand(negative)}}} + "
         rf"e^{{{latex_operand(positive)}}}}} = {latex_number(float(sure))}"))
    return lines


def class_logits(filled: Filled) -> tuple[float, float]:
    """The classification head's logits for the row with nothing hidden: negative, positive."""
    with torch.inference_mode():
        found = filled.encoder.runner.class_logits(torch.tensor(filled.true_ids,
                                                                device=filled.encoder.device)).double().tolist()
    return found[0], found[1]


def _loss_table(page: Lesson, filled: Filled) -> pd.DataFrame | None:
    """For each hidden token its probability under both models, and its loss."""
    rows = []
    for position, loss in losses(filled):
        true, q = filled.true_id(position), filled.left_of_true(position)
        rows.append((filled.encoder.tokenizer.visible(true), plain_number(float(filled.of_encoder(position)[true])),
                     "–" if q is None else plain_number(q), plain_number(loss)))
    return page.table(rows, "hidden", "p_encoder", "p_decoder", "loss") if rows else None


def every_candidate(page: Lesson, filled: Filled) -> pd.DataFrame:
    """The ten most probable tokens of every blank under both models."""
    rows = []
    for position in filled.blanks:
        for model, p, tokenizer in (("encoder", filled.of_encoder(position), filled.encoder.tokenizer),
                                    ("decoder", filled.of_decoder(position), filled.decoder.tokenizer)):
            for rank, token_id in enumerate([] if p is None else p.topk(10).indices.tolist(), 1):
                rows.append((position, model, rank, tokenizer.visible(token_id), float(p[token_id])))
    return page.table(rows, "position", "model", "rank", "token", "p")


def _question(page: Lesson, filled: Filled, picked: int | None) -> Question | None:
    """The same encoder under a decoder's triangle: what becomes of the hidden word's probability, or, with nothing
    hidden, of the class, if it tells one?
    """
    if picked is None and not filled.encoder.model.config.n_classes:
        return None
    blinded = cache.trace(filled.encoder, filled.inputs, Intervention(mask="causal"))
    if picked is None:
        before, after = (float(torch.softmax(trace.class_logits.double(), -1)[1]) for trace in (filled.trace, blinded))
        other = float(torch.softmax(cache.trace(filled.encoder, stand_in(page, filled.encoder).token_ids,
                                                Intervention(mask="causal")).class_logits.double(), -1)[1])
        same = abs(after - other) < 1e-6
        return Question("blank_class", page.label("blank_question_class"),
                        [page.label("blank_class_same"), page.label("blank_class_differs")], 0 if same else 1,
                        page.label("blank_because_class", before=probability(before), after=probability(after),
                                   other=probability(other)))
    token_id = filled.true_id(picked)
    token_id = int(filled.of_encoder(picked).argmax()) if token_id is None else token_id
    before, after = (float(filled.of_encoder(picked)[token_id]),
                     float(torch.softmax(blinded.logits[picked].double(), -1)[token_id]))
    answer = 0 if after < before / 2 else 1 if after < before else 2
    return Question("blank_mask", page.label("blank_question", token=code(filled.encoder.tokenizer.visible(token_id))),
                    [page.label(f"blank_option_{name}") for name in ("halved", "less", "more")], answer,
                    page.label("blank_because", token=code(filled.encoder.tokenizer.visible(token_id)),
                               before=probability(before), after=probability(after)))
