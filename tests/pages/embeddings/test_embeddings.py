"""Embeddings: the mathematics by hand, and the lesson through AppTest: what the pictures are given, the numbers, and
each question's answer computed a second time from the weights.
"""
from __future__ import annotations

import json
import re

import numpy as np
import plotly
import plotly.graph_objects as go
import pyarrow
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.analysis import embeddings
from core.app.compute import cache
from core.app.compute.library import loading
from core.base import deployment, prose
from core.figures.numbers import readable
from pages.embeddings import charts as figures
from pages.embeddings import vocabulary_map
from pages.embeddings.shared import look_up, spelling
from tests.helpers import lessons, messages, shapes
from tests.helpers.javascript import evaluate
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas, unpacked
from tests.helpers.predictions import ask, commit, question
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

WORDS = prose.load("embeddings")
VIEWS = ("product", "neighbours", "map", "contexts", "arithmetic")


def opened(view: str, prompt: str | None = None, **settings: str) -> AppTest:
    """The lesson as a link with these settings opens it."""
    return lessons.opened("embeddings", {"view": view} | settings, prompt=prompt)


def loaded() -> cache.LoadedModel:
    return cache.shared_model(cache.model_names()[0], "cpu")


def matrix() -> np.ndarray:
    return loaded().model.E.detach().double().numpy()


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def word_id(word: str) -> int:
    (token_id,) = loaded().tokenizer.encode(f" {word}")
    return token_id


def title(at: AppTest) -> str:
    return next(m.value for m in at.markdown if m.value.startswith("**") and m.value.endswith("**"))


def answer_of(at: AppTest, view: str) -> str:
    """The option that the page takes for right: the reader commits to each in turn until it says yes."""
    radio = next(r for r in at.radio if r.key == f"embeddings_{view}_given")
    radio.set_value(0).run()
    at.button(f"embeddings_{view}_commit").click().run()
    verdict = next(m.value for m in at.markdown if m.value.startswith(("Yes: ", "Not quite: ")))
    return re.match(r"(?:Yes: |Not quite: you said .*, and it is )(.*)\.$", verdict, re.DOTALL)[1]


# ---- the mathematics, by hand ----------------------------------------------------------------------------------------

E3 = torch.tensor([[3.0, 4.0], [4.0, 3.0], [-3.0, -4.0], [0.0, 10.0]])


def test_a_one_hot_row_picks_a_row():
    ids = torch.tensor([2, 0, 2])
    assert embeddings.one_hot(ids, 4).tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    assert embeddings.embed(ids, E3).tolist() == [[-3, -4], [3, 4], [-3, -4]]


def test_the_three_measures_by_hand():
    query = E3[0]
    assert embeddings.similarity(E3, query).tolist() == pytest.approx([1.0, 24 / 25, -1.0, 40 / 50])
    assert embeddings.similarity(E3, query, "dot").tolist() == [25, 24, -25, 40]
    assert embeddings.similarity(E3, query, "distance").tolist() == pytest.approx([0.0, -2 ** 0.5, -10.0, -45 ** 0.5])
    with pytest.raises(ValueError, match="cosine, dot, distance"):
        embeddings.similarity(E3, query, "taxi")


def test_a_row_of_zeros_is_near_to_nothing():
    assert embeddings.similarity(torch.tensor([[0.0, 0.0], [1.0, 0.0]]), torch.tensor([1.0, 0.0])).tolist() == [0, 1]


def test_ranks_count_from_one_and_ties_go_to_the_lower_id():
    scores = torch.tensor([0.5, 0.9, 0.5, 0.1])
    assert embeddings.nearest(scores).tolist() == [1, 0, 2, 3]
    assert [embeddings.rank(scores, i) for i in range(4)] == [2, 1, 3, 4]
    assert embeddings.rank(scores, 2, leave_out=[1]) == 2 and embeddings.rank(scores, 1, leave_out=[1]) is None


