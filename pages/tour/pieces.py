"""Steps 4 to 6: the text becomes pieces, the pieces lie near or far, and each is a list of numbers."""
import numpy as np
import torch

from core.analysis import embeddings
from core.app.compute import cache
from core.app.lesson import Lesson
from core.app.state import Run
from core.app.state.lesson_settings import Setting
from core.base.prose import TextFile
from core.language import segmentation
from core.model.tokenizer import Tokenizer
from pages.tour.shared import MOST_CHARACTERS, Step, n_words, word

MOST_BYTES = 160            # of the text that is cut before the reader's eyes
MOST_FRAMES = 12            # moments of the cutting that are shown
N_NEIGHBOURS = 7
SIZES = (2, 32, 10_000)     # what may stand beside the true length of a list


def pieces(_page: Lesson, run: Run, done: dict) -> Step:
    """Cut into pieces: from single characters to tokens, rule by rule."""
    frames, n_rules = frames_of(run)
    if not frames:
        return Step(None)
    first, last = (sum(map(len, frame)) for frame in (frames[0], frames[-1]))
    asks = {"signs": frames[0], "n": first}
    if "".join(sum(frames[0], [])) != run.text.replace(" ", "·"):
        asks["variant"] = "part"
    guess = Setting(1, low=1, high=first).accept(done["pieces"].get("guess")) if "pieces" in done else None
    if guess is None:
        return Step(asks)
    values = {"guess": guess, "n": last, "signs": first, "rules": n_rules}
    said = ["told_pieces_same" if guess == last else "told_pieces", "told_pieces_dot",
            *["told_pieces_start"] * bool(run.tokenizer.begin)]
    return Step(asks, {"frames": frames}, [(label, values) for label in said])


def frames_of(run: Run) -> tuple[list[list[list[str]]], int]:
    """At most MOST_FRAMES moments of the merging of the text's last words, each a list of words of pieces, and how many
    rules were applied; the first has single bytes, the last the tokens. Where the tokenizer is no BPE of ours, nothing
    stands between the two.
    """
    tokenizer, words = run.tokenizer, []
    if not n_words(run):
        return [], 0
    if tokenizer.method != Tokenizer.method:
        tokens = run.tokens[-min(40, n_words(run)):]
        return [[list("".join(tokens))], [tokens]], 0
    for part in reversed(tokenizer.words(run.text)):
        if words and sum(map(len, words)) + len(part) > MOST_BYTES:
            break
        words.insert(0, part)
    steps = list(segmentation.merge_steps([[part[i:i + 1] for i in range(len(part))] for part in words],
                                          tokenizer.ranks))
    states = [[tuple(part[i:i + 1] for i in range(len(part))) for part in words], *(step.words for step in steps)]
    at = np.unique(np.linspace(0, len(steps), min(len(states), MOST_FRAMES)).round().astype(int))
    names = {piece: tokenizer.visible(tokenizer.id_of(piece)) for state in states for part in state for piece in part}
    return [[[names[piece] for piece in part] for part in states[i]] for i in at], len(steps)


def near(page: Lesson, run: Run, done: dict) -> Step:
    """Near and far: the reader's guess among the neighbours of a word."""
    act, typed = done.get("near"), typed_word(page.words, done)
    asks, token = {"word": typed}, piece_of(typed, run)
    guess = str(act.get("guess", "")).strip()[:MOST_CHARACTERS] if act else ""
    if not guess:
        return Step(asks)
    if token is None:
        return Step(asks | {"offers": offered(page.words, run)}, None, [("told_near_cut", {"typed": word(typed)})])
    scores, order = neighbours(run, token)
    name, names = run.tokenizer.visible(token), [run.tokenizer.visible(i) for i in order[:N_NEIGHBOURS].tolist()]
    around = [{"word": name, "near": float(scores[i])} for name, i in zip(names, order.tolist())]
    mine, values = piece_of(guess, run), {"word": word(name), "first": word(names[0]), "n": len(order)}
    tells, shown = {"centre": name, "around": around, "far": float(scores.median())}, {
        "value": f"{around[0]['near']:.2f}"}
    if mine is None:
        return Step(asks, tells, [("told_near_guess_cut", values | {"guess": word(guess)})], shown)
    if mine == token:
        return Step(asks, tells, [("told_near_itself", values)], shown)
    rank = embeddings.rank(scores, mine, [token])
    values |= {"guess": word(run.tokenizer.visible(mine)), "rank": rank}
    if rank <= len(around):
        around[rank - 1]["mine"] = True
    else:
        around.append({"word": run.tokenizer.visible(mine), "near": float(scores[mine]), "mine": True})
    return Step(asks, tells, [("told_near_same" if rank == 1 else "told_near", values)], shown)


def neighbours(run: Run, token: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The cosine (|V|,) of every row of E with the token's, and the ids of the others, the nearest first."""
    def make() -> tuple[torch.Tensor, torch.Tensor]:
        E = run.model.E.detach().to("cpu", torch.float32)
        scores = embeddings.similarity(E, E[token])
        return scores, embeddings.nearest(scores, [token])

    return cache.result(run.loaded.key("tour_neighbours", token), make, lambda made: made[0].nbytes + made[1].nbytes)


def typed_word(words: TextFile, done: dict) -> str:
    """The word whose neighbours the reader asks for."""
    return str(done.get("near", {}).get("word") or words.label("near_word"))[:MOST_CHARACTERS]


def offered(words: TextFile, run: Run) -> list[str]:
    """Words that are one piece for this model, in place of one that it cuts."""
    return [name for name in words.label("near_words").split(", ") if piece_of(name, run) is not None]


def piece_of(typed: str, run: Run) -> int | None:
    """The one token of a typed word, with the space before it that words have in a text where that is one; None for a
    word that the model cuts.
    """
    bare = typed.strip().removeprefix("·").strip()
    cuts = [run.tokenizer.encode(spelled) for spelled in (f" {bare}", bare)] if bare else []
    return next((ids[0] for ids in cuts if len(ids) == 1), None)


def numbers(page: Lesson, run: Run, done: dict) -> Step:
    """A list of numbers: how long it is, and the word's own list beside its nearest neighbour's."""
    asked, d = [typed_word(page.words, done), *offered(page.words, run)], run.model.config.d_embedding
    token = next((one for one in (piece_of(name, run) for name in asked) if one is not None), run.token_ids[-1])
    name = run.tokenizer.visible(token)
    asks, values = {"options": sorted({*SIZES, d})}, {"word": word(name), "d": d, "n": run.tokenizer.vocab_size}
    guess = Setting(0).accept(done["numbers"].get("guess")) if "numbers" in done else None
    if guess not in asks["options"]:
        return Step(asks, values=values)
    other = int(neighbours(run, token)[1][0])
    rows = {f"row_{i}": run.model.E[row].detach().to("cpu", torch.float32).numpy()
            for i, row in enumerate((token, other))}
    said = [("told_numbers_same" if guess == d else "told_numbers", values | {"guess": guess}),
            ("told_numbers_read", values)]
    return Step(asks, {"words": [name, run.tokenizer.visible(other)], "guess": guess}, said, values, rows)
