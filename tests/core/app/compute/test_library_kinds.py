"""Encoders and encoder-decoders of the library: Architectures shows them as transformers computes them, and every page
that cannot says so and leads there.
"""
from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from core.analysis import stream_and_heads
from core.app.compute import cache
from core.app.compute.library import loading, names
from core.app.state import run
from core.base import catalogue, devices, prose
from core.base.markdown import code
from core.figures.numbers import percent, readable
from core.model.intervention import HeadEdit, Intervention
from core.training import blanks
from pages.architectures import blank, translate_work
from pages.heads import route
from pages.heads.shared import measures_of, patterns_of
from tests.helpers import kinds, library_models
from tests.helpers.huggingface_models import hf, randomised
from tests.helpers.lessons import answer, fine, go, open_at, opened
from tests.helpers.messages import formulas, given, numbers_in, unpacked
from tests.pages.attention import test_steps

pytestmark = pytest.mark.long

CLASS_NAMES = ("<b>bad", "so so", "good")
BLANKED = "the cat sat on the ____ and ate"
# what an encoder has nothing to say of, but where it is said to have nothing
NEXT = re.compile("next token(?! say so)|token that follows|word to come")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, hf.PreTrainedModel]]:
    """Every model as transformers has it; ours are loaded from the folders that the operator offers."""
    root = tmp_path_factory.mktemp("kinds")
    made = {name: library_models.other_kind(root, name) for name in library_models.OTHER_KINDS}
    made["bert"].base_model.save_pretrained(root / "headless")
    shutil.copy(root / "bert" / "tokenizer.json", root / "headless")
    made["classes"] = classifier(made["bert"].config, root / "classes")
    shutil.copy(root / "bert" / "tokenizer.json", root / "classes")
    with kinds.offered(root):
        yield made


def classifier(config: hf.BertConfig, folder: Path) -> hf.PreTrainedModel:
    """A random classifier of the same sizes, with names for its classes."""
    model = randomised(hf.AutoModelForSequenceClassification.from_config(
        type(config)(**config.to_dict() | dict(id2label=dict(enumerate(CLASS_NAMES)))), attn_implementation="eager"))
    model.save_pretrained(folder)
    return model


def ours(name: str) -> cache.LoadedModel:
    return cache.shared_model(f"folder:{name}", devices.CPU)


# ---- as transformers computes them -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bert", "roberta"])
@pytest.mark.parametrize("seed", [None, 3])
def test_a_blank_is_filled_as_transformers_fills_it(name: str, seed: int | None, theirs):
    encoder, decoder = ours(name), cache.shared_model("stories", devices.CPU)
    filled = blank.fill(encoder, decoder, blanks.marked_text("The cat [sat] on the ____, and the café ate.",
                                                             encoder.tokenizer, 256), seed)
    backend = hf.AutoTokenizer.from_pretrained(names.source(f"folder:{name}"))
    plain = backend("The cat sat on the").input_ids[:-1]
    assert filled.true_ids[:len(plain)] == tuple(plain)
    assert (filled.true_ids[-1] in (backend.sep_token_id, backend.eos_token_id)
            and {filled.true_ids[i] for i in filled.body}.isdisjoint({filled.true_ids[0], filled.true_ids[-1]}))
    if seed is None:
        assert (all(filled.inputs[i] == backend.mask_token_id for i in filled.blanks)
                and sum(filled.true_id(i) is None for i in filled.blanks) == 1)
    with torch.no_grad():
        expected = torch.softmax(theirs[name](torch.tensor([filled.inputs])).logits[0].double(), -1)
    for position in filled.blanks:
        assert position in filled.body
        assert np.allclose(filled.p_encoder(position), expected[position], rtol=1e-3, atol=1e-7)