def test_principal_axes_of_points_on_a_line():
    direction = torch.tensor([0.6, -0.8], dtype=torch.float64)
    points = torch.tensor([[-2.0], [0.0], [5.0]], dtype=torch.float64) * direction + torch.tensor([7.0, 1.0])
    view = embeddings.principal_axes(points, 1)
    assert torch.allclose(view.axes, -direction.unsqueeze(0))            # its largest entry is the positive one
    assert (view.kept == pytest.approx(1.0)
            and torch.allclose(view(points)[:, 0], torch.tensor([3.0, 1.0, -4.0], dtype=torch.float64)))


def test_principal_axes_agree_with_the_eigenvectors_of_the_covariance():
    points = torch.randn(60, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    view = embeddings.principal_axes(points, 2)
    values, vectors = np.linalg.eigh(np.cov(points.numpy().T))
    assert np.allclose(view.shares.numpy(), values[::-1] / values.sum())
    assert np.allclose(np.abs(view.axes.numpy() @ vectors[:, ::-1][:, :2]), np.eye(2), atol=1e-9)
    assert embeddings.principal_axes(points, 2).axes.equal(view.axes)


def test_what_does_not_vary_has_no_axes_but_no_error():
    view = embeddings.principal_axes(torch.ones(4, 3), 2)
    assert view.kept == 0.0 and view(torch.ones(4, 3)).abs().max() == 0


def test_an_analogy_that_is_a_parallelogram():
    E = torch.tensor([[1.0, 0.0], [1.0, 1.0], [3.0, 0.0], [3.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    found = embeddings.analogy(E, 0, 1, 2, 3)
    assert found.vector.tolist() == [3.0, 1.0] and found.rank == 1 and found.rank_without_inputs == 1
    assert float(found.scores[3]) == pytest.approx(1.0)
    assert embeddings.analogy(E, 0, 1, 2, 2).rank_without_inputs is None


def test_a_path_begins_with_the_row_and_ends_with_the_last_stream():
    model, token_ids = loaded().model, torch.tensor([0, 300, 400])
    with torch.inference_mode():
        trace = model(token_ids)
        way = embeddings.path(model.E, trace, 2)
        assert way.shape == (model.config.n_layers + 2, model.config.d_model)
        assert (way[0].equal(model.E[400]) and torch.allclose(way[1], model.E[400] + model.P[2], atol=1e-6)
                and way[-1].equal(trace.resid_final[2]))


# ---- words -----------------------------------------------------------------------------------------------------------


def test_every_token_is_found_again_by_what_a_click_writes():
    tokenizer = loaded().tokenizer
    for token_id in (*range(0, 300), *range(300, tokenizer.vocab_size, 37)):
        assert look_up(spelling(token_id, tokenizer), tokenizer) == (token_id, True), tokenizer.visible(token_id)


@pytest.mark.parametrize("typed", ["", "   ", "#", "#99999999", "#²", "🐶🐶", "שלום", "<b>x</b>", "a\x00b",
                                   "x" * 100_000, "antidisestablishment"])
def test_odd_words_are_looked_up_without_an_error(typed: str):
    token_id, _ = look_up(typed, loaded().tokenizer)
    assert 0 <= token_id < loaded().tokenizer.vocab_size


def test_a_word_is_looked_up_with_its_space():
    tokenizer = loaded().tokenizer
    assert look_up("king", tokenizer) == look_up("·king", tokenizer) == (word_id("king"), True)
    assert look_up("#12", tokenizer) == (12, True) and look_up("antidisestablishment", tokenizer)[1] is False


# ---- the page --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_opens_with_every_prompt(view: str, prompt: str | None):
    at = opened(view, prompt)
    assert formulas(at) and any(r.key == f"embeddings_{view}_given" for r in at.radio)


@pytest.mark.parametrize("odd", ["<script>alert(1)</script>", "🐶", "#99999", "x" * 50, "\u202e"])
@pytest.mark.parametrize("view, field", [("neighbours", "word"), ("map", "word"), ("arithmetic", "expected"),
                                         ("contexts", "other"), ("contexts", "shared")])
def test_odd_input_is_borne(view: str, field: str, odd: str):
    opened(view, **{field: odd})


def test_the_product_that_is_drawn_is_the_rows_of_the_weights():
    at = opened("product", "The king saw the queen")
    header = unpacked(next(c.proto.bytes for c in at.get("bidi_component")
                           if c.proto.component_name == "embedding_product"))
    E, d = loaded().model.E.detach().numpy(), header["d"]
    assert header["ids"] == [0, *loaded().tokenizer.encode("The king saw the queen")]
    assert header["product"].reshape(-1, d).tobytes() == E[header["ids"]].tobytes()
    assert header["window"].reshape(-1, d).tobytes() == E[header["window_ids"]].tobytes()
    assert header["ids"][header["picked"]] in header["window_ids"] and header["picked"] == len(header["ids"]) - 1


def way_out(at: AppTest) -> dict:
    return messages.given(at, "embedding_pair")


def test_the_matrix_of_the_rows_gives_the_next_token_too():
    at, there = opened("product", "The cat sat on the", use="out"), loaded()
    ids = there.tokenizer.prompt("The cat sat on the", 200).token_ids
    h = there.model(torch.tensor(ids)).h_final[-1].double().numpy()
    scores = matrix() @ h
    p = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    sent, best = way_out(at), int(p.argmax())
    d = len(h)
    assert sent["ids"][sent["picked"]] == best and ids[-1] in sent["ids"] and len(set(sent["ids"])) == 12
    assert set(np.argsort(-p)[:11]) <= set(sent["ids"]) and sent["y"] == sorted(sent["y"], reverse=True)
    assert sent["y"] == pytest.approx(p[sent["ids"]].tolist(), abs=1e-6)
    assert sent["E"].tobytes() == sent["U"].tobytes() == matrix()[sent["ids"]].astype(np.float32).tobytes()
    assert sent["h"] == pytest.approx(h, abs=1e-6)
    # on a phone the first six, the picked one among them
    shown = "[[9, false], [9, true], [3, true]].map(([picked, narrow]) => m.shownOf(12, picked, narrow))"
    assert evaluate("pages/embeddings/pair.js", shown) == [[*range(12)], [0, 1, 2, 3, 4, 9], [*range(6)]]
    terms = evaluate("pages/embeddings/pair.js", "m.termsOf({ h, U })", h=sent["h"].tolist(), U=sent["U"].tolist())
    sums = np.array(terms).reshape(-1, d).sum(1)
    assert sums == pytest.approx(scores[sent["ids"]], abs=1e-3)
    assert [float(u.replace("−", "-")) for u in sent["u"]] == pytest.approx(sums, abs=0.006)
    assert f"row {best} of E and column {best} of Eᵀ" in title(at)
    product, share, forms = formulas(at)
    assert f"= {scores[best]:.4f}" in product and f"= {p[best]:.4f}" in share and r"W_{\mathcal{T}}" in forms


def test_any_token_has_its_column():
    at = opened("product", "The cat sat on the", use="out", picked=str(word_id("king")))
    sent = way_out(at)
    assert sent["tokens"][sent["picked"]] == "·king" and "`·king` is one strip" in title(at)
    assert "not read" in sent["reads"][sent["picked"]]
    king = opened("product", "The king saw the king", use="out", picked=str(word_id("king")))
    sent = way_out(king)
    assert sent["reads"][sent["picked"]] == "·king is read at place 2, 5" and len(sent["ids"]) == 12


def test_what_is_not_in_the_vocabulary_is_not_picked():
    sent = way_out(opened("product", "The cat", use="out", picked="999999"))
    assert sent["picked"] == int(np.argmax(sent["y"]))


def test_an_untied_model_has_two_strips(tmp_path, monkeypatch):
    made = shapes.shown(tmp_path, "grouped")
    monkeypatch.setenv(deployment.ROOTS, str(tmp_path))
    task = loading.load("folder:grouped")
    task.wait(60)
    try:
        at = lessons.opened("embeddings", {"view": "product", "use": "out"}, model="folder:grouped",
                            prompt=shapes.PROMPT)
        sent, config = way_out(at), made.model.config
        assert not config.tied_embeddings and "is two strips, not tied" in title(at)
        rows, columns = (sent[name].reshape(len(sent["ids"]), -1) for name in "EU")
        assert np.array_equal(rows, made.model.E[sent["ids"]].detach().numpy()) and not np.allclose(rows, columns)
        assert sent["text"]["u"].endswith("W_Uᵀ")
    finally:
        cache.shelf.drop("folder:grouped")


def test_an_encoders_head_has_no_way_out_to_show():
    at = lessons.opened("embeddings", {"view": "product", "use": "out"}, model="blanks", prompt="The cat")
    assert messages.given(at, "embedding_product")["n"] > 1
    assert not any(WORDS.label("use_out") in group.options for group in at.get("button_group"))
    both = opened("product")
    assert any(WORDS.label("use_out") in group.options for group in both.get("button_group"))


def test_question_pair():
    at = opened("product", "The cat sat", use="out")
    assert answer_of(at, "pair") == f"{loaded().tokenizer.vocab_size:,}"


@pytest.mark.parametrize("measure", embeddings.MEASURES)
@pytest.mark.parametrize("centred", ["false", "true"])
def test_the_title_names_the_nearest_by_every_measure(measure: str, centred: str):
    at = opened("neighbours", word="dog", measure=measure, centred=centred)
    E, i = matrix(), word_id("dog")
    E = E - E.mean(0) if centred == "true" else E
    scores = {"cosine": unit(E) @ unit(E)[i], "dot": E @ E[i], "distance": -np.linalg.norm(E - E[i], axis=1)}[measure]
    scores[i] = -np.inf
    assert (f"`{loaded().tokenizer.visible(int(scores.argmax()))}`" in title(at)
            and f"{abs(scores.max()):.3g}" in title(at))


def test_the_cosine_formula_holds_on_a_calculator():
    latex = formulas(opened("neighbours", word="dog"))[1]
    product, a, b, cosine = (float(number) for number in re.search(r"\{(-?[\d.]+)\}\{([\d.]+) \\cdot ([\d.]+)\} = "
                                                                   r"(-?[\d.]+)", latex).groups())
    assert f"{product / a / b:.4f}" == f"{cosine:.4f}"


def test_the_map_holds_every_token_and_says_its_share():
    at = opened("map", word="king")
    spec = json.loads(at.get("plotly_chart")[0].proto.spec)
    assert {trace["type"] for trace in spec["data"]} == {"scatter"}
    assert (sorted(int(text.rsplit("<br>", 1)[1]) for trace in spec["data"] for text in trace["text"])
            == list(range(len(matrix()))))
    _, singular, _ = np.linalg.svd(matrix() - matrix().mean(0), full_matrices=False)
    assert f"{100 * (singular[:2] ** 2).sum() / (singular ** 2).sum():.3g}\u00a0%" in title(at)
    assert [a["text"] for a in spec["layout"]["annotations"]][0] == "·king" and len(spec["layout"]["annotations"]) == 9


def test_the_map_has_a_third_axis():
    spec = json.loads(opened("map", dimensions="3").get("plotly_chart")[0].proto.spec)
    assert spec["data"][0]["type"] == "scatter3d" and len(spec["layout"]["scene"]["annotations"]) == 9


def test_the_map_of_neighbourhoods_says_what_it_keeps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vocabulary_map, "N_MAPPED", 200)
    monkeypatch.setattr(vocabulary_map, "N_MOVES", 60)
    at = opened("map", word="king", dimensions="tsne")
    (trace,) = (spec := json.loads(at.get("plotly_chart")[0].proto.spec))["data"]
    ids = [int(text.rsplit(">", 1)[1]) for text in trace["text"]]
    assert ids == [i for i in range(len(matrix())) if figures.kind_of(loaded().tokenizer.visible(i)) == "word"][:200]
    E = unit(matrix()[ids])
    _, _, axes = np.linalg.svd(E - E.mean(0), full_matrices=False)
    kept = straight_share(E, (E - E.mean(0)) @ axes[:2].T)
    note = next(c.value for c in at.caption if "by chance" in c.value)
    assert f"keep {readable(100 * kept)}\u00a0%" in note and f"by chance {readable(1000 / 199)}\u00a0%" in note
    cosines = unit(matrix()[ids]) @ unit(matrix()[word_id("king")])
    nearest = [loaded().tokenizer.visible(ids[i]) for i in np.argsort(-cosines, kind="stable")
               if ids[i] != word_id("king")][:8]
    assert word_id("king") not in ids and "is not among" in note      # so few words do not hold it
    assert {a["text"] for a in spec["layout"]["annotations"]} == set(nearest)


def straight_share(vectors: np.ndarray, places: np.ndarray) -> float:
    """The share of ten nearest neighbours that two sets of points have in common, point by point."""
    kept = 0
    for i in range(len(vectors)):
        near = [set(np.argsort(np.where(np.arange(len(points)) == i, np.inf, ((points - points[i]) ** 2).sum(1)))[:10])
                for points in (vectors, places)]
        kept += len(near[0] & near[1])
    return kept / (10 * len(vectors))


@pytest.mark.parametrize("axes", [["x", "y"], ["x", "y", "z"]], ids=["plane", "space"])
def test_plotly_finds_nothing_wrong_with_the_map(axes: list[str]):
    kinds = list(figures.KINDS)
    figure = figures.vocabulary_map(np.arange(4.0 * len(axes)).reshape(4, -1), [3, 5, 7, 9], kinds, kinds, [1], 0, axes,
                                    "dark", 2.0, 300).to_plotly_json()
    written, checked = (json.loads(plotly.io.to_json(one, validate=False)) for one in (figure, go.Figure(figure)))
    assert (written == checked and len({trace["marker"]["symbol"] for trace in figure["data"]}) == 4
            and [trace["text"] for trace in figure["data"]] == [["word<br>3"], ["part<br>5"],
                                                                ["sign<br>7"], ["byte<br>9"]])
    figure["data"][0]["marker"]["symbol"] = "ball"
    with pytest.raises(ValueError, match="ball"):
        go.Figure(figure)


def test_signs_of_html_do_not_reach_plotly():
    figure = figures.vocabulary_map(np.zeros((2, 2)), [7, 9], ["<b>", "&"], ["sign", "sign"], [1], 0, ["x", "y"],
                                    "light", 1.0, 300)
    assert figure.data[0].text == ("&lt;b&gt;<br>7", "&amp;<br>9") and figure.layout.annotations[0].text == "&lt;b&gt;"


def test_the_contexts_are_the_streams_of_both_texts():
    at = opened("contexts", "Lily was nice and kind", other="Tom asked what kind", shared="kind")
    model, ids = loaded().model, [[0, *loaded().tokenizer.encode(t)]
                                  for t in ("Lily was nice and kind", "Tom asked what kind")]
    with torch.inference_mode():
        a, b = (model(torch.tensor(one)).resid_final[-1].double().numpy() for one in ids)
    cosine = float(unit(a) @ unit(b))
    assert f"{cosine:.4f}" in formulas(at)[0]
    assert "`·kind`" in title(at)


def test_a_token_that_has_read_the_same_in_both_texts_is_the_same_in_both():
    """Two passes over texts of different lengths differ in the last digits of float32: that is no difference
    of the vectors.
    """
    at = opened("contexts", "The king saw a small boat near the park", other="The king was glad", shared="king")
    tables = [pyarrow.ipc.open_stream(one.data.data).read_all() for one in at.get("vega_lite_chart")[1].proto.datasets]
    [shown] = [table["shown"].to_pylist() for table in tables if "shown" in table.column_names]
    assert set(shown) == {"1"} and "the same at every depth" in title(at) and formulas(at)[0].endswith("= 1.0000")


def test_texts_without_a_common_word_are_told_so():
    at = opened("contexts", "apple", other="Tom ran")
    assert [i.value for i in at.info] == [WORDS.label("contexts_none", token="`‹end›`")]


def test_the_ranks_of_the_title_are_counted_over_the_whole_vocabulary():
    at = opened("arithmetic", a="boy", b="girl", c="man", expected="woman")
    E, (a, b, c, d) = matrix(), map(word_id, ("boy", "girl", "man", "woman"))
    scores = unit(E) @ unit(E[b] - E[a] + E[c])
    full = int((scores > scores[d]).sum()) + 1
    without = full - sum(scores[i] > scores[d] for i in (a, b, c))
    assert f"is number {full} of {len(E):,}, and number {without} without the" in title(at)


def test_an_expected_word_that_went_in_is_said_to_have():
    assert "one of the three words" in title(opened("arithmetic", expected="king"))


# ---- before the picture ----------------------------------------------------------------------------------------------


def told(view: str, guess: object, **query: str) -> dict:
    return commit(ask("embeddings", view, **query), "embeddings", view, guess)


def of_model(name: str) -> tuple[np.ndarray, cache.LoadedModel]:
    there = cache.shared_model(name, "cpu")
    return there.model.E.detach().double().numpy(), there


@pytest.mark.parametrize(("model", "word", "guess"), [("stories", "hot", "warm"), ("stories-small", "dog", "cat")])
def test_the_nearest_token_is_told_with_its_cosine_and_the_guess_with_its_own(model: str, word: str, guess: str):
    found = told("neighbours", guess, model=model, embeddings_word=word)
    E, there = of_model(model)
    (asked,), (mine,) = (there.tokenizer.encode(f" {one}") for one in (word, guess))
    cosines = unit(E) @ unit(E[asked])
    others = np.delete(cosines, asked)
    best = int(np.where(np.arange(len(E)) == asked, -2, cosines).argmax())
    assert found["answer"] == found["bars"][0][0] == there.tokenizer.visible(best)
    assert found["bars"][0][1] == pytest.approx(others.max()) and found["right"] == (mine == best)
    [own] = [bar for bar in found["bars"] if bar[2]]
    assert own[:2] == [there.tokenizer.visible(mine), pytest.approx(cosines[mine])]
    assert f"place {(others > cosines[mine]).sum() + 1} of {len(others):,}" in found["reason"] and found["sure"] is None
    apart = (others.max() - others.mean()) / others.std(ddof=1) >= 4
    assert ("clearly apart" in found["true"]) == apart


def test_a_guess_about_another_word_is_told_of_no_more_and_marked_nowhere():
    at = ask("embeddings", "neighbours")
    assert commit(at, "embeddings", "neighbours", "warm")["mine"] == "warm"
    marked = [name for chart in at.get("vega_lite_chart") for name in words_of(chart) if name.startswith("you ")]
    assert set(marked) == {"you ·warm"}
    at.session_state["embeddings_word"] = "king"
    at.run()
    assert fine(at) and not [c for c in at.get("bidi_component") if c.proto.component_name == "prediction"
                             and unpacked(c.proto.bytes)["mode"] == "told"]
    assert not any(name.startswith("you ") for chart in at.get("vega_lite_chart") for name in words_of(chart))


def words_of(chart) -> list[str]:
    """All texts of a chart's tables."""
    tables = [pyarrow.ipc.open_stream(one.data.data).read_all() for one in chart.proto.datasets]
    return [value for table in tables for column in table.columns for value in column.to_pylist()
            if isinstance(value, str)]


@pytest.mark.parametrize(("prompt", "word", "places"), [
    (None, "·Lily", "12, 23"), ("The cat sat on the mat. The cat ate the cheese.", "·cat", "2, 9")])
def test_a_token_that_comes_again_has_the_same_row(prompt: str | None, word: str, places: str):
    query = {} if prompt is None else {"prompt": prompt}
    at = ask("embeddings", "product", **query)
    assert f"`{word}`" in question(at)["question"]
    found = commit(at, "embeddings", "product", 2)
    assert found["answer"] == 0 and "same colours" in found["true"]
    assert f"positions {places} it" in found["reason"]
    header = unpacked(next(c.proto.bytes for c in at.get("bidi_component")
                           if c.proto.component_name == "embedding_product"))
    rows = header["product"].reshape(header["n"], -1)[header["marked"]]
    assert ", ".join(map(str, header["marked"])) == places and (rows == rows[0]).all()


def test_where_no_token_comes_again_nothing_is_asked_of_rows():
    at = lessons.open_at("embeddings", embeddings_view="product", prompt="apple", ask="true")
    assert fine(at) and title(at)


@pytest.mark.parametrize(("model", "k", "answer"), [
    ("stories", 2, "Less than a tenth"), ("stories-small", 3, "A tenth to a half")])
def test_the_share_that_a_map_keeps_is_that_of_the_covariances_eigenvalues(model: str, k: int, answer: str):
    found = told("map", 3, model=model, embeddings_dimensions=str(k), embeddings_word="king")
    E, there = of_model(model)
    values, axes = np.linalg.eigh(np.cov(E.T))
    kept = 100 * values[-k:].sum() / values.sum()
    assert found["guess"]["texts"][found["answer"]] == answer == ("Less than a tenth" if kept < 10 else
                                                                  "A tenth to a half" if kept < 50 else "more")
    assert found["said"] == f"{readable(kept)}\u00a0%" and f"keeps {readable(kept)}\u00a0%" in found["reason"]
    (king,) = there.tokenizer.encode(" king")
    places = (E - E.mean(0)) @ axes[:, -k:]
    here, far = (np.argsort(score, kind="stable")[1:9] for score in
                 (np.linalg.norm(places - places[king], axis=1), -(unit(E) @ unit(E[king]))))
    assert ("scattered" in found["true"]) == (len(set(here) & set(far)) < 4)


@pytest.mark.parametrize(("model", "a", "b", "word"), [
    ("stories", None, WORDS.label("other_default"), "ball"),
    ("stories", "Lily was nice and kind", "Tom asked what kind", "kind"),
    ("stories", "Tom saw the dog.", "Tim saw the dog.", "dog")])
def test_how_alike_two_contexts_are_is_the_cosine_of_the_last_streams(model: str, a: str | None, b: str, word: str):
    query = {} if a is None else {"prompt": a, "embeddings_other": b, "embeddings_shared": word}
    at = ask("embeddings", "contexts", model=model, **query)
    assert f"`·{word}`" in question(at)["question"]
    found, there = commit(at, "embeddings", "contexts", 0), cache.shared_model(model, "cpu")
    (asked,), streams = there.tokenizer.encode(f" {word}"), []
    for text in (at.session_state["prompt"], b):
        ids = [0, *there.tokenizer.encode(text)]
        with torch.inference_mode():
            trace = there.model(torch.tensor(ids))
        place = max(i for i, token in enumerate(ids) if token == asked)
        streams.append([depth[place].double().numpy() for depth in trace.depths])
    last = float(unit(streams[0][-1]) @ unit(streams[1][-1]))
    answer = found["guess"]["texts"][found["answer"]].split(" (")[0]
    assert answer == ("Hardly alike" if last < 0.5 else "Alike, but not the same" if last < 0.99 else "Still the same")
    assert f"is {readable(last)}." in found["reason"] and found["said"] == readable(last)
    assert "leap the same way" in found["true"]
    leaps = [unit(way[1] - way[0]) for way in streams]
    assert float(leaps[0] @ leaps[1]) > 0.5


def test_of_a_token_that_has_read_the_same_nothing_is_asked():
    at = lessons.open_at("embeddings", embeddings_view="contexts", ask="true", prompt="The king saw a boat",
                         embeddings_other="The king was glad", embeddings_shared="king")
    assert fine(at) and "the same at every depth" in title(at)


@pytest.mark.parametrize(("model", "words"), [("stories", ("man", "king", "woman", "queen")),
                                              ("stories-small", ("boy", "girl", "man", "woman"))])
def test_the_token_nearest_to_a_sum_is_told_whether_it_went_in_or_not(model: str, words: tuple[str, ...]):
    query = dict(zip(("embeddings_a", "embeddings_b", "embeddings_c", "embeddings_expected"), words))
    found = told("arithmetic", words[3], model=model, **query)
    E, there = of_model(model)
    a, b, c, d = (there.tokenizer.encode(f" {one}")[0] for one in words)
    sum_ = E[b] - E[a] + E[c]
    scores = unit(E) @ unit(sum_)
    best = int(scores.argmax())
    assert found["answer"] == there.tokenizer.visible(best)
    assert ("which is one of the three words" in found["reason"]) == (best in (a, b, c))
    without = next(i for i in np.argsort(-scores) if i not in (a, b, c))
    assert f"the answer is `{there.tokenizer.visible(int(without))}`" in found["reason"]
    assert f"is number {(scores > scores[d]).sum() + 1} of all {len(E):,}" in found["reason"]
    five = np.stack([E[a], E[b], E[c], E[d], sum_])
    plane = np.linalg.svd(five - five.mean(0), full_matrices=False)[2][:2]
    misses = np.linalg.norm(plane @ (sum_ - E[d])) > 0.25 * np.linalg.norm(plane @ (E[b] - E[a]))
    assert ("ends away" in found["true"]) == misses


# ---- the questions, answered a second time ---------------------------------------------------------------------------


def test_question_product():
    prompt = "The cat sat on the mat. The cat ate."
    assert answer_of(opened("product", prompt), "product") == str(len({0, *loaded().tokenizer.encode(prompt)}))


def test_question_neighbours():
    E = unit(matrix())
    first = E @ E[word_id("king")]
    first[word_id("king")] = -1
    other = int(first.argmax())
    second = E @ E[other]
    second[other] = -1
    assert (answer_of(opened("neighbours", word="king"), "neighbours")
            == f"`{loaded().tokenizer.visible(int(second.argmax()))}`")


def test_question_map():
    variance = np.linalg.eigvalsh(np.cov(matrix().T))[::-1]
    needed = next(k for k in range(1, len(variance) + 1) if variance[:k].sum() >= variance.sum() / 2)
    assert answer_of(opened("map"), "map") == str(needed)


def test_question_contexts():
    prompt = "Lily was nice and kind"
    at = opened("contexts", prompt, other="Tom asked what kind", shared="kind")
    model, ids = loaded().model, [0, *loaded().tokenizer.encode(prompt)]
    with torch.inference_mode():
        last = model(torch.tensor(ids)).resid_final[-1].double().numpy()
    own = float(unit(last) @ unit(matrix()[ids[-1]]))
    assert answer_of(at, "contexts") == WORDS.label(f"contexts_option_{sum(own > step for step in (0.1, 0.5, 0.9))}")


def test_question_arithmetic():
    E, (a, b, c, d) = matrix(), map(word_id, ("man", "king", "woman", "queen"))
    scores = unit(E) @ unit(E[d] - E[c] + E[a])
    place = 1 + next(k for k, i in enumerate(i for i in np.argsort(-scores) if i not in (a, c, d)) if i == b)
    assert (answer_of(opened("arithmetic"), "arithmetic")
            == WORDS.label(f"arithmetic_option_{sum(place > step for step in (1, 3, 10))}"))


def test_the_verdict_counts_every_analogy_of_the_list():
    E, found = matrix(), []
    for line in WORDS.section("analogies").splitlines():
        a, b, c, d = map(word_id, line.split())
        scores = unit(E) @ unit(E[b] - E[a] + E[c])
        alone = unit(E) @ unit(E[c])
        order = [i for i in np.argsort(-scores) if i not in (a, b, c)]
        found.append((scores.argmax() == d, order[0] == d,
                      next(i for i in np.argsort(-alone) if i not in (a, b, c)) == d))
    first, without, alone = np.array(found).sum(0)
    said = next(c.value for c in opened("arithmetic").caption if "analogies" in c.value)
    assert (f"whole vocabulary in {first}; with the three words left out, in {without}; beside the third word alone, "
            f"in {alone}." in said)


def test_every_experiment_leads_to_the_view_that_it_names():
    for experiment in WORDS.experiments:
        at = opened("product")
        at.button(f"do_embeddings_{experiment.id}").click().run()
        assert (not at.exception and not at.error
                and at.session_state["embeddings_view"] == experiment.settings["embeddings_view"]), experiment.id
