"""The lesson Limits, its views of inputs, of one changed word and of structure: what is drawn is what the model does,
numbers hold, answers are right.
"""
from __future__ import annotations

import functools
import json
import math
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.app.state.run import Run, read
from core.base import prose
from core.language import contrasts, word_order
from pages.limits import words
from tests.helpers import lessons, messages
from tests.helpers.lessons import answer, fine
from tests.helpers.messages import formulas, numbers_in, value_of
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

SMALL = "stories-small"
WORDS = prose.load("limits")
PROMPT = "Lily had a red ball. One day, Lily lost her"

open_at = functools.partial(lessons.open_at, "limits")


def given(at: AppTest, name: str) -> dict:
    return messages.given(at, f"limits_{name}")


def run_of(prompt: str) -> Run:
    return read(cache.shared_model(SMALL, "cpu"), prompt)


def log_probs(run: Run, ids) -> np.ndarray:
    """(|V|,) ln p after these token ids, from a traced pass of their own."""
    with torch.inference_mode():
        return run.model(torch.tensor(list(ids))).logits[-1].double().log_softmax(-1).numpy()


def after(run: Run, prompt: str) -> np.ndarray:
    return log_probs(run, [run.tokenizer.end_of_text, *run.tokenizer.encode(prompt)])


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_the_views_bear_every_prompt(prompt: str | None):
    at = open_at(model=SMALL, limits_steps="8", limits_view="inputs", limits_pair="own",
                 **({} if prompt is None else {"prompt": prompt}))
    assert fine(at) and given(at, "inputs")
    if prompt in ("", "a"):
        ids = run_of(prompt).token_ids
        once, twice = (log_probs(run_of(""), row) for row in (ids, (*ids, *ids[1:])))
        answer(at, "twice", 2 if not prompt else int(twice[once.argmax()] < once.max()))
    at.session_state["limits_view"] = "words"
    assert fine(at.run()) and at.get("vega_lite_chart")


def test_absurd_addresses_open_what_there_is():
    junk = "<b>$x^2$</b>,\n\x00" * 40
    at = open_at(model=SMALL, prompt=PROMPT, limits_view="inputs", limits_control="moon", limits_baseline="x",
                 limits_steps="9", limits_token="1e9", target="7", limits_pair="none", limits_span="3",
                 limits_sentence="999", limits_place="99999", limits_other=junk, limits_counted=junk, limits_test="?",
                 limits_n="1e6", limits_seed="-7", limits_item="nan")
    assert fine(at) and given(at, "inputs")["settings"]["token"] < len(run_of(PROMPT).token_ids)
    for settings in ({"view": "words"}, {"pair": "own"}, {"pair": "girl", "span": "all"},
                     {"view": "meaning", "n": "20", "item": 70}):
        for name, value in settings.items():
            at.session_state[f"limits_{name}"] = value
        assert fine(at.run()), settings


# ---- inputs ----------------------------------------------------------------------------------------------------------


def test_the_bars_are_what_the_model_does_and_the_numbers_hold():
    run = run_of(PROMPT)
    whole = log_probs(run, run.token_ids)
    target = int(whole.argmax())
    at = open_at(model=SMALL, prompt=PROMPT, limits_view="inputs", limits_control="other", limits_token="4")
    rows = {row["name"]: row for row in given(at, "inputs")["rows"]}
    removed, replaced, rollout = (rows[WORDS.label(f"method_{name}")]["values"]
                                  for name in ("removed", "replaced", "rollout"))
    ids = list(run.token_ids)
    for i in (0, 4, len(ids) - 1):
        assert removed[i] == pytest.approx(whole[target] - log_probs(run, ids[:i] + ids[i + 1:])[target], abs=1e-4)
        assert replaced[i] == pytest.approx(whole[target] - log_probs(run, ids[:i] + [run.tokenizer.end_of_text]
                                                                           + ids[i + 1:])[target], abs=1e-4)
    assert sum(rollout) == pytest.approx(1, abs=1e-5) and rows[WORDS.label("method_rollout")]["control"] == rollout
    second = int(np.argsort(-whole)[1])
    assert (rows[WORDS.label("method_removed")]["control"][4]
            == pytest.approx(whole[second] - log_probs(run, ids[:4] + ids[5:])[second], abs=1e-4))
    found = formulas(at)
    for line in found[:2]:
        a, b, c = numbers_in(line)
        assert a - b == pytest.approx(c, abs=1e-4) and a == pytest.approx(whole[target], abs=1e-5)
    x, slope, cosine, product = numbers_in(found[2])
    assert (x * slope * cosine == pytest.approx(product, abs=1e-4)
            and product == pytest.approx(rows[WORDS.label("method_gradient")]["values"][4], abs=1e-4))
    total, a, b, whole_difference = numbers_in(found[3])
    assert (a - b == pytest.approx(whole_difference, abs=1e-4)
            and total == pytest.approx(whole_difference, abs=0.02 * abs(whole_difference)))
    squares, n, of, rho = re.search(r"6 \\cdot (\d+)\}\{(\d+) \\cdot (\d+)\} = (-?[\d.]+)", found[4]).groups()
    assert (int(of) == int(n) ** 2 - 1
            and 1 - 6 * int(squares) / (int(n) * int(of)) == pytest.approx(float(rho), abs=1e-4))
    places = sorted(range(1, len(ids)), key=lambda i: -removed[i])[:2]
    both, alone = (whole[target] - log_probs(run, [ids[i] for i in range(len(ids)) if i not in places])[target],
                   sum(removed[i] for i in places))
    answer(at, "two", 1 if abs(both - alone) <= 0.1 * alone else 0 if both > alone else 2)


