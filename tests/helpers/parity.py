"""Small random Hugging Face models, made on the spot, and the same weights in our Transformer."""
from __future__ import annotations

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM

from core.model.config import ModelConfig
from core.model.transformer import Transformer


def split_heads(weight: Tensor, n_heads: int) -> Tensor:
    """(h, d, k) from (d, h k): the columns of head 0 first."""
    return weight.reshape(weight.shape[0], n_heads, -1).permute(1, 0, 2)


def randomised(model):
    """The model with every parameter random, biases and norms too, so that a forgotten one shows."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():
            noise = torch.randn(p.shape, generator=generator) * 0.1
            p.copy_(p + noise if p.ndim == 1 else noise)
    return model.eval().requires_grad_(False)


def copied(config: ModelConfig, weights: dict[str, Tensor]) -> Transformer:
    model = Transformer(config)
    model.load_state_dict(weights)
    return model.eval().requires_grad_(False)


def gpt2(vocab_size: int = 61, d: int = 24, n_layers: int = 2, n_heads: int = 3,
         n_context: int = 32) -> tuple[GPT2LMHeadModel, Transformer]:
    """A GPT-2: pre-norm, learned positions, tanh GELU, biases, tied."""
    theirs = randomised(GPT2LMHeadModel(GPT2Config(
        vocab_size=vocab_size, n_positions=n_context, n_embd=d, n_layer=n_layers, n_head=n_heads, bos_token_id=0,
        eos_token_id=0, attn_implementation="eager")))
    config = ModelConfig(vocab_size=vocab_size, d_model=d, n_layers=n_layers, n_heads=n_heads, n_context=n_context,
                         activation="gelu_tanh")
    w = theirs.transformer.state_dict()
    weights = {"E": w["wte.weight"], "P": w["wpe.weight"], "final_norm.weight": w["ln_f.weight"],
               "final_norm.bias": w["ln_f.bias"]}
    for l in range(n_layers):
        theirs_l, ours_l = f"h.{l}.", f"blocks.{l}."
        qkv_W, qkv_b = w[theirs_l + "attn.c_attn.weight"].chunk(3, dim=1), w[theirs_l + "attn.c_attn.bias"].chunk(3)
        for name, W, b in zip("QKV", qkv_W, qkv_b):
            weights[f"{ours_l}W_{name}"], weights[f"{ours_l}b_{name}"] = split_heads(W, n_heads), b.reshape(n_heads, -1)
        weights[ours_l + "W_O"] = w[theirs_l + "attn.c_proj.weight"].reshape(n_heads, -1, d)
        for ours, key in (("b_O", "attn.c_proj.bias"), ("attn_norm.weight", "ln_1.weight"),
                          ("attn_norm.bias", "ln_1.bias"),
                          ("mlp_norm.weight", "ln_2.weight"),
                          ("mlp_norm.bias", "ln_2.bias"), ("W_1", "mlp.c_fc.weight"),
                          ("b_1", "mlp.c_fc.bias"), ("W_2", "mlp.c_proj.weight"), ("b_2", "mlp.c_proj.bias")):
            weights[ours_l + ours] = w[theirs_l + key]
    return theirs, copied(config, weights)


def llama(vocab_size: int = 61, d: int = 24, n_layers: int = 2, n_heads: int = 4,
          n_kv_heads: int = 2) -> tuple[LlamaForCausalLM, Transformer]:
    """A Llama: RMSNorm, rotary, SwiGLU, shared key/value heads, no biases, untied."""
    theirs = randomised(LlamaForCausalLM(LlamaConfig(
        vocab_size=vocab_size, hidden_size=d, num_hidden_layers=n_layers, num_attention_heads=n_heads,
        num_key_value_heads=n_kv_heads, intermediate_size=40, max_position_embeddings=32, tie_word_embeddings=False,
        rms_norm_eps=1e-5, attn_implementation="eager")))
    config = ModelConfig.of(
        vocab_size=vocab_size, d_model=d, n_layers=n_layers, n_heads=n_heads, n_kv_heads=n_kv_heads, n_context=32,
        d_ff=40, norm="rmsnorm", activation="swiglu", positions="rotary", attention_bias=False, mlp_bias=False,
        norm_bias=False, tied_embeddings=False)
    w = theirs.model.state_dict()
    weights = {"E": w["embed_tokens.weight"], "W_U": theirs.lm_head.weight, "final_norm.weight": w["norm.weight"]}
    for l in range(n_layers):
        theirs_l, ours_l = f"layers.{l}.", f"blocks.{l}."
        for name, key, heads in (("Q", "q_proj", n_heads), ("K", "k_proj", n_kv_heads), ("V", "v_proj", n_kv_heads)):
            weights[f"{ours_l}W_{name}"] = split_heads(w[f"{theirs_l}self_attn.{key}.weight"].T, heads)
        weights[ours_l + "W_O"] = w[theirs_l + "self_attn.o_proj.weight"].T.reshape(n_heads, -1, d)
        for ours, key in (("W_gate", "gate_proj"), ("W_1", "up_proj"), ("W_2", "down_proj")):
            weights[ours_l + ours] = w[f"{theirs_l}mlp.{key}.weight"].T
        weights[ours_l + "attn_norm.weight"] = w[theirs_l + "input_layernorm.weight"]
        weights[ours_l + "mlp_norm.weight"] = w[theirs_l + "post_attention_layernorm.weight"]
    return theirs, copied(config, weights)


def gpt_neox(vocab_size: int = 61, d: int = 24, n_layers: int = 2,
             n_heads: int = 3) -> tuple[GPTNeoXForCausalLM, Transformer]:
    """A Pythia: LayerNorm, rotary on the whole head, parallel residual, exact GELU, biases, untied."""
    theirs = randomised(GPTNeoXForCausalLM(GPTNeoXConfig(
        vocab_size=vocab_size, hidden_size=d, num_hidden_layers=n_layers, num_attention_heads=n_heads,
        intermediate_size=4 * d, rotary_pct=1.0, max_position_embeddings=32, use_parallel_residual=True,
        hidden_act="gelu", attn_implementation="eager")))
    config = ModelConfig.of(vocab_size=vocab_size, d_model=d, n_layers=n_layers, n_heads=n_heads, n_context=32,
                         positions="rotary", parallel_residual=True, tied_embeddings=False)
    w = theirs.gpt_neox.state_dict()
    weights = {"E": w["embed_in.weight"],
               "W_U": next(p for n, p in theirs.named_parameters() if n in ("embed_out.weight", "lm_head.weight")),
               "final_norm.weight": w["final_layer_norm.weight"], "final_norm.bias": w["final_layer_norm.bias"]}
    for l in range(n_layers):
        theirs_l, ours_l = f"layers.{l}.", f"blocks.{l}."
        qkv_W = w[theirs_l + "attention.query_key_value.weight"].reshape(n_heads, 3, -1, d)  # head by head: q, k, v
        qkv_b = w[theirs_l + "attention.query_key_value.bias"].reshape(n_heads, 3, -1)
        for i, name in enumerate("QKV"):
            weights[f"{ours_l}W_{name}"], weights[f"{ours_l}b_{name}"] = qkv_W[:, i].transpose(-1, -2), qkv_b[:, i]
        weights[ours_l + "W_O"] = w[theirs_l + "attention.dense.weight"].T.reshape(n_heads, -1, d)
        weights[ours_l + "b_O"] = w[theirs_l + "attention.dense.bias"]
        for ours, key in (("attn_norm", "input_layernorm"), ("mlp_norm", "post_attention_layernorm")):
            weights[f"{ours_l}{ours}.weight"], weights[f"{ours_l}{ours}.bias"] = (w[f"{theirs_l}{key}.weight"],
                                                                                  w[f"{theirs_l}{key}.bias"])
        for i, key in ((1, "dense_h_to_4h"), (2, "dense_4h_to_h")):
            weights[f"{ours_l}W_{i}"], weights[f"{ours_l}b_{i}"] = (w[f"{theirs_l}mlp.{key}.weight"].T,
                                                                    w[f"{theirs_l}mlp.{key}.bias"])
    return theirs, copied(config, weights)
