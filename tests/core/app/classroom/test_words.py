"""The words of a class stand in the text files, all that the scripts say and no others."""
import re
from pathlib import Path

import pytest

from core.base import prose
from core.components import COMPONENTS

SAID = re.compile(r"\btext\.(\w+)|\btext\[([^\]]+)\]|this\.(?:add\(row, |press\()\"(\w+)\"")
OF_GUESSES = {"number", "word", "sure", "log"}         # what the controls of a guess say, by labels.name


def said(*scripts: str) -> set[str]:
    """The labels that these scripts say."""
    found = set()
    for script in scripts:
        for name, chosen, pressed in SAID.findall((COMPONENTS / script).read_text(encoding="utf-8")):
            found |= {name, pressed, *re.findall(r'"(\w+)"', chosen)} - {""}
    return found


@pytest.mark.parametrize(("there", "spoken"), [
    (set(prose.load("phone").labels) - {"title", "no_script"} - OF_GUESSES,
     (said("phone/phone.js", "phone/lead.js", "class_tally/tally.js", "class_wall/words.js", "class_desk/own.js")
      - {"words_seen"}) | {"count_closed", "count_revealed", "note_ask", "note_look", "note_next"}
     | {"story_play", "guess_play", "heads_play"}),
    ({key.removeprefix("live_") for key in prose.load("app").labels if key.startswith("live_")},
     said("class_wall/wall.js", "class_wall/class_wall.js", "class_wall/beside.js", "class_wall/words.js",
          "class_tally/tally.js", "class_desk/class_desk.js", "class_desk/desk.js", "class_desk/dialog.js",
          "class_desk/join.js", "class_desk/own.js", "class_desk/report.js", "class_desk/games.js")
     | {"story_play", "guess_play", "heads_play", "tab_join", "tab_ask", "tab_after"}
     | {"follow_off", "follow_on", "follow_freeze"}
     | {"temperature", "top_k", "top_p"})], ids=["phone", "wall"])
def test_every_word_that_is_said_is_written_and_the_other_way_round(there, spoken):
    # of a phase in a list of words: { sending: text.sending, … }
    assert spoken - there - {"closed"} == set() and there - spoken == set()


def test_the_page_of_a_phone_holds_no_sentence():
    for script in ("phone/phone.js", "class_wall/wall.js", "class_desk/dialog.js"):
        written = re.findall(r'"([A-Z][a-z]+ [^"]*)"', Path(COMPONENTS / script).read_text(encoding="utf-8"))
        assert written == [], (script, written)
