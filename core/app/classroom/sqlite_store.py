"""Classes in SQLite: in this process's memory, or in a file, with which a restarted server goes on.

Each call takes some tens of microseconds, so all of them run in the event loop. An answer is in the file before its
phone hears that it is kept; the file is in write-ahead mode, so a killed process cannot break it. Once a class is gone,
nothing of it is in the file any more, and nobody else on the machine can read the file.
"""
from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from core import files
from core.app.classroom.store import ANSWERS, HEAD, USUAL, Bounds, Ears, News, Unreachable

LOG = logging.getLogger(__name__)
_TABLES = """
CREATE TABLE IF NOT EXISTS classes (code TEXT PRIMARY KEY, version INTEGER, head TEXT, takes INTEGER, until REAL);
CREATE TABLE IF NOT EXISTS ended (code TEXT, question INTEGER, head TEXT, PRIMARY KEY (code, question));
CREATE TABLE IF NOT EXISTS answers (code TEXT, question INTEGER, voter TEXT, told TEXT,
                                    PRIMARY KEY (code, question, voter)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS there (code TEXT, voter TEXT, at REAL, PRIMARY KEY (code, voter)) WITHOUT ROWID;
"""


class SqliteStore:
    """A Store in SQLite. file: None for this process's memory alone. For one event loop."""

    def __init__(self, file: Path | None = None, bounds: Bounds = USUAL) -> None:
        self._bounds, self._ears, self._fails = bounds, Ears(), False
        if file:
            files.create_private(file)
            file.chmod(0o600)       # also for a file that was there before; SQLite's write-ahead log gets its mode
        self._data = sqlite3.connect(file or ":memory:", isolation_level=None, check_same_thread=False)
        for setting in ("journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON"):
            self._data.execute(f"PRAGMA {setting}")
        self._data.executescript(_TABLES)

    async def create(self, code: str, head: str, until: float) -> bool:
        await self.forget_old()
        if self._one("SELECT count(*) FROM classes") >= self._bounds.classes:
            return False
        return self._changed("INSERT OR IGNORE INTO classes VALUES (?, 1, ?, 0, ?)", code, head, until)

    async def extend(self, code: str, until: float) -> None:
        self._changed("UPDATE classes SET until = ? WHERE code = ? AND until > ?", until, code, time.time())

    async def read(self, code: str) -> tuple[int, str] | None:
        return next(iter(self._rows("SELECT version, head FROM classes WHERE code = ? AND until > ?", code,
                                    time.time())), None)

    async def write(self, code: str, version: int, head: str, takes: int, *, ended: tuple[int, str] | None = None
                    ) -> bool:
        with self._at_once():
            is_written = self._changed("UPDATE classes SET version = version + 1, head = ?, takes = ? "
                                       "WHERE code = ? AND version = ?", head, takes, code, version)
            if is_written and ended:
                self._changed("INSERT OR REPLACE INTO ended VALUES (?, ?, ?)", code, *ended)
        if is_written:
            self._ears.tell(code, HEAD)
        return is_written

    async def answer(self, code: str, question: int, voter: str, told: str) -> bool:
        with self._at_once():
            if not (self._takes(code, question) and self._joins(code, voter, time.time())
                    and self._one("SELECT count(*) FROM answers WHERE code = ?", code) < self._bounds.answers):
                return False
            self._changed("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", code, question, voter, told)
        self._ears.tell(code, ANSWERS)
        return True

    async def answers(self, code: str, question: int) -> list[str]:
        rows = self._rows("SELECT told FROM answers WHERE code = ? AND question = ?", code, question)
        return [told for told, in rows]

    async def answer_of(self, code: str, question: int, voter: str) -> str | None:
        return self._one("SELECT told FROM answers WHERE code = ? AND question = ? AND voter = ?", code, question,
                         voter)

    async def count(self, code: str, question: int) -> int:
        return self._one("SELECT count(*) FROM answers WHERE code = ? AND question = ?", code, question)

    async def ended(self, code: str) -> dict[int, str]:
        return dict(self._rows("SELECT question, head FROM ended WHERE code = ? ORDER BY question", code))

    async def see(self, code: str, voters: Collection[str], now: float) -> None:
        with self._at_once():
            for voter in voters:
                self._joins(code, voter, now)
        self._ears.tell(code, ANSWERS)

    async def knows(self, code: str, voter: str) -> bool:
        return self._one("SELECT 1 FROM there WHERE code = ? AND voter = ?", code, voter) == 1

    async def there(self, code: str, since: float) -> int:
        return self._one("SELECT count(*) FROM there WHERE code = ? AND at > ?", code, since)

    async def is_full(self, code: str) -> bool:
        return await self.there(code, time.time() - self._bounds.gone) >= self._bounds.phones

    async def keep_only(self, code: str, question: int, voters: Collection[str]) -> None:
        with self._at_once():
            for voter, in self._rows("SELECT voter FROM there WHERE code = ?", code):
                if voter not in voters:
                    self._changed("DELETE FROM there WHERE code = ? AND voter = ?", code, voter)
                    self._changed("DELETE FROM answers WHERE code = ? AND question = ? AND voter = ?", code, question,
                                  voter)
        self._ears.tell(code, ANSWERS)

    async def forget_old(self) -> None:
        self._forget(*(code for code, in self._rows("SELECT code FROM classes WHERE until <= ?", time.time())))

    async def drop(self, code: str) -> None:
        self._forget(code)
        self._ears.tell(code, HEAD)

    def changes(self, code: str, *wanted: str) -> AbstractAsyncContextManager[News]:
        return self._ears.listen(code, wanted)

    def wake(self) -> None:
        self._ears.wake()

    async def close(self) -> None:
        self._data.close()

    def _takes(self, code: str, question: int) -> bool:
        return self._one("SELECT takes FROM classes WHERE code = ? AND until > ?", code, time.time()) == question

    def _joins(self, code: str, voter: str, now: float) -> bool:
        """Note that a voter is there. False if the class takes no further phone."""
        if self._changed("UPDATE there SET at = ? WHERE code = ? AND voter = ?", now, code, voter):
            return True
        if self._one("SELECT count(*) FROM there WHERE code = ?", code) >= self._bounds.phones:
            self._changed("DELETE FROM there WHERE code = ? AND at <= ?", code, now - self._bounds.gone)
        return (self._one("SELECT count(*) FROM there WHERE code = ?", code) < self._bounds.phones
                and self._changed("INSERT INTO there VALUES (?, ?, ?)", code, voter, now))

    def _forget(self, *codes: str) -> None:
        """Wipe classes from the tables and from the write-ahead log."""
        with self._at_once():
            for code in codes:
                for table in ("classes", "ended", "answers", "there"):
                    self._changed(f"DELETE FROM {table} WHERE code = ?", code)
        if codes:
            self._rows("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextlib.contextmanager
    def _at_once(self) -> Iterator[None]:
        """Write all of the block's changes, or none."""
        with self._reached(), self._data:
            self._data.execute("BEGIN IMMEDIATE")
            yield
        self._fails = False

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """Raise Unreachable for any error in reading or writing the file, such as a full disk; log it once."""
        try:
            yield
        except sqlite3.Error as error:
            if not self._fails:
                LOG.warning("The file of the classes cannot be written: %s", error)
            self._fails = True
            raise Unreachable(str(error)) from error

    def _rows(self, question: str, *values) -> list[tuple]:
        with self._reached():
            return self._data.execute(question, values).fetchall()

    def _one(self, question: str, *values):
        return next((first for first, *_ in self._rows(question, *values)), None)

    def _changed(self, statement: str, *values) -> bool:
        with self._reached():
            return self._data.execute(statement, values).rowcount == 1