def test_what_the_decoder_says_of_a_word_is_its_own_chain_over_its_own_tokens(theirs):
    encoder, decoder = ours("bert"), cache.shared_model("stories", devices.CPU)
    filled = blank.fill(encoder, decoder, blanks.marked_text("Once upon a time, there was a caterpillar [on] a mat.",
                                                             encoder.tokenizer, 256), None)
    assert not filled.shares and filled.marked.plain.endswith("a mat.")
    (position,) = [i for i in filled.blanks]
    tokenizer = decoder.tokenizer
    read, word = ([*tokenizer.begin, *tokenizer.encode("Once upon a time, there was a caterpillar")],
                  tokenizer.encode(" on"))
    p = 1.0
    for token_id in word:
        p *= float(torch.softmax(decoder.model(torch.tensor(read)).logits[-1].double(), -1)[token_id])
        read.append(token_id)
    assert filled.p_left(position) == pytest.approx(p, rel=1e-4) and filled.decoder_ids(position) == list(word)


@pytest.mark.parametrize("sentence",
                         ["The [cat] sat, naïve [café].", "[The] cat", "the 🙂 [cat] ____ x", "a [cat and other] rat"])
@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_marks_come_back_with_other_tokenizers(sentence: str, name: str, theirs):
    tokenizer = ours(name).tokenizer
    marked = blanks.marked_text(sentence, tokenizer, 256)
    assert (marked.hidden and blanks.with_marks(marked) == sentence
            and blanks.marked_text(blanks.with_marks(marked), tokenizer, 256) == marked)
    assert ("".join(marked.plain[marked.spans[i][0]:marked.spans[i][1]] for i in marked.hidden).replace(" ", "")
            == "".join(sentence[sentence.index("[") + 1:].split("[")[k].split("]")[0]
                       for k in range(sentence.count("["))).replace(" ", ""))


def test_a_text_is_written_and_attended_to_as_transformers_does(theirs):
    model = ours("t5")
    found = translate_work.translate(model, tuple(model.tokenizer.encode("the cat ate the rat")))
    backend = hf.AutoTokenizer.from_pretrained(names.source("folder:t5"))
    assert found.source == tuple(backend("the cat ate the rat").input_ids) and found.source[-1] == backend.eos_token_id
    made = theirs["t5"].generate(torch.tensor([found.source]), max_new_tokens=run.MOST_WRITTEN,
                                 do_sample=False)[0].tolist()
    assert ([int(found.trace.token_ids[0]), *found.target] == made
            and made[0] == theirs["t5"].config.decoder_start_token_id)
    assert found.ends == (made[-1] == backend.eos_token_id)
    with torch.no_grad():
        expected = theirs["t5"](input_ids=torch.tensor([found.source]), decoder_input_ids=torch.tensor([made[:-1]]),
                                output_attentions=True)
    for name, attentions in (("cross", expected.cross_attentions), ("decoder", expected.decoder_attentions),
                             ("encoder", expected.encoder_attentions)):
        assert np.allclose(translate_work.patterns(found.trace)[name], torch.cat(attentions).numpy(), atol=2e-5), name
    assert found.probabilities == pytest.approx(torch.softmax(expected.logits[0].double(),
                                                              -1)[range(len(found.target)), list(found.target)].numpy(),
                                                rel=1e-3)


def test_random_weights_are_known_whatever_the_kind(theirs):
    for name in ("bert", "roberta", "t5"):
        assert loading.is_chance(ours(name).loss, ours(name).model.config.vocab_size), name


# ---- the pages -------------------------------------------------------------------------------------------------------


