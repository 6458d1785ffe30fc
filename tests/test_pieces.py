"""A file of tests prepares what it needs once in a run, on the one worker that has all of its cases."""
from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import FOLDER


@pytest.fixture(scope="module")
def prepared(pytestconfig: pytest.Config) -> Path:
    """A file that nobody else in this run has made."""
    made = Path(pytestconfig.stash[FOLDER]) / "prepared"
    made.touch(exist_ok=False)
    return made


@pytest.mark.parametrize("case", range(12))
def test_a_file_is_prepared_by_one_worker(prepared: Path, case: int):
    assert prepared.exists(), case
