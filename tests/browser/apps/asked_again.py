"""A fragment that is asked for again while what it has drawn still waits to be sent. Streamlit's faults are mended as
in the app.
"""
import sys
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.app.streamlit import fixes
from tests.browser.apps import busy

fixes.apply()
app = st.App(Path(__file__).with_name("asked_again_page.py"), lifespan=busy.remembered)