def said(at) -> str:
    return "\n".join(element.value for kind in (at.markdown, at.caption, at.info, at.warning) for element in kind)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_the_blanks_are_filled_by_the_readers_encoder(name: str, theirs):
    at = opened("architectures", {"view": "blank", "blank_text": "the cat [sat] on the mat"}, model=f"folder:{name}")
    sent = given(at, "architecture_blank")
    assert (name in sent["notes"]["encoder"] and "random" in sent["notes"]["encoder"] and sent["verdict"] is None
            and "no better than chance" in said(at))
    assert (sent["tokens"][0]["token"] == ours(name).tokenizer.visible(ours(name).tokenizer.begin[0])
            and sent["tokens"][0]["special"] and sent["tokens"][-1]["special"])
    assert not any(word in str([sent[part] for part in ("tokens", "notes", "encoder", "losses")])
                   for word in ("‹end›", "60.7"))
    assert (sum(row["p"] for row in sent["encoder"]["rows"]) + sent["encoder"]["rest"] == pytest.approx(1)
            and sent["encoder"]["rows"][0]["class"] is None)
    filled = blank.fill(ours(name), cache.shared_model("stories", devices.CPU),
                        blanks.marked_text("the cat [sat] on the mat", ours(name).tokenizer, 256), None)
    blinded = hf_probability(theirs[name], filled)
    before = float(filled.p_encoder(filled.blanks[0])[filled.true_id(filled.blanks[0])])
    answer(at, "blank_mask", 0 if 2 * blinded < before else 1 if blinded < before else 2)
    at.session_state["architectures_blank_text"] = "the cat"
    assert fine(at.run()) and given(at, "architecture_blank")["picked"] is None


def hf_probability(model: hf.PreTrainedModel, filled: blank.Filled) -> float:
    """transformers' probability of the hidden token under a triangular mask."""
    n, (position, *_) = len(filled.inputs), filled.blanks
    triangle = torch.full((n, n), torch.finfo(torch.float32).min).triu(1)[None, None]
    with torch.no_grad():
        logits = model(torch.tensor([filled.inputs]), attention_mask=triangle).logits[0, position].double()
    return float(torch.softmax(logits, -1)[filled.true_id(position)])


def test_a_text_is_written_by_the_readers_encoder_decoder(theirs):
    at = opened("architectures", {"view": "translate", "translate_loaded_text": "the cat ate the rat",
                                  "translate_head": "1", "translate_step": "3"}, model="folder:t5")
    sent, found = (given(at, "architecture_translate"),
                   translate_work.translate(ours("t5"), tuple(ours("t5").tokenizer.encode("the cat ate the rat"))))
    assert (sent["target"] == found.target_tokens and sent["aligned"] is None and "t5" in sent["verdict"]
            and "random" in sent["verdict"] and not sent["right"])
    assert (sent["source"][-1] == "‹/s›" and sent["inputs"][0] == "‹pad›"
            and not any(button.key == "architectures_translate_random" for button in at.button))
    assert "no better than chance" in said(at) and "text in, text out" in said(at) and " date" not in sent["verdict"]
    match, bias, score = numbers_in(formulas(at)[3])
    table = theirs["t5"].decoder.block[0].layer[0].SelfAttention.compute_bias(3, 3)[0, 1, 2]
    assert match + bias == pytest.approx(score, abs=2e-4) and min(abs(table - bias)) < 1e-4
    own, other = translate_work.swapped(found), found.target
    assert own[0] != other[0]
    answer(at, "translate", 0 if own[1:] == other[1:] else 1)
    at.session_state["architectures_translate_loaded_text"] = ""
    assert fine(at.run())


@pytest.mark.parametrize("name, lesson, view", [("bert", "generation", "blank"), ("t5", "attention", "translate")])
def test_a_lesson_that_cannot_show_it_says_so_and_leads_on(name: str, lesson: str, view: str, theirs):
    at = open_at(lesson, model=f"folder:{name}", prompt="The cat sat")
    assert (fine(at) and f"**{name}** is an encoder" in said(at)
            and "The page shows **stories** in its place" in said(at) and "no better than chance" in said(at))
    assert at.session_state["model"] == f"folder:{name}" and at.query_params["model"] == f"folder:{name}"
    assert {"model_open_architectures", "model_open_tokens"} <= {button.key for button in at.button}
    at.session_state["architectures_view"] = view
    go(at, "architectures").run()
    assert (fine(at) and given(at, f"architecture_{view}") and at.session_state["prompt"] == "The cat sat"
            and "Its picture here is" in said(at))
    go(at, lesson).run()
    at.button(key="model_stay").click().run()
    assert fine(at) and at.session_state["model"] == "stories" and "is an encoder" not in said(at)


