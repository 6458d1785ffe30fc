"""How the final vectors are read: as logits of words, and as classes of a whole text."""
from __future__ import annotations

from dataclasses import dataclass

from core.model.record import MOST, Record, check_rules

# What reads the final vectors. language: the logits are of words. An encoder published without such a head may have:
# none at all; of whole texts one of several classes, any number of labels, or one score; a tag for each token; where an
# answer begins and ends; which of several texts goes on; which tokens were replaced. Only the first two are read.
OUTPUT_HEADS = ("language", "none", "classes", "labels", "score", "tags", "answers", "choices", "replaced")


@dataclass(frozen=True)
class Head(Record):
    """The way from a stack's final vectors to its logits, and the classification head beside it."""

    RANGES = {"n_classes": (0, MOST)}
    CHOICES = {"output_head": OUTPUT_HEADS, "class_transform": ("", "tanh", "relu", "gelu", "head"),
               "class_pooling": ("first", "mean")}

    head_transform: bool = False          # the unembedding reads norm(act(h_final W_H + b_H)) instead of h_final (BERT)
    head_bias: bool = True                # b_H of a head's transform
    unembedding_bias: bool = False        # b_U, one number a token added to its logit
    logit_scale: float = 1.0              # times the logits, before b_U
    # c: a logit u becomes c tanh(u / c), the last step of all (Gemma 2); 0: it stays
    logit_cap: float = 0.0
    # the classes of the classification head, which reads the first token's final vector; 0: there is none
    n_classes: int = 0
    class_pooling: str = "first"          # or it reads the mean of all tokens' final vectors
    # the classification head reads act(h W_P + b_P) of that vector h, with this curve; "": h itself; "head": the output
    # for it of the head's transform, which is part of an encoder's language head (ModernBERT)
    class_transform: str = ""
    class_names: tuple[str, ...] = ()     # of the classes, if they have names
    # what reads the final vectors; with any other than "language", the logits of words mean nothing
    output_head: str = "language"
    text_alone: bool = False              # the text-reading part of a model that also reads pictures

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rules(
            (self.logit_cap < 0, "logit_cap is at least 0."),
            (self.class_transform == "head" and not self.head_transform,
             "class_transform='head' belongs to a head's transform."),
            (bool(self.class_transform) and not self.n_classes, "class_transform belongs to a classification head."),
            (len(self.class_names) not in (0, self.n_classes),
             f"class_names is empty or has a name for each of {self.n_classes} classes, not {len(self.class_names)}."))

    @property
    def classifies_alone(self) -> bool:
        """Whether the classification head has a map of its own before the classes, W_P."""
        return self.class_transform not in ("", "head")