def test_random_weights_and_a_named_target():
    run = run_of(PROMPT)
    named = run.tokenizer.encode(" hat")[0]
    rows = given(open_at(model=SMALL, prompt=PROMPT, target=str(named), limits_view="inputs", limits_control="random",
                         limits_steps="8"), "inputs")["rows"]
    removed = next(row for row in rows if row["name"] == WORDS.label("method_removed"))
    ids = list(run.token_ids)
    assert removed["values"][3] == pytest.approx(log_probs(run, ids)[named] - log_probs(run, ids[:3] + ids[4:])[named],
                                                 abs=1e-4)
    assert all(abs(b) < abs(a) for a, b in zip(removed["values"][-2:], removed["control"][-2:]))


# ---- words -----------------------------------------------------------------------------------------------------------


def test_one_changed_word_is_the_difference_of_two_passes():
    at = open_at(model=SMALL, limits_view="words", limits_sentence="3")
    sentence, run = contrasts.sets()["sentences"][3], run_of("")
    p, q = (np.exp(after(run, sentence.replace("{w}", word))) for word in ("boy", "girl"))
    moved = 0.5 * np.abs(q - p).sum()
    found = formulas(at)
    assert (numbers_in(found[2])[-1] == pytest.approx(moved, abs=1e-4)
            and sum(numbers_in(found[2])[:-1]) == pytest.approx(moved, abs=1e-4))
    most = int((q - p).argmax())
    assert (numbers_in(found[0]) == pytest.approx([q[most], p[most], q[most] - p[most]], abs=1e-4)
            and numbers_in(found[1])[-1] == pytest.approx(math.log(q[most] / p[most]), abs=1e-3))
    assert (numbers_in(found[3])[-1] == pytest.approx((p * np.log(p / q)).sum(), abs=1e-4)
            and numbers_in(found[4])[-1] == pytest.approx((q * np.log(q / p)).sum(), abs=1e-4))
    none = np.exp(after(run, sentence.replace("{w}", "child")))
    answer(at, "neutral", int(np.abs(none - q).sum() < np.abs(none - p).sum()))


def test_the_readers_own_prompt_and_word():
    at = open_at(model=SMALL, prompt="The old dog saw a girl and", limits_view="words", limits_pair="own",
                 limits_place="4", limits_other="cat")
    run = run_of("")
    p, q = (np.exp(after(run, f"The old dog saw {rest} girl and")) for rest in ("a", "cat"))
    assert numbers_in(formulas(at)[2])[-1] == pytest.approx(0.5 * np.abs(q - p).sum(), abs=1e-4)
    assert ([match.group() for match in contrasts.words_of("Don't stop, 3 times!")] == ["Don't", "stop", "times"]
            and contrasts.swapped("Girl") == "Boy")


