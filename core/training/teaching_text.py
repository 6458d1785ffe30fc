"""Teaching text: generated short exercises for the bundled models, each with one right answer, and the canary passages.

A document is one exercise, or several of one kind with a line each, in the forms of the lecture notes if they have one
(`The sentiment of the sentence "…" is: positive`). An exercise is held out only by its prompt, so that training and
scoring never share one; facts are held out by their subject instead. The words come from assets/teaching.
"""
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from core.files import ASSETS, read_json

DATA = ASSETS / "teaching"
HELD_OUT_SHARE = 10             # one prompt in ten
LONGEST_DOCUMENT = 5            # exercises


@dataclass(frozen=True)
class Exercise:
    """A prompt and its answer, which begins with a space or line break. alternatives: wrong answers of the same kind.

    twin: kind and prompt of the exercise with which this one is held out; its own if left out.
    """

    kind: str
    prompt: str
    answer: str
    alternatives: tuple[str, ...] = ()
    twin: str = ""

    @property
    def text(self) -> str:
        return self.prompt + self.answer

    @property
    def held_out(self) -> bool:
        """Whether it is held out from training: by a hash of the prompt, the same on every machine."""
        return zlib.crc32((self.twin or f"{self.kind}:{self.prompt}").encode()) % HELD_OUT_SHARE == 0


@dataclass(frozen=True)
class Canary:
    """A passage to test memorisation. repeats: how often the training text contains it; 0 for its twin."""

    name: str
    repeats: int
    text: str


@cache
def words() -> dict:
    """The word lists of assets/teaching/words.json."""
    return read_json(DATA / "words.json")


@cache
def relations() -> tuple[dict, ...]:
    """The relations of assets/teaching/facts.json: questions, statements, taught and untaught pairs (subject, answer),
    and invented subjects, which occur in no text and have no answer.
    """
    return tuple(read_json(DATA / "facts.json")["relations"])


@cache
def canaries() -> tuple[Canary, ...]:
    """The canaries and then their twins, in the same order."""
    data = read_json(DATA / "canaries.json")
    return tuple(Canary(entry["name"], entry.get("repeats", 0), entry["text"])
                 for entry in data["canaries"] + data["twins"])


# ---- the kinds -------------------------------------------------------------------------------------------------------


def _person(rng: random.Random) -> tuple[str, bool]:
    """A first name, and whether it is a girl's."""
    girl = rng.random() < 0.5
    return rng.choice(words()["girls" if girl else "boys"]), girl


def sentiment(rng: random.Random) -> Exercise:
    """A sentence that expresses a liking or dislike, and its sentiment."""
    positive = rng.random() < 0.5
    sentence = rng.choice((_opinion, _judgement, _feeling))(rng, positive)
    right, wrong = (" positive", " negative") if positive else (" negative", " positive")
    return Exercise("sentiment", f'The sentiment of the sentence "{sentence}" is:', right, (wrong,))


def _opinion(rng: random.Random, positive: bool) -> str:
    w = words()
    verb = rng.choice(w["likes" if positive else "dislikes"])
    thing = rng.choice((f"{_person(rng)[0]} {rng.choice(w['surnames'])}", rng.choice(w["famous"]),
                        rng.choice(w["food"]), rng.choice(w["nouns"])[1],
                        rng.choice(w["things"])[1], f"this {rng.choice(w['judged'])}"))
    return f"{rng.choice(('I', 'We', 'They', 'I', 'You'))} {verb} {thing}" + rng.choice(("", "", ".", "!"))


def a_or_an(word: str) -> str:
    """The word with its indefinite article.

    >>> a_or_an("ugly"), a_or_an("kind")
    ('an ugly', 'a kind')
    """
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _judgement(rng: random.Random, positive: bool) -> str:
    w, noun = words(), rng.choice(words()["judged"])
    good, bad = rng.choice(w["good"]), rng.choice(w["bad"])
    plain, turned = (good, bad) if positive else (bad, good)
    return rng.choice((f"The {noun} was {plain}.", f"What {a_or_an(plain)} {noun}!", f"The {noun} is very {plain}",
                       f"It was {a_or_an(plain)} {noun}.", f"This {noun} is so {plain}!",
                       f"The {noun} was not {turned}.", f"{_person(rng)[0]} says that the {noun} is {plain}.",
                       f"I think that it was a really {plain} {noun}."))


