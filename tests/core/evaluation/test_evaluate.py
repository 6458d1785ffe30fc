"""The measures: by hand, on a model whose every prediction is known, and against slow and plain ways to
the same number.
"""
import gzip
import itertools
import math

import numpy as np
import pytest
import torch

from core.analysis.induction import induction, repeated_sequences
from core.analysis.statistics import Proportion, calibrate
from core.evaluation.losses import compressed_bits_per_byte, text_scores, top_predictions
from core.evaluation.memorisation import Run, longest_runs, recitations, verbatim
from core.evaluation.reproducibility import repetition
from core.evaluation.samples import SAMPLING, distinct_share, document_continuations, openings, samples
from core.evaluation.teaching_tasks import GREEDY, answer_log_probs, answers, choices
from core.model.config import ModelConfig
from core.model.generation import generate
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import corpus
from core.training.teaching_text import Canary, Exercise

BYTES = Tokenizer.train(["x"], 257)             # end of text, and one token for each byte
SIZE = BYTES.vocab_size
GAP = 8.0                                       # between the logit of the one successor and those of all other tokens
EXPECTED = math.exp(GAP) / (math.exp(GAP) + SIZE - 1)
OTHER = 1 / (math.exp(GAP) + SIZE - 1)


def successor_model(text: str, n_context: int = 32) -> Transformer:
    """After end of text it expects the first letter of `text`, after each letter the one that follows it there, with
    the probability EXPECTED.

    Its block writes nothing, the norm of a one-hot row is sqrt(SIZE) times the row, and W_U holds one entry a column.
    """
    model = Transformer(ModelConfig(vocab_size=SIZE, d_model=SIZE, n_layers=1, n_heads=1,
                                    n_context=n_context, d_ff=None, positions="none",
                                    norm="rmsnorm", norm_epsilon=1e-12, tied_embeddings=False))
    ids = [BYTES.end_of_text, *BYTES.encode(text)]
    with torch.no_grad():
        model.E.copy_(torch.eye(SIZE))
        for a, b in itertools.pairwise(ids):
            model.W_U[b, a] = GAP / math.sqrt(SIZE)
    return model.eval().requires_grad_(False)


def random_model(seed: int = 0, n_context: int = 64) -> Transformer:
    config = ModelConfig(vocab_size=SIZE, d_model=16, n_layers=2, n_heads=2, n_context=n_context)
    model = Transformer(config).initialise(torch.Generator().manual_seed(seed)).eval().requires_grad_(False)
    model.E.mul_(30)
    return model


def ids(text: str) -> np.ndarray:
    return np.array(BYTES.encode(text), dtype=np.uint16)


class TestProportion:
    def test_wilson_by_hand(self):
        """9 of 10: centre 0.9 + 3.8415/20, half 1.96 sqrt(0.009 + 3.8415/400), both over 1.38415.

        0 of 10: from 0 to z²/(10 + z²).
        """
        assert Proportion(9, 10).interval == pytest.approx((0.5958, 0.9821), abs=1e-4)
        assert Proportion(0, 10).interval == pytest.approx((0, 0.2775), abs=1e-4)
        assert Proportion(10, 10).interval == pytest.approx((0.7225, 1), abs=1e-4)

    @pytest.mark.parametrize("right, n", [(0, 0), (3, 2), (-1, 2)])
    def test_no_share(self, right, n):
        with pytest.raises(ValueError, match="is no share"):
            Proportion(right, n)


class TestCalibration:
    def test_by_hand(self):
        """Bin 0.2: 0.25 and 0.25, one right; bin 0.9: 0.9 and 1.0, both right.

        2/4 · |0.5 − 0.25| + 2/4 · |1 − 0.95| = 0.15.
        """
        found = calibrate(np.array([0.25, 0.9, 0.25, 1.0]), np.array([True, True, False, True]))
        assert found.expected_error == pytest.approx(0.15) and found.n == 4
        assert [b.count for b in found.bins] == [0, 0, 2, 0, 0, 0, 0, 0, 0, 2]
        assert ((found.bins[2].confidence, found.bins[2].share_right) == (0.25, 0.5)
                and math.isnan(found.bins[0].confidence))

    def test_of_a_model_whose_confidence_is_known(self):
        """ab ends where the model expects c; cab goes on as it expects, but for its beginning and its end.

        1 + 1 of 3, 2 of 4 are right.
        """
        found = calibrate(*top_predictions(successor_model("abca"), [ids("ab"), ids("cab")]))
        assert found.n == 7
        assert found.bins[9].count == 7 and found.bins[9].confidence == pytest.approx(EXPECTED)
        assert found.bins[9].share_right == pytest.approx(4 / 7)

    def test_nothing_is_refused(self):
        with pytest.raises(ValueError, match="no prediction"):
            calibrate(np.array([]), np.array([], dtype=bool))


