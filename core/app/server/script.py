"""The script that Streamlit runs for every reader at every rerun: the frame, and in it the page of the address."""
import streamlit as st

from core.app.server import start

if __name__ == "__main__":      # true when Streamlit runs it, not when a tool imports it
    if frame := start.frame():
        frame.draw()
    else:
        st.error(start.why_not())