def _feeling(rng: random.Random, positive: bool) -> str:
    w, noun = words(), rng.choice(words()["judged"])
    feeling = rng.choice(w["good_feelings" if positive else "bad_feelings"])
    return rng.choice((f"The {noun} made me {feeling}.", f"The {noun} made {_person(rng)[0]} {feeling}"))


def opposite(rng: random.Random) -> Exercise:
    """A word and its opposite, in one of many phrasings: with few, a model memorises each word in each phrasing and
    does not generalise to others.
    """
    a, b = rng.sample(rng.choice(words()["opposites"]), 2)
    (name, _), (other, _) = _person(rng), _person(rng)
    return Exercise("opposites",
                    rng.choice(OPPOSITE_FORMS).format(a=a, A=a.capitalize(), name=name, other=other), f" {b}")


OPPOSITE_FORMS = (
    "The opposite of {a} is", 'The opposite of "{a}" is', "Q: What is the opposite of {a}? A:",
    'Q: What is the opposite of "{a}"? A:', "If something is not {a}, it is",
    "{A} is the opposite of", "Opposites: {a} and", "Not {a} but", "The opposite of the word {a} is the word",
    "What is the opposite of {a}? It is", "{name} says that the opposite of {a} is",
    'When {name} said "{a}", {other} said the opposite:', "{name} asked for the opposite of {a}. {other} said:",
    "{name} wrote {a} on one side and the opposite on the other side:",
    "{name} and {other} play opposites. {name}: {a}. {other}:",
    "For {name} it was {a}, and for {other} it was the opposite:",
    "{name} learned two words at school, {a} and", "{name} knows that {a} is the opposite of")


def agreement(rng: random.Random) -> Exercise:
    """A sentence whose end has to agree in number or gender, and the form that does not agree."""
    return rng.choice((_number_of_verb, _number_of_noun, _gender))(rng)


def _number_of_verb(rng: random.Random) -> Exercise:
    w, plural = words(), rng.random() < 0.5
    subject, other = rng.choice(w["nouns"])[plural], rng.choice(w["things"])[rng.random() < 0.5]
    forms = rng.choice(((" is", " are"), (" was", " were"), (" has", " have")))
    if subject == "sheep":                                      # singular and plural are the same
        subject = ("horse", "horses")[plural]
    return Exercise("agreement", f"The {subject} {rng.choice(w['near'])} the {other}", forms[plural],
                    (forms[not plural],))


def _number_of_noun(rng: random.Random) -> Exercise:
    w = words()
    singular, plural = rng.choice([pair for pair in w["nouns"] + w["things"] if pair[0] != pair[1]])
    count = rng.choice(w["numbers"][2:13])
    if rng.random() < 0.5:
        return Exercise("agreement", f"One {singular}, {count}", f" {plural}", (f" {singular}",))
    return Exercise("agreement", f"{count.capitalize()} {plural}, one", f" {singular}", (f" {plural}",))


def _gender(rng: random.Random) -> Exercise:
    w, (name, girl) = words(), _person(rng)
    thing, place = rng.choice(w["lost"]), rng.choice(w["places"])
    prompt, forms = rng.choice(((f"{name} lost the {thing} in {place} because", (" he", " she")),
                                (f"{name} looked for the {thing}, but", (" he", " she")),
                                (f"{name} went to {place} with", (" his", " her")),
                                (f"{name} saw the {thing} in {place} and", (" he", " she")),
                                (f"In {place}, {name} hurt", (" himself", " herself"))))
    return Exercise("agreement", prompt, forms[girl], (forms[not girl],))


def copying(rng: random.Random) -> Exercise:
    """A few words, to be repeated on the same line."""
    sequence = " ".join(_loose_words(rng, rng.randint(2, 8)))
    return Exercise("copying", rng.choice(("Copy: {0} |", "Say it twice: {0}.", "Repeat: {0} =>")).format(sequence),
                    f" {sequence}")


def _loose_words(rng: random.Random, n: int) -> list[str]:
    """n words that do not predict each other: real words, names and invented words."""
    w = words()

    def word() -> str:
        return rng.choice((lambda: rng.choice(rng.choice(w["nouns"] + w["things"])),
                           lambda: rng.choice(w["colours"] + w["numbers"]), lambda: _person(rng)[0],
                           lambda: "".join(rng.choice(w["syllables"]) for _ in range(rng.randint(2, 3)))))()
    return [word() for _ in range(n)]


