"""The lesson's settings, and the small pieces that its views share."""
import functools

import numpy as np

from core.app.frame import charts, views
from core.app.state import reader
from core.app.state.lesson_settings import Setting, Settings
from core.learning import descent, kepler, learner, schedules, tuning, tuning_texts
from core.learning.schedules import Schedule

PREFIX = "training_"
CHART, CHART_PRESENT = 350, 270      # px of a chart that ends on a 720 px screen, in present mode too
SETTINGS = Settings("training", {
    "view": Setting("forcing", options=("forcing", "live", "schedules", "packing", "childhood", "tuning", "kepler")),
    "unit": Setting("nats", options=("nats", "bits")),
    "packed": Setting(False),
    "place": Setting(-1, low=-1),                 # the picked prediction of a packed row; −1: the dearest
    "task": Setting("copying", options=tuple(learner.TASKS)),
    "size": Setting("tiny", options=tuple(learner.SIZES)),
    "optimizer": Setting("adam", options=learner.OPTIMIZERS),
    "rate": Setting(-2.5, low=-5.0, high=0.5),    # log10 of the learning rate
    "seed": Setting(0, low=0, high=99),
    "head": Setting(0, low=0),                    # of the live model, counted through its layers
    "late": Setting(False),                       # the curves from shortly before the rise of induction on
    "milestone": Setting(-1, low=-1),             # index of the moment; −1: the last
    "stage": Setting("tuned", options=("pretrained", "tuned", "aligned")),
    "base": Setting("small", options=("small", "loaded")),
    "pairs": Setting("feeling", options=(*tuning_texts.KINDS, "fact")),
    "topic": Setting(""),                         # of the made-up fact; "": the lesson's own
    "food": Setting(""),
    "parts": Setting("all", options=tuning.PARTS),
    "rank": Setting(4, low=1, high=16),
    "judge": Setting("happy", options=(*tuning_texts.JUDGES, "own")),
    "beta": Setting(0.1, low=0.02, high=1.0),
    "asked": Setting("pair", options=("pair", "prompt")),      # what the model is given before and after
    "example": Setting(0, low=0, high=999),       # which of the held-out pairs
    "dice": Setting(0, low=0, high=999),          # seed of what is drawn
    "row_length": Setting(16, low=4, high=32),    # tokens of a packed row
    "row_place": Setting(0, low=0),               # the picked place, counted through the rows
    "part": Setting("schedules", options=("schedules", "descent")),
    # whose schedule is drawn: the reader's own, or a name of core.learning.schedules.table
    "like": Setting("own"),
    "schedule": Setting("constant", options=schedules.KINDS),
    "warmup": Setting(5, low=0, high=50),         # % of the run
    "total": Setting(2000, low=100, high=20_000),
    "floor": Setting(10, low=0, high=100),        # % of the peak
    "surface": Setting("bowl", options=tuple(descent.SURFACES)),
    "descent_rate": Setting(-1.3, low=-3.0, high=0.0),      # log10
    "descent_steps": Setting(40, low=1, high=200),
    "structure": Setting("ellipse", options=tuple(kepler.STRUCTURES)),
    "method": Setting("lm", options=kepler.METHODS),
    "noise": Setting(1.0, low=0.0, high=32.0),    # minutes of arc
    "measured": Setting(24, low=4, high=60),
    "fit_step": Setting(-1, low=-1),              # of the steps that a fit keeps; −1: the last
    "day": Setting(9831, low=0, high=36525),      # after noon of 1 January 2000
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice, show, show_spec = (functools.partial(views.choice, SETTINGS), functools.partial(charts.draw, PREFIX),
                           functools.partial(charts.draw_spec, PREFIX))


def chart_height(less: int = 0) -> int:
    """The pixels of a chart that ends on the first screen; `less`: what else stands there."""
    return (CHART_PRESENT if reader.present() else CHART) - less


def to_numpy(tensor) -> np.ndarray:
    """A tensor as float64 numpy."""
    return tensor.detach().double().cpu().numpy()


def scheduled() -> Schedule:
    """The reader's own schedule."""
    return Schedule(read("schedule"), round(read("total") * read("warmup") / 100), read("total"), read("floor") / 100)
