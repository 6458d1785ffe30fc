"""The reference for a chart that follows a slider through Python: the gradients of recurrent networks, computed
beforehand, and nothing else on the page.
"""
import sys
from pathlib import Path

import streamlit as st
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.app.shell import page_style
from core.figures.lines import Axis
from pages.recurrence.gradient import LINES, _frame, gradients
from pages.recurrence.shared import SETTINGS, chart_height, show_lines

STEP = 0.05


@st.cache_resource
def prepared() -> list:
    set_to = {name: setting.default for name, setting in SETTINGS.each.items()}
    low, high = SETTINGS.each["norm"].low, SETTINGS.each["norm"].high
    values = [round(low + i * STEP, 2) for i in range(round((high - low) / STEP) + 1)]
    return [_frame(gradients(norm, set_to["matrix"], set_to["activation"], set_to["keep"], set_to["steps"],
                             set_to["seed"]))
            for norm in values]


torch.set_num_threads(1)
page_style.inject()
low = SETTINGS.each["norm"].low
norm = st.slider("norm", low, SETTINGS.each["norm"].high, 1.0, step=STEP)
show_lines("gradient", prepared()[round((norm - low) / STEP)], {name: name for name in LINES}, Axis("distance"),
           Axis("gradient", log=True), chart_height(), picked=SETTINGS.each["distance"].default)
