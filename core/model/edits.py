"""The edits that an intervention makes while a pass computes."""
from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from core.model import attention
from core.model.feed_forward import written
from core.model.intervention import NOTHING, HeadEdit, Intervention, SublayerEdit
from core.model.trace import BlockTrace, Trace

Patches = Mapping[int, list[tuple[int, Tensor]]]        # layer -> [(position, stream vector (d,))]


class HeadEdits:
    """The intervention's edits, with the mean activations that they put in; without edits every method
    returns its argument.
    """

    def __init__(self, intervention: Intervention, reference: Trace | None) -> None:
        self.intervention, self.reference = intervention, reference

    def on_scores(self, scores: Tensor, layer: int) -> Tensor:
        for edit in self.intervention.scores:
            if edit.layer == layer:
                scores = scores.clone()
                scores[..., edit.head, edit.query, edit.key] = edit.score
        return scores

    def on_pattern(self, pattern: Tensor, allowed: Tensor, layer: int) -> Tensor:
        for edit in self._on_heads(layer, uniform=True):
            pattern = pattern.clone()
            pattern[..., edit.head, :, :] = attention.uniform_pattern(allowed, pattern.dtype)
        for edit in self.intervention.weights:
            if edit.layer == layer:
                pattern = pattern.clone()
                pattern[..., edit.head, edit.query, edit.key] = 0
        return pattern

    def on_head_out(self, head_out: Tensor, layer: int) -> Tensor:
        for edit in self._on_heads(layer, uniform=False):
            head_out = head_out.clone()
            head_out[..., edit.head, :, :] = self._apply(head_out[..., edit.head, :, :], edit,
                                                         lambda block, head=edit.head: block.head_out[head])
        return head_out

    def on_feed_forward(self, fed: dict[str, Tensor | None], block) -> dict[str, Tensor | None]:
        """The tensors of a block's feed-forward part, which `Block.feed_forward` gives."""
        for edit in self.intervention.neurons:
            if edit.layer == block.layer:
                post = fed["mlp_post"].clone()
                post[..., edit.neuron] = 0
                fed = fed | {"mlp_post": post, "mlp_out": written(block, post)}
        return fed | {"mlp_out": self.on_sublayer(fed["mlp_out"], block.layer, "mlp")}

    def on_sublayer(self, out: Tensor, layer: int, sublayer: str) -> Tensor:
        for edit in self.intervention.sublayers:
            if (edit.layer, edit.sublayer) == (layer, sublayer):
                out = self._apply(out, edit,
                                  lambda block: block.attn_out if sublayer == "attention" else block.mlp_out)
        return out

    def _on_heads(self, layer: int, uniform: bool) -> list[HeadEdit]:
        return [edit for edit in self.intervention.heads
                if edit.layer == layer and (edit.action == "uniform") == uniform]

    def _apply(self, x: Tensor, edit: HeadEdit | SublayerEdit, output_of: Callable[[BlockTrace], Tensor]) -> Tensor:
        """x (..., N, k) set to zero, scaled, or set at every position to its mean in the reference run; `output_of`
        finds it in a block.
        """
        if edit.action == "mean":
            return output_of(self.reference.blocks[edit.layer]).mean(dim=-2).expand_as(x)
        return x * (0.0 if edit.action == "zero" else edit.factor)


NO_EDITS = HeadEdits(NOTHING, None)


class GivenOutputs(HeadEdits):
    """Replace the sublayers' own outputs by given ones, (layer, "attention" or "mlp") -> (..., N, d).

    They are vectors, which no Intervention can hold.
    """

    def __init__(self, outputs: Mapping[tuple[int, str], Tensor]) -> None:
        super().__init__(NOTHING, None)
        self.outputs = outputs

    def on_sublayer(self, out: Tensor, layer: int, sublayer: str) -> Tensor:
        return self.outputs.get((layer, sublayer), out)


def head_edits(model, intervention: Intervention) -> HeadEdits:
    """The edits of an intervention, with the plain run on its reference text, whose means replace outputs."""
    reference = (model(torch.tensor(intervention.reference_ids, device=model.device))
                 if intervention.needs_reference else None)
    return HeadEdits(intervention, reference)


def patch_vectors(model, intervention: Intervention, source_ids: Tensor | None) -> Patches:
    """The stream vectors that the patches take from their source runs, one run for each source text; in an
    encoder-decoder all runs read the same source_ids.
    """
    runs = {ids: model(torch.tensor(ids, device=model.device), source_ids=source_ids)
            for ids in {patch.source_ids for patch in intervention.patches}}
    vectors: dict[int, list[tuple[int, Tensor]]] = {}
    for patch in intervention.patches:
        source = runs[patch.source_ids]
        stream = source.resid_final if patch.layer == len(source.blocks) else source.blocks[patch.layer].resid_pre
        vectors.setdefault(patch.layer, []).append((patch.position, stream[patch.source_position]))
    return vectors


def patched(x: Tensor, layer: int, patches: Patches) -> Tensor:
    """The stream (..., N, d) that enters a block, with the vectors patched in there."""
    if layer in patches:
        x = x.clone()
        for position, vector in patches[layer]:
            x[..., position, :] = vector
    return x
