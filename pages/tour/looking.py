"""Steps 7 to 9, inside the model: one head that looks back, all heads, and the blocks one after the other."""
import numpy as np

from core.analysis.contributions import logit_contributions, logit_lens
from core.app.compute import cache
from core.app.lesson import Lesson
from core.app.state import Run
from core.app.state.lesson_settings import Setting
from core.figures.heads import head_name
from core.model.intervention import HeadEdit, Intervention
from pages.tour.shared import N_BARS, Step, first_word, likeliest, n_words, next_words, plain, share, word

MOST_LOOKED_AT = 48         # tokens of a long prompt that are shown, its last ones
MOST_TILE_CELLS = 200_000   # of the wall, all tiles together
MOST_RUNGS = 9              # depths that are shown of a model of many blocks


def look(page: Lesson, run: Run, done: dict) -> Step:
    """Look back: the token that the reader would look at, and where one head looks."""
    n = len(run.token_ids)
    if n_words(run) < 3:
        return Step(None)
    begin = max(0, n - MOST_LOOKED_AT)
    names = [page.label("start_mark") if i < len(run.tokenizer.begin) else token for i, token in enumerate(run.tokens)]
    asks, values = {"tokens": names[begin:], "from": begin}, {"last": word(names[-1])}
    layer, head = telling_head(run)
    weights = run.trace.blocks[layer].pattern[head, -1].tolist()
    values |= {"head": head_name(layer, head), "heads": n_heads(run)}
    guess = Setting(0, low=begin, high=n - 1).accept(done["look"].get("key")) if "look" in done else None
    if guess is None:
        return Step(asks, values=values)
    key = int(np.argmax(weights))
    told = values | {"seen": word(names[key]), "share": share(weights[key]), "guess": word(names[guess]),
                     "mine": share(weights[guess])}
    same = names[guess] == names[key]
    return Step(asks, {"weights": weights[begin:], "guess": guess - begin},
                [("told_look_same" if same else "told_look", told), ("told_look_on", told)], values)


def telling_head(run: Run) -> tuple[int, int]:
    """(layer, head) of the head with the largest product of its largest weight and its addition to the likeliest next
    token's logit, among heads whose largest weight is on an earlier token of the text; among all heads if there is
    none.
    """
    def make() -> tuple[int, int]:
        trace, last, first = run.trace, len(run.token_ids) - 1, len(run.tokenizer.begin)
        parts = logit_contributions(run.model, trace, last, first_word(run)[0])
        heads = [(float(value), part.layer, part.head) for part, value in zip(parts.parts, parts.values)
                 if part.kind == "head"]
        weights = {(layer, head): trace.blocks[layer].pattern[head, -1] for _, layer, head in heads}
        back = [one for one in heads if first <= int(weights[one[1:]].argmax()) < last]
        return max(back or heads, key=lambda one: one[0] * float(weights[one[1:]].max()))[1:]

    return cache.result(run.key("tour_head"), make, lambda _: 100)


def n_heads(run: Run) -> int:
    """The heads of the model, in all its blocks."""
    return run.model.config.n_layers * run.model.config.n_heads


def heads(_page: Lesson, run: Run, done: dict) -> Step:
    """All heads, and what is left of the likeliest next token when the reader switches some off."""
    if n_words(run) < 3:
        return Step(None)
    config, (top_id, top, before) = run.model.config, first_word(run)
    layer, head = telling_head(run)
    side, tiles = wall_of(run)
    asks = {"layers": config.n_layers, "heads": config.n_heads, "side": side, "met": layer * config.n_heads + head}
    values = {"n": n_heads(run), "top": word(top), "h": config.n_heads, "layers": config.n_layers}
    off = sorted({int(i) for i in done.get("heads", {}).get("off", ()) if 0 <= int(i) < n_heads(run)})
    if not off:
        rows = [{"word": top, "p": before, "before": before}]
        return Step(asks | {"rows": rows}, {"off": [], "rows": rows} if "heads" in done else None, (), values,
                    {"tiles": tiles})
    edits = tuple(HeadEdit(*divmod(i, config.n_heads)) for i in off)
    probs, without = run.trace.probs[-1], run.trace_with(Intervention(heads=edits)).probs[-1]
    ids = list(dict.fromkeys([top_id, *likeliest(without, N_BARS - 2)]))
    rows = [{"word": name, "p": float(without[i]), "before": float(probs[i])}
            for name, i in zip(next_words(run, ids, run.text), ids)]
    now, left = int(without.argmax()), float(without[top_id])
    told = {"off": len(off), "n": n_heads(run), "top": word(top), "before": share(before), "p": share(left),
            "now": word(plain(run.tokenizer.visible(now), run.text)), "p_now": share(float(without[now]))}
    kind = ("one_" if len(off) == 1 else "") + ("stays" if now == top_id else "lost")
    return Step(asks | {"rows": rows}, {"off": off, "rows": rows}, [(f"told_heads_{kind}", told)], values,
                {"tiles": tiles})


