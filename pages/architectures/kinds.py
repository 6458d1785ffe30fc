"""Three kinds of model, and a fourth mask: which token sees which in an encoder, a decoder, an encoder-decoder and a
prefix decoder, and what each mask makes of the loaded model's next token.
"""
import math
from bisect import bisect
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.analysis import stream_and_heads
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.state import Run
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, percent, readable
from core.model import attention, masks
from core.model.intervention import Intervention
from core.training.blanks import HIDDEN_SHARE
from pages.architectures.shared import PREFIX, SHARED_CSS, attached, read

KINDS = "encoder", "decoder", "encoder-decoder", "prefix"
ROWS = "sees", "writes", "trained", "for", "pro", "con", "examples"
HIDDEN, LEFT, RIGHT, CROSS = range(4)       # what a cell of a mask is
LIMITS = (0.8, 1.25)                        # of the probability after over that before, between the options
SAME = 1e-9                                 # relative, of two probabilities that count as one
LEAST = 3                                   # tokens of a text that can be cut into a prefix and the rest
# Four masks over the prompt's tokens, each with what such a model is for.
_picture = token_view("architecture_masks", __file__, SHARED_CSS)


@dataclass(frozen=True)
class Masked:
    """The model's next token under a kind's mask: the likeliest one, its probability, and the KL divergence to it from
    the pass with the model's own mask, in nats.
    """

    top: int
    p: float
    kl: float


def prefix_of(run: Run) -> int:
    """The tokens of the prefix, or of the source: the reader's, by default half of the text."""
    n, chosen = len(run.token_ids), read("prefix")
    return n // 2 if chosen < 0 else min(chosen, n)


def allowed(kind: str, n: int, prefix: int) -> Tensor:
    """(n, n) bool: which query (row) sees which key. Of an encoder-decoder the first `prefix` tokens are the source."""
    if kind in ("encoder", "decoder"):
        return masks.mask({"encoder": "bidirectional", "decoder": "causal"}[kind], n, n)
    return masks.prefix_mask(n, prefix)


def cells(kind: str, n: int, prefix: int) -> np.ndarray:
    """(n, n) uint8: HIDDEN; LEFT, the token itself or one before it; RIGHT, one after it; CROSS, of the other stack."""
    seen, place = allowed(kind, n, prefix).numpy(), np.arange(n)
    found = np.where(place[:, None] >= place, LEFT, RIGHT) * seen
    if kind == "encoder-decoder":
        found[prefix:, :prefix] = CROSS
    return found.astype(np.uint8)


def targets(kind: str, n: int, prefix: int) -> int:
    """How many of n tokens are predicted in one pass of the training."""
    return {"encoder": max(1, round(HIDDEN_SHARE * n)), "decoder": n - 1}.get(kind, n - max(prefix, 1))


def change(kind: str, run: Run) -> Intervention:
    """The kind's mask as a change of the model's pass; its own mask is none."""
    seen = allowed(kind, len(run.token_ids), prefix_of(run))
    if torch.equal(seen, run.trace.blocks[0].allowed):
        return Intervention()
    return Intervention(allowed=tuple(map(tuple, seen.tolist())))


def masked(kind: str, run: Run) -> Masked:
    """The model's prediction at the asked position under the kind's mask."""
    before, after = run.trace.logits[run.asked], run.trace_with(change(kind, run)).logits[run.asked]
    p = after.double().softmax(-1)
    return Masked(int(p.argmax()), float(p.max()), stream_and_heads.effect(before, after).kl)


