"""The reference for a new prompt: Streamlit with one field of text and what stands in it; with WITH_TRACE in the
environment the pass over that text is made in between, as a lesson makes it.
"""
import os
import sys
from pathlib import Path

import streamlit as st

text = st.text_area("text", height=68)
if "WITH_TRACE" in os.environ:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    import torch

    from core.app.compute import cache

    loaded = cache.shared_model("stories", "cpu")
    with torch.inference_mode():
        loaded.runner(torch.tensor(loaded.tokenizer.prompt(text, loaded.model.config.n_context).token_ids))
st.write(text)
