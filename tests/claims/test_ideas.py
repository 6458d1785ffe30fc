"""What the places of the lectures' ideas (assets/teaching/ideas.tsv) show with the model that they open."""
import torch

from core.analysis import stream_and_heads
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from pages.course import tables
from tests.claims.passes import run

PLACES = {idea.id: idea.place.settings for idea in tables.ideas()}


def test_a_words_vector_moves_away_from_its_row():                                                              # A1
    settings = PLACES["A1"]
    one, other = run(settings["prompt"]), run(settings["embeddings_other"])
    assert one.token_ids[-1] == other.token_ids[-1] == one.tokenizer.encode(f" {settings['embeddings_shared']}")[0]
    first, second = (stream_and_heads.stream(there.trace)[:, -1] for there in (one, other))
    apart = torch.nn.functional.cosine_similarity(first, second, dim=-1).tolist()
    moved = torch.nn.functional.cosine_similarity(first, one.model.E[one.token_ids[-1]][None], dim=-1).tolist()
    assert apart[0] > 0.98 and apart[-1] < 0.6 and moved == sorted(moved, reverse=True) and moved[-1] < 0.2


def test_one_vector_for_both_makes_tokens_match_themselves():                                                    # C8
    settings = PLACES["C8"]
    there, head = run(settings["prompt"]), int(settings["head"])
    block, own = there.trace.blocks[int(settings["layer"])], torch.arange(len(there.token_ids))
    matched, alike = ((block.Q[head] @ keys.T).argmax(-1) == own for keys in (block.K[head], block.Q[head]))
    assert matched.double().mean() < 0.1 and alike.double().mean() > 0.9


def test_the_same_prompt_gives_two_texts_and_the_end_of_text_stops():                                            # D5
    settings = PLACES["D5"]
    there, seed = run(settings["prompt"]), int(settings["generation_seed"])
    first, second = ([step.token_id for step in generate(there.model, there.token_ids,
                                                         SamplingConfig(top_k=40, top_p=0.9), number, 40)]
                     for number in (seed, seed + 1))
    assert first[-1] == there.tokenizer.end_of_text and 10 < len(first) < 40 and first != second
