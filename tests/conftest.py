"""Shared by all tests: the project root importable, one torch thread, as the app runs."""
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

torch.set_num_threads(1)

from core.ui import working  # noqa: E402  (found through the path above)

working.PATIENCE = 300      # seconds: a page that is read after one run is whole, however slow the machine
