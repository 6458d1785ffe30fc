"""Our models in the format of transformers: GPT-2, GPT-NeoX or Llama, whichever has exactly the model's architecture.
"""
import json
from collections.abc import Iterator
from pathlib import Path

import tokenizers
from safetensors.torch import save_file
from tokenizers import processors

from core.huggingface import tokens
from core.huggingface.errors import PretrainedError
from core.huggingface.families import plan_of
from core.huggingface.fields import ROTARY_SCALING
from core.huggingface.hub import CONFIG
from core.huggingface.plan import Plan
from core.huggingface.weights import SINGLE
from core.model.config import ModelConfig
from core.model.tokenizer import END_OF_TEXT, MASK, Tokenizer
from core.model.transformer import Transformer

THEIR_NAMES = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "swish": "silu", "geglu": "gelu",
               "geglu_tanh": "gelu_pytorch_tanh", "swiglu": "silu",
               "swiglu_clamped": "silu"}
SPECIAL_TOKENS = ("end_of_text", "end_tokens", "begin_of_text", "mask_token", "never_written")


def save_pretrained(model: Transformer, tokenizer: Tokenizer, folder: str | Path) -> str:
    """Write model and tokenizer into `folder`, float32, so that transformers' AutoModelForCausalLM and AutoTokenizer
    load them; return the model_type.

    Their tokenizer puts the end-of-text token before a text, as this program does. Raises PretrainedError for an
    architecture that is none of the three, and for a tokenizer that is not this program's.
    """
    values, plan = _equivalent(model.config)
    if type(tokenizer) is not Tokenizer:
        raise PretrainedError("tokenizer", "Only a tokenizer of this program's own is written: one that came with a "
                                           "model stands in that model's folder.")
    if tokenizer.vocab_size != model.config.vocab_size:
        raise PretrainedError("mismatch", f"The model has a vocabulary of {model.config.vocab_size} tokens, its "
                                          f"tokenizer one of {tokenizer.vocab_size}.")
    weights, folder = model.state_dict(), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    save_file({entry.theirs: entry.join(*(weights[name].detach().cpu().float() for name in entry.ours)).clone()
                             .contiguous() for entry in plan.entries}, folder / SINGLE, {"format": "pt"})
    (folder / CONFIG).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    _save_tokenizer(tokenizer, folder, model.config.n_context)
    return values["model_type"]


def _equivalent(config: ModelConfig) -> tuple[dict, Plan]:
    """The config.json that is read as this architecture, and its plan."""
    for values in _candidates(config):
        try:
            plan = plan_of(values, ())
        except PretrainedError:
            continue
        if _architecture(plan.config) == _architecture(config):
            return values, plan
    raise PretrainedError("architecture", "transformers has no model of this architecture that this program knows. It "
                                          "can write three: like GPT-2 (LayerNorm before each part, learned positions, "
                                          "all biases), like GPT-NeoX (the same with rotary positions), and like Llama "
                                          "(RMSNorm before each part, rotary positions, a gated feed-forward part).")


def _architecture(config: ModelConfig) -> dict:
    return {name: value for name, value in config.to_dict().items()
            if name not in SPECIAL_TOKENS and (name != "window" or config.mask == "sliding-window")
            and (name != "relative_max_distance" or config.positions == "relative")
               and (name != "rotary_base" or config.positions == "rotary")}


def _candidates(config: ModelConfig) -> Iterator[dict]:
    """Yield a config.json of each family for these sizes; only reading it shows whether the architecture is the same.
    """
    act, ends = THEIR_NAMES[config.activation], dict(
        bos_token_id=config.first_token,
        eos_token_id=([config.end_of_text, *config.special.end_tokens] if config.special.end_tokens
                      else config.end_of_text))
    common = dict(vocab_size=config.vocab_size, tie_word_embeddings=config.tied_embeddings, dtype="float32", **ends)
    sizes = dict(hidden_size=config.d_model, num_hidden_layers=config.n_layers,
                 num_attention_heads=config.n_heads, intermediate_size=config.d_ff,
                 max_position_embeddings=config.n_context, hidden_act=act, attention_bias=config.attention_bias)
    yield common | dict(model_type="gpt2", architectures=["GPT2LMHeadModel"], n_embd=config.d_model,
                        n_layer=config.n_layers, n_head=config.n_heads, n_positions=config.n_context,
                        n_inner=config.d_ff, activation_function=act, layer_norm_epsilon=config.norm_epsilon)
    kind, names = next((kind, names) for kind, names in ROTARY_SCALING.items()
                       if len(names) == len(config.rotary.rotary_scaling))
    rope = dict(zip(names, config.rotary.rotary_scaling), rope_type=kind, rope_theta=config.rotary.rotary_base)
    yield common | sizes | dict(model_type="gpt_neox", architectures=["GPTNeoXForCausalLM"],
                                layer_norm_eps=config.norm_epsilon, 
                                use_parallel_residual=config.sublayer.parallel_residual,
                                rope_parameters=rope | dict(partial_rotary_factor=config.rotary_width / config.d_k))
    yield common | sizes | dict(model_type="llama", architectures=["LlamaForCausalLM"],
                                rms_norm_eps=config.norm_epsilon, num_key_value_heads=config.n_kv_heads,
                                head_dim=config.d_k, mlp_bias=config.mlp_bias, rope_parameters=rope)


def _save_tokenizer(tokenizer: Tokenizer, folder: Path, n_context: int) -> None:
    tokenizer.save(folder / tokens.WHOLE)
    backend = tokenizers.Tokenizer.from_file(str(folder / tokens.WHOLE))
    backend.post_processor = processors.TemplateProcessing(single=f"{END_OF_TEXT} $A",
                                                           pair=f"{END_OF_TEXT} $A {END_OF_TEXT} $B",
                                                           special_tokens=[(END_OF_TEXT, tokenizer.end_of_text)])
    backend.save(str(folder / tokens.WHOLE))
    settings = dict(tokenizer_class="PreTrainedTokenizerFast", bos_token=END_OF_TEXT, eos_token=END_OF_TEXT,
                    model_max_length=n_context, clean_up_tokenization_spaces=False)
    settings |= {} if tokenizer.mask_token is None else {"mask_token": MASK}
    (folder / tokens.SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
