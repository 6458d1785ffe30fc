"""A class from its beginning to its end: what the key allows, what a phone may, what shows when."""
from __future__ import annotations

import asyncio
import itertools
import json
import time

import pytest

from core.app.classroom import classes as module
from core.app.classroom import rehearsal
from core.app.classroom.asked import Refused
from core.app.classroom.classes import Classes, Full, NoClass, NoRoom, NotAllowed
from core.app.classroom.guesses import Cell, Number, Options, Place, Word
from core.app.classroom.sqlite_store import SqliteStore
from core.app.classroom.store import Bounds
from tests.helpers.coroutines import finished

WORDS = {"ask": "What comes next?", "guess": Word().offer()}
OPTIONS = {"ask": "Which?", "guess": Options(["ball", "dog", "cat"]).offer(), "about": "here"}


def phone(i: int) -> str:
    return f"{i:032x}"


class Room:
    """A class that is open, with what was seen by those who watch."""

    def __init__(self, classes, code, key):
        self.classes, self.code, self.key, self.watching = classes, code, key, []

    async def act(self, do, **more):
        return await self.classes.act(self.code, self.key, {"do": do, **more})

    async def answer(self, i, guess, question=1, **more):
        return await self.classes.answer(self.code, phone(i), {"question": question, "guess": guess, **more})

    async def now(self, *, counts=False):
        return await self.classes.seen(self.code, counts=counts)

    def watch(self, voter=None):
        """A list that grows by what a phone, or with no voter the wall, is shown."""
        shown = []

        async def go():
            async for event in self.classes.events(self.code, voter):
                if event is not None:
                    shown.append(event)
        self.watching.append(asyncio.create_task(go()))
        return shown


def in_class(trial, bounds=None):
    async def go():
        store = SqliteStore(None, *([bounds] if bounds else []))
        classes = Classes(store)
        room = Room(classes, *await classes.open())
        try:
            return await trial(room)
        finally:
            running = [*room.watching, *classes._rehearsals.values()]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await asyncio.gather(*classes.leaving)
            await store.close()
    return finished(go())


def test_a_class_that_is_full_says_so_and_the_teacher_makes_room():
    async def trial(room):
        await room.act("ask", asked=OPTIONS)
        shown = room.watch(phone(0))
        await until(lambda: shown)
        assert await room.answer(0, 1) and await room.answer(1, 2) and not await room.answer(2, 2)
        with pytest.raises(NoRoom):
            await room.classes.check_room(room.code)
        assert (await room.now(counts=True))["full"]
        await room.act("sweep")         # of what nobody is connected with
        await room.classes.check_room(room.code)
        seen = await room.now(counts=True)
        assert not seen["full"] and seen["answered"] == 1 == seen["there"]
        assert await room.answer(2, 2)
    in_class(trial, Bounds(phones=2))


def test_classes_whose_time_is_over_are_forgotten_though_nobody_opens_another(monkeypatch):
    async def trial(room):
        await room.classes.store.extend(room.code, time.time() + 0.05)
        monkeypatch.setattr(module, "TIDY_EVERY", 0.02)
        tidying = asyncio.create_task(room.classes.tidy())
        await until(lambda: not room.classes.store._rows("SELECT code FROM classes"))
        tidying.cancel()
    in_class(trial)


def test_a_server_that_ends_ends_all_that_is_shown():
    async def trial(room):
        shown = room.watch(phone(0)), room.watch()
        await until(lambda: all(shown))
        room.classes.stop()
        await asyncio.gather(*room.watching)
    in_class(trial)


