"""`python -m core.evaluation.translation`: what the translator translates without a mistake, and whether its
cross-attention can be read.
"""
import argparse
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from core.evaluation.publish import publish
from core.evaluation.report import percent, rows
from core.model import checkpoints
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.dates import DIRECTIONS
from core.training.translation import alignment, exact_match, held_out_nats, held_out_pairs

NAME, N_PAIRS = "translator", 1000


@dataclass(frozen=True)
class TranslationScore:
    """What was measured of one direction on n held-out pairs.

    exact: the share translated without a mistake; head: (layer, head) of the cross-attention that is aligned best;
    head_aligned, block_aligned: the share of tokens aligned by it, and by the mean pattern of the block whose mean is
    aligned best (core.training.translation.Alignment).
    """

    direction: str
    n: int
    nats_per_token: float
    exact: float
    head: tuple[int, int]
    head_aligned: float
    block: int
    block_aligned: float


def score(model: Transformer, tokenizer: Tokenizer, direction: str, n: int = N_PAIRS) -> TranslationScore:
    """The score of one direction."""
    pairs = held_out_pairs(direction, n)
    aligned = alignment(model, tokenizer, pairs)
    head = divmod(int(aligned.heads.argmax()), model.config.n_heads)
    return TranslationScore(direction, n, held_out_nats(model, tokenizer, pairs), exact_match(model, tokenizer, pairs),
                            head, float(aligned.heads.max()), int(aligned.means.argmax()), float(aligned.means.max()))


def score_row(s: TranslationScore) -> tuple[str, ...]:
    """One row of the card's table.

    >>> score_row(TranslationScore("to digits", 1000, 0.01234, 0.999, (0, 3), 0.96, 1, 0.5))
    ('to digits', '0.012340', '999 of 1,000', '0.3: 96.0 %', '1: 50.0 %')
    """
    return (s.direction, f"{s.nats_per_token:.6f}", f"{round(s.exact * s.n):,} of {s.n:,}",
            f"{s.head[0]}.{s.head[1]}: {percent(s.head_aligned)}", f"{s.block}: {percent(s.block_aligned)}")


def circumstances(run: Path) -> dict[str, str]:
    """How long a run took, by the clock, and on what."""
    last = json.loads((run / "training.json").read_text(encoding="utf-8"))[-1]
    return dict(minutes=f"{last['hours'] * 60:.0f}",
                hardware=json.loads((run / "recipe.json").read_text(encoding="utf-8"))["hardware"])


def main(argv: Sequence[str] | None = None) -> None:
    p = argparse.ArgumentParser(prog="python -m core.evaluation.translation",
                                description="Measure the translator on held-out dates. Prints JSON.")
    p.add_argument("--run", type=Path, metavar="FOLDER",
                   help="the model of this training run instead of the bundled one")
    p.add_argument("--publish", action="store_true", help="with --run: then bundle the run's model")
    arguments = p.parse_args(argv)
    if arguments.publish and not arguments.run:
        raise SystemExit("--publish needs the --run to publish.")
    torch.set_num_threads(1)                                  # faster on models this small
    model, tokenizer = checkpoints.load(arguments.run / "model") if arguments.run else checkpoints.load_bundled(NAME)
    scores = [score(model, tokenizer, direction) for direction in DIRECTIONS]
    print(json.dumps([dataclasses.asdict(s) for s in scores], indent=1))
    if arguments.publish:
        publish(NAME, arguments.run, dict(scores=rows(map(score_row, scores)), **circumstances(arguments.run)))


if __name__ == "__main__":
    main()
