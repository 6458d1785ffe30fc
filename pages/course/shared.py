"""The settings of the course page."""
from core.app.state.lesson_settings import Setting, Settings
from core.app.teaching.class_plan import USUAL
from core.base import catalogue
from core.sheets.exercises import MOST_SEED

SHEETS = ("merges", "sampling", "chain", "positions", "counting")
OWN = "own"      # the plan of the reader's own class
SETTINGS = Settings(catalogue.COURSE, {
    "view": Setting("lessons", options=("lessons", "lectures", "class", "glossary", "sheets")),
    "deck": Setting("A", options=("A", "B", "C", "D")),
    "term": Setting(""),
    "group": Setting("letters", options=("letters", "lessons")),
    "sheet": Setting("merges", options=SHEETS),
    "seed": Setting(0, low=0, high=MOST_SEED),
    "solved": Setting(False),
    "plan": Setting(USUAL),           # or a whole plan, packed
    "handout": Setting(False),
})
