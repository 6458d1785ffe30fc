"""The lesson Architectures, its live models, norms and activations: what is shown is what the models computed, and
every number holds a second time.
"""
from __future__ import annotations

import math
import re
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.app.state.run import Run, read
from core.base import prose
from core.figures.numbers import percent
from core.model import activation, checkpoints, normalisation
from core.model.config import ModelConfig
from core.model.intervention import Intervention
from core.model.transformer import Transformer
from core.training import blanks, dates, translation
from pages.architectures import activations, blank, blank_work, norms, translate_work
from tests.helpers import lessons, messages
from tests.helpers.messages import formulas, value_of
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
COMPONENT = {"blank": "architecture_blank", "translate": "architecture_translate", "norms": "architecture_norms",
             "activations": "architecture_curves"}
WORDS = prose.load("architectures")
NUMBER = r"\(?(-?\d+\.\d+(?: \\cdot 10\^\{-?\d+\})?)\)?"


def open_at(view: str, **query: str) -> AppTest:
    shared = {key: query.pop(key) for key in ("prompt", "position", "layer", "model") if key in query}
    return lessons.opened("architectures", {"view": view} | query, **shared)


def given(at: AppTest, view: str) -> dict:
    return messages.given(at, COMPONENT[view])


def answer(at: AppTest, key: str, option: int) -> str:
    at.radio(f"architectures_{key}_given").set_value(option).run()
    at.button(f"architectures_{key}_commit").click().run()
    return "\n".join(m.value for m in at.markdown)


def run_of(prompt: str) -> Run:
    return read(cache.shared_model(cache.MAIN_MODEL, "cpu"), prompt)


def filled(sentence: str, seed: int | None = None) -> blank.Filled:
    encoder, decoder = (cache.shared_model(name, "cpu") for name in ("blanks", "stories"))
    return blank.fill(encoder, decoder, blanks.marked_text(sentence, encoder.tokenizer, 128), seed)


def number(written: str) -> float:
    return float(re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", written))


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
@pytest.mark.parametrize("view", COMPONENT)
def test_every_view_bears_every_text(view: str, prompt: str | None):
    own = ({} if prompt is None
           else {"prompt": prompt, "blank_text": prompt, "translate_text": prompt, "norms_other": prompt})
    assert given(open_at(view, **own), view)


@pytest.mark.parametrize("view", COMPONENT)
def test_absurd_addresses_are_borne(view: str):
    absurd = {"blank_text": "[" * 3000, "blank_picked": "9999", "blank_block": "77", "blank_head": "1e99",
              "blank_seed": "-4", "blank_way": "chance", "translate_text": "1" * 9000, "translate_step": "999",
              "translate_block": "88", "translate_head": "88", "translate_seed": "x", "norms_feature": "123456",
              "norms_other": "y" * 9000, "norms_where": "nowhere", "activations_x": "nan",
              "activations_beta": "1e300", "activations_second": "-1e300", "activations_gate": "none"}
    open_at(view, **absurd)


@pytest.mark.parametrize("view", ["norms", "activations"])
def test_a_model_without_a_feed_forward_part_is_borne(view: str):
    open_at(view, model="induction")


def test_both_experiments_lead_where_they_say():
    own = [e for e in WORDS.experiments if e.id in ("flip", "no_date")]
    assert len(own) == 2
    for experiment in own:
        at = open_at("norms")
        at.button(f"do_architectures_{experiment.id}").click().run()
        assert not at.exception and given(at, experiment.settings["architectures_view"])


# ---- fill in the blank -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentence, hidden",
                         [("The dog was [sad] today.", ["·sad"]), ("[Tom] ran", ["Tom"]),
                          ("a [very sad] dog", ["·very", "·sad"]), ("no mark", []), ("a [[b] c]", ["b"])])
