"""Memory: passages that training read once, ten and a hundred times, and twins that it never read; how much of each
the model recites.
"""
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.parts.charts import look
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.evaluation import corpus_size
from core.evaluation.memorisation import Recitation, recitations
from core.figures.numbers import latex_number, latex_operand, percent, plain_number, readable
from core.model import checkpoints
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from core.training import teaching_text
from pages.limits import charts as figures
from pages.limits.shared import PREFIX, among, attached, keep, met_teaching, origin, read, show

N_STRAYED = 20             # tokens of the model's own that are shown after it has left a passage
GREEDY = SamplingConfig(temperature=0)
READ = (0.5, 1)            # of the rest of a passage: limits between the answers before the picture
NEEDED = (1, 4, 16)        # tokens of a start: the limits between the options of the question
Pairs = dict[str, tuple[Recitation, Recitation]]        # name -> the passage and its twin
# A passage and its twin: the given start of each, and the model's continuation, token by token.
_picture = token_view("limits_recital", __file__)


def read_whole(page: Lesson, run: Run) -> list[Recitation]:
    """The recitations of every passage, then of every twin, after the first token alone, shared by all readers. Those
    after a longer start are parts of them.
    """
    def steps() -> Iterator[Part]:
        passages, results = teaching_text.canaries(), []
        for r in recitations(run.loaded.runner, run.tokenizer, passages, 1):
            results.append(r)
            yield Part(results if len(results) == len(passages) else None, len(results), len(passages))

    def restore(kept: list) -> list[Recitation]:
        return [Recitation(passage, 1, tuple(run.tokenizer.encode(passage.text)[1:len(log_probs) + 1]),
                           tuple(predicted), tuple(log_probs))
                for passage, (predicted, log_probs) in zip(teaching_text.canaries(), kept)]

    return growing_results.result(run.loaded.key("recitations"), steps,
                                  lambda value: sum(200 * len(r.token_ids) for r in value), page.label("reciting"),
                                  restore)


def with_start(whole: Recitation, start: int) -> Recitation:
    """The same passage given its first `start` tokens instead of one."""
    skip = start - whole.n_prompt
    return replace(whole, n_prompt=start, token_ids=whole.token_ids[skip:], predicted=whole.predicted[skip:],
                   log_probs=whole.log_probs[skip:])


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How much of a passage that was read often the model recites: nothing, less than half of the rest, more, all."""
    pair = [one for one in teaching_text.canaries() if one.name == read("passage")]
    passage = next((one for one in pair if one.repeats), None)
    if passage is None or met_teaching(run.model_name) != "whole":
        return None
    twin = next(one for one in pair if not one.repeats)
    ids, start = run.tokenizer.encode(passage.text)[:run.model.config.n_context], read("start")
    rest = len(ids) - start

    def truth(_guess: int) -> Truth:
        n, of_twin = (r.n_recited for r in recitations(run.loaded.runner, run.tokenizer, [passage, twin], start))
        return Truth(sum(n >= share * rest for share in READ) + (n > 0),
                     said=page.label("before_memory_said", n=n, rest=rest), seen=int(n <= of_twin),
                     values={"recited": n})

    options = [page.label(f"before_memory_{k}", rest=rest) for k in range(4)]
    return Prediction("memory", Options(options), truth,
                      {"n": len(ids), "times": _times(page, passage.repeats), "rest": rest,
                       "start": run.tokenizer.decode(ids[:start]).strip()}, (passage.name, start))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the passage beside its twin, and all passages in two charts; return what they show."""
    results = read_whole(page, run)
    n = len(results) // 2
    whole = {seen.passage.name: (seen, twin) for seen, twin in zip(results[:n], results[n:])}
    among("passage", list(whole))
    most = min(48, *(len(r.token_ids) for r in results))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = st.selectbox(page.label("passage"), list(whole), width=300, **attached("passage"),
                            format_func=lambda name: f"{name}, {_times(page, whole[name][0].passage.repeats)}")
        if read("start") > most:
            keep(start=most)
        start = st.slider(page.label("start"), 1, most, width=260, **attached("start"))
    pairs = {key: (with_start(seen, start), with_start(twin, start)) for key, (seen, twin) in whole.items()}
    seen, twin = pairs[name]
    title = page.label("memory_title", n=start, name=name, repeats=_times(page, seen.passage.repeats),
                       recited=seen.n_recited, all=len(seen.token_ids), twin=twin.n_recited,
                       twin_all=len(twin.token_ids))
    st.markdown(f"**{title}** {origin(page, run.model_name)}")
    wide, beside = st.columns([11, 8], gap="medium")
    with wide:
        header = {"scale": reader.scale(), "key": page.label("recital_key"),
                  "rows": [_row(page, run, seen, "passage"), _row(page, run, twin, "twin")]}
        _picture(header, key=f"{PREFIX}recital", on_settings=lambda settings: None)
    with beside, st.container(key=f"{PREFIX}charts", gap="xsmall"):
        st.caption(page.label("memory_caption", n=start))
        _chart(page, pairs, name, "recited", look(155, presenting=130))
        _chart(page, pairs, name, "nats", look(165, presenting=140))
    return Reading(_lines(page, run, seen, twin), _question(page, whole[name][0]),
                   [recitations, Recitation.n_recited.fget], {"passages.csv": lambda: _table(pairs)}, ".recital-text",
                   title, _means(page, pairs))


