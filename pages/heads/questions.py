"""Before you look: the question of each panel, about the head, the query and the change that are picked now."""
from __future__ import annotations

import numpy as np
import torch

from core.app.frame import Lesson, Number, Place, Prediction, Truth
from core.app.state import Run
from core.figures.heads import LEAST_SHARE, ROLES, head_name, roles, shares_of_sum
from core.figures.numbers import percent
from pages.heads.panels import axis_end, other_run
from pages.heads.shared import Pair, change_now, patterns_of, picked_pair, read, rollout_of

LEAST_KEYS = 3        # from which one can be picked
HALF = 0.5            # of a row's weight
SEEN_CHANGE = 0.05    # of a probability: what one sees in a bar
EVEN = 1.5            # times the share that every key would have: a row whose largest weight is below is even
MOST_NAMED = 4        # changed heads that the question names one by one


def of(page: Lesson, run: Run, panel: str) -> Prediction | None:
    """The question of a panel; None where there is nothing to ask about this text, model or change."""
    if len(run.token_ids) < LEAST_KEYS:
        return None
    ask = {"wall": _wall, "head": _head, "roles": _habits, "write": _written, "change": _changed,
           "prompts": _elsewhere, "rollout": _rollout}[panel]
    return ask(page, run, picked_pair(run))


def _wall(page: Lesson, run: Run, pair: Pair) -> Prediction | None:
    """How many heads look mostly at the first token."""
    if run.is_encoder:
        return None
    n_all = run.model.config.n_layers * run.model.config.n_heads

    def truth(_guess: float) -> Truth:
        named = roles(patterns_of(run).measures)
        start, previous = (int((named == role).sum()) for role in ("first_token", "previous_token"))
        return Truth(start, seen=0 if start > previous else 1 if start < previous else 2,
                     values={"start": start, "least": percent(LEAST_SHARE)})

    first = page.label("first_mark" if run.tokenizer.begin else "first_word", token=run.tokens[0])
    return Prediction("wall", Number(0, n_all), truth, {"n": n_all, "first": first})


def _head(page: Lesson, run: Run, pair: Pair) -> Prediction | None:
    """Which token gets the largest weight of the picked query."""
    patterns = patterns_of(run)
    keys = np.flatnonzero(patterns.allowed[pair.query])
    if len(keys) < LEAST_KEYS:
        return None
    row = patterns.values[pair.layer, pair.head, pair.query]

    def truth(guess: int) -> Truth:
        key, most = int(row.argmax()), float(row.max())
        return Truth(key, said=percent(most), own=percent(float(row[guess])),
                     seen=0 if most >= HALF else 2 if most < EVEN / len(keys) else 1,
                     values={"key": run.tokens[key], "share": percent(most)})

    return Prediction("head", Place(run.tokens, keys.tolist()), truth,
                      {"head": pair.name, "token": run.tokens[pair.query]}, (pair.name, pair.query))


def _habits(page: Lesson, run: Run, pair: Pair) -> Prediction | None:
    """How much of its attention the head puts there that does most of what the axis across measures."""
    x, y = read("x"), read("y")
    measures = patterns_of(run).measures
    if x not in ROLES or x not in measures or any(np.isnan(measures[name]).all() for name in (x, y)):
        return None
    values = measures[x]

    def truth(_guess: float) -> Truth:
        layer, head = divmod(int(np.nanargmax(values)), values.shape[1])
        middle = axis_end(values) / 2
        left, right = int((values < middle).sum()), int((values > middle).sum())
        return Truth(hundredths(values[layer, head]), seen=0 if left > right else 1 if right > left else 2,
                     values={"head": head_name(layer, head), "share": percent(values[layer, head]), "left": left,
                             "right": right})

    return Prediction("roles", Number(0, 100, unit="%"), truth,
                      {"n": values.size, "place": page.label(f"place_{x}")}, (x, y))


