"""The reference for a control: the charts and components that the page sent for a press and for the press back, behind
a control of the same kind, and nothing else on the page.
"""
import os
import sys
from pathlib import Path

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.app.shell import page_style


@st.cache_resource
def recorded() -> list[list[ForwardMsg]]:
    files = sorted(Path(os.environ["REPLAYED"]).iterdir())
    return [[ForwardMsg.FromString(file.read_bytes()) for file in files if file.name.startswith(f"{k}_")]
            for k in range(2)]


st.set_page_config(layout="wide")
page_style.inject()                # the components are painted in the page's colours
# It begins where the page stands after both presses, so that each press draws the same picture here and there.
CONTROLS = {
    "stCheckbox": lambda: st.toggle("replayed", value=True, key="replayed"),
    "stButtonGroup": lambda: st.segmented_control("replayed", [0, 1], required=True, default=1, key="replayed"),
    "stSelectbox": lambda: st.selectbox("replayed", [0, 1], index=1, key="replayed"),
    "stSlider": lambda: st.slider("replayed", 0, 1, 1, key="replayed"),
    "stNumberInput": lambda: st.number_input("replayed", 0, 1, 1, key="replayed"),
}
picked = CONTROLS[os.environ["CONTROL"]]()
st.space("large")                  # for the toolbar of a chart, which opens above it
st.container(key="replay")
place = [0, 3]                     # of this container: behind the style, the control and the space
for recorded_message in recorded()[int(picked)]:
    message = ForwardMsg()
    message.CopyFrom(recorded_message)
    message.metadata.delta_path[:] = [*place, *message.metadata.delta_path]
    get_script_run_ctx().enqueue(message)
