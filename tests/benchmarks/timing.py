"""How the benchmarks measure: alternating runs, so that both sides see the same machine, and the median with its range.
"""
from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One line of the report: a measured value, its reference in the same run, and their ratio."""

    name: str
    value: float
    reference: float | None
    unit: str
    low: float
    high: float
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.reference if self.reference else None

    def as_dict(self) -> dict:
        return asdict(self) | {"ratio": self.ratio}


# time.perf_counter, or time.process_time where the measured is all arithmetic and the machine is not idle
Clock = Callable[[], float]


def milliseconds(run: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    start = clock()
    run()
    return 1e3 * (clock() - start)


def alternate(ours: Callable[[], object], theirs: Callable[[], object],
              repeats: int) -> tuple[list[float], list[float]]:
    """Milliseconds of both, taken in turn after one warm-up each."""
    a, b = in_turn([ours, theirs], repeats)
    return a, b


def in_turn(runs: Sequence[Callable[[], object]], repeats: int, clock: Clock = time.perf_counter) -> list[list[float]]:
    """Milliseconds of each, taken in turn after one warm-up each."""
    for run in runs:
        run()
    rounds = [[milliseconds(run, clock) for run in runs] for _ in range(repeats)]
    return [list(times) for times in zip(*rounds)]


def resident_megabytes(pid: int | str, peak: bool = False) -> float:
    """RSS of a process in MB, now or at its highest, from /proc (Linux)."""
    field = "VmHWM:" if peak else "VmRSS:"
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"Process {pid} reports no resident memory.")


def processor_seconds(pid: int) -> float:
    """A process's seconds on the processor so far, all its threads together, from /proc (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figure(name: str, values: list[float], references: list[float] | None, unit: str, note: str = "") -> Figure:
    reference = statistics.median(references) if references else None
    return Figure(name, statistics.median(values), reference, unit, min(values), max(values), note)


def table(figures: list[Figure]) -> str:
    """The figures as text in columns."""
    rows = [("figure", "median", "range", "reference", "ratio", "")]
    for f in figures:
        ratio = "" if f.ratio is None else f"{f.ratio:.2f}"
        reference = "" if f.reference is None else f"{f.reference:.4g}"
        rows.append((f.name, f"{f.value:.4g} {f.unit}", f"{f.low:.4g} to {f.high:.4g}", reference, ratio, f.note))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
