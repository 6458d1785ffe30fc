"""Small models of the decoders between GPT-2 and Llama, in the keys of their configs."""
from __future__ import annotations

import transformers as hf

GPT_NEO = dict(vocab_size=61, hidden_size=24, num_layers=2, num_heads=3, max_position_embeddings=40, window_size=6,
               attention_types=[[["global", "local"], 1]])

CASES: dict[str, tuple[type, dict]] = {
    "gpt-neo": (hf.GPTNeoConfig, GPT_NEO),
    "gpt-neo untied, relu": (hf.GPTNeoConfig,
                             GPT_NEO | dict(attention_types=[[["local"], 2]], tie_word_embeddings=False,
                                            activation_function="relu", intermediate_size=50)),
}

# config.json as the hub has it, with small numbers: the layouts from before transformers 5
PUBLISHED: dict[str, dict] = {
    "TinyStories": dict(
        _name_or_path="EleutherAI/gpt-neo-125M", activation_function="gelu_new", architectures=["GPTNeoForCausalLM"],
        attention_dropout=0, attention_layers=["global", "local"], attention_types=[[["global", "local"], 1]],
        bos_token_id=60, embed_dropout=0, eos_token_id=60, gradient_checkpointing=False, hidden_size=24,
        initializer_range=0.02, intermediate_size=None, layer_norm_epsilon=1e-05, max_position_embeddings=40,
        model_type="gpt_neo", num_heads=3, num_layers=2, resid_dropout=0, summary_activation=None,
        summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True,
        torch_dtype="float32", transformers_version="4.28.1", use_cache=True, vocab_size=61, window_size=8),
}
