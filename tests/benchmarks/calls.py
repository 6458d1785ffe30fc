"""How many functions of this project a new prompt calls on an open page, and how often a call leads to another file."""
import threading
from types import FrameType

from tests.benchmarks.timing import Figure, figure
from tests.helpers.lessons import ROOT, open_at

# each another text, whose pass nobody has kept
PROMPTS = {lesson: f"Mia likes apples and her friend likes pears. {name} likes"
           for lesson, name in (("overview", "Tom"), ("heads", "Mia"), ("next_token", "Ben"))}
ROOMS = (f"{ROOT}/core/", f"{ROOT}/pages/")


def of_prompt(lesson: str) -> tuple[int, int]:
    """The calls that draw an open lesson with its new prompt, those of the pass among them, and the calls from one file
    to another.
    """
    leads_on: list[bool] = []

    def count(frame: FrameType, event: str, _) -> None:
        if event == "call" and (file := frame.f_code.co_filename).startswith(ROOMS):
            while (frame := frame.f_back) is not None and not frame.f_code.co_filename.startswith(ROOMS):
                pass
            leads_on.append(frame is None or frame.f_code.co_filename != file)

    at = open_at(lesson, ask="false")
    at.session_state["prompt"] = PROMPTS[lesson]
    threading.setprofile(count)         # AppTest runs a page in a thread of its own
    try:
        at.run()
    finally:
        threading.setprofile(None)
    return len(leads_on), sum(leads_on)


def figures() -> list[Figure]:
    return [figure(f"{lesson}, {what}", [n], None, "", "of a new prompt") for lesson in PROMPTS
            for what, n in zip(("calls", "changes of file"), of_prompt(lesson))]
