"""Classes in Valkey or Redis, for several replicas that serve one address: a phone may reach any of them.

Changes that must hold together run as one script in the store itself. A change is published there, and each replica
listens for all of its phones on one connection.
"""
from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.exceptions import RedisError

from core.app.classroom.store import ANSWERS, HEAD, USUAL, Bounds, Ears, News, Unreachable

LOG = logging.getLogger(__name__)
_PREFIX = "transformer:class:"
_ALL = f"{_PREFIX}all"              # a sorted set: the codes by the times until which classes last
_NEWS = f"{_PREFIX}news"            # the channel, with messages "CODE what"
_SECONDS = 3                        # longest time for one answer of the store
_AGAIN_SECONDS = 1                  # between two tries to listen

_CREATE = """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[5]) or redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('HSET', KEYS[2], 'version', 1, 'head', ARGV[3], 'takes', 0, 'until', ARGV[4])
redis.call('EXPIREAT', KEYS[2], ARGV[4])
redis.call('ZADD', KEYS[1], ARGV[4], ARGV[2])
return 1
"""
# KEYS: all classes, the class; ARGV: its code, until when. Its parts go with it.
_EXTEND = """
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
redis.call('HSET', KEYS[2], 'until', ARGV[2])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
for _, part in ipairs({'', ':there', ':ended'}) do redis.call('EXPIREAT', KEYS[2] .. part, ARGV[2]) end
for question = 1, tonumber(redis.call('HGET', KEYS[2], 'last') or 0) do
  redis.call('EXPIREAT', KEYS[2] .. ':' .. question, ARGV[2])
end
return 1
"""
_WRITE = """
if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then return 0 end
redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('HSET', KEYS[1], 'head', ARGV[2], 'takes', ARGV[3])
if ARGV[3] ~= '0' then redis.call('HSET', KEYS[1], 'last', ARGV[3]) end
if ARGV[4] ~= '0' then
  redis.call('HSET', KEYS[2], ARGV[4], ARGV[5])
  redis.call('EXPIREAT', KEYS[2], redis.call('HGET', KEYS[1], 'until'))
end
return 1
"""
# Whether one more phone is taken: in a full class, phones that are gone lose their places.
_TAKES = """
local function takes(there, voter, most, gone)
  if redis.call('ZSCORE', there, voter) then return true end
  if redis.call('ZCARD', there) >= tonumber(most) then redis.call('ZREMRANGEBYSCORE', there, '-inf', gone) end
  return redis.call('ZCARD', there) < tonumber(most)
end
"""
# KEYS: the class, who is there, its answers; ARGV: question, voter, what was told, now, most phones, most answers, the
# time before which phones are gone
_ANSWER = _TAKES + """
if redis.call('HGET', KEYS[1], 'takes') ~= ARGV[1] then return 0 end
if not takes(KEYS[2], ARGV[2], ARGV[5], ARGV[7]) then return 0 end
local ends = redis.call('HGET', KEYS[1], 'until')
if redis.call('HEXISTS', KEYS[3], ARGV[2]) == 0 then
  if tonumber(redis.call('HGET', KEYS[1], 'answers') or 0) >= tonumber(ARGV[6]) then return 0 end
  redis.call('HINCRBY', KEYS[1], 'answers', 1)
end
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[2])
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
redis.call('EXPIREAT', KEYS[2], ends)
redis.call('EXPIREAT', KEYS[3], ends)
return 1
"""
# KEYS: the class, who is there; ARGV: now, most phones, the time before which phones are gone, voters …
_SEE = _TAKES + """
local ends = redis.call('HGET', KEYS[1], 'until')
if not ends then return 0 end
for i = 4, #ARGV do
  if takes(KEYS[2], ARGV[i], ARGV[2], ARGV[3]) then redis.call('ZADD', KEYS[2], ARGV[1], ARGV[i]) end
end
redis.call('EXPIREAT', KEYS[2], ends)
return 1
"""


