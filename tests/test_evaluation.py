"""The trigram baseline by hand and as a distribution; the table and the card that both losses go into."""
import json
import math

import numpy as np
import pytest
import torch

from core import checkpoints, evaluation
from core.config import ModelConfig
from core.evaluation import NgramCounts, Score, TrigramModel, model_card, score, table
from core.loss import HeldOutLoss
from core.model import Transformer
from core.tokenizer import Tokenizer

END = 0


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint16)


def test_one_level_by_hand():
    """Vocabulary of 4; after token 1: 2 three times, 3 once; after 2: 1 once, 3 twice. D = (2 + 1) / (2 + 2 · 1 + 2) = 1/2."""
    counts = NgramCounts.count(np.array([1 * 4 + 2, 1 * 4 + 3, 2 * 4 + 1, 2 * 4 + 3]), np.array([3, 1, 1, 2]), vocab_size=4)
    assert counts.discount == 0.5
    shorter = np.full(4, 0.25)
    p = counts.probability(np.array([1 * 4 + 2, 1 * 4 + 0, 2 * 4 + 3, 3 * 4 + 3]), shorter, 4)
    assert p == pytest.approx([(3 - 0.5) / 4 + 0.5 * 2 / 4 * 0.25, 0.5 * 2 / 4 * 0.25, (2 - 0.5) / 3 + 0.5 * 2 / 3 * 0.25, 0.25])


def test_counts_by_hand():
    """Documents 1 2 and 1 3: trigrams 001 twice, 012, 013, 120, 130; bigram 01 follows one token, 0; unigram 0 follows 2 and 3."""
    trigrams, bigrams, unigrams = TrigramModel([ids(1, 2), ids(1, 3)], vocab_size=4, end_of_text=END).levels
    assert dict(zip(trigrams.keys.tolist(), trigrams.counts.tolist())) == {0o001: 2, 1 * 4 + 2: 1, 1 * 4 + 3: 1, 1 * 16 + 2 * 4: 1, 1 * 16 + 3 * 4: 1}
    assert dict(zip(bigrams.keys.tolist(), bigrams.counts.tolist())) == {1: 1, 4 + 2: 1, 4 + 3: 1, 8: 1, 12: 1}
    assert dict(zip(unigrams.keys.tolist(), unigrams.counts.tolist())) == {0: 2, 1: 1, 2: 1, 3: 1}


def test_probabilities_sum_to_1_after_every_context():
    generator = np.random.default_rng(0)
    model = TrigramModel([generator.integers(1, 6, size=30).astype(np.uint16) for _ in range(20)], vocab_size=7, end_of_text=END)
    for a in range(7):
        for b in range(7):
            p = [model.probabilities(ids(a, b, c))[2] for c in range(7)]
            assert sum(p) == pytest.approx(1) and min(p) > 0


def test_it_learns_what_always_follows():
    model = TrigramModel([ids(1, 2, 3)] * 50 + [ids(3, 2, 1)] * 50 + [ids(4), ids(4, 4), ids(5, 4)], vocab_size=8, end_of_text=END)
    assert model.probabilities(ids(1, 2, 3))[2] > 0.9 > 0.1 > model.probabilities(ids(3, 2, 3))[2]


def test_trigram_loss_counts_the_closing_end_of_text():
    model = TrigramModel([ids(1, 2), ids(1, 3)], vocab_size=4, end_of_text=END)
    loss = model.held_out_loss([ids(1, 2), ids(3)], n_bytes=6)
    assert loss.n_tokens == 5 and loss.n_bytes == 6
    assert loss.nats == pytest.approx(-math.fsum(math.log(p) for d in (ids(1, 2), ids(3)) for p in model.probabilities(d)))


def test_a_vocabulary_too_large_for_keys_is_refused():
    with pytest.raises(ValueError, match="do not fit 64 bits"):
        TrigramModel([ids(1)], vocab_size=2 ** 22, end_of_text=END)


def test_an_untrained_model_scores_a_uniform_guess():
    """All logits 0: ln |V| a token, and log2 |V| bits times tokens over bytes."""
    tokenizer = Tokenizer.train(["the cat"], 257)
    model = Transformer(ModelConfig(vocab_size=257, d_model=8, n_layers=1, n_heads=1, n_context=16))
    [result] = score(model, tokenizer, ["the cat", "the dog"], {"new": ["é the", "rat"]})
    assert result.model.nats_per_token == pytest.approx(math.log(257), abs=1e-5)
    assert result.model.n_tokens == 6 + 1 + 3 + 1 and result.model.n_bytes == 9
    assert result.model.bits_per_byte == pytest.approx(math.log2(257) * 11 / 9, abs=1e-5)
    assert result.trigram.n_tokens == 11


SCORE = Score("new", HeldOutLoss(math.log(2) * 100, 100, 400), HeldOutLoss(math.log(2) * 300, 100, 400))


def test_the_table_by_hand():
    assert table([SCORE]).splitlines()[2] == "| new | 100 | 0.693 | 2.079 | 0.250 | 0.750 |"


def test_the_card_takes_the_end_of_the_history():
    card = model_card("{parameters} {steps} {tokens} {hours}\n{scores}", [SCORE], [dict(step=1), dict(step=2000, tokens_seen=12_340_000, hours=1.26)], 5_853_184)
    assert card.splitlines()[0] == "5,853,184 2,000 12.3 1.3" and "| new |" in card


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A finished training run in a folder, with files of text beside it, and bundled models that are kept there too."""
    monkeypatch.setattr(checkpoints, "BUNDLED", tmp_path / "models")
    tokenizer = Tokenizer.train(["the cat"], 257)
    model = Transformer(ModelConfig(vocab_size=257, d_model=8, n_layers=1, n_heads=1, n_context=16)).initialise(torch.Generator().manual_seed(0))
    checkpoints.save(tmp_path / "run" / "model", model, tokenizer, "")
    (tmp_path / "run" / "training.json").write_text(json.dumps([dict(step=5, tokens_seen=100, hours=0.1)]))
    (tmp_path / "text.txt").write_text("the cat\n<|endoftext|>\n")
    return tmp_path


def test_the_programme_prints_and_publishes(run, capsys):
    texts = ["--text", str(run / "text.txt"), "--held-out", str(run / "text.txt")]
    evaluation.main(["--run", str(run / "run"), *texts, "--publish"])
    printed = capsys.readouterr().out
    assert printed.count("| text |") == 1
    assert checkpoints.bundled_names() == ("stories",)
    folder = run / "models" / "stories"
    assert printed.strip() in (folder / "README.md").read_text()
    assert json.loads((folder / "training.json").read_text())[0]["step"] == 5
    evaluation.main(texts)
    assert capsys.readouterr().out == printed


def test_publishing_needs_a_run(run):
    with pytest.raises(SystemExit, match="needs the --run"):
        evaluation.main(["--text", "a", "--held-out", "b", "--publish"])
