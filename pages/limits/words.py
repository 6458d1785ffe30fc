"""Words: the same sentence with one word changed, what happens to the next token, and whether it happens in many
sentences or in one.
"""
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.base.markdown import code
from core.app.compute import growing_results
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.figures.numbers import bracketed, latex_number, latex_operand, plain_number, readable
from core.language import contrasts
from core.language.contrasts import Contrast, Spread, fitted
from pages.limits import contrast_charts as figures
from pages.limits.shared import PREFIX, attached, choice, read, show

K, K_PRESENT = 7, 5             # words that gain, and as many that lose
LEAST = 1e-4                    # the probability that a token needs in one of the two texts to be drawn as a point
LEAST_RATIO = 1e-3              # and to be listed by its ratio
MOST_COUNTED, MOST_CHARACTERS, MOST_WORDS = 10, 300, 60
CHART, CHART_PRESENT = 310, 285     # px


@dataclass(frozen=True)
class Pair:
    """Two words, and the texts that differ by them: (a, b) each, one text of its own with neither."""

    a: str
    b: str
    texts: tuple[tuple[str, str], ...]
    neutral_name: str
    neutral: tuple[str, ...]
    counted: tuple[str, ...]


def of_set(name: str, places: Sequence[int]) -> Pair:
    """One of the project's pairs in its sentences, those at `places`."""
    pair, sentences = contrasts.sets()["pairs"][name], contrasts.sets()["sentences"]
    fit = {key: tuple(fitted(sentences[i], pair[key]) for i in places) for key in ("a", "b", "neutral")}
    return Pair(pair["a"], pair["b"], tuple(zip(fit["a"], fit["b"])), pair["neutral"], fit["neutral"],
                tuple(pair["counted"]))


def words_of(text: str) -> list[re.Match]:
    """The last words of a text, with where they stand."""
    return list(re.finditer(r"[^\W\d_]+(?:'[^\W\d_]+)?", text))[-MOST_WORDS:]


def exchanged(word: str) -> str:
    """The word that the project's list would put in its place, else the list's first word; a capital stays one.

    >>> exchanged("She"), exchanged("dog")
    ('He', 'cat')
    """
    swaps = {one: other for pair in contrasts.sets()["swaps"] for one, other in (pair, pair[::-1])}
    other = swaps.get(word) or swaps.get(word.lower()) or contrasts.sets()["swaps"][0][0]
    return other[:1].upper() + other[1:] if word[:1].isupper() else other


def _default_place(found: list[re.Match]) -> int:
    known = {word for pair in contrasts.sets()["swaps"] for word in pair}
    return next((i for i, match in enumerate(found) if match.group() in known), len(found) - 1)


def _own(page: Lesson, run: Run) -> Pair | None:
    """The reader's prompt and the reader's word; None for a prompt without words."""
    found = words_of(reader.clean_prompt(run.text))
    if not found:
        st.info(page.label("own_none"))
        return None
    place = read("place") if 0 <= read("place") < len(found) else _default_place(found)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        controls = attached("place")
        st.session_state[controls["key"]] = place
        st.selectbox(page.label("place"), range(len(found)), format_func=lambda i: f"{found[i].group()} ({i + 1})",
                     width=230, **controls)
        st.text_input(page.label("other"), placeholder=exchanged(found[place].group()), max_chars=40, width=230,
                      **attached("other"))
    match, text = found[place], reader.clean_prompt(run.text)
    other = " ".join(str(read("other"))[:40].split()) or exchanged(match.group())
    versions = [text[:match.start()] + word + text[match.end():] for word in (match.group(), other)]
    without = text[:match.start()].rstrip() + text[match.end():]
    return Pair(match.group(), other, (tuple(versions),), page.label("own_without"), (without,),
                tuple(contrasts.sets()["pairs"]["girl"]["counted"]))


def counted_words(pair: Pair) -> tuple[str, ...]:
    """The reader's words, else the pair's."""
    own = [word.strip() for word in re.split(r"[,;\n]", str(read("counted"))[:MOST_CHARACTERS]) if word.strip()]
    return tuple(dict.fromkeys(own))[:MOST_COUNTED] or pair.counted


