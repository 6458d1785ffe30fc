"""Shared by all tests: the project root importable, one torch thread, as the app runs, and one search for components
instead of one for every page that a test opens.
"""
import functools
import sys
from pathlib import Path

import torch
from streamlit.components.v2 import manifest_scanner

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

torch.set_num_threads(1)

from core import files  # noqa: E402  (found through the path above)
from core.app.compute import growing_results  # noqa: E402

growing_results.PATIENCE = 300      # seconds: a page that is read after one run is whole, however slow the machine
files.LOOKS = 0           # what a test writes is read at once

# AppTest reads the metadata of every installed package each time a test opens a page, which takes as long as the page
# itself; they stay the same while the tests run.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
