"""The reference for the wall of heads: the same component with the same bytes for the same press, and nothing
else on the page.

The bytes are computed beforehand; with WITH_TRACE in the environment, on the spot, as the lesson does.
"""
import os
import sys
from pathlib import Path

import numpy as np
import streamlit as st
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.app.shell import page_style
from core.app.state import prompts
from core.components.heads_wall import Heads, Wall, heads_wall
from core.model.checkpoints import load_bundled
from core.model.intervention import HeadEdit, Intervention

LEAST, MOST, STEP = -1.0, 3.0, 0.1


@st.cache_resource
def prepared() -> tuple:
    model, tokenizer = load_bundled("stories")
    ids = tokenizer.prompt(prompts.default_prompt(), model.config.n_context).token_ids
    made = [traced(model, ids, LEAST + i * STEP) for i in range(round((MOST - LEAST) / STEP) + 1)]
    return model, ids, [tokenizer.visible(i) for i in ids], made


def traced(model, ids, factor: float) -> tuple[np.ndarray, np.ndarray]:
    trace = model(torch.tensor(ids),
                  Intervention(heads=tuple(HeadEdit(0, head, "scale", factor) for head in range(model.config.n_heads))))
    return torch.stack([block.pattern for block in trace.blocks]).numpy(), trace.blocks[0].allowed.numpy()


torch.set_num_threads(1)
page_style.inject()                # the wall is painted in the page's colours
factor = st.slider("factor", LEAST, MOST, 0.5, step=STEP)
model, ids, tokens, made = prepared()
patterns, allowed = traced(model, ids, factor) if "WITH_TRACE" in os.environ else made[round((factor - LEAST) / STEP)]
words = dict.fromkeys(("title", "scale", "masked", "waiting"), " ")
heads_wall(Wall(Heads(patterns, allowed), tokens, words, selected=(0, 0)), key="heads_wall")
