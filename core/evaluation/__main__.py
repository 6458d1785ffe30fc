"""`python -m core.evaluation`: measure a model, print its report, and bundle it."""
import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from core.evaluation.evaluate import Corpus, Sizes, evaluate
from core.evaluation.publish import publish
from core.evaluation.report import as_json, sections
from core.evaluation.skills import SKILLS, WITHOUT_TEXT
from core.files import write_json
from core.model import checkpoints


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m core.evaluation",
                                description="What a model is worth: losses, teaching tasks, induction, calibration, "
                                            "samples, memorisation; of a model of one skill, that skill. Prints "
                                            "Markdown; takes a few minutes.")
    p.add_argument("--model", default="stories", help="a bundled model's name (default %(default)s)")
    p.add_argument("--run", type=Path, metavar="FOLDER", help="the model of this training run instead")
    p.add_argument("--corpus", type=Path, metavar="DIR",
                   help="a folder of training text (*.txt; heldout_* and out_of_domain_* are not trained on): then the "
                        "held-out losses, the longest verbatim run and the hidden tokens of blanks too")
    p.add_argument("--json", type=Path, metavar="FILE", help="write the same as JSON")
    p.add_argument("--publish", action="store_true",
                   help="with --run and --corpus: then bundle the run's model under --model's name")
    return p


def announce(name: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {name} …", file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None, sizes: Sizes = Sizes()) -> None:
    arguments = parser().parse_args(argv)
    name, run, corpus = arguments.model, arguments.run, arguments.corpus
    if arguments.publish and not (run and (corpus or name in WITHOUT_TEXT)):
        raise SystemExit("--publish needs the --run to publish and the --corpus for its card.")
    torch.set_num_threads(1)                                  # faster on models this small
    model, tokenizer = checkpoints.load(run / "model") if run else checkpoints.load_bundled(name)
    lengths = ()
    try:
        if name in SKILLS:
            report = record = SKILLS[name](model, tokenizer, corpus)
        else:
            announce("reading the corpus" if corpus else "measuring without a corpus")
            texts = Corpus.read(corpus, tokenizer) if corpus else None
            evaluation = evaluate(model, tokenizer, texts, sizes, announce)
            report, record, lengths = sections(evaluation), as_json(evaluation), evaluation.lengths
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from error
    print("\n\n".join(report.values()))
    if arguments.json:
        write_json(arguments.json, record, indent=1, allow_nan=False)
    if arguments.publish:
        publish(name, run, report, lengths)


if __name__ == "__main__":
    main()
