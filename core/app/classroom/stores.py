"""The store that this server's setting names."""
from pathlib import Path

from core.app.classroom.sqlite_store import SqliteStore
from core.app.classroom.store import Store


def of(place: str) -> Store:
    """The store at `place`, a value of Deployment.classes except OFF."""
    if "://" not in place:
        return SqliteStore(Path(place) if place else None)
    from core.app.classroom.redis_store import RedisStore  # imports redis, which a single process does not need
    return RedisStore(place)
