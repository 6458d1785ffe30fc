"""Answers to a hand that still moves: a component asks over HTTP while a slider is dragged, and Python computes without a rerun.

A rerun makes the browser go over everything on the page before it draws; an answer from here reaches one component. The question says all
that the answer depends on: nothing of any session is read or written.
"""
from __future__ import annotations

import asyncio
import json
import logging
import pkgutil

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from streamlit.web.server.server_util import allow_all_cross_origin_requests, is_allowed_origin

from core.app.base import addresses

LOG = logging.getLogger(__name__)
FOLDER = "live"
MOST_BYTES = 64 * 1024      # of a question
MOST_AT_ONCE = 4            # answers of one kind that are computed at a time
MOST_WAITING = 64           # questions of one kind that wait for that; a hand asks one at a time, so a class has far fewer


def address(name: str) -> str:
    """The path under which the browser asks: below the server's base path, where it has one."""
    return addresses.below(FOLDER, name)


def hand(route_name: str, name: str, label: str, bounds: tuple[float, float], step: float, value: float, question: dict) -> dict:
    """What buildHand of hand.js is told: a slider that asks the route with the question and its value under `name` while it moves."""
    return {"path": address(route_name), "name": name, "label": label, "low": bounds[0], "high": bounds[1], "step": step, "digits": 0 if step >= 1 else 1, "value": value, "question": question}


def route(name: str, answer: str) -> Route:
    """The route of one kind of question: a JSON object posted to it is given to `answer` on a thread of its own.

    answer: "module:function", from a question to bytes; imported with the first question, for it brings torch, and the server listens before that is loaded.

    What `answer` cannot make sense of is refused with status 400, what is too long with 413, a page of another address with 403, and with 503 what comes while too
    many wait.
    """
    places, n_asked = asyncio.Semaphore(MOST_AT_ONCE), 0

    async def endpoint(request: Request) -> Response:
        nonlocal n_asked
        if not _is_own_page(request):
            return PlainTextResponse("The question comes from a page of another address.", 403)
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return PlainTextResponse("The question is too long.", 413)
        if n_asked >= MOST_AT_ONCE + MOST_WAITING:
            return PlainTextResponse("Too many questions are waiting.", 503)
        n_asked += 1
        try:
            async with places:
                return Response(await run_in_threadpool(_answered, answer, _question(body)), media_type="application/octet-stream", headers={"Cache-Control": "no-store"})
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return PlainTextResponse("The question makes no sense.", 400)
        except Exception:
            LOG.exception("A live answer failed.")
            return PlainTextResponse("The answer failed.", 500)
        finally:
            n_asked -= 1

    return Route(address(name), endpoint, methods=["POST"])


def _answered(answer: str, question: dict) -> bytes:
    answered = pkgutil.resolve_name(answer)
    from core.app.base.devices import compute_alone  # brings torch, as the answer does

    compute_alone()
    return answered(question)


def _is_own_page(request: Request) -> bool:
    """Whether no page of another address asks: none but those that the operator has allowed, as with Streamlit's own routes. What is no browser sends no Origin."""
    origin = request.headers.get("origin")
    return origin is None or origin.partition("//")[2] == request.headers.get("host") or is_allowed_origin(origin) or allow_all_cross_origin_requests()


def _question(body: bytes) -> dict:
    question = json.loads(body)
    if not isinstance(question, dict) or not all(isinstance(question.get(name, ""), str) for name in ("model", "device")):
        raise ValueError("a question is a JSON object, and names are texts")
    return question
