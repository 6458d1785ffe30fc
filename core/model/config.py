"""The settings of a transformer: one frozen, checked, hashable ModelConfig describes each architecture."""
from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

KINDS = ("decoder", "encoder", "encoder-decoder")
NORMS = ("layernorm", "rmsnorm")
NORM_PLACEMENTS = ("pre", "post", "sandwich", "deepnorm", "output")
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "swish", "swiglu", "geglu", "geglu_tanh", "swiglu_clamped")
GATED_ACTIVATIONS = ("swiglu", "geglu", "geglu_tanh", "swiglu_clamped")
POSITIONS = ("none", "sinusoidal", "learned", "rotary", "alibi", "relative")
MASKS = ("causal", "bidirectional", "sliding-window", "bidirectional-window")
SCORES = ("dot", "multiplicative", "additive")
# What reads the final vectors. language: the logits are of words. An encoder published without such a head may have:
# none at all; of whole texts one of several classes, any number of labels, or one score; a tag for each token; where an
# answer begins and ends; which of several texts goes on; which tokens were replaced. Only the first two are read.
OUTPUT_HEADS = ("language", "none", "classes", "labels", "score", "tags", "answers", "choices", "replaced")
CLASS_TRANSFORMS = ("", "tanh", "relu", "gelu", "head")
CLASS_POOLINGS = ("first", "mean")
MOST_LAYERS = 1000          # of one stack: every block is a Python object, and a thousand million would never be made
MOST_EXPERTS = 32_768       # of all blocks together, for the same reason
MOST = 10**9                # of any other number: torch counts the numbers of a tensor in 64 bits
# the least and the largest whole number that each of these fields may be
RANGES = {
    **dict.fromkeys(("vocab_size", "d_model", "n_heads", "n_context", "d_k", "d_v", "d_ff", "n_kv_heads", "window",
                     "relative_max_distance"), (1, MOST)),
    **dict.fromkeys(("d_rotary", "relative_buckets", "n_token_types", "n_classes", "n_experts",
                     "n_active_experts", "d_expert", "d_shared_expert", "embedding_width"), (0, MOST)),
    "n_layers": (1, MOST_LAYERS), "n_encoder_layers": (0, MOST_LAYERS),
}
CHOICES = {"kind": KINDS, "norm": NORMS, "norm_placement": NORM_PLACEMENTS, "activation": ACTIVATIONS,
           "positions": POSITIONS, "mask": MASKS, "score": SCORES,
           "output_head": OUTPUT_HEADS, "class_transform": CLASS_TRANSFORMS,
           "class_pooling": CLASS_POOLINGS}


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise ValueError, with the sentence to show a reader, for a value that is not among the allowed ones."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")


