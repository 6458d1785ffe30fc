"""The settings of a transformer: one frozen, checked, hashable ModelConfig describes each architecture."""
from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

from core.model.activation import ACTIVATIONS, GATE_CURVES
from core.model.embedding import Embedding
from core.model.experts import MOST_EXPERTS, Experts
from core.model.head import Head
from core.model.kinds import KINDS
from core.model.masks import MASKS
from core.model.normalisation import Sublayer
from core.model.positional import PositionBias, Rotary
from core.model.record import MOST, Record, check_rules
from core.model.scores import Scores
from core.model.special_tokens import SpecialTokens

NORMS = ("layernorm", "rmsnorm")
NORM_PLACEMENTS = ("pre", "post", "sandwich", "deepnorm", "output")
POSITIONS = ("none", "sinusoidal", "learned", "rotary", "alibi", "relative")
SCORES = ("dot", "multiplicative", "additive")
MOST_LAYERS = 1000          # of one stack: every block is a Python object, and a thousand million would never be made


@dataclass(frozen=True)
class ModelConfig(Record):
    """The architecture of one model, in the notes' letters if they have one for a field.

    Here stands what tells a GPT, a BERT and the first transformer apart. What only some models need is in eight
    records, each beside the code that reads it; their usual values are those of a GPT-2.

    Widths left at 0 take their usual value: d_k = d_v = d_model / n_heads, d_ff = 4 d_model (write d_ff=None for a
    model without a feed-forward part), n_kv_heads = n_heads. `mask` left empty is causal for a decoder, bidirectional
    for an encoder; in an encoder-decoder, mask and window are the decoder's, and its encoder, n_encoder_layers blocks
    (n_layers if left at 0), sees everything. A field out of range raises ValueError with the sentence to show a reader.

    >>> ModelConfig(vocab_size=4096, d_model=256, n_layers=6, n_heads=8, n_context=256).d_k
    32
    """

    RANGES = {**dict.fromkeys(("vocab_size", "d_model", "n_heads", "n_context", "d_k", "d_v", "n_kv_heads"), (1, MOST)),
              "n_layers": (1, MOST_LAYERS), "n_encoder_layers": (0, MOST_LAYERS)}
    CHOICES = {"kind": KINDS, "norm": NORMS, "norm_placement": NORM_PLACEMENTS, "activation": ACTIVATIONS,
               "positions": POSITIONS, "mask": MASKS, "score": SCORES}

    vocab_size: int                       # |V|, rows of E
    d_model: int                          # d
    n_layers: int                         # L
    n_heads: int                          # h
    n_context: int                        # the most tokens it was built for
    kind: str = "decoder"
    n_encoder_layers: int = 0             # blocks of the encoder in front of an encoder-decoder's n_layers
    d_k: int = 0                          # width of a query and of a key
    d_v: int = 0                          # width of a value
    d_ff: int | None = 0                  # width of the feed-forward part; None: there is none
    n_kv_heads: int = 0                   # fewer than n_heads: several query heads share one key/value head
    norm: str = "layernorm"
    # before each sublayer; after its residual sum; before it and on its output; after a sum in which the stream
    # counts α times; on its output alone
    norm_placement: str = "pre"
    norm_epsilon: float = 1e-5
    activation: str = "gelu"
    positions: str = "learned"
    mask: str = ""
    score: str = "dot"                    # how a query is compared with a key: q·k, q W_S·k, or v·tanh(q + k)
    attention_bias: bool = True
    mlp_bias: bool = True
    tied_embeddings: bool = True          # logits = h_final E^T
    # the token every sequence ends and, unless begin_of_text is another, begins with; None: the model has
    # no such custom
    end_of_text: int | None = 0
    rotary: Rotary = field(default_factory=Rotary)
    position_bias: PositionBias = field(default_factory=PositionBias)
    scores: Scores = field(default_factory=Scores)
    sublayer: Sublayer = field(default_factory=Sublayer)
    experts: Experts = field(default_factory=Experts)
    embedding: Embedding = field(default_factory=Embedding)
    head: Head = field(default_factory=Head)
    special: SpecialTokens = field(default_factory=SpecialTokens)

    def __post_init__(self) -> None:
        per_head = self.d_model // max(self.n_heads, 1)
        derived = {
            "d_k": self.d_k or per_head,
            "d_v": self.d_v or per_head,
            "d_ff": None if self.d_ff is None else self.d_ff or 4 * self.d_model,
            "n_kv_heads": self.n_kv_heads or self.n_heads,
            "n_encoder_layers": self.n_encoder_layers or (self.n_layers if self.kind == "encoder-decoder" else 0),
            "mask": self.mask or ("bidirectional" if self.kind == "encoder" else "causal"),
        }
        if self.experts.n_experts and not self.experts.d_expert:
            derived["experts"] = dataclasses.replace(self.experts, d_expert=derived["d_ff"] or 0)
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        super().__post_init__()
        self._check()

    def _check(self) -> None:
        """Raise ValueError for what cannot be between several fields."""
        if self.d_ff is not None and (type(self.d_ff) is not int or not 1 <= self.d_ff <= MOST):
            raise ValueError(f"d_ff must be a whole number from 1 to {MOST:,}, not {self.d_ff!r}.")
        for name, token_id in (("end_of_text", self.end_of_text), *self.special.named()):
            if token_id is not None and not 0 <= token_id < self.vocab_size:
                raise ValueError(f"{name} ({token_id}) is no id of a vocabulary of {self.vocab_size} tokens.")
        check_rules(
            (self.norm_epsilon <= 0, f"norm_epsilon must be above 0, not {self.norm_epsilon}."),
            (self.n_heads % self.n_kv_heads > 0,
             f"n_heads ({self.n_heads}) must be a multiple of n_kv_heads ({self.n_kv_heads})."))
        self.rotary.check(self.positions == "rotary", self.d_k)
        check_rules(*self._rules_of_blocks(), *self._rules_of_stacks(), *self._rules_of_maps())

    def _rules_of_blocks(self) -> tuple[tuple[bool, str], ...]:
        n, experts = self.n_layers, self.experts
        of_blocks = {"block_masks": self.scores.block_masks, "block_rotary_bases": self.rotary.block_rotary_bases,
                     "block_experts": experts.block_experts}
        return (
            *((len(entries) not in (0, n), f"{name} is empty or has an entry for each of {n} blocks, not "
                                           f"{len(entries)}.") for name, entries in of_blocks.items()),
            (experts.n_experts > 0 and self.d_ff is None, "A model without a feed-forward part has no experts."),
            (experts.n_experts * n > MOST_EXPERTS,
             f"The experts of all blocks together ({experts.n_experts * n:,}) are at most {MOST_EXPERTS:,}."),
            (not self.sublayer.first_norm and not (self.reads_normed and self.embedding.embedding_norm),
             "first_norm=False is of blocks that read through a norm, and of a norm of the embeddings in its place."))

    def _rules_of_stacks(self) -> tuple[tuple[bool, str], ...]:
        crossed, parallel = self.kind == "encoder-decoder", self.sublayer.parallel_residual
        return (
            (crossed and self.experts.n_experts > 0,
             "Experts are defined for one stack only, not for an encoder-decoder."),
            (crossed and bool(self.scores.block_masks or self.rotary.block_rotary_bases),
             "block_masks and block_rotary_bases are defined for one stack only, not for an encoder-decoder."),
            ((self.n_encoder_layers > 0) != crossed,
             f"n_encoder_layers ({self.n_encoder_layers}) belongs to an encoder-decoder, and this is a model of kind "
             f"{self.kind!r}."),
            (crossed and (self.embedding.n_token_types > 0 or self.head.head_transform),
             "Token types and a head's transform are defined for one stack only, not for an encoder-decoder."),
            (parallel and (crossed or self.norm_placement != "pre"),
             "A parallel residual is defined for norm_placement='pre' and without cross-attention only."))

    def _rules_of_maps(self) -> tuple[tuple[bool, str], ...]:
        embedding, head = self.embedding, self.head
        return (
            (embedding.embedding_width > 0 and (self.kind == "encoder-decoder" or head.class_transform == "head"
                                                or head.output_head == "language" and not head.head_transform),
             "embedding_width is defined for one stack, whose logits of words are read through a head's transform."),
            (embedding.plain_maps and (not embedding.embedding_width or not head.head_transform or head.head_bias
                                       or embedding.embedding_norm or embedding.n_token_types > 0),
             "plain_maps is of narrow embeddings without a norm and token types, and of a head's transform without "
             "head_bias."))

    @property
    def first_token(self) -> int | None:
        """The token every sequence begins with; None: the model has no such custom."""
        return self.end_of_text if self.special.begin_of_text is None else self.special.begin_of_text

    @property
    def ends(self) -> frozenset[int]:
        """The tokens that end a text while it is being written."""
        ends = self.special.end_tokens
        return frozenset(ends if self.end_of_text is None else (self.end_of_text, *ends))

    @property
    def d_embedding(self) -> int:
        """Numbers in a row of E, and in the output of a head's transform."""
        return self.embedding.embedding_width or self.d_model

    @property
    def d_entering(self) -> int:
        """Numbers in a row of P and T, which are added to what the tokens put in."""
        return self.d_model if self.embedding.plain_maps else self.d_embedding

    @property
    def head_curves(self) -> bool:
        """Whether a head's transform goes on from W_H to an activation and a norm."""
        return self.head.head_transform and not self.embedding.plain_maps

    @property
    def root_scaled(self) -> bool:
        """Whether the rows of E are multiplied by √d as they enter the stream, and by no other number."""
        return math.isclose(self.embedding.embedding_scale, math.sqrt(self.d_model))

    @property
    def rotary_width(self) -> int:
        """How many dimensions of a query and key rotary positions turn."""
        return self.rotary.d_rotary or self.d_k

    @property
    def writes_bias(self) -> bool:
        """Whether attention has b_O."""
        return self.scores.output_bias_alone or self.attention_bias and self.scores.output_bias

    @property
    def reads_normed(self) -> bool:
        """Whether each sublayer reads the stream through a norm (pre, sandwich)."""
        return self.norm_placement in ("pre", "sandwich")

    @property
    def norms_output(self) -> bool:
        """Whether each sublayer's output passes a norm before it is added (sandwich, output)."""
        return self.norm_placement in ("sandwich", "output")

    @property
    def norms_sums(self) -> bool:
        """Whether each sum of the stream and a sublayer's addition is normed (post, DeepNorm); a stack of any other
        model needs a norm at its end.
        """
        return self.norm_placement in ("post", "deepnorm")

    @property
    def divisor(self) -> float:
        """The divisor of q·k if `scale_scores`: sqrt(d_k), or the model's own number."""
        return self.scores.score_divisor or math.sqrt(self.d_k)

    def mask_of(self, layer: int) -> str:
        """The mask of one block."""
        return self.scores.block_masks[layer] if self.scores.block_masks else self.mask

    @property
    def gated(self) -> bool:
        """Whether the feed-forward part multiplies two projections of its input (SwiGLU, GeGLU)."""
        return self.activation in GATE_CURVES

    def to_dict(self) -> dict:
        """All settings as plain values, those of the records beside the others, for config.json."""
        values = vars(self).items()
        own = {name: value for name, value in values if not isinstance(value, Record)}
        return own | {name: setting for _, value in values if isinstance(value, Record)
                      for name, setting in vars(value).items()}

    @classmethod
    def of(cls, **settings) -> ModelConfig:
        """The config of settings as `to_dict` gives them; an unknown or missing one raises ValueError naming it."""
        own = {f.name: f for f in dataclasses.fields(cls) if f.name not in RECORDS}
        if unknown := sorted(set(settings) - set(own) - set(RECORD_OF)):
            raise ValueError(f"Unknown model settings: {', '.join(unknown)}.")
        if missing := sorted(name for name, f in own.items()
                             if f.default is dataclasses.MISSING and name not in settings):
            raise ValueError(f"Missing model settings: {', '.join(missing)}.")
        records = {record: kind(**{name: value for name, value in settings.items() if RECORD_OF.get(name) == record})
                   for record, kind in RECORDS.items()}
        return cls(**{name: value for name, value in settings.items() if name in own}, **records)

    def changed(self, **settings) -> ModelConfig:
        """This config with other settings, those of its records among them."""
        return ModelConfig.of(**self.to_dict() | settings)


RECORDS: dict[str, type[Record]] = {f.name: f.default_factory for f in dataclasses.fields(ModelConfig)
                                    if f.default_factory is not dataclasses.MISSING}
RECORD_OF = {f.name: record for record, kind in RECORDS.items() for f in dataclasses.fields(kind)}

# The bundled model: small enough for 60 MB on disk and a few milliseconds a pass, large enough to write a story.
STORIES = ModelConfig(vocab_size=4096, d_model=256, n_layers=6, n_heads=8, n_context=256)
