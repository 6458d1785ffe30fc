"""A sampling rule is one entry in Python and one in JavaScript, and its words: a copy of the app gets top-a."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.helpers.javascript import PROJECT

# Basu et al. 2021: what is below a · (max y)² is cut. What is new stands before the line that begins so.
FILES = {
    "core/model/sampling.py": {"    typical_p: float = _rule(": """\
    top_a: float = _rule(0.0, "a", *_SHARE,
                         lambda a, z, w: w < a * w[0] ** 2 / np.cumsum(w)[-1] * (1 - TOLERANCE))
"""},
    "core/components/sampling_panel/truncation.js": {'  { name: "typical_p"': """\
  { name: "top_a", symbol: "a", neutral: 0, values: () => [0, ...SHARES, 1], methods: { top_a: { top_a: 0.2 } },
    cuts({ w }, n, a) {
      const least = a * w[0] ** 2 / mass(w, n) * (1 - TOLERANCE);
      return (i) => w[i] < least;
    } },
"""},
    "assets/text/en/next_token.md": {
        "panel_method_typical: ": "panel_method_top_a: Top-a\n", "panel_typical_p: ": "panel_top_a: Top-a\n",
        "panel_rule_typical_p: ": "panel_rule_top_a: top-a\n",
        "numbers_typical_p_kept: ": "numbers_top_a_kept: Top-a keeps {token}:\n"
                                    "numbers_top_a_cut: Top-a cuts {token}:\n"},
    "assets/text/en/generation.md": {"rule_typical_p: ": "rule_top_a: cut by top-a\n"},
}

# Run in the copy: its modules are not those that the tests have loaded.
SCRIPT = """
import numpy as np
from core.base import prose
from core.components.sampling_panel import PanelSettings
from core.model.sampling import RULES, SamplingConfig, draw, drawn, truncate
from tests.helpers.javascript import evaluate
from tests.helpers.lessons import open_at
from tests.helpers.messages import given

logits, xis = np.random.default_rng(0).normal(size=300), [0.1, 0.6, 0.95]
for config in (SamplingConfig(top_a=0.5), SamplingConfig(temperature=0.5, top_k=40, top_a=1.0, typical_p=0.8)):
    cut = truncate(logits, config)
    if config.top_k is None:
        assert 1 < cut.n_kept == (cut.probs >= 0.5 * cut.probs[0] ** 2).sum() < 300
        assert {RULES[code] for code in cut.cut_by} == {"", "top_a"}
    assert drawn(logits, config, xis)[0].tolist() == [draw(cut, xi) for xi in xis]
    found = evaluate("core/components/sampling_panel/truncation.js",
                     "new m.Truncation(Float64Array.from(logits)).update(config).cutBy",
                     logits=logits.tolist(), config=vars(config))
    assert found == cut.cut_by.tolist()
    settings = PanelSettings(config, xi=0.5)
    assert PanelSettings.from_link(settings.to_link()) == PanelSettings.from_browser(settings.to_browser()) == settings
names, methods, method = evaluate("core/components/sampling_panel/controls.js",
                               "[Object.keys(m.ALL_OFF), Object.keys(m.METHODS), m.methodOf(settings)]",
                               settings=vars(SamplingConfig(top_a=0.3)))
assert "top_a" in names and "top_a" in methods and method == "top_a"
labels = prose.load("next_token").labels
assert {f"panel_method_{name}" for name in methods} | {f"panel_{name}" for name in names} <= set(labels)
assert all(prose.load("generation").label(f"rule_{name}") for name in RULES if name)
at = open_at("next_token", next_token_panel="T0.5_a1_x0.6_s1_all")
[panel] = {one.proto.component_name for one in at.get("bidi_component") if "sampling_panel" in one.proto.component_name}
logits = given(at, panel)["logits"].reshape(3, -1)[0]
for said, target in (("keeps", logits.argmax()), ("cuts", logits.argmin())):
    at.session_state["selection"] = {"target": int(target)}
    at.run()
    assert not at.exception and any(f"Top-a {said}" in element.value for element in at.markdown), said
print("whole")
"""


def with_rule(root: Path) -> None:
    """Copy the app to a folder and add the rule there."""
    for folder in ("core", "pages", "tests/helpers", "assets/text"):
        shutil.copytree(PROJECT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for place in [PROJECT / "app.py", *(PROJECT / "assets").iterdir()]:
        if not (copy := root / place.relative_to(PROJECT)).exists():
            copy.symlink_to(place)
    for name, entries in FILES.items():
        text = (root / name).read_text(encoding="utf-8")
        for before, new in entries.items():
            assert text.count(f"\n{before}") == 1, before
            text = text.replace(f"\n{before}", f"\n{new}{before}")
        (root / name).write_text(text, encoding="utf-8")


def test_a_sampling_rule_touches_four_files(tmp_path: Path):
    with_rule(tmp_path)
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, encoding="utf-8",
                          timeout=300, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.stdout.endswith("whole\n"), done.stdout + done.stderr
    assert len(FILES) == 4
