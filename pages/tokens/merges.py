"""Merges: the model's tokenizer merges the prompt's bytes into tokens, rule by rule."""
import itertools
from collections import Counter
from dataclasses import dataclass

import pandas as pd

from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Reading, Truth, cannot
from core.app.state import Run, prompts, reader
from core.base.markdown import code
from core.components.lib.token_view import PLAYER_CSS, token_view
from core.figures.numbers import latex_number
from core.language import segmentation
from core.language.segmentation import Step
from core.model.tokenizer import BLANK, Tokenizer
from pages.tokens.shared import PREFIX, hex_bytes, keep, method_name, question, read

PLAYER = f"{PREFIX}merges_player"
MOST_BYTES = 700        # of the prompt's words; the picture shows only whole words
# The pieces of a text on a line, below each the two merged into it; the reader steps, scrubs or plays.
_picture = token_view("token_merges", __file__, PLAYER_CSS)


@dataclass(frozen=True)
class Merging:
    """The merges of a prompt's words. words: as bytes; steps: every merge, in order; first: the position of the words'
    first token in the prompt; left_out: the number of further words.
    """

    words: tuple[bytes, ...]
    steps: tuple[Step[bytes], ...]
    first: int
    left_out: int

    @property
    def final(self) -> tuple[tuple[bytes, ...], ...]:
        """The tokens of each word."""
        return self.steps[-1].words if self.steps else tuple(split(word) for word in self.words)

    @property
    def n_tokens(self) -> int:
        return sum(map(len, self.final))

    @property
    def n_bytes(self) -> int:
        return sum(map(len, self.words))

    def tokens_after(self, n: int) -> int:
        """The number of tokens after n merges; n −1: after all."""
        done = len(self.steps) if n < 0 else min(n, len(self.steps))
        return sum(map(len, self.steps[done - 1].words)) if done else self.n_bytes


def split(word: bytes) -> tuple[bytes, ...]:
    """The single bytes of a word.

    >>> split(b"at")
    (b'a', b't')
    """
    return tuple(word[i:i + 1] for i in range(len(word)))


def merging_of(run: Run) -> Merging:
    """The merges of the whole words, at most MOST_BYTES bytes, in the part of the prompt that the model reads."""
    return cache.result(run.key("tokens_merges"), lambda: _merging(run.tokenizer, run),
                        lambda value: 200 + 64 * (value.n_bytes + 1) * (len(value.steps) + 1))


def _merging(tokenizer: Tokenizer, run: Run) -> Merging:
    ids, text = run.own_ids, prompts.clean_prompt(run.text)
    start = len(ids) - ids[::-1].index(tokenizer.mask_token) if tokenizer.mask_token in ids else 0
    kept = [tokenizer.token_bytes(i) for i in ids[start:]]
    room, words = sum(map(len, kept)), []
    # no merge crosses a blank
    for word in reversed(tokenizer.words(BLANK.split(text)[-1] if start else text)):
        if len(word) > room:        # the context cuts its beginning
            break
        room -= len(word)
        words.insert(0, word)
    added = len(tokenizer.begin) + start
    first, before = added, room
    while before > 0:
        before -= len(kept[first - added])
        first += 1
    ends = itertools.accumulate(map(len, words))
    complete = [word for word, end in zip(words, ends) if end <= MOST_BYTES] or words[:1]
    steps = tuple(segmentation.merge_steps([split(word) for word in complete], tokenizer.ranks))
    return Merging(tuple(complete), steps, first, len(words) - len(complete))


def nodes_of(words: tuple[bytes, ...], steps: tuple[Step[bytes], ...]) -> list[tuple[int, int, int, int, bytes]]:
    """Every single merge as (step, first byte, first byte of the right piece, end, token), with bytes numbered through
    all words.
    """
    nodes, before = [], [split(word) for word in words]
    for number, step in enumerate(steps):
        offset = 0
        for old, new in zip(before, step.words):
            at, i = offset, 0
            for piece in new if len(new) < len(old) else ():
                if piece != old[i]:
                    nodes.append((number, at, at + len(step.left), at + len(piece), piece))
                    i += 1
                at, i = at + len(piece), i + 1
            offset += sum(map(len, old))
        before = list(step.words)
    return nodes


