"""The disk that models of the Hub fill: bounded, shown, and nothing on it deleted."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from core import huggingface
from core.app.compute.library import disk, loading
from core.base import deployment, prose
from core.huggingface import Preview, hub
from core.model.config import STORIES
from tests.helpers.lessons import fine, open_at

WORDS = prose.load("library")
NAME = "hub:us/model"


@pytest.fixture(autouse=True)
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of downloads, 600 kB of 1 MB taken, in which a blob has two names as the Hub's folders have them."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv(deployment.HUB_GIGABYTES, "0.001")
    blobs = tmp_path / "models--us--other" / "blobs"
    blobs.mkdir(parents=True)
    for name, size in (("whole", 500_000), ("cut.incomplete", 100_000)):
        (blobs / name).write_bytes(b"x" * size)
    (blobs.parent / "model.safetensors").symlink_to(blobs / "whole")
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    disk._taken.cache_clear()
    loading.forget(NAME)


def test_what_is_there_is_counted_once_and_what_was_cut_short_too():
    assert hub.kept_bytes() == 600_000


def test_a_folder_that_is_not_there_takes_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", "/no/such/folder")
    assert hub.kept_bytes() == 0


def test_downloads_together_stay_within_the_bound():
    assert disk.fits(400_000) and not disk.fits(400_001) and disk.fits(0)
    with disk.reserved(300_000):
        assert disk.taken() == 900_000 and not disk.fits(100_001)
        with pytest.raises(disk.Full), disk.reserved(100_001):
            pytest.fail("there is no room")
        with disk.reserved(0):      # is here already
            pass
    assert disk.fits(400_000)


def test_a_download_that_has_come_counts_from_then_on(downloads: Path):
    with disk.reserved(300_000):
        (downloads / "new").write_bytes(b"x" * 300_000)
    assert disk.taken() == 900_000


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A model of the Hub whose download takes 500 kB; the names that were fetched."""
    preview, fetched = Preview(NAME, "GPT-2", STORIES, 1000, "float32", "tokenizer.json", 500_000), []
    monkeypatch.setattr(huggingface, "is_here", lambda name: False)
    monkeypatch.setattr(huggingface, "preview", lambda name: preview)
    monkeypatch.setattr(huggingface, "from_pretrained", lambda name, progress: fetched.append(name))
    return fetched


def refused(task: loading.Task) -> loading.Problem:
    task.wait(30)
    problem = task.problem
    assert problem.reason == "disk" and "TRANSFORMER_HUB_GB" in problem.sentence and "600 kB" in problem.sentence
    return problem


def test_a_model_for_which_the_disk_has_no_room_is_not_downloaded(offered: list[str]):
    assert "needs 500 kB" in refused(loading.load(NAME)).sentence and offered == []


def test_with_a_full_disk_not_even_a_look_is_taken(offered: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(deployment.HUB_GIGABYTES, "0.0005")
    refused(loading.look(NAME))


def test_the_page_says_what_is_taken_and_why_a_model_will_not_come(offered: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.app.compute.library.loading.MOST_CONFIG", 1000)
    loading.look(NAME).wait(30)
    at = open_at("models", model=NAME)
    told = WORDS.label("hub_disk", taken="600 kB", bound="1 MB")
    assert fine(at) and told in [caption.value for caption in at.caption]
    assert any("needs 500 kB" in warning.value for warning in at.warning)
    assert "model_load" not in {button.key for button in at.button}