def loss_in_prefix(run: Run, intervention: Intervention) -> float:
    """The mean −ln p of the prefix's tokens after the first, in nats; NaN for a prefix of one token."""
    ids = torch.tensor(run.token_ids[1:prefix_of(run)])
    log_p = run.trace_with(intervention).logits[:len(ids)].double().log_softmax(-1)
    return float(-log_p[torch.arange(len(ids)), ids].mean())


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask how the prefix mask changes the likeliest token's probability: not, down, hardly, up."""
    n, prefix = len(run.token_ids), prefix_of(run)
    if not 2 <= prefix < n or run.is_encoder:
        return None
    before = masked("decoder", run)

    def truth(_: int) -> Truth:
        logits = run.trace_with(change("prefix", run)).logits[run.asked]
        after = float(logits.double().softmax(-1)[before.top])
        is_same = math.isclose(after, before.p, rel_tol=SAME)
        return Truth(0 if is_same else 1 + bisect(LIMITS, after / before.p), said=percent(after),
                     values={"after": percent(after)})

    return Prediction("kinds", Options([page.label(f"prefix_makes_{i}") for i in range(len(LIMITS) + 2)]), truth,
                      {"m": prefix, "n": n, "top": run.tokenizer.visible(before.top), "before": percent(before.p)},
                      prefix)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    n = len(run.token_ids)
    if n < LEAST:
        return cannot(page.label("kinds_short"))
    prefix = prefix_of(run)
    left, right = st.columns([1, 2], gap="large", vertical_alignment="bottom")
    st.session_state[f"{PREFIX}prefix"] = prefix
    left.slider(page.label("prefix_slider", n=n), 0, n, **attached("prefix"))
    found = {kind: masked(kind, run) for kind in KINDS if kind != "encoder-decoder"}
    title = page.label("kinds_title", m=prefix, n=n, kl=readable(found["prefix"].kl),
                       token=code(run.tokenizer.visible(found["prefix"].top)), p=percent(found["prefix"].p))
    right.markdown(f"**{title}**")
    _picture(page.header("kinds") | {
        "tokens": run.tokens, "prefix": prefix,
        "kinds": [_card(page, run, kind, found.get(kind)) for kind in KINDS]},
        key=f"{PREFIX}kinds", on_settings=lambda _: None,
        arrays={"cells": np.stack([cells(kind, n, prefix) for kind in KINDS])})
    return Reading(_lines(page, run, found), _question(page, n, prefix),
                   [masks.mask, masks.prefix_mask, attention.masked_softmax],
                   {"masks.csv": lambda: _table(run)}, ".architecture_masks .masks-row", title)


def _card(page: Lesson, run: Run, kind: str, found: Masked | None) -> dict:
    """The picture of a kind: its rows of words, its cells, and the effect of its mask on the next token."""
    n, prefix = len(run.token_ids), prefix_of(run)
    seen = int(allowed(kind, n, prefix).sum())
    return {"id": kind, "name": page.label(f"masks_{kind}"),
            "rows": [[row, page.label(f"kinds_row_{row}"), page.label(f"kinds_{kind}_{row}")] for row in ROWS],
            "open": page.label("kinds_open", seen=seen, all=n * n, share=readable(100 * seen / n ** 2, 2)),
            "targets": page.label("kinds_targets", k=targets(kind, n, prefix), n=n),
            "next": found and {"token": run.tokenizer.visible(found.top), "p": percent(found.p),
                               "kl": readable(found.kl), "own": change(kind, run) == Intervention()}}


def _lines(page: Lesson, run: Run, found: dict[str, Masked]) -> list[tuple[str, str]]:
    n, m = len(run.token_ids), prefix_of(run)
    lines = [(page.label("numbers_cells", n=n, m=m),
              rf"N^2 = {n * n}, \qquad \frac{{N (N + 1)}}{{2}} = {n * (n + 1) // 2}, \qquad "
              rf"\frac{{N (N + 1)}}{{2}} + \frac{{M (M - 1)}}{{2}} = {n * (n + 1) // 2 + m * (m - 1) // 2}"),
             (page.label("numbers_kinds_kl"), rf"\mathrm{{KL}} = \sum_t p_t \ln \frac{{p_t}}{{p'_t}} = "
                                              rf"{latex_number(found['prefix'].kl)}")]
    if m >= 2 and not run.is_encoder:
        before, after = (loss_in_prefix(run, one) for one in (Intervention(), change("prefix", run)))
        lines.append((page.label("numbers_prefix_loss", k=m - 1),
                      rf"{latex_number(before)} \;\to\; {latex_number(after)}"))
    return lines


def _question(page: Lesson, n: int, prefix: int) -> Question:
    """How many cells a prefix of twice the length opens in addition."""
    small = max(2, min(prefix, n // 2))
    counts = [int(masks.prefix_mask(n, m).sum()) for m in (small, 2 * small)]
    right = counts[1] - counts[0]
    options = sorted({right, small, right - small + 1, (2 * small) ** 2, n * n})[:4]
    options = options if right in options else sorted({right, *options[:3]})
    return page.question("kinds", [str(option) for option in options], options.index(right), m=small, twice=2 * small,
                         cells=right, before=counts[0], after=counts[1])


def _table(run: Run) -> pd.DataFrame:
    """Every cell of the four masks."""
    n, prefix = len(run.token_ids), prefix_of(run)
    return pd.DataFrame([(kind, i, run.tokens[i], j, run.tokens[j], bool(seen)) for kind in KINDS
                         for (i, j), seen in np.ndenumerate(allowed(kind, n, prefix).numpy())],
                        columns=["kind", "query", "query token", "key", "key token", "sees"])