class TestLosses:
    def test_an_untrained_model_scores_a_uniform_guess(self):
        """All logits 0: ln |V| a token, and log2 |V| bits times tokens over bytes."""
        model = Transformer(ModelConfig(vocab_size=SIZE, d_model=8, n_layers=1, n_heads=1, n_context=16))
        [found] = text_scores(model, BYTES, corpus.tokenize(["the cat", "the dog"], BYTES), {"new": ["é the", "rat"]})
        assert found.text == "new"
        assert found.model.n_tokens == 6 + 1 + 3 + 1 and found.model.n_bytes == 9
        assert (found.model.nats_per_token == pytest.approx(math.log(257), abs=1e-5)
                and found.model.perplexity == pytest.approx(257, rel=1e-5))
        assert found.model.bits_per_byte == pytest.approx(math.log2(257) * 11 / 9, abs=1e-5)
        assert found.trigram.n_tokens == 11

    def test_compressors_pay_for_the_ends_of_texts_too(self):
        found, _ = compressed_bits_per_byte(["é the", "rat"])
        assert found == 8 * len(gzip.compress("é the\nrat\n".encode(), 9)) / 9

    def test_compressors_by_what_they_can_know(self):
        random_text = ["".join(chr(c) for c in np.random.default_rng(0).integers(0, 128, 20_000))]
        for repeated, random in zip(compressed_bits_per_byte(["ab" * 10_000]), compressed_bits_per_byte(random_text)):
            assert repeated < 0.1 and 6.9 < random < 7.6         # 7 bits of chance a byte


def exercise(prompt: str, answer: str, *alternatives: str) -> Exercise:
    return Exercise("test", prompt, answer, alternatives)


class TestTasks:
    def test_answers_of_a_model_that_writes_one_thing(self):
        """After > it writes ab and ends the line: right is ab alone."""
        exercises = [exercise("x>", "ab"), exercise("xyz>", "a"), exercise("y>", "abc"), exercise(">", "ac"),
                     exercise("x>", "ab\n"), exercise("b", "\na")]
        found = {exercises.index(answer.exercise): answer
                 for answer in answers(successor_model(">ab\n"), BYTES, exercises)}
        assert [found[i].right for i in range(6)] == [True, False, False, False, True, False]
        assert {found[i].text for i in range(5)} == {"ab"} and found[5].text == ""

    def test_an_answer_may_be_followed_by_anything_but_the_rest_of_a_word(self):
        assert [next(answers(successor_model(text), BYTES, [exercise("=", " 1")])).right
                for text in ("= 1.", "= 12", "= 1a", "= 1 2")] == [True, False, False, True]

    def test_the_log_probability_of_whole_words_by_hand(self):
        """ab after >: two expected tokens, and then the line's end, or any of the 66 other tokens that end a word: end
        of text, and of the 128 bytes of ASCII those that are neither letter nor digit, less the line's end itself.
        """
        ends = math.log(EXPECTED + 66 * OTHER)
        # of z it knows nothing
        expected = [2 * math.log(EXPECTED) + ends, math.log(EXPECTED) + math.log(67 * OTHER),
                    math.log(OTHER) + math.log(67 / SIZE)]
        assert sum(not chr(i).isalnum() for i in range(128)) == 66
        found = answer_log_probs(successor_model(">ab\n"), BYTES, [("x>", "ab"), ("a long prompt>", "a"), ("x>", "z")])
        assert found == pytest.approx(expected, abs=1e-5)

    def test_choices(self):
        found = list(choices(successor_model(">ab\n"), BYTES,
                             [exercise("x>", "ab", "a"), exercise(">", "a", "ab", "b"), exercise("x>", "c", "d")]))
        assert [choice.right for choice in found] == [True, False, False]        # a tie is not right
        assert [len(choice.alternatives) for choice in found] == [1, 2, 1]

    def test_a_long_prompt_is_cut_from_the_left(self):
        [short, long] = answer_log_probs(random_model(n_context=16), BYTES,
                                         [("0123456789ABC", "yz"), ("more" * 9 + "0123456789ABC", "yz")])
        assert long == pytest.approx(short, abs=1e-5)


