"""The classes of this server: what a teacher may do with the key, and a phone with the code.

A class goes from question to question. A question is open, closed, revealed; its answers show only once it is
revealed, and are sent to nobody before.
"""
from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

from core.app.classroom import asked, codes, rehearsal, tally
from core.app.classroom.asked import CLOSED, OPEN, OVER, REVEALED, WAITING, Refused
from core.app.classroom.head import Head, allowed_of, read, words_of, written
from core.app.classroom.rude import is_rude
from core.app.classroom.store import ANSWERS, HEAD, Store, Unreachable
from core.app.classroom.words import plain

HOURS = 6
QUIET_MINUTES = 45                  # without a sign of the teacher's page or any phone, after which a class is over
HEARD_EVERY = 60                    # seconds between two notes that somebody of a class was heard of
MOST_QUESTIONS = 200                # of a class
MOST_LINK = 8_000                   # characters of the address that phones may follow
MOST_ALLOWED = 500                  # words
PRESENT_SECONDS = 60                # for which a phone counts as there after it was last seen
SEEN_EVERY = 20                     # seconds
TIDY_EVERY = 600                    # seconds
KEEP_ALIVE = 15                     # seconds, after which a line without news keeps a connection open
COUNT_EVERY = 0.25                  # seconds between two counts for a wall
SIGNALS = ("reveal", "next", "back", "story", "guess", "heads", "stop")
MOST_NOTES, MOST_NOTE = 8, 1_000    # of the second device; characters of one
_TRIES = 20                         # to change a head that others change as well
WALL = "wall"                       # counts as present like a phone, but is a wall
_PATH = re.compile(r"/(?![/\\])[^\x00-\x1f\x7f]*")       # a path that no browser takes for another server's address
_VOTER = re.compile(r"[0-9a-f]{32}")


class NoClass(LookupError):
    """No class has this code, or it is over."""


class NotAllowed(PermissionError):
    """The key is not that of the class."""


class Full(Exception):
    """No further class or phone is taken now."""


class NoRoom(Exception):
    """The class takes no further phone, until one leaves or the teacher makes room."""


