"""An evaluation as Markdown, with the text of assets/text/en/evaluation.md, and as JSON."""
import dataclasses
import html
import math
import re
from collections.abc import Iterable, Sequence
from statistics import mean, median

import numpy as np

from core.analysis.induction import Induction
from core.analysis.statistics import Calibration
from core.evaluation.evaluate import Evaluation
from core.evaluation.lengths import LONG_TEXT
from core.evaluation.losses import TextScore
from core.evaluation.memorisation import Recitation, Verbatim
from core.evaluation.samples import Distinct, Sample
from core.evaluation.teaching_tasks import TaskScore
from core.files import ASSETS

TEXT = ASSETS / "text" / "en" / "evaluation.md"
N_SHOWN = 20
# fields without a place in JSON: numbers for every token mean little without the text
LEFT_OUT = ("token_ids", "predicted", "log_probs")


def sections(e: Evaluation) -> dict[str, str]:
    """The Markdown of each section by its name in the text file; those that need a corpus only if there was one."""
    parts = _parts(TEXT.read_text(encoding="utf-8"))
    words = dict(line.split(": ", 1) for line in parts.pop("words").splitlines())
    filled = dict(
        tasks=dict(tasks=rows(_task_row(score, words) for score in e.tasks)),
        induction=_induction_values(e.induction, e.vocab_size),
        calibration=dict(n=f"{e.calibration.n:,}", text=words.get(e.calibration_text, e.calibration_text),
                         error=percent(e.calibration.expected_error), bins=rows(_bin_rows(e.calibration))),
        samples=dict(longest=e.sizes.tokens, distinct=rows(_distinct_row(d, words) for d in e.distinct),
                     shown=min(N_SHOWN, len(e.samples)), samples="\n\n".join(map(sample_text, e.samples[:N_SHOWN]))),
        memory=dict(n_prompt=e.recitations[0].n_prompt, memory=rows(_memory_rows(e.recitations))),
        repetition=dict(n=len(e.repetition.first), outcome=words["same" if e.repetition.same else "different"]))
    if e.losses:
        filled["losses"] = dict(losses=rows(map(_loss_row, e.losses)))
    if e.lengths:
        filled["lengths"] = dict(text=LONG_TEXT,
                                 lengths=rows((f"{s.first} – {s.last - 1}", f"{s.n:,}", f"{s.nats_per_token:.3f}")
                                              for s in e.lengths))
    if e.verbatim:
        filled["verbatim"] = dict(longest=e.sizes.tokens, verbatim=rows(_verbatim_row(v, words) for v in e.verbatim))
    return {name: template.format(**filled[name]) for name, template in parts.items() if name in filled}


def _parts(text: str) -> dict[str, str]:
    """Return the text under each line `# name`."""
    pieces = re.split(r"^# (.+)\n", text, flags=re.MULTILINE)
    return {name: body.strip() for name, body in zip(pieces[1::2], pieces[2::2])}


def rows(cells: Iterable[Sequence[object]]) -> str:
    """Rows of a Markdown table."""
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in cells)


def percent(share: float) -> str:
    """Write a share in [0, 1] as percent with one decimal; only 0 and 1 are written as 0 % and 100 %.

    >>> percent(0.9), percent(0.9999), percent(1), percent(0.0001)
    ('90.0 %', '> 99.9 %', '100 %', '< 0.1 %')
    """
    if share in (0, 1):
        return f"{share * 100:.0f} %"
    if not 0.0005 <= share < 0.9995:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    return f"{share * 100:.1f} %"


def _loss_row(s: TextScore) -> tuple[str, ...]:
    return (s.text, f"{s.model.n_tokens:,}", f"{s.model.nats_per_token:.3f}",
            f"{s.model.perplexity:,.1f}", f"{s.model.bits_per_byte:.3f}",
            f"{s.trigram.nats_per_token:.3f}", f"{s.trigram.bits_per_byte:.3f}", f"{s.gzip:.3f}", f"{s.lzma:.3f}")


def _task_row(score: TaskScore, words: dict[str, str]) -> tuple:
    result, (low, high) = score.result, score.result.interval
    return (words[score.task], words[score.way], result.right, result.n, percent(result.share),
            f"{percent(low)} – {percent(high)}")


def _induction_values(i: Induction, vocab_size: int) -> dict[str, object]:
    best, previous = i.best_induction_head, i.best_previous_token_head
    return dict(n_sequences=i.n_sequences, n_tokens=i.n_tokens, uniform=f"{math.log(vocab_size):.2f}",
                first=f"{i.first:.3f}", second=f"{i.second:.3f}",
                induction_layer=best.layer, induction_head=best.head, induction_score=f"{best.score:.4f}",
                previous_layer=previous.layer, previous_head=previous.head, previous_score=f"{previous.score:.4f}")


def _bin_rows(c: Calibration) -> list[tuple[str, ...]]:
    return [(f"{b.low:.1f} – {b.high:.1f}", f"{b.count:,}",
             *((percent(b.confidence), percent(b.share_right)) if b.count else ("–", "–"))) for b in c.bins]


def _distinct_row(d: Distinct, words: dict[str, str]) -> tuple:
    return words[d.of], d.n, f"{d.n_tokens:,}", percent(d.share)


def sample_text(sample: Sample) -> str:
    """A Markdown quotation, the prompt in bold and Markdown's own characters escaped."""
    def plain(text: str) -> str:
        return re.sub(r"([\\`*_#|~\[\]])", r"\\\1", html.escape(text, quote=False))

    return f"> **{plain(sample.prompt)}**" + re.sub(r"\n+", "\n>\n> ", plain(sample.text.rstrip()))


def _memory_rows(recitations: Sequence[Recitation]) -> list[tuple]:
    """The means, for each number of repeats, over the passages and over their twins of the same names, which are not in
    the training text.
    """
    twins = {r.passage.name: r for r in recitations if not r.passage.repeats}
    cells = []
    for repeats in sorted({r.passage.repeats for r in recitations if r.passage.repeats}):
        group = [r for r in recitations if r.passage.repeats == repeats]
        cells.append((repeats, len(group), *_memory_cells(group),
                      *_memory_cells([twins[r.passage.name] for r in group])))
    return cells


def _memory_cells(group: Sequence[Recitation]) -> tuple[str, str, str]:
    return (percent(mean(r.recited_share for r in group)), percent(mean(r.share_right for r in group)),
            f"{mean(r.nats_per_token for r in group):.3f}")


def _verbatim_row(v: Verbatim, words: dict[str, str]) -> tuple:
    longest = v.n_tokens.index(max(v.n_tokens))
    return (words[v.of], len(v.n_tokens), v.n_tokens[longest], v.n_words[longest],
            f"{median(v.n_tokens):g}")


def as_json(value) -> object:
    """A record as values of JSON: its fields, except LEFT_OUT, and its properties by name; NaN as null."""
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value)] + [name for name, member in vars(type(value)).items()
                                                               if isinstance(member, property)]
        return {name: as_json(getattr(value, name)) for name in names if name not in LEFT_OUT}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
