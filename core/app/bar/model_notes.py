"""Notes on a model of the library, for every page: whose it is, and when its predictions mean nothing.
"""
import math

from core.app.compute import cache
from core.app.compute.library import loading, names
from core.app.compute.library.loading import words
from core.app.state import reader
from core.app.state import run as runs
from core.base.markdown import code, escaped
from core.huggingface.tokens import NumberedTokens

MOST_NAMED = 4          # keys of a config.json in one line


def of(run: runs.Run) -> list[str]:
    """Lines of Markdown; none for a model from outside the library. Present mode says whose it is beside the prompt.
    """
    if not names.is_library_name(run.model_name):
        return []
    config, room = run.model.config, runs.room(run.model.config)
    lines = [] if reader.present() else [whose(run.loaded), *without_effect(run.loaded.passed_over)]
    if run.n_cut and room < config.n_context:
        lines.append(words().label("note_room", room=room, context=config.n_context))
    if not run.tokenizer.encode(run.text) and not run.tokenizer.begin:
        lines.append(words().label("note_nothing", token=f"`{run.tokens[0]}`"))
    return lines


def without_effect(passed_over: tuple[str, ...]) -> list[str]:
    """The line, in Markdown, that names the keys of a config.json which have no effect; [] without such keys."""
    named = ", ".join(code(one) for one in passed_over[:MOST_NAMED])
    more = len(passed_over) - MOST_NAMED
    return [words().label("passed_over_more" if more > 0 else "passed_over", keys=named, n=more)] if named else []


def brief(loaded: cache.LoadedModel) -> str:
    """A model of the library in a few words, for beside the prompt: Markdown."""
    kind = ("_no_tokenizer" if isinstance(loaded.tokenizer, NumberedTokens)
            else "_chance" if loading.is_chance(loaded.loss, loaded.model.config.vocab_size) else "")
    return words().label(f"brief{kind}", name=escaped(names.short(loaded.name)))


def whose(loaded: cache.LoadedModel) -> str:
    """A sentence on a model of the library, of any kind: Markdown."""
    config, name = loaded.model.config, escaped(names.short(loaded.name))
    if isinstance(loaded.tokenizer, NumberedTokens):
        return words().label("note_no_tokenizer", name=name)
    if loading.is_chance(loaded.loss, config.vocab_size):
        paid = words().label(f"paid_{config.kind}", loss=loaded.loss)
        return words().label("note_chance", name=name, paid=paid, vocabulary=config.vocab_size,
                             chance=math.log(config.vocab_size))
    return words().label("note", name=name, n=loaded.model.n_parameters)
