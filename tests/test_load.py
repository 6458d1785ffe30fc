"""A few readers without browsers at a real server, for seconds; the long forms are `python -m tests.benchmarks --only
load` and `--only sessions`. And the command itself: its groups, and what becomes of one that fails.
"""
from __future__ import annotations

import asyncio

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from core.base import catalogue
from core.model.checkpoints import load_bundled
from tests.benchmarks import __main__ as command
from tests.benchmarks import load
from tests.benchmarks.browser import new_prompts
from tests.benchmarks.lessons import views
from tests.benchmarks.load import MIX, Answer
from tests.benchmarks.reader import GROWS, Reader, key_of, query_of
from tests.benchmarks.timing import figure
from tests.browser.serving import serve
from tests.helpers.coroutines import finished

pytestmark = pytest.mark.long


async def three_readers(url: str) -> tuple[list[Answer], list[str]]:
    async with Reader(url) as one, Reader(url) as other:
        opened = [await one.open("heads", query_of(prompt="The cat sat")), await other.open()]
        prompt, = one.find(lambda shown: key_of(shown) == "prompt")
        panel = next(shown for shown in one.find(load.OFFERED["view"]) if key_of(shown) == "heads_panel_widget")
        changed = [await one.set("prompt", prompt, "My dog"),
                   await one.set("view", panel, [panel.widget.options[-1].content])]
        here = [one.query, other.query]
    return opened + changed + await load.class_at_work(url, 3, seconds=2), here


def test_three_readers_at_once_are_answered_without_an_error():
    with serve() as server:
        answers, (mine, others) = finished(three_readers(server.url))
    assert ([answer.error for answer in answers if answer.error] == [] and len(answers) >= 4 + 3
            and all(answer.received > 1_000 for answer in answers))
    assert "prompt=My+dog" in mine and "heads_panel=" in mine and "dog" not in others
    figures = {figure.name: figure for figure in load.answer_figures(answers, answers[:2], 3)}
    assert (figures["answers that failed"].value == 0
            and 0 <= figures["whole within a second"].value <= figures["answered within a second"].value <= 100)


def test_the_figures_of_a_class():
    answers = [Answer("prompt", ms / 2, float(ms), 10, 2_000, "" if ms < 1_900 else "gone")
               for ms in range(100, 2_100, 100)]
    figures = {figure.name: figure for figure in load.answer_figures(answers, answers[:10], 2)}
    assert (figures["whole within a second"].value == 50 and figures["whole within a second"].reference == 100
            and figures["answered within a second"].value == 100)
    assert ([figures[f"whole, {q}th percentile"].value for q in (50, 95, 99)] == [1_000, 1_900, 2_000]
            and figures["answered, 95th percentile"].value == 950)
    assert (figures["answers that failed"].value == 2 and figures["answers that failed"].note == "of 20; 2 × gone"
            and figures["sent to a reader for an answer"].value == 2)
    assert sum(MIX.values()) == 100


def test_a_large_model_is_measured_in_every_view_once():
    measured = list(views())
    assert len({(lesson, tuple(settings.items())) for lesson, _, settings in measured}) == len(measured)
    opened = {(lesson, name, option) for lesson, _, settings in measured for name, option in settings.items()}
    for entry in catalogue.existing():
        assert entry.id in {lesson for lesson, _, _ in measured}
        assert all((entry.id, *pair) in opened for view in entry.views for pair in entry.opening(view).items())
    assert {lesson for lesson, _, _ in views(["limits", "heads"])} == {"limits", "heads"}


# ---- a reader that is sent messages by hand --------------------------------------------------------------------------


class Told(Reader):
    """A reader that no server answers: what it asks is answered by the messages that a test gives it."""

    def __init__(self, *answers: ForwardMsg) -> None:
        super().__init__("")
        self.answers = answers

    async def _send(self, *_, **__) -> None:
        for message in self.answers:
            self._take(self._whole(message))


def begun() -> ForwardMsg:
    message = ForwardMsg()
    message.new_session.SetInParent()
    message.metadata.run.script_run_id = "run"
    return message


def ended() -> ForwardMsg:
    return ForwardMsg(script_finished=ForwardMsg.FINISHED_SUCCESSFULLY)


