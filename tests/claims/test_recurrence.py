"""Claims of From recurrence to attention about a prompt as `stories` reads it."""
import math

from pages.recurrence import waiting
from tests.claims import claims
from tests.claims.passes import experiment, opening, prompt_of


@claims("recurrence.md", "At *bank* a network in one direction cannot know of the river.")
def test_the_path_leads_from_the_river_to_the_bank():
    one = experiment("recurrence", "both")
    there = prompt_of(one)
    assert there.tokens[one.settings["position"]] == "·bank"
    assert there.tokens[one.settings["recurrence_from"]] == "·river" and there.tokens.count("·bank") == 1


@claims("recurrence.md", "recurrent (untrained) {recurrent} of {n} losses, transformer {transformer} of {n}.",
        "Of the recurrent network, which is untrained: about ln of the vocabulary's size, or above")
def test_an_untrained_network_stands_beside_a_trained_one():
    means = {name: sum(found) / len(found) for name, found in waiting.losses_of(opening()).items()}
    assert means["recurrent"] > math.log(opening().model.config.vocab_size) - 0.5 and means["transformer"] < 3