def test_marks_hide_what_stands_in_them_and_are_written_again(sentence: str, hidden: list[str]):
    tokenizer = cache.shared_model("blanks", "cpu").tokenizer
    marked = blanks.marked_text(sentence, tokenizer, 128)
    assert [tokenizer.visible(marked.token_ids[i]) for i in marked.hidden] == hidden
    assert blanks.marked_text(blanks.with_marks(marked), tokenizer, 128) == marked
    assert tokenizer.decode(marked.token_ids) == (sentence if sentence.startswith("a [[")
                                                  else sentence.replace("[", "").replace("]", "")).replace("[[b]", "[b")


def test_unknown_blanks_and_long_texts():
    tokenizer = cache.shared_model("blanks", "cpu").tokenizer
    marked = blanks.marked_text("Tom ____ the [MASK] to 🐶[é]", tokenizer, 128)
    assert marked.token_ids.count(tokenizer.mask_token) == 2
    assert blanks.marked_text(blanks.with_marks(marked), tokenizer, 128) == marked
    long = blanks.marked_text("dog " * 300, tokenizer, 128)
    assert len(long.token_ids) == 128 and long.n_cut == len(tokenizer.encode("dog " * 300)) + 1 - 128


@pytest.mark.parametrize("sentence",
                         ["The little dog was very [sad] because he lost his bone.", "The film was [not] boring."])
def test_the_candidates_are_the_models_own(sentence: str):
    found = filled(sentence)
    (position,) = found.blanks
    sent = given(open_at("blank", blank_text=sentence), "blank")
    encoder, decoder = (checkpoints.load_bundled(name)[0] for name in ("blanks", "stories"))
    with torch.no_grad():
        p = torch.softmax(encoder.logits(torch.tensor(found.inputs))[position].double(), -1)
        q = torch.softmax(decoder.logits(torch.tensor(found.true_ids[:position]))[-1].double(), -1)
    for side, expected in (("encoder", p), ("decoder", q)):
        rows = sent[side]["rows"]
        assert [row["p"] for row in rows[:6]] == pytest.approx(expected.topk(6).values.tolist(), rel=1e-4)
        assert (sum(row["p"] for row in rows) + sent[side]["rest"] == pytest.approx(1, abs=1e-9)
                and len(rows) + sent[side]["others"] == len(expected))
        (true,) = [row for row in rows if row["true"]]
        assert true["rank"] == int((expected > expected[found.true_ids[position]]).sum()) + 1
    assert fills_both_ways(p, q, found.true_ids[position])


def fills_both_ways(p: torch.Tensor, q: torch.Tensor, token_id: int) -> bool:
    """The page's claim: with both sides the word is at least three times as probable."""
    return float(p[token_id]) > 3 * float(q[token_id])


def test_the_class_with_each_candidate_is_that_of_the_whole_sentence():
    found = filled("The film was [not] boring.")
    (position,) = found.blanks
    rows = {row["token"]: row for row in blank.candidates(found, position, True)["rows"]}
    assert (rows["·not"]["class"], rows["·very"]["class"], rows["·so"]["class"]) == (1, 0, 0)
    model = found.encoder.model
    for name in ("·not", "·very"):
        ids = list(found.true_ids)
        ids[position] = next(i for i in range(4096) if found.encoder.tokenizer.visible(i) == name)
        assert (value_of(rows[name]["sure"])
                == pytest.approx(float(torch.softmax(model(torch.tensor(ids)).class_logits.double(), -1).max()),
                                 rel=2e-3))


@pytest.mark.parametrize("seed", [0, 7])
def test_hiding_by_chance_is_the_training_objective(seed: int):
    found = filled("Once upon a time, there was a little girl named Lily. She had a red ball and she liked it.", seed)
    inputs, targets = blanks.hide(np.array([found.true_ids]), found.encoder.tokenizer, np.random.default_rng(seed))
    assert found.inputs == tuple(inputs[0]) and len(found.blanks) == max(1, round(0.15 * (len(found.true_ids) - 1)))
    expected = F.cross_entropy(found.encoder.model(torch.tensor(inputs[0])).logits, torch.tensor(targets[0]))
    assert np.mean([*blank.losses(found).values()]) == pytest.approx(float(expected), rel=1e-4)


