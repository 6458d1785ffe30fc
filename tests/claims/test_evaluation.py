"""Claims of the models' cards about how they were measured, and about the heads of `stories`."""
import gzip
import lzma
import math
import re

import numpy as np
import pytest

from core.analysis.induction import induction
from core.analysis.statistics import N_BINS, calibrate
from core.app.compute import cache
from core.evaluation.losses import compressed_bits_per_byte
from core.evaluation.samples import SAMPLING
from core.files import ASSETS
from core.model.sampling import SamplingConfig
from tests.claims import claims


@claims("evaluation.md", "Drawn at temperature 0.8 and top-p 0.95, at most {longest} tokens each.",
        "The longest stretch of a sampled continuation (temperature 0.8, top-p 0.95, at most {longest} tokens)")
def test_samples_are_drawn_so():
    assert SamplingConfig(temperature=0.8, top_p=0.95) == SAMPLING


@claims("evaluation.md", "gzip (-9) and lzma compress the text alone and have read nothing before it.")
def test_compressors_read_the_text_alone():
    text = "The cat sat on the mat. The dog sat on the mat."
    data = f"{text}\n".encode()
    assert compressed_bits_per_byte([text]) == (8 * len(gzip.compress(data, 9, mtime=0)) / len(text),
                                                8 * len(lzma.compress(data, preset=9)) / len(text))


@claims("evaluation.md", "Expected calibration error: **{error}**, the mean distance between confidence and share "
        "right over 10 bins.")
def test_the_calibration_error_is_a_mean_over_ten_bins():
    confidence, right = np.array([0.05, 0.15, 0.95, 0.95]), np.array([True, False, True, False])
    assert N_BINS == 10 and calibrate(confidence, right).expected_error == pytest.approx(
        (0.95 + 0.15 + 2 * 0.45) / 4)


@claims("evaluation.md", "On {n_sequences} sequences of {n_tokens} different random tokens that come twice; a "
        "uniform guess costs {uniform} nats.", "| highest induction score, layer {induction_layer} head "
        "{induction_head} | {induction_score} |", "| highest previous-token score, layer {previous_layer} head "
        "{previous_head} | {previous_score} |")
def test_the_card_names_the_heads_that_are_found():
    model = cache.shared_model("stories", "cpu").model
    found, card = induction(model, n_sequences=16), (ASSETS / "models" / "stories" / "README.md").read_text()
    assert f"a uniform guess costs {math.log(model.config.vocab_size):.2f} nats" in card
    for name, scores in (("induction", found.induction), ("previous-token", found.previous_token)):
        layer, head, score = re.search(rf"highest {name} score, layer (\d) head (\d) \| ([\d.]+)", card).groups()
        assert divmod(int(scores.argmax()), model.config.n_heads) == (int(layer), int(head))
        assert scores.max() == pytest.approx(float(score), abs=0.02)
