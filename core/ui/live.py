"""Answers to a hand that still moves: a component asks over HTTP while a slider is dragged, and Python computes without a rerun.

A rerun makes the browser go over everything on the page before it draws; an answer from here reaches one component. The question says all
that the answer depends on: nothing of any session is read or written.
"""
from __future__ import annotations

import json
import logging
from collections.abc import Callable

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

LOG = logging.getLogger(__name__)
FOLDER = "live"
MOST_BYTES = 64 * 1024      # of a question


def address(name: str) -> str:
    """The path under which the browser asks: below the server's base path, where it has one."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return "/".join(["", *filter(None, [base]), FOLDER, name])


def route(name: str, answer: Callable[[dict], bytes]) -> Route:
    """The route of one kind of question: a JSON object posted to it is given to `answer` on a thread of its own.

    What `answer` cannot make sense of (ValueError, KeyError, TypeError) is refused with status 400, what is too long with 413.
    """

    async def endpoint(request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return PlainTextResponse("The question is too long.", 413)
        try:
            question = json.loads(body)
            if not isinstance(question, dict):
                raise ValueError("a question is a JSON object")
            return Response(await run_in_threadpool(answer, question), media_type="application/octet-stream", headers={"Cache-Control": "no-store"})
        except (ValueError, KeyError, TypeError, OverflowError):
            return PlainTextResponse("The question makes no sense.", 400)
        except Exception:
            LOG.exception("A live answer failed.")
            return PlainTextResponse("The answer failed.", 500)

    return Route(address(name), endpoint, methods=["POST"])
