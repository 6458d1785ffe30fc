"""The routes of a class: the page of a phone, its events and answers, and the requests of the teacher's page.

/j and /j/CODE                  the page of a phone, which is one small document
/j/CODE/lead#KEY                the page of the teacher's second device; the key stays in its browser
/j/CODE/events?phone=…          the state that a phone shows, as server-sent events
/j/CODE/events?wall=…           the same with counts, for a wall that proves that it knows the key (codes.kept)
POST /j/CODE/answer             {phone, question, guess, sure}
POST /class                     open a class: {code, key}
POST /class/CODE                {key, do, …}: a request of the teacher, see Classes.act

An address with many wrong codes is slowed: every phone there that has not joined waits its turn before the code is
looked up, right or wrong. So a school behind one address still gets in, if slower (and perhaps not while somebody there
guesses on many connections without a pause), and guessing is no faster for hanging up before the answer.
core/app/classroom/codes.py computes the odds of guessing. A phone that has joined never waits.

Nothing of an answer is written to a log.
"""
from __future__ import annotations

import asyncio
import functools
import json
import logging
import pkgutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from core.app.classroom import codes, stores
from core.app.classroom.asked import MOST_BYTES, Refused
from core.app.classroom.classes import Classes, Full, NoClass, NoRoom, NotAllowed, is_voter
from core.app.classroom.store import Unreachable
from core.app.server import stopping
from core.app.server.rates import Line, Rate
from core.app.server.shares import network
from core.app.server.streams import Streams
from core.base import deployment
from core.components import addresses

LOG = logging.getLogger(__name__)
MOST_ANSWER_BYTES = 2_000
BODY_SECONDS = 5                    # longest time for a posted body to arrive: a server that ends waits for it
# Wrong codes from one address, which may be that of a school, and from all addresses together. Above these limits
# phones that have not joined wait for a turn.
WRONG, WRONG_OF_ALL = Rate(a_minute=120, at_once=300), Rate(a_minute=600, at_once=1_500)
TURNS, TURNS_OF_ALL = Line(a_minute=120, most=40), Line(a_minute=600, most=200)
JOINED = Rate(a_minute=120, at_once=100)            # new phones of one class, from one address
OPENED = Rate(a_minute=6, at_once=30)               # classes, from one address
ANSWERED = Rate(a_minute=60, at_once=20)            # answers of one phone
WISHED = Rate(a_minute=240, at_once=60)             # wishes of one class's teacher
_EVENTS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_streams = Streams()
T = TypeVar("T")


@functools.cache
def classes() -> Classes:
    """The classes of this process's event loop."""
    return Classes(stores.of(deployment.current().classes))


@asynccontextmanager
async def kept() -> AsyncIterator[None]:
    """Forget classes whose time is over as long as the block runs. When the server is asked to end, end the streams to
    phones and walls, which ask again if another server takes its place.
    """
    if deployment.current().classes == deployment.OFF:
        yield
        return
    stopping.when_asked_to_end(classes().stop)
    tidying = asyncio.create_task(classes().tidy())
    try:
        yield
    finally:
        tidying.cancel()


def routes() -> list[Route]:
    """All routes of classes; none if classes are switched off."""
    if deployment.current().classes == deployment.OFF:
        return []
    phone, teacher = (addresses.below(name) for name in ("j", "class"))
    return [Route(phone, _page), Route(f"{phone}/{{code}}", _page), Route(f"{phone}/{{code}}/lead", _page),
            Route(f"{phone}/{{code}}/events", _answered(_events)),
            Route(f"{phone}/{{code}}/answer", _answered(_answer), methods=["POST"]),
            Route(teacher, _answered(_open), methods=["POST"]),
            Route(f"{teacher}/{{code}}", _answered(_act), methods=["POST"])]


class TooMany(Exception):
    """Somebody does something more often than a hand would."""


