"""The site of the pages that can be taken along: what is in it, and what it refuses."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.app.parts import own_site
from core.base import catalogue
from core.takeaway.__main__ import main

pytestmark = pytest.mark.long


def test_its_pages_share_the_weights_and_lead_to_each_other(tmp_path: Path):
    folder = tmp_path / "site"
    files = {path.name: path for path in own_site.write(folder, "stories-small", "The cat sat")}
    pages = {f"{name}.html" for name in own_site.pages()}
    assert set(files) == pages | {"index.html", "model.js", "model.md"} and "tour.html" in pages
    start = files["index.html"].read_text()
    assert re.findall(r'<li><a href="([^"]+)"', start) == [f"{name}.html" for name in own_site.pages()]
    for name in pages:
        text = files[name].read_text()
        assert '<script src="model.js"></script>' in text and len(text) < 600_000
        assert set(re.findall(r'<nav>(.*?)</nav>', text)[0].split('href="')[1:][k].split('"')[0]
                   for k in range(len(pages) + 1)) == pages | {"index.html"}
        assert '"prompt": "The cat sat"' in text
    assert files["model.js"].stat().st_size > 500_000 and "# stories-small" in files["model.md"].read_text()


def test_every_lesson_that_can_be_taken_along_is_in_it():
    assert set(own_site.pages()) == {catalogue.TOUR} | {e.id for e in catalogue.existing() if e.takeaway}


@pytest.mark.parametrize(("arguments", "said"), [
    (["--model", "nope"], "There is no bundled model nope: choose one of stories"),
    (["--model", "blanks"], "There is no bundled model blanks")])
def test_a_model_that_is_not_there_is_named(tmp_path: Path, arguments: list[str], said: str):
    with pytest.raises(SystemExit, match=re.escape(said)):
        main([str(tmp_path / "new"), *arguments])
    assert not (tmp_path / "new").exists()


def test_a_folder_in_which_something_lies_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(SystemExit, match="is not empty: name a new folder"):
        main([str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    main([str(tmp_path / "site"), "--model", "stories-small", "--text", "Hi"])
    assert "MB  tour.html" in capsys.readouterr().out
