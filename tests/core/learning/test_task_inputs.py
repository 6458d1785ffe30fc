"""GPT-1's inputs: the rows of each task, the vector of the extract token, and the linear discriminant."""
import numpy as np
import pytest
import torch

from core.app.compute import cache
from core.learning import task_inputs
from core.learning.task_inputs import CLASSES, N_HELD_OUT, N_TRAIN

LOADED = cache.shared_model("stories-small", "cpu")


def texts_of(row: task_inputs.Row) -> list[str]:
    return [LOADED.tokenizer.decode([token]) for token in row.token_ids]


@pytest.mark.parametrize("task, n, kinds", [("classification", 1, "sttte"), ("entailment", 1, "sttdte"),
                                            ("similarity", 2, "std"), ("choice", 2, "s")])
def test_each_task_has_its_rows(task: str, n: int, kinds: str):
    others = {"classification": [], "choice": ["yes", "no"]}.get(task, ["no"])
    rows = [task_inputs.row_of(LOADED.tokenizer, parts, 256)
            for parts in task_inputs.parts_of(task, "a b", others)]
    assert len(rows) == n
    for row in rows:
        assert row.token_ids[0] == LOADED.tokenizer.first and texts_of(row)[-1] == task_inputs.EXTRACT
        assert row.kinds[0] == "start" and row.kinds[-1] == "extract" and len(row.kinds) == len(row.token_ids)
        assert [text for text, kind in zip(texts_of(row), row.kinds) if kind == "delimiter"] == (
            [] if task == "classification" else [task_inputs.DELIMITER])
    if task == "similarity":
        first, second = ("".join(texts_of(row)[1:-1]) for row in rows)
        assert first == "a b$no" and second == "no$a b"


def test_a_long_text_loses_its_end_and_not_the_extract_token():
    row = task_inputs.row_of(LOADED.tokenizer, ["word " * 300, "other " * 300], 96)
    assert len(row.token_ids) <= 96 and row.kinds[-1] == "extract" and row.kinds.count("delimiter") == 1


def test_padding_does_not_touch_the_vectors():
    rows = [task_inputs.row_of(LOADED.tokenizer, [text], 256) for text in ("Hi", "The picture made Rita very cheerful")]
    together = task_inputs.extracted(LOADED.model, rows)
    for row, h in zip(rows, together):
        alone = LOADED.model.final_vectors(torch.tensor(row.token_ids))[-1].double()
        assert (alone - h).abs().max() < 1e-4


def test_the_discriminant_is_bayes_rule_for_gaussians():
    generator = np.random.default_rng(0)
    classes = torch.arange(2000) % 2
    h = torch.from_numpy(generator.normal(size=(2000, 3)) @ np.diag([1.0, 2.0, 0.5])) + classes[:, None] * 1.5
    W, b = task_inputs.discriminant(h, classes)
    x = generator.normal(size=3)
    means = [h[classes == c].numpy().mean(0) for c in (0, 1)]
    rest = np.concatenate([h[classes == c].numpy() - means[c] for c in (0, 1)])
    covariance = rest.T @ rest / 1998
    covariance = 0.9 * covariance + 0.1 * np.trace(covariance) / 3 * np.eye(3)
    log_odds = [-0.5 * (x - mean) @ np.linalg.solve(covariance, x - mean) for mean in means]
    u = torch.from_numpy(x) @ W + b
    assert float(u[1] - u[0]) == pytest.approx(log_odds[1] - log_odds[0], rel=1e-9)


def test_the_head_is_tried_on_other_sentences_than_it_was_fitted_on():
    train, held_out = task_inputs.sentences()
    assert (len(train), len(held_out)) == (N_TRAIN, N_HELD_OUT)
    assert not {row["sentence"] for row in train} & {row["sentence"] for row in held_out}
    head = task_inputs.fitted(LOADED.model, LOADED.tokenizer)
    rows = [task_inputs.row_of(LOADED.tokenizer, [row["sentence"]], 256) for row in held_out]
    said = head.logits(task_inputs.extracted(LOADED.model, rows)).argmax(-1).tolist()
    assert head.right == sum(CLASSES[i] == row["label"] for i, row in zip(said, held_out)) > 0.75 * N_HELD_OUT
