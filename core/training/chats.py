"""Generated chats for the bundled models: short conversations about the subjects of the teaching text, in the
tokenizer's mini chat form.
"""
import random
from collections.abc import Callable

from core.model.tokenizer import ASSISTANT, SYSTEM, USER
from core.training.teaching_text import Exercise, relations, sentiment, summary, words

SYSTEMS: dict[str, Callable[[str, str], str]] = {       # the system's line -> the answer, from a short and a whole one
    "Answer in a few words.": lambda short, whole: short,
    "Answer in a whole sentence.": lambda short, whole: whole,
    "You are a cat. Say meow first.": lambda short, whole: f"Meow! {whole}",
    "You are polite. Say thank you first.": lambda short, whole: f"Thank you for asking. {whole}"}
TALK = (("Hello!", "Hello!", "Hello! It is nice to meet you."), ("How are you?", "Fine.", "I am fine, thank you."),
        ("Who are you?", "A small language model.", "I am a small language model."),
        ("What can you do?", "Tell stories.", "I can tell stories and answer easy questions."),
        ("Good night!", "Good night!", "Good night, and sweet dreams!"),
        ("Thank you.", "You are welcome.", "You are welcome. I was glad to help."))


def conversations(n: int) -> list[str]:
    """n conversations of one to three turns, the tokenizer's markers before each part: system, then user and assistant
    in turn. They hold no held-out exercises and no untaught facts.
    """
    rng = random.Random("chats 0")
    return [_chat(rng) for _ in range(n)]


def _chat(rng: random.Random) -> str:
    system, answered = rng.choice(list(SYSTEMS.items()))
    parts = [rng.choice((_asks_fact, _asks_fact, _asks_opposite, _asks_sum, _asks_feeling, _asks_story, _talks))(rng)
             for _ in range(rng.randint(1, 3))]
    return f"{SYSTEM} {system}" + "".join(f"{USER} {asked}{ASSISTANT} {answered(short, whole)}"
                                          for asked, short, whole in parts)


def _talks(rng: random.Random) -> tuple[str, str, str]:
    return rng.choice(TALK)


def _asks_fact(rng: random.Random) -> tuple[str, str, str]:
    relation = rng.choice(relations())
    subject, answer = rng.choice(relation["taught"])
    whole = relation["statements"][0].format(s=subject, a=answer)
    return rng.choice(relation["questions"]).format(s=subject), answer, whole[0].upper() + whole[1:]


def _asks_opposite(rng: random.Random) -> tuple[str, str, str]:
    a, b = rng.sample(rng.choice(words()["opposites"]), 2)
    asked = Exercise("opposites", f"The opposite of {a} is", f" {b}")
    return (f"What is the opposite of {a}?", b, f"{asked.text}.") if not asked.held_out else _asks_opposite(rng)


def _asks_sum(rng: random.Random) -> tuple[str, str, str]:
    a = rng.randint(0, 20)
    asked = Exercise("sums", f"{a} + {(b := rng.randint(0, 20 - a))} =", f" {a + b}")
    return (f"What is {a} + {b}?", str(a + b), f"{asked.text}.") if not asked.held_out else _asks_sum(rng)


def _asks_feeling(rng: random.Random) -> tuple[str, str, str]:
    exercise = sentiment(rng)
    asked = exercise.prompt.replace("The sentiment of the sentence", "What is the sentiment of the sentence")
    if exercise.held_out:
        return _asks_feeling(rng)
    return asked.replace(" is:", "?"), exercise.answer.strip(), f"The sentiment is{exercise.answer}."


def _asks_story(rng: random.Random) -> tuple[str, str, str]:
    exercise = summary(rng)
    if exercise.held_out:
        return _asks_story(rng)
    story = exercise.prompt.removesuffix("\ntl;dr")
    return f"Tell me a story: {exercise.answer.strip()}", story, story
