"""The reference for the wall of heads: the same component with bytes of the same size and nothing else on the page."""
import sys
from pathlib import Path

import numpy as np
import streamlit as st
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.checkpoints import load_bundled
from core.intervention import HeadEdit, Intervention
from core.ui import state
from core.ui.components.heads_wall import heads_wall


@st.cache_resource
def patterns() -> tuple[list[np.ndarray], np.ndarray, list[str]]:
    model, tokenizer = load_bundled("stories")
    ids = tokenizer.prompt(state.default_prompt(), model.config.n_context).token_ids
    made = []
    for factor in (1.0, 1.1):
        heads = tuple(HeadEdit(0, head, "scale", factor) for head in range(model.config.n_heads))
        trace = model(torch.tensor(ids), Intervention(heads=heads))
        made.append(torch.stack([block.pattern for block in trace.blocks]).numpy())
    return made, trace.blocks[0].allowed.numpy(), [tokenizer.visible(i) for i in ids]


factor = st.slider("factor", -1.0, 3.0, 1.0, step=0.1)
made, allowed, tokens = patterns()
words = dict.fromkeys(("title", "scale", "masked", "waiting"), " ")
heads_wall(made[round(factor * 10) % 2], allowed, tokens, key="heads_wall", text=words, selected=(0, 0))
