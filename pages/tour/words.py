"""Steps 1 to 3, on words alone: finish the sentence, write on, change one word."""
import re

from core.app.lesson import Lesson
from core.app.state import Run
from core.app.state.lesson_settings import Setting
from core.components.sampling_panel import seeded_uniforms
from core.model.sampling import draw, truncate
from pages.tour.shared import (
    MOST_CHARACTERS,
    N_BARS,
    TAIL,
    Step,
    first_word,
    likeliest,
    n_words,
    next_words,
    plain,
    share,
    tail,
    word,
)

SURE = Setting(50, low=0, high=100)      # percent
MOST_WRITTEN = 60                        # tokens
SEED = 1
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
UNKNOWN = 1e-5                           # the probability of a word that the model has hardly ever read
CUT = 2                                  # pieces a word of a text that it has never read the like of
ENGLISH_STORIES = ("stories", "stories-small")      # the models that have read nothing else
MOVED = 0.1                              # of all probability: so much has to move for a word to count


def finish(_page: Lesson, run: Run, done: dict) -> Step:
    """Finish the sentence: the reader's word, and how sure of it, beside the model's likeliest."""
    act, asks = done.get("finish"), {"text": tail(run.text)}
    typed = str(act.get("word", "")).strip()[:MOST_CHARACTERS] if act else ""
    if not typed:
        return Step(asks)
    sure = SURE.accept(act.get("sure")) or 0
    typed, p, about = _counted(run, typed)
    probs, (_, top, p_top) = run.trace.probs[-1], first_word(run)
    ids = likeliest(probs)
    rows = [{"word": name, "p": float(probs[i])} for name, i in zip(next_words(run, ids, run.text), ids)]
    own = next((row for row in rows if row["word"] == typed), None)
    if own is None:
        rows.append(own := {"word": typed, "p": p})
    own["sure"] = sure / 100
    same = own is rows[0]
    return Step(asks, {"rows": rows}, [("told_finish_same" if same else "told_finish",
                                        {"word": word(typed), "sure": share(sure / 100), "p": share(own["p"]),
                                         "top": word(top), "p_top": share(p_top)}), *about])


def _counted(run: Run, typed: str) -> tuple[str, float, list[tuple[str, dict]]]:
    """The word that counts, its probability, and what is said of it: the typed one with a small letter, if that fits
    better.
    """
    p, small = probability_of(run, typed), typed.lower()
    if small != typed and (p_small := probability_of(run, small)) > max(p, UNKNOWN):
        return small, p_small, [("told_finish_small", {"typed": word(typed), "small": word(small)})]
    is_foreign = p < UNKNOWN or n_words(run) >= CUT * max(1, len(run.text.split()))
    return typed, p, [("told_finish_foreign", {})] if is_foreign and run.model_name in ENGLISH_STORIES else []


def spelling(text: str, typed: str) -> str:
    """A typed word as it would go on a text: with a space before it, unless the text ends with one or the word is a
    sign.

    >>> spelling("lost her", "ball"), spelling("lost her ", "ball"), spelling("a time", ",")
    (' ball', 'ball', ',')
    """
    return f" {typed}" if text[-1:].strip() and typed[:1].isalnum() else typed


def probability_of(run: Run, typed: str) -> float:
    """The probability that the text goes on with the typed word: the product over its tokens."""
    ids = run.tokenizer.encode(spelling(run.text, typed))[:run.model.config.n_context - 1]
    room = run.model.config.n_context - len(ids) + 1
    trace = run.trace if len(ids) == 1 else run.trace_of((*run.token_ids[-room:], *ids[:-1]))
    rows = trace.probs[len(trace.probs) - len(ids):].double()
    return float(rows[range(len(ids)), ids].prod())


