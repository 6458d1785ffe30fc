"""The settings of the overview, and results of a run for the map and the parts below it."""
import re
from collections.abc import Callable

import numpy as np

from core.app.compute import cache
from core.app.state import Run
from core.app.state.lesson_settings import Setting, Settings
from core.model import passes
from core.model.config import ModelConfig
from core.model.intervention import NOTHING, HeadEdit, Intervention, NeuronEdit, ScoreEdit, SublayerEdit, WeightEdit
from core.model.sampling import Truncation, truncate
from core.model.trace import Trace
from pages.overview import packing

PLACE = r"(?:[a-z]{3,9}(?:\.\d{1,6}){0,5})"
MAP = "overview_map"        # the key of the component
# `at`: where the reader is inside the picture, such as "head.3.5" (dive_path.js), or "heads" for those of the picked
# block; "": in front of the whole.
# `edit`: the place of what the reader has changed, alone if it is switched off, or with what it is set to, as
# "product.3.5.7.4=1.5" for a score or "embedding.3=521" for a token; "": nothing
SETTINGS = Settings("overview", {
    name: Setting("", reads=lambda text, pattern=re.compile(pattern): text if pattern.fullmatch(text) else None)
    for name, pattern in (("at", rf"{PLACE}?"), ("edit", rf"(?:{PLACE}(?:=-?\d{{1,6}}(?:\.\d{{1,2}})?)?)?"))})
# of the places that can be switched off, what their numbers change
SWITCHES: dict[str, Callable[..., Intervention]] = {
    "heads": lambda layer: Intervention(sublayers=(SublayerEdit(layer, "attention"),)),
    "head": lambda layer, head: Intervention(heads=(HeadEdit(layer, head),)),
    "product": lambda layer, head, query, key: Intervention(weights=(WeightEdit(layer, head, query, key),)),
    "neurons": lambda layer, _: Intervention(sublayers=(SublayerEdit(layer, "mlp"),)),
    "neuron": lambda layer, _, neuron: Intervention(neurons=(NeuronEdit(layer, neuron),)),
}
# of those whose value can be set, what their numbers and the value change
SETS: dict[str, Callable[..., Intervention]] = {
    "product": lambda layer, head, query, key, score: Intervention(scores=(ScoreEdit(layer, head, query, key, score),)),
}


def edited(run: Run, edit: str) -> tuple[Run, Intervention]:
    """The run, with another token if the edit asks for one, and the change of its pass that it asks for; the run itself
    and NOTHING for an edit that this model or text does not have.
    """
    place, _, value = edit.partition("=")
    depth, *at = place.split(".")
    try:
        numbers = [int(number) for number in at]
        if depth == "embedding":
            return run.with_token(*numbers, int(value)), NOTHING
        change = SETS[depth](*numbers, float(value)) if value else SWITCHES[depth](*numbers)
        passes.check_change(run.model.config, change, len(run.token_ids))
    except (KeyError, TypeError, ValueError):
        return run, NOTHING
    if depth in ("neurons", "neuron") and numbers[1] >= len(run.token_ids):         # the token at which they were seen
        return run, NOTHING
    return run, change


def shown(run: Run) -> Run:
    """The run, with the token that the reader has put in."""
    return edited(run, SETTINGS.read("edit"))[0]


def trace_of(run: Run) -> Trace:
    """The forward pass, with what the reader has changed."""
    return traced(run, SETTINGS.read("edit"))


def traced(run: Run, edit: str) -> Trace:
    """The forward pass under an edit."""
    read, change = edited(run, edit)
    return read.trace_with(change)


def logits_of(run: Run, position: int) -> np.ndarray:
    """The logits (|V|,) float64 that the picture shows at a position."""
    return trace_of(run).logits[position].double().cpu().numpy()


def truncation_of(run: Run, position: int) -> Truncation:
    """y at a position, sorted, nothing cut; kept for all who ask for the same."""
    key = run.key("overview_truncation", position, SETTINGS.read("edit"))
    return cache.result(key, lambda: truncate(logits_of(run, position)), lambda made: 60 * len(made.probs))


def packed_pass(run: Run, edit: str = "") -> tuple[dict, dict[str, np.ndarray], list]:
    """The map's parts of a run that no pick changes: sizes, arrays and every position's likeliest next tokens, none of
    a model without a language head. Under an edit also what differs: `differs` (L, h), the most by which a head's
    weight differs, and `shifted` (L + 1, N), the length of the stream's difference as a share of its own.
    """
    trace = traced(run, edit)

    def make() -> tuple[dict, dict[str, np.ndarray], list]:
        sizes, arrays = packing.pass_arrays(trace)
        if trace is not run.trace:
            arrays = arrays | packing.difference(run.trace, trace)
        return sizes, arrays, packing.candidates(trace, run.tokenizer.visible) if run.has_head else []

    return cache.result(run.key("overview_pass", edit), make,
                        lambda made: sum(values.nbytes for values in made[1].values()) + 2000 * len(made[2]))


def scaling(config: ModelConfig) -> str:
    """The factor of E's rows as they enter: "scaled" is √d, "multiplied" another number, "" none."""
    return "" if config.embedding.embedding_scale == 1 else "scaled" if config.root_scaled else "multiplied"
