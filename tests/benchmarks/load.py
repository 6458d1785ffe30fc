"""A class at work: readers who change something every few seconds, and readers who come and go."""
from __future__ import annotations

import asyncio
import contextlib
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from assets.deploy import replicas
from core.base import catalogue
from tests.benchmarks.reader import MOST_SECONDS, Answer, Reader, Shown, key_of, query_of
from tests.benchmarks.sizes import Sizes
from tests.benchmarks.timing import Figure, figure, processor_seconds, resident_megabytes
from tests.browser.serving import Server, serve

EVERY = 3.0             # seconds from one action of a reader to the next
SESSION_SECONDS = 125   # for which the server keeps the session of a closed page, in case it comes back, and some more
WITHIN = 1_000          # milliseconds in which a reader shall have an answer
MIX = {"prompt": 25, "slider": 25, "view": 20, "page": 15, "selection": 15}     # of what readers do, in percent
# what a whole class types
CLASS = ("The cat sat on the mat.", "Once upon a time, there was a little girl", "The capital of France is",
         "What a lovely day! I am so")
SUBJECTS, VERBS, PLACES = (("dog", "girl", "bird", "king", "tree", "boat"),
                           ("saw", "liked", "lost", "found", "made", "ate"),
                           ("the park", "a big house", "the red box", "her garden", "school"))
# components in which something can be picked by its number
PICKS = {"overview_map": "picked", "heads_wall": "picked", "embeddings_product": "picked"}
# widgets above the lesson
FRAME = ("prompt", "present", "device", "moment", "model_picked")
SETTERS = ("slider", "number_input", "selectbox", "radio")


def sentence(dice: random.Random) -> str:
    """A prompt: one of the class's, or one of the reader's own."""
    if dice.random() < 0.4:
        return dice.choice(CLASS)
    return " ".join(f"The {dice.choice(SUBJECTS)} {dice.choice(VERBS)} the {dice.choice(SUBJECTS)} in "
                    f"{dice.choice(PLACES)}." for _ in range(dice.randint(1, 5)))


class Pupil:
    """One reader with dice of their own, and all that they were answered."""

    def __init__(self, reader: Reader, seed: int) -> None:
        self.reader, self.dice, self.answers = reader, random.Random(seed), []

    async def work(self, seconds: float) -> None:
        """Opens a page and changes something every EVERY seconds, until that many have passed; a slow answer delays
        what follows it.
        """
        clock = asyncio.get_running_loop()
        await asyncio.sleep(self.dice.uniform(0, EVERY))
        end = clock.time() + seconds
        self.answers.append(await self.reader.open(self.dice.choice(_lessons(self.reader)),
                                                   query_of(prompt=sentence(self.dice))))
        while clock.time() < end and not self.reader.closed:
            began = clock.time()
            self.answers.append(await self.act())
            await asyncio.sleep(max(0.0, began + EVERY * self.dice.uniform(0.8, 1.2) - clock.time()))

    async def act(self) -> Answer:
        """One action of the mix; where the page offers no such one, the prompt."""
        action = self.dice.choices(list(MIX), list(MIX.values()))[0]
        reader, dice = self.reader, self.dice
        if action == "page":
            return await reader.open(dice.choice(_lessons(reader)))
        found = reader.find(OFFERED[action])
        if action == "prompt" or not found:
            return await reader.set("prompt", reader.find(lambda shown: key_of(shown) == "prompt")[0], sentence(dice))
        shown = dice.choice(found)
        return await reader.set(action, shown, _another(shown, reader, dice))


def _lessons(reader: Reader) -> list[str]:
    return [page for page in reader.pages if page not in ("course", "models")] or [""]


def _sets(shown: Shown) -> bool:
    return (shown.kind in SETTERS and not shown.widget.disabled and not key_of(shown).startswith(FRAME)
            and (shown.kind != "slider" or shown.widget.max > shown.widget.min))


OFFERED = {"prompt": lambda shown: False, "slider": _sets,
           "view": lambda shown: shown.kind == "button_group" and not shown.widget.disabled,
           "selection": lambda shown: shown.kind == "bidi_component" and key_of(shown) in PICKS
                                      or shown.kind == "button" and key_of(shown).startswith("do_")}


