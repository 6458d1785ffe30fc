"""Pictures: arrays and labels in, a plotly or altair object out. Nothing here knows a model, a Trace or streamlit."""
