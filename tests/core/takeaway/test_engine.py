"""The engine in JavaScript computes what core computes on the same rounded weights, and rounding costs next to nothing.
"""
from __future__ import annotations

import dataclasses
import json
import random
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import torch

from core.model import checkpoints
from core.model.config import ModelConfig
from core.model.intervention import HeadEdit, Intervention, NeuronEdit, ScoreEdit, SublayerEdit, WeightEdit
from core.model.tokenizer import Tokenizer
from core.model.trace import Trace
from core.model.transformer import Transformer
from core.takeaway import weights
from core.training import corpus, teaching_text
from core.training.loss import held_out_loss
from tests.core.model.test_tokenizer import TEXTS
from tests.helpers.hostile import SIGNS
from tests.helpers.javascript import evaluate
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

RUNS = "tests/helpers/engine_runs.mjs"
DECODERS = ("induction", *(f"positions-{one}" for one in ("alibi", "learned", "none", "relative", "rotary",
                                                          "sinusoidal")),
            "scores-additive", "scores-multiplicative", "stories", "stories-small")
TEXT = ("Once upon a time, there was a little girl named Lily. She had 12 red balls, and she didn't want to share. "
        "One day, Max said: \"Lily, may I have a ball?\" Lily said no. Max was sad and went home. Then Lily saw that "
        "a ball is no fun alone. She ran after Max and gave him the biggest ball.")
OF_BLOCK = ("resid_pre", "X", "Q", "K", "V", "Q_rotated", "K_rotated", "scores", "pattern", "head_out", "attn_out",
            "resid_mid", "mlp_pre", "mlp_post", "mlp_out", "resid_post")
OF_PASS = ("embedding", "position", "resid_final", "h_final", "logits")
CLOSE = 1e-4        # of an array's largest size
CHANGES = {
    "a head": Intervention(heads=(HeadEdit(4, 3), HeadEdit(0, 7))),
    "a weight": Intervention(weights=(WeightEdit(0, 5, 11, 0), WeightEdit(5, 7, 23, 16))),
    "a score": Intervention(scores=(ScoreEdit(4, 3, 11, 6, 9.5), ScoreEdit(2, 1, 4, 0, -3.0),
                                    ScoreEdit(1, 1, 2, 5, 30.0))),          # the last one is masked
    "a neuron": Intervention(neurons=(NeuronEdit(0, 17), NeuronEdit(5, 1023))),
    "a sublayer": Intervention(sublayers=(SublayerEdit(2, "attention"), SublayerEdit(3, "mlp"))),
}
CHANGES["all"] = Intervention(**{f.name: getattr(one, f.name) for f in dataclasses.fields(Intervention)
                                 for one in CHANGES.values() if getattr(one, f.name)})


@pytest.fixture(scope="module")
def stories() -> tuple[Transformer, Tokenizer]:
    return checkpoints.load_bundled("stories")


def sent(change: Intervention) -> dict[str, list[list]]:
    """The change as the engine takes it."""
    edits = {name: [list(vars(edit).values()) for edit in getattr(change, name)]
             for name in ("heads", "weights", "scores", "neurons", "sublayers")}
    return edits | {name: [edit[:2] for edit in edits[name]] for name in ("heads", "sublayers")}


def engine(folder: Path, model: Transformer, runs: list[dict]) -> list[dict[str, np.ndarray | None]]:
    """The arrays of each run { ids, change, first } by name."""
    (folder / "weights.bin").write_bytes(weights.packed(model))
    (folder / "runs.json").write_text(json.dumps(runs))
    found = []
    for number, listed in enumerate(evaluate(RUNS, "m.runs(folder)", folder=str(folder))):
        flat = np.fromfile(folder / f"{number}.bin", dtype="<f4")
        ends = np.cumsum([length or 0 for _, length in listed])
        assert ends[-1] == len(flat)
        found.append({name: None if length is None else flat[end - length:end]
                      for (name, length), end in zip(listed, ends, strict=True)})
    return found


def reference(trace: Trace) -> dict[str, torch.Tensor | None]:
    arrays = {name: getattr(trace, name) for name in OF_PASS}
    return arrays | {f"{layer}.{name}": getattr(block, name)
                     for layer, block in enumerate(trace.blocks) for name in OF_BLOCK}


def far(shown: np.ndarray | None, truth: torch.Tensor | None) -> float:
    """The largest difference, as a share of the largest size where that is not 0; infinite where only one is there, the
    sizes differ, or a number is not finite.
    """
    if shown is None or truth is None or shown.size != truth.numel() or not np.isfinite(shown).all():
        return 0.0 if shown is truth is None else float("inf")
    truth = truth.numpy().ravel()
    return float(np.abs(shown - truth).max() / (np.abs(truth).max() or 1))


