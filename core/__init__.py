"""The engine: configuration, model, analysis, figures and the Streamlit face of them."""
