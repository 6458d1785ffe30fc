"""Shared by all tests: the project root importable, one thread to compute in, as the app runs, one search for
components instead of one for every page that a test opens, and the order of the files.
"""
import functools
import os
import sys
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

os.environ.setdefault("OMP_NUM_THREADS", "1")       # before torch and numpy are loaded

os.environ.setdefault("TRANSFORMER_ASK_FIRST", "off")      # pictures stand as soon as a page is opened

from core import files  # noqa: E402  (found through the path above)
from core.app.compute import growing_results  # noqa: E402

growing_results.PATIENCE = 300      # seconds: a page that is read after one run is whole, however slow the machine
files.LOOKS = 0           # what a test writes is read at once

# AppTest reads the metadata of every installed package each time a test opens a page, which takes as long as the page
# itself; they stay the same while the tests run.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)

# A minute or more each, the longest first. xdist hands files out in the order of their tests: so none of these is begun
# when the others have ended, and all that is short stands at the end and fills what is left.
LONG = ("test_views.py", "test_views_present.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (LONG.index(item.path.name) if item.path.name in LONG
                                 else len(LONG) + ("browser" not in item.path.parts)))
