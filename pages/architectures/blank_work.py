"""A text with blanks under an encoder and a decoder: what each predicts for them. Nothing here draws."""
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from core.app.compute import cache
from core.app.parts.word_guess import token_of
from core.figures.numbers import percent
from core.model.intervention import Intervention
from core.model.trace import Trace
from core.training import blanks
from core.training.blanks import MarkedText
from core.training.corpus import IGNORE
from pages.architectures.shared import most_probable, probabilities

CANDIDATES = 6


@dataclass(frozen=True)
class Filled:
    """A row with blanks, and both models' predictions for them.

    marked: the text, which may contain blanks with an unknown token; inputs: the token ids that the encoder reads;
    blanks: the positions to predict; trace: the encoder's pass over inputs.
    """

    encoder: cache.LoadedModel
    decoder: cache.LoadedModel
    marked: MarkedText
    inputs: tuple[int, ...]
    blanks: tuple[int, ...]
    trace: Trace

    @property
    def true_ids(self) -> tuple[int, ...]:
        """The row with nothing hidden; a mask token stands for an unknown one."""
        return self.marked.token_ids

    @property
    def body(self) -> range:
        """The positions of the text's tokens, without those that the tokenizer adds before and after."""
        tokenizer = self.encoder.tokenizer
        return range(len(tokenizer.begin), len(self.true_ids) - len(tokenizer.end))

    @property
    def shares(self) -> bool:
        """Whether both tokenizers have the same merges and the same tokens but for the mask, so that the probabilities
        of both models can be compared.
        """
        a, b = self.encoder.tokenizer, self.decoder.tokenizer
        return a.vocab_size == b.vocab_size + 1 and a.merges == b.merges

    @property
    def classifies(self) -> bool:
        """Whether the encoder has a classification head beside its language head, as the bundled one has."""
        config = self.encoder.model.config
        return config.head.n_classes > 0 and config.head.output_head == "language"

    def true_id(self, position: int) -> int | None:
        """The true token at the position; None if it is unknown."""
        token_id = self.true_ids[position]
        return None if token_id == self.encoder.tokenizer.mask_token else token_id

    def name(self, position: int) -> str:
        """The encoder's input token in its visible form; [CLS] for the position whose vector is classified."""
        if position == 0 and self.classifies:
            return blanks.CLASSIFIES
        return self.visible(self.inputs[position])

    def known_id(self, position: int) -> int:
        """The true token at the position; if it is unknown, the encoder's most probable one."""
        token_id = self.true_id(position)
        return int(self.p_encoder(position).argmax()) if token_id is None else token_id

    def visible(self, token_id: int) -> str:
        """A token of the encoder in its visible form."""
        return self.encoder.tokenizer.visible(token_id)

    def p_encoder(self, position: int) -> np.ndarray:
        """(|V|,) float64: the encoder's probabilities of the token at the position, from both sides."""
        return probabilities(self.trace.logits[position])

    def p_decoder(self, position: int) -> np.ndarray | None:
        """(|V|,) float64: the decoder's probabilities of the token at the position, from the left; None after an
        unknown token.
        """
        _, logits = self._left(position)
        return None if logits is None else probabilities(logits[0])

    def p_left(self, position: int) -> float | None:
        """The decoder's probability of the true token: the product over the decoder's tokens for it; None if it is
        unknown.
        """
        ids, logits = self._left(position)
        return float(probabilities(logits)[range(len(ids)), ids].prod()) if ids else None

    def decoder_ids(self, position: int) -> list[int]:
        """The decoder's token ids for the true token at the position; empty if it is unknown."""
        return self._left(position)[0]

    def _left(self, position: int) -> tuple[list[int], Tensor | None]:
        """The decoder's k token ids for the true token at the position, and the logits (max(k, 1), |V|) that predict
        them; empty and None after an unknown token.
        """
        unknown = next((i for i in self.body if self.true_id(i) is None), len(self.true_ids))
        n_context, tokenizer = self.decoder.model.config.n_context, self.decoder.tokenizer
        if position > (min(unknown, n_context) if self.shares else unknown):
            return [], None
        if self.shares:
            ids = self.true_ids[:unknown][:n_context]
            return list(ids[position:position + 1]), cache.trace(self.decoder, ids).logits[position - 1:position]
        start, end = self.marked.spans[position]
        before = self.marked.plain[:start].rstrip(" ")
        ids = tokenizer.encode(self.marked.plain[len(before):end]) if position < unknown else []
        context = tokenizer.prompt(before, n_context - len(ids)).token_ids
        return ids, cache.trace(self.decoder, (*context, *ids[:-1])).logits[len(context) - 1:]


