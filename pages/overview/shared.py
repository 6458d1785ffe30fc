"""Results of a run for the map and the parts below it."""
import numpy as np

from core.app.compute import cache
from core.app.state import Run
from core.model.config import ModelConfig
from core.model.sampling import Truncation, truncate
from pages.overview import packing

MAP = "overview_map"        # the key of the component


def truncation_of(run: Run, position: int) -> Truncation:
    """y at a position, sorted, nothing cut; kept for all who ask for the same."""
    key = run.key("overview_truncation", position)
    return cache.result(key, lambda: truncate(run.logits(position)), lambda made: 60 * len(made.probs))


def packed_pass(run: Run) -> tuple[dict, dict[str, np.ndarray], list]:
    """The map's parts of a run that no pick changes: sizes, arrays and every position's
    likeliest next tokens, none of a model without a language head.
    """
    def make() -> tuple[dict, dict[str, np.ndarray], list]:
        return *packing.pass_arrays(run.trace), (packing.candidates(run.trace, run.tokenizer.visible)
                                                 if run.has_head else [])

    key = run.key("overview_pass")
    return cache.result(key, make, lambda made: sum(values.nbytes for values in made[1].values()) + 2000 * len(made[2]))


def scaling(config: ModelConfig) -> str:
    """The factor of E's rows as they enter: "scaled" is √d, "multiplied" another number, "" none."""
    return "" if config.embedding_scale == 1 else "scaled" if config.root_scaled else "multiplied"