def test_the_decoder_says_nothing_past_an_unknown_blank():
    found = filled("Tom ____ the [ball] to Mia")
    first, second = found.blanks
    assert found.true_id(first) is None and found.p_decoder(first) is not None and found.p_decoder(second) is None


def test_a_click_hides_a_word_and_shows_it_again():
    found = filled("The little dog was very [sad] because he lost his bone.")
    assert blank.toggled(found, 3) == "The little [dog] was very [sad] because he lost his bone."
    assert blank.toggled(found, found.blanks[0]) == "The little dog was very sad because he lost his bone."


def test_the_sides_of_a_query_add_up_and_a_head_looks_ahead():
    found = filled("The little dog was very [sad] because he lost his bone.")
    pattern = found.trace.blocks[0].pattern[3].numpy()
    left, own, right = blank_work.sides(pattern, found.blanks[0])
    assert (left + own + right == pytest.approx(1, abs=1e-5)
            and right > 0.9), "the head that the lesson opens with looks at the next token"


@pytest.mark.parametrize("sentence", ["The little dog was very [sad] because he lost his bone.",
                                      "She was so [sad] that she cried all day.", "I ____ cake."])
def test_the_question_of_the_mask_is_answered_by_a_triangle(sentence: str):
    found = filled(sentence)
    position, n = found.blanks[0], len(found.inputs)
    triangle = tuple(tuple(j <= i for j in range(n)) for i in range(n))
    full, blind = (torch.softmax(found.encoder.model(torch.tensor(found.inputs), change).logits[position].double(), -1)
                   for change in (Intervention(), Intervention(allowed=triangle)))
    token_id = found.true_id(position) or int(full.argmax())
    before, after = float(full[token_id]), float(blind[token_id])
    right = 0 if 2 * after < before else 1 if after < before else 2
    assert "Yes" in answer(open_at("blank", blank_text=sentence), "blank_mask", right)


def test_with_nothing_hidden_the_question_is_about_the_class():
    assert "Yes" in answer(open_at("blank", blank_text="The film was not boring."), "blank_class", 0)


def test_the_numbers_of_the_blank_hold_on_a_calculator():
    lines = formulas(open_at("blank"))
    u, total, p = map(number, re.search(rf"e\^\{{{NUMBER} - {NUMBER}\}} = {NUMBER}$", lines[0]).groups())
    assert math.exp(u - total) == pytest.approx(p, abs=6e-5)
    loss = float(re.search(r"= (\d+\.\d{4})$", lines[1])[1])
    assert loss == pytest.approx(-math.log(p), abs=3e-4)
    positive, negative, same, y = map(
        number,
        re.search(rf"e\^\{{{NUMBER}\}}\}}\{{e\^\{{{NUMBER}\}} \+ e\^\{{{NUMBER}\}}\}} = {NUMBER}$", lines[2]).groups())
    assert (positive == same
            and math.exp(positive) / (math.exp(negative) + math.exp(positive)) == pytest.approx(y, abs=6e-5))


def test_the_share_of_blanks_that_is_told_stands_on_the_models_card():
    card = (ROOT / "assets" / "models" / "blanks" / "README.md").read_text()
    assert ("60.7 %" in card and "60.7\u00a0%" in WORDS.label("blank_both_note")
            and "60.7\u00a0%" in WORDS.section("explanation_blank"))
    for name, said in (("blanks", WORDS.label("blank_both_note")), ("stories", WORDS.label("blank_left_note"))):
        assert f"{cache.shared_model(name, 'cpu').model.n_parameters / 1e6:.1f} million" in said


# ---- translate -------------------------------------------------------------------------------------------------------


