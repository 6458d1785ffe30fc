"""The tasks that are learned live, the grammar whose entropy is known, the learner, and teacher forcing: identities and
hand-worked numbers.
"""
from __future__ import annotations

import io
import itertools
import math
import threading
import zipfile

import numpy as np
import pytest
import torch

from core.learning import grammar, teacher_forcing
from core.learning.grammar import Grammar
from core.learning.learner import (
    SIZES,
    TASKS,
    Addition,
    Copying,
    Knobs,
    Learner,
    MadeUpGrammar,
    OwnText,
    Sorting,
    thinned,
)
from core.model import checkpoints
from core.model.tokenizer import END_OF_TEXT
from core.training.corpus import IGNORE
from core.training.loss import next_token_loss

pytestmark = pytest.mark.long

TEXT = "The fox met the crow, and the crow met the fox. " * 12
COIN = Grammar("a", {"a": (("x", 0.5, "a"), ("y", 0.5, "b")), "b": (("x", 1.0, "a"),)})


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def task(name: str):
    return OwnText(TEXT) if name == "text" else TASKS[name]()


def first(learner: Learner, n: int) -> list:
    return list(itertools.islice(learner.learn(), n))


def same(history) -> list[tuple]:
    """Records as they must come again; NaN is no number and the seconds are the clock's."""
    return [tuple(repr(value) for name, value in vars(record).items() if name != "seconds") for record in history]


# ---- the grammar -----------------------------------------------------------------------------------------------------


def texts_of(g: Grammar, n: int) -> dict[tuple[str, ...], float]:
    """Every text of n words with its probability, by walking all ways through the machine."""
    ways = {((), g.start): 1.0}
    for _ in range(n):
        ways = {(text + (word,), to): p * q for (text, state), p in ways.items() for word, q, to in g.states[state]}
    found: dict[tuple[str, ...], float] = {}
    for (text, _), p in ways.items():
        found[text] = found.get(text, 0) + p
    return found


@pytest.mark.parametrize("g, n", [(COIN, 6), (grammar.made_up(), 5)], ids=["coin", "made up"])
def test_the_levels_are_those_of_all_texts_counted_one_by_one(g: Grammar, n: int):
    texts = texts_of(g, n)
    assert sum(texts.values()) == pytest.approx(1)
    single, pairs = {}, {}
    for text, p in texts.items():
        for before, word in zip(("", *text), text):
            single[word] = single.get(word, 0) + p / n
            pairs[before, word] = pairs.get((before, word), 0) + p / n
    before = {}
    for (one, _), p in pairs.items():
        before[one] = before.get(one, 0) + p
    levels = g.levels(n)
    assert levels["floor"] == pytest.approx(-sum(p * math.log(p) for p in texts.values()) / n)
    assert levels["unigram"] == pytest.approx(-sum(p * math.log(p) for p in single.values()))
    assert levels["bigram"] == pytest.approx(-sum(p * math.log(p / before[one]) for (one, _), p in pairs.items()))
    assert levels["floor"] < levels["unigram"]


def test_a_coin_by_hand():
    """a writes x or y evenly, after y comes x: one word costs ln 2; the second ln 2 after x, nothing after y."""
    assert COIN.levels(1)["floor"] == pytest.approx(math.log(2))
    assert COIN.levels(2)["floor"] == pytest.approx(0.75 * math.log(2))


def test_texts_have_the_probabilities_they_say():
    words, p = grammar.made_up().write(200, 6, np.random.default_rng(0).random((200, 6)))
    known = texts_of(grammar.made_up(), 6)
    for row, probabilities in zip(words, p):
        assert math.prod(probabilities) == pytest.approx(known[tuple(grammar.made_up().words[i] for i in row)])


@pytest.mark.parametrize("states", [{"a": (("x", 0.5, "a"),)}, {"a": (("x", 0.5, "a"), ("x", 0.5, "a"))},
                                    {"a": (("x", 1.0, "nowhere"),)}])
def test_a_grammar_that_is_none_is_refused(states: dict):
    with pytest.raises(ValueError):
        Grammar("a", states)


# ---- the tasks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
def test_rows_are_what_the_model_takes_and_come_again_with_the_seed(name: str):
    one = task(name)
    rows, again = (one.rows(16, generator(3), held_out=False) for _ in range(2))
    assert rows.inputs.shape == rows.targets.shape == (16, one.n_context) and torch.equal(rows.inputs, again.inputs)
    assert (rows.inputs[:, 0] == one.tokenizer.end_of_text).all() and int(rows.inputs.max()) < one.tokenizer.vocab_size
    follows = rows.targets[:, :-1]
    assert torch.equal(follows[follows != IGNORE], rows.inputs[:, 1:][follows != IGNORE])


