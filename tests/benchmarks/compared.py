"""Four programs that show what a GPT-2 computes, behind one interface; and `python -m tests.benchmarks.compared`: one
of them alone in a process.

Each loads the same folder. `run(ids)` makes what the program keeps of one pass over (N,) token ids, `logits` (N, |V|)
and `patterns` (L, h, N, N) read it. No other program is imported with one: the memory is also measured.
"""
from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import importlib.util
import json
import logging
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import torch
from torch import Tensor, nn

from tests.benchmarks.timing import milliseconds, resident_megabytes

# which transformers imports when they are first asked for
GPT2 = ("transformers.models.auto.modeling_auto", "transformers.models.gpt2.modeling_gpt2")


class Compared(ABC):
    """One program with the model in it."""

    name: str
    packages: tuple[str, ...]   # imported before loading is timed
    distribution: str = ""      # its version is reported

    @abstractmethod
    def __init__(self, folder: Path) -> None:
        """Loads the folder, in float32 on the CPU."""

    @classmethod
    def version(cls) -> str:
        return importlib.metadata.version(cls.distribution) if cls.distribution else ""

    @property
    @abstractmethod
    def weights(self) -> nn.Module: ...

    @abstractmethod
    def run(self, ids: Tensor) -> object: ...

    @abstractmethod
    def logits(self, kept: object) -> Tensor: ...

    @abstractmethod
    def patterns(self, kept: object) -> Tensor: ...

    def kept_tensors(self, kept: object) -> list[Tensor]:
        """One tensor for each stretch of memory that `kept` keeps alive, the model's weights not counted."""
        weights = {p.untyped_storage().data_ptr() for p in self.weights.parameters()}
        storages = {t.untyped_storage().data_ptr(): t for t in tensors(kept)}
        return [t for pointer, t in storages.items() if pointer not in weights]


def tensors(value: object) -> Iterator[Tensor]:
    """Every tensor in nested records, mappings and sequences."""
    if isinstance(value, Tensor):
        yield value
        return
    parts = (value.values() if isinstance(value, dict) else vars(value).values() if dataclasses.is_dataclass(value)
             else value if isinstance(value, (list, tuple)) else ())
    for part in parts:
        yield from tensors(part)


def n_bytes(kept: list[Tensor]) -> int:
    return sum(t.untyped_storage().nbytes() for t in kept)


class Ours(Compared):
    """Our Trace, and the message that the lesson Heads sends to its wall of all heads."""

    name, packages = "our Trace", ("core.huggingface",)

    def __init__(self, folder: Path) -> None:
        from core import huggingface
        self.model = huggingface.from_pretrained(folder)[0]

    @property
    def weights(self) -> nn.Module:
        return self.model

    def run(self, ids: Tensor):
        return self.model(ids)

    def logits(self, kept) -> Tensor:
        return kept.logits

    def patterns(self, kept) -> Tensor:
        return torch.stack([block.pattern for block in kept.blocks])

    def picture(self, ids: Tensor) -> bytes:
        """Python's bytes for the picture of all heads."""
        from core.components import heads_wall
        trace = self.run(ids)
        words = dict.fromkeys(("title", "scale", "masked", "waiting"), " ")
        with (mock.patch.object(heads_wall, "_component") as browser,
              mock.patch.object(heads_wall.st, "session_state", {})):
            heads = heads_wall.Heads(self.patterns(trace).numpy(), trace.blocks[0].allowed.numpy())
            heads_wall.heads_wall(heads_wall.Wall(heads, tokens_of(ids), words, (0, 0)), key="wall")
        return browser.call_args.kwargs["data"]


class Transformers(Compared):
    """transformers' own forward, with the attentions and the hidden states; its keys and values are not asked for."""

    name, packages = "transformers", GPT2
    distribution = "transformers"

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForCausalLM
        self.model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()

    @property
    def weights(self) -> nn.Module:
        return self.model

    def run(self, ids: Tensor):
        return self.model(ids[None], output_attentions=True, output_hidden_states=True, use_cache=False)

    def logits(self, kept) -> Tensor:
        return kept.logits[0]

    def patterns(self, kept) -> Tensor:
        return torch.cat(kept.attentions)


class TransformerLens(Compared):
    """run_with_cache over every hook point, of the weights as they are: no LayerNorm folded, nothing centred."""

    name, packages = "TransformerLens", (*GPT2, "transformer_lens.model_bridge")
    distribution = "transformer-lens"

    def __init__(self, folder: Path) -> None:
        from transformer_lens.model_bridge import TransformerBridge
        self.model = TransformerBridge.boot_transformers(str(folder), device="cpu")

    @property
    def weights(self) -> nn.Module:
        return self.model.original_model

    def run(self, ids: Tensor):
        logits, cache = self.model.run_with_cache(ids[None])
        return logits, cache.cache_dict

    def logits(self, kept) -> Tensor:
        return kept[0][0]

    def patterns(self, kept) -> Tensor:
        return torch.cat([kept[1][f"blocks.{layer}.attn.hook_pattern"] for layer in range(self.model.cfg.n_layers)])


class BertViz(Transformers):
    """bertviz' head_view of all heads, its HTML made from transformers' attentions."""

    name, packages = "bertviz", (*GPT2, "bertviz")
    distribution = "bertviz"

    def picture(self, ids: Tensor) -> bytes:
        """The HTML that a notebook hands to the browser."""
        return self.view(self.model(ids[None], output_attentions=True, use_cache=False).attentions, ids).encode()

    def run(self, ids: Tensor):
        return self.picture(ids)

    @staticmethod
    def view(attentions: tuple[Tensor, ...], ids: Tensor) -> str:
        from bertviz import head_view
        return head_view(attentions, tokens_of(ids), html_action="return").data

    def patterns(self, kept) -> Tensor:
        return torch.tensor(json.loads(re.search(rb'"attn": (\[\[\[\[.*?\]\]\]\])', kept)[1]))


def tokens_of(ids: Tensor) -> list[str]:
    """Words to write at the rows: the numbers of the tokens."""
    return [str(i) for i in ids.tolist()]


ALL: dict[str, type[Compared]] = {tool.__name__: tool for tool in (Ours, Transformers, TransformerLens, BertViz)}


def installed() -> bool:
    """Whether both programs that are no dependency of the app are there."""
    return all(importlib.util.find_spec(package) for package in ("transformer_lens", "bertviz"))


def quiet() -> None:
    """No progress bars and no word of what a program would fetch: all is in the folder."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TQDM_DISABLE": "1",
                   "WANDB_MODE": "disabled"}
    logging.disable(logging.WARNING)


@torch.no_grad()
def alone(tool: type[Compared], folder: Path, ids: Tensor) -> dict[str, float]:
    """Milliseconds of the processor to load the folder, and megabytes: resident after the imports, with the model, and
    at most until the end of one run.
    """
    for package in tool.packages:
        importlib.import_module(package)
    imported, made = resident_megabytes("self"), []
    took = milliseconds(lambda: made.append(tool(folder)), time.process_time)
    loaded = resident_megabytes("self")
    made[0].run(ids)
    return dict(load=took, imported=imported, loaded=loaded, peak=resident_megabytes("self", peak=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=list(ALL))
    parser.add_argument("folder", type=Path)
    parser.add_argument("ids", type=int, nargs="+")
    chosen = parser.parse_args()
    quiet()
    torch.set_num_threads(1)
    print(json.dumps(alone(ALL[chosen.tool], chosen.folder, torch.tensor(chosen.ids))))


if __name__ == "__main__":
    main()