@pytest.mark.parametrize("name", ["headless", "t5"])
def test_a_picture_that_is_true_of_it_is_drawn_and_any_other_says_why_not(name: str, theirs):
    kind = ours(name).model.config.kind
    at, refused = (open_at("tokens", model=f"folder:{name}", prompt="the cat sat"),
                   prose.load("app").label(f"not_of_{kind}"))
    for entry in catalogue.existing():
        if not (views := entry.of(kind)) or not entry.views:
            continue
        go(at, entry.id)
        at.session_state["attention_step"] = "mask"
        for view in (*views[:2], *[other for other in entry.views if other not in views][:1]):
            for setting, option in entry.opening(view).items():
                at.session_state[setting] = option
            at.run()
            assert fine(at) and (refused in said(at)) == (view not in views), (entry.id, view)
            assert ((prose.load("app").label("no_head") in said(at))
                    == (name == "headless" and catalogue.predicts(entry.id, view, kind))), (entry.id, view)
            assert "ictures that need" in said(at)


def patterns_and_logits(model: hf.PreTrainedModel, token_ids: list[int]) -> tuple[np.ndarray, torch.Tensor]:
    """Every weight (L · h, N, N) and the logits (N, |V|) of an encoder, as transformers computes them."""
    with torch.no_grad():
        made = model(torch.tensor([token_ids]), output_attentions=True)
    return torch.cat(made.attentions).flatten(0, 1).numpy(), made.logits[0].double()


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_every_head_of_an_encoder_stands_on_the_wall_whole_and_its_loss_is_felt_at_the_picked_position(
        name: str, theirs):
    at = opened("heads", {"panel": "change", "changed": "0.1"}, model=f"folder:{name}", prompt=BLANKED)
    tokenizer, wall = ours(name).tokenizer, given(at, "heads_wall")
    ids = [*tokenizer.begin, *tokenizer.encode_blanks(BLANKED), *tokenizer.end]
    n, place = len(ids), ids.index(tokenizer.mask_token)
    assert (wall["tokens"] == [tokenizer.visible(i) for i in ids] and wall["query"] == place and tokenizer.begin
            and tokenizer.end)
    assert wall["first"].tolist() == [0] * n and wall["last"].tolist() == [n - 1] * n
    cut, width = copy.deepcopy(theirs[name]), theirs[name].config.hidden_size // theirs[name].config.num_attention_heads
    with torch.no_grad():
        cut.base_model.encoder.layer[0].attention.output.dense.weight[:, width:2 * width] = 0.0
    (_, before), (expected, after) = (patterns_and_logits(model, ids) for model in (theirs[name], cut))
    assert np.allclose(wall["values"].reshape(expected.shape), expected, atol=2e-5)
    kl = float(torch.nn.functional.kl_div(after[place].log_softmax(-1), before[place].log_softmax(-1),
                                          log_target=True, reduction="sum"))
    assert float(re.search(r"KL divergence ([\d.e-]+\d)", said(at))[1]) == pytest.approx(kl, rel=2e-2, abs=1e-6)
    assert f"(i = {place})" in said(at) and not NEXT.search(said(at))
    hand = {**live_question(at, ours(name)), "factor": 0.5, "exact_heads": [0]}
    answered = unpacked(route.answer({**hand, "changed": "0.1", "action": "zero"}))
    assert all(answered[name].tobytes() == wall[name].tobytes() for name in ("values", "measures"))


def live_question(at, loaded: cache.LoadedModel) -> dict:
    """The wall's question while a hand moves."""
    return {"model": loaded.name, "device": devices.CPU, "token_ids": [int(i) for i in (
        *loaded.tokenizer.begin, *loaded.tokenizer.encode_blanks(at.session_state["prompt"]), *loaded.tokenizer.end)]}