class Classes:
    """All classes, in a store. For one event loop."""

    def __init__(self, store: Store) -> None:
        self.store = store
        # the phones, and walls under WALL, that are connected here, by code
        self._there: dict[str, Counter[str]] = {}
        self._seeing: asyncio.Task | None = None
        self._heard: dict[str, float] = {}              # time of the last note that somebody was heard of, by code
        self.leaving: set[asyncio.Task] = set()
        self._rehearsals: dict[str, asyncio.Task] = {}      # by code
        self._revealed: dict[tuple[str, int], dict] = {}    # (code, version) -> what a revealed question shows
        self._stops = False                                 # the server ends

    def stop(self) -> None:
        """End all `events`: the server ends."""
        self._stops = True
        self.store.wake()

    async def tidy(self) -> None:
        """Forget, again and again until cancelled, the classes whose time is over."""
        while True:
            with contextlib.suppress(Unreachable):
                await self.store.forget_old()
            await asyncio.sleep(TIDY_EVERY)

    async def open(self) -> tuple[str, str]:
        """Open a class; return its code and its key. Raises Full."""
        key = codes.new_key()
        until = time.time() + HOURS * 3600
        for _ in range(_TRIES):
            code = codes.new_code()
            if await self.store.create(code, written(Head(codes.kept(key), until)), _quiet_until(until)):
                return code, key
        raise Full

    async def act(self, code: str, key: object, wish: Mapping) -> dict:
        """Do what the holder of the key wishes: wish["do"] is a name in ACTIONS. Return the action's answer, mostly {}.

        Raises NoClass, NotAllowed, Refused.
        """
        action = ACTIONS.get(wish.get("do") if isinstance(wish.get("do"), str) else "")
        if action is None:
            raise Refused("there is no such wish")
        _, head = await self._head(code)
        if not codes.opens(key, head.key):
            raise NotAllowed
        await self._hear(code, head)
        return await action(self, code, wish) or {}

    async def answer(self, code: str, voter: object, told: Mapping) -> bool:
        """Keep a phone's answer to the question told["question"], in place of an earlier one of the same browser.

        Return whether it is kept; it is not if the question is closed by now. Raises NoClass, Refused.
        """
        _, head = await self._head(code)
        if not is_voter(voter):
            raise Refused("a phone has a number")
        await self._hear(code, head)
        number = told.get("question")
        if not head.takes or number != head.takes or isinstance(number, bool):
            return False
        kept = asked.answer(asked.form(head.asked["guess"]), told)
        return await self.store.answer(code, number, voter, kept)

    async def knows(self, code: str, voter: object) -> bool:
        """Whether this phone has joined the class."""
        return is_voter(voter) and await self.store.knows(code, voter)

    async def check_room(self, code: str) -> None:
        """Raise NoRoom if the class takes no further phone. Raises NoClass."""
        await self._head(code)
        if await self.store.is_full(code):
            raise NoRoom

    async def check_wall(self, code: str, kept: str) -> None:
        """Raise NotAllowed unless `kept` is the hash of the key. Raises NoClass."""
        _, head = await self._head(code)
        if not hmac.compare_digest(kept.encode(), head.key.encode()):
            raise NotAllowed

    async def events(self, code: str, voter: str | None) -> AsyncIterator[dict | None]:
        """Yield the state for one phone (for a wall if `voter` is None) at every change, and None every KEEP_ALIVE
        seconds without one. Ends with the class. Raises NoClass at the beginning.
        """
        counts = voter is None
        await self._hear(code, (await self._head(code))[1])
        async with self.store.changes(code, HEAD, *([ANSWERS] if counts else [])) as news:
            last, mine = None, await self._mine(code, voter)
            async with _Presence(self, code, voter or WALL):
                while not self._stops:
                    try:
                        seen = await self.seen(code, counts=counts)
                    except NoClass:
                        yield {"phase": OVER}
                        return
                    except Unreachable:
                        seen = last
                    yield (seen | mine if mine and last is None else seen) if seen != last else None
                    last = seen
                    if await news.wait(KEEP_ALIVE) and counts:
                        await asyncio.sleep(COUNT_EVERY)

    async def seen(self, code: str, *, counts: bool) -> dict:
        """The state that the class shows now; counts: with the counts for a wall. Raises NoClass."""
        version, head = await self._head(code)
        shown = {"version": version, "question": head.question, "phase": head.phase, "follow": head.follow}
        if head.asked and head.phase != WAITING:
            shown |= {"asked": head.asked, "compares": head.compares}
        if head.phase == REVEALED:
            shown |= await self._told(code, version, head)
        if counts:
            shown |= {"signal": head.signal, "notes": head.notes, "rehearses": code in self._rehearsals}
            shown |= {"full": await self.store.is_full(code)}
            shown |= {"answered": await self.store.count(code, head.question) if head.question else 0,
                      "there": await self.store.there(code, time.time() - PRESENT_SECONDS)}
        return shown

    async def _told(self, code: str, version: int, head: Head) -> dict:
        """The class's answers beside the model's; computed once for all phones."""
        if (code, version) not in self._revealed:
            told = {"model": head.model, "tally": await self._tally(code, head)}
            if head.compares and (first := (await self.store.ended(code)).get(head.compares)):
                told["first"] = await self._tally(code, read(first))
            while len(self._revealed) >= 100:
                self._revealed.pop(next(iter(self._revealed)))
            self._revealed[code, version] = told
        return self._revealed[code, version]

    async def _tally(self, code: str, head: Head) -> dict:
        answers = await self.store.answers(code, head.question)
        return tally.of(head.asked["guess"], answers, allowed_of(head, words_of(head, answers)))

    async def _head(self, code: str) -> tuple[int, Head]:
        found = await self.store.read(code)
        if found is None:
            raise NoClass(code)
        return found[0], read(found[1])

    async def _mine(self, code: str, voter: str | None) -> dict:
        """The answer of this phone to the present question, {mine}, for a phone that comes back; {} without one."""
        _, head = await self._head(code)
        told = await self.store.answer_of(code, head.question, voter) if voter and head.question else None
        return {"mine": json.loads(told) | {"question": head.question}} if told else {}

    async def _change(self, code: str, change, *, ends: bool = False) -> None:
        """Write `change(head)` as the head, even if others write at the same time. ends: the present question is over,
        and is kept.
        """
        for _ in range(_TRIES):
            version, head = await self._head(code)
            changed = change(head)
            ended = (head.question, written(head)) if ends and head.question else None
            if changed == head or await self.store.write(code, version, written(changed), changed.takes, ended=ended):
                return
        raise Unreachable("the class changes all the time")

    # ---- what the key allows

    async def _ask(self, code: str, wish: Mapping) -> None:
        """Ask {asked}; compares: True if it is the second vote on the previous question."""
        question, again = asked.question(wish.get("asked")), wish.get("compares") is True

        def change(head: Head) -> Head:
            if head.question >= MOST_QUESTIONS:
                raise Refused("a class has no more questions")
            return replace(head, question=head.question + 1, phase=OPEN, asked=question, model=None, allowed=None,
                           compares=head.question if again else 0)

        await self._change(code, change, ends=True)

    async def _close(self, code: str, wish: Mapping) -> None:
        await self._change(code, lambda head: replace(head, phase=CLOSED) if head.phase == OPEN else head)

    async def _reopen(self, code: str, wish: Mapping) -> None:
        await self._change(code, lambda head: replace(head, phase=OPEN) if head.phase == CLOSED else head)

    async def _reveal(self, code: str, wish: Mapping) -> None:
        """Show the answers of the class, and {model}: the model's answer, an object or null."""
        model = wish.get("model")
        if model is not None and not isinstance(model, Mapping):
            raise Refused("what the model says is an object")
        await self._change(code, lambda head: replace(head, phase=REVEALED, model=model) if head.question else head)

    async def _allow(self, code: str, wish: Mapping) -> None:
        """Let {words} be shown, and no others."""
        words = wish.get("words")
        if not isinstance(words, list) or len(words) > MOST_ALLOWED or not all(isinstance(one, str) for one in words):
            raise Refused("words are a list of texts")
        await self._change(code, lambda head: replace(head, allowed=tuple(map(plain, words))))

    async def _words(self, code: str, wish: Mapping) -> dict:
        """For the teacher alone, words: all free words that were answered, [word, how often, whether it is rude], the
        most frequent first, rude ones at the end; allowed: the words that may be shown; looked: whether the teacher has
        decided on them.
        """
        _, head = await self._head(code)
        counts = words_of(head, await self.store.answers(code, head.question) if head.question else [])
        counted = [(word, n, is_rude(word)) for word, n in counts.most_common(MOST_ALLOWED)]
        return {"words": sorted(counted, key=lambda each: each[2]), "allowed": sorted(allowed_of(head, counts)),
                "looked": head.allowed is not None}

    async def _follow(self, code: str, wish: Mapping) -> None:
        """Let phones open {link}, a path of this app; an empty link: nothing."""
        link = wish.get("link", "")
        if not isinstance(link, str) or len(link) > MOST_LINK or link and not _PATH.fullmatch(link):
            raise Refused("a link is a path of this app")
        await self._change(code, lambda head: replace(head, follow=link))

    async def _signal(self, code: str, wish: Mapping) -> None:
        """Tell the wall, from the teacher's second device, to do {what}, one of SIGNALS, with {text}."""
        text = wish.get("text", "")
        if wish.get("what") not in SIGNALS or not isinstance(text, str) or len(text) > asked.MOST_PROMPT:
            raise Refused("there is no such signal")
        await self._change(code, lambda head: replace(head, signal=(head.signal[0] + 1, wish["what"], text)))

    async def _rehearse(self, code: str, wish: Mapping) -> None:
        """Let simulated phones join, or leave if {on} is false."""
        if running := self._rehearsals.pop(code, None):
            running.cancel()
        if wish.get("on") is True:
            self._rehearsals[code] = asyncio.create_task(rehearsal.run(
                lambda phone: self.events(code, phone), lambda phone, told: self.answer(code, phone, told)))
            self._rehearsals[code].add_done_callback(lambda task: self._rehearsed(code, task))

    def _rehearsed(self, code: str, task: asyncio.Task) -> None:
        if self._rehearsals.get(code) is task:
            del self._rehearsals[code]
        if not task.cancelled():
            task.exception()        # the class is over, or the store was lost: nothing to report

    async def _note(self, code: str, wish: Mapping) -> None:
        """Set {notes} on the plan for the second device: an object of short texts, or null."""
        notes = wish.get("notes")
        if notes is not None and not (isinstance(notes, Mapping) and len(notes) <= MOST_NOTES and all(
                isinstance(text, str) and len(text) <= MOST_NOTE for text in notes.values())):
            raise Refused("notes are short texts by their names")
        await self._change(code, lambda head: replace(head, notes=notes))

    async def _clear(self, code: str, wish: Mapping) -> None:
        """Ask nothing for now."""
        await self._change(code, lambda head: replace(head, phase=WAITING))

    async def _report(self, code: str, wish: Mapping) -> dict:
        """All questions with their counts: [{question, asked, compares, model, tally}]."""
        _, now = await self._head(code)
        heads = [*map(read, (await self.store.ended(code)).values()), *([now] if now.question else [])]
        return {"questions": [{"question": head.question, "asked": head.asked, "compares": head.compares,
                               "model": head.model, "tally": await self._tally(code, head)} for head in heads]}

    async def _check(self, code: str, wish: Mapping) -> dict:
        """Return {until}, when the class ends. Raises NoClass if it has."""
        _, head = await self._head(code)
        return {"until": head.until}

    async def _sweep(self, code: str, wish: Mapping) -> None:
        """Forget phones that are not connected to this server, and their answers to the present question: anyone with
        the code can invent any number of phones.
        """
        _, head = await self._head(code)
        await self.store.keep_only(code, head.question, self._there.get(code, Counter()).keys() - {WALL})

    async def _end(self, code: str, wish: Mapping) -> None:
        await self.store.drop(code)

    # ---- who is there

    async def _hear(self, code: str, head: Head) -> None:
        """Note a sign of life: the class goes on for QUIET_MINUTES from now, but not beyond its hours."""
        now = time.time()
        if now - self._heard.get(code, 0) < HEARD_EVERY:
            return
        self._heard = {other: at for other, at in self._heard.items() if now - at < HEARD_EVERY} | {code: now}
        await self.store.extend(code, _quiet_until(head.until))

    def _came(self, code: str, voter: str) -> None:
        self._there.setdefault(code, Counter())[voter] += 1
        if self._seeing is None or self._seeing.done():
            self._seeing = asyncio.create_task(self._see_all())

    def _left(self, code: str, voter: str) -> bool:
        """Note that a connection has ended; return whether it was the phone's last one here."""
        there = self._there[code]
        there[voter] -= 1
        if there[voter]:
            return False
        del there[voter]
        if not there:
            del self._there[code]
        return True

    async def _see_all(self) -> None:
        """Note in the store every SEEN_EVERY seconds who is still there, as long as anybody is."""
        while self._there:
            await asyncio.sleep(SEEN_EVERY)
            for code, voters in list(self._there.items()):
                try:
                    if phones := voters.keys() - {WALL}:
                        await self.store.see(code, phones, time.time())
                    await self._hear(code, (await self._head(code))[1])
                except NoClass:
                    continue
                except Unreachable:
                    break


