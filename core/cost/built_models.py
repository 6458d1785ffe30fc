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
    billions: float | None         # of parameters
    billion_tokens: float | None   # of its corpus
    access: str                    # "open" or "closed"
    made: str
    hardware: str | None
    days: float | None
    MWh: float | None
    source: str
    layers: int | None = None      # blocks L of each stack
    width: int | None = None       # d
    heads: int | None = None       # h
    context: int | None = None     # N, the most tokens at once
    shape_source: str = ""         # of the four above
    reported_flops: float | None = None        # of its training, as its makers count them

    @property
    def flops(self) -> float | None:
        """About 6 N D for one pass over the corpus; None if the tokens are not published or `made` is not "whole"."""
        return (training_flops(self.billions * 1e9, self.billion_tokens * 1e9)
                if self.billions and self.billion_tokens and self.made == "whole" else None)


    @property
    def machine(self) -> tuple[int, str] | None:
        """The number of devices it was trained on, and their kind; None if that is not published."""
        if self.hardware is None:
            return None
        count, kind = self.hardware.split(" ", 1)
        return int(count), kind

    @property
    def device_hours(self) -> float | None:
        """Hours of its training, over all devices; None if they are not published."""
        return self.machine[0] * self.days * 24 if self.machine and self.days else None


@dataclass(frozen=True)
class Relative:
    """A model of the GPT family. lane: what its step is about, "text", "code", "people" (who show and judge) or "chat".
    parents: the models it comes from, by id, each with whether its makers say so. model: its name in the record.
    """

    id: str
    name: str
    model: str | None
    released: str
    lane: str
    parents: dict[str, bool]
    source: str


@dataclass(frozen=True)
class Mix:
    """The training text of a model: the shares of its kinds, in percent."""

    name: str
    source: str
    shares: dict[str, float]


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
        """Its name without the kind of numbers that its peak is for."""
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
    """All tables. translation, corpora and mixture, what GPT-3 read: (the source, one dict a row). mixes: what several
    models read, of the `kinds` of text. family: the source, and the models of the GPT family by their month.
    """

    models: tuple[Model, ...]
    translation: tuple[str, tuple[dict, ...]]
    corpora: tuple[str, tuple[dict, ...]]
    mixture: tuple[str, tuple[dict, ...]]
    kinds: tuple[str, ...]
    mixes: tuple[Mix, ...]
    family: tuple[str, tuple[Relative, ...]]
    hardware: dict[str, Hardware]

    def ancestors(self, of: str) -> set[str]:
        """The ids of the family that the model `of` comes from, over any number of steps."""
        parents = next(relative.parents for relative in self.family[1] if relative.id == of)
        return set(parents).union(*map(self.ancestors, parents))


@functools.lru_cache(maxsize=1)
def load() -> Record:
    """The tables, models by their month."""
    record = json.loads(FILE.read_text(encoding="utf-8"))
    tables = {key: (record[key]["source"], tuple(record[key]["rows"])) for key in ("translation", "corpora", "mixture")}
    models = sorted((Model(**fields) for fields in record["models"]), key=lambda model: model.released)
    family = tuple(Relative(parents=fields.pop("from"), **fields) for fields in record["family"]["rows"])
    return Record(tuple(models), **tables, kinds=tuple(record["mixes"]["kinds"]),
                  mixes=tuple(Mix(**fields) for fields in record["mixes"]["rows"]),
                  family=(record["family"]["source"], family),
                  hardware={key: Hardware(**fields) for key, fields in record["hardware"].items()})