def _another(shown: Shown, reader: Reader, dice: random.Random):
    """A value of a widget that it may take, most often another one."""
    widget, kind = shown.widget, shown.kind
    if kind == "button":
        return True
    if kind == "bidi_component":
        return {PICKS[key_of(shown)]: dice.randint(0, 3)}
    if kind == "button_group":
        return [dice.choice(widget.options).content]
    if kind in ("selectbox", "radio"):
        return dice.choice(widget.options)
    if kind == "number_input":
        low, high = widget.min if widget.has_min else 0, widget.max if widget.has_max else 10
        return low + (widget.step or 1) * dice.randint(0, max(0, min(9, int((high - low) / (widget.step or 1)))))
    steps = round((widget.max - widget.min) / widget.step)
    place = widget.min + widget.step * dice.randint(0, steps)
    return [widget.options[round(place)]] if widget.options else [min(place, widget.max)]


# ---- a class ---------------------------------------------------------------------------------------------------------


async def class_at_work(url: str, n_readers: int, seconds: float, seed: int = 0) -> list[Answer]:
    """All answers that n readers got, in no order."""
    async with contextlib.AsyncExitStack() as open_pages:
        pupils = [Pupil(await open_pages.enter_async_context(Reader(url)), 1_000 * seed + i) for i in range(n_readers)]
        await asyncio.gather(*(pupil.work(seconds) for pupil in pupils))
    return [answer for pupil in pupils for answer in pupil.answers]


@contextlib.contextmanager
def served(n_replicas: int) -> Iterator[tuple[str, list[int]]]:
    """The address of the app and its processes: one, or several behind nginx."""
    if n_replicas == 1:
        with serve() as server:
            yield server.url, [server.process.pid]
    else:
        with replicas.running(n_replicas) as here:
            yield here.url, [process.pid for process in here.processes.values()]


def load_figures(sizes: Sizes) -> list[Figure]:
    """How quickly a server answers the readers, each of whom changes something every EVERY seconds, and what it takes.

    Its clients run on the same machine.
    """
    n_pages = sizes.cases or len(catalogue.pages())
    with served(sizes.replicas) as (url, pids):
        def taken() -> float:
            return sum(map(processor_seconds, pids))

        def held() -> float:
            return sum(map(resident_megabytes, pids))

        # a server that has been in use: every page was opened once
        asyncio.run(visits(url, range(len(CLASS) * n_pages * sizes.replicas)))
        before, began = held(), taken()
        alone = asyncio.run(class_at_work(url, 1, min(sizes.seconds, 60), sizes.seed + 1))
        of_one, start = taken(), time.perf_counter()
        answers = asyncio.run(class_at_work(url, sizes.readers, sizes.seconds, sizes.seed))
        of_all, passed, after = taken() - of_one, time.perf_counter() - start, held()
    return [*answer_figures(answers, alone, sizes.readers),
            figure("processor time of the server for an answer", [1e3 * of_all / len(answers)],
                   [1e3 * (of_one - began) / len(alone)], "ms",
                   f"all its threads together, {sizes.replicas} processes"),
            figure("processor that the server takes", [100 * of_all / passed], None, "%", "of one core"),
            figure("memory of the server after it", [after], [before], "MB", "reference: before the class")]


