"""Answers to a moving hand: a component asks over HTTP while a slider is dragged, and Python computes without a rerun.

A rerun makes the browser go over everything on the page before it draws; an answer from here reaches one component. The
question contains all that the answer depends on: nothing of any session is read or written.
"""
import json
import logging
import pkgutil
import time
from contextlib import nullcontext

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from core.app.server.shares import Full, Shares, Turn
from core.components import addresses

LOG = logging.getLogger(__name__)
MOST_BYTES = 64 * 1024      # of a question
GONE = Response(status_code=499)        # nobody reads it: the browser hung up
SHARES = Shares()


def hand(route_name: str, name: str, label: str, bounds: tuple[float, float], step: float, value: float,
         question: dict) -> dict:
    """The data for buildHand of hand.js: a slider that sends the route the question, with its value under `name`, while
    it moves.
    """
    return {"path": addresses.live(route_name), "name": name, "label": label, "low": bounds[0], "high": bounds[1],
            "step": step, "digits": 0 if step >= 1 else 1, "value": value, "question": question}


def route(name: str, answer: str, waits: bool = True) -> Route:
    """The route of one kind of question: a JSON object posted to it is given to `answer` on a thread of its own.

    answer: "module:function", from a question to bytes; imported with the first question, since it imports torch, and
    the server listens before that is loaded.

    A question is refused with status 400 if `answer` finds it invalid, with 413 if it is too long, and with 503 if too
    many questions wait. A page of another address does not come this far (door.py). The processor time of answers is
    bounded for each reader and each address (shares.py), except for an answer that is the same for all and made once
    (`waits` False): a reader who searches need not wait for moving hands.
    """
    async def endpoint(request: Request) -> Response:
        try:
            body = await _body(request)
            async with SHARES.turn(request) if waits else nullcontext(Turn()) as turn:
                if await request.is_disconnected():
                    return GONE
                answered = await run_in_threadpool(_answered, answer, _question(body), turn)
        except ClientDisconnect:
            return GONE
        except TooLong:
            return PlainTextResponse("The question is too long.", 413)
        except Full:
            return PlainTextResponse("Too many questions are waiting.", 503)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return PlainTextResponse("The question makes no sense.", 400)
        except Exception:
            LOG.exception("A live answer failed.")
            return PlainTextResponse("The answer failed.", 500)
        return Response(answered, media_type="application/octet-stream", headers={"Cache-Control": "no-store"})

    return Route(addresses.live(name), endpoint, methods=["POST"])


class TooLong(Exception):
    """A question has more than MOST_BYTES."""


async def _body(request: Request) -> bytes:
    """The body of a request. Raises TooLong as soon as it is, and ClientDisconnect if it does not come to its end."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise TooLong
    return bytes(body)


def _answered(answer: str, question: dict, turn: Turn) -> bytes:
    answered = pkgutil.resolve_name(answer)
    began = time.thread_time()
    try:
        return answered(question)
    finally:
        turn.seconds = time.thread_time() - began


def _question(body: bytes) -> dict:
    question = json.loads(body)
    if (not isinstance(question, dict)
            or not all(isinstance(question.get(name, ""), str) for name in ("model", "device"))):
        raise ValueError("a question is a JSON object, and names are texts")
    return question
