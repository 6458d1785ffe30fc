"""Messages that a page's own file makes of a text in the browser, to be compared with what Python sends."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from core.app.state.run import Run
from core.components.lib.bytes import pack
from tests.helpers.javascript import evaluate

CLOSE = 1e-4        # of a number: a pass of the engine beside one of torch


def write_messages(folder: Path, page: str, cases: list[dict], run_of: Callable[[str], Run],
                   words_of: Callable[[Run], dict]) -> None:
    """Write the message of each case { name, model, settings } to <name>.message, made by the engine with the model's
    own float32 weights.

    run_of: a run of the model of that name; words_of: what the page's file says to its worker.
    """
    for name in {case["model"] for case in cases}:
        run = run_of(name)
        tensors = {key: values.float().numpy() for key, values in run.model.state_dict().items()}
        shapes = [[key, values.shape] for key, values in tensors.items()]
        (folder / f"{name}.model").write_bytes(pack({"config": run.model.config.to_dict(), "tensors": shapes}, tensors))
        (folder / f"{name}.tokenizer").write_text(run.tokenizer.as_json(), encoding="utf-8")
        (folder / f"{name}.words").write_text(json.dumps(words_of(run)), encoding="utf-8")
    assert evaluate("tests/js/own_messages.mjs", "await m.writeAll(folder, page, cases)", folder=str(folder), page=page,
                    cases=cases) == len(cases)
