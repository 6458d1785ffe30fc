"""Overview without Python: what the browser makes of a pass is what Python sends of it, message by message and depth
by depth, for plain passes and for edited ones.
"""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.app.compute import cache
from core.app.state.run import Run, read
from core.base import prose
from core.components.lib.bytes import pack
from core.model.intervention import Intervention
from core.model.trace import Trace
from pages.overview import inside
from pages.overview import map as drawing
from pages.overview.shared import edited, traced
from tests.helpers import lessons, messages
from tests.helpers.javascript import evaluate

pytestmark = pytest.mark.long

HER = "One day Lily lost her ball. She looked for her"
SHORT = "The cat sat on the mat. The dog sat on the"
LONG = "Once upon a time there was a little dog. The dog ran to the park and saw a big bird. " * 3
LONGER = LONG * 2
EDITS = ("heads.4", "head.4.3", "product.4.3.11.6", "product.4.3.11.6=-2.5", "product.4.3.11.6=1", "neurons.4.11",
         "neuron.4.11.979", "embedding.5=400")
NONSENSE = ("", "head.9.0", "head.4", "heads.6", "look.4.3.11", "product.4.3.12.6", "neurons.6.0", "neuron.0.0.9999",
            "x.1", "product.4.3.12.6=1", "product.4.3.11.6=x", "head.4.3=2", "embedding.3",
            "embedding.12=5", "embedding.3=99999", "embedding.3=-1", "embedding.3=1.5", "embedding=5", "=3",
            "constructor.1", "head.4.3.1")
PLACES = ("head.1.1", "look.1.1.6", "look.0.0.0", "number.1.1.6.4.0", "number.1.1.6.4.23", "number.1.1.6.4.30",
          "neurons.1.6", "neuron.1.6.70", "embedding.6", "stream.6", "end.6", "logit.6.300")
CHANGED = ("head.4.3", "look.4.3.11", "look.4.3.10", "look.5.1.11", "neurons.4.11", "neuron.5.11.3", "embedding.5",
           "stream.11", "end.11", "logit.11.300")
# of models like these: without a feed-forward part, and with other positions and scores
OTHERS = ("induction", "stories-small", "positions-none", "positions-sinusoidal", "positions-alibi",
          "positions-relative", "scores-additive", "scores-multiplicative")
# of the app alone: lessons, the reader's course, and the route
OF_THE_APP = ("lessons", "more", "met", "path", "question", "arrays")


@dataclass(frozen=True)
class Case:
    """A place that a reader looks at."""

    model: str
    prompt: str
    edit: str = ""
    position: int | None = None
    places: tuple[str, ...] = ()

    def run(self) -> Run:
        return read(cache.shared_model(self.model, "cpu"), self.prompt)


CASES = {"short": Case("stories", SHORT, position=3, places=PLACES), "nothing": Case("stories", ""),
         "signs": Case("stories", "I ❤️ 🐶 {n} $x$ <b>&", places=("embedding.3", "end.8")),
         "long": Case("stories", LONG, places=("head.5.7", "look.5.7.60", "number.0.3.60.2.5", "end.60")),
         "longer": Case("stories", LONGER, "head.4.3", 100, ("head.4.3", "neuron.4.100.3")),
         **{edit: Case("stories", HER, edit, places=CHANGED) for edit in EDITS},
         **{model: Case(model, SHORT, places=tuple(place for place in PLACES if model != "induction" or
                                                   not place.startswith("neuron"))) for model in OTHERS}}


# ---- what Python sends -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sent() -> dict[str, dict]:
    """The message to the map on the app's page, for each case."""
    def of(case: Case) -> dict:
        at = lessons.open_at("overview", model=case.model, prompt=case.prompt, overview_edit=case.edit or None,
                             position=None if case.position is None else str(case.position))
        assert lessons.fine(at)
        return messages.given(at, "overview_map")

    return {name: of(case) for name, case in CASES.items()}


