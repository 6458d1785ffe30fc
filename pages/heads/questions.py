"""Before you look: the question of each panel, about the head, the query and the change that are picked now."""
from __future__ import annotations

import numpy as np
import torch

from core.app.lesson import Lesson, Options, Place, Prediction, Truth
from core.app.state import Run
from core.figures.heads import LEAST_SHARE, ROLES, head_name, shares_of_sum
from core.figures.numbers import percent
from pages.heads.panels import axis_end, other_run
from pages.heads.shared import Pair, Patterns, change_now, patterns_of, picked, read, rollout_of

LEAST_KEYS = 3        # keys to choose from
HALF = 0.5            # of a row's weight
SEEN_CHANGE = 0.05    # of a probability: visible in a bar
OTHER = 3             # the option of that question: another token leads
NEARLY_ALL = 0.8      # of a head's attention
EVEN = 1.5            # times the share that every key would have: a row whose largest weight is below is even
MOST_NAMED = 4        # changed heads that the question names one by one


def of(page: Lesson, run: Run, panel: str) -> Prediction | None:
    """The question of a panel; None if there is nothing to ask about this text, model or change."""
    if len(run.token_ids) < LEAST_KEYS:
        return None
    ask = {"wall": _wall, "head": _head, "roles": _habits, "write": _written, "change": _changed,
           "prompts": _elsewhere, "rollout": _rollout}[panel]
    return ask(page, run, *picked(run))


def options(page: Lesson, name: str) -> Options:
    """The options of a question: the labels `guess_<name>_…`, in their order."""
    return Options([*page.labels(f"guess_{name}").values()])


