"""The making of the map of neighbourhoods: `python -m core.recordings neighbourhoods`."""
from core.app.compute import cache
from core.base import devices
from pages.embeddings.charts import kind_of
from pages.embeddings.vocabulary_map import N_MAPPED, N_MOVES, map_of, mapped

MODELS = ("stories", "stories-small")
DIGITS = 3              # decimals of a place on a map a hundred wide


def record() -> dict:
    """For each model the places, and the shares of neighbours that the map and its start keep."""
    found = {}
    for name in MODELS:
        loaded = cache.shared_model(name, devices.CPU)
        kinds = [kind_of(loaded.tokenizer.visible(i)) for i in range(loaded.tokenizer.vocab_size)]
        *_, last = map_of(loaded.model.E.detach().double()[mapped(kinds)])
        places, *shares = last.value
        found[str(loaded.key("embeddings t-SNE", N_MAPPED, N_MOVES))] = [
            [[round(x, DIGITS) for x in place] for place in places.tolist()], *shares]
    return found
