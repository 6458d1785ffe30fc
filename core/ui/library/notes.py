"""What a reader has to know, on every page, of a model of the library: whose it is, and where its predictions mean nothing."""
from __future__ import annotations

import math

from core.huggingface.tokens import NumberedTokens
from core.ui import run as runs
from core.ui.library import loading, names
from core.ui.library.loading import words
from core.ui.library.offer import title


def of(run: runs.Run) -> list[str]:
    """Lines of Markdown; none for a model that is not of the library."""
    if not names.is_library_name(run.model_name):
        return []
    config, name, room = run.model.config, title(run.model_name), runs.room(run.model.config)
    lines = [words().label("note", name=name, n=run.model.n_parameters)]
    if isinstance(run.tokenizer, NumberedTokens):
        lines = [words().label("note_no_tokenizer", name=name)]
    elif loading.is_chance(run.loaded.loss, config.vocab_size):
        lines = [words().label("note_chance", name=name, loss=run.loaded.loss, vocabulary=config.vocab_size, chance=math.log(config.vocab_size))]
    if run.n_cut and room < config.n_context:
        lines.append(words().label("note_room", room=room, context=config.n_context))
    if not run.tokenizer.encode(run.text) and not run.tokenizer.begin:
        lines.append(words().label("note_nothing", token=f"`{run.tokens[0]}`"))
    return lines
