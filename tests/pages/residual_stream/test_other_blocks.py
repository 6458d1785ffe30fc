"""One block of models whose parts are not those of the bundled ones: the norm by its name, the feed-forward as it is.
"""
from collections.abc import Iterator

import pytest

from tests.helpers import kinds
from tests.helpers.lessons import opened
from tests.helpers.messages import formulas, given, numbers_in

WHOLE = r"\operatorname{FFN}(z) = "


@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with kinds.loaded(tmp_path_factory.mktemp("models")):
        yield


@pytest.mark.parametrize("name, norm, whole, inner, note", [
    ("llama-shaped", "RMSNorm", r"\big(\operatorname{Swish}(z W_\mathrm{gate}) \odot (z W_1)\big)\, W_2",
     "Swish(z W_{gate}) · z W_{1}", "SwiGLU. ReLU: "),
    ("gpt2-shaped", "LayerNorm", r"\operatorname{GELU}(z W_1 + b_1)\, W_2 + b_2", "GELU(z W_{1} + b_{1})", "ReLU: ")])
def test_a_block_is_written_as_the_model_has_it(name: str, norm: str, whole: str, inner: str,
                                                     note: str):
    at = opened("residual_stream", {"view": "block"}, model=f"folder:{name}", prompt="the cat sat on the mat")
    assert any(rf"O = X + \operatorname{{SelfAttention}}(\operatorname{{{norm}}}(X))" in one.value
               for one in at.markdown if one.value.startswith("$O"))
    latex = formulas(at)
    assert WHOLE + whole in latex
    out = next(one for one in latex if one.startswith(r"\operatorname{FFN}(z)_0"))
    *terms, total = numbers_in(out)
    assert sum(terms) == pytest.approx(total, abs=3e-4)
    rows = given(at, "residual_block")["rows"]
    assert inner in [row["name"] for row in rows]
    assert [row["note"].partition("ReLU")[0] + "ReLU: " for row in rows if row["note"]] == [note]


@pytest.mark.parametrize("name, line", [
    ("gemma3-shaped", r"H = O + \operatorname{RMSNorm}(\operatorname{FFN}(\operatorname{RMSNorm}(O)))"),
    ("mixtral-shaped", r"H = O + \operatorname{FFN}(\operatorname{RMSNorm}(O))"),
    ("opt-350m-shaped", r"H = \operatorname{LayerNorm}(O + \operatorname{FFN}(O))")])
def test_a_block_of_another_wiring_is_drawn_as_the_model_has_it(name: str, line: str):
    at = opened("residual_stream", {"view": "block"}, model=f"folder:{name}", prompt="the cat sat on the mat")
    assert any(line in one.value for one in at.markdown if one.value.startswith("$O"))
    assert ("experts" in " ".join(row["name"] for row in given(at, "residual_block")["rows"])) is ("mix" in name)
