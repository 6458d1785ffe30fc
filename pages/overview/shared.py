"""What the map and the parts below it both read off a run."""
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
    """What the map draws of a run whatever position is picked: sizes, arrays and every position's
    likeliest next tokens, none of a model without a language head.
    """
    def make() -> tuple[dict, dict[str, np.ndarray], list]:
        return *packing.pass_arrays(run.trace), (packing.candidates(run.trace, run.tokenizer.visible)
                                                 if run.has_head else [])

    key = run.key("overview_pass")
    return cache.result(key, make, lambda made: sum(values.nbytes for values in made[1].values()) + 2000 * len(made[2]))


def scaling(config: ModelConfig) -> str:
    """What multiplies the rows of E as they enter: "scaled" is √d, "multiplied" another number, "" nothing."""
    return "" if config.embedding_scale == 1 else "scaled" if config.root_scaled else "multiplied"
