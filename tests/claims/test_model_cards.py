"""Claims of the cards about their models, beyond the tables of the evaluation."""
import torch

from core.app.compute import cache
from core.evaluation import lengths, teaching_tasks
from core.model import checkpoints
from core.model.config import POSITIONS
from core.training import teaching_text
from core.training.recipes import RECIPES, STORIES_AND_TEACHING, TEACHERS
from tests.claims import claims
from tests.claims.passes import run
from tests.claims.test_limits import after, answers


def share(kind: str, n: int) -> float:
    """The share of n held-out exercises of a kind that `stories` gets right."""
    exercises = teaching_text.held_out(kind, n)
    right = [answer.right for answer in teaching_tasks.answers(run("").model, run("").tokenizer, exercises)]
    return sum(right) / len(right)


@claims("model_cards/stories.md", "Its sums are mostly wrong unless it writes out their steps, one at a time; asked "
        "about a passage, it takes a wrong name or thing out of it in one answer of five.")
def test_sums_steps_and_passages():
    assert share("sums", 60) < 0.5 and share("steps", 24) > 0.9 and 0.7 < share("reading", 80) < 0.88


@claims("model_cards/stories.md", "It knows the few hundred facts that it was taught and no others, and says so of "
        "none: asked for another, it makes up an answer in the same form.",
        "A passage that it read ten times in a training this long it does not know by heart.")
def test_facts_and_passages():
    given = answers("taught")
    assert sum(claim.right for claim in given["taught"]) == 88 and sum(claim.right for claim in given["untaught"]) < 18
    assert all(claim.text for claim in (*given["untaught"], *given["invented"]))
    assert 300 < sum(len(relation["taught"]) for relation in teaching_text.relations()) < 400
    assert max(one.recited_share for one, _ in after(16, 10)) < 0.1


@claims("model_cards/stories.md", "architecture | 6 blocks, 8 heads, width 256",
        "steps of so many rows | 15,400 of 64 | 240 of 16",
        "highest learning rate, steps of warm-up, weight decay of the W matrices | 0.006, 150, 0.2 | 0.0002, 20, 0.1",
        "The bundled weights are 0.3 times those after stage 2 and 0.7 times those before",
        "the last norm is divided by the temperature 1.05",
        "8: 412,500 documents and 41,250 chats, once",
        "Two models of 8 blocks, width 512 (27.4 million parameters each")
def test_how_stories_was_trained():
    config, (first, second) = run("").model.config, RECIPES["stories"].stages
    assert (config.n_layers, config.n_heads, config.d_model) == (6, 8, 256)
    assert [end["step"] for end in checkpoints.training_ends("stories")] == [15_400, second.training.steps]
    assert [(stage.training.batch_size, stage.training.learning_rate, stage.training.warmup_steps,
             stage.training.weight_decay) for stage in (first, second)] == [(64, 6e-3, 150, 0.2), (16, 2e-4, 20, 0.1)]
    assert (second.share, second.temperature) == (0.3, 1.05)
    assert {(recipe.model.n_layers, recipe.model.d_model) for recipe in TEACHERS.values()} == {(8, 512)}


@claims("model_cards/blanks.md", "4,097 tokens: those of `stories` under the same ids, and the mask token, id 4096")
@claims("model_cards/positions.md", "4,096 tokens, byte-level BPE, that of `stories`")
@claims("model_cards/scores.md", "4,096 tokens, byte-level BPE, that of `stories`")
@claims("model_cards/stories-small.md", "4,096 tokens, byte-level BPE, that of `stories`")
def test_one_vocabulary_serves_all():
    whole = run("").tokenizer
    for name in ("blanks", "stories-small", "scores-additive", "scores-multiplicative",
                 *(f"positions-{scheme}" for scheme in POSITIONS)):
        own = cache.shared_model(name, "cpu").tokenizer
        assert own.vocab_size == 4096 + (name == "blanks") and own.mask_token == (4096 if name == "blanks" else None)
        assert [own.token_bytes(i) for i in range(257, 4096)] == [whole.token_bytes(i) for i in range(257, 4096)]


@claims("model_cards/stories-small.md", "and one appears within a hundred steps", "{steps} steps of 16 rows",
        "three rows of 16 repeat a passage of 4 tokens or more: a head that looks at the previous token appears, and "
        "no induction head. In the last 400 (30 of warm-up, seed 1) eight rows of 16 do",
        "Its epochs read one sample of TinyStories three times, the child-appropriate tales, picture books, fables "
        "and children's books once and the bedtime stories half, all named with their licences in the card of "
        "`stories`, and 130,000 documents of teaching text.")
@claims("model_cards/positions.md", "and 130,000 documents of teaching text")
@claims("model_cards/scores.md", "and 130,000 documents of teaching text")
def test_how_stories_small_and_the_families_were_trained():
    first, second = RECIPES["stories-small"].stages
    assert [stage.task.parts[1][1] for stage in (first, second)] == [3, 8]
    assert first.training.batch_size == second.training.batch_size == 16
    scores = {moment.step: moment.induction_score for moment in checkpoints.history("stories-small")}
    assert max(scores[step] for step in scores if step <= 2150) < 0.1 < 0.7 < scores[2250]
    for name in ("stories-small", "positions-rotary", "scores-additive"):
        task = RECIPES[name].stages[0].task
        assert STORIES_AND_TEACHING in (task, *(part for part, _ in getattr(task, "parts", ())))
    assert sorted(times for _, times in STORIES_AND_TEACHING.texts) == [0.5, 1, 1, 1, 1, 3]
    assert STORIES_AND_TEACHING.teaching == 130_000


@claims("model_cards/positions.md", "`positions-sinusoidal` is far behind, even behind no positions at all",
        "a wave's row has length √(d/2) = 6.9, a token's row begins at 0.2 and ends at 0.7")
def test_the_waves_are_far_behind():
    inside = {scheme: lengths.bundled(f"positions-{scheme}")[1].nats_per_token for scheme in ("sinusoidal", "none")}
    assert inside["sinusoidal"] > inside["none"] + 0.5
    rows = cache.shared_model("positions-sinusoidal", "cpu").model.E.detach()
    assert abs(float(rows.norm(dim=-1).mean()) - 0.7) < 0.06 and round((96 / 2) ** 0.5, 1) == 6.9


@claims("model_cards/blanks.md", "It is what BERT is, at a hundredth of the size",
        "it has only two answers: a sentence without any feeling gets one of them too")
def test_blanks_is_a_small_bert():
    model = cache.shared_model("blanks", "cpu").model
    assert 90 < 340e6 / model.n_parameters < 125 and model.config.head.n_classes == 2      # BERT-large


@claims("model_cards/induction.md", "a head in the first layer marks every token with the one before it, and a head "
        "in the second finds what came after the same token last time")
def test_two_heads_in_turn():
    there = run("", "induction")
    once = torch.randperm(400, generator=torch.Generator().manual_seed(0))[:24].tolist()
    ids = (there.tokenizer.end_of_text, *(i + 100 for i in once), *(i + 100 for i in once))
    first, second = (block.pattern for block in there.trace_of(ids).blocks)
    before = torch.stack([pattern.diagonal(-1)[1:].mean() for pattern in first])
    after_last = torch.stack([pattern[25:, 2:26].diagonal()[:-1].mean() for pattern in second])
    assert before.max() > 0.6 and after_last.max() > 0.7
