"""Truths of the bundled models alone: looks of sentences that a page may say of another model only where their
paragraph names the one that they are about.
"""
import re

# what is said of a model: how that looks
LOOKS = {
    "what it has read": r"children['’]s stories|\b(has|had|have) (only )?read (stories|simple|millions|too little)\b|"
                        r"\bits stories\b|\bread stories\b|unlike anything (that )?it has",
    "what it was taught": r"(?<!nothing )\b(was|were|been) (never |not )?taught\b|\b[Nn]ot taught\b|\bmet such\b|"
                          r"trained in this app",
    "what was kept back": r"kept from( its)? training|held out, so|was never told",
    "how small it is": r"\b([Mm]odel|[Ii]t) is (tiny|small)\b|\bsmall model of\b|few million|\bsix million|"
                       r"\b5\.9 million",
    "its sizes": r"\b(has|its|the) 4,096\b|\bsix blocks\b|\beight heads\b|\b48 heads\b|\b256 numbers\b|"
                 r"\bblock, 5\.\*",
    "its tokenizer": r"[Hh]ere it is the end-of-text|seen no Chinese",
    "how its rows lie": r"knows no money|[Nn]earest to \*|[Qq]ueen\*? comes|crowd together at",
    "how long its vectors are": r"twice as long as the embedding|longer than that of any word|"
                                r"longer than the embedding",
    "its wiring": r"\bthis one too\b|\buses GELU|\b[Mm]ost heads (lie|of)\b|\b[Mm]ost lie between",
    "what comes out": r"mostly the input token itself|most of its lead|loses (a third|all) of|coin toss for it|"
                      r"read, it promises too much|once or ten times|in all twelve|matters least changes|no row right|"
                      r"forgets here",
}
LOOK = re.compile("|".join(f"(?:{look})" for look in LOOKS.values()))
# what names the one that is meant, or says that it is not this one
NAMED = re.compile(r"[`*]stories[`*]|\bstories-small\b|\b[Tt]his app['’]s (models?|transformer)\b|"
                   r"published by others|\b(of|by|to|model|which) stories\b|"
                   r"\bstories (was|were|has|had|never|read|once)\b|\{name\}|\{model\}")


def told(text: str) -> list[str]:
    """The paragraphs of a text with something that is true of a bundled model and no word of which one."""
    return [line for line in text.splitlines() if LOOK.search(line) and not NAMED.search(line)]
