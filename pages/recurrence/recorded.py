"""Recorded runs of the lesson's long computations: real ones, shown until a reader starts one here.

They are in assets/teaching/recurrence_runs.json, made by `python -m core.recordings recurrence`.
"""
import functools
from dataclasses import fields

from core.files import read_json
from core.learning.memory_tasks import Recall, RecallRecord, Rewriting, RewritingRecord
from core.learning.recurrent_cells import Timing
from core.training.teaching_text import DATA

FILE = DATA / "recurrence_runs.json"


@functools.cache
def _kept() -> dict:
    return read_json(FILE)


@functools.cache
def recall_run(task: Recall, seed: int) -> tuple[RecallRecord, ...]:
    """The records of a recorded training; empty where there is none with these settings."""
    return _records(name_of(task, seed), RecallRecord)


@functools.cache
def rewriting_run(task: Rewriting, n_hidden: int, seed: int) -> tuple[RewritingRecord, ...]:
    """The same of the two writers."""
    return _records(name_of(task, n_hidden, seed), RewritingRecord)


@functools.cache
def race(d: int) -> tuple[Timing, ...]:
    """The recorded times of width d."""
    return tuple(Timing(**row) for row in _kept()["races"].get(str(d), ()))


def name_of(task: Recall | Rewriting, *settings: int) -> str:
    """The key of a run."""
    return " ".join(map(str, (type(task).__name__, *vars(task).values(), *settings)))


def _records(name: str, kind: type) -> tuple:
    names = [field.name for field in fields(kind)]
    return tuple(kind(**{each: _frozen(row[each]) for each in names}) for row in _kept()["runs"].get(name, ()))


def _frozen(value: object) -> object:
    """A value as a record has it: tuples for lists, NaN for null."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return float("nan") if value is None else value
