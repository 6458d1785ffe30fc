"""Models of random weights in which all sizes differ: an axis that is taken for another, a layer for another or a
position for its neighbour shows in every number."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from core import huggingface
from core.model.tokenizer import Tokenizer
from core.model.trace import Trace
from core.model.transformer import Transformer
from tests.helpers import huggingface_models, library_models

VOCAB_SIZE = 700
PROMPT = "Once upon a time there was the girl."     # no token twice
SHAPES = {      # name -> (case of tests.helpers.huggingface_models, its changes)
    # N = 9, L = 3, h = 4, d = 20, d_k = 5, d_ff = 11
    "learned": ("gpt2", dict(n_layer=3, n_head=4, n_embd=20, n_inner=11, n_positions=16)),
    # N = 9, L = 2, h = 6, h_kv = 3, d = 24, d_k = 10, d_ff = 13
    "grouped": ("llama", dict(num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=3, hidden_size=24,
                              head_dim=10, intermediate_size=13, max_position_embeddings=32)),
}
# the same as "grouped", with five experts in place of each feed-forward part, two of which read a token
EXPERTS = {"experts": ("mixtral", SHAPES["grouped"][1] | dict(num_local_experts=5, num_experts_per_tok=2))}


@dataclass(frozen=True)
class Shown:
    """A model of SHAPES or EXPERTS in its folder, and its pass over PROMPT."""

    model: Transformer
    tokenizer: Tokenizer
    trace: Trace

    @property
    def tokens(self) -> list[str]:
        """The N tokens of the prompt as a page shows them."""
        return [self.tokenizer.visible(token) for token in self.trace.token_ids.tolist()]


def shown(root: Path, name: str) -> Shown:
    """The model of that name, saved below `root` in a folder that is called so."""
    case, changes = (SHAPES | EXPERTS)[name]
    huggingface_models.saved(case, root / name, vocab_size=VOCAB_SIZE, bos_token_id=0, eos_token_id=0,
                             pad_token_id=None, **changes)
    library_models.save_tokenizer(root / name, VOCAB_SIZE - 3, begins=False)
    model, tokenizer = huggingface.from_pretrained(root / name)
    ids = torch.tensor(tokenizer.prompt(PROMPT, model.config.n_context).token_ids)
    with torch.inference_mode():
        return Shown(model, tokenizer, model(ids))
