"""Fine-tuned encoders: the logits of a classifier are transformers'; taggers and the like are encoders whose head is
known by what it is for; decoders fine-tuned to score are refused by name.
"""
import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from core import huggingface
from core.cost import counting
from core.huggingface import PretrainedError, preview
from core.model.config import ModelConfig
from tests.helpers.huggingface_models import CASES, hf, ids, randomised
from tests.helpers.ids import named
from tests.helpers.models_encoders import TASK_CASES

LABELS = dict(enumerate(("no", "yes", "perhaps")))


def made(case: str, auto: type, folder, **changes) -> hf.PreTrainedModel:
    """The random model of a case of CASES with the head of an Auto class of transformers, saved in `folder`."""
    kind, settings = CASES[case]
    model = randomised(auto.from_config(kind(**settings | changes), attn_implementation="eager"))
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("case", TASK_CASES)
def test_the_classes_are_theirs(case, tmp_path):
    theirs = made(case, hf.AutoModelForSequenceClassification, tmp_path, id2label=LABELS)
    ours, _ = huggingface.from_pretrained(tmp_path)
    token_ids = ids(2, 23)
    expected, trace = theirs(token_ids, output_hidden_states=True), ours(token_ids)
    assert expected.logits.std() > 0.3
    torch.testing.assert_close(trace.class_logits, expected.logits, rtol=1e-5, atol=2e-6)
    torch.testing.assert_close(trace.h_final, expected.hidden_states[-1], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(ours.class_logits(token_ids), expected.logits, rtol=1e-5, atol=2e-6)
    config = ours.config
    assert (config.head.output_head, config.head.n_classes) == ("classes", 3)
    assert config.head.class_names == tuple(LABELS.values())
    assert counting.n_parameters(config) == ours.n_parameters == preview(tmp_path).n_parameters


def test_two_classes_without_names_and_labels_that_may_all_be_true(tmp_path):
    theirs = made("bert", hf.AutoModelForSequenceClassification, tmp_path / "two")
    ours, _ = huggingface.from_pretrained(tmp_path / "two")
    torch.testing.assert_close(ours(ids(9)).class_logits, theirs(ids(1, 9)).logits[0], rtol=1e-5, atol=2e-6)
    assert ours.config.head.class_names == ("LABEL_0", "LABEL_1")
    made("roberta", hf.AutoModelForSequenceClassification, tmp_path / "several", id2label=LABELS,
         problem_type="multi_label_classification")
    assert preview(tmp_path / "several").config.head.output_head == "labels"


@pytest.mark.parametrize("case", TASK_CASES)
@pytest.mark.parametrize("auto, head", [
    (hf.AutoModelForTokenClassification, "tags"), (hf.AutoModelForQuestionAnswering, "answers"),
    (hf.AutoModelForMultipleChoice, "choices"), (hf.AutoModel, "none"),
    (lambda: hf.AutoModelForSequenceClassification, "score")], ids=named)
def test_other_heads_are_known_and_not_read(auto, head, case, tmp_path):
    scores = not isinstance(auto, type)
    theirs = made(case, auto() if scores else auto, tmp_path, **dict(num_labels=1) if scores else {})
    ours, _ = huggingface.from_pretrained(tmp_path)
    assert (ours.config.head.output_head, ours.config.head.n_classes) == (head, 0)
    assert preview(tmp_path).config == ours.config
    token_ids = ids(2, 17)
    base = getattr(theirs, theirs.base_model_prefix) if head != "none" else theirs
    torch.testing.assert_close(ours(token_ids).h_final, base(token_ids).last_hidden_state, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", ["bert", "roberta", "distilbert"])
def test_without_the_name_of_its_class_the_tensors_tell(case, tmp_path):
    for auto, head in ((hf.AutoModelForSequenceClassification, "classes"),
                       (hf.AutoModelForTokenClassification, "tags")):
        folder = tmp_path / head
        made(case, auto, folder)
        values = json.loads((folder / "config.json").read_text())
        del values["architectures"]
        (folder / "config.json").write_text(json.dumps(values))
        assert preview(folder).config.head.output_head == head


@pytest.mark.parametrize("case, auto", [
    ("llama", hf.AutoModelForSequenceClassification), ("gpt2", hf.AutoModelForSequenceClassification),
    ("gpt2", hf.AutoModelForTokenClassification), ("t5", hf.AutoModelForSequenceClassification)])
def test_a_decoder_that_scores_is_refused_by_name(case, auto, tmp_path):
    made(case, auto, tmp_path, **dict(pad_token_id=0) if case == "llama" else {})
    with pytest.raises(PretrainedError, match="was fine-tuned") as error:
        preview(tmp_path)
    assert error.value.reason == "architecture" and "published together" not in str(error.value)


def test_a_tensor_that_belongs_to_no_head_is_still_a_mistake(tmp_path):
    made("bert", hf.AutoModelForTokenClassification, tmp_path)
    file = tmp_path / "model.safetensors"
    save_file(load_file(file) | {"bert.extra.weight": torch.zeros(2)}, file, {"format": "pt"})
    with pytest.raises(PretrainedError, match="bert.extra.weight has no place"):
        preview(tmp_path)


@pytest.mark.parametrize("settings, sentence", [
    (dict(class_transform="tanh"), "belongs to a classification head"), (dict(output_head="mine"), "must be one of"),
    (dict(n_classes=2, class_names=("a",)), "for each of 2 classes")], ids=named)
def test_what_cannot_be_is_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        ModelConfig.of(vocab_size=9, d_model=4, n_layers=1, n_heads=1, n_context=4, kind="encoder", **settings)