def grows(said: str) -> list[ForwardMsg]:
    """The bar of a picture that is not whole, and the button that stops it."""
    bar, stop = ForwardMsg(), ForwardMsg()
    bar.metadata.delta_path[:], stop.metadata.delta_path[:] = (0, 1), (0, 2)
    bar.delta.new_element.progress.text = said
    stop.delta.new_element.button.id = f"$$ID-0-{GROWS}"
    return [bar, stop]


def asked(*answers: ForwardMsg) -> Answer:
    return finished(Told(*answers).open("limits", seconds=0.05))


def test_a_picture_that_still_grows_when_nobody_waits_any_longer_is_an_answer_and_counted():
    answer = asked(begun(), *grows("221 of 264 questions"), ended())
    assert not answer.error and answer.growing == "limits: 221 of 264 questions" and answer.answered < 50
    figures = {line.name: line for line in load.answer_figures([answer, answer], [answer], 2)}
    assert (figures["answers that failed"].value == 0
            and figures["still growing after 60 s"].value == 2
            and figures["still growing after 60 s"].note == "of 2; 2 × limits: 221 of 264 questions")


def test_only_what_was_never_answered_is_an_error():
    answer = asked(begun(), *grows("221 of 264 questions"))
    assert answer.error == "no answer within 0.05 s" and not answer.growing
    whole = asked(begun(), ended())
    assert not whole.error and not whole.growing
    assert {line.name: line.value for line in load.unfinished_figures([whole, answer, whole])} == {
        "answers that failed": 1, "still growing after 60 s": 0}
    with pytest.raises(RuntimeError, match="no answer within"):
        load.unfinished_figures([answer])


def test_a_message_is_known_after_as_many_runs_as_a_browser_keeps_it():
    kept = ForwardMsg(hash="kept")
    kept.metadata.cacheable = True
    kept.metadata.delta_path[:] = (0, 0)
    kept.delta.new_element.markdown.body = "text"
    again = ForwardMsg(ref_hash="kept")
    again.metadata.delta_path[:] = (0, 3)

    async def runs() -> Reader:
        reader = Told(begun(), ended())
        reader._take(kept)
        for _ in range(10):             # late ones, that end all at once
            await reader._send()
        reader.answers = (begun(), again, ended())
        await asyncio.wait_for(reader.open(), 5)
        return reader

    reader = finished(runs())
    assert not reader.error and reader.shown[0, 3].widget.body == "text"


# ---- the command -----------------------------------------------------------------------------------------------------


def test_a_group_that_fails_is_told_and_the_others_are_measured(monkeypatch, capsys):
    def fails(sizes) -> list:
        raise ValueError("no canvas")

    monkeypatch.setattr(command, "GROUPS", {"fails": fails, "empty": lambda sizes: [], "not there": fails,
                                            "works": lambda sizes: [figure("n", [sizes.repeats], None, "ms")]})
    monkeypatch.setattr(command, "CLASSES", {"long": lambda sizes: [figure("long", [sizes.phones], None, "")]})
    monkeypatch.setattr(command, "OPTIONAL", {"not there": lambda: False})
    assert command.main(["--smoke", "--phones", "7"]) == 1
    said = capsys.readouterr()
    assert [line.split() for line in said.out.splitlines()[-5:]] == [
        ["fails", "0.0", "s", "failed:", "ValueError"], ["empty", "0.0", "s", "failed:", "nothing", "was", "measured"],
        ["works", "0.0", "s", "ok"], ["long", "0.0", "s", "ok"],
        ["not", "there", "passed", "over:", "its", "packages", "are", "not", "installed"]]
    assert "no canvas" in said.err and '"value": 7' in said.out
    assert command.main(["--only", "works", "--repeats", "3"]) == 0 and "3 ms" in capsys.readouterr().out
    assert command.main(["--only", "not there"]) == 1       # who names it is told what it needs


def test_the_command_measures_every_lesson_and_gives_each_page_texts_of_its_own():
    chosen = command.parser().parse_args(["--only", "controls", "--lessons", *(one.id for one in catalogue.existing())])
    assert {lesson for lesson, _, _ in views(chosen.lessons)} == {one.id for one in catalogue.existing()}
    tokenizer = load_bundled("stories")[1]
    texts = [text for seed in range(3) for text in new_prompts(tokenizer, 64, 5, seed)]
    assert len(set(texts)) == 15 and {len(tokenizer.prompt(text, 640).token_ids) for text in texts} == {64}
