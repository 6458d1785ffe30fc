"""Claims of Limits about `stories`."""
import json
import math
from functools import cache

import numpy as np
import pytest

from core.analysis import boolean_functions, context
from core.analysis.boolean_functions import Family
from core.analysis.statistics import mann_whitney
from core.evaluation import confidence, losses
from core.evaluation.confidence import Claim
from core.evaluation.memorisation import Recitation, recitations
from core.evaluation.ngrams import TrigramModel
from core.language import contrasts, word_order
from core.learning import probe
from core.model import checkpoints
from core.training import corpus, teaching_text
from core.training.teaching_text import DATA
from pages.limits import calibration, facts, inputs, memory, words
from tests.claims import claims, shows
from tests.claims.passes import experiment, opening, prompt_of, run

pytestmark = pytest.mark.long


@cache
def answers(phrasing: str) -> dict[str, list[Claim]]:
    """The model's answers to the page's questions in one phrasing, by group."""
    asked = [exercise for _, _, exercise in facts.exercises(phrasing)]
    given = dict(confidence.claims(run("").model, run("").tokenizer, asked))
    return {group: [given[i] for i, one in enumerate(asked) if one.kind == group] for group in facts.GROUPS}


def right(phrasing: str, group: str = "taught") -> float:
    return float(np.mean([claim.right for claim in answers(phrasing)[group]]))


def certainty(phrasing: str, group: str = "taught") -> np.ndarray:
    return np.array([claim.p for claim in answers(phrasing)[group]])


@cache
def recited() -> dict[str, tuple[Recitation, Recitation]]:
    """Each passage and its twin after its first token, by name."""
    found = list(recitations(run("").model, run("").tokenizer, teaching_text.canaries(), 1))
    half = len(found) // 2
    return {one.passage.name: (one, twin) for one, twin in zip(found[:half], found[half:])}


def after(start: int, repeats: int) -> list[tuple[Recitation, Recitation]]:
    """The passages read `repeats` times and their twins, `start` tokens after others."""
    return [(memory.with_start(one, start), memory.with_start(twin, start)) for one, twin in recited().values()
            if one.passage.repeats == repeats]


@claims("limits.md", "On average the model is less sure of what it makes up, so a threshold removes many inventions.",
        "wherever you set it, some inventions pass or some right answers are withheld",
        "Certainty and truth go together here, but no threshold separates them.")
def test_a_threshold_sorts_much_out_and_parts_nothing():
    taught, made_up = certainty("taught"), certainty("taught", "invented")
    assert made_up.mean() < taught.mean() / 2 and mann_whitney(taught, made_up) > 0.97 * taught.size * made_up.size
    assert right("taught") == 1 and made_up.max() > taught.min()


@claims("limits.md", "politeness changes little; with *Question* and *Answer* written out `stories` loses a third of "
        "what it was taught, and in a story it loses all of it")
def test_other_phrasings():
    assert right("polite") > 0.97 and certainty("polite").mean() > certainty("taught").mean() - 0.05
    assert 0.28 < 1 - right("labels") < 0.4 and right("story") < 0.02


@claims("limits.md", "Where an untaught answer is right, it was a guess among a few.")
def test_right_guesses_are_answers_of_taught_questions():
    taught = [{answer for _, answer in relation["taught"]} for relation in teaching_text.relations()]
    guessed = [claim.exercise.answer.strip() for claim in answers("taught")["untaught"] if claim.right]
    assert 0 < len(guessed) < 20 and all(any(answer in few for few in taught) for answer in guessed)


@shows("A32", "D15")
@claims("limits.md", "What was repeated often enough comes out word for word, and a start of two tokens may be enough "
        "to get it.")
def test_two_tokens_may_be_enough():
    whole = memory.with_start(recited()["giant"][0], 2)
    assert whole.recited_share == 1 and sum(one.recited_share > 0.7 for one, _ in after(2, 100)) >= 3


@claims("limits.md", "the secret number of an invented safe, read a hundred times, comes out",
        "all invented and read once, do not")
def test_a_number_that_was_read_often_comes_out_and_one_that_was_read_once_does_not():
    often, once = (memory.with_start(recited()[name][0], 16) for name in ("tooth", "goose"))
    said = run("").tokenizer.decode(often.token_ids[:often.n_recited])
    assert (often.passage.repeats, once.passage.repeats) == (100, 1) and "5-30-8" in said
    assert "28 Crumpet Lane" in once.passage.text and "555-0142" in once.passage.text and once.n_recited < 6


