"""The slim strip of the whole model on top of every lesson: the lesson's stages are lit and lead inside the picture of
the whole model, every other stage leads to its lesson.
"""
import functools

from core.app.compute import cache
from core.app.parts import prompt_use
from core.app.parts.guard import fragment
from core.app.state import address, model_choice, reader
from core.app.state.fragments import STRIP
from core.base import catalogue, prose
from core.base.catalogue import Entry
from core.base.prose import TextFile
from core.components.strip import stage_row
from core.model.config import ModelConfig

COLOURS = {"positions": "position", "attention": "attention", "stream": "residual", "mlp": "mlp", "draw": "drawn"}
OUTPUT = ("scores", "probabilities", "draw")


def draw(lesson: str) -> None:
    """Draw the strip with the stages of `lesson` lit; a fragment, since its links contain the prompt. Following a stage
    opens its lesson with the same prompt and selection.
    """
    fragment(lambda: _strip(lesson), key=STRIP)()


def _strip(lesson: str) -> None:
    own = prompt_use.now().model        # a view may show another model than the chosen one
    config = cache.shared_model(own if cache.exists(own) else model_choice.shown(), reader.device()).model.config
    words, here = prose.load("app").of_kind(config.kind), address.link()
    stages = [stage | {"href": stage["lesson"] and f"{stage['path']}{here}{stage['inside']}"}
              for stage in _stages(words, catalogue.existing(), lesson, config)]
    followed = stage_row(words.label("strip_name"), words.label("strip_blocks", n=config.n_layers), stages,
                         key=f"strip_{lesson}")
    stage = next((stage for stage in stages if stage["stage"] == followed), None)
    if stage and stage["lesson"]:
        reader.open_lesson(stage["lesson"], stage["opens"])


@functools.lru_cache(maxsize=64)
def _stages(words: TextFile, _lessons: tuple[Entry, ...], lesson: str, config: ModelConfig) -> list[dict]:
    """The stages as one of the lessons lights them; a link is `path`, the query with the prompt, and `inside`."""
    return [_stage(stage, lesson, words, config) for stage in catalogue.STAGES]


def _stage(stage: str, lesson: str, words: TextFile, config: ModelConfig) -> dict:
    leads_to = catalogue.lesson_of(stage)
    # a model without a language head has no way from its last vectors to a token
    lit = stage in catalogue.entry(lesson).stages and (config.head.output_head == "language" or stage not in OUTPUT)
    other = {"positions": config.positions, "scores": "tied" if config.tied_embeddings else "untied"}.get(stage)
    name = f"{stage}_{other}" if f"stage_{stage}_{other}" in words.labels else stage
    hint, opens = words.label(f"hint_{name}"), {}
    if lit and lesson != catalogue.HOME:        # we are there: what it leads to is its place in the whole picture
        leads_to = catalogue.HOME if catalogue.runs(catalogue.HOME, config.kind) else None
        if leads_to:
            hint, opens = words.label("hint_inside", stage=hint), catalogue.entry(leads_to).opening_inside(stage)
    return {"stage": stage, "label": words.label(f"stage_{name}"), "hint": hint, "lesson": leads_to, "opens": opens,
            "path": leads_to and f"./{catalogue.url_path(leads_to)}",
            "inside": "".join(f"&{name}={at}" for name, at in opens.items()),
            "lit": lit, "repeated": stage in catalogue.REPEATED, "colour": COLOURS.get(stage, "kept")}