def answer_figures(answers: list[Answer], alone: list[Answer], n_readers: int) -> list[Figure]:
    """The figures of a class, the reference being one reader alone."""
    note = f"{len(answers)} answers to {n_readers} readers; reference: one reader alone, {len(alone)} answers"
    lines = unfinished_figures(answers)
    for name, of in (("answered", lambda answer: answer.answered), ("whole", lambda answer: answer.milliseconds)):
        times, reference = sorted(map(of, answers)), sorted(map(of, alone))
        lines.append(figure(f"{name} within a second", [100 * share_within(times, WITHIN)],
                            [100 * share_within(reference, WITHIN)], "%", note))
        lines += [figure(f"{name}, {q}th percentile", [percentile(times, q)], [percentile(reference, q)], "ms")
                  for q in (50, 95, 99)]
    for action in MIX:
        if mine := [answer for answer in answers if answer.action == action]:
            took = sorted(answer.answered for answer in mine)
            note = (f"{len(mine)} answers, the middle one {statistics.median(took):.0f} ms; "
                    f"{statistics.mean(answer.received for answer in mine) / 1e3:.0f} kB are sent for one")
            lines.append(figure(f"answered, 95th percentile: {action}", [percentile(took, 95)], None, "ms", note))
    return [*lines,
            figure("sent to a reader for an answer", [statistics.mean(answer.received for answer in answers) / 1e3],
                   None, "kB", "mean, before compression"),
            figure("sent by a reader with a question", [statistics.mean(answer.sent for answer in answers) / 1e3],
                   None, "kB", "mean")]


def unfinished_figures(answers: list[Answer]) -> list[Figure]:
    """How many answers failed, and how many pictures were not whole when their readers waited no longer; with the
    commonest of each. RuntimeError if none was answered.
    """
    if all(answer.error for answer in answers):
        raise RuntimeError(f"No answer came: {', '.join({answer.error for answer in answers})}")

    def counted(name: str, told: list[str]) -> Figure:
        common = Counter(filter(None, told))
        return figure(name, [float(common.total())], None, "",
                      "; ".join([f"of {len(answers)}", *(f"{n} × {what}" for what, n in common.most_common(5))]))

    return [counted("answers that failed", [answer.error for answer in answers]),
            counted(f"still growing after {MOST_SECONDS} s", [answer.growing for answer in answers])]


def share_within(times: list[float], most: float) -> float:
    return sum(one <= most for one in times) / max(1, len(times))


def percentile(ordered: list[float], q: float) -> float:
    """The least of the values that q percent of them do not exceed.

    >>> percentile([1, 2, 3, 4], 50), percentile([1, 2, 3, 4], 95)
    (2, 4)
    """
    return ordered[max(0, -int(-len(ordered) * q // 100) - 1)]


# ---- those who come and go -------------------------------------------------------------------------------------------


async def visits(url: str, numbers: Sequence[int], at_once: int = 4) -> list[Answer]:
    """So many readers, a few at once, each of whom opens the app and then a lesson with one of the class's prompts,
    sets something there, and closes the page.
    """
    places, answers = asyncio.Semaphore(at_once), []

    async def visit(i: int) -> None:
        async with places, Reader(url) as reader:
            answers.append(await reader.open("", query_of(prompt=CLASS[i % len(CLASS)])))
            lessons = sorted(_lessons(reader))
            answers.append(await reader.open(lessons[i // len(CLASS) % len(lessons)]))
            if found := reader.find(OFFERED["view"]):
                shown = found[0]
                answers.append(await reader.set("view", shown,
                                                [shown.widget.options[i % len(shown.widget.options)].content]))

    await asyncio.gather(*(visit(i) for i in numbers))
    return answers


def visit_figures(sizes: Sizes) -> list[Figure]:
    """The memory that past readers leave behind in the server, after a quarter as many others have filled the caches
    with what they all ask for.
    """
    quarter = sizes.count // 4

    async def all_of_them(server: Server) -> tuple[list[Answer], list[float]]:
        answers, megabytes = [], []
        for i in range(5):
            answers += await visits(server.url, range(i * quarter, (i + 1) * quarter))
            await asyncio.sleep(sizes.share * SESSION_SECONDS)
            # whoever comes next makes the server forget those whose time is over
            await visits(server.url, range(1))
            megabytes.append(resident_megabytes(server.process.pid))
        return answers, megabytes

    with serve() as server:
        answers, megabytes = asyncio.run(all_of_them(server))
    return [figure(f"memory of the server after {4 * quarter} sessions", megabytes[-1:], megabytes[:1], "MB",
                   f"reference: after the first {quarter}; in quarters: "
                   f"{', '.join(f'{size:.0f}' for size in megabytes)}"),
            *unfinished_figures(answers)]
