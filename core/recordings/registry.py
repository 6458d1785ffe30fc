"""The list of all recordings. A maker is named as data, since some are functions of a lesson, which stands above."""
import csv
import importlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.files import write_json


@dataclass(frozen=True)
class Recording:
    """Figures in one file.

    maker: the dotted name of the function that measures them. file: its file in assets/teaching/. models: the bundled
    models that it measures. reads: its files in assets/; after #, the only labels or sections of that file that matter.
    corpus: whether the maker is given the folder of the training text.
    """

    name: str
    maker: str
    file: str
    models: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    corpus: bool = False


TUNING_TEXTS = ("teaching/tuning.json", "teaching/words.json")
SLOW = ("stories", "stories-small")     # which need more than 0.7 s of a processor for the first picture of these views
RECORDINGS = (
    Recording("live", "core.learning.recorded.record", "live_runs.json", reads=("teaching/grammar.json",)),
    Recording("tuning", "pages.training.record_tuning.record", "tuning_runs.json", ("stories-small",),
              (*TUNING_TEXTS, "text/en/training.md#topic_default,food_default")),
    Recording("demonstrations", "core.learning.rlhf.record_demonstrations", "demonstrations.tsv", ("stories",),
              TUNING_TEXTS),
    Recording("rlhf", "core.learning.rlhf.record", "rlhf_runs.json", ("stories-small",),
              (*TUNING_TEXTS, "teaching/demonstrations.tsv")),
    Recording("placement", "core.learning.placement.record", "placement_runs.json"),
    Recording("modifications", "core.learning.modifications.record", "modification_runs.json"),
    Recording("probe", "core.learning.probe.record", "probe_runs.json", ("stories",)),
    Recording("recurrence", "pages.recurrence.record.record", "recurrence_runs.json"),
    Recording("length_times", "core.cost.length_times.record", "length_times.json"),
    Recording("corpus_size", "core.evaluation.corpus_size.record", "corpus_size.json", ("stories",), corpus=True),
    Recording("sequences", "core.language.next_token_table.record", "sequences.json", ("stories",), corpus=True),
    Recording("facts", "pages.limits.record.facts", "facts_opening.json", SLOW, ("teaching/facts.json",)),
    Recording("recitations", "pages.limits.record.recitations", "recitations_opening.json", SLOW[:1],
              ("teaching/canaries.json",)),
    Recording("calibration", "pages.limits.record.calibration", "calibration_opening.json", SLOW,
              (r"text/en/architectures.md#explanation\w*",)),      # the texts that are read begin with these
    Recording("word_orders", "pages.limits.record.word_orders", "word_orders_opening.json", SLOW,
              ("teaching/structure.json", "teaching/words.json")),
    Recording("neighbourhoods", "pages.embeddings.record.record", "neighbourhoods_opening.json", SLOW),
    Recording("letter_triples", "core.language.cipher.record", "letter_triples.npy", corpus=True),
)


def measure(recording: Recording, corpus: Path | None) -> object:
    """Call the maker and return its figures."""
    module, _, function = recording.maker.rpartition(".")
    return getattr(importlib.import_module(module), function)(*[corpus] * recording.corpus)


def write(path: Path, figures: object) -> None:
    """Write figures in the form that the file's name says: JSON, rows of text, or an array."""
    if path.suffix == ".json":
        write_json(path, figures, indent=None)
    elif path.suffix == ".tsv":
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t", lineterminator="\n").writerows(figures)
    else:
        np.save(path, figures, allow_pickle=False)


def table() -> str:
    """All recordings as a table in Markdown."""
    def cell(names) -> str:
        return ", ".join(f"`{name}`" for name in names)

    rows = [(cell([each.name]), cell([each.file]), cell([each.maker.rpartition(".")[0]]), cell(each.models),
             cell([*each.reads, *["--corpus"] * each.corpus])) for each in RECORDINGS]
    header = ("name", "file in `assets/teaching/`", "made by", "of the models", "reads")
    return "".join(f"| {' | '.join(row)} |\n" for row in [header, ["---"] * len(header), *rows])
