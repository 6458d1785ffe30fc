"""`python -m core.evaluation`: measure a model and print the report."""
import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from core.evaluation.evaluate import Corpus, Sizes, evaluate
from core.evaluation.publish import publish
from core.evaluation.report import as_json, sections
from core.model import checkpoints


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m core.evaluation",
                                description="What a model is worth: losses, teaching tasks, induction, calibration, "
                                            "samples, memorisation. Prints Markdown; takes a few minutes.")
    p.add_argument("--model", default="stories", help="a bundled model's name (default %(default)s)")
    p.add_argument("--run", type=Path, metavar="FOLDER", help="the model of this training run instead")
    p.add_argument("--corpus", type=Path, metavar="DIR",
                   help="a folder of training text (*.txt; heldout_* and out_of_domain_* are not trained on): then the "
                        "held-out losses and the longest verbatim run too")
    p.add_argument("--json", type=Path, metavar="FILE", help="write the same as JSON")
    p.add_argument("--publish", action="store_true",
                   help="with --run and --corpus: then bundle the run's model under --model's name")
    return p


def announce(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what} …", file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None, sizes: Sizes = Sizes()) -> None:
    arguments = parser().parse_args(argv)
    if arguments.publish and not (arguments.run and arguments.corpus):
        raise SystemExit("--publish needs the --run to publish and the --corpus for its card.")
    torch.set_num_threads(1)                                  # faster on models this small
    model, tokenizer = (checkpoints.load(arguments.run / "model") if arguments.run
                        else checkpoints.load_bundled(arguments.model))
    if arguments.corpus:
        announce("reading the corpus")
    try:
        evaluation = evaluate(model, tokenizer, Corpus.read(arguments.corpus, tokenizer) if arguments.corpus else None,
                              sizes, announce)
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from error
    report = sections(evaluation)
    print("\n\n".join(report.values()))
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(evaluation), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if arguments.publish:
        publish(arguments.model, arguments.run, report, evaluation.lengths)


if __name__ == "__main__":
    main()
