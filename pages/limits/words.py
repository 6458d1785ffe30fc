"""Words: one sentence with one word changed, the change of the next token's distribution, and whether many sentences
show the same change.
"""
import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.compute import growing_results
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, word_exchange
from core.app.parts.charts import look
from core.app.state import Run, prompts, reader
from core.base.markdown import code
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, plain_number, readable
from core.language import contrasts
from core.language.contrasts import Contrast, Spread, fitted
from pages.limits import charts as figures
from pages.limits import tone
from pages.limits.shared import PREFIX, SETTINGS, attached, choice, read, show

N_PRESENT = 6                   # counted words that a projector has room for
K, K_PRESENT = 7, 4             # tokens that gain most, and as many that lose most
LEAST = 1e-4                    # least probability, in one of the two texts, of a token that is drawn as a point
LEAST_RATIO = 1e-3              # and of one that is listed by its ratio
N_OFFERED = 4                   # next words that the question before the picture offers: half of them lose
MOST_COUNTED, MOST_CHARACTERS = 10, 300
CHART = {"height": 310, "presenting": 267}     # px


@dataclass(frozen=True)
class Pair:
    """Two words a and b, the pairs of texts that differ in them, and for each pair a text with neither; `counted`: the
    words whose log-ratios are compared over many texts.
    """

    a: str
    b: str
    texts: tuple[tuple[str, str], ...]
    neutral_name: str
    neutral: tuple[str, ...]
    counted: tuple[str, ...]


def listed(name: str, places: Sequence[int]) -> Pair:
    """One of the project's pairs in its sentences at the indices `places`."""
    pair, sentences = contrasts.sets()["pairs"][name], contrasts.sets()["sentences"]
    a, b, neutral = (tuple(fitted(sentences[i], pair[key]) for i in places) for key in ("a", "b", "neutral"))
    return Pair(pair["a"], pair["b"], tuple(zip(a, b)), pair["neutral"], neutral, tuple(pair["counted"]))


def _typed(page: Lesson, run: Run) -> Pair | None:
    """The reader's prompt with the reader's word in one place; None for a prompt without words."""
    chosen = word_exchange.draw(page, prompts.clean_prompt(run.text), SETTINGS)
    if chosen is None:
        st.info(page.label("own_none"))
        return None
    return Pair(chosen.word, chosen.swap, ((chosen.text, chosen.changed),), page.label("own_without"),
                (chosen.without,), tuple(contrasts.sets()["pairs"]["girl"]["counted"]))


