"""The GPT family: which model came from which, when, and what each step added; a picked model's line is lit."""
import pandas as pd

from core.app.lesson import Lesson, Question, Reading
from core.app.state import reader
from core.components.lib.token_view import token_view
from core.cost import built_models
from core.cost.built_models import Record, Relative
from core.figures.numbers import grouped, latex_number
from pages.architectures.shared import PREFIX, keep, prefixed, read

LANES = "text", "code", "people", "chat"
# The models as boxes in lanes, joined by lines; below them what is known of the picked one.
_picture = token_view("architecture_family", __file__)


def draw(page: Lesson) -> Reading:
    """Draw the tree and return what it shows."""
    _, members = built_models.load().family
    picked = next((one.id for one in members if one.id == read("relative")), members[-1].id)
    _picture(page.header("family") | {
        "members": [_member(page, one) for one in members], "picked": picked,
        "lanes": [page.label(f"family_lane_{lane}") for lane in LANES], "scale": reader.scale()},
        key=f"{PREFIX}family", on_settings=lambda settings: keep(relative=settings["relative"]))
    [shown] = [one for one in members if one.id == picked]
    title = page.label("family_said", name=shown.name, released=shown.released,
                       added=page.label(f"family_{shown.id}_added"),
                       line=" → ".join(_line(shown.id)))
    return Reading(_lines(page), _question(page), [Record.ancestors],
                   {"family.csv": lambda: pd.DataFrame([vars(one) for one in members])},
                   ".architecture_family .tree", title, _table(page), explanation="record_family")


def _line(of: str) -> list[str]:
    """The names from the first model of the family to `of`, each the parent of the next; of two parents the one that
    its makers name.
    """
    members = {one.id: one for one in built_models.load().family[1]}
    names = [members[of].name]
    while parents := members[of].parents:
        of = max(parents, key=parents.get)
        names.append(members[of].name)
    return names[::-1]


def _member(page: Lesson, one: Relative) -> dict:
    """A model of the family, for family.js."""
    return {"id": one.id, "name": one.name, "released": one.released, "lane": LANES.index(one.lane),
            "parents": one.parents, "ancestors": sorted(built_models.load().ancestors(one.id)),
            "added": page.label(f"family_{one.id}_added"), "more": page.label(f"family_{one.id}_more"),
            "size": _size(page, one), "source": one.source}


def _size(page: Lesson, one: Relative) -> str:
    """The parameters and the context that the record has of a model."""
    model = _recorded(one)
    if model is None or model.billions is None:
        return page.label("not_published") if model is None or model.context is None else page.label(
            "family_context", size=page.label("not_published"), n=grouped(model.context))
    size = page.label("family_parameters", n=prefixed(model.billions * 1e9, digits=3))
    return page.label("family_context", size=size, n=grouped(model.context)) if model.context else size


def _recorded(one: Relative) -> built_models.Model | None:
    return next((model for model in built_models.load().models if model.name == one.model), None)


def _lines(page: Lesson) -> list[tuple[str, str]]:
    """How many times as large each of the first three models was as the one before."""
    first, second, third = (_recorded(one).billions for one in built_models.load().family[1][:3])
    return [(page.label("numbers_family"),
             rf"\frac{{{second:g}}}{{{first:g}}} = {latex_number(second / first)}, \qquad "
             rf"\frac{{{third:g}}}{{{second:g}}} = {latex_number(third / second)}")]


def _question(page: Lesson) -> Question:
    """How many models of the family come from the one that learned from code."""
    record = built_models.load()
    after = [one.name for one in record.family[1] if "codex" in record.ancestors(one.id)]
    options = sorted({len(after), 1, 3, len(record.family[1]) - 1})
    return page.question("family", [str(option) for option in options], options.index(len(after)),
                         n=len(after), names=", ".join(after))


def _table(page: Lesson) -> pd.DataFrame:
    members = {one.id: one for one in built_models.load().family[1]}
    rows = [(one.name, one.released, ", ".join(
        members[parent].name if is_said else page.label("family_perhaps", name=members[parent].name)
        for parent, is_said in one.parents.items()), page.label(f"family_{one.id}_added"), _size(page, one), one.source)
        for one in members.values()]
    return page.table(rows, "model", "released", "parents", "added", "size", "source", labels="family")
