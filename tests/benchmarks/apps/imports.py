"""The reference for a first picture: a page that imports what this app is made of, and draws one slider."""
import importlib

import streamlit as st

for package in ("torch", "plotly.graph_objects", "altair"):
    importlib.import_module(package)
st.write(st.slider("value", 0, 100, 50))