def _answered(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint, with its refusals turned into statuses on which a page can act."""
    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientDisconnect:
            return Response(status_code=499)
        except (NoClass, NotAllowed) as wrong:
            WRONG.done(_address(request))
            WRONG_OF_ALL.done("")
            return _refused(404 if isinstance(wrong, NoClass) else 403)
        except (Refused, ValueError, TypeError, KeyError, RecursionError):
            return _refused(400)
        except TooMany:
            return _refused(429)
        except TimeoutError:
            return _refused(408)
        except NoRoom:
            return _refused(409)
        except (Full, Unreachable):
            return _refused(503)
    return answer


async def _page(request: Request) -> Response:
    return HTMLResponse(await run_in_threadpool(_written_page), headers={"Cache-Control": "no-cache"})


def _written_page() -> str:
    # imports the colours of the pictures, and numpy with them; the server does not wait for that at its start
    return pkgutil.resolve_name("core.app.classroom.phone_page:written")()


async def _events(request: Request) -> Response:
    phone, wall = request.query_params.get("phone"), request.query_params.get("wall")
    if wall is None and not is_voter(phone):
        raise Refused("a phone has a number")
    if wall is None:
        code = await _code(request, phone)
    else:
        code = _written_code(request)
        await _with_key(request, classes().check_wall(code, wall))
    voter = phone if wall is None else None
    if not _streams.may(code, voter):
        raise Full
    events = classes().events(code, voter)
    first = await anext(events)
    return StreamingResponse(_sent(first, events, code, voter), media_type="text/event-stream", headers=_EVENTS)


async def _sent(first: dict | None, events: AsyncIterator[dict | None], code: str, voter: str | None
                ) -> AsyncIterator[str]:
    """Events in the form that a browser's EventSource reads; a comment line if nothing is new."""
    _streams.begin(code, voter)
    try:
        async with aclosing(events):
            yield f"retry: 1000\n{_line(first)}"
            async for event in events:
                yield _line(event)
    finally:
        _streams.end(code, voter)


def _line(event: dict | None) -> str:
    return ":\n\n" if event is None else f"data: {json.dumps(event, ensure_ascii=False)}\n\n"


async def _answer(request: Request) -> Response:
    told = await _body(request, MOST_ANSWER_BYTES)
    code = await _code(request, told.get("phone"))
    if not ANSWERED.take((code, str(told.get("phone"))[:32])):
        raise TooMany
    kept = await classes().answer(code, told.get("phone"), told)
    return JSONResponse({"kept": kept})


async def _open(request: Request) -> Response:
    await _body(request, MOST_ANSWER_BYTES)
    if not OPENED.take(_address(request)):
        raise TooMany
    code, key = await classes().open()
    return JSONResponse({"code": code, "key": key})


async def _act(request: Request) -> Response:
    code, wish = _written_code(request), await _body(request, MOST_BYTES)
    if not WISHED.take((code, str(wish.get("key"))[:32])):
        raise TooMany
    return JSONResponse(await _with_key(request, classes().act(code, wish.get("key"), wish)))


async def _code(request: Request, phone: object) -> str:
    """The code in the path; a phone that has not joined yet waits for its turn first. Raises NoClass; NoRoom; Full if
    many wait or join already.
    """
    code, address = _written_code(request), _address(request)
    if await classes().knows(code, phone):
        return code
    of_address, of_all = not WRONG.may(address), not WRONG_OF_ALL.may("")
    if of_address and not await TURNS.turn(address) or of_all and not await TURNS_OF_ALL.turn(""):
        raise Full
    await classes().check_room(code)
    if not JOINED.take((code, address)):
        raise Full
    return code


def _written_code(request: Request) -> str:
    code = codes.as_code(request.path_params["code"])
    if code is None:
        raise NoClass
    return code


async def _with_key(request: Request, deed: Awaitable[T]) -> T:
    """Return the result of an action that needs the key. If many wrong codes were tried, raises TooMany for a wrong key
    and a wrong code alike, so that neither tells whether there is such a class. The right key is never refused.
    """
    may = WRONG.may(_address(request)) and WRONG_OF_ALL.may("")
    try:
        return await deed
    except (NoClass, NotAllowed):
        if may:
            raise
        raise TooMany from None


def _address(request: Request) -> str:
    return network(request.client.host if request.client else "")


async def _body(request: Request, most: int) -> dict:
    body = bytearray()
    async with asyncio.timeout(BODY_SECONDS):
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise Refused("that is too long")
    told = json.loads(bytes(body) or b"{}")
    if not isinstance(told, dict):
        raise Refused("an object was expected")
    return told


def _refused(status: int) -> Response:
    return JSONResponse({}, status)