def translated(source: str) -> translate_work.Translation:
    model = cache.shared_model("translator", "cpu")
    return translate_work.translate(model, tuple(model.tokenizer.encode(source)))


@pytest.mark.parametrize("source, target",
                         [("the twenty-first of march nineteen eighty-four", "1984-03-21"),
                          ("1984-03-21", "the twenty-first of march nineteen eighty-four"), ("hello world", None)])
def test_the_translation_is_the_most_probable_token_again_and_again(source: str, target: str | None):
    found, model = translated(source), cache.shared_model("translator", "cpu").model
    written, ids = [0], torch.tensor(found.source)
    for p in found.probabilities:
        with torch.no_grad():
            row = torch.softmax(model(torch.tensor(written), source_ids=ids).logits[-1].double(), -1)
        assert float(row.max()) == pytest.approx(float(p), rel=1e-4)
        written.append(int(row.argmax()))
    assert tuple(written[1:]) == found.target and (target is None or found.text == target)


def test_the_picture_is_given_the_traces_patterns():
    at = open_at("translate")
    sent, found = given(at, "translate"), translated("the twenty-first of march nineteen eighty-four")
    n, m = len(found.target), len(found.source)
    trace = found.model.model(found.trace.token_ids, source_ids=torch.tensor(found.source))
    for name, own, shape in (("encoder", [b.pattern for b in trace.encoder.blocks], (m, m)),
                             ("decoder", [b.pattern for b in trace.blocks], (n, n)),
                             ("cross", [b.cross.pattern for b in trace.blocks], (n, m))):
        values = sent[name].reshape(len(own), sent["heads"], *shape)
        assert (np.allclose(values, torch.stack(own).detach().numpy(), atol=1e-5)
                and np.allclose(values.sum(-1), 1, atol=1e-5))
    assert sent["target"][-1] == "‹end›" and len(sent["inputs"]) == n and sent["right"]
    for top, p in zip(sent["tops"], found.probabilities):
        assert top[0]["p"] == pytest.approx(p) and sum(one["p"] for one in top) <= 1 + 1e-9


def test_the_translation_opens_at_its_beginning_and_the_experiment_at_its_end():
    assert given(open_at("translate"), "translate")["settings"]["step"] == 1
    at = open_at("norms")
    at.button("do_architectures_no_date").click().run()
    assert given(at, "translate")["settings"]["step"] == -1


@pytest.mark.parametrize("source, direction", [("1984-03-21", dates.TO_WORDS),
                                               ("the twenty-first of march nineteen eighty-four", dates.TO_DIGITS)])
def test_the_alignment_is_measured_on_held_out_dates(source: str, direction: str):
    model, tokenizer = checkpoints.load_bundled("translator")
    expected = translation.alignment(model, tokenizer, translation.held_out_pairs(direction, translate_work.MEASURED))
    aligned = np.array(given(open_at("translate", translate_text=source), "translate")["aligned"])
    assert np.allclose(aligned[:, :-1], expected.heads) and np.allclose(aligned[:, -1], expected.means)


def test_a_date_is_checked_and_what_is_none_is_doubted():
    least = translate_work.held_out(cache.shared_model("translator", "cpu"), dates.TO_DIGITS).least
    assert translate_work.verdict(translated("the twenty-first of march nineteen eighty-four"), least) == "right"
    assert translate_work.verdict(translated("once upon a time"), least) == "unknown"
    assert translate_work.verdict(translated("the thirty-first of february nineteen ninety"), least) == "unchecked"
    assert translate_work.phrases("1984-03-21", "the twenty-second of march nineteen eighty-four") is None
    source, target = translate_work.phrases("december the first, twenty oh seven", "2007-12-01")
    assert (source, target) == (dates.in_words(date(2007, 12, 1), 4, 1), dates.in_digits(date(2007, 12, 1)))


