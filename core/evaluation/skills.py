"""Scores of the models of one skill: `blanks`, which fills in hidden tokens, `induction`, which continues repetitions,
`translator`, and `restaurants`, which puts the rows of a table into sentences.
"""
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from core.analysis.induction import induction
from core.analysis.stream_and_heads import induction_score
from core.evaluation.report import percent, rows
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.blanks import held_out_blanks, held_out_sentiment
from core.training.corpus import read_documents
from core.training.dates import DIRECTIONS, Pair
from core.training.translation import (
    alignment,
    exact_match,
    held_out_nats,
    held_out_pairs,
    held_out_rows,
    row_scores,
    said_in_turn,
)

HELD_OUT_TEXT = "heldout_tinystories.txt"
N_SENTENCES, N_PAIRS = 1000, 1000
SENTENCE = " The queen gave me six red apples, but Tom lost them."


def blanks_scores(model: Transformer, tokenizer: Tokenizer, corpus: Path | None) -> dict[str, str]:
    """Return the rows of the card's table: the number of answers, nats an answer and the share right, on hidden tokens
    (with a corpus) and on held-out sentiment sentences.
    """
    scores = {"[CLS]": held_out_sentiment(model, tokenizer, N_SENTENCES)}
    if corpus:
        text = held_out_blanks(model, tokenizer, read_documents(corpus / HELD_OUT_TEXT))
        scores = {f"`{Path(HELD_OUT_TEXT).stem}`": text} | scores
    return dict(scores=rows((name, f"{score.n:,}", f"{score.nats:.3f}", percent(score.right))
                            for name, score in scores.items()))


def repeated_sentence(model: Transformer, tokenizer: Tokenizer) -> tuple[float, float]:
    """Read SENTENCE twice. Return the highest induction score of any head, and the share of the second reading's
    tokens, except the first, that were the most probable.
    """
    once = tokenizer.encode(SENTENCE)
    trace = model(torch.tensor([tokenizer.end_of_text, *once, *once], device=model.device))
    score = max(float(induction_score(block.pattern, trace.token_ids).max()) for block in trace.blocks)
    guesses, true = trace.logits[len(once) + 1:-1].argmax(-1), trace.token_ids[len(once) + 2:]
    return score, float((guesses == true).double().mean())


def induction_scores(model: Transformer, tokenizer: Tokenizer, corpus: Path | None) -> dict[str, str]:
    """Return every head's previous-token and induction score on repeated random tokens, their losses, and the scores on
    a repeated sentence.
    """
    measures = induction(model)
    heads = rows((f"{layer}.{head}", f"{measures.previous_token[layer, head]:.3f}",
                  f"{measures.induction[layer, head]:.3f}") for layer, head in np.ndindex(measures.induction.shape))
    score, right = repeated_sentence(model, tokenizer)
    return dict(scores=heads, first=f"{measures.first:.2f}", second=f"{measures.second:.2g}", sentence=SENTENCE.strip(),
                sentence_score=f"{score:.3f}", sentence_right=percent(right))


def translator_scores(model: Transformer, tokenizer: Tokenizer, corpus: Path | None) -> dict[str, str]:
    """Return a row for each direction: nats a token, dates without a mistake, the best aligned head and block."""
    return dict(scores=rows(direction_row(model, tokenizer, direction, N_PAIRS) for direction in DIRECTIONS))


def direction_row(model: Transformer, tokenizer: Tokenizer, direction: str, n: int) -> tuple[str, ...]:
    """The row of one direction, measured on n held-out pairs, with the best aligned head of the cross-attention and the
    block whose mean pattern is aligned best (core.training.translation.Alignment).
    """
    pairs = held_out_pairs(direction, n)
    return (direction, f"{held_out_nats(model, tokenizer, pairs):.6f}", _of(exact_match(model, tokenizer, pairs), n),
            *_best_aligned(model, tokenizer, pairs))


def _of(share: float, n: int) -> str:
    return f"{round(share * n):,} of {n:,}"


def _best_aligned(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> tuple[str, str]:
    aligned = alignment(model, tokenizer, pairs)
    layer, head = divmod(int(aligned.heads.argmax()), model.config.n_heads)
    return (f"{layer}.{head}: {percent(float(aligned.heads.max()))}",
            f"{int(aligned.means.argmax())}: {percent(float(aligned.means.max()))}")


def restaurants_scores(model: Transformer, tokenizer: Tokenizer, corpus: Path | None) -> dict[str, str]:
    """Return the rows of the card's table: each measure of core.training.translation.RowScores, and the alignment."""
    found = row_scores(model, tokenizer, N_PAIRS)
    head, block = _best_aligned(model, tokenizer, said_in_turn(held_out_rows(N_PAIRS)))
    return dict(scores=rows([("rows whose sentence has every value", _of(found.every_value, found.n)),
                             ("rows whose sentence is one of their four, to the last sign",
                              _of(found.one_of_four, found.n)),
                             ("sentences followed to their end after the first token", _of(found.exact, found.n)),
                             ("nats/token", f"{found.nats:.4f}"),
                             ("best aligned head", head), ("best aligned mean of a block", block)]))


# the measures of each model of one skill: (model, tokenizer, corpus) -> the sections of its card
SKILLS = {"blanks": blanks_scores, "induction": induction_scores, "translator": translator_scores,
          "restaurants": restaurants_scores}
WITHOUT_TEXT = "induction", "translator", "restaurants"      # their cards need no other text