class _Presence:
    """Note that a phone or a wall is there as long as the block runs; a wall is not counted."""

    def __init__(self, classes: Classes, code: str, voter: str) -> None:
        self._classes, self._code, self._voter = classes, code, voter

    async def __aenter__(self) -> None:
        self._classes._came(self._code, self._voter)
        if self._voter != WALL:
            await self._see(time.time())

    async def __aexit__(self, *_) -> None:
        if self._classes._left(self._code, self._voter) and self._voter != WALL:
            # the connection is gone, and with it the task that runs here
            task = asyncio.create_task(self._see(0))
            self._classes.leaving.add(task)             # a task that nobody holds may be collected
            task.add_done_callback(self._classes.leaving.discard)

    async def _see(self, at: float) -> None:
        with contextlib.suppress(Unreachable):      # it is seen again a little later
            await self._classes.store.see(self._code, [self._voter], at)


ACTIONS = {"ask": Classes._ask, "close": Classes._close, "reopen": Classes._reopen, "reveal": Classes._reveal,
           "allow": Classes._allow, "words": Classes._words, "follow": Classes._follow, "clear": Classes._clear,
           "report": Classes._report, "check": Classes._check,
           "signal": Classes._signal, "note": Classes._note, "rehearse": Classes._rehearse, "sweep": Classes._sweep,
           "end": Classes._end}


def is_voter(voter: object) -> bool:
    """Whether it is a number like those that phones draw: 32 hexadecimal digits."""
    return isinstance(voter, str) and _VOTER.fullmatch(voter) is not None


def _quiet_until(most: float) -> float:
    """The time at which a class is over if nothing is heard of it from now on; `most`: the latest time in any case."""
    return min(most, time.time() + QUIET_MINUTES * 60)
