"""Which lessons there are, in the order of the model, which stages of it each one shows, and its views in their order,
those at its core first.

A lesson exists when its page file does.
"""
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.files import modified

PAGES = Path(__file__).resolve().parents[3] / "pages"
HOME = "overview"
COURSE = "course"     # no lesson, but the page that leads through them
MAP = "map"           # no lesson either, but all of them on one drawing
MODELS = "models"     # nor is this one
TOUR = "tour"         # nor is the tour of a first visit


def page_path(page: str) -> Path:
    """The script of a page."""
    return PAGES / page / "page.py"


@dataclass(frozen=True)
class Entry:
    """One lesson: its id (the stem of page and text file), its section in the navigation, the stages of the strip
    that it lights, and its views in the order in which a reader goes through them (none: the lesson has one picture).

    core: the views that stand in the bar; `deeper` ones wait behind *More*. picks: the setting that says which is open.
    """

    id: str
    section: str
    stages: tuple[str, ...]
    core: tuple[str, ...] = ()
    deeper: tuple[str, ...] = ()
    picks: str = "view"

    @property
    def path(self) -> Path:
        return page_path(self.id)

    @property
    def views(self) -> tuple[str, ...]:
        return self.core + self.deeper

    def opening(self, view: str) -> dict[str, str]:
        """The settings that open a view; none for the picture of a lesson that has one."""
        return {f"{self.id}_{self.picks}": view} if view else {}

    def label(self, view: str) -> str:
        """The key of a view's name among the lesson's labels."""
        return f"{self.picks}_{view}"


@dataclass(frozen=True)
class Showing:
    """What lessons have to show of a model that is no decoder. live: the view of Architectures in which it is at work;
    runs: lesson -> the views whose pictures are true of it, the one to open first (WHOLE: the lesson has no views, and
    all of it is); predicts: those of them that show what it predicts, and so need its output head.
    """

    live: str
    runs: Mapping[str, tuple[str, ...]]
    predicts: frozenset[tuple[str, str]] = frozenset()


WHOLE: tuple[str, ...] = ()


SHOWN = {   # by the kind of a model, as ModelConfig has it; a decoder is shown by all
    "encoder":
        Showing("blank", {"tokens": ("vocabulary", "methods", "merges", "bpe", "unigram", "train"),
                          "embeddings": ("neighbours", "product", "map", "contexts", "arithmetic"),
                          "positions": ("waves", "learned", "concat"), "overview": WHOLE,
                          "attention": ("steps", "three", "switches", "scaling", "roles", "averages", "worksheet"),
                          "heads": WHOLE,
                          "residual_stream": ("norms", "lens", "contributions", "block", "norm", "placement", "mlp",
                                              "cut")},
                predicts=frozenset({("residual_stream", "lens"), ("residual_stream", "contributions"),
                                    ("residual_stream", "cut")})),
    "encoder-decoder": Showing("translate", {"tokens": ("vocabulary", "methods", "merges", "bpe", "unigram",
                                                                     "train"),
                                                "residual_stream": ("block",)}),
}
STAGES = ("text", "tokens", "embedding", "position", "attention", "stream", "mlp", "unembedding", "softmax", "sample")
REPEATED = ("attention", "stream", "mlp")   # the stages that a model has once in each of its L blocks

