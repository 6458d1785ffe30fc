"""A page of this folder (PAGE in the environment) in an app that serves the modules of our pictures and no more."""
import os
import sys
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.components import scripts

app = st.App(Path(__file__).with_name(os.environ["PAGE"]), routes=[scripts.ROUTE])
