"""The panels beside the wall: one head large, what each head does, heads changed, two prompts, rollout.

Where a guess about the picture is a place in it, the picture marks it.
"""
import math
import time

import numpy as np
import streamlit as st
import torch

from core.analysis import stream_and_heads
from core.app.lesson import Lesson
from core.app.lesson.prediction import guess_of
from core.app.parts import charts
from core.app.server import routes
from core.app.state import Run, reader
from core.app.state.fragments import rerun
from core.app.state.run import telling
from core.base.markdown import code
from core.components.attention_view import Head, attention_view
from core.figures import heads as figures
from core.figures.numbers import percent, readable
from pages.heads.route import ROLLOUT, rollout_question
from pages.heads.shared import (
    NONE,
    PREFIX,
    SETTINGS,
    SUGGESTED,
    Pair,
    Patterns,
    attached,
    change_now,
    choose,
    keep,
    measured,
    measures_of,
    moved_by,
    patterns_of,
    pick_head,
    reached,
    read,
    redraw,
    title_of,
)

PICTURE = (300, 620)        # least and most pixels of a picture that ends with the window
CHART = 300                 # pixels of an altair chart
TOKENS_COMPARED = 10
REPLACED = f"{PREFIX}replaced"      # in the session: the names of changed heads, and when others were set elsewhere
SUGGESTED_NAME = f"{PREFIX}suggested_name"      # in the session: what the field shows in place of SUGGESTED
LATE = 5.0                          # seconds in which a browser may not have heard of that, and still say the old ones


