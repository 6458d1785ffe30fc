"""What is written on the wall's tiles: the role of each head, its measures, and a mark where the reader changed it."""
from __future__ import annotations

from core.figures import heads as figures
from core.ui.heads.reading import Change, Patterns, measured
from core.ui.run import Run
from core.ui.text import TextFile


def wall_words(words: TextFile, run: Run, change: Change | None, shown: Patterns) -> dict[str, list]:
    """The arguments `roles`, `notes`, `badges` and `crossed` of the wall, one entry a head in order; no change: no badges."""
    config = run.model.config
    roles = [words.label(f"role_{role}") if role else "" for role in figures.roles(shown.measures).flat]
    values = [shown.measures[name].reshape(-1) for name in ("previous_token", "first_token", "entropy")]
    notes = [words.label("note", previous=measured(p), first=measured(f), entropy=measured(e)) for p, f, e in zip(*values)]
    changed = sorted(layer * config.n_heads + head for layer, head in change.heads(run)) if change else []
    badge = words.label(f"badge_{change.action}", factor=change.factor) if change else ""
    return {"roles": roles, "notes": notes, "badges": [badge if i in changed else "" for i in range(len(roles))],
            "crossed": changed if change and change.action == "zero" else []}
