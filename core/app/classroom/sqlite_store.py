"""Classes in SQLite: in this process's memory, or in a file, from which a server that was started again goes on.

Each call takes some tens of microseconds, so all of them run in the event loop. An answer is in the file before its
phone hears that it is kept; the file is in write-ahead mode, which a killed process cannot break.
"""
from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from core.app.classroom.store import ANSWERS, HEAD, USUAL, Bounds, Ears, News

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
        self._bounds, self._ears = bounds, Ears()
        self._data = sqlite3.connect(file or ":memory:", isolation_level=None, check_same_thread=False)
        self._data.execute("PRAGMA journal_mode = WAL")
        self._data.execute("PRAGMA synchronous = NORMAL")
        self._data.executescript(_TABLES)

    async def create(self, code: str, head: str, until: float) -> bool:
        self._forget_old()
        if self._one("SELECT count(*) FROM classes") >= self._bounds.classes:
            return False
        return self._changed("INSERT OR IGNORE INTO classes VALUES (?, 1, ?, 0, ?)", code, head, until)

    async def extend(self, code: str, until: float) -> None:
        self._changed("UPDATE classes SET until = ? WHERE code = ? AND until > ?", until, code, time.time())

    async def read(self, code: str) -> tuple[int, str] | None:
        return self._data.execute("SELECT version, head FROM classes WHERE code = ? AND until > ?",
                                  (code, time.time())).fetchone()

    async def write(self, code: str, version: int, head: str, takes: int, *, ended: tuple[int, str] | None = None
                    ) -> bool:
        with self._data:
            self._data.execute("BEGIN IMMEDIATE")
            is_written = self._changed("UPDATE classes SET version = version + 1, head = ?, takes = ? "
                                       "WHERE code = ? AND version = ?", head, takes, code, version)
            if is_written and ended:
                self._data.execute("INSERT OR REPLACE INTO ended VALUES (?, ?, ?)", (code, *ended))
        if is_written:
            self._ears.tell(code, HEAD)
        return is_written

    async def answer(self, code: str, question: int, voter: str, told: str) -> bool:
        with self._data:
            self._data.execute("BEGIN IMMEDIATE")
            if not (self._takes(code, question) and self._joins(code, voter, time.time())
                    and self._one("SELECT count(*) FROM answers WHERE code = ?", code) < self._bounds.answers):
                return False
            self._data.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", (code, question, voter, told))
        self._ears.tell(code, ANSWERS)
        return True

    async def answers(self, code: str, question: int) -> list[str]:
        rows = self._data.execute("SELECT told FROM answers WHERE code = ? AND question = ?", (code, question))
        return [told for told, in rows]

    async def answer_of(self, code: str, question: int, voter: str) -> str | None:
        return self._one("SELECT told FROM answers WHERE code = ? AND question = ? AND voter = ?", code, question,
                         voter)

    async def count(self, code: str, question: int) -> int:
        return self._one("SELECT count(*) FROM answers WHERE code = ? AND question = ?", code, question)

    async def ended(self, code: str) -> dict[int, str]:
        return dict(self._data.execute("SELECT question, head FROM ended WHERE code = ? ORDER BY question", (code,)))

    async def see(self, code: str, voters: Collection[str], now: float) -> None:
        with self._data:
            self._data.execute("BEGIN IMMEDIATE")
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
        with self._data:
            self._data.execute("BEGIN IMMEDIATE")
            for voter, in self._data.execute("SELECT voter FROM there WHERE code = ?", (code,)).fetchall():
                if voter not in voters:
                    self._data.execute("DELETE FROM there WHERE code = ? AND voter = ?", (code, voter))
                    self._data.execute("DELETE FROM answers WHERE code = ? AND question = ? AND voter = ?",
                                       (code, question, voter))
        self._ears.tell(code, ANSWERS)

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
        """Note that a voter is there. False for one more than a class takes."""
        if self._changed("UPDATE there SET at = ? WHERE code = ? AND voter = ?", now, code, voter):
            return True
        if self._one("SELECT count(*) FROM there WHERE code = ?", code) >= self._bounds.phones:
            self._data.execute("DELETE FROM there WHERE code = ? AND at <= ?", (code, now - self._bounds.gone))
        return (self._one("SELECT count(*) FROM there WHERE code = ?", code) < self._bounds.phones
                and self._changed("INSERT INTO there VALUES (?, ?, ?)", code, voter, now))

    def _forget_old(self) -> None:
        for code, in self._data.execute("SELECT code FROM classes WHERE until <= ?", (time.time(),)).fetchall():
            self._forget(code)

    def _forget(self, code: str) -> None:
        for table in ("classes", "ended", "answers", "there"):
            self._data.execute(f"DELETE FROM {table} WHERE code = ?", (code,))

    def _one(self, question: str, *values):
        row = self._data.execute(question, values).fetchone()
        return row[0] if row else None

    def _changed(self, statement: str, *values) -> bool:
        return self._data.execute(statement, values).rowcount == 1