def texts(one, rows) -> list[str]:
    whole = torch.cat([rows.inputs[:, 1:], rows.targets[:, -1:]], dim=1)
    return [one.tokenizer.decode(row) for row in whole.tolist()]


def test_the_answers_are_right():
    for one, check in ((Copying(), lambda q, a: q == a), (Sorting(), lambda q, a: sorted(q) == list(a))):
        for text in texts(one, one.rows(50, generator(), held_out=False)):
            question, answer = text.split("|" if "|" in text else ">")
            assert check(question, answer), text
    for text in texts(Addition(), Addition().rows(50, generator(), held_out=False)):
        question, answer = text.split("=")
        a, b = map(int, question.split("+"))
        assert int(answer[::-1]) == a + b and len(answer) == 3


def test_what_is_held_out_is_never_trained_on():
    questions = [{text.split("=")[0] for text in texts(Addition(), Addition().rows(n, generator(1), held_out))}
                 for held_out, n in ((False, 40_000), (True, 4000))]
    assert not questions[0] & questions[1] and 500 < len(questions[1]) <= 1000
    # and no rule is held out with them: of each two last digits about nine pairs in ten are trained on
    for units in np.ndindex(10, 10):
        trained = sum(question[1] + question[4] == "{}{}".format(*units) for question in questions[0])
        assert 60 <= trained <= 100, units
    # 50 bytes, less than the tenth that is held out
    own = OwnText(TEXT + "§" * 25)
    seen = [own.rows(500, generator(), held_out).targets == own.tokenizer.id_of("§".encode()[:1])
            for held_out in (False, True)]
    assert not seen[0].any() and seen[1].any()


