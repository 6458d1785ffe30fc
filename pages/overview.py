"""Overview: from the prompt to the next token."""
import plotly.graph_objects as go
import streamlit as st

from core.figures import style
from core.ui import lesson as frame
from core.ui import state

page = frame.open_lesson("overview")
run = page.run()
probs = run.trace.probs[-1].double().cpu().numpy()
best = probs.argsort()[::-1][:12]
figure = go.Figure(go.Bar(x=probs[best], y=[run.tokenizer.visible(i) for i in best], orientation="h", marker_color=style.colour("kept", state.theme())))
figure.update_layout(template=style.template(state.theme(), state.scale()), title=page.label("next"), height=420, yaxis=dict(autorange="reversed", type="category"))
st.plotly_chart(figure, key="overview_next", theme=None)
page.explanation()
