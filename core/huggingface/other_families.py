"""Families that are not read: the part that this program does not show, and the nearest model that opens.

The reasons were looked up in the modelling code of transformers 5.23.
"""
import re

_STATE = "carries the text along in a state, in all of its blocks or in most, in place of attention"
_EXPERTS = "sends tokens to experts in a way of its own"
_LATENT = ("keeps of each token one short vector, out of which its keys and values are made (multi-head latent "
           "attention)")
_PAIRS = "turns neighbouring numbers of a query as a pair (interleaved rotary positions)"
_SQUARED = "has feed-forward parts without a gate, whose curve is the square of ReLU"
REASONS: dict[str, str] = {
    **dict.fromkeys(("mamba", "mamba2", "falcon_mamba", "rwkv", "rwkv7", "xlstm", "recurrent_gemma", "jamba", "bamba",
                     "zamba", "zamba2", "nemotron_h", "retnet", "falcon_h1", "kimi_linear", "olmo_hybrid",
                     "qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"), _STATE),
    **dict.fromkeys(("lfm2", "lfm2_moe", "lfm3"),
                    "mixes neighbouring tokens by short convolutions in most of its blocks, in place of attention"),
    "granitemoehybrid": "has a feed-forward part of another form and, in most blocks of its -h- models, a state in "
                        "place of attention",
    **dict.fromkeys(("deberta", "deberta-v2"), "keeps what a word is and where it stands apart in its scores"),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_v4", "kimi_k2", "mistral4",
                     "glm4_moe_lite"), _LATENT),
    **dict.fromkeys(("glm4_moe", "minimax", "dbrx", "llama4", "llama4_text", "ernie4_5_moe", "hunyuan_v1_moe",
                     "phimoe", "granitemoe", "granitemoeshared", "jetmoe", "flex_olmo", "dots1", "exaone_moe",
                     "switch_transformers", "nllb-moe", "mellum"), _EXPERTS),
    **dict.fromkeys(("gemma3n", "gemma3n_text", "gemma4", "gemma4_text"),
                    "gives each block embeddings of its own, and lets its last blocks read the keys and values of "
                    "earlier ones"),
    "vaultgemma": "is Gemma 2 without the norms behind each part",
    "olmo3": "is OLMo 2 with windows in three of four blocks, and other positions in those",
    "ministral": "has windows in the blocks that its config names, and in no others",
    "ministral3": "scales its queries by where they stand in a long text",
    **dict.fromkeys(("glm", "glm4", "ernie4_5"), _PAIRS), "helium": _PAIRS,
    "exaone4": "norms what each part writes, and may turn its queries in the blocks with a window alone",
    "hunyuan_v1_dense": "norms queries and keys after it has turned them",
    "seed_oss": "has biases where this program's Llama has none",
    "nemotron": _SQUARED, "arcee": _SQUARED,
    "apertus": "has feed-forward parts with a curve that learns its own shape (xIELU)",
    "nanochat": "norms queries and keys after it has turned them, and its curve is the square of ReLU",
    "bitnet": "rounds its weights to −1, 0 and 1 as it computes",
    "diffllama": "takes one attention pattern away from another in each head",
    "doge": "learns what each head may attend to",
    "albert": "goes through one block again and again", "mpnet": "adds to its scores by distance (relative positions)",
    **dict.fromkeys(("nomic_bert", "eurobert", "esm"), "is an encoder with rotary positions, on a plan of its own"),
    "modernbert-decoder": "is ModernBERT with a causal mask",
    "umt5": "has relative positions of its own in each block", "longt5": "attends to neighbours alone in its encoder",
    **dict.fromkeys(("m2m_100", "xglm"), "has sine waves for positions, which begin elsewhere than Marian's"),
    "openai-gpt": "norms after each part", "ctrl": "adds sine waves, and norms in a way of its own",
    "xlnet": "reads its words in an order drawn at random",
    "biogpt": "scales its embeddings, and numbers its positions as OPT does",
    **dict.fromkeys(("llada", "diffusion_gemma"), "writes by unmasking, not from left to right"),
    **dict.fromkeys(("clip", "clip_text_model", "llava", "llava_next", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "mllama",
                     "idefics3", "paligemma", "mistral3", "smolvlm", "siglip", "vit", "dinov2", "lfm2_vl"),
                    "reads pictures"),
    **dict.fromkeys(("whisper", "wav2vec2"), "hears sound")}
# the nearest model that opens, by a family's name: the first that matches; "" if none is near
NEAREST = (
    (r"^(clip|siglip|vit|dinov2|whisper|wav2vec2)", ""),
    (r"^qwen.*moe", "Qwen/Qwen1.5-MoE-A2.7B"),
    (r"qwen|^kimi_linear", "Qwen/Qwen3-0.6B"),
    (r"gemma", "google/gemma-3-270m"),
    (r"^granite", "ibm-granite/granite-3.1-2b-base"),
    (r"^olmo", "allenai/OLMo-2-0425-1B"),
    (r"moe|deepseek|kimi|dbrx|llama4|minimax|dots1|flex_olmo|mistral4|mellum", "allenai/OLMoE-1B-7B-0924"),
    (r"t5|switch", "google-t5/t5-small"),
    (r"^(m2m|nllb|mbart)", "facebook/mbart-large-50"),
    (r"^(mpnet|nomic)", "sentence-transformers/all-MiniLM-L6-v2"),
    (r"^(eurobert|modernbert)", "answerdotai/ModernBERT-base"),
    (r"bert|^(esm|xlnet|electra|funnel|luke|layoutlm|longformer|big_bird)", "google-bert/bert-base-uncased"),
    (r"^(gpt|openai|ctrl|biogpt|xglm)", "openai-community/gpt2"),
    (r"^phi", "microsoft/phi-1_5"),
    (r"falcon|mamba|zamba|bamba|rwkv|xlstm|retnet|jamba|lfm|llama|llava|smol|glm|exaone|ernie|hunyuan|seed_oss|"
     r"nemotron|apertus|arcee|helium|nanochat|bitnet|doge|mistral|ministral|llada|idefics",
     "HuggingFaceTB/SmolLM2-135M"))


def reason(family: object) -> str:
    """The part of a family that this program does not show, as the end of "one …"; "" if it is not known."""
    return REASONS.get(family, "") if isinstance(family, str) else ""


def nearest(family: object) -> str:
    """The name on the Hub of a model that opens and is built much like those of a family; "" if none is known.

    >>> nearest("qwen3_5"), nearest("vit")
    ('Qwen/Qwen3-0.6B', '')
    """
    named = family if isinstance(family, str) else ""
    return next((model for pattern, model in NEAREST if re.search(pattern, named)), "")
