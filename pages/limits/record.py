"""The making of what the lesson's slowest views show when they are first opened:
`python -m core.recordings facts recitations calibration word_orders`.
"""
import json
from collections.abc import Callable, Iterable

import numpy as np

from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.base import devices
from core.evaluation import confidence, losses, memorisation
from core.language import word_order
from core.training import teaching_text
from pages.limits.calibration import FEW_TEXTS, FEW_TOKENS, TEXTS, TOKENS, documents, few_temperature, first_tokens
from pages.limits.facts import exercises

DIGITS = 6              # significant digits of the kept numbers
MODELS = ("stories", "stories-small")
PHRASING, SOURCE, TEMPERATURE, N_ITEMS, SEED = "taught", "pages", 1.0, 40, 1     # as the lesson's settings are at first
Results = Iterable[tuple[tuple, object]]        # what of a model's key, and the value


def facts() -> dict:
    """For each question the tokens of the answer and their ln p."""
    def of(loaded: LoadedModel) -> Results:
        asked = [exercise for _, _, exercise in exercises(PHRASING)]
        answers = dict(confidence.claims(loaded.runner, loaded.tokenizer, asked))
        yield ("facts", PHRASING, 1), [(answers[i].token_ids, answers[i].log_probs) for i in range(len(asked))]

    return _of(MODELS, of)


def recitations() -> dict:
    """For each passage the likeliest tokens, and ln p of its own."""
    def of(loaded: LoadedModel) -> Results:
        recited = memorisation.recitations(loaded.runner, loaded.tokenizer, teaching_text.canaries(), 1)
        yield ("recitations",), [(r.predicted, r.log_probs) for r in recited]

    return _of(MODELS[:1], of)          # a smaller one needs no second


def calibration() -> dict:
    """For each place the probability of the likeliest token, and 1 if it came, else 0; of the texts also the log loss.
    """
    written = ((TEMPERATURE, SEED, TEXTS, TOKENS), (few_temperature(TEMPERATURE), SEED, FEW_TEXTS, FEW_TOKENS))

    def of(loaded: LoadedModel) -> Results:
        texts = first_tokens(documents(SOURCE, SEED, ""), loaded.tokenizer)
        confident, right, nats = losses.scored_predictions(loaded.runner, texts)
        yield ("calibration", SOURCE, 0, "", False, 1), _kept(confident, right, nats.mean(keepdims=True))
        for temperature, seed, *sizes in written:
            parts = losses.own_predictions(loaded.runner, *sizes, temperature, seed)
            yield ("own predictions", temperature, seed, *sizes), _kept(*map(np.concatenate, zip(*parts)))

    return _of(MODELS, of)


def word_orders() -> dict:
    """For each item of each test, in each reading, ln p of its options."""
    def of(loaded: LoadedModel) -> Results:
        yield ("structure", N_ITEMS, SEED), {
            test: {reading: [answer.log_probs for answer in
                             word_order.answered(loaded.runner, loaded.tokenizer,
                                                 word_order.items(test, N_ITEMS, SEED), reading, SEED)]
                   for reading in word_order.READINGS} for test in word_order.TESTS}

    return _of(MODELS, of)


def _kept(confident: np.ndarray, right: np.ndarray, *nats: np.ndarray) -> list:
    return [confident.tolist(), "".join(map(str, right.astype(int))), *(each.tolist() for each in nats)]


def _of(models: Iterable[str], results: Callable[[LoadedModel], Results]) -> dict:
    """The results of these models by the text of their key, with DIGITS digits."""
    found = {str(loaded.key(*what)): value for loaded in (cache.shared_model(name, devices.CPU) for name in models)
             for what, value in results(loaded)}
    return json.loads(json.dumps(found), parse_float=lambda written: float(f"{float(written):.{DIGITS}g}"))
