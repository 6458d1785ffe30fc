"""Next token: logits, temperature, top-k, top-p, the draw; every setting answers while the hand moves."""
import streamlit as st

from core.figures.next_token import largest_terms, terms_chart, terms_rows
from core.figures.numbers import plain_number
from core.sampling import draw, truncate
from core.ui import lesson as frame
from core.ui import next_token as lesson
from core.ui import state
from core.ui.code import as_csv
from core.ui.components.sampling_panel import PanelSettings, pack, sampling_panel
from core.ui.markdown import code

page = frame.open_lesson("next_token")
st.session_state["next_token_fresh"] = True     # a run of the whole page: the panel may be new, and is told everything


@frame.fragment
def everything() -> None:
    """The panel and all that follows from its settings: what the hand let go of redraws this, and the panel itself stays as it is."""
    run = page.run()
    position = state.selection().position
    logits = run.logits(position)
    picture, below = st.container(key=lesson.PANEL_BOX), st.container(horizontal=True, vertical_alignment="bottom", key="next_token_below")
    others = _fields(below)     # first, because a link sets them
    told, named, version = lesson.given(anew=st.session_state.pop("next_token_fresh", False))
    with picture:
        if position < len(run.token_ids) - 1:
            st.caption(lesson.earlier(page, run, position))
        message = pack(lesson.contexts(page, run, position, others), lesson.vocabulary(run), lesson.panel_labels(page), told, version, named, state.scale())
        sampling_panel(message, lesson.PANEL, lesson.take_settings, lambda: lesson.append(run, position))
    now = lesson.settings()
    truncation = truncate(logits, now.config)
    target = state.selection().target
    target = int(truncation.token_ids[0]) if target is None else target
    if not page.is_seen():
        return
    with below:
        page.pins(lesson.summary(page, run, truncation))
        st.download_button(page.label("whole"), lambda: as_csv(lesson.table(page, run, truncation, logits, len(logits), digits=None)),
                           file_name="next_token.csv", mime="text/csv", key="next_token_whole", on_click="ignore", help=page.label("whole_help"))
    _origin(run, position, target)
    page.explanation()
    page.numbers(lesson.lines(page, run, position, target, truncation, now), lesson.table(page, run, truncation, logits, lesson.N_ROWS))
    page.experiments()
    page.check(lesson.question(page, logits))
    page.code([truncate, draw], {"candidates.csv": lambda: lesson.with_draws(lesson.table(page, run, truncation, logits, lesson.N_CANDIDATES, digits=None), page, truncation, now)},
              picture=".sampling-panel .figure canvas", twin=lesson.twin(page, run, truncation, now))


def _fields(place) -> dict[str, str]:
    """Under the panel: the two other contexts, as name -> prompt, and the settings as text, which a link carries."""
    st.session_state.setdefault(lesson.SETTINGS, PanelSettings().to_link())
    with place:
        st.text_input(page.label("settings_field"), key=lesson.SETTINGS, bind="query-params", max_chars=200, help=page.label("settings_help"))
        return {page.label(f"{name}_context"): st.text_input(page.label(f"{name}_field"), page.label(f"{name}_prompt"), key=f"next_token_{name}",
                                                             bind="query-params", max_chars=400) for name in ("flat", "peaked")}


def _origin(run, position, target) -> None:
    """Where u comes from: h_N^L times the target's row of E, its largest terms."""
    h, row, bias = lesson.vectors(run, position, target)
    terms, names = largest_terms(h, row), lesson.logit_names(page, run)
    u, rest = float(h @ row) + (bias or 0), float(h @ row) - float(terms["product"].sum())
    st.markdown(page.label("origin_title", token=code(run.tokenizer.visible(target)), u=plain_number(u), d=len(h), n=len(terms), rest=f"{'+' if rest >= 0 else ''}{plain_number(rest)}",
                           bias="" if bias is None else f" {page.label('origin_bias', b=plain_number(bias))}", **names))
    labels = {name: page.label(f"origin_{name}", **names) for name in ("dimension", "product")}
    chart, products = st.columns([3, 2], gap="large")
    chart.vega_lite_chart(terms_rows(terms), terms_chart(labels, state.theme(), state.scale()), theme=None, key="next_token_terms")
    products.dataframe(lesson.terms_table(page, run, terms), hide_index=True, height=260)


everything()
