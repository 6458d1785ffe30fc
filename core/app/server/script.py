"""What Streamlit runs for every reader, at every rerun: the frame, and in it the page that the address names."""
import streamlit as st

from core.app.server import start

if __name__ == "__main__":      # as Streamlit runs it, and not where a tool imports it
    if frame := start.frame():
        frame.draw()
    else:
        st.error(start.why_not())