def test_the_mean_over_twelve_sentences():
    at = open_at(model=SMALL, limits_view="words", limits_span="all", limits_pair="names",
                 limits_counted="dress, gingerbread house")
    run, ratios = run_of(""), []
    for sentence in contrasts.sets()["sentences"]:
        totals = []
        for name in ("Mia", "Anna"):
            ids, total = [0, *run.tokenizer.encode(contrasts.fitted(sentence, f"girl named {name}"))], 0.0
            for token_id in run.tokenizer.encode(" gingerbread house"):
                total += log_probs(run, ids)[token_id]
                ids.append(token_id)
            totals.append(total)
        ratios.append(totals[1] - totals[0])
    table = at.dataframe[0].value
    assert (table.iloc[:, 0].tolist() == ["dress", "gingerbread house"]
            and value_of(table.iloc[1, 1]) == pytest.approx(np.mean(ratios), abs=1e-3))
    assert (value_of(table.iloc[1, 2]) == pytest.approx(np.std(ratios, ddof=1), abs=1e-3)
            and table.iloc[1, 4] == f"{sum(value > 0 for value in ratios)} / 12")
    assert table.iloc[:, 5].tolist() == ["✓" if own else "–" for own in words.exceeds(*_tables(run))]
    mean, error = formulas(at)
    *terms, m = numbers_in(mean)
    assert (len(terms) == 12 and sum(terms) / 12 == pytest.approx(m, abs=1e-4)
            and numbers_in(error)[0] / math.sqrt(12) == pytest.approx(numbers_in(error)[1], abs=1e-4))


def _tables(run: Run) -> tuple[np.ndarray, list[np.ndarray]]:
    """The log-ratios of "dress" and "gingerbread house" for the names, and for the one other control."""
    own, other = ([(contrasts.fitted(one, pair["a"]), contrasts.fitted(one, pair["b"]))
                   for one in contrasts.sets()["sentences"]]
                  for pair in (contrasts.sets()["pairs"][key] for key in ("names", "colours")))
    first, second = (contrasts.log_ratios(run.model, run.tokenizer, texts, ["dress", "gingerbread house"])
                     for texts in (own, other))
    return first, [second]


# ---- parrot or meaning -----------------------------------------------------------------------------------------------


def test_items_are_judged_by_the_models_own_probabilities():
    at = open_at(model=SMALL, limits_view="meaning", limits_n="20", limits_test="agreement",
                 limits_item="2", limits_seed="3")
    sent, run, items = given(at, "items"), run_of(""), word_order.items("agreement", 20, 3)
    right = []
    for shown, item in zip(sent["items"], items, strict=True):
        found = after(run, item.prompt)[[run.tokenizer.encode(option)[0] for option in item.options]]
        right.append(bool(found[0] > found[1]))
        assert (shown["right"] == right[-1] and shown["ask"] == item.prompt
                and shown["said"] == item.options[int(found.argmax())].strip())
    odds, share, wilson = formulas(at)
    a, b, c = numbers_in(odds)
    assert a - b == pytest.approx(c, abs=1e-4) and (c > 0) == right[2]
    assert numbers_in(share)[-1] == pytest.approx(sum(right) / 20, abs=1e-4)
    centre, half, below, low, high = numbers_in(wilson)
    assert [(centre - half) / below, (centre + half) / below] == pytest.approx([low, high], abs=1e-4)
    backwards = 0
    for item in (item for item, good in zip(items, right) if good):
        found = after(run, " ".join(reversed(item.context.split())) + item.stem)[[run.tokenizer.encode(option)[0]
                                                                                  for option in item.options]]
        backwards += bool(found[0] > found[1])
    answer(at, "backwards", int(np.searchsorted((0.34, 0.9), backwards / sum(right), side="right")))
    link = next(m.value for m in at.markdown if "next_token" in m.value)
    assert ("prompt=" + items[2].prompt.replace(" ", "%20") in link
            and f"target={run.tokenizer.encode(items[2].options[0])[0]}" in link)


def test_the_chart_shows_every_test_in_every_reading_with_chance():
    at = open_at(model=SMALL, limits_view="meaning", limits_n="20", limits_seed="3")
    spec = json.loads(at.get("vega_lite_chart")[0].proto.spec)
    assert len(spec["layer"]) == 4
    table = at.dataframe[0].value
    assert table.iloc[:, 0].tolist() == [WORDS.label(f"test_{test}") for test in word_order.TESTS]
    assert table.iloc[:, -1].tolist() == ["0.5000"] * 5 + ["0.2500"] * 3


def test_every_experiment_leads_where_it_says():
    at = open_at(limits_view="words", model=SMALL)
    for experiment in WORDS.experiments:
        at.button(f"do_limits_{experiment.id}").click().run()
        assert fine(at)
        for name, value in experiment.settings.items():
            assert str(at.session_state[name]) == str(value), (experiment.id, name)