def write(_page: Lesson, run: Run, done: dict) -> Step:
    """Write on: each press is the same question, asked of a longer text. The act is a list of tokens: ids that the
    reader took, or None for one that the dice decide.
    """
    asked = list(done.get("write", {}).get("added", ()))[:MOST_WRITTEN]
    ids, text, ended = [], run.text, False
    for given in asked:
        probs = _probs_after(run, ids)
        drawn = _thrown(probs, len(ids)) if given is None else int(given)
        if ended := drawn in (run.tokenizer.end_of_text, *run.tokenizer.end, *run.model.config.ends):
            break
        ids.append(drawn)
    text = run.text + run.tokenizer.decode(ids)
    probs = _probs_after(run, ids)
    best = likeliest(probs)
    rows = [{"word": name, "p": float(probs[i]), "id": i} for name, i in zip(next_words(run, best, text), best)]
    asks = {"text": tail(run.text)}
    tells = {"added": text[len(run.text):], "rows": rows, "full": ended or len(ids) == MOST_WRITTEN}
    said = [] if not ids else [("told_write_ended", {})] if ended else [
        ("told_write_one" if len(ids) == 1 else "told_write", {"n": len(ids)})]
    return Step(asks | {"shows": tells}, tells if asked else None, said)


def _probs_after(run: Run, ids: list[int]):
    """(|V|,) what comes after the prompt and these tokens."""
    return run.trace_of((*run.token_ids, *ids)[-run.model.config.n_context:]).probs[-1]


def _thrown(probs, n: int) -> int:
    """The token that the n-th throw of the dice decides."""
    cut = truncate(probs.log())
    return int(cut.token_ids[draw(cut, float(seeded_uniforms(SEED, n + 1)[-1]))])


def change(_page: Lesson, run: Run, done: dict) -> Step:
    """Change one word: the next word before and after."""
    words = list(WORD.finditer(run.text))
    start = max(0, len(run.text) - TAIL)
    shown = [found for found in words if found.start() >= start]
    if not shown or n_words(run) < 2:
        return Step(None)
    asks = {"pieces": _cut(run.text, shown), "from": len(words) - len(shown), "left_out": len(shown) < len(words),
            "place": suggested(run, words)}
    act = done.get("change")
    new = str(act.get("word", "")).strip()[:MOST_CHARACTERS] if act else ""
    place = Setting(0, low=0, high=len(words) - 1).accept(act.get("place")) if act else None
    if not new or place is None or not isinstance(act.get("moves"), bool):
        return Step(asks)
    old = words[place]
    after = run.with_text(run.text[:old.start()] + new + run.text[old.end():])
    tells, said = _compared(run, after, old[0], new, place)
    is_right = act["moves"] == (said[0][0] == "told_change")
    return Step(asks, tells, [("told_change_right" if is_right else "told_change_wrong", {}), *said])


def _compared(run: Run, after: Run, old: str, new: str, place: int) -> tuple[dict, list[tuple[str, dict]]]:
    """The bars of both texts, and what is said of them."""
    p, q = run.trace.probs[-1], after.trace.probs[-1]
    ids = list(dict.fromkeys([*likeliest(q, N_BARS - 2), *likeliest(p, N_BARS - 2)]))
    names = next_words(run, ids, run.text)
    rows = sorted(({"word": name, "p": float(q[i]), "before": float(p[i])} for name, i in zip(names, ids)),
                  key=lambda row: -row["p"])
    (first, before, p_before), (second, now, p_now) = first_word(run), first_word(after)
    values = {"old": word(old), "new": word(new), "before": word(before), "p_before": share(p_before),
              "top": word(now), "p": share(p_now), "p_same": share(float(q[first]))}
    moved = float((p - q).abs().sum()) / 2
    said = [("told_change_stays" if first == second else "told_change", values),
            ("told_change_counts" if moved >= MOVED else "told_change_little", values)]
    return {"rows": rows, "place": place, "word": new}, said


def _cut(text: str, shown: list[re.Match]) -> list[list]:
    """The text from the first shown word on, as [piece, whether it is a word]."""
    pieces, at = [], shown[0].start() if shown[0].start() > 0 and len(text) > TAIL else 0
    for found in shown:
        if found.start() > at:
            pieces.append([text[at:found.start()], False])
        pieces.append([found[0], True])
        at = found.end()
    return [*pieces, [text[at:], False]] if at < len(text) else pieces


def suggested(run: Run, words: list[re.Match]) -> int:
    """The word to begin with: where the likeliest next word stands in the text already, else the longest one of the
    last sentence's end.
    """
    _, top, _ = first_word(run)
    same = [i for i, found in enumerate(words) if found[0].lower() == plain(top, "").lower()]
    last = range(max(0, len(words) - 6), len(words))
    return same[-1] if same else max(last, key=lambda i: len(words[i][0]))
