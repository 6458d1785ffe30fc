"""Recordings: none is older than what it measures, what counts as a change, and how one is made again."""
import importlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from core.language import cipher
from core.learning import rlhf
from core.recordings import __main__ as programme
from core.recordings import provenance, registry
from core.recordings.code import code_hashes
from core.recordings.registry import RECORDINGS, Recording

ROOT = Path(__file__).resolve().parents[3]
EACH = pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
MAKER = '''"""Said of the module."""
from core.learning import other
from core.learning.other import RATE, unused

STEPS = 3


def record():
    """Said of the function."""
    for step in range(STEPS):   # said of the loop
        other.learn(step)
    return RATE


def drawn():
    return "elsewhere"
'''
OTHER = '''RATE = 0.5
WIDTH = 64


def learn(step):
    return Learner().learn(step)


class Learner:
    def learn(self, step):
        return WIDTH * step


def unused():
    return 1
'''
RECORDING = Recording("small", "core.learning.small.record", "small.json", ("stories",),
                      ("teaching/words.txt", r"text/en/training.md#food_default,explanation\w*"))
TEXT = f"assets/{RECORDING.reads[1]}"


@EACH
def test_no_recording_is_older_than_what_it_measures(recording: Recording):
    changed, name = provenance.changes(recording), recording.name
    corpus = " --corpus DIR" * recording.corpus
    assert not changed, (
        f"{', '.join(changed)} changed since {name} was recorded. Record it again: python -m core.recordings {name}"
        f"{corpus}\nOr, if you are sure that its figures stay the same: python -m core.recordings {name} --stamp")


@EACH
def test_every_maker_can_be_called(recording: Recording):
    module, _, function = recording.maker.rpartition(".")
    assert callable(getattr(importlib.import_module(module), function))


def test_every_recording_says_when_and_from_what_it_was_made_and_on_what_kind_of_machine():
    kept = json.loads((ROOT / provenance.KEPT).read_text(encoding="utf-8"))
    assert [*kept] == sorted(recording.name for recording in RECORDINGS)
    for entry in kept.values():
        assert {"recorded", "file", "inputs"} <= {*entry} and ("stamped" in entry or {"torch", "machine"} <= {*entry})
    assert re.fullmatch(r"\w+, \w+, \d+ cores, \d+ threads?", provenance.machine())


def test_the_document_on_training_lists_the_recordings_as_the_programme_does(capsys: pytest.CaptureFixture):
    programme.main(["--list"])
    printed = capsys.readouterr().out
    assert printed.count("\n") == len(RECORDINGS) + 2
    assert printed in (ROOT / "assets" / "text" / "docs" / "training.md").read_text(encoding="utf-8")


