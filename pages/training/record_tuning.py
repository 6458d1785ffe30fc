"""The making of the recorded runs of Tuning: `python -m core.recordings tuning`."""
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial

import torch

from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.base import prose
from core.learning import tuning, tuning_texts
from core.learning.tuning import Pair, Preference, Tuner
from core.learning.tuning_texts import Fact
from core.model.transformer import Transformer
from pages.training import alignment, fine_tuning, tuning_parts
from pages.training.recorded_tuning import BETA, DICE, FEW, LEARNED, MODEL, Example

N_TOP, DIGITS = 8, 5         # tokens whose probability is kept; significant digits


def _tuner(loaded: LoadedModel, kind: str, n: int) -> tuple[Tuner, Sequence[Pair]]:
    """A tuner of this model on the first n pairs of a kind, before its first step, and the held-out pairs."""
    fact = Fact(*(prose.load("training").label(f"{name}_default") for name in ("topic", "food")))
    train, held_out = (fine_tuning.encoded(loaded, part) for part in tuning_texts.pairs(
        kind, fine_tuning.N_TRAIN, fine_tuning.N_HELD_OUT, 0, fact if kind == "fact" else None))
    old = tuning.old_text(loaded.model)
    return tuning.SupervisedTuner(loaded.model, old, train[:n], held_out, *LEARNED), held_out


def _tuned(loaded: LoadedModel, kind: str) -> dict:
    return _run(loaded, *_tuner(loaded, kind, fine_tuning.N_TRAIN), fine_tuning.token_losses)


def _history(loaded: LoadedModel, kind: str, n: int) -> dict:
    """The record of a round without its examples."""
    tuner, _ = _tuner(loaded, kind, n)
    list(tuner.learn())
    return {"history": _rows(tuner), "examples": []}


def _aligned(loaded: LoadedModel, judge: str) -> dict:
    drawn = alignment.write_candidates(loaded, 0)
    rule = alignment.rule_of(loaded, judge)
    train, held_out = tuning.preferences(drawn, rule)
    tuner = tuning.PreferenceTuner(loaded.model, tuning.old_text(loaded.model), train, held_out, BETA, *LEARNED,
                                   alignment.score_of(drawn, rule, 0))

    return _run(loaded, tuner, held_out, lambda model, pair: alignment.log_ratios(model, loaded.model, pair))


def _run(loaded: LoadedModel, tuner: Tuner, held_out: Sequence[Pair | Preference],
         values: Callable[[Transformer, Pair | Preference], list[float]]) -> dict:
    """The record of a round of a tuner. values: what is kept of a held-out example beside the outputs."""
    list(tuner.learn())
    model, kept = tuner.copy(), []
    for example in held_out:
        ids = tuning_parts.ids_of(loaded, loaded.tokenizer.decode(example.prompt))
        before, now = (tuning_parts.write(each, loaded, ids, DICE) for each in (loaded.model, model))
        top = torch.maximum(before.log_probs, now.log_probs).topk(N_TOP).indices.tolist()
        p, kl = {i: _short(math.exp(now.log_probs[i])) for i in top}, _short(tuning_parts.divergence(before, now))
        kept.append(asdict(Example(now.greedy, now.drawn, p, kl, [*map(_short, values(model, example))])))
    return {"history": _rows(tuner), "examples": kept}


def _rows(tuner: Tuner) -> list[dict]:
    return [{name: _short(value) for name, value in asdict(step).items()} for step in tuner.history]


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _makers(small: LoadedModel, scratch: LoadedModel) -> dict[str, Callable[[], dict]]:
    """The function that makes each recorded run, by its name in the file."""
    kinds = (*tuning_texts.KINDS, "fact")
    makers = {f"tuned {kind}": partial(_tuned, small, kind) for kind in kinds}
    makers |= {f"scratch {kind}": partial(_history, scratch, kind, fine_tuning.N_TRAIN) for kind in kinds}
    makers |= {f"{name} {kind} {n}": partial(_history, loaded, kind, n) for kind, sizes in FEW.items() for n in sizes
               for name, loaded in (("tuned", small), ("scratch", scratch))}
    return makers | {f"aligned {judge}": partial(_aligned, small, judge) for judge in tuning_texts.JUDGES}


def record() -> dict:
    """Make every run; return what is kept of them."""
    small = cache.shared_model(MODEL, "cpu")
    return {"runs": {name: make() for name, make in _makers(small, tuning_parts.untrained(small)).items()}}
