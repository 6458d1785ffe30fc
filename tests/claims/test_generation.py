"""Claims of Generation about the texts of `stories` and `stories-small`."""
from core.app.state.dice import Dice
from core.language.futures import futures
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from pages.generation import beam, branches
from pages.generation import futures as futures_view
from pages.generation.shared import start
from tests.claims import claims, shows
from tests.claims.passes import address, experiment, prompt_of
from tests.helpers import lessons, messages


def drawn_with(settings: dict) -> SamplingConfig:
    """The sampling that an experiment sets; 0 and 1 switch the cuts off."""
    return SamplingConfig(temperature=settings["generation_temperature"], top_k=settings["generation_top_k"] or None,
                          top_p=settings["generation_top_p"])


@claims("generation.md", "A name is drawn. Click another candidate: the story goes on with that name. The list below "
        "the text brings the first one back.")
def test_a_story_goes_on_with_the_name_that_is_clicked():
    one = experiment("generation", "branch")
    there, config = prompt_of(one), drawn_with(one.settings)
    dice = Dice(one.settings["seed"], len(there.token_ids))
    drawn = branches.text_of(there, start(there), config, dice)
    names = {step.token_id: there.tokenizer.visible(step.token_id) for step in drawn[0].candidates[:5]}
    assert names[drawn[0].token_id] == "·Spot" and all(name[1:].istitle() for name in names.values())
    for token_id, name in names.items():
        text = [step.token_id for step in generate(there.model, there.token_ids, config, dice.numbers(), 24,
                                                  picks={0: token_id})]
        assert text.count(token_id) > 1 or name == "·Sp", name


@shows("A19")
@claims("generation.md", "Compare the dashed frames, which mark what has stood there before: the two texts that are "
        "most probable for the model go in circles, the drawn ones do not. Take another seed, then average over ten.")
def test_greedy_and_beam_search_go_in_circles():
    for seed in (1, 2):
        settings = address(experiment("generation", "repeat")) | {"seed": str(seed)}
        page = lessons.open_at("generation", **settings)
        rows = messages.given(page, "generation_strategies")["rows"]
        repeated = [float(row["numbers"][3]) for row in rows]
        assert min(repeated[0], repeated[4]) > 0.4 > 0.1 > max(repeated[1:4])
        framed = [sum(row["again"]) for row in rows]
        assert min(framed[0], framed[4]) > 2 * max(framed[1:4])


@claims("generation.md", "With T = 2 and nothing cut, almost every draw is another text, and all together they hold "
        "less than a hundredth of the probability. Pull T down to 0.5 and see the tree gather.")
def test_the_futures_of_a_hot_model_part():
    one = experiment("generation", "hot")
    there, found = prompt_of(one), {}
    for temperature in (one.settings["generation_temperature"], 0.5):
        config = drawn_with(one.settings | {"generation_temperature": temperature})
        found[temperature] = futures(there.model, there.token_ids, config, one.settings["seed"],
                                     futures_view.N, 4)
    hot, cold = ((len(futures_view.ends(tree)), futures_view.mass(tree)) for tree in found.values())
    assert hot[0] > 190 and hot[1] < 0.01 and cold[0] < 40 and cold[1] > 0.5


@claims("generation.md", "Two tokens, four steps, sixteen texts, all listed under \"In numbers\". Width 1 takes the "
        "better token each time and ends at number 2. Set the width to 2: the beginning that looked worse overtakes.")
def test_a_wider_beam_finds_the_best_of_sixteen_texts():
    seed = experiment("generation", "overtaken").settings["generation_seed"]
    found = {width: beam._tiny(width, seed) for width in (1, 2)}
    ranks = {width: [one.token_ids for one in each.every].index(each.best.token_ids) + 1
             for width, each in found.items()}
    assert len(found[1].every) == 16 and ranks == {1: 2, 2: 1}
    assert "best" in (behind[1] for behind in beam.fates(found[2]))         # its beginning was second at some step