# ---- what is a change ------------------------------------------------------------------------------------------------


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A house with one recording, which was made today."""
    write(tmp_path / "core" / "learning" / "small.py", MAKER)
    write(tmp_path / "core" / "learning" / "other.py", OTHER)
    for file in provenance.WEIGHTS:
        write(tmp_path / "assets" / "models" / "stories" / file, f"of {file}")
    write(tmp_path / "assets" / "teaching" / "words.txt", "some words")
    write(tmp_path / "assets" / "teaching" / "small.json", "[0.5]")
    write(tmp_path / "assets" / "text" / "en" / "training.md",
          "# about\nMuch.\n\n# explanation_a\nLong.\n\nShort.\n\n# labels\nfood_default: figs\nother: words\n")
    write(tmp_path / provenance.KEPT, "{}")
    provenance.keep(RECORDING, True, tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(("file", "old", "new", "changed"), [
    ("assets/models/stories/model.safetensors", "of", "new", ["assets/models/stories"]),
    ("assets/models/stories/config.json", "of", "new", ["assets/models/stories"]),
    ("assets/teaching/words.txt", "some", "other", ["assets/teaching/words.txt"]),
    ("assets/teaching/small.json", "0.5", "0.6", ["assets/teaching/small.json"]),
    ("assets/text/en/training.md", "figs", "plums", [TEXT]),
    ("assets/text/en/training.md", "Short", "Brief", [TEXT]),
    ("core/learning/small.py", "STEPS = 3", "STEPS = 4", ["core.learning.small"]),
    ("core/learning/small.py", "    return RATE", "        return RATE", ["core.learning.small"]),
    ("core/learning/other.py", "RATE = 0.5", "RATE = 0.6", ["core.learning.other"]),
    ("core/learning/other.py", "WIDTH = 64", "WIDTH = 32", ["core.learning.other"]),
])
def test_a_recording_is_stale_once_weights_texts_or_code_have_changed(house: Path, file: str, old: str, new: str,
                                                                     changed: list[str]):
    assert provenance.changes(RECORDING, house) == []
    replace(house / file, old, new)
    assert provenance.changes(RECORDING, house) == changed
    provenance.keep(RECORDING, False, house)
    assert provenance.changes(RECORDING, house) == []


@pytest.mark.parametrize(("file", "old", "new"), [
    ("core/learning/small.py", "Said of", "Written about"), ("core/learning/small.py", "# said of", "# about"),
    ("core/learning/small.py", "(STEPS)", "( STEPS )"), ("core/learning/small.py", "elsewhere", "there"),
    ("core/learning/other.py", "return 1", "return 2"), ("assets/text/en/training.md", "other: words", "other: signs"),
    ("assets/text/en/training.md", "Much", "More"),
])
def test_neither_comments_nor_what_the_maker_does_not_reach_make_it_stale(house: Path, file: str, old: str, new: str):
    replace(house / file, old, new)
    assert provenance.changes(RECORDING, house) == []


def test_the_makers_own_source_counts_down_to_what_it_calls(tmp_path: Path):
    shutil.copytree(ROOT / "core" / "learning", tmp_path / "core" / "learning")
    maker = "core.learning.placement.record"
    before = code_hashes(tmp_path, maker)
    assert {"core.learning.placement", "core.learning.variants", "core.learning.schedules"} <= {*before}
    replace(tmp_path / "core" / "learning" / "variants.py", "DRAWN = 0.02", "DRAWN = 0.03")
    after = code_hashes(tmp_path, maker)
    assert [name for name in before if before[name] != after[name]] == ["core.learning.variants"]


# ---- the programme ---------------------------------------------------------------------------------------------------


def test_the_programme_records_what_is_stale_and_stamps_without_measuring(house: Path,
                                                                          monkeypatch: pytest.MonkeyPatch):
    measured = []
    monkeypatch.setattr(registry, "RECORDINGS", (RECORDING,))
    monkeypatch.setattr(registry, "measure", lambda recording, corpus: measured.append(recording.name) or [0.7])
    programme.main(["--stale"], house)
    assert not measured
    replace(house / "core" / "learning" / "small.py", "STEPS = 3", "STEPS = 4")
    programme.main(["--stale", "--stamp"], house)
    entry = json.loads((house / provenance.KEPT).read_text())["small"]
    assert not measured and {"recorded", "stamped", "torch", "machine"} <= {*entry}
    replace(house / "core" / "learning" / "small.py", "STEPS = 4", "STEPS = 5")
    programme.main(["--stale"], house)
    entry = json.loads((house / provenance.KEPT).read_text())["small"]
    assert measured == ["small"] and "stamped" not in entry and provenance.changes(RECORDING, house) == []
    assert (house / "assets" / "teaching" / "small.json").read_text() == "[0.7]\n"


def test_a_name_that_is_none_and_a_corpus_that_is_missing_are_said():
    with pytest.raises(SystemExit, match="no recording nonsense"):
        programme.main(["nonsense"])
    with pytest.raises(SystemExit, match="--corpus"):
        programme.main(["letter_triples"])


def test_a_corpus_is_counted_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cipher, "TEXTS", ("one.txt",))
    (tmp_path / "one.txt").write_text("Ab, c", encoding="utf-8")
    triples = next(recording for recording in RECORDINGS if recording.name == "letter_triples")
    registry.write(tmp_path / triples.file, registry.measure(triples, tmp_path))
    assert np.load(tmp_path / triples.file, allow_pickle=False).sum() == 4
    before = provenance.inputs(triples, corpus=tmp_path)
    (tmp_path / "one.txt").write_text("Ab, d", encoding="utf-8")
    after = provenance.inputs(triples, corpus=tmp_path)
    assert [name for name in before if before[name] != after[name]] == ["corpus"]


def test_rows_of_text_are_written_as_they_are_read(tmp_path: Path):
    registry.write(tmp_path / "rows.tsv", [("opening", "continuation"), *rlhf.demonstrations()])
    assert (tmp_path / "rows.tsv").read_bytes() == rlhf.DEMONSTRATIONS.read_bytes()
