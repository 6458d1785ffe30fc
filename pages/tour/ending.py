"""Steps 10 to 12: the dice, how the model learned, and the whole map."""
import numpy as np

from core.app.compute import cache
from core.app.lesson import Lesson
from core.app.state import Run, address
from core.app.state import run as runs
from core.app.state.lesson_settings import Setting
from core.base import catalogue
from core.model.checkpoints import Milestone
from pages.tour.looking import n_heads, telling_head
from pages.tour.shared import Step, first_word, likeliest, next_words, plain, share, word

MOST_NAMES = 10_000                 # tokens whose words travel, so that the dice can name them
# steps of training that are shown: the nearest that were kept, and the last
MOMENTS = (0, 64, 96, 128, 256, 512, 1_024)
N_GUESSES = 3
FIRST = ("letters", "frequent", "grammar", "copy")      # what a model may be thought to write first
MOST_REPEATED = 3                   # different pieces of a sample that repeats itself
SAMPLE = 110                        # characters


def dice(_page: Lesson, run: Run, done: dict) -> Step:
    """From scores to one word: what the temperature does to the likeliest. The browser computes it."""
    logits = run.logits()
    order = np.argsort(-logits, kind="stable")
    named = order[:MOST_NAMES].tolist()
    _, top, p = first_word(run)
    asks = {"names": next_words(run, named, run.text), "top": top}
    values, arrays = {"top": word(top), "p": share(p)}, {"logits": logits[order].astype(np.float32)}
    guess = str(done.get("dice", {}).get("guess", ""))
    if guess not in ("more", "less"):
        return Step(asks, values=values, arrays=arrays)
    return Step(asks, {"guess": guess}, [("told_dice_right" if guess == "less" else "told_dice_wrong", values)],
                values, arrays)


def learn(page: Lesson, run: Run, done: dict) -> Step:
    """How it learned: what it writes first, and the next word and a sample at some moments of a model's training."""
    name = grown(run)
    if name is None:
        return Step(None)
    shown = moments_of(run, name)
    values = {"model": name, "steps": shown[-1]["step"], "n": shown[0]["n"]}
    asks = {"moments": shown, "options": FIRST}
    if name != cache.name_and_step(run.model_name)[0]:
        asks["variant"] = "other"
    act = done.get("learn", {})
    guess = act.get("guess")
    if guess not in FIRST:
        return Step(asks, values=values)
    at = Setting(0, low=0, high=len(shown) - 1).accept(act.get("at")) or 0
    step, repeated = repeated_by(run, name)
    told = values | {"step": step, "guess": page.label(f"{guess}_learn"),
                     "pieces": ", ".join(f"“{piece}”" for piece in repeated)}
    right = "told_learn_right" if guess == "frequent" else "told_learn_wrong"
    said = [(right, told)] * bool(repeated) + [("told_learn_on", {})] * (not at)
    return Step(asks, {"at": at, "guess": guess}, said, values)


def grown(run: Run) -> str | None:
    """The model whose training was kept: this one, or else the first bundled one."""
    return next((base for base in (cache.name_and_step(run.model_name)[0], *cache.model_names())
                 if cache.moments(base)), None)


def repeated_by(run: Run, name: str) -> tuple[int, list[str]]:
    """The last of the first shown moments, after the start, at which a model's sample repeats a few pieces, and these
    pieces; (0, []) where it never does so.
    """
    tokenizer, step, pieces = cache.shared_model(name, run.device).tokenizer, 0, []
    samples = {moment.step: moment.sample for moment in cache.moments(name)}     # those that are shown are cut
    for shown in moments_of(run, name)[1:]:
        ids = sorted(set(tokenizer.encode(samples[shown["step"]])))
        if len(ids) > MOST_REPEATED:
            break
        step, pieces = shown["step"], [plain(tokenizer.visible(i), "") for i in ids]
    return step, pieces


def moments_of(run: Run, name: str) -> list[dict]:
    """The model at each moment: the likeliest next words of this prompt, and its continuation of another."""
    def make() -> list[dict]:
        kept = cache.moments(name)
        picked = {min(range(len(kept)), key=lambda i: abs(kept[i].step - step)) for step in MOMENTS} | {len(kept) - 1}
        return [_moment(run, name, kept[i], i == len(kept) - 1) for i in sorted(picked)]

    return cache.result(run.key("tour_moments", name), make, lambda made: 2_000 * len(made))


def _moment(run: Run, name: str, moment: Milestone, last: bool) -> dict:
    past = runs.read(cache.shared_model(name if last else f"{name}{cache.MOMENT}{moment.step}", run.device), run.text)
    probs = past.trace.probs[-1]
    ids = likeliest(probs, N_GUESSES)
    words = next_words(past, ids, past.text)
    return {"step": moment.step, "n": past.tokenizer.vocab_size, "prompt": moment.prompt,
            "sample": moment.sample[:SAMPLE],
            "rows": [{"word": name, "p": float(probs[i])} for name, i in zip(words, ids)]}


def whole(page: Lesson, run: Run, _done: dict) -> Step:
    """The whole map, and where each question leads on."""
    config, (_, top, p) = run.model.config, first_word(run)
    n = len(run.own_ids)
    last = run.tokenizer.visible(run.token_ids[-1])
    values = {"n": n, "d": config.d_model, "heads": n_heads(run), "layers": config.n_layers, "top": word(top),
              "p": share(p), "v": run.tokenizer.vocab_size, "last": word(plain(last, ""))}
    ways = [{"id": way.id, "title": way.title, "about": way.look, "href": _link(*place(page, run, way.id))}
            for way in page.words.entries("entrance")]
    return Step({"ways": ways}, None, (), values)


def place(page: Lesson, run: Run, entrance: str) -> tuple[str, dict]:
    """The lesson and the settings that an entrance leads to, the home page where there is no such; into the overview it
    leads to the head that was met.
    """
    way = next((way for way in page.words.entries("entrance") if way.id == entrance), None)
    if way is None:
        return catalogue.HOME, {}
    settings = dict(way.settings)
    lesson = settings.pop("lesson")
    if lesson == "overview":
        layer, head = telling_head(run)
        settings |= {"layer": layer, "head": head, "overview_at": f"head.{layer}.{head}"}
    return lesson, settings


def _link(lesson: str, settings: dict) -> str:
    return address.link(settings, catalogue.url_path(lesson), alone=True)