def draw(page: Lesson, run: Run) -> Reading:
    """The controls, the two charts of one sentence or of all of them; returns what they show."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = choice(page, "pair")
        span = choice(page, "span", ("one",) if name == "own" else None)
    if span == "all":
        return _all(page, run, name)
    pair = _own(page, run) if name == "own" else _one_of(page, name)
    return _one(page, run, pair or of_set("girl", [0]))


def _one_of(page: Lesson, name: str) -> Pair:
    pair, sentences = contrasts.sets()["pairs"][name], contrasts.sets()["sentences"]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.selectbox(page.label("sentence_pick"), range(len(sentences)),
                     format_func=lambda i: sentences[i].replace("{w}", f"{pair['a']} / {pair['b']}"), width=600,
                     label_visibility="collapsed", **attached("sentence"))
        choice(page, "by")
    return of_set(name, [read("sentence")])


def _contrasts(run: Run, texts: Sequence[tuple[str, str]]) -> list[Contrast]:
    key = run.loaded.key("contrasts", tuple(texts))
    return growing_results.made(key, lambda: contrasts.contrasts(run.loaded.runner, run.tokenizer, texts),
                                lambda made: 16 * len(texts) * run.model.config.vocab_size)


def _ratios(run: Run, texts: Sequence[tuple[str, str]], words: Sequence[str]) -> np.ndarray:
    key = run.loaded.key("contrast words", tuple(texts), tuple(words))
    return growing_results.made(key, lambda: contrasts.log_ratios(run.loaded.runner, run.tokenizer, texts, words),
                                lambda made: made.nbytes)


# ---- one sentence ----------------------------------------------------------------------------------------------------


def _one(page: Lesson, run: Run, pair: Pair) -> Reading:
    (found,) = _contrasts(run, pair.texts)
    present = reader.present()
    by, k = read("by"), K_PRESENT if present else K
    gained, lost = found.movers(k, by, LEAST_RATIO if by == "ratio" else 0.0)
    ids = np.concatenate([gained, lost[::-1]]).astype(int)
    p, q = np.exp(found.log_p), np.exp(found.log_q)
    names = [code(run.tokenizer.visible(int(tokens[0]))) if len(tokens) else "–" for tokens in (gained, lost)]
    title = page.label("words_title", a=code(pair.a), b=code(pair.b), tv=readable(found.total_variation),
                       gained=names[0], lost=names[1])
    st.markdown(f"**{title}**")
    height, visible = CHART_PRESENT if present else CHART, run.tokenizer.visible
    left, right = st.columns(2, gap="medium")
    with left:
        values = (found.difference if by == "probability" else found.log_ratio)[ids]
        titles = (page.label(f"axis_{by}"), page.label("column_with", word=pair.a),
                  page.label("column_with", word=pair.b))
        show(figures.movers([visible(int(i)) for i in ids], p[ids], q[ids], values, titles, reader.theme(),
                            reader.scale(), height), "movers")
    with right:
        shown = np.flatnonzero(np.maximum(p, q) >= LEAST)
        near = set(ids[:4].tolist() + ids[::-1][:4].tolist())
        show(figures.log_ratios([visible(int(i)) for i in shown], p[shown], q[shown], [int(i) in near for i in shown],
                                (page.label("axis_mean"), page.label("axis_ratio")), reader.theme(), reader.scale(),
                                height), "ratios")
    return Reading(_one_lines(page, run, found, int(ids[0]) if len(ids) else 0, len(gained)),
                   _question(page, run, pair), [Contrast, contrasts.contrasts],
                   {"words.csv": lambda: _one_table(page, run, pair, found)}, f".st-key-{PREFIX}movers", title,
                   _counted_table(page, run, pair))


def _one_lines(page: Lesson, run: Run, found: Contrast, token_id: int, n_shown: int) -> list[tuple[str, str]]:
    p, q, token = (float(np.exp(found.log_p[token_id])), float(np.exp(found.log_q[token_id])),
                   code(run.tokenizer.visible(token_id)))
    gains = np.sort(found.difference[found.difference > 0])[::-1]
    shown, rest = float(gains[:n_shown].sum()), float(gains[n_shown:].sum())
    lines = [(page.label("numbers_difference", token=token),
              rf"q - p = {latex_operand(q)} - {bracketed(latex_operand(p))} = {latex_number(q - p)}"),
             (page.label("numbers_ratio", token=token),
              rf"\ln \frac{{q}}{{p}} = \ln \frac{{{latex_operand(q)}}}{{{latex_operand(p)}}} = "
              rf"{latex_number(float(found.log_ratio[token_id]))}"),
             (page.label("numbers_tv", n=n_shown),
              rf"\tfrac12 \sum_w \lvert q_w - p_w \rvert = \sum_{{q_w > p_w}} (q_w - p_w) = {latex_operand(shown)} + "
              rf"{bracketed(latex_operand(rest))} = {latex_number(found.total_variation)}")]
    for key, total, weight, ratio in (("pq", found.kl_from_p, found.log_p, -found.log_ratio),
                                      ("qp", found.kl_from_q, found.log_q, found.log_ratio)):
        terms = np.exp(weight) * ratio
        i = int(np.argmax(np.abs(terms)))
        one, other = key
        own = (float(np.exp(value[i]))
               for value in ((found.log_p, found.log_q) if key == "pq" else (found.log_q, found.log_p)))
        first, second = map(latex_operand, own)
        lines.append((page.label("numbers_kl", token=code(run.tokenizer.visible(i)), one=one, other=other),
                      rf"\mathrm{{KL}}({one} \,\Vert\, {other}) = {bracketed(first)} \ln \frac{{{first}}}{{{second}}} "
                      rf"+ \cdots = {latex_number(float(terms[i]))} + ({latex_number(total - float(terms[i]))}) = "
                      rf"{latex_number(total)}"))
    return lines


def _counted_table(page: Lesson, run: Run, pair: Pair) -> pd.DataFrame:
    """The counted words in this sentence."""
    words = counted_words(pair)
    ratios = _ratios(run, pair.texts, words)[:, 0]
    return pd.DataFrame({page.label("column_word"): words,
                         page.label("axis_ratio"): [plain_number(value) for value in ratios],
                         page.label("column_times"): [plain_number(float(np.exp(value))) for value in ratios]})


def _one_table(page: Lesson, run: Run, pair: Pair, found: Contrast) -> pd.DataFrame:
    order = np.argsort(-np.abs(found.difference), kind="stable")
    return pd.DataFrame({page.label("column_token"): [run.tokenizer.visible(int(i)) for i in order],
                         page.label("column_with", word=pair.a): np.exp(found.log_p)[order],
                         page.label("column_with", word=pair.b): np.exp(found.log_q)[order],
                         page.label("axis_probability"): found.difference[order],
                         page.label("axis_ratio"): found.log_ratio[order]})


# ---- all sentences ---------------------------------------------------------------------------------------------------


def _all(page: Lesson, run: Run, name: str) -> Reading:
    every = range(len(contrasts.sets()["sentences"]))
    pair = of_set(name, every)
    st.text_input(page.label("counted"), placeholder=", ".join(pair.counted), max_chars=MOST_CHARACTERS, width=700,
                  label_visibility="collapsed", **attached("counted"))
    words = counted_words(pair)
    sets = {name: pair} | {key: of_set(key, every) for key, one in contrasts.sets()["pairs"].items()
                           if one.get("control") and key != name}
    tables = {key: _ratios(run, one.texts, words) for key, one in sets.items()}
    moved = {key: Spread(np.array([found.total_variation for found in _contrasts(run, one.texts)]))
             for key, one in sets.items()}
    spreads = [Spread(line) for line in tables[name]]
    strongest = max(range(len(words)), key=lambda i: abs(spreads[i].mean))
    clear = beyond(tables[name], [table for key, table in tables.items() if key != name])
    title = page.label("all_title", a=code(pair.a), b=code(pair.b), n=len(pair.texts), word=code(words[strongest]),
                       times=readable(float(np.exp(spreads[strongest].mean))), above=spreads[strongest].n_above)
    title += " " + page.label("all_clear", words=", ".join(map(code, (word for word, own in zip(words, clear) if own)))
                                                 or page.label("none"))
    st.markdown(f"**{title}**")
    height = CHART_PRESENT if reader.present() else CHART
    lanes = [page.label(f"pair_{key}") if not contrasts.sets()["pairs"][key].get("control")
             else page.label("lane_control", pair=page.label(f"pair_{key}")) for key in sets]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        show(figures.spreads(words, list(zip(lanes, tables.values())), page.label("axis_all"), reader.theme(),
                             reader.scale(), height), "spreads")
    with right:
        found = [page.label("moved", lane=lane, mean=readable(one.mean), deviation=readable(one.deviation))
                 for lane, one in zip(lanes, moved.values())]
        st.markdown("  \n".join([page.label("moved_title"), *found]))
        st.caption(page.label("moved_note"))
    return Reading(_all_lines(page, words[strongest], spreads[strongest]),
                   _question(page, run, pair), [Spread, contrasts.log_ratios, beyond],
                   {"sentences.csv": lambda: _all_table(page, sets, tables, words)}, f".st-key-{PREFIX}spreads", title,
                   _spread_table(page, words, spreads, clear))


def beyond(own: np.ndarray, controls: Sequence[np.ndarray]) -> list[bool]:
    """Which rows of (words, sentences) log-ratios go beyond each control: a greater mean in size, and in the same
    sentences a mean difference of more than two standard errors.

    >>> beyond(np.array([[1.0, 1.2, 0.9], [0.1, 0.2, 0.1]]), [np.array([[0.1, 0.0, 0.1], [0.3, 0.2, 0.4]])])
    [True, False]
    """
    def clear(line: np.ndarray, other: np.ndarray) -> bool:
        apart = Spread(line - other)
        return abs(line.mean()) > abs(other.mean()) and abs(apart.mean) > 2 * apart.error

    return [all(clear(line, table[i]) for table in controls) for i, line in enumerate(own)]


def _all_lines(page: Lesson, word: str, spread: Spread) -> list[tuple[str, str]]:
    n, terms = len(spread.values), " + ".join(bracketed(latex_number(float(value))) for value in spread.values)
    return [(page.label("numbers_mean", word=code(word), n=n),
             rf"m = \frac{{{terms}}}{{{n}}} = {latex_number(spread.mean)}"),
            (page.label("numbers_error", n=n),
             rf"\frac{{s}}{{\sqrt{{n}}}} = \frac{{{latex_operand(spread.deviation)}}}{{\sqrt{{{n}}}}} = "
             rf"{latex_number(spread.error)}, \qquad e^{{m}} = {latex_number(float(np.exp(spread.mean)))}")]


def _spread_table(page: Lesson, words: Sequence[str], spreads: Sequence[Spread], clear: Sequence[bool]) -> pd.DataFrame:
    return pd.DataFrame({page.label("column_word"): words,
                         page.label("column_mean"): [plain_number(one.mean) for one in spreads],
                         page.label("column_deviation"): [plain_number(one.deviation) for one in spreads],
                         page.label("column_error"): [plain_number(one.error) for one in spreads],
                         page.label("column_above"): [f"{one.n_above} / {len(one.values)}" for one in spreads],
                         page.label("column_clear"): ["✓" if own else "–" for own in clear]})


def _all_table(page: Lesson, sets: dict[str, Pair], tables: dict[str, np.ndarray],
               words: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame([{page.label("column_pair"): f"{pair.a} / {pair.b}", page.label("column_sentence"): one,
                          page.label("column_word"): word, page.label("axis_ratio"): float(tables[key][i, j])}
                         for key, pair in sets.items() for j, (one, _) in enumerate(pair.texts)
                         for i, word in enumerate(words)])


def _question(page: Lesson, run: Run, pair: Pair) -> Question:
    """Which of the two the text with neither is nearer to."""
    near = [float(np.mean([found.total_variation for found in _contrasts(
        run, [(one[side], none) for one, none in zip(pair.texts, pair.neutral)])])) for side in (0, 1)]
    return Question("neutral", page.label("question_neutral", neutral=code(pair.neutral_name), a=code(pair.a),
                                          b=code(pair.b)), [code(pair.a), code(pair.b)], int(near[1] < near[0]),
                    page.label("because_neutral", neutral=code(pair.neutral_name), a=code(pair.a), b=code(pair.b),
                               to_a=readable(near[0]), to_b=readable(near[1])))