def message(page: Lesson, run: Run, merging: Merging) -> dict:
    """The message to merges.js."""
    tokenizer, ranks = run.tokenizer, run.tokenizer.ranks
    id_of = tokenizer.id_of
    nodes = nodes_of(merging.words, merging.steps)
    states = [tuple(split(word) for word in merging.words), *(step.words for step in merging.steps)]
    pairs = {pair for words in states for word in words for pair in zip(word, word[1:]) if pair in ranks}
    leaves = [id_of(byte) for word in merging.words for byte in split(word)]
    used = {*leaves, *(id_of(node[4]) for node in nodes), *(id_of(piece) for pair in pairs for piece in pair)}
    starts = [sum(map(len, merging.words[:w])) for w in range(len(merging.words))]
    made_by = {id_of(left + right): rank for (left, right), rank in ranks.items()}
    return page.header("merges", twin=sentence(page, merging), note=left_out(page, merging)) | {
        "identity": f"{run.model_name} {run.token_ids}",
        "names": {i: tokenizer.visible(i) for i in used},
        "bytes": {i: hex_bytes(tokenizer.token_bytes(i)) for i in used},
        "rules": {i: made_by[i] for i in used if i in made_by}, "leaves": leaves, "words": starts,
        "steps": [(step.rank, id_of(step.left), id_of(step.right), id_of(step.left + step.right))
                  for step in merging.steps], "nodes": [(*node[:4], id_of(node[4])) for node in nodes],
        "pairs": {f"{id_of(left)},{id_of(right)}": ranks[left, right] for left, right in pairs},
        "first": merging.first, "settings": {"step": read("merged"), "position": reader.selection().position}}


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which neighbours are joined first; None if only one pair, or none, could be."""
    if run.tokenizer.method != Tokenizer.method:
        return None
    merging = merging_of(run)
    offered = first_pairs(merging, run.tokenizer)
    if len(offered) < 2:
        return None

    def truth(guess: int) -> Truth:
        first = merging.steps[0]
        pair = first.left, first.right
        return Truth(offered.index(pair), seen=0 if pairs_of(merging).count(pair) > 1 else 1,
                     values={"rank": first.rank, "pair": pair_name(page, run.tokenizer, pair)})

    return Prediction("merges", Options([pair_name(page, run.tokenizer, pair) for pair in offered]), truth)


def pairs_of(merging: Merging) -> list[tuple[bytes, bytes]]:
    """All pairs of neighbouring bytes within the words, along the text."""
    return [pair for word in merging.words for pair in zip(split(word), split(word)[1:])]


def first_pairs(merging: Merging, tokenizer: Tokenizer) -> list[tuple[bytes, bytes]]:
    """The pair that is joined first, among those that one might take for it: the first of the text, the most frequent,
    and that of the latest rule; in the order of the text.
    """
    pairs, ranks = pairs_of(merging), tokenizer.ranks
    known = [pair for pair in pairs if pair in ranks]
    if not known:
        return []
    often = Counter(pairs).most_common(1)[0][0]
    offered = {min(known, key=ranks.get), pairs[0], often, max(known, key=ranks.get)}
    return sorted(offered, key=pairs.index)


def pair_name(page: Lesson, tokenizer: Tokenizer, pair: tuple[bytes, bytes]) -> str:
    left, right = (code(tokenizer.visible(tokenizer.id_of(piece))) for piece in pair)
    return page.label("before_merges_pair", left=left, right=right)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the player; return its Reading."""
    if run.tokenizer.method != Tokenizer.method:
        return cannot(page.label("merges_other", method=method_name(page, run.tokenizer)))
    merging = merging_of(run)
    _picture(message(page, run, merging), key=PLAYER, on_settings=_apply)
    position = reader.selection().position
    token = run.token_ids[position]
    rules = rules_table(page, run.tokenizer, token)
    return Reading(_lines(page, run, merging, position), question(page, run),
                   [segmentation.merge_steps, segmentation.merged],
                   {"merges.csv": lambda: steps_table(page, run, merging)},
                   ".merge-tree", sentence(page, merging), rules, {page.label("column_tokens"): str(merging.n_tokens)})