def fill(encoder: cache.LoadedModel, decoder: cache.LoadedModel, marked: MarkedText, seed: int | None) -> Filled:
    """The marked text under both models; with a seed, random tokens are hidden as in training, and not the marked ones.
    """
    ids, mask = marked.token_ids, encoder.tokenizer.mask_token
    if seed is None:
        inputs = tuple(mask if position in marked.hidden else token_id for position, token_id in enumerate(ids))
        hidden = np.array(inputs) == mask
    else:
        masked, targets = blanks.hide(np.array([ids]), encoder.tokenizer, np.random.default_rng(seed))
        inputs, hidden = tuple(masked[0].tolist()), targets[0] != IGNORE
    hidden_at = tuple(np.flatnonzero(hidden).tolist())
    return Filled(encoder, decoder, marked, inputs, hidden_at, cache.trace(encoder, inputs))


def class_logits(encoder: cache.LoadedModel, rows: list[tuple[int, ...]]) -> Tensor:
    """(len(rows), 2) the classification head's logits of rows of one length: negative, positive."""
    with torch.inference_mode():
        return encoder.runner.class_logits(torch.tensor(rows, device=encoder.device)).cpu()


def candidates(filled: Filled, position: int, both_sides: bool, guess: str | None = None) -> dict | None:
    """The most probable tokens at a blank, then the true one and the reader's guess if they are not among them, and the
    probability of all others; None if the decoder has no prediction.
    """
    p, model, true = ((filled.p_encoder(position), filled.encoder, [filled.true_id(position)]) if both_sides
                      else (filled.p_decoder(position), filled.decoder, filled.decoder_ids(position)))
    if p is None:
        return None
    best = most_probable(p, CANDIDATES)
    if len(true) == 1 and true[0] not in (None, *best):
        best += true
    mine = None if guess is None else token_of(guess, model.tokenizer, p)
    if mine not in (None, *best):
        best.append(mine)
    rows = [{"token": model.tokenizer.visible(i), "p": p[i], "shown": percent(p[i]),
             "rank": int((p > p[i]).sum()) + 1, "true": true == [i], "mine": i == mine,
             "class": None} for i in best]
    if both_sides and filled.classifies:
        ids = filled.true_ids
        texts = [(*ids[:position], token_id, *ids[position + 1:]) for token_id in best]
        for row, classes in zip(rows, probabilities(class_logits(filled.encoder, texts))):
            row |= {"class": int(classes.argmax()), "sure": percent(classes.max())}
    rest = max(0.0, 1.0 - sum(row["p"] for row in rows))
    return {"rows": rows, "others": len(p) - len(rows), "rest": rest, "rest_shown": percent(rest)}


def losses(filled: Filled) -> dict[int, float]:
    """−ln p of each hidden token with a known truth, in nats, by position."""
    return {position: -np.log(filled.p_encoder(position)[filled.true_id(position)])
            for position in filled.blanks if filled.true_id(position) is not None}


def toggled(filled: Filled, position: int) -> str:
    """The marked text with the token at the position hidden, or unhidden if it was hidden."""
    hidden = {place for place in filled.blanks if filled.true_id(place) is not None} ^ {position}
    return blanks.with_marks(replace(filled.marked, hidden=tuple(sorted(hidden))))


def sides(pattern: np.ndarray, query: int) -> tuple[float, float, float]:
    """The sums of a query's weights on the tokens before it, on itself, and on those after it."""
    row = pattern[query].astype(float)
    return row[:query].sum(), row[query], row[query + 1:].sum()


def causal(encoder: cache.LoadedModel, ids: tuple[int, ...]) -> Trace:
    """The encoder's pass over the ids under a causal mask."""
    return cache.trace(encoder, ids, Intervention(mask="causal"))