def _wall(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> Prediction | None:
    """Ask for the habit of most heads: to look at the token before, the first one, or at or after a copy."""
    if run.is_encoder:
        return None
    n_all = run.model.config.n_layers * run.model.config.n_heads

    def truth(_: int) -> Truth:
        previous, start, *copies = (int((patterns.roles == role).sum()) for role in
                                    ("previous_token", "first_token", "induction", "duplicate_token"))
        counts = [previous, start, sum(copies)]
        leads = counts.count(max(counts)) == 1
        return Truth(int(np.argmax(counts)) if leads else len(counts), seen=0 if 2 * sum(counts) > n_all else 1,
                     values={"previous": previous, "start": start, "copies": sum(copies)})

    first = page.label("first_mark" if run.tokenizer.begin else "first_word", token=run.tokens[0])
    return Prediction("wall", options(page, "wall"), truth,
                      {"n": n_all, "first": first, "least": f"{100 * LEAST_SHARE:g}\u00a0%"})


def _head(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> Prediction | None:
    """Ask which token gets the picked query's largest weight."""
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


def _habits(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> Prediction | None:
    """Whether the head that does most of what the axis across measures does hardly anything else."""
    x, y = read("x"), read("y")
    measures = patterns.measures
    if x not in ROLES or x not in measures or any(np.isnan(measures[name]).all() for name in (x, y)):
        return None
    values = measures[x]

    def truth(_: int) -> Truth:
        layer, head = divmod(int(np.nanargmax(values)), values.shape[1])
        middle, most = axis_end(values) / 2, float(values[layer, head])
        left, right = int((values < middle).sum()), int((values > middle).sum())
        return Truth(0 if most >= NEARLY_ALL else 1 if most >= HALF else 2, said=percent(most),
                     seen=0 if left > right else 1 if right > left else 2,
                     values={"head": head_name(layer, head), "share": percent(most), "left": left, "right": right})

    return Prediction("roles", options(page, "roles"), truth,
                      {"n": values.size, "place": page.label(f"place_{x}")}, (x, y))


def _written(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> Prediction | None:
    """Whether the head of the block that looks most sharply also makes up most of what its heads write together."""
    n_heads, rows = run.model.config.n_heads, patterns.values[pair.layer, :, pair.query]        # (h, N)
    if n_heads < 2:
        return None
    sharpest, key = divmod(int(rows.argmax()), rows.shape[1])

    def truth(_: int) -> Truth:
        block = run.trace.blocks[pair.layer]
        shares = shares_of_sum(block.head_contribution[:, pair.query].float().cpu().numpy(),
                               block.attn_out[pair.query].float().cpu().numpy())
        most, own = int(shares.argmax()), float(shares[sharpest])
        return Truth(2 if own < 0 else 0 if most == sharpest else 1, seen=int((shares < 0).any()),
                     values={"share": percent(own), "most": percent(shares[most]),
                             "other": head_name(pair.layer, most)})

    return Prediction("write", options(page, "write"), truth,
                      {"head": head_name(pair.layer, sharpest), "block": pair.layer, "h": n_heads,
                       "token": run.tokens[pair.query], "key": run.tokens[key],
                       "look": percent(float(rows[sharpest, key]))}, (pair.layer, pair.query))


def _changed(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> Prediction | None:
    """Whether the likeliest token stays so after the reader's change, and how probable it is then."""
    change = change_now()
    heads = change.heads(run)
    if not heads or not run.has_head:
        return None
    probs = torch.softmax(run.trace.logits[pair.query].double(), -1)
    top = int(probs.argmax())
    before = float(probs[top])

    def truth(_: int) -> Truth:
        after = torch.softmax(run.trace_with(change.intervention(run)).logits[pair.query].double(), -1)
        now, moved = int(after.argmax()), float(after[top]) - before
        seen = 0 if abs(moved) < SEEN_CHANGE else 1 if moved < 0 else 2
        return Truth(seen if now == top else OTHER, said=percent(float(after[now])), seen=seen,
                     values={"after": percent(float(after[top])), "now": run.tokenizer.visible(now),
                             "p": percent(float(after[now]))})

    which = (page.label("asked_one", heads=head_name(*heads[0])) if len(heads) == 1
             else page.label("asked_few", heads=", ".join(head_name(*head) for head in heads))
             if len(heads) <= MOST_NAMED else page.label("asked_many", n=len(heads)))
    values = {"at": page.label("asked_at", token=run.tokens[pair.query]), "top": run.tokenizer.visible(top),
              "before": percent(before), "heads": which,
              "done": page.label(f"asked_{change.action}", factor=f"{change.factor:g}")}
    return Prediction("change", options(page, "change"), truth, values, (change, pair.query))


def _elsewhere(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> Prediction | None:
    """Ask where the head looks in the other text."""
    other = other_run(page, run)
    theirs, at = patterns_of(other), other.asked
    keys = np.flatnonzero(theirs.allowed[at])
    if len(keys) < LEAST_KEYS:
        return None
    row = theirs.values[pair.layer, pair.head, at]
    own = patterns.values[pair.layer, pair.head, pair.query]

    def truth(guess: int) -> Truth:
        key, own_key = int(row.argmax()), int(own.argmax())
        clear = [float(each.max()) >= HALF for each in (own, row)]
        return Truth(key, said=percent(float(row[key])), own=percent(float(row[guess])), seen=2 - sum(clear),
                     values={"key": other.tokens[key], "share": percent(float(row[key])),
                             "own_key": run.tokens[own_key], "own_share": percent(float(own[own_key])),
                             "own_token": run.tokens[pair.query]})

    return Prediction("prompts", Place(other.tokens, keys.tolist()), truth,
                      {"head": pair.name, "token": other.tokens[at]}, (pair.name, pair.query, other.text))


def _rollout(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> Prediction | None:
    """From which token the largest part of the picked one has come after all blocks."""
    n_layers, i = run.model.config.n_layers, pair.query
    keys = range(len(run.token_ids) if run.is_encoder else i + 1)
    if n_layers < 2 or len(keys) < LEAST_KEYS:
        return None

    def truth(guess: int) -> Truth:
        first, last = (rollout_of(run)[block, i] for block in (0, n_layers - 1))
        key = int(last.argmax())
        return Truth(key, said=percent(float(last[key])), own=percent(float(last[guess])),
                     seen=int(first.argmax() == key),
                     values={"key": run.tokens[key], "share": percent(float(last[key])),
                             "first": percent(float(first[i])), "last": percent(float(last[i]))})

    return Prediction("rollout", Place(run.tokens, [*keys]), truth, {"n": n_layers, "token": run.tokens[i]}, i)
