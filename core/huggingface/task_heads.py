"""Heads for other tasks than language, which fine-tuned encoders have in its place: a classifier's head is read; the
heads of taggers, answerers and the like are recognised by their task.
"""
import re
from collections.abc import Collection

from core.huggingface import entries
from core.huggingface.entries import Entry
from core.huggingface.fields import Fields
from core.model.config import ModelConfig

# the tensors of such heads
ENCODERS = re.compile(r"^(classifier|pre_classifier|qa_outputs|sequence_summary|discriminator_predictions)\.")
MODERNBERT = re.compile(r"^(classifier|qa_outputs|head)\.")     # its heads for other tasks keep the transform
# ending of the class name in config.json -> the task of its head
TASKS = {"ForSequenceClassification": "classes", "ForTokenClassification": "tags", "ForQuestionAnswering": "answers",
         "ForMultipleChoice": "choices", "ForPreTraining": "replaced"}
BERT_CLASSES = dict(dense="bert.pooler.dense", out="classifier", curve="tanh")
ROBERTA_CLASSES = dict(dense="classifier.dense", out="classifier.out_proj", curve="tanh")
ELECTRA_CLASSES = dict(dense="classifier.dense", out="classifier.out_proj", curve="gelu")
DISTILBERT_CLASSES = dict(dense="pre_classifier", out="classifier", curve="relu")


def head_of(f: Fields, names: Collection[str]) -> str:
    """The head on the last vectors of an encoder without a language head: one of config.OUTPUT_HEADS."""
    heads = {name.partition(".")[0] for name in names if ENCODERS.search(name)}
    if not heads:
        return "none"
    if "discriminator_predictions" in heads:
        return "replaced"
    if "qa_outputs" in heads:
        return "answers"
    made_as = str((f.get("architectures") or [""])[0])
    # without it: only a head for whole texts puts a map of its own before the classes
    whole = any(name.startswith(("pre_classifier.", "classifier.dense.")) or ".pooler." in name for name in names)
    task = next((task for end, task in TASKS.items() if made_as.endswith(end)), "classes" if whole else "tags")
    if task != "classes":
        return task
    return "score" if _n_classes(f) == 1 else "labels" if _is_several(f) else "classes"


def class_settings(f: Fields, head: str, curve: str) -> dict:
    """The settings of ModelConfig for an output head; curve: the activation of the map before the classes."""
    if head not in ("classes", "labels"):
        return dict(output_head=head)
    return dict(output_head=head, n_classes=_n_classes(f), class_transform=curve, class_names=_class_names(f))


def class_entries(config: ModelConfig, dense: str, out: str) -> list[Entry]:
    """The tensors of a classifier's head, with the names of its two maps, the first of which may be
    part of something else; none in a model without one.
    """
    if not config.head.n_classes:
        return []
    d, n = config.d_model, config.head.n_classes
    before = ([entries.transposed(f"{dense}.weight", "W_P", d, d), entries.as_is(f"{dense}.bias", "b_P", d)]
              if config.head.classifies_alone else [])
    return [*before, entries.transposed(f"{out}.weight", "W_C", n, d), entries.as_is(f"{out}.bias", "b_C", n)]


def _is_several(f: Fields) -> bool:
    """Whether each label is true or false by itself."""
    return f.get("problem_type") == "multi_label_classification"


def _n_classes(f: Fields) -> int:
    names = f.get("id2label")
    return len(names) if isinstance(names, dict) else f.whole("num_labels", default=2)


def _class_names(f: Fields) -> tuple[str, ...]:
    """The names of the classes in the order of their logits; LABEL_0 … if the config names none, as in transformers."""
    names = f.get("id2label")
    names = {str(key): str(name) for key, name in names.items()} if isinstance(names, dict) else {}
    return tuple(names.get(str(i), f"LABEL_{i}") for i in range(_n_classes(f)))
