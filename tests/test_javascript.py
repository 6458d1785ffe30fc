"""The mathematics in JavaScript, run by node against values from Python."""
from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np

from core.components.lib.bytes import pack, with_heard
from core.components.sampling_panel import seeded_uniforms
from core.model.sampling import SamplingConfig, draw, truncate
from tests.helpers.javascript import run_tests

TESTS = Path(__file__).parent / "js"
LOGITS = {
    "gaussian": lambda n, rng: rng.normal(0, 3, n),
    "all equal": lambda n, rng: np.zeros(n),
    "many ties": lambda n, rng: np.round(rng.normal(0, 1.5, n)),
    "half impossible": lambda n, rng: np.where(np.arange(n) % 2, -np.inf, rng.normal(0, 2, n)),
    "one possible": lambda n, rng: np.where(np.arange(n) == n // 2, 4.0, -np.inf),
    "one giant": lambda n, rng: np.where(np.arange(n) == n - 1, 800.0, rng.normal(0, 1, n)),
    "far apart": lambda n, rng: rng.normal(0, 300, n),
    "float32": lambda n, rng: rng.normal(0, 4, n).astype(np.float32).astype(np.float64),
    "round probabilities": lambda n, rng: np.log(np.arange(1, n + 1) / 10),
}
XIS = (0.0, 0.25, 0.5, 0.7, 0.999999)


def configs(rng: np.random.Generator, n: int) -> list[SamplingConfig]:
    """Every rule alone at its edges, then twenty random mixtures."""
    alone = [SamplingConfig(temperature=t) for t in (0.0, 1e-300, 0.01, 1.0, 50.0, 1e30)]
    alone += [SamplingConfig(top_k=k) for k in (1, 2, n, n + 5)]
    alone += [SamplingConfig(top_p=p) for p in (0.0, 0.3, 0.5, 0.8, 0.999, 1.0)]
    alone += [SamplingConfig(min_p=p) for p in (0.05, 0.5, 1.0)]
    alone += [SamplingConfig(typical_p=p) for p in (0.0, 0.2, 0.5, 0.95)]
    return alone + [SamplingConfig(float(rng.choice([0.3, 1, 2])),
                                   None if rng.random() < 0.4 else int(rng.integers(1, n + 2)), float(rng.random()),
                                   float(rng.choice([0, 0.01, 0.2])), float(rng.choice([1, rng.random()])))
                    for _ in range(20)]


def cut(logits: np.ndarray, config: SamplingConfig) -> dict:
    """The result of truncation.js for these logits."""
    found = truncate(logits, config)
    rows = found.probs, found.cumulative, found.renormalised, found.interval_ends
    return {"config": vars(config), "ids": found.token_ids.tolist(), "rules": found.cut_by.tolist(),
            "kept": found.n_kept, "places": [draw(found, xi) for xi in XIS], "rows": [row.tolist() for row in rows],
            "scalars": [found.entropy_before, found.entropy_after, found.kept_mass]}


def cuts() -> list[dict]:
    """Every kind of logits at five sizes; an impossible token's logit is null."""
    cases = []
    for kind, make in LOGITS.items():
        rng = np.random.default_rng(7)
        for n in (1, 2, 10, 1000, 4096):
            logits = make(n, rng)
            chosen = configs(rng, n)[::max(1, n // 300)]
            cases.append({"name": f"{n} {kind}", "logits": [None if u == -np.inf else u for u in logits.tolist()],
                          "cases": [cut(logits, config) for config in chosen]})
    return cases


def message() -> dict:
    header = {"text": "ﷺ ⏎ é", "n": 3, "none": None}
    arrays = {"small": np.arange(3, dtype=np.uint8), "pairs": np.array([1, 65535], np.uint16),
              "signed": np.array([-1, 2**31 - 1], np.int32), "single": np.array([0.1, -1e30], np.float32),
              "wide": np.array([0.1, 1e300, -0.0]), "empty": np.zeros(0, np.float32)}
    heard = 2 ** 53 - 1          # no number that a browser counts is larger
    return {"header": header, "arrays": {name: values.tolist() for name, values in arrays.items()}, "heard": heard,
            "message": base64.b64encode(with_heard(pack(header, arrays), heard)).decode()}


def test_the_mathematics_in_javascript_is_pythons(tmp_path: Path):
    dice = [{"seed": seed, "uniforms": seeded_uniforms(seed, 200).tolist()} for seed in (0, 1, 12345, 2**32 - 1)]
    values = tmp_path / "values.json"
    values.write_text(json.dumps({"truncation": cuts(), "xis": XIS, "dice": dice, "bytes": message()}))
    run_tests(TESTS, values)
