"""The codes by which phones find a class, and the key of its teacher.

No code is guessed quickly. There are 19^6 = 47 million. One address may try 300 wrong codes at once and then 120 a
minute (core/app/server/class_routes.py): in a lesson of 90 minutes 11,100 codes, which find one certain class with a
chance of 0.024 %, and in the six hours that a class lasts at most 43,500 codes, 0.092 %. All addresses together may try
1,500 and then 600 a minute, 217,500 codes in six hours: 0.46 %. One address finds any one of 20 classes that are open
all the time within six hours with a chance of 1.8 %. Anyone who finds a class may answer once to each of its questions,
and has no key.
"""
import hashlib
import hmac
import secrets

# No signs that are mistaken for each other from the last row (0 O Q, 1 I L, 2 Z, 5 S, 8 B, 6 G, U V) and no vowels, so
# that no code is a word.
LETTERS = "CDFHJKMNPRTVWXY3479"
LENGTH = 6


def new_code() -> str:
    """A random code."""
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def as_code(written: str) -> str | None:
    """The code that somebody has typed, with small letters, spaces or hyphens; None if it cannot be a code.

    >>> [as_code(written) for written in ("kxm 4tr", "KXM-4TR", "kxm4", "KXM4TO")]
    ['KXM4TR', 'KXM4TR', None, None]
    """
    code = "".join(written.upper().replace("-", " ").split()) if len(written) <= 20 else ""
    return code if len(code) == LENGTH and set(code) <= set(LETTERS) else None


def new_key() -> str:
    """A random key, 32 hexadecimal digits."""
    return secrets.token_hex(16)


def kept(key: str) -> str:
    """A hash of the key, which is kept in its place; nobody can get the key from it."""
    return hashlib.sha256(key.encode()).hexdigest()


def opens(key: object, what_is_kept: str) -> bool:
    """Whether it is the key with this hash."""
    return isinstance(key, str) and hmac.compare_digest(kept(key), what_is_kept)
