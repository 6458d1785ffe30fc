"""The lessons, in the order of the model, as each one's pages/<lesson>/views.toml declares them:

    order = 9                   # among the lessons
    section = "output"          # of the navigation
    stages = ["draw"]           # of the strip, which it lights
    map = ["draw", "scores"]    # parts of the map that it opens; a line leads from its name to the first
    overview = ["softmax"]      # parts of the overview's picture that open it (may be left out)
    inside = {draw = "end"}     # where parts of the map are inside its picture (may be left out)
    takeaway = true             # its picture can be taken along as one file (false if left out)
    picks = "panel"             # the setting that names the open view ("view" if left out)
    opens = "beam"              # the view that is opened for a model that is no decoder, if true of it ("": the one
                                # that was open; the first that is true of it if left out)

    [core.beam]                 # a view in the bar; [deeper.beam]: one behind *More*
    prompt = true               # whether it reads the prompt
    kinds = {encoder = true, encoder-decoder = "live"}      # whether it is true of a model of each kind but a decoder,
                                # of which all are; "live": it puts such a model in the place of its own

What else may be said of a view is in `View`. A lesson without views has one `[picture]`.
"""
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path

from core.files import modified
from core.model.kinds import KINDS
from core.model.record import check_choice

PAGES = Path(__file__).resolve().parents[2] / "pages"
HOME = "overview"
COURSE = "course"     # no lesson, but the page that leads through the lessons
MAP = "map"           # no lesson either, but all lessons on one drawing
MODELS = "models"     # not a lesson
TOUR = "tour"         # not a lesson, but the tour of a first visit
STAGES = ("text", "tokens", "vectors", "positions", "attention", "stream", "mlp", "scores", "probabilities", "draw")
REPEATED = ("attention", "stream", "mlp")   # the stages that stand in each of a model's L blocks
# of the map
PARTS = ("whole", "text", "tokens", "vectors", "positions", "block", "attention", "stream", "mlp", "scores",
         "probabilities", "draw")
DECODER, *OTHER_KINDS = KINDS
LIVE = "live"


def page_path(page: str) -> Path:
    """The script of a page."""
    return PAGES / page / "page.py"


@dataclass(frozen=True)
class View:
    """One view as its file declares it. An `unless` has settings, each with the values, as an address writes them, with
    which the opposite holds.
    """

    prompt: bool
    kinds: dict
    prompt_unless: dict = field(default_factory=dict)
    needs_head: bool = False            # of a model that is no decoder it shows predictions
    model: str = ""                     # the bundled model that it shows in place of the chosen one
    model_unless: dict = field(default_factory=dict)
    model_with: dict = field(default_factory=dict)      # setting -> a sign in its value -> the model shown with it
    needs_moments: bool = False         # it shows a model whose training was kept

    def __post_init__(self) -> None:
        if sorted(self.kinds) != sorted(OTHER_KINDS):
            raise ValueError(f"kinds must say {' and '.join(OTHER_KINDS)}.")
        if wrong := [said for said in self.kinds.values() if said not in (True, False, LIVE)]:
            raise ValueError(f"kinds must be true, false or {LIVE!r}, not {wrong[0]!r}.")

    def is_of(self, kind: str) -> bool:
        """Whether its picture is true of a model of that kind."""
        return kind == DECODER or self.kinds[kind] is True


@dataclass(frozen=True, eq=False)       # the same one in every run, and a key of caches
class Entry:
    """One lesson. id: the name of its folder and text; core: the names of the views in the bar; deeper: of those behind
    *More*, both in the order in which a reader goes through them; each: all views by name, "" for the one picture of a
    lesson without views.
    """

    id: str
    core: tuple
    deeper: tuple
    each: dict
    order: int
    section: str
    stages: list
    map: list
    overview: list = field(default_factory=list)
    inside: dict = field(default_factory=dict)      # part of the map -> where it is inside the picture
    takeaway: bool = False      # whether pages/<lesson>/takeaway.py makes a file of its picture
    picks: str = "view"
    opens: str | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("stages", STAGES), ("map", PARTS), ("inside", PARTS)):
            for value in getattr(self, name):
                check_choice(name, value, allowed)
        if self.opens:
            check_choice("opens", self.opens, self.views)

    @property
    def path(self) -> Path:
        return page_path(self.id)

    @property
    def views(self) -> tuple[str, ...]:
        return self.core + self.deeper

    def of(self, kind: str) -> tuple[str, ...]:
        """The views that are true of a model of that kind."""
        return tuple(name for name, view in self.each.items() if view.is_of(kind))

    def first(self, kind: str) -> str:
        """The view to open for a model of that kind; "": the one that was open."""
        views = self.of(kind)
        return self.opens if self.opens in ("", *views) else views[0]

    def opening(self, view: str) -> dict[str, str]:
        """The settings that open a view; none in a lesson with one picture."""
        return {f"{self.id}_{self.picks}": view} if view else {}

    def opening_inside(self, part: str) -> dict[str, str]:
        """The settings that open the picture inside, at a part of the block and the token that are picked."""
        return {f"{self.id}_at": self.inside[part]}

    def label(self, view: str) -> str:
        """The key of a view's name among the lesson's labels."""
        return f"{self.picks}_{view}"