def wall_of(run: Run) -> tuple[int, np.ndarray]:
    """The side of a tile, and every head's pattern over the last `side` tokens, (L · h · side²,) uint8, by the square
    root of the weight.
    """
    def make() -> tuple[int, np.ndarray]:
        side = max(4, min(len(run.token_ids), int((MOST_TILE_CELLS / n_heads(run)) ** 0.5)))
        rows = [block.pattern[:, -side:, -side:].clamp(min=0).sqrt().mul(255).round() for block in run.trace.blocks]
        side = min(side, len(run.token_ids))
        return side, np.concatenate([row.numpy().astype(np.uint8).reshape(-1) for row in rows])

    return cache.result(run.key("tour_wall"), make, lambda made: made[1].nbytes)


def layers(page: Lesson, own: Run, done: dict) -> Step:
    """Layer by layer: the block from which on the likeliest next token leads, in the prompt or, if only the last block
    decides there, in the tour's own sentence.
    """
    n, run = own.model.config.n_layers, told_early(page, own)
    _, top, _ = first_word(run)
    asks = {"n": n, "top": top} | ({} if run is own else {"variant": "other", "text": run.text})
    values = {"n": n, "top": word(top)}
    guess = Setting(0, low=0, high=n).accept(done["layers"].get("guess")) if "layers" in done else None
    if guess is None:
        return Step(asks, values=values)
    ids, chances = lens_of(run)
    first = lead_of(ids)
    changes = sum(a != b for a, b in zip(ids, ids[1:]))
    at = sorted({*np.linspace(0, n, min(n + 1, MOST_RUNGS)).round().astype(int).tolist(), first, guess})
    names = next_words(run, ids, run.text)
    rungs = [{"after": k, "word": names[k], "p": chances[k], "mine": k == guess, "first": k == first} for k in at]
    told = values | {"guess": guess, "first": first, "changes": changes, "last": word(names[0]),
                     "own": word(first_word(own)[1])}
    leads = "told_layers_start" if not first else "told_layers_end" if first == n else "told_layers_from"
    said = ["told_layers_right" if guess == first else "told_layers_wrong", leads,
            *["told_layers_repeats"] * (ids[0] == run.token_ids[-1]), *["told_layers_changes"] * (changes > 1),
            *["told_layers_own"] * (run is not own)]
    return Step(asks, {"rungs": rungs}, [(label, told) for label in said], values)


def told_early(page: Lesson, run: Run) -> Run:
    """The run; or the same model's on the tour's own sentence, if its likeliest next token leads before the last block
    there and not in the run.
    """
    if leads_early(run):
        return run
    other = run.with_text(page.label("text_layers"))
    return other if leads_early(other) else run


def leads_early(run: Run) -> bool:
    """Whether the likeliest next token leads before the last block."""
    return lead_of(lens_of(run)[0]) < run.model.config.n_layers


def lead_of(leaders: list[int]) -> int:
    """After how many blocks the last one of the leading tokens leads, and stays ahead.

    >>> lead_of([5, 7, 5, 9, 9]), lead_of([3, 3])
    (3, 0)
    """
    return max((k + 1 for k, leader in enumerate(leaders) if leader != leaders[-1]), default=0)


def lens_of(run: Run) -> tuple[list[int], list[float]]:
    """If the model stopped after 0, 1, … L blocks: the token that would be likeliest next, and the probability of the
    one that is likeliest in the end.
    """
    def make() -> tuple[list[int], list[float]]:
        probs = [logit_lens(run.model, resid[-1]).softmax(-1) for resid in run.trace.depths]
        top = first_word(run)[0]
        return [int(row.argmax()) for row in probs], [float(row[top]) for row in probs]

    return cache.result(run.key("tour_lens"), make, lambda made: 100 * len(made[0]))