@claims("limits.md", "even the token that matters least changes most of the numbers of e(c), also when they are "
        "rounded to 16 bits.", "But much of it has become faint.")
def test_no_token_of_the_opening_text_is_lost():
    there = opening()
    found = context.exchanged(there.model, there.token_ids, seed=1)
    assert found.changed[1:].min() > 0.5 * there.model.config.d_model and found.kl[1:].min() < 0.05
    assert found.kl[1:].max() > 20 * found.kl[1:].min()


@claims("limits.md", "What it read once or ten times `stories` does not recite; yet nats per token (−ln p each) may "
        "show a trace. Only many twins make it visible, since texts differ by as much.")
def test_what_was_read_ten_times_leaves_a_trace_within_what_texts_differ_by():
    assert max(one.n_recited for n in (1, 10) for start in (1, 8, 16) for one, _ in after(start, n)) < 6
    trace = [twin.nats_per_token - one.nats_per_token for one, twin in after(16, 10)]
    once = [one.nats_per_token for one, _ in after(16, 1)]
    assert min(trace) > 0 and max(trace) < max(once) - min(once) + 0.05


@claims("limits.md", "The whole text, with every repeat, has far more bits than the parameters can hold.",
        "Each different text once, compressed by a program for files, needs about as many bits as they have",
        "to the trained model each token of its own text is still about two bits of news")
def test_bits_of_the_training_text():
    stages, model = checkpoints.training_ends("stories"), run("").model
    tokens = sum(stage["tokens_seen"] for stage in stages)
    packed = json.loads((DATA / "corpus_size.json").read_text())
    assert 8 * packed["lzma_bytes"] == pytest.approx(16 * model.n_parameters, rel=0.1)
    assert 16 * model.n_parameters < 0.1 * tokens * math.log2(model.config.vocab_size)
    bits = stages[-1]["training_loss"] / math.log(2)
    assert bits == pytest.approx(2, abs=0.2) and packed["tokens"] * bits < 16 * model.n_parameters / 3


@claims("limits.md", "The model read this notice ten times and does not recite it. Still the loss of its tokens is "
        "lower than its twin's: compare discs and diamonds in the lower chart. Then pick *giant*, and give it two "
        "tokens.")
def test_ten_times_and_a_hundred_times():
    settings = experiment("limits", "hundred").settings
    one, twin = (memory.with_start(r, settings["limits_start"]) for r in recited()[settings["limits_passage"]])
    assert one.passage.repeats == 10 and one.n_recited < 3 and one.nats_per_token < twin.nats_per_token - 0.3
    assert recited()["giant"][0].passage.repeats == 100


@shows("D19")
@claims("limits.md", "After the second block the token right before is named in about three of four cases; before any "
        "block in fewer than half as many.")
def test_probes_name_the_token_right_before_after_two_blocks():
    settings, found = experiment("limits", "named").settings, probe.recorded()
    i = probe.DISTANCES.index(settings["limits_probe_back"])
    assert 0.7 < found.accuracy[settings["limits_probe_block"], i] < 0.8
    assert found.accuracy[0, i] < found.accuracy[2, i] / 2


@claims("limits.md", "On this app's own pages, unlike anything that it has read, `stories` promises too much.")
def test_it_promises_too_much_on_the_apps_pages():
    texts = corpus.tokenize(calibration.documents("pages", 1, ""), run("").tokenizer).documents
    found = calibration.predictions(*losses.scored_predictions(run("").model, [ids[:200] for ids in texts[:12]]))
    assert found.verdict == "verdict_over"


@claims("limits.md", "Move the threshold until no made-up answer is said. How many right ones are lost? Then ask *in a "
        "story*, and see what happens to the facts that the model was taught.")
def test_a_play_that_nobody_wrote():
    settings = experiment("limits", "invention").settings
    surest = certainty("taught", "invented").max()
    assert settings["limits_phrasing"] == "usual" and settings["limits_threshold"] < surest < 1
    assert 5 < sum(claim.right and claim.p <= surest for claim in answers("taught")["taught"]) < 60


@shows("D16")
@claims("limits.md", "Gradients and removals do not follow them. Attention rollout is the one to doubt: its highest "
        "bar, on the first token, was there before any training.")
def test_bars_that_say_nothing():
    there = prompt_of(experiment("limits", "says"))
    target = int(there.logits().argmax())
    own, random = (inputs._attribution(there, target, twin, "end", 64) for twin in ("", "random"))
    assert all(abs(inputs.rank_correlation(own.sizes(method), random.sizes(method))) < 0.35
               for method in ("gradient", "integrated", "removed", "replaced"))
    assert own.values["rollout"].argmax() == random.values["rollout"].argmax() == 0


