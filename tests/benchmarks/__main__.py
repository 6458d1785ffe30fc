"""`python -m tests.benchmarks`: every figure as a table and as JSON, each against a reference in the same run.

Measure on an idle machine. A group that fails is told at the end, and in the exit status; the others are measured.
"""
from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import torch

from core.base import catalogue
from tests.benchmarks import (
    browser,
    calls,
    compared,
    comparison,
    controls,
    dive,
    engine,
    file,
    large,
    load,
    memory,
    phones,
    recurrence,
    remote,
)
from tests.benchmarks.lessons import FIRST_PICTURE, PROMPTED, RERUN, SLIDER, SLIDERS, WALL, of_each
from tests.benchmarks.sizes import SMOKE, Sizes
from tests.benchmarks.timing import Figure, table

Group = Callable[[Sizes], list[Figure]]
GROUPS: dict[str, Group] = {
    "engine": lambda sizes: (engine.trace_figures(sizes.repeats) + engine.generation_figures(sizes.repeats)
                             + engine.milestone_figures(sizes.repeats)),
    "threads": lambda sizes: engine.thread_figures(sizes.repeats),
    "sliders": lambda sizes: browser.slider_figures(of_each(SLIDERS, sizes.cases), sizes.repeats),
    "wall": lambda sizes: browser.wall_figures(WALL, SLIDER, sizes.repeats),
    "prompt": lambda sizes: browser.prompt_figures(of_each(PROMPTED, sizes.cases), 64, sizes.repeats),
    "dive": lambda sizes: dive.frame_figures(sizes.repeats),
    "file": lambda sizes: file.file_figures(sizes.repeats),
    "calls": lambda sizes: calls.figures(),
    "settings": lambda sizes: browser.setting_figures(RERUN, sizes.repeats),
    "learning": lambda sizes: (engine.learning_figures(sizes.repeats, sizes.seeds, sizes.share)
                               + browser.training_figures(RERUN, sizes.repeats)),
    "start": lambda sizes: memory.start_figures(FIRST_PICTURE, sizes.starts),
    "memory": lambda sizes: memory.session_figures(sizes.tabs) + memory.model_figures(sizes.large),
    "recurrence": lambda sizes: recurrence.task_figures(sizes.seeds, sizes.share),
    "comparison": lambda sizes: comparison.figures(sizes.repeats),
    "remote": lambda sizes: remote.remote_figures(sizes.repeats),
}
OPTIONAL = {"comparison": compared.installed, "remote": remote.installed}       # groups that need packages of their own
CLASSES: dict[str, Group] = {         # for many minutes: measured where they are named, and in little by --smoke
    "large": large.large_figures,
    "controls": controls.control_figures,
    "load": load.load_figures,
    "sessions": load.visit_figures,
    "phones": phones.phone_figures,
}


@dataclass(frozen=True)
class Measured:
    """A group's figures, how many seconds they took, and how it ended."""

    group: str
    figures: list[Figure]
    seconds: float
    end: str

    @property
    def failed(self) -> bool:
        return self.end.startswith("failed")


def measured(group: str, sizes: Sizes) -> Measured:
    """A group measured, its table printed; one that raises, or finds nothing to measure, has failed."""
    began, figures, end = time.perf_counter(), [], "ok"
    try:
        figures = (GROUPS | CLASSES)[group](sizes)
        print(f"{table(figures)}\n", flush=True)
        if not figures:
            end = "failed: nothing was measured"
    except Exception as error:          # whatever it is: the other groups are measured all the same
        traceback.print_exc()
        end = f"failed: {type(error).__name__}"
    return Measured(group, figures, time.perf_counter() - began, end)


def parser() -> argparse.ArgumentParser:
    """The options. Those that are fields of Sizes stand in what is parsed only where they were given."""
    options = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    options.add_argument("--only", nargs="+", choices=[*GROUPS, *CLASSES],
                         help=f"the groups to measure (default: all but {', '.join(CLASSES)}; with --smoke those too)")
    options.add_argument("--smoke", action="store_true",
                         help="every group once and as small as it gets, for minutes: it says whether they run, and no "
                              "figure is worth anything")
    options.add_argument("--json", type=Path, help="where to write the figures as JSON")
    sized = options.add_argument_group("sizes", argument_default=argparse.SUPPRESS)
    for name, kind, what in (
            ("repeats", int, "measurements of each figure"),
            ("readers", int, "of load: who change something every few seconds"),
            ("seconds", float, "of load: how long; of phones: for how long their connections are held"),
            ("replicas", int, "of load: processes of the app, behind nginx where there is more than one"),
            ("seed", int, "of load: decides what they do"),
            ("count", int, "of sessions: how many are opened and closed"),
            ("phones", int, "of phones: how many")):
        sized.add_argument(f"--{name}", type=kind, help=f"{what} (default: {getattr(Sizes, name)})")
    sized.add_argument("--lessons", nargs="+", choices=[entry.id for entry in catalogue.existing()],
                       help="of controls and large: whose (default: all)")
    return options


def asked(chosen: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The groups to measure, and those that are passed over: nobody named them, and their packages are not there."""
    groups = chosen.only or [*GROUPS, *(CLASSES if chosen.smoke else ())]
    missing = [] if chosen.only else [group for group in groups if group in OPTIONAL and not OPTIONAL[group]()]
    return [group for group in groups if group not in missing], missing


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it; return the exit status."""
    chosen = parser().parse_args(arguments)
    given = {field.name: getattr(chosen, field.name) for field in fields(Sizes) if hasattr(chosen, field.name)}
    sizes, (groups, missing) = replace(SMOKE if chosen.smoke else Sizes(), **given), asked(chosen)
    torch.set_num_threads(1)
    results = [measured(group, sizes) for group in groups]
    report = json.dumps({"machine": f"{platform.machine()}, {torch.get_num_threads()} torch thread",
                         "torch": torch.__version__,
                         "figures": [figure.as_dict() for result in results for figure in result.figures]}, indent=2)
    if chosen.json:
        chosen.json.write_text(report)
    else:
        print(report)
    for result in results:
        print(f"{result.group:12}{result.seconds:7.1f} s  {result.end}")
    for group in missing:
        print(f"{group:12}{'':7}    passed over: its packages are not installed")
    return int(any(result.failed for result in results))


if __name__ == "__main__":
    sys.exit(main())
