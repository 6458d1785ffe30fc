"""The places that the field "Find" searches: lessons and pages, every view, the terms of the glossary, the experiments,
and the ideas of the lectures.
"""
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from core import files
from core.base import catalogue, prose, tables
from core.base.markdown import unmarked

WORDS = "find"      # the text file of synonyms and little words


@dataclass(frozen=True)
class Found:
    """One thing to find: its name, the lesson and view in which it stands ("" for a page), a line that says what it is,
    and the page and settings that open it.

    kind: one of lesson, page, view, term, try, idea; the app's label `find_<kind>` names it.
    """

    id: str
    kind: str
    name: str
    where: str
    says: str
    lesson: str
    settings: dict = field(default_factory=dict)


def answer(_question: dict) -> bytes:
    """All that the browser searches, as JSON: the `places`; the `synonyms`, pairs of phrases and the numbers of the
    places that they mean, the best place first; and the `little` words that do not count. Made again if one of the
    texts has changed, or a lesson has come or gone.
    """
    texts = (prose.FOLDER / prose.LANGUAGE).glob("*.*")
    return _answer(max(map(files.modified, [*texts, catalogue.PAGES])))


@functools.lru_cache(maxsize=1)
def _answer(_changed: int) -> bytes:
    places = [{"id": found.id, "kind": found.kind, "name": found.name, "where": found.where, "says": found.says}
              for found in everything()]
    number = {place["id"]: i for i, place in enumerate(places)}
    sent = {"places": places, "little": prose.load(WORDS).section("little_words").split(),
            "synonyms": [(phrases, [number[target] for target in targets if target in number])
                         for phrases, targets in synonyms()]}
    return json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode()


def synonyms() -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Newcomers' words for the places: for each line of the text file the phrases, and the ids of the places that they
    mean, the best first.
    """
    lines = (line.partition(":") for line in prose.load(WORDS).section("synonyms").splitlines())
    return tuple((tuple(phrases.split(", ")), tuple(targets.strip().split(", "))) for phrases, _, targets in lines)


def opening(name: str) -> tuple[str, dict] | None:
    """Page and settings of the place with this id; None if there is none."""
    return next(((found.lesson, found.settings) for found in everything() if found.id == name), None)


def everything() -> Iterator[Found]:
    """All places, those asked for most often first, each kind in the order of the lessons or of its table."""
    lessons = catalogue.existing()
    yield from map(_lesson, lessons)
    yield from _pages()
    for entry in lessons:
        yield from (_view(entry, view) for view in entry.views)
    for term in tables.glossary():
        if where := tables.name_of(term.place):
            yield Found(f"term {term.term}", "term", term.term, where, term.definition, *term.place.target)
    for entry in lessons:
        yield from _experiments(entry)
    for idea in tables.ideas():
        if where := tables.name_of(idea.place):
            yield Found(f"idea {idea.id}", "idea", _plain(idea.idea), where, "", *idea.target)


def _lesson(entry: catalogue.Entry) -> Found:
    words = prose.load("app")
    return Found(f"lesson {entry.id}", "lesson", words.label(f"lesson_{entry.id}"),
                 words.label(f"section_{entry.section}"), _plain(prose.load(entry.id).section("sentence")), entry.id)


def _pages() -> Iterator[Found]:
    words, course = prose.load("app"), prose.load(catalogue.COURSE)
    for view in course.names("about"):
        yield Found(f"page {view}", "page", course.label(f"view_{view}"), words.label("page_course"),
                    course.about(view), catalogue.COURSE, {"course_view": view})
    tour = prose.load(catalogue.TOUR)
    yield Found("page tour", "page", tour.section("title"), words.label("page_tour"), tour.section("sentence"),
                catalogue.TOUR)
    yield Found("page map", "page", words.label("page_map"), "", words.label("find_map"), catalogue.MAP)
    yield Found("page models", "page", prose.load("library").label("page"), "", words.label("find_models"),
                catalogue.MODELS)


def _plain(written: str) -> str:
    return unmarked(written).replace("$", "")


def _view(entry: catalogue.Entry, view: str) -> Found:
    words = prose.load(entry.id)
    return Found(f"view {entry.id} {view}", "view", words.label(entry.label(view)), tables.entry_name(entry),
                 words.about(view), entry.id, entry.opening(view))


def _experiments(entry: catalogue.Entry) -> Iterator[Found]:
    for experiment in prose.load(entry.id).experiments:
        view = experiment.settings.get(f"{entry.id}_{entry.picks}", "")
        yield Found(f"try {entry.id} {experiment.id}", "try", experiment.title,
                    tables.entry_name(entry, view if view in entry.views else ""), _plain(experiment.look), entry.id,
                    experiment.settings)
