"""Tuning: pretraining, supervised fine-tuning and alignment with preferences, on the reader's own copy of a model."""
from core.app.frame import Lesson, Reading, cannot
from core.app.state import Run, reader
from pages.training import alignment, fine_tuning, pretraining
from pages.training.shared import choice, side_by_side
from pages.training.tuning_parts import LEAST_CONTEXT, base_of

STAGES = {"pretrained": pretraining, "tuned": fine_tuning, "aligned": alignment}


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    with side_by_side():
        stage = STAGES[choice(page, "stage")]
        if not reader.present():                  # where there is room for it
            choice(page, "base")
        stage.settings(page)
    loaded = base_of(run)
    if loaded.model.config.n_context < LEAST_CONTEXT:
        return cannot(page.label("tuning_too_short", name=loaded.name, n=loaded.model.config.n_context,
                                 least=LEAST_CONTEXT))
    return stage.draw(page, run, loaded)