@dataclass(frozen=True)
class ModelConfig:
    """The architecture of one model, in the notes' letters if they have one for a field.

    Widths left at 0 take their usual value: d_k = d_v = d_model / n_heads, d_ff = 4 d_model (write d_ff=None for a
    model without a feed-forward part), n_kv_heads = n_heads. `mask` left empty is causal for a decoder, bidirectional
    for an encoder; in an encoder-decoder, mask and window are the decoder's, and its encoder, n_encoder_layers blocks
    (n_layers if left at 0), sees everything. A field out of range raises ValueError with the sentence to show a reader.

    >>> ModelConfig(vocab_size=4096, d_model=256, n_layers=6, n_heads=8, n_context=256).d_k
    32
    """

    vocab_size: int                       # |V|, rows of E
    d_model: int                          # d
    n_layers: int                         # L
    n_heads: int                          # h
    n_context: int                        # the most tokens it was built for
    kind: str = "decoder"
    d_k: int = 0                          # width of a query and of a key
    d_v: int = 0                          # width of a value
    d_ff: int | None = 0                  # width of the feed-forward part; None: there is none
    # feed-forward parts of a block of experts; each token goes through n_active_experts of them; 0: every block is
    # dense, with one part of width d_ff
    n_experts: int = 0
    n_active_experts: int = 0
    d_expert: int = 0                     # width of each of them; 0: d_ff
    # width of one more expert, which every token goes through, times its own sigmoid; 0: there is none (Qwen2-MoE)
    d_shared_expert: int = 0
    block_experts: tuple[bool, ...] = ()  # whether each block is of experts; (): all are, if n_experts is not 0
    experts_renormalised: bool = True     # the weights of a token's active experts add up to 1
    router_bias: bool = False             # b_R, a number an expert added to its router logit (gpt-oss)
    n_encoder_layers: int = 0             # blocks of the encoder in front of an encoder-decoder's n_layers
    n_kv_heads: int = 0                   # fewer than n_heads: several query heads share one key/value head
    norm: str = "layernorm"
    # before each sublayer; after its residual sum; before it and on its output; after a sum in which the stream
    # counts α times; on its output alone
    norm_placement: str = "pre"
    norm_epsilon: float = 1e-5
    activation: str = "gelu"
    positions: str = "learned"
    sinusoidal_halves: bool = False       # sinusoidal positions: all sines come first, then all cosines (Marian)
    rotary_base: float = 10_000.0
    # how many of the first dimensions of a query and key rotary positions turn; 0: all d_k
    d_rotary: int = 0
    # how the angular frequencies are slowed, for longer texts: see core.model.positional.rotary_frequencies; (): not
    rotary_scaling: tuple[float, ...] = ()
    # each pair's angular frequency is divided by these, instead of rotary_scaling (YaRN, LongRoPE); (): not
    rotary_factors: tuple[float, ...] = ()
    rotary_gain: float = 1.0              # times the turned part of every query and key (YaRN, LongRoPE)
    # the base of each block if they differ: rotary_base, or another, which is not slowed; 0: the block turns
    # nothing, and has no positions; (): all have rotary_base
    block_rotary_bases: tuple[float, ...] = ()
    # ALiBi's lines m j are rounded to bfloat16, and divided by `divisor` as q·k is (Falcon)
    rounded_alibi: bool = False
    relative_max_distance: int = 128      # relative biases are shared by all longer distances
    # relative biases are shared by distances of one bucket, and by all blocks (T5); 0: every distance and
    # block has its own
    relative_buckets: int = 0
    mask: str = ""
    # keys a query sees under a sliding window, itself included; under a window on both sides as many to each side
    window: int = 64
    block_masks: tuple[str, ...] = ()     # the mask of each block if they differ; (): all have `mask`
    parallel_residual: bool = False       # attention and feed-forward both read resid_pre
    first_norm: bool = True               # the first block's attention reads through a norm (ModernBERT: not)
    shared_norm: bool = False             # in a parallel residual, both read it through one and the same norm
    # each query and key is divided by its root mean square, before any rotation (an RMSNorm over d_k)
    qk_norm: bool = False
    qk_norm_joint: bool = False           # with qk_norm: over the queries, or keys, of all heads together (OLMo 2)
    # with qk_norm: each head has its own LayerNorm, with a gain and no bias (StableLM 2 12B, Command R+)
    qk_norm_heads: bool = False
    attention_bias: bool = True
    output_bias: bool = True              # b_O, if attention_bias has biases at all
    output_bias_alone: bool = False       # b_O without attention_bias (GPT-Neo)
    mlp_bias: bool = True
    norm_bias: bool = True
    norm_gain: bool = True                # whether norms learn what they multiply by; else it is 1 (OLMo)
    tied_embeddings: bool = True          # logits = h_final E^T
    embedding_scale: float = 1.0          # times the rows of E as they enter the stream
    # numbers in a row of E, P and T, if not d: their sum, normed, is mapped into the stream by W_E and b_E,
    # and a head's transform maps back (ELECTRA); 0: d
    embedding_width: int = 0
    # with embedding_width: W_E maps only the rows of E, before P of width d is added, and W_H is the whole head's
    # transform; neither map has a bias (OPT-350m)
    plain_maps: bool = False
    # the sum of embedding and position is normed before the first block, in an encoder-decoder in each stack
    embedding_norm: bool = False
    n_token_types: int = 0                # texts told apart in one sequence (BERT's segments), a learned vector each
    head_transform: bool = False          # the unembedding reads norm(act(h_final W_H + b_H)) instead of h_final (BERT)
    head_bias: bool = True                # b_H of a head's transform
    unembedding_bias: bool = False        # b_U, one number a token added to its logit
    logit_scale: float = 1.0              # times the logits, before b_U
    # c: a logit u becomes c tanh(u / c), the last step of all (Gemma 2); 0: it stays
    logit_cap: float = 0.0
    residual_scale: float = 1.0           # times what every sublayer adds to the stream (Granite)
    score: str = "dot"                    # how a query is compared with a key: q·k, q W_S·k, or v·tanh(q + k)
    scale_scores: bool = True             # divide q·k, or q W_S·k, by `divisor`
    score_divisor: float = 0.0            # what scores are divided by, if not sqrt(d_k); 0: sqrt(d_k)
    score_cap: float = 0.0                # c: a score s becomes c tanh(s / c) before any bias and the mask; 0: it stays
    # every head has a number that takes part of its softmax's weight, which no token gets: a pattern's row sums to less
    # than 1 (gpt-oss)
    attention_sinks: bool = False
    # the classes of the classification head, which reads the first token's final vector; 0: there is none
    n_classes: int = 0
    class_pooling: str = "first"          # or it reads the mean of all tokens' final vectors
    # the classification head reads act(h W_P + b_P) of that vector h, with this curve; "": h itself; "head": the output
    # for it of the head's transform, which is part of an encoder's language head (ModernBERT)
    class_transform: str = ""
    class_names: tuple[str, ...] = ()     # of the classes, if they have names
    text_alone: bool = False              # the text-reading part of a model that also reads pictures
    # what reads the final vectors; with any other than "language", the logits of words mean nothing
    output_head: str = "language"
    # the token every sequence ends and, unless begin_of_text is another, begins with; None: the model has
    # no such custom
    end_of_text: int | None = 0
    end_tokens: tuple[int, ...] = ()      # further tokens that end a text, such as the one that ends a turn
    begin_of_text: int | None = None      # the token every sequence begins with, if it is not end_of_text
    mask_token: int | None = None         # the token that stands for a blank to fill in; None: the model knows none
    never_written: tuple[int, ...] = ()   # tokens that no translation has, however probable they are

    def __post_init__(self) -> None:
        per_head = self.d_model // max(self.n_heads, 1)
        derived = {
            "d_k": self.d_k or per_head,
            "d_v": self.d_v or per_head,
            "d_ff": None if self.d_ff is None else self.d_ff or 4 * self.d_model,
            "n_kv_heads": self.n_kv_heads or self.n_heads,
            "block_experts": tuple(bool(of_experts) for of_experts in self.block_experts),
            # lists if they were read from JSON
            **{name: tuple(getattr(self, name)) for name in ("rotary_scaling", "rotary_factors", "block_rotary_bases",
                                                             "block_masks", "end_tokens", "class_names",
                                                             "never_written")},
            "n_encoder_layers": self.n_encoder_layers or (self.n_layers if self.kind == "encoder-decoder" else 0),
            "mask": self.mask or ("bidirectional" if self.kind == "encoder" else "causal"),
        }
        derived["d_expert"] = self.d_expert or (derived["d_ff"] or 0 if self.n_experts else 0)
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            absent = name == "d_ff" and value is None
            if not absent and (type(value) is not int or not least <= value <= most):
                raise ValueError(f"{name} must be a whole number from {least} to {most:,}, not {value!r}.")
        for name, allowed in CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        for kind in self.block_masks:
            check_choice("Each of block_masks", kind, MASKS)
        named = [(name, getattr(self, name)) for name in ("end_of_text", "begin_of_text", "mask_token")]
        for name, token_id in (*named, *(("end_tokens", token_id) for token_id in self.end_tokens),
                               *(("never_written", token_id) for token_id in self.never_written)):
            if token_id is not None and not 0 <= token_id < self.vocab_size:
                raise ValueError(f"{name} ({token_id}) is no id of a vocabulary of {self.vocab_size} tokens.")
        for broken, complaint in self._rules():
            if broken:
                raise ValueError(complaint)

    def _rules(self) -> tuple[tuple[bool, str], ...]:
        """Rules between several fields: whether each is broken, and the sentence that says so."""
        crossed = self.kind == "encoder-decoder"
        scaling = self.rotary_scaling
        return (
            (self.norm_epsilon <= 0, f"norm_epsilon must be above 0, not {self.norm_epsilon}."),
            (self.rotary_base <= 0, f"rotary_base must be above 0, not {self.rotary_base}."),
            (self.n_heads % self.n_kv_heads > 0,
             f"n_heads ({self.n_heads}) must be a multiple of n_kv_heads ({self.n_kv_heads})."),
            (self.positions == "rotary" and self.rotary_width % 2 > 0,
             f"Rotary positions turn pairs of dimensions, so d_k, or d_rotary where that is less, must be even, not "
             f"{self.rotary_width}."),
            (self.d_rotary > self.d_k, f"d_rotary ({self.d_rotary}) cannot be more than d_k ({self.d_k})."),
            (len(scaling) not in (0, 1, 4) or min(scaling, default=1) <= 0,
             f"rotary_scaling is empty, one number above 0, or four, not {scaling!r}."),
            (len(self.rotary_factors) not in (0, self.rotary_width // 2) or min(self.rotary_factors, default=1) <= 0,
             f"rotary_factors is empty or has a number above 0 for each of {self.rotary_width // 2} pairs, not "
             f"{len(self.rotary_factors)} numbers."),
            (bool(scaling and self.rotary_factors), "rotary_factors stand in the place of rotary_scaling: give one."),
            *((len(getattr(self, name)) not in (0, self.n_layers), f"{name} is empty or has an entry for each of "
               f"{self.n_layers} blocks, not {len(getattr(self, name))}.")
              for name in ("block_masks", "block_rotary_bases", "block_experts")),
            *self._expert_rules(),
            (min(self.block_rotary_bases, default=0) < 0, "A base of block_rotary_bases is above 0, or 0 for none."),
            (min(self.score_divisor, self.score_cap, self.logit_cap) < 0 or self.rotary_gain <= 0,
             "score_divisor, score_cap and logit_cap are at least 0, and rotary_gain is above 0."),
            (crossed and bool(self.block_masks or self.block_rotary_bases),
             "block_masks and block_rotary_bases are defined for one stack only, not for an encoder-decoder."),
            (self.qk_norm_joint and not self.qk_norm, "qk_norm_joint belongs to qk_norm."),
            (self.qk_norm_heads and (not self.qk_norm or self.qk_norm_joint),
             "qk_norm_heads belongs to qk_norm, and stands in the place of qk_norm_joint."),
            (self.relative_buckets % 4 > 0,
             f"relative_buckets must be a multiple of 4 (both directions, near and far) or 0, not "
             f"{self.relative_buckets}."),
            (self.relative_buckets > 0 and self.relative_max_distance <= self.relative_buckets // 2,
             f"relative_max_distance ({self.relative_max_distance}) must be above half of relative_buckets "
             f"({self.relative_buckets}): nearer distances have a bucket each."),
            ((self.n_encoder_layers > 0) != crossed,
             f"n_encoder_layers ({self.n_encoder_layers}) belongs to an encoder-decoder, and this is a model of kind "
             f"{self.kind!r}."),
            (self.embedding_width > 0 and (crossed or self.class_transform == "head"
                                           or self.output_head == "language" and not self.head_transform),
             "embedding_width is defined for one stack, whose logits of words are read through a head's transform."),
            (self.plain_maps and (not self.embedding_width or not self.head_transform or self.head_bias
                                  or self.embedding_norm or self.n_token_types > 0),
             "plain_maps is of narrow embeddings without a norm and token types, and of a head's transform without "
             "head_bias."),
            (not self.first_norm and not (self.reads_normed and self.embedding_norm),
             "first_norm=False is of blocks that read through a norm, and of a norm of the embeddings in its place."),
            (self.class_transform == "head" and not self.head_transform,
             "class_transform='head' belongs to a head's transform."),
            (bool(self.class_transform) and not self.n_classes, "class_transform belongs to a classification head."),
            (len(self.class_names) not in (0, self.n_classes),
             f"class_names is empty or has a name for each of {self.n_classes} classes, not {len(self.class_names)}."),
            (self.shared_norm and not self.parallel_residual, "shared_norm belongs to a parallel residual."),
            (crossed and (self.n_token_types > 0 or self.head_transform),
             "Token types and a head's transform are defined for one stack only, not for an encoder-decoder."),
            (self.parallel_residual and (crossed or self.norm_placement != "pre"),
             "A parallel residual is defined for norm_placement='pre' and without cross-attention only."),
        )

    def _expert_rules(self) -> tuple[tuple[bool, str], ...]:
        n, active = self.n_experts, self.n_active_experts
        return (
            (active > n or (n > 0) != (active > 0),
             f"n_active_experts ({active}) is from 1 to n_experts ({n}), or 0 where there are no experts."),
            (n == 0 and bool(self.d_expert or self.d_shared_expert or self.block_experts or self.router_bias),
             "d_expert, d_shared_expert, block_experts and router_bias belong to n_experts."),
            (n > 0 and self.d_ff is None, "A model without a feed-forward part has no experts."),
            (n > 0 and self.kind == "encoder-decoder",
             "Experts are defined for one stack only, not for an encoder-decoder."),
            (bool(self.block_experts) and not any(self.block_experts), "block_experts names no block of experts."),
            (n * self.n_layers > MOST_EXPERTS,
             f"The experts of all blocks together ({n * self.n_layers:,}) are at most {MOST_EXPERTS:,}."),
        )

    @property
    def first_token(self) -> int | None:
        """The token every sequence begins with; None: the model has no such custom."""
        return self.end_of_text if self.begin_of_text is None else self.begin_of_text

    @property
    def ends(self) -> frozenset[int]:
        """The tokens that end a text while it is being written."""
        return frozenset(self.end_tokens if self.end_of_text is None else (self.end_of_text, *self.end_tokens))

    @property
    def d_embedding(self) -> int:
        """Numbers in a row of E, and in the output of a head's transform."""
        return self.embedding_width or self.d_model

    @property
    def d_entering(self) -> int:
        """Numbers in a row of P and T, which are added to what the tokens put in."""
        return self.d_model if self.plain_maps else self.d_embedding

    @property
    def head_curves(self) -> bool:
        """Whether a head's transform goes on from W_H to an activation and a norm."""
        return self.head_transform and not self.plain_maps

    @property
    def root_scaled(self) -> bool:
        """Whether the rows of E are multiplied by √d as they enter the stream, and by no other number."""
        return math.isclose(self.embedding_scale, math.sqrt(self.d_model))

    @property
    def rotary_width(self) -> int:
        """How many dimensions of a query and key rotary positions turn."""
        return self.d_rotary or self.d_k

    @property
    def writes_bias(self) -> bool:
        """Whether attention has b_O."""
        return self.output_bias_alone or self.attention_bias and self.output_bias

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
        return self.score_divisor or math.sqrt(self.d_k)

    def mask_of(self, layer: int) -> str:
        """The mask of one block."""
        return self.block_masks[layer] if self.block_masks else self.mask

    def rotary_base_of(self, layer: int) -> float:
        """The base of one block's rotary positions; 0: the block turns nothing."""
        return self.block_rotary_bases[layer] if self.block_rotary_bases else self.rotary_base

    def has_experts(self, layer: int) -> bool:
        """Whether one block is of experts."""
        return self.n_experts > 0 and (self.block_experts[layer] if self.block_experts else True)

    @property
    def classifies_alone(self) -> bool:
        """Whether the classification head has a map of its own before the classes, W_P."""
        return self.class_transform not in ("", "head")

    @property
    def gated(self) -> bool:
        """Whether the feed-forward part multiplies two projections of its input (SwiGLU, GeGLU)."""
        return self.activation in GATED_ACTIVATIONS

    def to_dict(self) -> dict:
        """The fields as plain values, for config.json."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: dict) -> ModelConfig:
        """The config that `to_dict` wrote; an unknown or missing field raises ValueError naming it."""
        known = {f.name for f in dataclasses.fields(cls)}
        if unknown := sorted(set(fields) - known):
            raise ValueError(f"Unknown model settings: {', '.join(unknown)}.")
        required = {f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING}
        if missing := sorted(required - set(fields)):
            raise ValueError(f"Missing model settings: {', '.join(missing)}.")
        return cls(**fields)


# The bundled model: small enough for 60 MB on disk and a few milliseconds a pass, large enough to write a story.
STORIES = ModelConfig(vocab_size=4096, d_model=256, n_layers=6, n_heads=8, n_context=256)
