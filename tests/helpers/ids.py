"""Names of a test's cases."""


def named(value: object) -> str:
    """A function's name, and anything else as a text: the address that a function prints is another in each process,
    and parallel workers compare names.
    """
    return getattr(value, "__name__", str(value))
