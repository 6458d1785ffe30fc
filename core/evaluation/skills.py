"""What the two models of one skill are worth: `blanks`, which fills in what is hidden, and `induction`, which goes on
with what repeats.

`python -m core.evaluation.skills NAME` prints a model's scores; with --run FOLDER --publish it bundles the model of
that training run, with a card.
"""
import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from core.analysis.induction import induction
from core.analysis.stream_and_heads import induction_score
from core.evaluation.publish import publish
from core.evaluation.report import percent, rows
from core.evaluation.translation import circumstances
from core.model import checkpoints
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.blanks import held_out_blanks, held_out_sentiment
from core.training.corpus import read_documents

HELD_OUT_TEXT = "heldout_tinystories.txt"
N_SENTENCES = 1000
SENTENCE = " The queen gave me six red apples, but Tom lost them."


def blanks_scores(model: Transformer, tokenizer: Tokenizer, corpus: Path | None) -> dict[str, str]:
    """The rows of the card's table: answers, nats each and share right, on hidden tokens (with a corpus) and on
    held-out sentiment sentences.
    """
    measured = [(f"`{Path(HELD_OUT_TEXT).stem}`",
                 held_out_blanks(model, tokenizer, read_documents(corpus / HELD_OUT_TEXT)))] if corpus else []
    measured.append(("[CLS]", held_out_sentiment(model, tokenizer, N_SENTENCES)))
    return dict(scores=rows((what, f"{score.n:,}", f"{score.nats:.3f}", percent(score.right))
                            for what, score in measured))


def repeated_sentence(model: Transformer, tokenizer: Tokenizer, text: str = SENTENCE) -> tuple[float, float]:
    """Of `text` read twice: the highest induction score of any head, and the share of the second reading's tokens, save
    the first, that are the most probable ones.
    """
    once = tokenizer.encode(text)
    trace = model(torch.tensor([tokenizer.end_of_text, *once, *once], device=model.device))
    score = max(float(induction_score(block.pattern, trace.token_ids).max()) for block in trace.blocks)
    guesses, true = trace.logits[len(once) + 1:-1].argmax(-1), trace.token_ids[len(once) + 2:]
    return score, float((guesses == true).double().mean())


def induction_scores(model: Transformer, tokenizer: Tokenizer, corpus: Path | None) -> dict[str, str]:
    """Every head's previous-token and induction score on repeated random tokens, their losses, and what comes of a
    sentence that is repeated.
    """
    found = induction(model)
    heads = rows((f"{layer}.{head}", f"{found.previous_token[layer, head]:.3f}", f"{found.induction[layer, head]:.3f}")
                 for layer, head in np.ndindex(found.induction.shape))
    score, right = repeated_sentence(model, tokenizer)
    return dict(scores=heads, first=f"{found.first:.2f}", second=f"{found.second:.2g}", sentence=SENTENCE.strip(),
                sentence_score=f"{score:.3f}", sentence_right=percent(right))


SCORES = {"blanks": blanks_scores, "induction": induction_scores}


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m core.evaluation.skills",
                                description="What a model of one skill is worth. Prints what stands in its card.")
    p.add_argument("name", choices=sorted(SCORES), help="which model")
    p.add_argument("--run", type=Path, metavar="FOLDER",
                   help="the model of this training run, instead of the bundled one")
    p.add_argument("--corpus", type=Path, metavar="DIR",
                   help=f"the folder of {HELD_OUT_TEXT}, for the hidden tokens of blanks")
    p.add_argument("--publish", action="store_true", help="with --run: then bundle the run's model")
    return p


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parser().parse_args(argv)
    if arguments.publish and not (arguments.run and (arguments.corpus or arguments.name != "blanks")):
        raise SystemExit("--publish needs the --run to publish, and for blanks the --corpus.")
    torch.set_num_threads(1)                                  # faster on models this small
    model, tokenizer = (checkpoints.load(arguments.run / "model") if arguments.run
                        else checkpoints.load_bundled(arguments.name))
    scores = SCORES[arguments.name](model, tokenizer, arguments.corpus)
    print("\n".join(f"{name}:\n{value}" for name, value in scores.items()))
    if arguments.publish:
        publish(arguments.name, arguments.run, scores | circumstances(arguments.run))


if __name__ == "__main__":
    main()