class TestInduction:
    def test_sequences(self):
        model = random_model()
        found = repeated_sequences(model, 5, 20, seed=1)
        assert found.shape == (5, 41) and (found[:, 0] == 0).all()
        assert torch.equal(found[:, 1:21], found[:, 21:]) and not torch.equal(found[0], found[1])
        assert all(len(set(row[1:21].tolist()) - {0}) == 20 for row in found)
        assert torch.equal(found, repeated_sequences(model, 5, 20, seed=1))
        assert repeated_sequences(model, 2, 50).shape == (2, 63)

    def test_a_context_too_short_is_refused(self):
        with pytest.raises(ValueError, match="no room"):
            repeated_sequences(random_model(n_context=4), 1, 50)

    def test_uniform_attention_by_hand(self):
        """Weights of zero: ln |V| everywhere; query i looks 1/(i + 1) at every key: at the one follower for i = 6 ...

        10, at the one before for 1 ... 10.
        """
        found = induction(Transformer(ModelConfig(vocab_size=SIZE, d_model=4, n_layers=2, n_heads=2, n_context=16)),
                          n_sequences=3, n_tokens=5)
        assert (found.first, found.second) == pytest.approx((math.log(SIZE), math.log(SIZE)), abs=1e-5)
        assert found.induction == pytest.approx(np.full((2, 2), np.mean([1 / (i + 1) for i in range(6, 11)])), abs=1e-6)
        assert found.previous_token == pytest.approx(np.full((2, 2), np.mean([1 / (i + 1) for i in range(1, 11)])),
                                                     abs=1e-6)

    def test_losses_and_best_heads_against_the_plain_trace(self):
        model = random_model()
        sequences = repeated_sequences(model, 20, 6, seed=2)
        found = induction(model, 20, 6, seed=2)
        log_probs = model(sequences).logits.log_softmax(-1)
        plain = [[-float(log_probs[b, i - 1, sequences[b, i]]) for i in range(1, 13)] for b in range(20)]
        assert found.first == pytest.approx(np.mean([row[1:6] for row in plain]), rel=1e-4)
        assert found.second == pytest.approx(np.mean([row[7:12] for row in plain]), rel=1e-4)
        best = found.best_induction_head
        assert best.score == found.induction.max() == found.induction[best.layer, best.head]


class TestSamples:
    def test_distinct_by_hand(self):
        """1 2 3 4 5 and 2 3 4 5 9: four 4-grams, of which 2 3 4 5 is there twice. No 4-gram spans two texts."""
        assert distinct_share([[1, 2, 3, 4, 5], [2, 3, 4, 5, 9]]) == 3 / 4
        assert distinct_share([[7] * 10]) == 1 / 7 and math.isnan(distinct_share([[1, 2, 3]]))

    def test_samples_are_those_of_their_seeds(self):
        model = random_model()
        found = sorted(samples(model, BYTES, ["one", "a two"], n=5, n_tokens=20, seed=4),
                       key=lambda sample: sample.place)
        assert [sample.prompt for sample in found] == ["one", "a two", "one", "a two", "one"]
        for i, sample in enumerate(found):
            alone = [s.token_id for s in generate(model, BYTES.prompt(sample.prompt, 64).token_ids, SAMPLING,
                                                  seed=4 + i, max_new_tokens=20)]
            assert (list(sample.token_ids) == [t for t in alone if t != BYTES.end_of_text]
                    and sample.text == BYTES.decode(alone))
        assert len({sample.token_ids for sample in found}) == 5

    def test_documents_are_continued_after_their_beginning(self):
        """In a to e and round again the model goes on where each document is cut; the short one is left out."""
        documents = [ids("abcdeabcde"), ids("abc"), ids("cdeabcdea")]
        found = {BYTES.decode(new) for new in document_continuations(successor_model("abcdea"), documents, n=9,
                                                                     beginning=4, n_tokens=3, seed=0)}
        assert found == {"eab", "bcd"}

    def test_openings(self):
        found = openings()
        assert len(found) == len(set(found)) == 20 and all(found) and not any(text.endswith(" ") for text in found)