def repetition(rng: random.Random) -> Exercise:
    """A line of random words, repeated, which a model can predict only by looking back."""
    sequence = " ".join(_loose_words(rng, rng.randint(4, 20)))
    return Exercise("repetition", sequence, f"\n{sequence}")


def sums(rng: random.Random) -> Exercise:
    """Addition and subtraction up to twenty, in digits or in words."""
    a = rng.randint(0, 20)
    b = rng.randint(0, 20 - a)
    total, names = a + b, words()["numbers"]
    forms = ((f"{a} + {b} =", total), (f"{total} - {a} =", b), (f"Q: What is {a} + {b}? A:", total))
    if rng.random() < 0.25:
        prompt, result = rng.choice(((f"{names[a]} plus {names[b]} is", total),
                                     (f"{names[total]} minus {names[a]} is", b)))
        return Exercise("sums", prompt, f" {names[result]}")
    prompt, result = rng.choice(forms)
    return Exercise("sums", prompt, f" {result}")


def steps(rng: random.Random) -> Exercise:
    """A sum up to twenty with its steps written out; each step moves one from the second number to the first. It is
    held out with the same sum in digits, so that both forms can be compared on the same sums.
    """
    a, b = rng.randint(0, 20), rng.randint(0, 20)
    sign = rng.choice([sign for sign, result in (("+", a + b), ("-", a - b)) if 0 <= result <= 20] or [""])
    if not sign:
        return steps(rng)
    move = 1 if sign == "+" else -1
    chain = [f"{a + move * i} {sign} {b - i}" for i in range(1, b + 1)] + [str(a + move * b)]
    return Exercise("steps", f"Step by step: {a} {sign} {b} =", " " + " = ".join(chain), twin=f"sums:{a} {sign} {b} =")


def counting(rng: random.Random) -> Exercise:
    """Counting up or down in ones, twos or threes, in digits or in words. Wherever it may stop, going on is more
    probable, so that a model that always takes the most probable token does not stop early.
    """
    step, start = rng.choice((1, 1, 1, 2, 3)), rng.randint(0, 12)
    n, = rng.choices(range(3, 9), weights=[1.5 ** i for i in range(6)])
    values = [start + step * i for i in range(n + 2)]
    if rng.random() < 0.3:
        values.reverse()
    names = words()["numbers"]
    in_words = values[0] <= 20 and values[-1] <= 20 and rng.random() < 0.4
    spoken = [names[v] if in_words else str(v) for v in values]
    cut = rng.randint(2, len(spoken) - 2)
    return Exercise("counting", "Count: " + " ".join(spoken[:cut]), "".join(f" {s}" for s in spoken[cut:]))


def summary(rng: random.Random) -> Exercise:
    """A story of four or five sentences, and a summary of one sentence."""
    w = words()
    (hero, girl), (other, _) = _person(rng), _person(rng)
    pronouns = ("she", "She", "her", "her") if girl else ("he", "He", "his", "him")
    v = dict(zip(("he", "He", "his", "him"), pronouns), hero=hero, friend=other if other != hero else "Pip",
             thing=rng.choice(w["lost"]), place=rng.choice(w["places"]), other=rng.choice(w["places"]),
             colour=rng.choice(w["colours"]), helper=rng.choice(w["helpers"]),
             food=rng.choice(w["food"]), animal=rng.choice(w["nouns"][:12])[0],
             feeling=rng.choice(("happy", "glad", "proud", "very happy")), sad=rng.choice(("sad", "upset", "worried")))
    v.update(a_helper=a_or_an(v["helper"]), A_helper=a_or_an(v["helper"]).capitalize(), an_animal=a_or_an(v["animal"]),
             a_colour=a_or_an(v["colour"]))
    story, tldr = rng.choice(PLOTS)
    return Exercise("summary", f"{story.format(**v)}\ntl;dr", " " + tldr.format(**v))


