"""A fragment that ends while the server already has another event in its hands. Streamlit's faults are mended as in the
app.
"""
import sys
from pathlib import Path

import streamlit as st
from streamlit.runtime.app_session import AppSession

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.app.streamlit import fixes
from tests.browser.apps import busy

fixes.apply()
_handle = AppSession.handle_backmsg


def handle(session: AppSession, message) -> None:
    """`AppSession.handle_backmsg`, which lets a run that waits for an event come to its end first."""
    if busy.WAITS.is_set():
        busy.WAITS.clear()
        session._scriptrunner._script_thread.join()
    _handle(session, message)


AppSession.handle_backmsg = handle
app = st.App(Path(__file__).with_name("last_messages_page.py"))