def test_a_random_date_was_never_trained_on_and_comes_again():
    for seed in range(6):
        source = translate_work.random_source(seed, False)
        assert source == translate_work.random_source(seed, False)
        digits = source if translate_work.direction_of(source) == dates.TO_WORDS else translated(source).text
        assert dates.is_held_out(date.fromisoformat(digits))


@pytest.mark.parametrize("source", ["the twenty-first of march nineteen eighty-four", "1984-03-21"])
def test_the_question_of_the_forced_token_is_answered_by_writing_on(source: str):
    found, model = translated(source), cache.shared_model("translator", "cpu").model
    ids, written = torch.tensor(found.source), [0]
    with torch.no_grad():
        written.append(int(model(torch.tensor(written), source_ids=ids).logits[-1].argsort(descending=True)[1]))
        while written[-1] != 0 and len(written) < len(found.target) + 5:
            written.append(int(model.logits(torch.tensor(written), memory=model.encode(ids))[-1].argmax()))
    assert translate_work.swapped(found) == tuple(written[1:]) and written[1] != found.target[0]
    right = 0 if tuple(written[2:]) == found.target[1:] else 1
    assert "Yes" in answer(open_at("translate", translate_text=source), "translate", right)


def test_the_numbers_of_the_translation_hold_on_a_calculator():
    lines = formulas(open_at("translate", translate_step="3", translate_head="2"))
    *factors, product = map(float, re.findall(r"\d\.\d+", lines[0].split("=", 2)[2]))
    assert math.prod(factors) == pytest.approx(product, abs=6e-5)
    dot, width, score = map(number, re.search(rf"\{{{NUMBER}\}}\{{\\sqrt\{{(\d+)\}}\}} = {NUMBER}$", lines[1]).groups())
    assert dot / math.sqrt(width) == pytest.approx(score, abs=6e-5)
    one, total, weight = map(number, re.search(rf"e\^\{{{NUMBER} - {NUMBER}\}} = {NUMBER}$", lines[2]).groups())
    assert math.exp(one - total) == pytest.approx(weight, abs=6e-5) and one == pytest.approx(score, abs=6e-5)


# ---- norms -----------------------------------------------------------------------------------------------------------


def batch_of(prompt: str, other: str, position: int = 3) -> norms.Batch:
    return norms.batch_of(run_of(prompt), other, "attention", 1, position)


def test_the_norms_are_torchs():
    batch = batch_of("The cat sat on the mat.", "Tom ran home.")
    x, eps, d = batch.matrix, batch.epsilon, batch.matrix.shape[-1]
    expected = {"layernorm": F.layer_norm(x, (d,), eps=eps), "rmsnorm": F.rms_norm(x, (d,), eps=eps),
                "batchnorm": F.batch_norm(x, None, None, training=True, eps=eps)}
    for kind, whole in expected.items():
        for position in range(len(x)):
            assert (norms.normed(kind, x, position, eps) - whole[position]).abs().max() < 1e-12, kind


def test_companions_change_batchnorm_and_the_others_by_exactly_nothing():
    batch = batch_of("The cat sat on the mat.", "Tom ran home.")
    for companions, position in ((batch.joined, batch.position), (batch.alone, 0)):
        assert norms.change("layernorm", batch, companions, position) == 0 == norms.change("rmsnorm", batch,
                                                                                           companions, position)
        assert norms.change("batchnorm", batch, companions, position) > 0.01
    assert norms.normed("batchnorm", batch.alone, 0, batch.epsilon).abs().max() == 0
    rows = {row["kind"]: row for row in given(open_at("norms", prompt="The cat sat on the mat.", position="3",
                                                      layer="1", norms_other="Tom ran home."), "norms")["norms"]}
    assert (rows["layernorm"]["still"] == rows["rmsnorm"]["still"] == [True, True]
            and rows["batchnorm"]["still"] == [False, False])
    assert rows["batchnorm"]["joined"] == percent(norms.change("batchnorm", batch, batch.joined, 3))
    assert all(sum(row["counts"]) == batch.matrix.shape[1] for row in rows.values())


