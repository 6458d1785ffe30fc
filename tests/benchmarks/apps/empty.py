"""The reference: Streamlit with one slider and its value."""
import streamlit as st

st.write(st.slider("value", 0, 100, 50))
