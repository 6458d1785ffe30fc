"""A saved model comes back as it was; a damaged one is refused with a sentence that says what is wrong."""
import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.model import checkpoints
from core.model.checkpoints import CheckpointError, Milestone
from core.model.config import MOST, MOST_LAYERS, ModelConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer

TOKENIZER = Tokenizer.train(["the cat sat on the mat"] * 4, 260)
CONFIG = ModelConfig(vocab_size=260, d_model=8, n_layers=2, n_heads=2, n_context=16)


@pytest.fixture
def model() -> Transformer:
    return Transformer(CONFIG).initialise(torch.Generator().manual_seed(0))


@pytest.fixture
def folder(tmp_path, model):
    checkpoints.save(tmp_path / "model", model, TOKENIZER, "# A card\n")
    return tmp_path / "model"


def change_weights(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


def change_config(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def refusal(folder) -> str:
    with pytest.raises(CheckpointError) as error:
        checkpoints.load(folder)
    return str(error.value)


def test_a_model_comes_back_rounded_to_half_precision(folder, model):
    loaded, tokenizer = checkpoints.load(folder)
    assert loaded.config == CONFIG and tokenizer.encode("the cat") == TOKENIZER.encode("the cat")
    for (name, before), (same_name, after) in zip(model.state_dict().items(), loaded.state_dict().items(), strict=True):
        assert name == same_name and after.dtype == torch.float32
        assert torch.equal(after, before.half().float()), name


def test_in_float32_the_logits_are_the_same_to_the_bit(tmp_path, model):
    checkpoints.save(tmp_path, model, TOKENIZER, "", dtype=torch.float32)
    ids = torch.tensor([0, 5, 6, 7])
    assert torch.equal(checkpoints.load(tmp_path)[0](ids).logits, model(ids).logits)


def test_a_loaded_model_is_for_reading(folder):
    loaded, _ = checkpoints.load(folder)
    assert not loaded.training and not any(p.requires_grad for p in loaded.parameters())
    assert loaded.device == torch.device("cpu")


def test_the_folder_holds_four_files_and_the_card_as_given(folder):
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "config.json",
                                                        "model.safetensors", "tokenizer.json"]
    assert (folder / "README.md").read_text() == "# A card\n"


def test_saving_again_replaces(folder, model):
    with torch.no_grad():
        model.E.zero_()
    checkpoints.save(folder, model, TOKENIZER, "")
    assert not checkpoints.load(folder)[0].E.any()


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    assert name in refusal(folder) and "fetch the missing file" in refusal(folder)


@pytest.mark.parametrize("keep", [0, 4, 100, 2000])
def test_weights_cut_short(folder, keep):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    assert "damaged or cut short" in refusal(folder) and f"{keep} bytes" in refusal(folder)


@pytest.mark.parametrize("name, content", [("config.json", "{"), ("config.json", "[1]"), ("config.json", "\x00"),
                                           ("tokenizer.json", "{"), ("tokenizer.json", "")])
def test_a_damaged_file_is_named(folder, name, content):
    (folder / name).write_text(content)
    assert name in refusal(folder)


@pytest.mark.parametrize("fields, said", [
    (dict(colour="blue"), "Unknown model settings: colour"),
    (dict(norm="batchnorm"), "norm must be one of"), (dict(n_heads=0), "n_heads"),
    (dict(d_model="wide"), "config.json"), (dict(vocab_size=261), "vocabulary of 261 tokens, its tokenizer one of 260"),
    (dict(end_of_text=3), "end of text is token 3"),
    (dict(n_layers=1), "belongs to no part"), (dict(n_layers=3), "blocks.2.W_Q is missing"),
    (dict(n_context=10 ** 9), f"P is (16, 8), and the config asks for ({10 ** 9}, 8)")])
def test_a_config_that_does_not_fit(folder, fields, said):
    change_config(folder, **fields)
    assert said in refusal(folder)


@pytest.mark.parametrize("fields", [
    dict(n_layers=MOST_LAYERS + 1), dict(kind="encoder-decoder", n_encoder_layers=MOST_LAYERS + 1), dict(n_layers=2.0),
    *({name: MOST + 1} for name in ("d_model", "n_heads", "n_context", "d_k", "d_v", "d_ff", "n_classes")),
    *({name: wrong} for name in ("d_ff", "n_classes", "n_token_types") for wrong in (True, 1e30, "x", -1))])
def test_a_config_that_would_take_more_than_seconds_or_memory_is_refused_before_it_is_built(folder, fields):
    change_config(folder, **fields)
    assert "config.json" in refusal(folder) and str(list(fields)[-1]) in refusal(folder)


def test_a_config_that_asks_for_more_numbers_than_a_tensor_can_have_is_refused(folder):
    change_config(folder, d_model=MOST, d_k=MOST, n_heads=MOST, n_kv_heads=MOST)
    assert "config.json" in refusal(folder)


def test_weights_that_do_not_fit(folder):
    change_weights(folder, lambda w: w.pop("E"))
    assert "E is missing" in refusal(folder)
    change_weights(folder, lambda w: w.update(E=torch.zeros(260, 9)))
    assert "E is (260, 9), and the config asks for (260, 8)" in refusal(folder)
    change_weights(folder, lambda w: w.update(E=torch.zeros(260, 8, dtype=torch.int32)))
    assert "E is stored as torch.int32" in refusal(folder)
    change_weights(folder, lambda w: w.update(E=torch.full((260, 8), float("nan"))))
    assert "E holds numbers that are not finite" in refusal(folder)
    change_weights(folder, lambda w: w.update(E=torch.zeros(260, 8), stray=torch.zeros(1)))
    assert "stray belongs to no part" in refusal(folder)


def test_what_cannot_be_loaded_again_is_not_saved(tmp_path, model):
    with pytest.raises(ValueError, match="vocabulary of 260 tokens, its tokenizer one of 259"):
        checkpoints.save(tmp_path / "a", model, Tokenizer.train(["the cat"] * 4, 259), "")
    with torch.no_grad():
        model.E[0, 0] = 1e6
    with pytest.raises(ValueError, match="not finite as torch.float16: E"):
        checkpoints.save(tmp_path / "a", model, TOKENIZER, "")
    assert not (tmp_path / "a").exists()


# The history of a model

def milestone(step: int) -> Milestone:
    return Milestone(step, 100 * step, {"new": 5.0 - step}, 0.25, 0.5, "Once", " upon é")


@pytest.fixture
def childhood(folder, model, monkeypatch):
    """A bundled model `model`: milestones 0 and 2, of which the later has E + 1."""
    checkpoints.save_history(folder, [milestone(0)], model)
    with torch.no_grad():
        model.E.add_(1)
    checkpoints.save_history(folder, [milestone(0), milestone(2)], model)
    monkeypatch.setattr(checkpoints, "BUNDLED", folder.parent)
    return folder


def test_a_history_comes_back(childhood, model):
    assert checkpoints.history("model") == (milestone(0), milestone(2))
    last, before, after = (checkpoints.load_bundled("model", step=step)[0] for step in (None, 0, 2))
    assert (torch.equal(after.E, model.E.half().float()) and torch.equal(before.E, last.E)
            and not torch.equal(before.E, after.E))


def test_a_history_makes_no_other_model(childhood):
    assert checkpoints.bundled_names() == ("model",)
    (childhood.parent / "a note").mkdir()
    assert checkpoints.bundled_names() == ("model",)


def test_a_model_without_history_has_none(folder, monkeypatch):
    monkeypatch.setattr(checkpoints, "BUNDLED", folder.parent)
    assert checkpoints.history("model") == ()
    with pytest.raises(CheckpointError, match="no weights of step 0; it has those of: none"):
        checkpoints.load_bundled("model", step=0)


def test_a_step_that_was_not_kept_is_refused(childhood):
    with pytest.raises(CheckpointError, match="no weights of step 1; it has those of: 0, 2"):
        checkpoints.load_bundled("model", step=1)


def test_missing_weights_of_a_step_are_named(childhood):
    (childhood / "history" / "000002.safetensors").unlink()
    with pytest.raises(CheckpointError, match="000002.safetensors cannot be read"):
        checkpoints.load_bundled("model", step=2)


@pytest.mark.parametrize("content", ["{", "{}1", "[1]", '[{"step": 1}]', '{"step": 1}', "3"])
def test_a_damaged_history_is_named(childhood, content):
    (childhood / "history" / "history.json").write_text(content)
    with pytest.raises(CheckpointError, match="history.json is no history"):
        checkpoints.history("model")


def test_unknown_bundled_names_are_refused():
    for name in ("no such model", "../models/stories", ""):
        with pytest.raises(CheckpointError, match="There is no bundled model"):
            checkpoints.load_bundled(name)
        with pytest.raises(CheckpointError, match="There is no bundled model"):
            checkpoints.history(name)


@pytest.mark.parametrize("name", checkpoints.bundled_names())
def test_every_bundled_model_loads_and_has_a_card(name):
    model, tokenizer = checkpoints.load_bundled(name)
    assert model.config.vocab_size == tokenizer.vocab_size
    assert len({tokenizer.visible(i) for i in range(tokenizer.vocab_size)}) == tokenizer.vocab_size
    for kept in checkpoints.history(name):
        assert checkpoints.load_bundled(name, step=kept.step)[0].config == model.config
    card = (checkpoints.BUNDLED / name / "README.md").read_text()
    assert f"{model.n_parameters:,}" in card and "{" not in card