def counted_words(pair: Pair) -> tuple[str, ...]:
    """The counted words: the reader's, else the pair's."""
    typed = [word.strip() for word in re.split(r"[,;\n]", read("counted")[:MOST_CHARACTERS]) if word.strip()]
    return tuple(dict.fromkeys(typed))[:MOST_COUNTED] or pair.counted


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which next word gains most when one word changes."""
    if read("pair") == "own" or read("span") != "one" or read("by") != "probability":
        return None
    pair = listed(read("pair"), [read("sentence")])

    [contrast] = _contrasts(run, pair.texts)
    offered, change = _offered(run, contrast), contrast.difference

    def truth(guess: int) -> Truth:
        ids, moved = list(offered.values()), contrast.total_variation
        most = int(change[ids].argmax())
        gained, lost = (run.tokenizer.visible(i) for i in (ids[most], int(change.argmin())))
        said, own = (page.label("before_words_said", p=percent(np.exp(contrast.log_p[i])),
                                q=percent(np.exp(contrast.log_q[i]))) for i in (ids[most], ids[guess]))
        return Truth(most, said=said, own=own, seen=int(np.abs(change).max() >= moved / 2),
                     values={"moved": percent(moved), "gained": gained, "lost": lost, "change": said})

    return Prediction("words", Options(list(offered)), truth, {"one": pair.texts[0][0], "a": pair.a, "b": pair.b})


def _offered(run: Run, contrast: Contrast) -> dict[str, int]:
    """The tokens that the question offers, by name, in the order of the alphabet, which tells nothing: the one that
    gains most, the whole word that gains most beside it, and those that lose most.
    """
    order = np.argsort(-contrast.difference, kind="stable").tolist()
    names = {i: run.tokenizer.visible(i) for i in order}
    most = names[order[0]].removeprefix("·") or names[order[0]]
    words = [i for i in order[1:] if names[i].startswith("·") and names[i][1:].isalpha() and names[i][1:] != most]
    ends = [*words[:N_OFFERED // 2 - 1], *words[-(N_OFFERED // 2):]]
    offered = {most: order[0]} | {names[i][1:]: i for i in ends}
    return dict(sorted(offered.items(), key=lambda one: one[0].casefold()))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the two charts of one sentence or of all; return what they show."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = choice(page, "pair")
        span = choice(page, "span", ("one",) if name == "own" else None)
    if span == "tone":
        return dataclasses.replace(tone.draw(page, run), below=lambda: _harms(page))
    if span == "all":
        return _sentences(page, run, name)
    pair = _typed(page, run) if name == "own" else _listed(page, name)
    return dataclasses.replace(_sentence(page, run, pair or listed("girl", [0])), below=lambda: _harms(page))


def _harms(page: Lesson) -> None:
    """Draw the list of the harms that the lectures name: what is shown of each, and what is left out and why."""
    if not reader.leaves_out(f"{PREFIX}harms"):
        with st.container(key=f"{PREFIX}harms"):
            st.markdown(page.text("harms"))


def _listed(page: Lesson, name: str) -> Pair:
    pair, sentences = contrasts.sets()["pairs"][name], contrasts.sets()["sentences"]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        names = [sentence.replace("{w}", f"{pair['a']} / {pair['b']}") for sentence in sentences]
        st.selectbox(page.label("sentence_pick"), range(len(sentences)), format_func=names.__getitem__, width=600,
                     label_visibility="collapsed", **attached("sentence", names=names))
        choice(page, "by")
    return listed(name, [read("sentence")])


def _contrasts(run: Run, texts: Sequence[tuple[str, str]]) -> list[Contrast]:
    key = run.loaded.key("contrasts", tuple(texts))
    return growing_results.made(key, lambda: contrasts.contrasts(run.loaded.runner, run.tokenizer, texts),
                                lambda _: 16 * len(texts) * run.model.config.vocab_size)


def _ratios(run: Run, texts: Sequence[tuple[str, str]], words: Sequence[str]) -> np.ndarray:
    key = run.loaded.key("contrast words", tuple(texts), tuple(words))
    return growing_results.made(key, lambda: contrasts.log_ratios(run.loaded.runner, run.tokenizer, texts, words),
                                lambda value: value.nbytes)


# ---- one sentence ----------------------------------------------------------------------------------------------------


def _sentence(page: Lesson, run: Run, pair: Pair) -> Reading:
    (contrast,) = _contrasts(run, pair.texts)
    by, k, visible = read("by"), K_PRESENT if reader.present() else K, run.tokenizer.visible
    gained, lost = contrast.movers(k, by, LEAST_RATIO if by == "ratio" else 0.0)
    ids = np.concatenate([gained, lost[::-1]]).astype(int)
    p, q = np.exp(contrast.log_p), np.exp(contrast.log_q)
    most, least = (code(visible(int(tokens[0]))) if len(tokens) else "–" for tokens in (gained, lost))
    title = page.label("words_title", a=code(pair.a), b=code(pair.b), tv=percent(contrast.total_variation),
                       gained=most, lost=least)
    st.markdown(f"**{title}**")
    left, right = st.columns(2, gap="medium")
    with left:
        values = (contrast.difference if by == "probability" else contrast.log_ratio)[ids]
        titles = (page.label(f"axis_{by}"), *(page.label("column_with", word=word) for word in (pair.a, pair.b)))
        show(figures.movers([visible(int(i)) for i in ids], p[ids], q[ids], values, titles, **look(**CHART)), "movers")
    with right:
        points = np.flatnonzero(np.maximum(p, q) >= LEAST)
        show(figures.log_ratios([visible(int(i)) for i in points], p[points], q[points],
                                np.isin(points, [*ids[:4], *ids[-4:]]),
                                (page.label("axis_mean"), page.label("axis_ratio")), **look(**CHART)), "ratios")
    return Reading(_sentence_lines(page, run, contrast, int(ids[0]) if len(ids) else 0, len(gained)),
                   _question(page, run, pair), [Contrast, contrasts.contrasts],
                   {"words.csv": lambda: _sentence_table(page, run, pair, contrast)}, f".st-key-{PREFIX}movers", title,
                   _counted_table(page, run, pair))


def _sentence_lines(page: Lesson, run: Run, contrast: Contrast, token_id: int, n_shown: int) -> list[tuple[str, str]]:
    visible, log = run.tokenizer.visible, {"p": contrast.log_p, "q": contrast.log_q}
    p, q = (float(np.exp(values[token_id])) for values in log.values())
    token, gains = code(visible(token_id)), np.sort(contrast.difference[contrast.difference > 0])[::-1]
    lines = [(page.label("numbers_difference", token=token),
              rf"q - p = {latex_operand(q)} - {bracketed(latex_operand(p))} = {latex_number(q - p)}"),
             (page.label("numbers_ratio", token=token),
              rf"\ln \frac{{q}}{{p}} = \ln \frac{{{latex_operand(q)}}}{{{latex_operand(p)}}} = "
              rf"{latex_number(contrast.log_ratio[token_id])}"),
             (page.label("numbers_tv", n=n_shown),
              rf"\tfrac12 \sum_w \lvert q_w - p_w \rvert = \sum_{{q_w > p_w}} (q_w - p_w) = "
              rf"{latex_operand(gains[:n_shown].sum())} + {bracketed(latex_operand(gains[n_shown:].sum()))} = "
              rf"{latex_number(contrast.total_variation)}")]
    for a, b, total in (("p", "q", contrast.kl_from_p), ("q", "p", contrast.kl_from_q)):
        terms = np.exp(log[a]) * (log[a] - log[b])
        i = int(np.argmax(np.abs(terms)))
        first, second = (latex_operand(np.exp(log[name][i])) for name in (a, b))
        lines.append((page.label("numbers_kl", token=code(visible(i)), one=a, other=b),
                      rf"\mathrm{{KL}}({a} \,\Vert\, {b}) = {bracketed(first)} \ln \frac{{{first}}}{{{second}}} "
                      rf"+ \cdots = {latex_number(terms[i])} + ({latex_number(total - terms[i])}) = "
                      rf"{latex_number(total)}"))
    return lines


def _counted_table(page: Lesson, run: Run, pair: Pair) -> pd.DataFrame:
    """The counted words in this sentence."""
    words = counted_words(pair)
    ratios = _ratios(run, pair.texts, words)[:, 0]
    return pd.DataFrame({page.label("column_word"): words, page.label("axis_ratio"): map(plain_number, ratios),
                         page.label("column_times"): map(plain_number, np.exp(ratios))})


def _sentence_table(page: Lesson, run: Run, pair: Pair, contrast: Contrast) -> pd.DataFrame:
    order = np.argsort(-np.abs(contrast.difference), kind="stable")
    columns = {page.label("column_with", word=pair.a): np.exp(contrast.log_p),
               page.label("column_with", word=pair.b): np.exp(contrast.log_q),
               page.label("axis_probability"): contrast.difference, page.label("axis_ratio"): contrast.log_ratio}
    return pd.DataFrame({page.label("column_token"): [run.tokenizer.visible(int(i)) for i in order]}
                        | {name: values[order] for name, values in columns.items()})


# ---- all sentences ---------------------------------------------------------------------------------------------------


def _sentences(page: Lesson, run: Run, name: str) -> Reading:
    pairs, places = contrasts.sets()["pairs"], range(len(contrasts.sets()["sentences"]))
    pair = listed(name, places)
    st.text_input(page.label("counted"), placeholder=", ".join(pair.counted), max_chars=MOST_CHARACTERS, width=700,
                  label_visibility="collapsed", **attached("counted"))
    words = counted_words(pair)
    sets = {name: pair} | {key: listed(key, places) for key, p in pairs.items() if p.get("control") and key != name}
    tables = {key: _ratios(run, p.texts, words) for key, p in sets.items()}
    spreads, controls = [Spread(line) for line in tables[name]], [tables[key] for key in tables if key != name]
    above = exceeds(tables[name], controls)
    word, most = max(zip(words, spreads), key=lambda named: abs(named[1].mean))
    title = page.label("all_title", a=code(pair.a), b=code(pair.b), n=len(pair.texts), word=code(word),
                       times=readable(np.exp(most.mean)), above=most.n_above)
    clear = page.label("all_clear", words=", ".join(code(w) for w, is_above in zip(words, above) if is_above)
                                          or page.label("none"))
    st.markdown(f"**{title}**" if reader.present() else f"**{title} {clear}**")
    title += f" {clear}"
    n = N_PRESENT if reader.present() else len(words)
    lanes = {key: page.label("lane_control", pair=page.label(f"pair_{key}")) if pairs[key].get("control")
             else page.label(f"pair_{key}") for key in sets}
    left, right = st.columns([3, 2], gap="medium")
    with left:
        show(figures.spreads(words[:n], [(lanes[key], table[:n]) for key, table in tables.items()],
                             page.label("axis_all"), **look(**CHART | {"presenting": 265})), "spreads")
    with right:
        _variations(page, run, {lanes[key]: p for key, p in sets.items()})
    return Reading(_spread_lines(page, word, most), _question(page, run, pair), [Spread, contrasts.log_ratios, exceeds],
                   {"sentences.csv": lambda: _ratio_table(page, sets, tables, words)}, f".st-key-{PREFIX}spreads",
                   title, _spread_table(page, words, spreads, above))


def _variations(page: Lesson, run: Run, sets: dict[str, Pair]) -> None:
    """Write the total variation of each pair of words, mean and deviation over the sentences."""
    lines = [page.label("moved_title")]
    for lane, pair in sets.items():
        moved = Spread(np.array([contrast.total_variation for contrast in _contrasts(run, pair.texts)]))
        lines.append(page.label("moved", lane=lane, mean=readable(moved.mean), deviation=readable(moved.deviation)))
    st.markdown("  \n".join(lines))
    page.note(page.label("moved_note"))


def exceeds(ratios: np.ndarray, controls: Sequence[np.ndarray]) -> list[bool]:
    """Whether each row of log-ratios (words, sentences) exceeds every control: its mean has the larger absolute value,
    and the mean difference over the same sentences is more than two standard errors.

    >>> exceeds(np.array([[1.0, 1.2, 0.9], [0.1, 0.2, 0.1]]), [np.array([[0.1, 0.0, 0.1], [0.3, 0.2, 0.4]])])
    [True, False]
    """
    def clear(line: np.ndarray, control: np.ndarray) -> bool:
        apart = Spread(line - control)
        return abs(line.mean()) > abs(control.mean()) and abs(apart.mean) > 2 * apart.error

    return [all(clear(line, table[i]) for table in controls) for i, line in enumerate(ratios)]


def _spread_lines(page: Lesson, word: str, spread: Spread) -> list[tuple[str, str]]:
    n, terms = len(spread.values), " + ".join(bracketed(latex_number(value)) for value in spread.values)
    return [(page.label("numbers_mean", word=code(word), n=n),
             rf"m = \frac{{{terms}}}{{{n}}} = {latex_number(spread.mean)}"),
            (page.label("numbers_error", n=n),
             rf"\frac{{s}}{{\sqrt{{n}}}} = \frac{{{latex_operand(spread.deviation)}}}{{\sqrt{{{n}}}}} = "
             rf"{latex_number(spread.error)}, \qquad e^{{m}} = {latex_number(np.exp(spread.mean))}")]


def _spread_table(page: Lesson, words: Sequence[str], spreads: Sequence[Spread], clear: Sequence[bool]) -> pd.DataFrame:
    rows = [(word, *map(plain_number, (s.mean, s.deviation, s.error)), f"{s.n_above} / {len(s.values)}",
             "✓" if is_clear else "–") for word, s, is_clear in zip(words, spreads, clear)]
    return page.table(rows, "word", "mean", "deviation", "error", "above", "clear")


def _ratio_table(page: Lesson, sets: dict[str, Pair], tables: dict[str, np.ndarray],
               words: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame([{page.label("column_pair"): f"{pair.a} / {pair.b}", page.label("column_sentence"): text,
                          page.label("column_word"): word, page.label("axis_ratio"): float(tables[key][i, j])}
                         for key, pair in sets.items() for j, (text, _) in enumerate(pair.texts)
                         for i, word in enumerate(words)])


def _question(page: Lesson, run: Run, pair: Pair) -> Question:
    """Ask which word's texts are nearer, in total variation, to the text with neither."""
    to_a, to_b = (np.mean([contrast.total_variation for contrast in _contrasts(
        run, [(text[side], neutral) for text, neutral in zip(pair.texts, pair.neutral)])]) for side in (0, 1))
    names = dict(neutral=code(pair.neutral_name), a=code(pair.a), b=code(pair.b))
    return page.question("neutral", [names["a"], names["b"]], int(to_b < to_a), **names, to_a=readable(to_a),
                         to_b=readable(to_b))