def _chart(page: Lesson, pairs: Pairs, picked: str, quantity: str, looks: dict) -> None:
    """Chart all passages and twins by how often training read them: the share "recited", or the "nats" per token."""
    groups, is_share, rows = _groups(pairs), quantity == "recited", []
    names = page.label("dot_passage"), page.label("dot_twin")
    for place, (name, pair) in enumerate(pairs.items()):
        group = groups.index(pair[0].passage.repeats)
        for r, kind, side in zip(pair, names, (-0.2, 0.2)):
            value = r.recited_share if is_share else r.nats_per_token
            rows.append({"group": group, "x": group + side + 0.06 * (place % 4 - 1.5), "y": value, "kind": kind,
                         "name": name, "shown": readable(value), "picked": name == picked})
    titles = (None if is_share else page.label("axis_repeats"), page.label(f"axis_{quantity}"))
    show(figures.passages(pd.DataFrame(rows), [page.label("times_axis", n=n) for n in groups], titles, names, is_share,
                          **looks), f"memory_{quantity}")


def _groups(pairs: Pairs) -> list[int]:
    """The different numbers of times that passages were read, ascending."""
    return sorted({seen.passage.repeats for seen, _ in pairs.values()})


def _times(page: Lesson, repeats: int) -> str:
    return page.label("once" if repeats == 1 else "times", n=repeats)


def _row(page: Lesson, run: Run, r: Recitation, kind: str) -> dict:
    """A passage as memory.js reads it: its start, the recited tokens, the model's own continuation, and the true rest.
    """
    given, n = run.tokenizer.encode(r.passage.text)[:r.n_prompt], r.n_recited
    visible, rest, strayed = run.tokenizer.visible, "", []
    if n < len(r.token_ids):
        strayed = _strayed(run, (*given, *r.token_ids[:n]))
        rest = page.label("recital_rest", text=" ".join(run.tokenizer.decode(r.token_ids[n:]).split()))
    tokens = [[visible(i), "given", None, ""] for i in given]
    for name, steps in (("recited", zip(r.token_ids[:n], map(math.exp, r.log_probs))), ("strayed", strayed)):
        tokens += [[visible(i), name, p, percent(p)] for i, p in steps]
    times = _times(page, r.passage.repeats)
    return {"kind": kind, "name": page.label(f"recital_{kind}", name=r.passage.name, times=times),
            "sum": page.label("recital_sum", n=n, all=len(r.token_ids), nats=readable(r.nats_per_token)),
            "tokens": tokens, "rest": rest}


def _strayed(run: Run, ids: tuple[int, ...]) -> list[tuple[int, float]]:
    """The model's continuation after the token at which it leaves a passage: tokens and their probabilities."""
    start = (run.tokenizer.first, *ids)
    return growing_results.made(
        run.loaded.key("strayed", start),
        lambda: [(step.token_id, math.exp(step.log_prob))
                 for step in generate(run.loaded.runner, start, GREEDY, max_new_tokens=N_STRAYED)],
        lambda value: 100 * len(value))


