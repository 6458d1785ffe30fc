"""`python -m tests.benchmarks`: every figure as a table and as JSON, each against a reference in the same run.

Measure on an idle machine.
"""
from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path

import torch

from core.app.base import catalogue
from tests.benchmarks import (
    browser,
    compared,
    comparison,
    controls,
    engine,
    large,
    load,
    memory,
    phones,
    recurrence,
    remote,
)
from tests.benchmarks.lessons import FIRST_PICTURE, LESSONS, PROMPTED, RERUN, SLIDER, WALL
from tests.benchmarks.timing import Figure, table
from tests.browser.views import LESSONS as LESSON_VIEWS

GROUPS = {
    "engine": lambda n: engine.trace_figures(n) + engine.generation_figures(n) + engine.milestone_figures(n),
    "threads": engine.thread_figures,
    "sliders": lambda n: browser.slider_figures(LESSONS, n),
    "wall": lambda n: browser.wall_figures(WALL, SLIDER, n),
    "prompt": lambda n: browser.prompt_figures(PROMPTED, 64, n),
    "settings": lambda n: browser.setting_figures(RERUN, n),
    "learning": lambda n: engine.learning_figures(n) + browser.training_figures(RERUN, n),
    "start": lambda n: memory.start_figures(FIRST_PICTURE),
    "memory": lambda n: memory.session_figures() + memory.model_figures(),
    "recurrence": lambda n: recurrence.task_figures(),
    "comparison": comparison.figures,
    "remote": remote.remote_figures,
}
OPTIONAL = {"comparison": compared.installed, "remote": remote.installed}       # groups that need packages of their own
CLASSES = {         # for many minutes: measured where they are named
    "large": lambda chosen: large.large_figures(chosen.repeats, chosen.lessons),
    "controls": lambda chosen: controls.control_figures(chosen.repeats, tuple(chosen.lessons or LESSON_VIEWS)),
    "load": lambda chosen: load.load_figures(chosen.readers, chosen.seconds, chosen.seed, chosen.replicas),
    "sessions": lambda chosen: load.visit_figures(chosen.count),
    "phones": lambda chosen: phones.phone_figures(chosen.phones, chosen.seconds),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*GROUPS, *CLASSES],
                        default=[group for group in GROUPS if group not in OPTIONAL or OPTIONAL[group]()],
                        help="the groups to measure (default: all but large, controls, load, sessions and phones, the "
                             "comparison and remote where their packages are installed)")
    parser.add_argument("--repeats", type=int, default=15, help="measurements of each figure (default: %(default)s)")
    parser.add_argument("--readers", type=int, default=30,
                        help="of load: who change something every few seconds (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=300,
                        help="of load: how long; of phones: for how long their connections are held "
                             "(default: %(default)s)")
    parser.add_argument("--replicas", type=int, default=1, help="of load: processes of the app, behind nginx where "
                                                                "there is more than one (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of load: decides what they do (default: %(default)s)")
    parser.add_argument("--count", type=int, default=1000,
                        help="of sessions: how many are opened and closed (default: %(default)s)")
    parser.add_argument("--phones", type=int, default=200, help="of phones: how many (default: %(default)s)")
    parser.add_argument("--lessons", nargs="+", choices=[entry.id for entry in catalogue.existing()], default=(),
                        help="of controls and large: whose (default: all)")
    parser.add_argument("--json", type=Path, help="where to write the figures as JSON")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    figures: list[Figure] = []
    for group in chosen.only:
        measured = GROUPS[group](chosen.repeats) if group in GROUPS else CLASSES[group](chosen)
        print(table(measured), flush=True)
        print()
        figures += measured
    report = {"machine": f"{platform.machine()}, {torch.get_num_threads()} torch thread", "torch": torch.__version__,
              "figures": [figure.as_dict() for figure in figures]}
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=2))
    else:
        print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