def _written(page: Lesson, run: Run, pair: Pair) -> Prediction | None:
    """How much of what the block's heads write together the picked head makes up."""
    n_heads = run.model.config.n_heads
    if n_heads < 2:
        return None

    def truth(_guess: float) -> Truth:
        block = run.trace.blocks[pair.layer]
        shares = shares_of_sum(block.head_contribution[:, pair.query].float().cpu().numpy(),
                               block.attn_out[pair.query].float().cpu().numpy())
        most = int(shares.argmax())
        return Truth(hundredths(shares[pair.head]), seen=int((shares < 0).any()),
                     values={"share": percent(shares[pair.head]), "most": percent(shares[most]),
                             "other": head_name(pair.layer, most)})

    return Prediction("write", Number(-20, 100, unit="%"), truth,
                      {"head": pair.name, "block": pair.layer, "h": n_heads, "token": run.tokens[pair.query],
                       "even": percent(1 / n_heads)}, (pair.name, pair.query))


def _changed(page: Lesson, run: Run, pair: Pair) -> Prediction | None:
    """What is left of the likeliest token's probability after the reader's change."""
    change = change_now()
    heads = change.heads(run)
    if not heads or not run.has_head:
        return None
    probs = torch.softmax(run.trace.logits[pair.query].double(), -1)
    top = int(probs.argmax())
    before = float(probs[top])

    def truth(_guess: float) -> Truth:
        logits = run.trace_with(change.intervention(run)).logits[pair.query]
        after = float(torch.softmax(logits.double(), -1)[top])
        moved = after - before
        return Truth(hundredths(after), seen=0 if abs(moved) < SEEN_CHANGE else 1 if moved < 0 else 2,
                     values={"after": percent(after)})

    which = (page.label("asked_one", heads=head_name(*heads[0])) if len(heads) == 1
             else page.label("asked_few", heads=", ".join(head_name(*head) for head in heads))
             if len(heads) <= MOST_NAMED else page.label("asked_many", n=len(heads)))
    values = {"token": run.tokens[pair.query], "top": run.tokenizer.visible(top), "before": percent(before),
              "heads": which, "done": page.label(f"asked_{change.action}", factor=f"{change.factor:g}")}
    return Prediction("change", Number(0, 100, unit="%"), truth, values, (change, pair.query))


def _elsewhere(page: Lesson, run: Run, pair: Pair) -> Prediction | None:
    """Where the picked head looks in the other text."""
    other = other_run(page, run)
    patterns, at = patterns_of(other), other.asked
    keys = np.flatnonzero(patterns.allowed[at])
    if len(keys) < LEAST_KEYS:
        return None
    row = patterns.values[pair.layer, pair.head, at]
    own = patterns_of(run).values[pair.layer, pair.head, pair.query]

    def truth(guess: int) -> Truth:
        key, own_key = int(row.argmax()), int(own.argmax())
        clear = [float(each.max()) >= HALF for each in (own, row)]
        return Truth(key, said=percent(float(row[key])), own=percent(float(row[guess])), seen=2 - sum(clear),
                     values={"key": other.tokens[key], "share": percent(float(row[key])),
                             "own_key": run.tokens[own_key], "own_share": percent(float(own[own_key])),
                             "own_token": run.tokens[pair.query]})

    return Prediction("prompts", Place(other.tokens, keys.tolist()), truth,
                      {"head": pair.name, "token": other.tokens[at]}, (pair.name, pair.query, other.text))


def _rollout(page: Lesson, run: Run, pair: Pair) -> Prediction | None:
    """How much of a token is still its own after all blocks."""
    n_layers, i = run.model.config.n_layers, pair.query
    if n_layers < 2 or i == 0:
        return None

    def truth(_guess: float) -> Truth:
        first, last = (rollout_of(run)[block, i] for block in (0, n_layers - 1))
        return Truth(hundredths(last[i]), seen=int(first.argmax() == last.argmax()),
                     values={"first": percent(float(first[i])), "last": percent(float(last[i]))})

    return Prediction("rollout", Number(0, 100, unit="%"), truth, {"n": n_layers, "token": run.tokens[i]}, i)


def hundredths(share: float) -> float:
    """A share as the number that the slider would show, in percent to one decimal."""
    return round(100 * float(share), 1)