def test_blind_guesses_by_counting():
    sums = [a + b for a in range(100) for b in range(100)]
    entropies = []
    for place in (1, 10, 100):
        counts = np.bincount([s // place % 10 for s in sums]) / 10_000
        entropies.append(-sum(p * math.log(p) for p in counts if p))
    assert Addition().levels["blind"] == pytest.approx(np.mean(entropies))
    drawn = np.sort(np.random.default_rng(0).integers(0, 10, (200_000, 8)), axis=1)
    shares = [np.bincount(column, minlength=10) / len(drawn) for column in drawn.T]
    assert Sorting().levels["blind"] == pytest.approx(np.mean([grammar.entropy(share) for share in shares]), abs=2e-3)
    assert Copying().levels["blind"] == pytest.approx(math.log(8))


def test_every_word_of_the_grammar_is_one_token_and_its_rows_are_its_texts():
    one = MadeUpGrammar()
    for text in texts(one, one.rows(20, generator(), held_out=False)):
        words = text.replace(".", " .").split()
        assert len(words) == one.n_context and set(words) <= set(grammar.made_up().words)


def test_a_text_too_short_is_refused_and_a_broken_one_is_learned_from():
    with pytest.raises(ValueError, match="bytes"):
        OwnText("too short")
    rows = OwnText("🐶\x00שלום " * 60).rows(4, generator(), held_out=True)
    assert rows.inputs.shape == (4, OwnText.n_context)


# ---- the learner -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
def test_a_learner_learns_every_task(name: str):
    learner = Learner(task(name))
    records = first(learner, 4)
    assert learner.step == records[-1].step == 40 and learner.history[0].step == 0
    assert records[-1].held_out < learner.history[0].held_out and 0 <= records[-1].accuracy <= 1
    assert (learner.pattern.shape == (2, 2, learner.task.n_context, learner.task.n_context)
            and len(learner.tokens) == learner.task.n_context)


def test_the_smallest_copying_task_is_learned():
    last = first(Learner(Copying()), 20)[-1]
    assert last.accuracy > 0.99 and last.whole > 0.95 and last.sample[1] == last.sample[2] != ""


def test_the_loss_of_the_grammar_is_its_floor_for_who_knows_the_rules():
    """Measured as the learner does it: what is paid above the rows' own price, put on the exact floor."""
    learner = Learner(MadeUpGrammar())
    rows, levels = learner._held_out, learner.task.levels
    paid = -float(rows.log_p.mean())
    assert paid + float(rows.log_p.mean()) + levels["floor"] == pytest.approx(levels["floor"])
    assert paid == pytest.approx(levels["floor"], abs=0.05)
    raw = float(next_token_loss(learner.model.logits(rows.inputs).detach(), rows.targets))
    assert learner.history[0].held_out == pytest.approx(raw - paid + levels["floor"])


def test_two_readers_that_train_at_once_do_not_touch_each_other():
    alone = [Learner(Copying(), seed=1), Learner(MadeUpGrammar(), seed=2)]
    for learner in alone:
        first(learner, 4)
    together = [Learner(Copying(), seed=1), Learner(MadeUpGrammar(), seed=2)]
    threads = [threading.Thread(target=first, args=(learner, 4)) for learner in together]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(alone, together):
        assert same(one.history) == same(other.history)
        assert all(torch.equal(a, b) for a, b in zip(one.model.parameters(), other.model.parameters()))


def test_pausing_changes_nothing_and_turning_a_knob_does_at_once():
    whole, paused = Learner(Copying()), Learner(Copying())
    first(whole, 3)
    for _ in range(3):
        first(paused, 1)
    assert same(whole.history) == same(paused.history)
    paused.knobs = Knobs("sgd", 0.0)
    before = [p.detach().clone() for p in paused.model.parameters()]
    assert first(paused, 1)[-1].knobs == Knobs("sgd", 0.0)
    assert all(torch.equal(a, b) for a, b in zip(before, paused.model.parameters()))


@pytest.mark.parametrize("optimizer, factor", [("sgd", 1.0), ("momentum", 1.0), ("adam", None)])
def test_the_first_step_of_every_optimizer_is_the_one_that_is_written(optimizer: str, factor: float | None):
    learner = Learner(Copying(), knobs=Knobs(optimizer, 0.01))
    before = learner.model.E.detach().clone()
    learner._one_step()
    gradient = learner.model.E.grad                                     # shortened already, as the step took it
    step = before - learner.model.E.detach()
    expected = 0.01 * (gradient if factor else gradient / (gradient.abs() + 1e-8))
    assert torch.allclose(step, expected, atol=1e-6)


def test_a_loss_that_is_no_number_ends_the_training():
    learner = Learner(Copying())
    with torch.no_grad():
        learner.model.E.fill_(float("nan"))
    assert [record.diverged for record in learner.learn()] == [True] and list(learner.learn()) == []


def test_what_is_taken_home_is_the_same_model(tmp_path):
    learner = Learner(MadeUpGrammar())
    first(learner, 1)
    with zipfile.ZipFile(io.BytesIO(learner.saved("# A card\n"))) as archive:
        archive.extractall(tmp_path)
        assert ({checkpoints.WEIGHTS, checkpoints.CONFIG, checkpoints.TOKENIZER, checkpoints.CARD}
                == set(archive.namelist()))
    model, tokenizer = checkpoints.load(tmp_path)
    ids = torch.tensor([tokenizer.end_of_text, *tokenizer.encode(" the cat")])
    assert (torch.equal(model.logits(ids), learner.copy().logits(ids))
            and (tmp_path / "README.md").read_text() == "# A card\n")


def test_sizes_count_as_the_formula_says_and_long_histories_are_thinned():
    for size, (d, n_layers, _) in SIZES.items():
        model = Learner(Copying(), size).model
        assert model.n_parameters == 257 * d + 17 * d + n_layers * (12 * d * d + 13 * d) + 2 * d
    assert (thinned(list(range(1000)), 100)[0] == 0 and thinned(list(range(1000)), 100)[-1] == 999
            and len(thinned(list(range(1000)), 100)) <= 101)
    assert thinned([1]) == [1] and thinned([]) == []


# ---- teacher forcing -------------------------------------------------------------------------------------------------


def test_prices_by_hand():
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]))
    prices = teacher_forcing.predict(logits, [0, 1, 0])
    assert (prices.p_true == pytest.approx([0.25, 0.1]) and prices.losses == pytest.approx([math.log(4), math.log(10)])
            and prices.n == 2)
    assert (prices.guesses.tolist() == [0, 1, 2] and prices.p_guess == pytest.approx([0.5, 0.8, 0.6])
            and prices.rank.tolist() == [1, 1])
    assert (prices.mean == pytest.approx(math.log(40) / 2) and prices.perplexity == pytest.approx(40 ** 0.5)
            and prices.total == pytest.approx(-math.log(0.25 * 0.1)))
    assert math.isnan(teacher_forcing.predict(logits[:1], [0]).mean)


def test_the_push_is_the_derivative_of_the_price():
    logits = torch.randn(9, generator=generator(), dtype=torch.float64, requires_grad=True)
    (-logits.log_softmax(-1)[4]).backward()
    pushed = teacher_forcing.logit_gradient(logits.detach(), 4)
    assert torch.allclose(pushed, logits.grad) and float(pushed.sum()) == pytest.approx(0, abs=1e-12)


def test_documents_are_packed_with_the_end_between_them():
    assert (teacher_forcing.documents_of(" A cat. A dog!  \n\nBye ") == ["A cat.", "A dog!", "Bye"]
            and teacher_forcing.documents_of(" \n ") == [])
    assert teacher_forcing.packed([[5, 6], [7]], 0, 4) == (0, 5, 6, 0) and teacher_forcing.packed([], 0, 4) == (0,)
    assert END_OF_TEXT not in "".join(teacher_forcing.documents_of("a. b."))
