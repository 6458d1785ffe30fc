"""The codes by which phones find a class, and the key of who leads it."""
import hashlib
import hmac
import secrets

# Nothing that is taken for another when it is read from the last row (0 O Q, 1 I L, 2 Z, 5 S, 8 B, 6 G, U V) and no
# vowel, so that no code is a word.
LETTERS = "CDFHJKMNPRTVWXY3479"
LENGTH = 5          # 2.5 million codes


def new_code() -> str:
    """A random code."""
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def as_code(written: str) -> str | None:
    """The code that somebody has typed, with small letters, spaces or hyphens; None for what can be none.

    >>> [as_code(written) for written in ("kxm 4t", "KX-M4T", "kxm4", "KXM4O")]
    ['KXM4T', 'KXM4T', None, None]
    """
    code = "".join(written.upper().replace("-", " ").split()) if len(written) <= 20 else ""
    return code if len(code) == LENGTH and set(code) <= set(LETTERS) else None


def new_key() -> str:
    """A random key, 32 hexadecimal digits."""
    return secrets.token_hex(16)


def kept(key: str) -> str:
    """What is kept of a key, from which nobody finds the key."""
    return hashlib.sha256(key.encode()).hexdigest()


def opens(key: object, what_is_kept: str) -> bool:
    """Whether it is the key of which that is kept."""
    return isinstance(key, str) and hmac.compare_digest(kept(key), what_is_kept)
