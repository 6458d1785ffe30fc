"""The reference for a control: the charts and components that the page sent for a press and for the press back, behind a control of the same kind, and nothing else on the page."""
import os
import sys
from pathlib import Path

import streamlit as st
from streamlit.proto.Element_pb2 import Element

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.ui import page_style


@st.cache_resource
def recorded() -> list[list[Element]]:
    files = sorted(Path(os.environ["REPLAYED"]).iterdir())
    return [[Element.FromString(file.read_bytes()) for file in files if file.name.startswith(f"{k}_")] for k in range(2)]


page_style.inject()                # the components are painted in the page's colours
CONTROLS = {"stCheckbox": lambda: st.toggle("replayed", key="replayed"),
            "stButtonGroup": lambda: st.segmented_control("replayed", [0, 1], required=True, default=0, key="replayed"),
            "stSelectbox": lambda: st.selectbox("replayed", [0, 1], key="replayed")}
picked = CONTROLS[os.environ["CONTROL"]]()
place = st.container(key="replay")
for element in recorded()[int(picked)]:
    kind = element.WhichOneof("type")
    place._enqueue(kind, getattr(element, kind))
