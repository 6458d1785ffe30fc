"""Simulated phones: they join a class, answer as a class might, and leave, so that a teacher can try a class alone.
"""
from __future__ import annotations

import asyncio
import contextlib
import math
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from core.app.classroom import asked
from core.app.classroom.asked import OPEN
from core.app.classroom.guesses import Guess, Number, Word

PHONES = 30
JOIN_WITHIN, ANSWER_WITHIN = 3.0, 6.0       # seconds
SPREAD = 0.15                               # standard deviation of answers, in shares of a slider's range
FALLS = 0.55                                # frequency of each answer relative to the next more frequent one
WORDS = ("ball", "doll", "toy", "hat", "way", "mom", "dog", "cat", "shoe", "temper")
UNREAD, UNREAD_SHARE = "whatsit", 0.1       # a word that no wall shows by itself

Events = Callable[[str], AsyncIterator[dict | None]]            # of a phone, by its number
Answer = Callable[[str, dict], Awaitable[bool]]                 # takes a phone's number and its answer


async def run(events: Events, answer: Answer) -> None:
    """Run PHONES phones, which are in the class until this is cancelled or the class is over."""
    async with asyncio.TaskGroup() as phones:
        for _ in range(PHONES):
            phones.create_task(_phone(secrets.token_hex(16), events, answer))


async def _phone(number: str, events: Events, answer: Answer) -> None:
    chance, answered = random.Random(number), 0
    await asyncio.sleep(chance.uniform(0, JOIN_WITHIN))
    async with contextlib.aclosing(events(number)) as news:
        async for shown in news:
            if shown is None or shown["phase"] != OPEN or shown["question"] == answered:
                continue
            answered = shown["question"]
            await asyncio.sleep(chance.uniform(0, ANSWER_WITHIN))
            told = drawn(asked.form(shown["asked"]["guess"]), shown["asked"]["ask"], chance)
            await answer(number, told | {"question": answered})


def drawn(form: Guess, ask: str, chance: random.Random) -> dict:
    """One random answer {guess} or, for a word, {guess, sure}; which answers are frequent depends on `ask`."""
    crowd = random.Random(ask)          # the same for all phones
    if isinstance(form, Number):
        return {"guess": _number(form, min(max(chance.gauss(crowd.uniform(0.2, 0.8), SPREAD), 0), 1))}
    if isinstance(form, Word):
        word = UNREAD if chance.random() < UNREAD_SHARE else _often(WORDS, crowd, chance)
        return {"guess": word, "sure": 5 * chance.randint(4, 20)}
    offer = form.offer()
    n = len(offer["texts"]) if "texts" in offer else len(offer["rows"]) * len(offer["columns"])
    return {"guess": _often(offer.get("offered") or range(n), crowd, chance)}


def _often(of: Sequence, crowd: random.Random, chance: random.Random) -> object:
    """A random member of `of`; each is rarer than the one before it in the crowd's own order."""
    order = crowd.sample(of, len(of))
    return chance.choices(order, [FALLS ** i for i in range(len(order))])[0]


def _number(form: Number, share: float) -> float:
    """The number at this share of the slider's length."""
    if form.log:
        return form.low * math.exp(share * math.log(form.high / form.low))
    return form.low + round(share * (form.high - form.low) / form.step) * form.step