def test_the_batch_is_the_live_stream():
    run, batch = run_of("The cat sat on the mat."), batch_of("The cat sat on the mat.", "Tom ran home.")
    assert torch.equal(batch.matrix, run.trace.blocks[1].resid_pre.double())
    assert torch.equal(batch.extra, run_of("Tom ran home.").trace.blocks[1].resid_pre[1:].double())


def test_rms_is_mean_and_variance_together_in_the_numbers():
    lines = formulas(open_at("norms", norms_feature="100"))
    for line in (lines[0], lines[2], lines[3]):
        x, mean, scale, result = map(
            number, re.search(rf"\\frac\{{{NUMBER} - {NUMBER}\}}\{{{NUMBER}\}} = {NUMBER}$", line).groups())
        assert (x - mean) / scale == pytest.approx(result, abs=2e-4)
    square, variance, epsilon, rms = map(
        number, re.search(rf"\\sqrt\{{{NUMBER} \+ {NUMBER} \+ {NUMBER}\}} = {NUMBER}", lines[1]).groups())
    assert math.sqrt(square + variance + epsilon) == pytest.approx(rms, abs=6e-5)


@pytest.mark.parametrize("prompt", [None, "The cat sat on the mat."])
def test_the_question_of_the_shift(prompt: str | None):
    at = open_at("norms", **({} if prompt is None else {"prompt": prompt}))
    x = run_of(at.session_state["prompt"]).trace.blocks[0].resid_pre[-1].double()
    still = [torch.allclose(norm(x, x.shape), norm(x + 5, x.shape), atol=1e-9) for norm in (F.layer_norm, F.rms_norm)]
    assert "Yes" in answer(at, "norms",
                           {(True, False): 0, (False, True): 1, (True, True): 2, (False, False): 3}[tuple(still)])


# ---- activations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["relu", "gelu", "gelu_tanh", "swish", "swiglu", "geglu"])
def test_the_slope_is_the_derivative(name: str):
    x = torch.linspace(-6, 6, 500, dtype=torch.float64, requires_grad=True)
    activation.activate(name, x).sum().backward()
    assert (activation.slope(name, x.detach()) - x.grad).abs().max() < 1e-12


@pytest.mark.parametrize("beta", [0.1, 1.0, 7.5])
def test_swish_with_beta(beta: float):
    x = torch.linspace(-6, 6, 500, dtype=torch.float64, requires_grad=True)
    activation.swish(x, beta).sum().backward()
    assert (activation.slope("swish", x.detach(), beta) - x.grad).abs().max() < 1e-12
    assert ((activation.swish(x, 1.0) - F.silu(x)).abs().max() < 1e-15
            and (activation.swish(x, 1e4) - x.relu()).abs().max() < 1e-4
            and torch.equal(activation.swish(x, 0.0), x / 2))


def test_another_curve_in_the_pass():
    config = ModelConfig(vocab_size=40, d_model=16, n_layers=2, n_heads=2, n_context=16)
    model, ids = Transformer(config).initialise(torch.Generator().manual_seed(0)), torch.arange(9)
    plain, swapped = model(ids), model(ids, Intervention(activation="relu"))
    assert (torch.equal(swapped.blocks[0].mlp_pre, plain.blocks[0].mlp_pre)
            and torch.equal(swapped.blocks[0].mlp_post, swapped.blocks[0].mlp_pre.relu()))
    assert (not torch.equal(swapped.logits, plain.logits)
            and torch.equal(model(ids, Intervention(activation="gelu")).logits, plain.logits))
    gated = Transformer(ModelConfig(vocab_size=40, d_model=16, n_layers=1, n_heads=2, n_context=16,
                                    activation="swiglu")).initialise(torch.Generator().manual_seed(0))
    block, change = gated.blocks[0], gated(ids, Intervention(activation="geglu")).blocks[0]
    up = block.mlp_norm(change.resid_mid, "layernorm") @ block.W_1 + block.b_1
    assert (change.mlp_post - F.gelu(change.mlp_pre) * up).abs().max() < 1e-6
    with pytest.raises(ValueError, match="activation"):
        Intervention(activation="sine")