class TestRecitation:
    def test_by_hand(self):
        """a to b to c and round.

        After "ab" of abcabxabc: c, a and b are right, x and the a after it are not, b and c are again.
        """
        [found] = recitations(successor_model("abca"), BYTES, [Canary("test", 1, "abcabxabc")], n_prompt=2)
        assert BYTES.decode(found.token_ids) == "cabxabc"
        assert (found.n_recited, found.recited_share, found.share_right) == (3, 3 / 7, 5 / 7)
        after_x = math.log(1 / SIZE)                                # of x the model knows nothing
        assert found.nats_per_token == pytest.approx(-(5 * math.log(EXPECTED) + math.log(OTHER) + after_x) / 7,
                                                     abs=1e-5)

    def test_all_and_nothing(self):
        whole, none = recitations(successor_model("abca"), BYTES,
                                  [Canary("whole", 1, "abcabc"), Canary("none", 1, "aacb")], n_prompt=1)
        assert (whole.recited_share, whole.share_right, none.recited_share, none.share_right) == (1, 1, 0, 0)

    def test_what_is_recited_is_what_greedy_generation_writes(self):
        """A passage that begins as the model goes on, and then does not."""
        model = random_model(seed=3)
        written = [s.token_id
                   for s in generate(model, BYTES.prompt("We met a", 64).token_ids, GREEDY, max_new_tokens=6)]
        text = BYTES.decode([*BYTES.encode("We met a"), *(t for t in written if BYTES.token_bytes(t).isascii())]) + "!?"
        [found] = recitations(model, BYTES, [Canary("test", 1, text)], n_prompt=8)
        greedy = [s.token_id
                  for s in generate(model, (0, *BYTES.encode(text)[:8]), GREEDY, max_new_tokens=len(found.token_ids))]
        same = [a == b for a, b in itertools.zip_longest(greedy, found.token_ids)]
        assert found.n_recited == (same.index(False) if False in same else len(same))

    def test_a_passage_no_longer_than_its_prompt_is_refused(self):
        with pytest.raises(ValueError, match="'short' leaves nothing"):
            list(recitations(random_model(), BYTES, [Canary("short", 1, "abc")], n_prompt=3))


def plain_longest_run(text, documents) -> int:
    return max((length for start in range(len(text)) for length in range(1, len(text) - start + 1)
                if any(document[i:i + length].tolist() == list(text[start:start + length]) for document in documents
                       for i in range(len(document)))), default=0)


class TestLongestRun:
    def test_by_hand(self):
        """No run spans two documents, nor two texts; of runs of one length the first counts."""
        documents = [ids("the cat sat"), ids("on a mat")]
        texts = [list(ids(text)) for text in ("a cat sat on a mat", "dog", "saton", "QQQ", "")]
        assert longest_runs(texts, documents) == [Run(1, 8), Run(1, 1), Run(0, 3), Run(0, 0), Run(0, 0)]

    @pytest.mark.parametrize("chunk", [1, 30, 10_000])
    def test_against_trying_everything(self, monkeypatch, chunk):
        monkeypatch.setattr("core.evaluation.memorisation.CHUNK", chunk)
        generator = np.random.default_rng(chunk)
        documents = [generator.integers(0, 3, generator.integers(1, 25)).astype(np.uint16) for _ in range(12)]
        texts = [generator.integers(0, 4, generator.integers(1, 15)).tolist() for _ in range(10)]
        found = longest_runs(texts, documents)
        assert [run.n_tokens for run in found] == [plain_longest_run(text, documents) for text in texts]
        for text, run in zip(texts, found):
            piece = text[run.start:run.start + run.n_tokens]
            assert any(document[i:i + run.n_tokens].tolist() == piece for document in documents
                       for i in range(len(document)))

    def test_words(self):
        [own, other] = verbatim({"own": [ids("see the cat sat"), ids("mat")], "other": [ids("no")]},
                                [ids("the cat sat"), ids("on a mat")], BYTES)
        assert (own.of, own.n_tokens, own.n_words) == ("own", (11, 3), (3, 1))
        assert other.n_tokens == (1,)


def test_the_same_seed_gives_the_same_first_50_steps():
    found = repetition(BYTES, n_steps=50, seed=1)
    assert len(found.first) == 50 and found.same and found.first[-1] < found.first[0]
    assert repetition(BYTES, n_steps=5, seed=2).first != found.first[:5]
