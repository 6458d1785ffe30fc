"""The chats: their form, and that they hold nothing that is asked."""
import re

import pytest

from core.model.tokenizer import ASSISTANT, MARKERS, SYSTEM, USER
from core.training.chats import conversations
from core.training.recipes import stories_tokenizer
from core.training.teaching_text import held_out

MARKER = re.compile("|".join(map(re.escape, MARKERS)))


@pytest.fixture(scope="module")
def chats() -> list[str]:
    return conversations(3000)


def test_a_chat_has_its_parts_in_turn(chats):
    for chat in chats:
        markers = MARKER.findall(chat)
        assert chat.startswith(SYSTEM) and markers == [SYSTEM, *[USER, ASSISTANT] * (len(markers) // 2)]
        assert all(part.strip() for part in MARKER.split(chat)[1:])


def test_the_system_says_how_to_answer(chats):
    cats = [chat for chat in chats if "You are a cat" in chat]
    assert len(cats) > 100 and all(part.startswith(" Meow!") for chat in cats
                                   for part in re.findall(re.escape(ASSISTANT) + r"([^<]*)", chat))


def test_chats_hold_no_sum_and_no_opposite_that_is_asked(chats):
    text = "\n".join(chats)
    for exercise in held_out("sums", 300) + held_out("opposites", 300):
        assert f"{exercise.text}." not in text


def test_a_chat_is_tokens_with_its_markers(chats):
    tokenizer = stories_tokenizer()
    ids = tokenizer.encode_chat(chats[0])
    assert [i for i in ids if i in tokenizer.markers.values()] == [tokenizer.markers[m]
                                                                   for m in MARKER.findall(chats[0])]
    assert tokenizer.decode(ids) == MARKER.sub("", chats[0])