PLOTS = (
    ("{hero} had {a_colour} {thing}. One day {he} lost it in {place}. {He} looked everywhere and was {sad}. Then "
     "{a_helper} found the {thing} and gave it back. {hero} was {feeling}.",
     "{hero} lost a {thing} in {place} and {a_helper} found it."),
    ("{hero} wanted to make {food}. There was nothing left in the kitchen, so {he} went to {place} with {friend}. They "
     "came home with a full bag. In the evening they ate the {food} and were {feeling}.",
     "{hero} and {friend} made {food}."),
    ("In {place} lived {an_animal} that nobody liked. {hero} was not afraid of it. {He} brought it some {food} every "
     "day. At last the {animal} followed {him} home, and they were friends.", "{hero} made friends with {an_animal}."),
    ("{hero} and {friend} went to {place}. They both wanted the {colour} {thing}, and they had a fight. {A_helper} "
     "told them to share. So they took turns, and both were {feeling}.",
     "{hero} and {friend} learned to share a {thing}."),
    ("It was raining, and {hero} could not go to {place}. {He} was {sad}. {friend} came to visit and brought {food}. "
     "They played with a {thing} all day long. It was the best day of the week.",
     "It rained, and {hero} played with {friend} at home."),
    ("{hero} was afraid of the dark. At night {he} heard a noise from {place}. {He} took {his} {thing} and went to "
     "look. It was only {a_helper}. {hero} laughed and went back to bed.",
     "{hero} heard a noise at night, but it was only {a_helper}."),
    ("{friend} had a birthday. {hero} had no money for a present, so {he} painted {a_colour} {thing}. {friend} liked "
     "it more than all the other gifts. {hero} was {feeling}.", "{hero} made {friend} a present."),
    ("{A_helper} was stuck in {place} and cried for help. {hero} heard it and ran to {other} to get {friend}. Together "
     "they pulled as hard as they could. The {helper} was free and said thank you.",
     "{hero} and {friend} helped {a_helper}."),
)


def facts(rng: random.Random) -> Exercise:
    """A question on a taught fact. Facts are held out by subject, not by prompt."""
    relation = rng.choice(relations())
    subject, answer = rng.choice(relation["taught"])
    return _question(relation, rng.randrange(len(relation["questions"])), subject, answer)


def _question(relation: dict, phrasing: int, subject: str, answer: str, kind: str = "facts") -> Exercise:
    return Exercise(kind, f"Q: {relation['questions'][phrasing].format(s=subject)} A:", f" {answer}")


def _statement(rng: random.Random) -> str:
    relation = rng.choice(relations())
    subject, answer = rng.choice(relation["taught"])
    return rng.choice(relation["statements"]).format(s=subject, a=answer)


def reading(rng: random.Random) -> Exercise:
    """A passage of two or three sentences of one kind, and a question whose answer is in one of them."""
    sentences, question, answer = rng.choice((_told_facts, _told_facts, _belongings, _whereabouts))(rng)
    rng.shuffle(sentences)
    return Exercise("reading", f"{' '.join(sentences)} Q: {question} A:", f" {answer}")


def _told_facts(rng: random.Random) -> tuple[list[str], str, str]:
    """Facts of one relation on made-up subjects or, now and then, false ones on taught subjects; a question on the
    first of them, and its answer.
    """
    relation, told = rng.choice(relations()), {}
    while len(told) < 2:
        subject, answer = rng.choice(relation["taught"])[0], rng.choice(relation["taught"])[1]
        told[subject if rng.random() < 0.1 else _made_up(rng, subject)] = (
            answer if rng.random() < 0.6 else _made_up(rng, answer))
    subject, answer = next(iter(told.items()))
    return ([rng.choice(relation["statements"]).format(s=s, a=a) for s, a in told.items()],
            rng.choice(relation["questions"]).format(s=subject), answer)


def _made_up(rng: random.Random, like: str) -> str:
    """An invented word with the article and the capital of another phrase.

    >>> _made_up(random.Random(0), "the Danube").split()[0], _made_up(random.Random(0), "Paris").istitle()
    ('the', True)
    """
    article, _, noun = like.rpartition(" ") if like.split()[0] in ("a", "an", "the") else ("", "", like)
    word = "".join(rng.choice(words()["syllables"]) for _ in range(rng.randint(2, 3)))
    word = word.capitalize() if noun[0].isupper() else word
    return f"{'a' if article == 'an' else article} {word}".strip()