def test_where_the_model_lives_on_its_curve():
    at = open_at("activations", layer="2")
    run = run_of(at.session_state["prompt"])
    inputs = run.trace.blocks[2].mlp_pre.double()
    sent, shares = given(at, "activations"), activations.facts("gelu", inputs.numpy())
    beyond = int((inputs.abs() > 5).sum())
    assert sum(sent["histogram"]) == inputs.numel() - beyond and sent["own"] == "gelu"
    assert (f"{beyond} of the inputs lie beyond" in " ".join(sent["facts"])) == (beyond > 0)
    assert (shares["below"] == pytest.approx(float((inputs < 0).double().mean()))
            and shares["silent"] == pytest.approx(float((inputs.max(0).values <= 0).double().mean())))
    assert shares["nothing"] == pytest.approx(float((F.gelu(inputs).abs() <= 0.05).double().mean()))


def test_the_swap_is_measured_on_the_next_token():
    run = run_of("The cat sat on the mat. The dog sat on the")
    found = {name: kl for name, kl, _, _ in activations.swaps(run, len(run.token_ids) - 1)}
    p, q = (torch.log_softmax(run.model(torch.tensor(run.token_ids), change).logits[-1].double(), -1)
            for change in (Intervention(), Intervention(activation="relu")))
    assert (found["gelu"] == 0 and found["relu"] == pytest.approx(float((p.exp() * (p - q)).sum()), rel=1e-4)
            and found["gelu_tanh"] < 1e-3 < found["relu"])


def test_the_question_of_relu_is_answered_by_both_passes():
    at = open_at("activations")
    run = run_of(at.session_state["prompt"])
    ids = torch.tensor(run.token_ids)
    with torch.no_grad():
        same = int((run.model(ids).logits.argmax(-1)
                    == run.model(ids, Intervention(activation="relu")).logits.argmax(-1)).sum())
    assert "Yes" in answer(at, "activations", 0 if same == len(ids) else 1 if same > len(ids) / 2 else 2)


@pytest.mark.parametrize("x", ["-1.0", "0.5", "2.75"])
def test_the_numbers_of_the_curves_hold_on_a_calculator(x: str):
    lines = formulas(open_at("activations", activations_x=x, activations_beta="2.0"))
    at, phi, gelu = map(number, re.search(rf"\\Phi\(x\) = {NUMBER} \\cdot {NUMBER} = {NUMBER},", lines[1]).groups())
    assert (at == float(x) and at * phi == pytest.approx(gelu, abs=6e-5)
            and phi == pytest.approx(0.5 * (1 + math.erf(at / math.sqrt(2))), abs=1e-6))
    _, sigma, swish = map(number, re.search(rf"\\beta x\) = {NUMBER} \\cdot {NUMBER} = {NUMBER},", lines[2]).groups())
    assert (at * sigma == pytest.approx(swish, abs=6e-5)
            and sigma == pytest.approx(1 / (1 + math.exp(-2 * at)), abs=1e-6))
    g, b, product = map(number, re.search(rf"= {NUMBER} \\cdot {NUMBER} = {NUMBER}$", lines[3]).groups())
    assert g * b == pytest.approx(product, abs=6e-5) and b == 1.5


def test_norm_statistics_of_the_rms_have_no_mean():
    shift, scale = normalisation.norm_statistics(torch.tensor([3.0, 4.0]), "rmsnorm", 1e-12)
    assert float(shift) == 0 and float(scale) == pytest.approx(math.sqrt(12.5))