@pytest.fixture(scope="module")
def folder(sent: dict[str, dict], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The messages and answers that the browser makes of the same passes."""
    folder = tmp_path_factory.mktemp("own")
    for model in {case.model for case in CASES.values()}:
        write_model(folder / f"{model}.model", model)
    cases = [asked(folder, name, case, sent[name]) for name, case in CASES.items()]
    assert evaluate("tests/js/own_overview.mjs", "m.answerAll(folder, cases)", folder=str(folder),
                    cases=cases) == len(CASES)
    return folder


def write_model(path: Path, name: str) -> None:
    there = cache.shared_model(name, "cpu")
    tensors = {key: values.detach().numpy() for key, values in there.model.named_parameters()}
    path.write_bytes(pack({"config": there.model.config.to_dict(), "visible": there.tokenizer.all_visible(
        range(there.tokenizer.vocab_size)), "shapes": {key: values.shape for key, values in tensors.items()}}, tensors))


def asked(folder: Path, name: str, case: Case, message: dict) -> dict:
    """A case as the browser reads it, its passes in files."""
    run, words = case.run(), prose.load("overview")
    passes = {f"{name}.{edit or 'plain'}.pass": edit for edit in dict.fromkeys(("", case.edit))}
    for path, edit in passes.items():
        (folder / path).write_bytes(packed_trace(*edited(run, edit), traced(run, edit)))
    texts = {key: text for key, text in words.labels.items()
             if key in drawing.MAP_TEXT or key.startswith(drawing.MAP_PARTS)}
    settings = {key: message[key] for key in ("at", "layer", "position", "theme", "scale", "canUndo")}
    return {"name": name, "model": case.model, "passes": list(passes), "ids": list(run.token_ids),
            "places": case.places, "words": {"text": texts | drawing.own_words(words, run), "edited": words.labels},
            "settings": settings | {"edit": case.edit, "xi": message["draw"]["xi"] if message["draw"] else 0}}


def packed_trace(run: Run, change: Intervention, trace: Trace) -> bytes:
    """A trace under the names that the engine gives its arrays."""
    arrays = {name: getattr(trace, name) for name in ("embedding", "position", "resid_final", "h_final", "logits")}
    for layer, block in enumerate(trace.blocks):
        arrays |= {f"blocks.{layer}.{name}": values for name, values in vars(block).items() if name != "allowed"}
    return pack({"ids": list(run.token_ids), "layers": len(trace.blocks), "change": change_of(change)},
                {name: values.numpy() for name, values in arrays.items() if values is not None})


def change_of(change: Intervention) -> dict[str, list]:
    """A change as the engine takes it: edits that set to zero, without the default fields of their actions."""
    def numbers(edit) -> list:
        return [value for name, value in dataclasses.asdict(edit).items() if name not in ("action", "factor")]

    kinds = ("heads", "weights", "scores", "neurons", "sublayers")
    return {kind: [numbers(edit) for edit in edits] for kind in kinds if (edits := getattr(change, kind))}


# ---- what the browser makes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_the_message_is_the_one_that_python_sends(folder: Path, sent: dict[str, dict], name: str):
    own = messages.unpacked((folder / f"{name}.message").read_bytes())
    assert own["exact"] == (name not in ("long", "longer")) and own["edit"] == CASES[name].edit
    assert messages.differences({key: value for key, value in own.items() if key not in OF_THE_APP},
                       {key: value for key, value in sent[name].items() if key not in OF_THE_APP}) == []
    assert own["question"] == {"ids": list(CASES[name].run().token_ids), "edit": CASES[name].edit}
    assert (own["lessons"], own["more"], own["met"]) == ({}, {}, {})


@pytest.mark.parametrize(("name", "place"), [(name, place) for name, case in CASES.items() for place in case.places])
def test_an_answer_inside_is_pythons(folder: Path, name: str, place: str):
    own = messages.unpacked((folder / f"{name}.{place}.answer").read_bytes())
    question = inside.question(CASES[name].run(), CASES[name].edit)
    python = messages.unpacked(inside.answer(question | {"place": place}))
    del own["arrays"], python["arrays"]
    assert messages.differences(own, python) == []


@pytest.mark.parametrize("model", ["stories", "induction"])
def test_an_edit_is_read_as_python_reads_it(model: str):
    run = read(cache.shared_model(model, "cpu"), HER)
    edits = [*EDITS, *NONSENSE, "embedding.5=313", "heads.1", "neurons.1.3", "neuron.1.3.3", "product.1.1.3.3"]
    made = evaluate("pages/overview/own/edit.js", "edits.map((edit) => m.edited({ config }, ids, edit))",
                    edits=edits, config=run.model.config.to_dict(), ids=list(run.token_ids))
    for edit, own in zip(edits, made):
        there, change = edited(run, edit)
        assert own == {"ids": list(there.token_ids), "change": change_of(change)}, edit
