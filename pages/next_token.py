"""Next token: logits, temperature, top-k, top-p, the draw; every setting answers while the hand moves."""
import numpy as np
import streamlit as st

from core.figures.next_token import largest_terms, terms_chart
from core.sampling import draw, truncate
from core.ui import lesson as frame
from core.ui import next_token as lesson
from core.ui import state
from core.ui.components.sampling_panel import PanelSettings, pack, sampling_panel

page = frame.open_lesson("next_token")
st.session_state["next_token_fresh"] = True     # a run of the whole page: the panel may be new, and is told everything


@frame.fragment
def everything() -> None:
    """The panel and all that follows from its settings: what the hand let go of redraws this, and the panel itself stays as it is."""
    run = page.run()
    position = state.selection().position
    logits = run.logits(position)
    now, named, version = lesson.given(anew=st.session_state.pop("next_token_fresh", False))
    where = "context_last" if position == len(run.token_ids) - 1 else "context_earlier"
    with st.container(key=lesson.PANEL_BOX):
        others = {page.label(f"{name}_context"): st.session_state.get(f"next_token_{name}") or page.label(f"{name}_prompt") for name in ("flat", "peaked")}
        message = pack(lesson.contexts(page, run, position, others), lesson.vocabulary(run), lesson.panel_labels(page), now, version, named, state.scale())
        sampling_panel(message, lesson.PANEL, lesson.take_settings, lambda: lesson.append(run, position))
    now = lesson.settings()
    truncation = truncate(logits, now.config)
    target = state.selection().target
    target = int(truncation.token_ids[0]) if target is None else target
    _below(run, position, truncation, now, where)
    _origin(run, position, target)
    page.explanation()
    page.numbers(lesson.lines(page, run, position, target, truncation, now), lesson.table(page, run, truncation, logits, lesson.N_ROWS))
    page.experiments()
    asked = lesson.question(logits)
    page.check(page.label("question", n=f"{len(logits):,}"), [f"{n:,}" for n in asked.options], asked.answer, page.label("answer"), key="top_p")
    candidates = lesson.with_draws(lesson.table(page, run, truncation, logits, lesson.N_CANDIDATES, digits=None), page, truncation, now)
    page.code([truncate, draw], {"candidates.csv": candidates}, picture=f".st-key-{lesson.PANEL_BOX} .figure canvas", twin=lesson.twin(page, run, truncation, now))


def _below(run, position, truncation, now, where) -> None:
    """Under the panel: whose distribution this is, the two contexts, the settings as text, A and B, the whole distribution as a file."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="next_token_below"):
        st.text_input(page.label("flat_field"), page.label("flat_prompt"), key="next_token_flat", bind="query-params", max_chars=400)
        st.text_input(page.label("peaked_field"), page.label("peaked_prompt"), key="next_token_peaked", bind="query-params", max_chars=400)
        st.text_input(page.label("settings_field"), PanelSettings().to_link(), key=lesson.SETTINGS, bind="query-params", max_chars=200, help=page.label("settings_help"))
        page.pins(lesson.summary(page, run, truncation))
        st.download_button(page.label("whole"), lambda: lesson.table(page, run, truncation, run.logits(position), len(truncation.probs), digits=None).to_csv(index=False),
                           file_name="next_token.csv", mime="text/csv", key="next_token_whole", on_click="ignore", help=page.label("whole_help"))


def _origin(run, position, target) -> None:
    """Where u comes from: h_N^L times the target's row of E, its largest terms."""
    h, row = lesson.vectors(run, position, target)
    terms = largest_terms(h, row)
    u, rest = float(h @ row), float(h @ row) - float(terms["product"].sum())
    st.markdown(page.label("origin_title", token=lesson.code(run.tokenizer.visible(target)), u=f"{u:.4f}", d=len(h), n=len(terms)))
    labels = {name: page.label(f"origin_{name}") for name in ("dimension", "product", "rest")}
    st.altair_chart(terms_chart(terms, rest, labels, state.theme(), state.scale()), theme=None, key="next_token_terms")


everything()