def test_what_heads_of_an_encoder_look_at_is_measured_on_both_sides(theirs):
    found = run.read(ours("bert"), "the cat ate the rat")
    values, measures = patterns_of(found).values, patterns_of(found).measures
    n = len(found.token_ids)
    assert set(measures) == set(measures_of(found)) and "induction" not in measures
    (first, second) = [i for i, token in enumerate(found.token_ids) if token == found.tokenizer.encode("the")[0]]
    for pattern, place in ((values[0, 1], (0, 1)), (values[1, 0], (1, 0))):
        by_hand = {"previous_token": np.mean([pattern[i, i - 1] for i in range(1, n)]),
                   "next_token": np.mean([pattern[i, i + 1] for i in range(n - 1)]), "own_token": np.trace(pattern) / n,
                   "first_token": pattern[1:, 0].mean(), "last_token": pattern[:-1, -1].mean(),
                   "duplicate_token": (pattern[first, second] + pattern[second, first]) / 2}
        assert {name: measures[name][place] for name in by_hand} == pytest.approx(by_hand, rel=1e-5)


@pytest.mark.parametrize("name, panel", [("headless", "change"), ("roberta", "roles"), ("bert", "prompts")])
def test_a_panel_of_heads_says_nothing_of_a_next_token(name: str, panel: str, theirs):
    at = opened("heads", {"panel": panel, "changed": "0.0 1.*"}, model=f"folder:{name}", prompt="the cat ate the rat")
    assert (fine(at) and not NEXT.search(said(at))
            and (prose.load("app").label("no_head") in said(at)) == (name == "headless"))
    asked = next(radio for radio in at.radio if radio.key == "heads_knockout_given")
    encoder, place = (run.read(ours(name), "the cat ate the rat"),
                      len(run.read(ours(name), "the cat ate the rat").token_ids) - 2)
    found = []
    for head in asked.options:
        layer, index = map(int, head.split("."))
        cut = encoder.model(torch.tensor(encoder.token_ids), Intervention(heads=(HeadEdit(layer, index),)))
        own, other = encoder.trace.h_final[place].double(), cut.h_final[place].double()
        found.append(float((other - own).norm() / own.norm()) if name == "headless"
                     else stream_and_heads.effect(encoder.trace.logits[place], cut.logits[place]).kl)
    answer(at, "knockout", int(np.argmax(found)))


@pytest.mark.parametrize("name, lesson, view",
                         [("bert", "residual_stream", "lens"), ("roberta", "residual_stream", "contributions"),
                          ("bert", "residual_stream", "norm"), ("bert", "residual_stream", "mlp"),
                          ("roberta", "residual_stream", "cut"), ("bert", "attention", "steps"),
                          ("roberta", "attention", "switches"), ("bert", "attention", "roles"),
                          ("bert", "attention", "averages"), ("roberta", "attention", "scaling"),
                          ("bert", "embeddings", "contexts"), ("bert", "overview", "")])