_ALL = (
    Entry("overview", "whole", STAGES),
    Entry("tokens", "input", ("text", "tokens"),
          ("merges", "methods", "bpe", "unigram", "vocabulary"), ("train",)),
    Entry("embeddings", "input", ("embedding",), ("neighbours", "product", "map", "contexts", "arithmetic")),
    Entry("positions", "input", ("position",),
          ("symmetry", "waves", "rotary"), ("learned", "biases", "concat", "beyond", "measured")),
    Entry("attention", "block", ("attention",),
          ("steps", "three", "scaling", "roles", "worksheet"), ("averages", "switches")),
    Entry("heads", "block", ("attention",),
          ("wall", "head", "roles", "change"), ("write", "prompts", "rollout"), picks="panel"),
    Entry("residual_stream", "block", ("stream", "mlp"),
          ("lens", "contributions", "patching", "block", "mlp"), ("norms", "norm", "placement", "cut")),
    Entry("next_token", "output", ("unembedding", "softmax", "sample")),
    Entry("generation", "output", ("sample",), ("writing", "strategies", "futures", "beam", "cache")),
    Entry("language_models", "use", ("softmax",),
          ("guess", "sentences", "compress", "tasks"), ("toy", "table", "continuations", "correct", "decipher")),
    Entry("training", "use", ("softmax",),
          ("forcing", "backprop", "live", "childhood"),
          ("instructions", "tuning", "rlhf", "schedules", "packing", "kepler")),
    Entry("architectures", "use", ("attention", "mlp"),
          ("design", "kinds", "blank", "translate", "cost"), ("norms", "activations", "experts", "hardware", "record")),
    Entry("recurrence", "use", ("attention",),
          ("unrolled", "gradient", "serial", "copy", "bottleneck"), ("gates",)),
    Entry("limits", "use", ("sample",),
          ("facts", "memory", "calibration", "inputs"), ("words", "meaning", "context", "structure")),
)


def existing() -> tuple[Entry, ...]:
    """The lessons whose page file is there.

    Looked up again when a file was added or taken away: every run of a page asks many times.
    """
    return _existing(modified(PAGES))


@functools.lru_cache(maxsize=2)
def _existing(modified: int) -> tuple[Entry, ...]:
    return tuple(entry for entry in _ALL if entry.path.exists())


def pages() -> tuple[str, ...]:
    """The ids of all pages: the tour, the course, the map, the models, and the existing lessons."""
    return (TOUR, COURSE, MAP, MODELS, *(entry.id for entry in existing()))


def entry(lesson: str) -> Entry:
    """The entry of a lesson id; KeyError for an unknown one."""
    return {entry.id: entry for entry in _ALL}[lesson]


def runs(lesson: str, kind: str) -> bool:
    """Whether a lesson can run on a model of that kind, with some of its views at least."""
    return kind not in SHOWN or lesson in SHOWN[kind].runs


def is_shown(lesson: str, view: str, kind: str) -> bool:
    """Whether what a view draws is true of a model of that kind."""
    return (kind not in SHOWN
            or runs(lesson, kind) and (SHOWN[kind].runs[lesson] == WHOLE or view in SHOWN[kind].runs[lesson]))


def predicts(lesson: str, view: str, kind: str) -> bool:
    """Whether a view draws what a model of that kind predicts, which one without an output head does not."""
    return kind in SHOWN and (lesson, view) in SHOWN[kind].predicts


def after(lesson: str, view: str, kind: str) -> tuple[Entry | None, str]:
    """The view that comes after one, of those that are true of a model of that kind, with its lesson: the lesson's next
    one ("": that lesson has one picture), else the first of the next lesson; (None, "") after the last.
    """
    places = [(entry, view) for entry in existing() if runs(entry.id, kind) for view in entry.views or ("",)
              if is_shown(entry.id, view, kind)]
    here = [i for i, (entry, name) in enumerate(places) if entry.id == lesson and name == view]
    first = next((i for i, (entry, _) in enumerate(places) if entry.id == lesson), len(places))
    return [*places, (None, "")][min(here[0] + 1 if here else first, len(places))]


def lesson_of(stage: str) -> str | None:
    """The lesson that a stage of the strip leads to: the first existing one that lights it, the overview left aside;
    None if there is none.
    """
    return next((entry.id for entry in existing() if stage in entry.stages and entry.id != HOME), None)


def url_path(lesson: str) -> str:
    """The lesson's address relative to the app: "" for the overview, which is where the app opens."""
    return "" if lesson == HOME else lesson
