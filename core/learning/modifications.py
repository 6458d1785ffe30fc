"""Modifications of the transformer, each measured on one small task with several seeds, in the spirit of Narang et al.
2021, "Do Transformer Modifications Transfer Across Implementations and Applications?"

The recorded runs are in assets/teaching/modification_runs.json, made by `python -m core.recordings modifications`.
"""
import functools
import statistics
from collections.abc import Mapping, Sequence

from core.files import read_json
from core.learning.learner import Knobs
from core.learning.schedules import Schedule
from core.learning.variants import Trial, Variant, task_of
from core.training.teaching_text import DATA

FILE = DATA / "modification_runs.json"
TASK, STEPS, WARMUP, POWER = "sorting", 150, 50, -2.5
BASELINE, N_BASELINE, N_SEEDS = "baseline", 8, 4
GATED = 85              # the width of a gated feed-forward part that has about as many weights as 4d = 128 without
# the baseline: two pre-norm blocks of two heads with LayerNorm, GELU, learned positions, tied embeddings and biases
VARIANTS = {
    BASELINE: Variant(),
    "relu": Variant((("activation", "relu"),)), "swish": Variant((("activation", "swish"),)),
    "geglu": Variant((("activation", "geglu"), ("d_ff", GATED))),
    "swiglu": Variant((("activation", "swiglu"), ("d_ff", GATED))),
    "rmsnorm": Variant((("norm", "rmsnorm"), ("norm_bias", False))),
    "post": Variant((("norm_placement", "post"),)), "sandwich": Variant((("norm_placement", "sandwich"),)),
    "sinusoidal": Variant((("positions", "sinusoidal"),)), "rotary": Variant((("positions", "rotary"),)),
    "alibi": Variant((("positions", "alibi"),)),
    "relative": Variant((("positions", "relative"), ("relative_max_distance", 16))),
    "untied": Variant((("tied_embeddings", False),)), "shared": Variant(shared=True),
    "deeper": Variant((("n_layers", 4), ("d_model", 24), ("d_ff", 80))),
    "one_key": Variant((("n_kv_heads", 1),)), "one_head": Variant((("n_heads", 1),)),
    "eight_heads": Variant((("n_heads", 8),)),
}


def knobs() -> Knobs:
    """Adam, with the same warm-up and the same learning rate for all."""
    return Knobs("adam", 10.0 ** POWER, Schedule("constant", WARMUP, STEPS, 0.0))


def trial(variant: str, seed: int) -> Trial:
    """A training that has not begun."""
    task = task_of(TASK)
    return Trial(VARIANTS[variant].build(task, seed), task, knobs(), seed)


@functools.cache
def recorded() -> Mapping[str, Sequence[float]]:
    """The loss on held-out rows at the end, in nats a counted token: by variant, for each seed."""
    return {run["variant"]: tuple(run["losses"]) for run in read_json(FILE)["runs"]}


@functools.cache
def parameters(variant: str) -> int:
    """How many weights a variant has."""
    return sum(p.numel() for p in trial(variant, 0).model.parameters())


def spread(losses: Sequence[float]) -> tuple[float, float]:
    """The mean of the losses and their standard deviation."""
    return statistics.fmean(losses), statistics.stdev(losses)


def t_value(losses: Sequence[float], baseline: Sequence[float]) -> float:
    """Welch's t of a variant's losses against the baseline's: the difference of the means over its standard error;
    below 0 if the variant's loss is lower.
    """
    (mean, deviation), (own, own_deviation) = spread(losses), spread(baseline)
    return (mean - own) / (deviation ** 2 / len(losses) + own_deviation ** 2 / len(baseline)) ** 0.5


def record() -> dict:
    """Train every variant with every seed; return the losses."""
    return {"task": TASK, "steps": STEPS, "runs": [_record(variant) for variant in VARIANTS]}


def _record(variant: str) -> dict:
    losses = []
    for seed in range(N_BASELINE if variant == BASELINE else N_SEEDS):
        *_, (_, loss) = trial(variant, seed).run(STEPS, STEPS)
        losses.append(float(f"{loss:.4g}"))
    print(variant, losses, flush=True)
    return {"variant": variant, "losses": losses}
