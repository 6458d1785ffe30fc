"""Make the recorded runs of Tuning anew, in some minutes:

    python -m pages.training.record_tuning
"""
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict

import torch

from core.app.base import prose
from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.learning import tuning, tuning_texts
from core.learning.tuning import Pair, Preference, Tuner
from core.learning.tuning_texts import Fact
from core.model.transformer import Transformer
from pages.training import alignment, fine_tuning, tuning_parts
from pages.training.recorded_tuning import BETA, DICE, FILE, LEARNED, MODEL, Example

N_TOP, DIGITS = 8, 5         # tokens whose probability is kept; significant digits


def _tuned(loaded: LoadedModel, kind: str) -> dict:
    fact = Fact(*(prose.load("training").label(f"{name}_default") for name in ("topic", "food")))
    train, held_out = (fine_tuning.encoded(loaded, part) for part in tuning_texts.pairs(
        kind, fine_tuning.N_TRAIN, fine_tuning.N_HELD_OUT, 0, fact if kind == "fact" else None))
    tuner = tuning.SupervisedTuner(loaded.model, tuning.old_text(loaded.model), train, held_out, *LEARNED)
    return _run(loaded, tuner, held_out, fine_tuning.token_losses)


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
    return {"history": [{name: _short(value) for name, value in asdict(step).items()} for step in tuner.history],
            "examples": kept}


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


if __name__ == "__main__":
    small = cache.shared_model(MODEL, "cpu")
    runs = {f"tuned {kind}": _tuned(small, kind) for kind in (*tuning_texts.KINDS, "fact")}
    runs |= {f"aligned {judge}": _aligned(small, judge) for judge in tuning_texts.JUDGES}
    FILE.write_text("{\"made by\": \"python -m pages.training.record_tuning\", \"runs\": {\n"
                    + ",\n".join(f"{json.dumps(name)}: {json.dumps(run)}" for name, run in runs.items()) + "}}\n",
                    encoding="utf-8")