def one_head(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> None:
    """The picked head large: weights, or the scores before the softmax; as a matrix or as lines.

    A wide projector shows the two beside each other, and has its choice at the end of the row above (page.css).
    """
    with st.container(horizontal=True, gap="small", key=f"{PREFIX}one"):
        shows = choose(page, "shows")
        values = choose(page, "values") if shows == "matrix" or reader.present() else "weights"
    block = run.trace.blocks[pair.layer]
    signed = values == "scores"
    shows = "matrix" if signed else shows
    numbers = block.scores[pair.head].float().cpu().numpy() if signed else patterns.values[pair.layer, pair.head]
    title = title_of(page, patterns, pair)
    if signed:
        scaled = run.model.config.scores.scale_scores
        title = page.label("title_scores" if scaled else "title_scores_plain", head=pair.name)
    guess = _guessed(guess_of(page, "head", run, (pair.name, pair.query)), pair.query)
    head = Head(numbers, patterns.allowed, run.tokens, _text(page, title), pair.name, (pair.query, pair.key), guess,
                shows, beside=reader.present() and not signed, signed=signed, height=PICTURE, scale=reader.scale(),
                theme=reader.theme())
    attention_view(head, key=f"{PREFIX}view", on_pick=_pick)


def _guessed(key: int | None, query: int) -> tuple[int, int] | None:
    return None if key is None else (query, key)


def what_they_do(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> None:
    """Every head as a point of two measures; a click picks it."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        x = _axis(page, run, "x")
        y = _axis(page, run, "y")
    table = figures.statistics_table(patterns.measures)
    if table[[x, y]].isna().all().any():
        st.info(page.label("no_repeat" if len(run.token_ids) > 1 else "no_choice"))
        return
    titles = tuple(page.label(f"measure_{name}") for name in (x, y))
    chart = figures.scatter(table, x, y, titles, tuple(axis_end(patterns.measures[name]) for name in (x, y)), pair.name,
                            reader.theme(), reader.scale(), CHART + (190 if reader.present() else 50))
    charts.show(chart, f"{PREFIX}scatter", on_select=_pick_point, selection_mode="picked")


def change(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> None:
    """Heads switched off, set to their mean, scaled or made uniform, and the next token before and after."""
    _suggestions(page, run, patterns)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        choose(page, "action")
        _changed_field(page, run)
        st.button(page.label("undo"), key=f"{PREFIX}undo",
                  disabled=not st.session_state.get(f"{PREFIX}history"), on_click=_undo)
        st.button(page.label("clear"), key=f"{PREFIX}clear", disabled=not change_now().heads(run), on_click=_clear)
    if not change_now().heads(run):
        st.info(page.label("change_none"))
        return
    changed = run.trace_with(change_now().intervention(run))
    if not run.has_head:
        share = moved_by(run.trace, changed, pair.query)
        st.markdown(f"**{_change_title(page, run, pair, 'change_moved', share=readable(share))}**")
        st.info(page.frame_words.label("no_head"))
        return
    before, after = (trace.logits[pair.query] for trace in (run.trace, changed))
    effect = stream_and_heads.effect(before, after, k=TOKENS_COMPARED // 3)
    p, q = (torch.softmax(logits.double(), -1).cpu().numpy() for logits in (before, after))
    ids = figures.candidates(p, q, effect.token_ids[effect.before != effect.after].tolist(), TOKENS_COMPARED)
    first, then = int(p.argmax()), int(q.argmax())
    title = _change_title(page, run, pair, "change_same" if first == then else "change_other", kl=readable(effect.kl),
                          token=code(run.tokenizer.visible(first)), other=code(run.tokenizer.visible(then)),
                          before=percent(p[first]), after=percent(q[then]))
    st.markdown(f"**{title}**")
    titles = tuple(page.label(f"change_{name}") for name in ("axis", "before", "after"))
    chart = figures.before_after([run.tokenizer.visible(int(i)) for i in ids], p[ids], q[ids], titles, reader.theme(),
                                 reader.scale(), CHART + 50 * reader.present())
    charts.show(chart, f"{PREFIX}before_after")


def _suggestions(page: Lesson, run: Run, patterns: Patterns) -> None:
    """Three heads to switch off alone, by what they look at."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(page.label("suggest"), width="content")
        for name, (layer, head) in suggested(patterns.measures, telling(run)).items():
            row = patterns.values[layer, head, run.asked]
            st.button(page.label(f"suggest_{name}", head=figures.head_name(layer, head),
                                 token=code(run.tokens[int(row.argmax())])),
                      key=f"{PREFIX}suggest_{name}", on_click=_suggest, args=(figures.head_name(layer, head),))


def suggested(measures: dict[str, np.ndarray], shown: tuple[int, int]) -> dict[str, tuple[int, int]]:
    """(block, head) of the head that the lesson opens with and of those that look most at the token before and at the
    first one, each once.
    """
    found = {"telling": shown}
    for name in ("previous_token", "first_token"):
        order = np.argsort(-np.nan_to_num(measures[name], nan=-1.0), axis=None, kind="stable")
        heads = (divmod(int(i), measures[name].shape[1]) for i in order)
        if (other := next((head for head in heads if head not in found.values()), None)) is not None:
            found[name] = other
    return found


def _suggest(name: str) -> None:
    change_heads(name)
    redraw()


def _changed_field(page: Lesson, run: Run) -> None:
    """The names of the changed heads, to be typed."""
    arguments = attached("changed")
    if st.session_state[arguments["key"]] == SUGGESTED:
        st.session_state[arguments["key"]] = st.session_state[SUGGESTED_NAME] = figures.head_name(*telling(run))

    def typed() -> None:
        since = time.monotonic() - st.session_state.get(REPLACED, {}).get(st.session_state[arguments["key"]], -LATE)
        (redraw if since < LATE else arguments["on_change"])()

    st.text_input(page.label("changed"), **arguments | {"on_change": typed}, placeholder=page.label("changed_none"),
                  help=page.label("changed_help"), label_visibility="collapsed", width=170)


def _change_title(page: Lesson, run: Run, pair: Pair, key: str, **values) -> str:
    """The effect of the change on the picked query's output."""
    return page.label(key, n=len(change_now().heads(run)), at=code(run.tokens[pair.query]), i=pair.query, **values)


def two_prompts(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> None:
    """The picked head on the shared prompt and on another text."""
    st.text_input(page.label("other"), placeholder=page.label("other_default"), max_chars=2000, **attached("other"),
                  label_visibility="collapsed" if reader.present() else "visible")
    other, at = other_run(page, run), (pair.layer, pair.head)
    guess = guess_of(page, "prompts", run, (pair.name, pair.query, other.text))
    drawn = ("here", run, patterns, pair.query), ("there", other, patterns_of(other), other.asked)
    for column, (name, shown, patterns, query) in zip(st.columns(2), drawn):
        with column:
            head = Head(patterns.values[at], patterns.allowed, shown.tokens,
                        _text(page, title_of(page, patterns, pair)), pair.name,
                        (query, int(patterns.values[at][query].argmax())),
                        _guessed(guess, query) if shown is other else None, height=(190, 420), scale=reader.scale(),
                        theme=reader.theme())
            attention_view(head, key=f"{PREFIX}{name}")
            if not reader.present():
                st.caption(page.label("both", **{measure: measured(values[at])
                                                 for measure, values in patterns.measures.items()}))


def other_run(page: Lesson, run: Run) -> Run:
    """The second text of the reader, or the one of the text file."""
    return run.with_text(read("other") or page.label("other_default"))


def rollout(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> None:
    """Draw the input's share in each position, block by block."""
    n_layers = run.model.config.n_layers
    if read("block") >= n_layers:
        keep(block=n_layers - 1)
    shown = reached(run, read("block"), pair.query)
    hand = routes.hand(ROLLOUT, "block", page.label("rollout_block"), (0, n_layers - 1), 1, shown.block,
                       rollout_question(run, pair.query)) if n_layers > 1 else None
    head = Head(shown.values, patterns.allowed, run.tokens, _text(page, shown.title(page.words, run)),
                page.label("rollout_label"), shown.picked,
                _guessed(guess_of(page, "rollout", run, pair.query), pair.query), beside=reader.present(),
                height=PICTURE, scale=reader.scale(), theme=reader.theme(), hand=hand)
    attention_view(head, key=f"{PREFIX}rollout", on_pick=_pick, on_hand=_follow)


def _follow(block: float) -> None:
    """The hand has let go of the rollout's block: the picture stands already."""
    keep(block=int(block))
    rerun("heads_panel")


def change_heads(names: str) -> None:
    """Callback: these heads are changed, not by typing; the set before is kept for undo."""
    st.session_state.setdefault(f"{PREFIX}history", []).append(read("changed"))
    _set(names)


def _set(names: str) -> None:
    now = time.monotonic()
    recent = {old: at for old, at in st.session_state.get(REPLACED, {}).items() if now - at < LATE}
    shown = st.session_state.get(SUGGESTED_NAME, "") if read("changed") == SUGGESTED else read("changed")
    st.session_state[REPLACED] = recent | {shown: now}
    keep(changed=names)


def _text(page: Lesson, title: str) -> dict[str, str]:
    """The texts on the picture of a head."""
    return ({"title": title, "scale": page.label("scale"), "guess": page.frame_words.label("before_mine")}
            | {key: page.label(key) for key in ("masked", "key_axis", "query_axis", "keys_help")})


def _axis(page: Lesson, run: Run, name: str) -> str:
    """The measure on one axis; one that is not taken of this model gives way to the next of those that are."""
    options = measures_of(run)
    if read(name) not in options:
        keep(**{name: SETTINGS.each[name].default if SETTINGS.each[name].default in options else "next_token"})
    return st.selectbox(page.label(f"axis_{name}"), options,
                        format_func=lambda measure: page.label(f"measure_{measure}"), width=round(300 * reader.scale()),
                        label_visibility="collapsed" if reader.present() else "visible", **attached(name))


def axis_end(values: np.ndarray) -> float:
    """The end of an axis: a tenth past its largest value, rounded up to one digit.

    Shares need no axis past 1.
    """
    largest = float(np.nanmax(values)) or 1.0
    unit = 10.0 ** math.floor(math.log10(1.1 * largest))
    most = math.ceil(1.1 * largest / unit) * unit
    return min(most, 1.0) if largest <= 1.0 else most


def _pick(query: int, key: int) -> None:
    reader.select(position=query)
    keep(key=key)
    redraw("heads_controls")


def _pick_point() -> None:
    points = st.session_state[f"{PREFIX}scatter_chart"].selection.get("picked") or []
    if points:
        layer, head = points[0]["head"].split(".")
        pick_head(int(layer), int(head))


def _undo() -> None:
    _set(st.session_state[f"{PREFIX}history"].pop())
    redraw()


def _clear() -> None:
    change_heads(NONE)
    redraw()
