"""Claims of Positions about the rows that `stories` learned, and about the six `positions-*`."""
import torch

from core.app.compute import cache
from core.evaluation import lengths
from core.model.config import POSITIONS
from tests.claims import claims, shows
from tests.claims.passes import experiment, run


@shows("A11")
@claims("positions.md", "Nothing tells it that 40 is next to 41. Look at the cosines: where training has worked, "
        "neighbours are alike and the square shows a band along the diagonal.")
def test_neighbouring_rows_are_alike():
    rows = torch.nn.functional.normalize(run("").model.P.detach().double(), dim=-1)
    cosines = rows @ rows.T
    assert cosines[40, 41] > 0.95 and cosines.diagonal(1)[1:].min() > 0.9
    away = [float(cosines[40, 40 + k]) for k in (1, 8, 16, 32, 64, 128)]
    assert away == sorted(away, reverse=True) and away[-1] < 0


@claims("positions.md", "Turned onto its principal axes the matrix shows what it uses: the rows at the top hold "
        "the most, and in a trained model they are often slow waves.")
def test_the_strongest_axes_are_slow_waves():
    along, sizes, _ = torch.linalg.svd(run("").model.P.detach().double())
    assert (sizes[:8] ** 2).sum() > 0.98 * (sizes ** 2).sum()
    turns = (along[2:, :4] * along[1:-1, :4] < 0).sum(0)
    assert turns.tolist() == sorted(turns.tolist()) and turns.max() < 10       # half waves over 256 positions


@shows("D18")
@claims("positions.md", "it loses little to the best, and does better than the one that adds sine waves to the stream",
        "In these six runs a vector is not the best way.", "Six models of about a million parameters",
        "sinusoids are met at angles that never were in training, added to the stream at full strength, and the model "
        "breaks down. A line that stays level or falls on has found a use for tokens farther away than any that it was "
        "trained on",
        "Inside the 128 positions of training the model works. Past them its line leaves the picture")
def test_what_breaks_beyond_the_length_of_training():
    assert experiment("positions", "breaks").settings["positions_measured_scheme"] == "sinusoidal"
    assert len(POSITIONS) == 6
    nats = {}
    for scheme in POSITIONS:
        model = cache.shared_model(f"positions-{scheme}", "cpu").model
        assert model.config.n_context == 128 and 0.8e6 < model.n_parameters < 1.2e6
        nats[scheme] = [part.nats_per_token for part in lengths.bundled(f"positions-{scheme}")]
    assert len(nats["learned"]) == 2 and all(line[1] < line[0] for line in nats.values())
    first = {scheme: (line[0] + line[1]) / 2 for scheme, line in nats.items()}
    assert min(first, key=first.get) == "rotary" and 0.2 < first["none"] - first["rotary"] < 0.3
    assert max(first, key=first.get) == "sinusoidal" and first["sinusoidal"] > first["none"] + 0.5
    assert first["alibi"] < first["learned"] and first["relative"] < first["learned"]
    inside, beyond = ({scheme: line[part] for scheme, line in nats.items() if scheme != "learned"} for part in (1, -1))
    assert inside["sinusoidal"] < 6 and beyond["sinusoidal"] > 11
    rotary = nats["rotary"]
    assert rotary[2] < rotary[1] < rotary[3] and all(0.3 < nats - rotary[1] < 0.5 for nats in rotary[4:])
    assert beyond["alibi"] < inside["alibi"] and abs(beyond["relative"] - inside["relative"]) < 0.1
    others = max(value for scheme, value in beyond.items() if scheme != "sinusoidal")
    assert beyond["sinusoidal"] > 2 * others
