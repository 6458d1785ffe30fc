"""All modalities: an image cut into patches that become tokens, with sound, a protein and a text beside it as sequences
of their own lengths, and one attention head that reads the patches, alone or after the words of a text.
"""
import pandas as pd

from core.app.lesson import Lesson, Question, Reading
from core.components.lib.token_view import token_view
from core.cost import sequence_work
from core.figures.numbers import grouped
from pages.architectures.shared import PREFIX, keep, read

SIDE = 224                               # points of the image, each way
SIZES = (8, 14, 16, 28, 32, 56)          # of a patch, all divisors of SIDE
FINEST_READ = 14                         # the smallest patch that the head reads: 784 tokens would be slow
CHANNELS = 3
TEXT = 512                               # tokens of BERT's context
SOUND_SECONDS, FRAME = 30, 0.02          # of a sound, in frames of 10 ms joined in pairs
INSULIN = "GIVEQCCTSICSLYQLENYCN" "FVNQHLCGSHLVEALYLVCGERGFFYTPKT"      # human, chains A and B, a letter a residue
# An image with the grid of its patches; the patches in a row and the squares of pairs of several sequences, or what an
# attention head gives each patch.
_picture = token_view("architecture_pieces", __file__)


def lengths(patch: int) -> dict[str, int]:
    """The tokens of each sequence, the image in patches of `patch` points a side."""
    return {"text": TEXT, "image": (SIDE // patch) ** 2, "sound": round(SOUND_SECONDS / FRAME),
            "protein": len(INSULIN)}


def sizes(sequence: str) -> list[int]:
    """The sizes of a patch that are offered: the head reads no smaller ones than FINEST_READ."""
    least = 0 if sequence == "lengths" else FINEST_READ
    return [one for one in SIZES if one >= least]


def size(sequence: str = "lengths") -> int:
    """The size of a patch nearest to the setting."""
    return min(sizes(sequence), key=lambda one: abs(one - read("patch")))


def draw(page: Lesson, sequence: str) -> Reading:
    """Draw the image and what reads it, and return what they show. sequence: "lengths", "head" or "joined"."""
    patch, words = size(sequence), page.text("pieces_words").split()
    counts, settings = lengths(patch), {name: read(name) for name in ("piece", "placed", "mixed")}
    _picture(page.header("pieces") | {"side": SIDE, "sizes": sizes(sequence), "patch": patch, "lengths": counts,
                                      "protein": INSULIN, "words": words,
                                      "settings": settings | {"sequence": sequence}},
             key=f"{PREFIX}pieces",
             on_settings=lambda said: keep(**{name: said[name] for name in ("patch", *settings)}))
    n = counts["image"]
    lines = [(page.label("numbers_patches", side=SIDE, patch=patch),
              r"N = \frac{H}{P} \cdot \frac{W}{P} = "
              rf"\frac{{{SIDE}}}{{{patch}}} \cdot \frac{{{SIDE}}}{{{patch}}} = {n}"),
             (page.label("numbers_flat"), rf"3 P^2 = 3 \cdot {patch}^2 = {CHANNELS * patch ** 2}"),
             (page.label("numbers_pairs", n=n), rf"N^2 = {n}^2 = {n ** 2}"),
             (page.label("numbers_sound"), rf"\frac{{{SOUND_SECONDS}}}{{0.01 \cdot 2}} = {counts['sound']}"),
             (page.label("numbers_protein"), rf"21 + 30 = {counts['protein']}"),
             (page.label("numbers_video"), r"\frac{16}{2} \cdot \left(\frac{224}{16}\right)^2 = 1568")]
    if sequence == "joined":
        t = len(words)
        lines.append((page.label("numbers_joined"), rf"(T + N)^2 = T^2 + 2TN + N^2 = {t ** 2} + {2 * t * n} + {n ** 2} "
                      rf"= {(t + n) ** 2}"))
    said = "pieces_said" if sequence == "lengths" else f"pieces_title_{sequence}"
    both = n + len(words) * (sequence == "joined")
    title = page.label(said, side=SIDE, patch=patch, n=grouped(n), words=len(words), all=both, pairs=grouped(both ** 2))
    return Reading(lines, _question(page), [sequence_work.attention_pairs],
                   {"sequences.csv": lambda: pd.DataFrame([{"kind": kind, "tokens": count, "pairs": count ** 2}
                                                           for kind, count in counts.items()])},
                   ".architecture_pieces .pieces", title, explanation="record_pieces")


def _question(page: Lesson) -> Question:
    """By which factor the number of pairs in attention grows with patches of half the width."""
    pairs = [lengths(patch)["image"] ** 2 for patch in (16, 8)]
    options = [2, 4, 16, 64]
    return page.question("patches", [page.label("patches_option", n=option) for option in options],
                         options.index(pairs[1] // pairs[0]), before=pairs[0], after=pairs[1])