class RedisStore:
    """A Store in Valkey or Redis at this address. For one event loop."""

    def __init__(self, address: str, bounds: Bounds = USUAL) -> None:
        self._bounds, self._ears = bounds, Ears()
        self._data = Redis.from_url(address, decode_responses=True, socket_timeout=_SECONDS,
                                    socket_connect_timeout=_SECONDS)
        self._create, self._extend, self._write, self._answer, self._see = map(
            self._data.register_script, (_CREATE, _EXTEND, _WRITE, _ANSWER, _SEE))
        self._listening: asyncio.Task | None = None

    async def create(self, code: str, head: str, until: float) -> bool:
        with _reached():
            return bool(await self._create([_ALL, _key(code)],
                                           [time.time(), code, head, round(until), self._bounds.classes]))

    async def extend(self, code: str, until: float) -> None:
        with _reached():
            await self._extend([_ALL, _key(code)], [code, round(until)])

    async def read(self, code: str) -> tuple[int, str] | None:
        with _reached():
            version, head = await self._data.hmget(_key(code), "version", "head")
        return None if version is None else (int(version), head)

    async def write(self, code: str, version: int, head: str, takes: int, *, ended: tuple[int, str] | None = None
                    ) -> bool:
        with _reached():
            is_written = await self._write([_key(code), _key(code, "ended")],
                                           [version, head, takes, *(ended or (0, ""))])
            if is_written:
                await self._tell(code, HEAD)
        return bool(is_written)

    async def answer(self, code: str, question: int, voter: str, told: str) -> bool:
        with _reached():
            is_kept = await self._answer(
                [_key(code), _key(code, "there"), _key(code, str(question))],
                [question, voter, told, now := time.time(), self._bounds.phones, self._bounds.answers,
                 now - self._bounds.gone])
            if is_kept:
                await self._tell(code, ANSWERS)
        return bool(is_kept)

    async def answers(self, code: str, question: int) -> list[str]:
        with _reached():
            return await self._data.hvals(_key(code, str(question)))

    async def answer_of(self, code: str, question: int, voter: str) -> str | None:
        with _reached():
            return await self._data.hget(_key(code, str(question)), voter)

    async def count(self, code: str, question: int) -> int:
        with _reached():
            return await self._data.hlen(_key(code, str(question)))

    async def ended(self, code: str) -> dict[int, str]:
        with _reached():
            found = await self._data.hgetall(_key(code, "ended"))
        return dict(sorted((int(number), head) for number, head in found.items()))

    async def see(self, code: str, voters: Collection[str], now: float) -> None:
        with _reached():
            await self._see([_key(code), _key(code, "there")],
                            [now, self._bounds.phones, now - self._bounds.gone, *voters])
            await self._tell(code, ANSWERS)

    async def knows(self, code: str, voter: str) -> bool:
        with _reached():
            return await self._data.zscore(_key(code, "there"), voter) is not None

    async def there(self, code: str, since: float) -> int:
        with _reached():
            return await self._data.zcount(_key(code, "there"), since, "+inf")

    async def is_full(self, code: str) -> bool:
        return await self.there(code, time.time() - self._bounds.gone) >= self._bounds.phones

    async def keep_only(self, code: str, question: int, voters: Collection[str]) -> None:
        with _reached():
            there = await self._data.zrange(_key(code, "there"), 0, -1)
            if others := [voter for voter in there if voter not in voters]:
                await self._data.zrem(_key(code, "there"), *others)
                await self._data.hdel(_key(code, str(question)), *others)
            await self._tell(code, ANSWERS)

    async def forget_old(self) -> None:
        """Do nothing: Redis forgets them by itself."""

    async def drop(self, code: str) -> None:
        with _reached():
            keys = [key async for key in self._data.scan_iter(f"{_key(code)}*")]
            await self._data.delete(_key(code), *keys)
            await self._data.zrem(_ALL, code)
            await self._tell(code, HEAD)

    @asynccontextmanager
    async def changes(self, code: str, *wanted: str) -> AsyncIterator[News]:
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        async with self._ears.listen(code, wanted) as news:
            yield news

    def wake(self) -> None:
        self._ears.wake()

    async def close(self) -> None:
        if self._listening:
            self._listening.cancel()
        await self._data.aclose()

    async def _tell(self, code: str, what: str) -> None:
        await self._data.publish(_NEWS, f"{code} {what}")

    async def _listen(self) -> None:
        """Pass on the changes that any replica publishes. After the store was away, everything may have changed."""
        while True:
            with contextlib.suppress(RedisError, OSError):
                async with self._data.pubsub(ignore_subscribe_messages=True) as channel:
                    await channel.subscribe(_NEWS)
                    self._ears.wake()
                    while True:
                        message = await channel.get_message(timeout=_SECONDS)
                        if message:
                            self._ears.tell(*message["data"].split())
            LOG.warning("The store of the classes does not answer; trying again.")
            await asyncio.sleep(_AGAIN_SECONDS)


@contextlib.contextmanager
def _reached():
    """Raise Unreachable for any error that keeps the store from answering."""
    try:
        yield
    except (RedisError, OSError, TimeoutError) as error:
        raise Unreachable(str(error)) from error


def _key(code: str, part: str = "") -> str:
    return f"{_PREFIX}{code}" + (f":{part}" if part else "")