def existing() -> tuple[Entry, ...]:
    """The lessons. Raises ValueError, which names the file, for a views.toml with an unknown, missing or wrong key.

    Every run of a page asks many times, so the files are read again only if a folder has come or gone.
    """
    return _entries(PAGES, modified(PAGES))


@functools.lru_cache(maxsize=2)
def _entries(folder: Path, modified: int) -> tuple[Entry, ...]:
    return tuple(sorted(map(_entry, folder.glob("*/views.toml")), key=lambda entry: entry.order))


def _entry(path: Path) -> Entry:
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        core, deeper = said.pop("core", {}), said.pop("deeper", {})
        views = core | deeper or {"": said.pop("picture", {})}
        each = {name: _record(View, view) for name, view in views.items()}
        return _record(Entry, said, id=path.parent.name, core=tuple(core), deeper=tuple(deeper), each=each)
    except ValueError as error:
        raise ValueError(f"{path.parent.name}/{path.name}: {error}") from error


def _record(record: type, said: Mapping, **known):
    """The record of what a file says and of what is `known` beside it."""
    asked = {one.name: one for one in fields(record) if one.name not in known}
    for name in said.keys() - asked.keys():
        raise ValueError(f"the key {name!r} is unknown.")
    for name, one in asked.items():
        if name not in said and one.default is one.default_factory is MISSING:
            raise ValueError(f"the key {name!r} is missing.")
        if name in said and not isinstance(said[name], one.type):
            raise ValueError(f"{name} = {said[name]!r} is of another type.")
    return record(**said, **known)


def pages() -> tuple[str, ...]:
    """The ids of all pages: the tour, the course, the map, the models, and the lessons."""
    return (TOUR, COURSE, MAP, MODELS, *(entry.id for entry in existing()))


def entry(lesson: str) -> Entry:
    """The entry of a lesson id; KeyError for an unknown one."""
    return {entry.id: entry for entry in existing()}[lesson]


def runs(lesson: str, kind: str) -> bool:
    """Whether a page can run on a model of that kind, a lesson at least with some of its views."""
    return kind == DECODER or any(entry.of(kind) for entry in existing() if entry.id == lesson)


def is_shown(lesson: str, view: str, kind: str) -> bool:
    """Whether a view's picture is true of a model of that kind."""
    return kind == DECODER or view in entry(lesson).of(kind)


def predicts(lesson: str, view: str, kind: str) -> bool:
    """Whether a view draws the predictions of a model of that kind, which is no decoder; a model without an output head
    has none.
    """
    return kind != DECODER and is_shown(lesson, view, kind) and entry(lesson).each[view].needs_head


def live(kind: str) -> tuple[str, str]:
    """The lesson and the view in which a model of that kind, which is no decoder, is at work."""
    return next((entry.id, name) for entry in existing() for name, view in entry.each.items()
                if view.kinds[kind] == LIVE)


def after(lesson: str, view: str, kind: str) -> tuple[Entry | None, str]:
    """The lesson and the view that follow a view, among those that are true of a model of that kind: the same lesson's
    next view, else the first view of the next lesson ("" if that has one picture); (None, "") after the last.
    """
    places = [(entry, view) for entry in existing() for view in entry.of(kind)]
    here = [i for i, (entry, name) in enumerate(places) if entry.id == lesson and name == view]
    first = next((i for i, (entry, _) in enumerate(places) if entry.id == lesson), len(places))
    return [*places, (None, "")][min(here[0] + 1 if here else first, len(places))]


def lesson_of(stage: str) -> str | None:
    """The lesson that a stage of the strip leads to: the first lesson that lights it, except the overview; None if
    there is none.
    """
    return next((entry.id for entry in existing() if stage in entry.stages and entry.id != HOME), None)


def url_path(lesson: str) -> str:
    """The lesson's address relative to the app: "" for the overview, which is where the app opens."""
    return "" if lesson == HOME else lesson
