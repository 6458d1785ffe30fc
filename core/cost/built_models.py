"""Published models: the notes' tables of models, translation scores, corpora and hardware, each with its source, from
assets/teaching/models.json.
"""
import functools
import json
from dataclasses import dataclass
from pathlib import Path

from core.cost.scaling_laws import training_flops

FILE = Path(__file__).resolve().parents[2] / "assets" / "teaching" / "models.json"


@dataclass(frozen=True)
class Model:
    """One model of the table. made: "whole", trained from random weights; "moe", likewise, but a token uses only some
    of the parameters; "adapted", from another model. None: not published.
    """

    name: str
    released: str                  # year-month
    billions: float                # of parameters
    billion_tokens: float | None   # of its corpus
    access: str                    # "open" or "closed"
    made: str
    hardware: str | None
    days: float | None
    MWh: float | None
    source: str

    @property
    def flops(self) -> float | None:
        """About 6 N D for one pass over the corpus; None if the tokens are not published or `made` is not "whole"."""
        return (training_flops(self.billions * 1e9, self.billion_tokens * 1e9)
                if self.billion_tokens and self.made == "whole" else None)


@dataclass(frozen=True)
class Hardware:
    """A device: its peak in 10¹² operations a second, its power in watts, the bandwidth and the size of its memory in
    10⁹ bytes, from its data sheet.
    """

    name: str
    teraflops: float
    watts: float
    gigabytes_per_second: float
    gigabytes: float
    source: str

    @property
    def short(self) -> str:
        """Its name without the kind of numbers that its peak is meant for."""
        return self.name.split(",")[0]

    @property
    def peak(self) -> float:
        """Operations a second."""
        return self.teraflops * 1e12

    @property
    def bandwidth(self) -> float:
        """Bytes a second between memory and cores."""
        return self.gigabytes_per_second * 1e9


@dataclass(frozen=True)
class Record:
    """All tables. translation, corpora and mixture, what GPT-3 read: (the source, one dict a row)."""

    models: tuple[Model, ...]
    translation: tuple[str, tuple[dict, ...]]
    corpora: tuple[str, tuple[dict, ...]]
    mixture: tuple[str, tuple[dict, ...]]
    hardware: dict[str, Hardware]


@functools.lru_cache(maxsize=1)
def load() -> Record:
    """The tables, models by their month."""
    record = json.loads(FILE.read_text(encoding="utf-8"))
    tables = {key: (record[key]["source"], tuple(record[key]["rows"])) for key in ("translation", "corpora", "mixture")}
    models = sorted((Model(**fields) for fields in record["models"]), key=lambda model: model.released)
    return Record(tuple(models), **tables,
                  hardware={key: Hardware(**fields) for key, fields in record["hardware"].items()})