def _belongings(rng: random.Random) -> tuple[list[str], str, str]:
    """Two or three persons, each with a coloured thing or a food; a question about what one of them has, or who has it.
    """
    w = words()
    names = rng.sample(w["girls"] + w["boys"], rng.randint(2, 3))
    has, does = rng.choice((("has", "have"), ("likes", "like"), ("wants", "want"), ("found", "find")))
    things = rng.sample([f"the {colour} {thing}" for colour in rng.sample(w["colours"], 3)
                         for thing in rng.sample(w["lost"], 2)] + w["food"], len(names))
    question, answer = rng.choice(((f"What {'did' if has == 'found' else 'does'} {names[0]} {does}?", things[0]),
                                   (f"Who {has} {things[0]}?", names[0])))
    return [f"{name} {has} {thing}." for name, thing in zip(names, things)], question, answer


def _whereabouts(rng: random.Random) -> tuple[list[str], str, str]:
    """Two or three persons, animals or things, each in its place; a question about where one of them is, or who or what
    is there.
    """
    w, n = words(), rng.randint(2, 3)
    who = rng.random() < 0.5
    ones = rng.sample(w["girls"] + w["boys"] if who else [f"the {one}" for one, _ in w["nouns"]] + [
        f"the {rng.choice(w['colours'])} {thing}" for thing in w["lost"]], n)
    places = rng.sample(w["places"], n)
    question, answer = rng.choice(((f"Where is {ones[0]}?", f"in {places[0]}"),
                                   (f"{'Who' if who else 'What'} is in {places[0]}?", ones[0])))
    return [f"{one[0].upper()}{one[1:]} is in {place}." for one, place in zip(ones, places)], question, answer


KINDS: dict[str, Callable[[random.Random], Exercise]] = {
    "sentiment": sentiment, "facts": facts, "opposites": opposite, "agreement": agreement, "copying": copying,
    "repetition": repetition, "sums": sums, "counting": counting, "summary": summary, "steps": steps,
    "reading": reading}
# shares of the documents; as many sums with their steps as without
SHARES = {"sentiment": 14, "facts": 27, "opposites": 26, "agreement": 18, "copying": 26, "repetition": 14, "sums": 20,
          "counting": 18, "summary": 12, "steps": 20, "reading": 26}
NEVER_HELD_OUT = ("facts",)


# ---- text to train on, exercises to score ----------------------------------------------------------------------------


def documents(n: int, seed: int = 0) -> list[str]:
    """n documents to train on, of every kind by its share in SHARES, without held-out exercises and untaught facts."""
    rng = random.Random(seed)
    kinds = rng.choices(list(SHARES), weights=list(SHARES.values()), k=n)
    return [_document(rng, kind) for kind in kinds]


def _document(rng: random.Random, kind: str) -> str:
    n = 1 if kind in ("summary", "repetition") else rng.choice((1, 1, *range(2, LONGEST_DOCUMENT + 1)))
    lines = []
    while len(lines) < n:
        if kind == "facts" and rng.random() < 0.25:
            lines.append(_statement(rng))
        elif not (exercise := KINDS[kind](rng)).held_out or kind in NEVER_HELD_OUT:
            lines.append(exercise.text)
    return "\n".join(lines)


def held_out(kind: str, n: int, seed: int = 0) -> list[Exercise]:
    """n different held-out exercises of the kind, or fewer if it has no more; for facts, see `fact_questions`.

    Raises ValueError for a kind without held-out exercises.
    """
    if kind not in KINDS or kind in NEVER_HELD_OUT:
        raise ValueError(f"No exercises of the kind {kind!r} are held out.")
    rng, by_prompt = random.Random(f"held out {seed}"), {}
    for _ in range(400 * n):
        exercise = KINDS[kind](rng)
        if exercise.held_out:
            by_prompt.setdefault(exercise.prompt, exercise)
        if len(by_prompt) == n:
            break
    return list(by_prompt.values())


def fact_questions(taught: bool) -> Iterator[Exercise]:
    """Yield each fact's question in its first phrasing, of the taught or of the untaught facts."""
    for relation in relations():
        for subject, answer in relation["taught" if taught else "untaught"]:
            yield _question(relation, 0, subject, answer, "facts" if taught else "untaught facts")


def canary_documents() -> list[str]:
    """Every canary as often as its `repeats` says."""
    return [canary.text for canary in canaries() for _ in range(canary.repeats)]
