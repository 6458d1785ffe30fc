"""Side by side on one random GPT-2 of the small size: our Trace, transformers' forward, TransformerLens' run_with_cache
and bertviz' head_view.

All load the same folder and read the same tokens; before a clock runs, their attention patterns and logits are held
against each other. Times are of the processor, on one thread: nothing waits for a disk or a network, and what else the
machine does counts for little.
"""
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from tests.benchmarks import compared
from tests.benchmarks.compared import BertViz, Compared, Ours, TransformerLens, Transformers
from tests.benchmarks.sizes import GPT2_SMALL
from tests.benchmarks.timing import Figure, figure, in_turn
from tests.browser.serving import ROOT
from tests.helpers import huggingface_models, library_models

LENGTHS = (16, 64, 256)
AGREE = 1e-4        # the most that two programs may lie apart
MISSING = """The comparison needs TransformerLens and bertviz, in an environment of their own:

    python3 -m venv .venv-comparison && .venv-comparison/bin/pip install -q -r tests/benchmarks/requirements.txt
    .venv-comparison/bin/python -m tests.benchmarks --only comparison
"""


@torch.no_grad()
def figures(repeats: int) -> list[Figure]:
    """Agreement, milliseconds, megabytes kept and drawn, and, in a process of its own for each program, seconds to load
    and the most memory taken.
    """
    if not compared.installed():
        raise RuntimeError(MISSING)
    compared.quiet()
    with tempfile.TemporaryDirectory() as name:
        folder = saved(Path(name) / "gpt2-small", GPT2_SMALL)
        made = _alone_figures(folder)
        tools = [tool(folder) for tool in (Ours, Transformers, TransformerLens, BertViz)]
        for n in LENGTHS:
            ids = tokens(n)
            made += (_agreement(tools, ids) + _passes(tools[:3], ids, repeats)
                     + _pictures(tools, ids, max(3, repeats // 5)))
    return made


def saved(folder: Path, shape: Mapping[str, int]) -> Path:
    """The random model and a tokenizer of some of its tokens, as transformers saves them."""
    huggingface_models.saved("gpt2", folder, **shape)
    library_models.save_tokenizer(folder, 700, begins=False)
    return folder


def tokens(n: int) -> Tensor:
    return torch.randint(4, GPT2_SMALL["vocab_size"], (n,), generator=torch.Generator().manual_seed(n))


def _agreement(tools: list[Compared], ids: Tensor) -> list[Figure]:
    """How far the numbers of each lie from those of transformers at most, in parts of the largest of them; an error
    where that is more than AGREE.
    """
    ours, theirs, lens, bertviz = tools
    kept = theirs.run(ids)
    made = []
    for tool in (ours, lens, bertviz):
        seen = tool.run(ids)
        apart = {"patterns": _apart(tool.patterns(seen), theirs.patterns(kept))}
        if tool is not bertviz:
            apart["logits"] = _apart(tool.logits(seen), theirs.logits(kept))
        for what, distance in apart.items():
            if not distance <= AGREE:
                raise RuntimeError(f"{tool.name} and transformers do not agree on the {what} of {len(ids)} tokens: "
                                   f"{distance:.2g} apart. Nothing was measured.")
            made.append(figure(f"{len(ids)} tokens, {what} of {tool.name} off", [distance], None, "",
                               "largest distance from transformers, in parts of its largest number"))
    return made


def _apart(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().max() / b.abs().max())


def _passes(tools: list[Compared], ids: Tensor, repeats: int) -> list[Figure]:
    """A pass with everything kept that the program keeps, and the bytes of that."""
    times = in_turn([lambda tool=tool: tool.run(ids) for tool in tools], repeats, time.process_time)
    kept = [tool.kept_tensors(tool.run(ids)) for tool in tools]
    reference, sizes = times[1], [compared.n_bytes(each) / 1e6 for each in kept]
    return ([figure(f"{len(ids)} tokens, {tool.name}", own, reference, "ms", "reference: transformers")
             for tool, own in zip(tools, times)]
            + [figure(f"{len(ids)} tokens, kept by {tool.name}", [size], [sizes[1]], "MB", f"{len(each)} tensors")
               for tool, size, each in zip(tools, sizes, kept)])


def _pictures(tools: list[Compared], ids: Tensor, repeats: int) -> list[Figure]:
    """From the tokens to what the browser is sent for the picture of all heads, and the bytes of that."""
    ours, theirs, _, bertviz = tools
    drawn = {}
    own, html, reference = in_turn([lambda: drawn.update(own=ours.picture(ids)),
                                    lambda: drawn.update(html=bertviz.picture(ids)), lambda: theirs.run(ids)],
                                   repeats, time.process_time)
    sizes = {name: len(data) / 1e6 for name, data in drawn.items()}
    return [figure(f"{len(ids)} tokens, our wall of heads, Trace included", own, reference,
                   "ms", "reference: transformers"),
            figure(f"{len(ids)} tokens, bertviz' head_view, forward included", html, reference,
                   "ms", "reference: transformers"),
            figure(f"{len(ids)} tokens, sent for our wall", [sizes["own"]], [sizes["html"]], "MB",
                   "reference: the HTML of bertviz")]


def _alone_figures(folder: Path) -> list[Figure]:
    """Each program in a process of its own for every length, the programs taking turns."""
    runs = [(name, n, _in_a_process(name, folder, tokens(n))) for n in LENGTHS for name in compared.ALL]
    loads = {name: [run["load"] / 1e3 for which, _, run in runs if which == name] for name in compared.ALL}
    made = [figure(f"folder loaded, {tool.name} {tool.version()}", loads[name], loads[Transformers.__name__], "s",
                   "processor time; reference: transformers; imports not counted")
            for name, tool in compared.ALL.items()]
    peaks = {(name, n): run["peak"] for name, n, run in runs}
    return made + [figure(f"{n} tokens, most memory, {compared.ALL[name].name}",
                          [run["peak"]], [peaks[Transformers.__name__, n]], "MB",
                          f"{run['imported']:.0f} MB after the imports, {run['loaded']:.0f} MB with the model")
                   for name, n, run in runs]


def _in_a_process(name: str, folder: Path, ids: Tensor) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.compared", name, str(folder), *map(str, ids.tolist())]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(f"{name} did not run alone:\n{ended.stderr}")
    return json.loads(ended.stdout.splitlines()[-1])
