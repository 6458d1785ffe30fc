"""All modalities: an image cut into patches that become tokens, with sound, a protein and a text beside it as sequences
of their own lengths.
"""
import pandas as pd

from core.app.frame import Lesson, Question, Reading
from core.components.lib.token_view import token_view
from core.cost import sequence_work
from core.figures.numbers import grouped
from pages.architectures.shared import PREFIX, SETTINGS, keep, read

SIDE = 224                               # points of the image, each way
SIZES = (8, 14, 16, 28, 32, 56)          # of a patch, all divisors of SIDE
CHANNELS = 3
TEXT = 512                               # tokens of BERT's context
SOUND_SECONDS, FRAME = 30, 0.02          # of a sound, in frames of 10 ms of which two are joined
INSULIN = "GIVEQCCTSICSLYQLENYCN" "FVNQHLCGSHLVEALYLVCGERGFFYTPKT"      # human, chains A and B, a letter a residue
# An image with the grid of its patches, the patches in a row, and the squares of pairs of several sequences.
_picture = token_view("architecture_pieces", __file__)


def lengths(patch: int) -> dict[str, int]:
    """The tokens of each sequence, the image in patches of so many points a side."""
    return {"text": TEXT, "image": (SIDE // patch) ** 2, "sound": round(SOUND_SECONDS / FRAME),
            "protein": len(INSULIN)}


def size() -> int:
    """The size of a patch nearest to the setting."""
    return min(SIZES, key=lambda one: abs(one - read("patch")))


def draw(page: Lesson) -> Reading:
    """Draw the image and the sequences and return what they show."""
    patch, counts = size(), lengths(size())
    low, high = SETTINGS.each["patch"].low, SETTINGS.each["patch"].high
    _picture(page.header("pieces") | {"side": SIDE, "sizes": [one for one in SIZES if low <= one <= high],
                                      "patch": patch, "lengths": counts, "protein": INSULIN},
             key=f"{PREFIX}pieces", on_settings=lambda settings: keep(patch=settings["patch"]))
    n = counts["image"]
    lines = [(page.label("numbers_patches", side=SIDE, patch=patch),
              r"N = \frac{H}{P} \cdot \frac{W}{P} = "
              rf"\frac{{{SIDE}}}{{{patch}}} \cdot \frac{{{SIDE}}}{{{patch}}} = {n}"),
             (page.label("numbers_flat"), rf"3 P^2 = 3 \cdot {patch}^2 = {CHANNELS * patch ** 2}"),
             (page.label("numbers_pairs", n=n), rf"N^2 = {n}^2 = {n ** 2}"),
             (page.label("numbers_sound"), rf"\frac{{{SOUND_SECONDS}}}{{0.01 \cdot 2}} = {counts['sound']}"),
             (page.label("numbers_protein"), rf"21 + 30 = {counts['protein']}"),
             (page.label("numbers_video"), r"\frac{16}{2} \cdot \left(\frac{224}{16}\right)^2 = 1568")]
    title = page.label("pieces_said", side=SIDE, patch=patch, n=grouped(n), pairs=grouped(n * n))
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
