"""The weights of one head: the browser asks for them once per head, when a reader opens a number that they computed,
so that no rerun sends them.
"""
from core.app.state import Run
from core.app.state.run import asked_model
from core.components.lib.bytes import pack

NAME = "attention_weights"
PROJECTIONS = ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_S", "W_O")


def question(run: Run, layer: int, head: int) -> dict:
    """The question that the browser sends back to the route."""
    return {"model": run.model_name, "device": run.device, "layer": layer, "head": head}


def answer(question: dict) -> bytes:
    """The head's own projections, those that the model has, after a header that repeats the question.

    Raises ValueError, KeyError or TypeError for nonsense.
    """
    name, device, layer, head = (question[key] for key in ("model", "device", "layer", "head"))
    model = asked_model(name, device).model
    config = model.config
    if not (isinstance(layer, int) and isinstance(head, int) and 0 <= layer < config.n_layers
            and 0 <= head < config.n_heads):
        raise ValueError("there is no such head")
    shared = head // (config.n_heads // config.n_kv_heads)
    arrays = {part: parameter[shared if part[-1] in "KV" else head].detach().float().cpu().numpy()
           for part in PROJECTIONS if (parameter := getattr(model.blocks[layer], part)) is not None}
    return pack({"asked": {"model": name, "device": device, "layer": layer, "head": head}}, arrays)