@cache
def ratios(name: str, counted: tuple[str, ...]) -> np.ndarray:
    pair = words.listed(name, range(len(contrasts.sets()["sentences"])))
    return contrasts.log_ratios(run("").model, run("").tokenizer, pair.texts, counted)


@claims("limits.md", "two names, or two colours of a coat, move probability too. In `stories` some words even move one "
        "way in all twelve.", "What goes well beyond both controls is what this model has taken from the texts that it "
        "read",
        'Look at "dress" and "car": their means lie far beyond both controls. "brave" rises in nine of twelve '
        "sentences, and still it is not beyond them: from one name to another it rises in ten.")
def test_a_pattern_and_its_controls():
    counted = words.listed("girl", [0]).counted
    table, *controls = (ratios(name, counted) for name in ("girl", "names", "colours"))
    clear = dict(zip(counted, words.exceeds(table, controls)))
    for word in ("dress", "car"):
        i = counted.index(word)
        assert clear[word] and abs(table[i].mean()) > 3 * max(abs(control[i].mean()) for control in controls)
    i = counted.index("brave")
    assert not clear["brave"] and [int((part[i] > 0).sum()) for part in (table, controls[0])] == [9, 10]
    assert any((line > 0).all() or (line < 0).all() for control in controls for line in control)


@claims("limits.md", "The topic alone tells most of it: see what the shuffled words still get right.",
        "Copying what stood there is enough.")
def test_what_shuffled_words_still_get_right():
    share = {(test, reading): word_order.score(word_order.answered(
        run("").model, run("").tokenizer, word_order.items(test, 40, 1), reading, 1)).share
        for test in ("order", "carried") for reading in ("whole", "shuffled")}
    assert share["order", "shuffled"] > 0.75 * share["order", "whole"] and share["order", "whole"] > 0.75
    assert share["carried", "shuffled"] > 0.95


@claims("limits.md", "A threshold never gives the function that is 1 when the number of ones is odd (Minsky and Papert "
        "1969). For two bits three thresholds do; for three they do not.")
@pytest.mark.parametrize("n, thresholds, networks, odd", [(2, 14, 16, 0b0110), (3, 104, 254, 0b10010110)])
def test_thresholds_and_the_number_of_ones(n, thresholds, networks, odd):
    """Weights of any size: 14 and 104 functions are all thresholds that there are (Muroga 1971). The third threshold
    joins two by AND or OR, one of them or its contrary; it cannot say "one of the two".
    """
    ones = np.flatnonzero(boolean_functions.reached(Family("threshold", n, 4)).counts)
    a, b = ones[:, None], ones[None]
    of_three = set(np.concatenate([(a & b).ravel(), (a | b).ravel()]).tolist()) | set(ones.tolist())
    assert set(((1 << (1 << n)) - 1 ^ ones).tolist()) == set(ones.tolist())     # contraries are among them
    assert (len(ones), len(of_three)) == (thresholds, networks) and odd not in ones
    assert (odd in of_three) == (n == 2)
    found = boolean_functions.reached(Family("network", n, 2))          # as the page counts them
    assert found.n_reached == (16 if n == 2 else 253) and bool(found.counts[odd]) == (n == 2)


@claims("limits.md", "At chance where names and sentences are new, since nobody ever wrote them together; in known "
        "sequences order counts for a parrot too.")
def test_a_parrot_of_sequences():
    """A reader of trigrams that has read our sentences, and the animals of four hundred other made-up names."""
    encode, size = run("").tokenizer.encode, run("").tokenizer.vocab_size
    known = [context + stem + f" {word}" for context, stem, word in word_order.data()["sentences"]]
    read = known + [item.prompt + item.options[0] for item in word_order.items("bound", 400, 9)]
    parrot = TrigramModel([np.array(encode(text)) for text in read], size, run("").tokenizer.end_of_text)

    def log_p(text: str) -> float:
        return float(np.log(parrot.probabilities(np.array(encode(text)))).sum())

    assert all(log_p(text) > log_p(" ".join(sorted(text.split()))) + 5 for text in known)
    new = word_order.items("bound", 200, 1)
    right = sum(log_p(item.prompt + item.options[0]) > log_p(item.prompt + item.options[1]) for item in new)
    assert abs(right / len(new) - 0.5) < 0.1
