"""The store that this server's setting names."""
from pathlib import Path

from core.app.classroom.sqlite_store import SqliteStore
from core.app.classroom.store import Store


def of(place: str) -> Store:
    """place: as Deployment.classes has it, but not OFF."""
    if "://" not in place:
        return SqliteStore(Path(place) if place else None)
    from core.app.classroom.redis_store import RedisStore  # brings its client, which one process alone does without
    return RedisStore(place)