def test_a_view_of_an_encoder_is_drawn_at_the_blank_and_says_nothing_of_a_next_token(
        name: str, lesson: str, view: str, theirs):
    at = opened(lesson, {"view": view, "norm_where": "embedding", "mask": "causal", "scaling": "own",
                         "other": "a cat sat on a mat", "depth": "-1"}, model=f"folder:{name}", prompt=BLANKED)
    assert (not NEXT.search(said(at))
            and not any(prose.load("app").label(why) in said(at) for why in ("no_head", "not_of_encoder")))
    encoder = run.read(ours(name), BLANKED)
    place, formulae = encoder.token_ids.index(encoder.tokenizer.mask_token), formulas(at)
    assert encoder.asked == place
    logits = patterns_and_logits(theirs[name], list(encoder.token_ids))[1]
    best = int(logits[place].argmax())
    if view == "lens":
        assert (np.allclose(encoder.logits(place), logits[place], atol=1e-4)
                and code(encoder.tokenizer.visible(best)) in said(at))
        assert numbers_in(formulae[0])[-1] == pytest.approx(float(logits[place, best]), abs=2e-4)
    if view == "contributions":
        assert all(numbers_in(line)[-1] == pytest.approx(float(logits[place, best]), abs=2e-4) for line in formulae[:2])
    if view == "switches":
        triangle = torch.full((len(encoder.token_ids),) * 2, torch.finfo(torch.float32).min).triu(1)[None, None]
        with torch.no_grad():
            switched = theirs[name](torch.tensor([encoder.token_ids]),
                                    attention_mask=triangle).logits[0, place].double()
        assert f"KL = {readable(stream_and_heads.effect(logits[place], switched).kl)}" in said(at)
    if view == "steps":
        header, arrays = test_steps.given(at)
        assert "mask" not in header["stageNames"]["head"] + header["stageNames"]["simple"] and arrays["allowed"].all()
    if lesson == "overview":
        sent, ids = given(at, "overview_map"), torch.tensor([encoder.token_ids])
        assert (sent["here"] and sent["blanks"] == [sent["position"]] == [place] and sent["draw"] is None
                and sent["last"].tolist() == [len(encoder.token_ids) - 1] * len(encoder.token_ids))
        with torch.no_grad():
            entering = theirs[name].base_model.embeddings(ids)[0].numpy()
        assert (np.allclose(sent["X"].reshape(entering.shape), entering, atol=1e-5)
                and sent["candidates"][place][0][1] == best)
        *parts, total = numbers_in(formulae[0])
        assert len(parts) == 3 and sum(parts) == pytest.approx(total, abs=2e-4)
    if view == "roles":
        sent, n = given(at, "attention_view"), len(encoder.token_ids)       # the head as it is; nothing is masked
        layer, head = run.telling(encoder)
        assert len(sent["values"]) == n * n
        assert np.allclose(sent["values"], patterns_and_logits(theirs[name], list(encoder.token_ids))[0][
            layer * encoder.model.config.n_heads + head].ravel(), atol=2e-5)


def test_an_encoder_without_a_head_says_what_can_be_looked_at(theirs):
    at = opened("architectures", {"view": "blank"}, model="folder:headless")
    assert "without a language head" in said(at) and "can be looked at" in said(at) and ours("headless").loss is None
    assert "nothing on this page shows it" in said(at) and "Its picture here" not in said(at)


@pytest.mark.parametrize("name, shown, hidden", [("headless", "model_open_overview", "model_open_architectures"),
                                                 ("classes", "model_open_architectures", "")])
def test_no_button_leads_to_where_a_model_does_nothing(name: str, shown: str, hidden: str, theirs):
    at = open_at("generation", model=f"folder:{name}")
    keys = [button.key for button in at.button]
    assert fine(at) and keys.count(shown) == 1 and hidden not in keys
    at = open_at("heads", model=f"folder:{name}")
    assert (fine(at) and "Write ____" not in said(at) and "none is a prediction" in said(at)
            and ("model_open_architectures" in [button.key for button in at.button]) == (name == "classes"))


@pytest.mark.parametrize("name", ["headless", "classes"])
def test_the_pass_of_a_model_that_says_no_words_is_drawn_to_its_last_vectors(name: str, theirs):
    at = opened("overview", {}, model=f"folder:{name}", prompt="the cat sat on the mat")
    sent, asked = given(at, "overview_map"), run.read(ours(name), "the cat sat on the mat")
    with torch.no_grad():
        last = theirs["bert" if name == "headless" else name].base_model(torch.tensor([asked.token_ids]))[0][0].numpy()
    assert np.allclose(sent["h"].reshape(last.shape), last, atol=2e-5)
    assert "logits" not in sent and sent["candidates"] == [] and sent["silence"] == prose.load("overview").label(
        "silence" if name == "headless" else "silence_classes")
    assert not any(word in said(at) for word in ("expects", "next token", "logit"))
    row = next(each.proto.json for each in at.get("bidi_component") if each.proto.component_name == "strip")
    lit = [stage["lit"] for stage in json.loads(row)["stages"]]
    assert lit == [True] * (len(catalogue.STAGES) - 3) + [False] * 3      # no way from the last vectors to a token