def assert_same(shown: dict[str, np.ndarray | None], trace: Trace) -> None:
    truth = reference(trace)
    assert shown.keys() - {"followed"} == truth.keys()
    distances = {name: far(shown[name], values) for name, values in truth.items()}
    assert {name: distance for name, distance in distances.items() if distance > CLOSE} == {}
    if "followed" in shown:
        assert far(shown["followed"], trace.logits[-(shown["followed"].size // trace.logits.shape[-1]):]) < 1e-5


@pytest.mark.parametrize("name", DECODERS)
def test_every_array_of_a_bundled_decoder_is_cores(tmp_path, name):
    model, tokenizer = checkpoints.load_bundled(name)
    ids = tokenizer.prompt(TEXT, min(80, model.config.n_context)).token_ids
    runs = [{"ids": ids, "first": len(ids) - 5}, {"ids": ids[:1]}]
    rounded = weights.rounded(model)
    for shown, run in zip(engine(tmp_path, model, runs), runs, strict=True):
        assert_same(shown, rounded(torch.tensor(run["ids"])))


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary", "alibi", "relative"])
@pytest.mark.parametrize("score", ["dot", "multiplicative", "additive"])
def test_every_array_of_a_model_of_odd_sizes_is_cores(tmp_path, positions, score):
    """Sizes that no tile divides, shared keys, widths that differ, biases and gains that do something, and ReLU."""
    config = ModelConfig.of(vocab_size=37, d_model=21, n_layers=2, n_heads=6, n_kv_heads=2, n_context=40, d_k=10, d_v=7,
                            d_ff=13, activation="relu", positions=positions, score=score, tied_embeddings=False,
                            relative_max_distance=5, rotary_base=500.0, norm_epsilon=1e-3)
    model, generator = Transformer(config).eval().requires_grad_(False), torch.Generator().manual_seed(5)
    for parameter in model.parameters():
        parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator))
    runs = [{"ids": [(7 * i) % 37 for i in range(n)], "first": first} for n, first in ((17, 1), (6, 3))]
    rounded = weights.rounded(model)
    for shown, run in zip(engine(tmp_path, model, runs), runs, strict=True):
        assert_same(shown, rounded(torch.tensor(run["ids"])))


def test_a_changed_pass_is_cores(tmp_path, stories):
    model, tokenizer = stories
    ids = list(tokenizer.prompt(TEXT, 24).token_ids)
    rounded = weights.rounded(model)
    plain = rounded(torch.tensor(ids)).logits
    runs = [{"ids": ids, "change": sent(change)} for change in CHANGES.values()]
    for shown, change in zip(engine(tmp_path, model, runs), CHANGES.values(), strict=True):
        trace = rounded(torch.tensor(ids), change)
        assert far(plain.numpy().ravel(), trace.logits) > 10 * CLOSE       # so it would show if nothing were changed
        assert_same(shown, trace)


def test_a_pass_refuses_what_core_refuses(tmp_path, stories):
    (tmp_path / "weights.bin").write_bytes(weights.packed(stories[0]))
    lists = [([], []), ([], [4096]), ([], [-1]), ([], [1.5]), ([], [0] * 257), ([0] * 250, [0] * 7), ([0] * 250, [])]
    found = evaluate(RUNS, "m.errors(folder, lists)", folder=str(tmp_path), lists=lists)
    said = ("no token", "vocabulary", "vocabulary", "vocabulary", "257 tokens", "257 tokens", "no token")
    assert all(error.startswith("RangeError") and words in error for error, words in zip(found, said, strict=True))


# What travels

def test_rounding_costs_next_to_nothing(stories):
    """In nats a token, on texts that the model has never read."""
    model, tokenizer = stories
    texts = [canary.text for canary in teaching_text.canaries() if not canary.repeats]
    texts += [exercise.text for exercise in teaching_text.held_out("summary", 40)]
    documents = corpus.tokenize(texts, tokenizer).documents
    before, after = (held_out_loss(one, documents, 1) for one in (model, weights.rounded(model)))
    assert before.n_tokens > 2000
    assert 0 < abs(after.nats - before.nats) / before.n_tokens < 0.002


def test_a_rounded_matrix_is_within_half_a_step_of_each_row_and_all_else_is_exact(stories):
    model = stories[0]
    rounded = weights.rounded(model).state_dict()
    for name, weight in model.state_dict().items():
        step = weight.abs().amax(-1, keepdim=True) / 127
        matrix = name.split(".")[-1] in {"E", "P"} or "W_" in name
        assert torch.all((rounded[name] - weight).abs() <= (0.5001 * step if matrix else 0)), name
        assert matrix != torch.equal(rounded[name], weight)
    assert 0.99 * model.n_parameters < len(weights.packed(model)) < 1.07 * model.n_parameters


def test_a_row_of_zeros_travels():
    model = Transformer(ModelConfig(vocab_size=5, d_model=4, n_layers=1, n_heads=2, n_context=8))
    assert all(torch.equal(weight, model.state_dict()[name])
               for name, weight in weights.rounded(model).state_dict().items())
    assert weights.packed(model)


def test_what_the_engine_cannot_compute_is_refused_by_name():
    found = {name: weights.refusal(checkpoints.bundled_config(name)) for name in checkpoints.bundled_names()}
    assert tuple(name for name, setting in found.items() if setting is None) == DECODERS
    assert found["blanks"] == "kind=encoder" and found["translator"] == "kind=encoder-decoder"
    plain = ModelConfig(vocab_size=8, d_model=4, n_layers=2, n_heads=2, n_context=8)
    assert weights.refusal(plain) is weights.refusal(plain.changed(d_ff=None, activation="relu")) is None
    for settings, setting in ((dict(n_experts=4, n_active_experts=2), "n_experts=4"),
                              (dict(mask="sliding-window"), "mask=sliding-window"), (dict(norm="rmsnorm"),
                              "norm=rmsnorm"), (dict(activation="swiglu"), "activation=swiglu"),
                              (dict(norm_placement="post"), "norm_placement=post"),
                              (dict(attention_bias=False), "attention_bias=False"),
                              (dict(score_cap=50.0), "score_cap=50.0"), (dict(scale_scores=False),
                              "scale_scores=False"), (dict(logit_cap=30.0), "logit_cap=30.0")):
        assert weights.refusal(plain.changed(**settings)) == setting
    with pytest.raises(ValueError, match="norm=rmsnorm"):
        weights.packed(Transformer(plain.changed(norm="rmsnorm")))


# The tokenizer

def is_known(character: str) -> bool:
    """Whether Python's Unicode has the character. A browser's may have newer letters than core's tokenizer."""
    return unicodedata.category(character) != "Cn"


def random_texts(n: int) -> list[str]:
    """Words, digits, blanks, signs and characters of all planes, lone surrogates among them, in a row."""
    rng, words = random.Random(11), TEXT.split()
    blanks = " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2028", "\u3000", "\x85", "\ufeff", "\x1c", "\u180e", "\u200b"
    parts = ("'s", "'T", "'re", "n't", "'ll", "’s", "'d", " '"), "½²٣५①Ⅳéßñשم中文🐶", "🏳️\u200d", blanks, words, SIGNS
    makers = (*(lambda part=part: rng.choice(part) * rng.randrange(1, 3) for part in parts),
              lambda: " " + rng.choice(words), lambda: str(rng.randrange(10 ** rng.randrange(1, 7))),
              *(lambda planes=planes: chr(rng.randrange(*planes))
                for planes in ((0x250,), (0x3000,), (0x110000,), (0xD800, 0xE000))))
    made = ([rng.choice(makers)() for _ in range(rng.randrange(1, 14))] for _ in range(n))
    return ["".join(filter(is_known, "".join(parts))) for parts in made]


@pytest.mark.parametrize("name, n", [("stories", 10_000), ("induction", 1000), ("translator", 2000), ("blanks", 200)])
def test_the_tokenizer_gives_cores_ids_texts_and_visible_forms(name, n):
    """The induction model has few merges, the translator splits digits, and blanks has a mask token."""
    path, rng = checkpoints.BUNDLED / name / checkpoints.TOKENIZER, random.Random(3)
    tokenizer = Tokenizer.load(path)
    characters = filter(is_known, map(chr, (*range(0x3000), *range(0x3000, 0x110000, 97))))
    texts = [*TEXTS, *filter(None, PROMPTS.values()), "a\ud800b\udfff", "\ude00\ud83d", TEXT * 5, "aab" * 4000,
             *(f"the{character}'s {character}12 {character}" for character in characters), *random_texts(n)]
    sequences = [[rng.randrange(tokenizer.vocab_size) for _ in range(9)] for _ in range(500)]
    found = evaluate(RUNS, "m.tokenized(path, given)", path=str(path), given={"texts": texts, "sequences": sequences})
    assert [text for text, ids in zip(texts, found["ids"], strict=True) if tokenizer.encode(text) != ids] == []
    assert found["decoded"] == [tokenizer.decode(ids) for ids in sequences]
    assert found["visible"] == tokenizer.all_visible(range(tokenizer.vocab_size))
    assert found["begin"] == list(tokenizer.begin)


def test_each_digit_is_split_off_where_the_tokenizer_says_so(tmp_path):
    """With the tokens of stories, some of which hold several digits; the translator has none of these."""
    fields, digits = (json.loads((checkpoints.BUNDLED / name / checkpoints.TOKENIZER).read_text())
                      for name in ("stories", "translator"))
    path, texts = tmp_path / "tokenizer.json", ["at 10 or 100", "  7", "x2y", "½٣", "'1's", "2020!", ""]
    path.write_text(json.dumps(fields | {"pre_tokenizer": digits["pre_tokenizer"]}))
    found = evaluate(RUNS, "m.tokenized(path, given)", path=str(path), given={"texts": texts, "sequences": []})
    split, plain = Tokenizer.load(path), Tokenizer.load(checkpoints.BUNDLED / "stories" / checkpoints.TOKENIZER)
    assert found["ids"] == split.encode_batch(texts) != plain.encode_batch(texts)
