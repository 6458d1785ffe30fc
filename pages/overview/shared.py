"""The lesson's seed, and what the map and the parts below it both read off a run."""
import numpy as np

from core.app.compute import cache
from core.app.state import Run
from core.app.state.lesson_settings import Setting, Settings
from core.model.sampling import Truncation, truncate
from pages.overview import packing

MAP = "overview_map"        # the key of the component
# its first ten ξ on the usual prompt are all below 0.75: no draw from the far tail before the reader asks for one
FIRST_SEED = 4
MOST_SEED = 999_999
SETTINGS = Settings("overview", {"seed": Setting(FIRST_SEED, low=0, high=MOST_SEED)})


def xi_of(seed: int, n_tokens: int) -> float:
    """ξ in [0, 1) for the draw after n_tokens tokens: frozen while controls move, and the same seed writes
    the same text.
    """
    return float(np.random.default_rng((seed, n_tokens)).random())


def truncation_of(run: Run, position: int) -> Truncation:
    """y at a position, sorted, nothing cut; kept for all who ask for the same."""
    key = run.key("overview_truncation", position)
    return cache.result(key, lambda: truncate(run.logits(position)), lambda made: 60 * len(made.probs))


def packed_pass(run: Run) -> tuple[dict, dict[str, np.ndarray], list]:
    """What the map draws of a run whatever position is picked: sizes, arrays and every position's
    likeliest next tokens.
    """
    def make() -> tuple[dict, dict[str, np.ndarray], list]:
        return *packing.pass_arrays(run.trace), packing.candidates(run.trace, run.tokenizer.visible)

    key = run.key("overview_pass")
    return cache.result(key, make, lambda made: sum(values.nbytes for values in made[1].values()) + 2000 * len(made[2]))