def steps_table(page: Lesson, run: Run, merging: Merging) -> pd.DataFrame:
    """Every step: its number, the rule's rank, left, right, and the tokens after it."""
    rows = [(n, step.rank, *(run.tokenizer.visible(run.tokenizer.id_of(piece)) for piece in (step.left, step.right)),
             sum(map(len, step.words)))
            for n, step in enumerate(merging.steps, 1)]
    return page.table(rows, "step", "rank", "left", "right", "tokens")


def _apply(settings: dict) -> None:
    keep(merged=settings["step"])
    if settings["position"] is not None:
        reader.select(position=int(settings["position"]))


def sentence(page: Lesson, merging: Merging) -> str:
    """A sentence that describes the picture."""
    text = page.label("merges_twin", n=len(merging.steps), bytes=merging.n_bytes, tokens=merging.n_tokens,
                      words=len(merging.words))
    return f"{text} {left_out(page, merging)}".strip()


def left_out(page: Lesson, merging: Merging) -> str:
    """A sentence on the number of words that the picture leaves out; "" if it shows all."""
    return page.label("merges_left_out", n=merging.left_out) if merging.left_out else ""


def rules_of(tokenizer: Tokenizer, token: bytes) -> list[Step[bytes]]:
    """The rules that merge a token's bytes into it, in order; none for a single byte."""
    return list(segmentation.merge_steps([split(token)], tokenizer.ranks))


def rules_table(page: Lesson, tokenizer: Tokenizer, token_id: int) -> pd.DataFrame:
    """The rules that make the token: rank, left, right, result, its id."""
    rows = [(step.rank,
             *(tokenizer.visible(tokenizer.id_of(piece)) for piece in (step.left, step.right, step.left + step.right)),
             tokenizer.id_of(step.left + step.right))
            for step in rules_of(tokenizer, tokenizer.token_bytes(token_id))]
    return page.table(rows, "rank", "left", "right", "result", "id")


def merges_made(before: tuple[bytes, ...], steps: list[Step[bytes]]) -> list[int]:
    """The number of pairs of one word that each step merges, which is the number of pieces that the word loses."""
    sizes = [len(before), *(len(step.words[0]) for step in steps)]
    return [old - new for old, new in zip(sizes, sizes[1:])]


def _lines(page: Lesson, run: Run, merging: Merging, position: int) -> list[tuple[str, str]]:
    token = run.token_ids[position]
    piece = run.tokenizer.token_bytes(token)
    lines = []
    if merging.n_tokens:
        now = merging.tokens_after(read("merged"))
        lines.append(
            (page.label("numbers_rate"),
             rf"\frac{{\text{{{page.label('unit_bytes')}}}}}{{\text{{{page.label('unit_tokens')}}}}} = "
             rf"\frac{{{merging.n_bytes}}}{{{now}}} = {latex_number(merging.n_bytes / now)}"))
    steps = rules_of(run.tokenizer, piece)
    # ids in the order of learning: end of text 0, the 256 bytes, then one id a rule
    if steps and token == 256 + steps[-1].rank:
        lines.append((page.label("numbers_id", token=code(run.tokens[position])),
                      rf"\mathrm{{id}} = 256 + k = 256 + {steps[-1].rank} = {token}"))
    if steps:
        merges = sum(merges_made(split(piece), steps))
        lines.append((page.label("numbers_rules", token=code(run.tokens[position]), n=len(piece)),
                      rf"{len(piece)} - {merges} = {len(piece) - merges}"))
    else:
        lines.append((page.label("numbers_no_rules", token=code(run.tokens[position])), rf"\mathrm{{id}} = {token}"))
    return lines
