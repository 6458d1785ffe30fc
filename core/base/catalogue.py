"""The lessons, in the order of the model: the stages of the model that each lesson shows, and its views in their order,
core views first.

A lesson exists when its page file does.
"""
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.files import modified

PAGES = Path(__file__).resolve().parents[2] / "pages"
HOME = "overview"
COURSE = "course"     # no lesson, but the page that leads through the lessons
MAP = "map"           # no lesson either, but all lessons on one drawing
MODELS = "models"     # not a lesson
TOUR = "tour"         # not a lesson, but the tour of a first visit


def page_path(page: str) -> Path:
    """The script of a page."""
    return PAGES / page / "page.py"


@dataclass(frozen=True)
class Entry:
    """One lesson: its id (the stem of page and text file), its section in the navigation, the stages of the strip
    that it lights, and its views in the order in which a reader goes through them (none: the lesson has one picture).

    core: the views in the bar; `deeper` views are behind *More*. picks: the setting that names the open view.
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
        """The settings that open a view; none in a lesson with one picture."""
        return {f"{self.id}_{self.picks}": view} if view else {}

    def label(self, view: str) -> str:
        """The key of a view's name among the lesson's labels."""
        return f"{self.picks}_{view}"


@dataclass(frozen=True)
class Showing:
    """The views that lessons show of a model that is no decoder. live: the view of Architectures where it is at work;
    runs: lesson -> the views whose pictures are true of it, the view to open first (WHOLE: the lesson has no views, and
    all of it is true); predicts: those among them that show the model's predictions, and so need its output head.
    """

    live: str
    runs: Mapping[str, tuple[str, ...]]
    predicts: frozenset[tuple[str, str]] = frozenset()


WHOLE: tuple[str, ...] = ()


SHOWN = {   # by the kind of a model in ModelConfig; all views show a decoder
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
REPEATED = ("attention", "stream", "mlp")   # the stages that stand in each of a model's L blocks

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
    """The lessons whose page file exists.

    Every run of a page asks many times, so the files are looked up again only when one was added or removed.
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
    """Whether a lesson can run on a model of that kind, at least with some of its views."""
    return kind not in SHOWN or lesson in SHOWN[kind].runs


def is_shown(lesson: str, view: str, kind: str) -> bool:
    """Whether a view's picture is true of a model of that kind."""
    return (kind not in SHOWN
            or runs(lesson, kind) and (SHOWN[kind].runs[lesson] == WHOLE or view in SHOWN[kind].runs[lesson]))


def predicts(lesson: str, view: str, kind: str) -> bool:
    """Whether a view draws the predictions of a model of that kind; a model without an output head has none."""
    return kind in SHOWN and (lesson, view) in SHOWN[kind].predicts


def after(lesson: str, view: str, kind: str) -> tuple[Entry | None, str]:
    """The lesson and the view that follow a view, among those that are true of a model of that kind: the same lesson's
    next view, else the first view of the next lesson ("" if that has one picture); (None, "") after the last.
    """
    places = [(entry, view) for entry in existing() if runs(entry.id, kind) for view in entry.views or ("",)
              if is_shown(entry.id, view, kind)]
    here = [i for i, (entry, name) in enumerate(places) if entry.id == lesson and name == view]
    first = next((i for i, (entry, _) in enumerate(places) if entry.id == lesson), len(places))
    return [*places, (None, "")][min(here[0] + 1 if here else first, len(places))]


def lesson_of(stage: str) -> str | None:
    """The lesson that a stage of the strip leads to: the first existing lesson that lights it, except the overview;
    None if there is none.
    """
    return next((entry.id for entry in existing() if stage in entry.stages and entry.id != HOME), None)


def url_path(lesson: str) -> str:
    """The lesson's address relative to the app: "" for the overview, which is where the app opens."""
    return "" if lesson == HOME else lesson