def test_the_classes_are_those_that_transformers_gives(theirs):
    at = opened("architectures", {"view": "blank", "blank_text": "the cat [sat] on the mat"}, model="folder:classes")
    sent, asked = given(at, "architecture_blank"), run.read(ours("classes"), "the cat sat on the mat")
    place = len(asked.tokenizer.encode("the cat")) + 1
    hidden = [asked.tokenizer.mask_token if i == place else each for i, each in enumerate(asked.token_ids)]
    with torch.no_grad():
        p, whole = (theirs["classes"](torch.tensor([ids])).logits[0].double().softmax(-1).numpy()
                    for ids in (hidden, asked.token_ids))
    order = np.argsort(-p)
    assert [row["name"] for row in sent["classes"]["rows"]] == [CLASS_NAMES[i] for i in order]
    assert np.allclose([row["p"] for row in sent["classes"]["rows"]], p[order], atol=1e-5)
    assert [row["whole"] for row in sent["classes"]["rows"]] == [percent(whole[i]) for i in order]
    assert sent["encoder"] is sent["decoder"] is None and code(CLASS_NAMES[order[0]]) in said(at)
    assert numbers_in(formulas(at)[1])[-1] == pytest.approx(p.max(), abs=1e-4)
    answer(at, "blank_classes", 0)
    at.session_state["architectures_blank_text"] = "the cat sat on the mat"
    assert fine(at.run()) and given(at, "architecture_blank")["classes"]["rows"][0]["whole"] is None


@pytest.mark.parametrize("view", ["switches", "roles"])
def test_the_patterns_of_a_model_without_a_head_are_compared_without_words(view: str, theirs):
    at = opened("attention", {"view": view, "mask": "causal", "scaling": "own", "roles_part": "change"},
                model="folder:headless", prompt="the cat sat on the mat")
    asked = run.read(ours("headless"), "the cat sat on the mat")
    assert fine(at) and not NEXT.search(said(at)) and not re.search("model (still )?expect|logit", said(at))
    if view == "roles":
        return
    n, place = len(asked.token_ids), asked.asked
    triangle = torch.full((n, n), torch.finfo(torch.float32).min).triu(1)[None, None]
    with torch.no_grad():
        own, cut = (theirs["bert"].base_model(torch.tensor([asked.token_ids]), attention_mask=mask)[0][0, place]
                    for mask in (None, triangle))
    assert f"moves by {percent(float((cut - own).norm() / own.norm()))} of its length" in said(at)


def test_no_live_answer_is_made_of_a_model_of_two_stacks(theirs):
    with pytest.raises(ValueError, match="two stacks"):
        run.of_tokens("folder:t5", devices.CPU, (0, 1))


def test_the_page_of_models_offers_the_lessons_that_show_it(theirs):
    at = open_at("models", model="folder:t5")
    keys = {button.key for button in at.button}
    assert fine(at) and {"model_open_architectures", "model_open_row_architectures",
                         "model_open_row_loaded_architectures", "models_use_folder:bert"} <= keys


def test_where_it_is_at_work_no_button_leads_there_and_the_strip_is_its_own(theirs):
    for view, leads, name in (("blank", False, "folder:bert"), ("kinds", True, "stories")):
        at = opened("architectures", {"view": view}, model="folder:bert")
        assert any(button.key == "model_open_architectures" for button in at.button) is leads
        [strip] = [json.loads(each.proto.json) for each in at.get("bidi_component")
                   if each.proto.component_name == "strip"]
        n = cache.shared_model(name, devices.CPU).model.config.n_layers
        assert strip["blocks"] == prose.load("app").label("strip_blocks", n=n)
        assert "the others do not show it" in said(at)
