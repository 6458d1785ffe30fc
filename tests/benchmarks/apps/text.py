"""The reference for a new prompt: Streamlit with one field of text and what stands in it."""
import streamlit as st

st.write(st.text_area("text", height=68))