def _lines(page: Lesson, run: Run, seen: Recitation, twin: Recitation) -> list[tuple[str, str]]:
    n = len(seen.token_ids)
    lines = [(page.label("numbers_recited", name=code(seen.passage.name)),
              rf"\frac{{{seen.n_recited}}}{{{n}}} = {latex_number(seen.recited_share)}"),
             (page.label("numbers_nats"),
              rf"-\frac{{1}}{{{n}}} \sum_t \ln p(x_t \mid x_{{<t}}) = "
              rf"-\frac{{{latex_number(math.fsum(seen.log_probs), 6)}}}{{{n}}} = {latex_number(seen.nats_per_token)}"),
             (page.label("numbers_kept"),
              rf"{n} \cdot \frac{{{latex_operand(twin.nats_per_token)} - {latex_operand(seen.nats_per_token)}}}{{\ln "
              rf"2}} = {latex_number(n * (twin.nats_per_token - seen.nats_per_token) / math.log(2))}\ \text{{bits}}")]
    return lines + _capacity(page, run)


def _capacity(page: Lesson, run: Run) -> list[tuple[str, str]]:
    """The bits of the whole training text as token ids, against the bits of the parameters; of the different texts of
    `stories`, each once, also the bits when compressed, and under the trained model.
    """
    stages = checkpoints.training_ends(run.model_name)
    if not stages:
        return []
    tokens, loss, config = sum(stage["tokens_seen"] for stage in stages), stages[-1]["training_loss"], run.model.config
    ids, weights = tokens * math.log2(config.vocab_size), 16 * run.model.n_parameters
    lines = [(page.label("numbers_ids", tokens=tokens),
             rf"{tokens} \cdot \log_2 {config.vocab_size} = {latex_number(ids / 1e6)} \cdot 10^6\ \text{{bits}}"),
            (page.label("numbers_weights"),
             rf"16 \cdot {run.model.n_parameters} = {latex_number(weights / 1e6)} \cdot 10^6\ \text{{bits}}")]
    if run.model_name == corpus_size.MODEL:
        packed = corpus_size.kept()
        left = packed.tokens * loss / math.log(2)
        lines += [(page.label("numbers_packed", files=packed.files, tokens=packed.tokens),
                   rf"8 \cdot {packed.lzma_bytes} = {latex_number(8e-6 * packed.lzma_bytes)} \cdot 10^6\ "
                   r"\text{bits}"),
                  (page.label("numbers_left", loss=plain_number(loss)),
                   rf"{packed.tokens} \cdot \frac{{{loss}}}{{\ln 2}} = {latex_number(left / 1e6)} \cdot 10^6\ "
                   r"\text{bits}")]
    return lines


def start_needed(whole: Recitation) -> int:
    """The shortest start, in tokens, after which the model recites the whole rest: it ends with the last token that was
    not the most probable one.
    """
    wrong = [i for i, (token, best) in enumerate(zip(whole.token_ids, whole.predicted)) if token != best]
    return whole.n_prompt + (wrong[-1] + 1 if wrong else 0)


def _question(page: Lesson, seen: Recitation) -> Question:
    """How much of a passage the model needs before it recites the whole rest."""
    n, total, name = start_needed(seen), seen.n_prompt + len(seen.token_ids), seen.passage.name
    return Question(f"needed_{name}", page.label("question_needed", name=name, total=total),
                    [page.label(f"question_needed_{k}") for k in range(4)], int(np.searchsorted(NEEDED, n)),
                    page.label("because_needed" if n < total else "because_never", n=n, total=total))


def _means(page: Lesson, pairs: Pairs) -> pd.DataFrame:
    rows = []
    for repeats in _groups(pairs):
        groups = zip(*(pair for pair in pairs.values() if pair[0].passage.repeats == repeats))
        means = (np.mean(values) for group in groups
                 for values in ([r.recited_share for r in group], [r.nats_per_token for r in group]))
        rows.append((repeats, *map(plain_number, means)))
    return page.table(rows, "repeats", "recited", "nats", "twins_recited", "twins_nats")


def _table(pairs: Pairs) -> pd.DataFrame:
    return pd.DataFrame([{"passage": r.passage.name, "kind": kind, "times_read": r.passage.repeats,
                          "given": r.n_prompt, "tokens_after": len(r.token_ids), "recited": r.n_recited,
                          "recited_share": r.recited_share, "share_most_probable": r.share_right,
                          "nats_per_token": r.nats_per_token}
                         for kind, group in zip(("passage", "twin"), zip(*pairs.values())) for r in group])