async def until(condition):
    """As soon as it holds."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def test_a_question_goes_from_open_to_revealed_and_shows_nothing_before():
    async def trial(room):
        await room.act("ask", asked=OPTIONS)
        assert [await room.answer(i, guess) for i, guess in enumerate((0, 1, 1))] == [True] * 3
        for what in (None, "close"):
            if what:
                await room.act(what)
            for counts in (False, True):
                seen = await room.now(counts=counts)
                assert not {"tally", "model", "first"} & set(seen) and "ball" not in json.dumps(
                    {name: value for name, value in seen.items() if name != "asked"})
        assert await room.answer(0, 2) is False                 # closed
        await room.act("reopen")
        assert await room.answer(0, 2) is True
        await room.act("reveal", model={"answer": 1, "said": "73 %"})
        seen = await room.now()
        assert seen["phase"] == "revealed" and seen["tally"] == {"n": 3, "counts": [0, 2, 1]}
        assert seen["model"] == {"answer": 1, "said": "73 %"}
        assert await room.answer(0, 0) is False
    in_class(trial)


def test_a_second_vote_stands_beside_the_first():
    async def trial(room):
        await room.act("ask", asked=OPTIONS)
        for i, guess in enumerate((0, 1, 2)):
            await room.answer(i, guess)
        await room.act("ask", asked=OPTIONS, compares=True)
        for i in range(3):
            assert await room.answer(i, 1, question=2)
        assert await room.answer(0, 0, question=1) is False     # that one is over
        await room.act("reveal", model={"answer": 1})
        seen = await room.now()
        assert seen["first"]["counts"] == [1, 1, 1] and seen["tally"]["counts"] == [0, 3, 0] and seen["compares"] == 1
        report = (await room.act("report"))["questions"]
        assert [one["tally"]["n"] for one in report] == [3, 3] and [one["compares"] for one in report] == [0, 1]
    in_class(trial)


def test_free_words_are_shown_only_once_they_are_allowed():
    async def trial(room):
        await room.act("ask", asked=WORDS)
        for i, word in enumerate(("Something sh1t", "something shit", "Ball")):
            await room.answer(i, word, sure=80)
        assert (await room.act("words"))["words"] == [("ball", 1, False), ("something sh1t", 1, True),
                                                      ("something shit", 1, True)]
        await room.act("reveal", model={"answer": "·sun"})
        # nobody has looked: plain words alone
        assert (await room.now())["tally"]["words"] == [["ball", 1]] and (await room.now())["tally"]["other"] == 2
        await room.act("allow", words=["Something shit"])
        assert (await room.now())["tally"]["words"] == [["something shit", 1]]
        await room.act("allow", words=["Ball"])
        seen = await room.now()
        assert seen["tally"]["words"] == [["ball", 1]] and "sh1t" not in json.dumps(seen)
        await room.act("allow", words=[])
        assert (await room.now())["tally"]["words"] == []
    in_class(trial)


def test_only_the_key_asks_closes_reveals_and_reads_words():
    async def trial(room):
        await room.act("ask", asked=WORDS)
        await room.answer(0, "ball")
        before = await room.classes.store.read(room.code)
        for key in ("", "0" * 32, None, room.code, 7, module.codes.kept(room.key)):
            for what in module.ACTIONS:
                with pytest.raises(NotAllowed):
                    await room.classes.act(room.code, key, {"do": what, "asked": OPTIONS, "words": ["ball"]})
        assert await room.classes.store.read(room.code) == before
        for wish in ({}, {"do": "drop"}, {"do": ["ask"]}, {"do": "__init__"}):
            with pytest.raises(Refused):
                await room.classes.act(room.code, room.key, wish)
    in_class(trial)


def test_the_key_of_one_class_opens_no_other():
    async def trial(room):
        code, key = await room.classes.open()
        with pytest.raises(NotAllowed):
            await room.classes.act(room.code, key, {"do": "end"})
        await room.act("ask", asked=OPTIONS)
        await room.answer(0, 0)
        assert (await room.classes.seen(code, counts=True))["answered"] == 0
        with pytest.raises(NoClass):
            await room.classes.seen("CCCCCC", counts=False)
    in_class(trial)


def test_what_shows_names_no_phone_and_no_key():
    async def trial(room):
        wall, mine = room.watch(), room.watch(phone(5))
        await room.act("ask", asked=OPTIONS)
        await room.answer(5, 0)
        await room.act("reveal", model={"answer": 0})
        await until(lambda: wall and wall[-1]["phase"] == mine[-1]["phase"] == "revealed")
        said = json.dumps([wall, mine, await room.act("report")])
        assert phone(5) not in said and room.key not in said and module.codes.kept(room.key) not in said
    in_class(trial)


def test_a_phone_that_comes_late_or_again_sees_what_is_asked_and_its_own_answer():
    async def trial(room):
        await room.act("ask", asked=OPTIONS)
        await room.answer(1, 2)
        late, again = room.watch(phone(0)), room.watch(phone(1))
        await until(lambda: late and again)
        assert late[0]["asked"]["ask"] == "Which?" and "mine" not in late[0]
        assert again[0]["mine"] == {"question": 1, "guess": 2}
    in_class(trial)


def test_the_wall_counts_and_a_phone_does_not_hear_of_it():
    async def trial(room):
        wall, mine = room.watch(), room.watch(phone(0))
        await until(lambda: wall and wall[-1]["there"] == 1 and mine)
        await room.act("ask", asked=OPTIONS)
        for i in range(3):
            await room.answer(i, i)
        await until(lambda: wall[-1].get("answered") == 3)
        assert len(mine) == 2 and not any("answered" in event for event in mine)
        room.watching[1].cancel()
        await until(lambda: wall[-1]["there"] == 2)         # the two others answered a moment ago
    in_class(trial)


def test_two_tabs_of_one_browser_are_one_phone():
    async def trial(room):
        wall, first, second = room.watch(), room.watch(phone(0)), room.watch(phone(0))
        await until(lambda: wall and wall[-1]["there"] == 1 and first and second)
        await room.act("ask", asked=OPTIONS)
        await room.answer(0, 0)
        await room.answer(0, 1)
        room.watching[1].cancel()
        await until(lambda: wall[-1].get("answered") == 1 and wall[-1]["there"] == 1)
    in_class(trial)


def test_the_end_of_a_class_reaches_all_and_leaves_nothing():
    async def trial(room):
        wall, mine = room.watch(), room.watch(phone(0))
        await room.act("ask", asked=OPTIONS)
        await room.answer(0, 0)
        await until(lambda: wall and mine)
        await room.act("end")
        await until(lambda: wall[-1] == mine[-1] == {"phase": "over"})
        assert await room.classes.store.answers(room.code, 1) == []
        with pytest.raises(NoClass):
            await room.act("check")
        with pytest.raises(NoClass):
            await room.answer(0, 0)
    in_class(trial)


@pytest.fixture
def clock(monkeypatch):
    """minutes(n) lets that many pass for classes and stores, and for nobody else."""
    real, ahead = time.time, [0.0]
    monkeypatch.setattr(module.time, "time", lambda: real() + ahead[0])

    def minutes(n):
        ahead[0] += 60 * n
    return minutes


def test_a_class_that_everybody_left_is_over_and_makes_room(clock):
    async def trial(room):
        await room.act("ask", asked=OPTIONS)
        clock(module.QUIET_MINUTES - 1)
        assert (await room.now())["phase"] == "open"        # looking in without a number keeps nothing alive
        clock(2)
        with pytest.raises(NoClass):
            await room.act("check")
        assert await room.classes.open()                        # there is room for one
    in_class(trial, Bounds(classes=1))


@pytest.mark.parametrize("who", ["the key", "an answer", "a phone", "the wall"])
def test_a_class_lasts_as_long_as_anybody_is_heard_of_and_no_longer_than_its_hours(clock, monkeypatch, who):
    monkeypatch.setattr(module, "SEEN_EVERY", 0.01)

    async def heard(room):
        if who == "the key":
            await room.act("check")
        elif who == "an answer":
            assert await room.answer(0, 1)
        else:
            last = room.classes._heard[room.code]
            await until(lambda: room.classes._heard.get(room.code, last) > last)    # by its connection alone

    async def trial(room):
        await room.act("ask", asked=OPTIONS)
        if who in ("a phone", "the wall"):
            shown = room.watch(phone(0) if who == "a phone" else None)
            await until(lambda: shown)
        steps = module.HOURS * 60 // (module.QUIET_MINUTES - 5)
        for _ in range(steps):
            clock(module.QUIET_MINUTES - 5)
            if _ < steps - 1:
                await heard(room)
        clock(module.QUIET_MINUTES)
        with pytest.raises(NoClass):
            await room.now()
    in_class(trial)


@pytest.mark.parametrize("told", [{"question": 1}, {"question": 1, "guess": 3}, {"question": 1, "guess": True},
                                  {"question": 1, "guess": "ball"}, {"question": 1, "guess": [0]}])
def test_an_answer_that_makes_no_sense_is_refused(told):
    async def trial(room):
        await room.act("ask", asked=OPTIONS)
        with pytest.raises(Refused):
            await room.classes.answer(room.code, phone(0), told)
        for voter in (None, "", "A" * 32, "0" * 31, "0" * 33, 7):
            with pytest.raises(Refused):
                await room.classes.answer(room.code, voter, {"question": 1, "guess": 0})
        for question in (0, 2, True, "1", None, 1.5):
            assert await room.classes.answer(room.code, phone(0), {"question": question, "guess": 0}) is False
        assert (await room.now(counts=True))["answered"] == 0
    in_class(trial)


@pytest.mark.parametrize("link", ["//evil.example", "https://evil.example", "javascript:alert(1)", "/\\evil.example",
                                  "heads", 7, "/" + "x" * 9_000, "/\t/evil.example", "/\n/evil.example", "/heads\x7f"])
def test_a_link_leads_to_this_app_alone(link):
    async def trial(room):
        with pytest.raises(Refused):
            await room.act("follow", link=link)
        await room.act("follow", link="/heads?prompt=a")
        assert (await room.now())["follow"] == "/heads?prompt=a"
        await room.act("follow", link="")
        assert (await room.now())["follow"] == ""
    in_class(trial)


def test_the_second_device_asks_the_wall_and_sees_notes_that_no_phone_sees():
    async def trial(room):
        await room.act("note", notes={"look": "the tall bar"})
        await room.act("signal", what="guess", text="Once upon")
        wall, mine = await room.now(counts=True), await room.now()
        assert wall["signal"] == (1, "guess", "Once upon") and wall["notes"] == {"look": "the tall bar"}
        assert "tall bar" not in json.dumps(mine) and "signal" not in mine
        for what, more in (("signal", {"what": "end"}), ("signal", {"what": "guess", "text": "x" * 2_001}),
                           ("signal", {"what": "guess", "text": 7}),
                           ("note", {"notes": {"look": 7}}), ("note", {"notes": "x"}),
                           ("note", {"notes": {"look": "x" * 1_001}})):
            with pytest.raises(Refused):
                await room.act(what, **more)
    in_class(trial)


def test_a_rehearsal_joins_answers_every_kind_of_question_with_a_spread_and_leaves(monkeypatch):
    monkeypatch.setattr(rehearsal, "JOIN_WITHIN", 0.01)
    monkeypatch.setattr(rehearsal, "ANSWER_WITHIN", 0.01)
    numbers = map(phone, itertools.count())             # what a phone answers hangs on its number
    monkeypatch.setattr(rehearsal.secrets, "token_hex", lambda _: next(numbers))

    async def trial(room):
        wall = room.watch()
        await room.act("rehearse", on=True)
        await until(lambda: wall and wall[-1]["there"] == rehearsal.PHONES and wall[-1]["rehearses"])
        forms = (Options(["a", "b", "c", "d"]), Place(["a", "b", "c"], [1, 2]), Cell(["0", "1"], ["0", "1"]),
                 Number(1, 1000, log=True), Number(-2, 3, 0.5), Word())
        for number, form in enumerate(forms, 1):
            await room.act("ask", asked={"ask": f"Which {number}?", "guess": form.offer()})
            await until(lambda: wall[-1]["question"] == number and wall[-1]["answered"] == rehearsal.PHONES)
            await room.act("reveal", model=None)
            told = (await room.now())["tally"]
            counts = [n for _, n in told["words"]] if "words" in told else told["counts"]
            assert told["n"] == rehearsal.PHONES and max(counts) < rehearsal.PHONES and sum(n > 0 for n in counts) > 1
            assert "words" not in told or told["other"] > 0          # one of its words is not plain
        await room.act("rehearse", on=False)
        await until(lambda: wall[-1]["there"] == 0 and not wall[-1]["rehearses"])
    in_class(trial)


def test_a_rehearsal_ends_with_its_class():
    async def trial(room):
        await room.act("rehearse", on=True)
        [task] = room.classes._rehearsals.values()
        await asyncio.sleep(0)
        await room.act("end")
        await until(task.done)
        assert not room.classes._rehearsals
    in_class(trial)


def test_no_more_classes_than_there_is_room_for():
    async def trial(room):
        await room.classes.open()
        with pytest.raises(Full):
            await room.classes.open()
    in_class(trial, Bounds(classes=2))


def test_a_question_of_any_size_is_taken_or_refused():
    async def trial(room):
        tokens = ["\U0001f4a9" * 200] * 300
        with pytest.raises(Refused):
            await room.act("ask", asked={"ask": "Which?", "guess": {"kind": "place", "texts": tokens}})
        await room.act("ask", asked=OPTIONS)
        with pytest.raises(Refused):
            await room.act("reveal", model={"bars": ["x" * 100] * 2_000})
        assert (await room.now())["phase"] == "open"
    in_class(trial)
