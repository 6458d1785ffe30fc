"""What the text of From recurrence to attention says of a prompt as `stories` reads it."""
from tests.claims import claims
from tests.claims.passes import experiment, prompt_of


@claims("recurrence.md", "At *bank* a network in one direction cannot know of the river.")
def test_the_path_leads_from_the_river_to_the_bank():
    one = experiment("recurrence", "both")
    there = prompt_of(one)
    assert there.tokens[one.settings["position"]] == "·bank"
    assert there.tokens[one.settings["recurrence_from"]] == "·river" and there.tokens.count("·bank") == 1
