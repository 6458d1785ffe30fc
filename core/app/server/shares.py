"""Shares of the processor that one reader, and one address, may take for the questions of moving hands.

A question waits for its turn
- behind the earlier ones of its reader, since one question of a reader is computed at a time,
- until the processor time that its reader and its address have taken before is paid off: each may take some seconds at
  once, and a part of a core in the long run,
- for one of the places at which questions are computed; an address never has all of them.

A whole school may have one address: its bounds fit a class of thirty that works. Within it, readers take turns, since
each has one question in the line at a time. A reader is recognised by the cookie that Streamlit's protection against
forged requests gives each browser (server.enableXsrfProtection). A browser that invents cookies, or sends none, as in a
frame of another site, has only the bounds of its address.
"""
import asyncio
import ipaddress
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from core.app.server.rates import Bucket

COOKIE = "_streamlit_xsrf"
MOST_AT_ONCE = 4            # questions that are computed at a time


@dataclass(frozen=True)
class Bound:
    """The bounds of one reader, or of one address.

    A hand asks one question at a time, which takes 15 to 50 ms of processor, and rests more than it moves.
    """

    computed: int       # questions computed at a time
    asked: int          # questions computed or waiting
    seconds: float      # of processor, at once
    cores: float        # in the long run


OF_READER = Bound(computed=1, asked=6, seconds=3, cores=0.5)
OF_ADDRESS = Bound(computed=MOST_AT_ONCE - 1, asked=64, seconds=30, cores=1)


class Full(Exception):
    """The reader's or the address's queue is full."""


@dataclass
class Turn:
    """A question's turn. The code that computes the answer notes the seconds of processor that it took."""

    seconds: float = 0.0


class _Account:
    """The questions of one reader or one address, and the processor time that it has taken."""

    def __init__(self, bound: Bound) -> None:
        self.bound, self.asked = bound, 0
        self.places = asyncio.Semaphore(bound.computed)
        self.time = Bucket(bound.cores, bound.seconds)

    @property
    def is_idle(self) -> bool:
        return not self.asked and self.time.wait(_now(), self.bound.seconds) <= 0


class Shares:
    """The turns of all questions to a server. For one event loop."""

    def __init__(self) -> None:
        self._accounts: dict[tuple[str, ...], _Account] = {}
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    def __len__(self) -> int:
        return len(self._accounts)

    @asynccontextmanager
    async def turn(self, asker: HTTPConnection) -> AsyncIterator[Turn]:
        """Run the block when the question's turn has come. Raises Full if too many wait."""
        accounts, turn = self._accounts_of(asker), Turn()
        if any(account.asked >= account.bound.asked for account in accounts):
            raise Full
        for account in accounts:
            account.asked += 1
        try:
            async with AsyncExitStack() as places:
                for account in accounts:
                    await places.enter_async_context(account.places)
                    while (wait := account.time.wait(_now())) > 0:
                        await asyncio.sleep(wait)
                await places.enter_async_context(self._places)
                yield turn
        finally:
            for account in accounts:
                account.asked -= 1
                account.time.take(turn.seconds, _now())
            self._forget()

    def _accounts_of(self, asker: HTTPConnection) -> list[_Account]:
        """The accounts of the reader, if it can be recognised, and of the address."""
        address, cookie = network(asker.client.host if asker.client else ""), asker.cookies.get(COOKIE)
        of_address = self._accounts.setdefault((address,), _Account(OF_ADDRESS))
        if not cookie:
            return [of_address]
        return [self._accounts.setdefault((address, cookie), _Account(OF_READER)), of_address]

    def _forget(self) -> None:
        self._accounts = {key: account for key, account in self._accounts.items() if not account.is_idle}


def _now() -> float:
    return asyncio.get_running_loop().time()


def network(host: str) -> str:
    """The part of an address that counts as one: of IPv6 the first 64 bits, which one household or machine has alone.

    >>> network("203.0.113.7"), network("2001:db8::1:2:3"), network("testclient")
    ('203.0.113.7', '2001:db8::', 'testclient')
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 6 and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False).network_address)
    return host
