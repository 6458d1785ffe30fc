"""A reader without a browser: a client of Streamlit's websocket protocol, light enough that thirty of them fit beside
the server that they measure.

It keeps what a browser keeps (the elements of the page, the values of its widgets, the cached messages) and does what a
browser does for the server: asks for a run, follows parts that ask to be run again and again. It draws nothing, runs no
JavaScript and fetches no file.
"""
from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
import tomllib
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

from core.base import catalogue
from core.files import ASSETS

MOST_BYTES = 64 * 2**20
GROWS = "working_stop"  # the key of the button that stands on the page while what it shows is not whole yet
STANDING = "standing"   # the key of the component that says when a picture is seen
TRIGGERS = "$$STREAMLIT_INTERNAL_KEY_{}__events"     # the id under which the component of an id says what it triggers
# runs that a browser keeps a message for, once it is on the page no longer: as the server tells it
KEPT_RUNS = tomllib.loads((ASSETS.parent / ".streamlit" / "config.toml").read_text())["global"]["maxCachedMessageAge"]
MOST_SECONDS = 60       # that an answer is waited for
FINISHED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
VALUES = {"text_area": "string_value", "text_input": "string_value", "selectbox": "string_value",
          "radio": "string_value", "number_input": "double_value",
          # kind of element -> the field in which its value is sent; sliders and choices send a list
          "checkbox": "bool_value"}


@dataclass
class Shown:
    """An element on the page: itself, the run that drew it last, and the fragment that it belongs to, "" for none."""

    element: Element
    run: str
    fragment: str

    @property
    def kind(self) -> str:
        return self.element.WhichOneof("type")

    @property
    def widget(self):
        """The message of its own kind."""
        return getattr(self.element, self.kind)


@dataclass(frozen=True)
class Answer:
    """The outcome of an action. answered: milliseconds from sending to the end of the script's run, which may show a
    part and say how far it is; milliseconds: to the end of the last of those that follow by themselves while a picture
    grows. Bytes of both directions. error: what went wrong, "" if nothing did. growing: the page and what it said of a
    picture that was answered but not whole when the wait for it ended, "" of a whole one.
    """

    action: str
    answered: float
    milliseconds: float
    sent: int
    received: int
    error: str = ""
    growing: str = ""


class Reader:
    """One open page. Use as `async with Reader(url) as reader`."""

    def __init__(self, url: str) -> None:
        """url: of the server, such as http://127.0.0.1:8501."""
        self.url, self.page_name, self.page_hash, self.query = url, "", "", ""
        self.pages: dict[str, str] = {}                       # address -> hash of its script
        self.shown: dict[tuple[int, ...], Shown] = {}
        self._boxes: dict[tuple[int, ...], str] = {}          # the key of the container at a path, "" for none
        self.sent = self.received = self.runs = 0
        self.error = ""
        self._values: dict[str, WidgetState] = {}
        self._cached: dict[str, tuple[ForwardMsg, int]] = {}
        self._again: dict[str, asyncio.Task] = {}             # by fragment: what it is asked for again and again
        self._run, self._fragments, self._finished = "", frozenset(), asyncio.Event()
        self._tasks: list[asyncio.Task] = []
        self.closed = False

    async def __aenter__(self) -> Reader:
        self._socket: ClientConnection = await connect(self.url.replace("http", "ws", 1) + "/_stcore/stream",
                                                       subprotocols=["streamlit", "none"], max_size=MOST_BYTES,
                                                       compression=None, ping_interval=None, open_timeout=60)
        self._tasks.append(asyncio.create_task(self._listen()))
        return self

    async def __aexit__(self, *_) -> None:
        for task in (*self._again.values(), *self._tasks):
            task.cancel()
        await self._socket.close()

    async def open(self, page: str = "", query: str = "", seconds: float = MOST_SECONDS) -> Answer:
        """Goes to a page by its address relative to the app, as a link does; `query` without its question mark."""
        self.page_name, self.query, self._values = page, query, {}
        return await self._ask("page", seconds, page_hash=self.pages.get(page, ""))

    async def set(self, action: str, shown: Shown, value, seconds: float = MOST_SECONDS) -> Answer:
        """Gives a widget a value: of a slider or a choice a list, of a component its state as a dict.

        Of a button nothing counts but that it is pressed.
        """
        widget, kind = shown.widget, shown.kind
        state = WidgetState(id=widget.id)
        if kind == "button":
            state.trigger_value = True
        elif kind == "bidi_component":
            state.json_value = json.dumps(value)
        elif isinstance(value, list):
            getattr(state, "string_array_value" if isinstance(value[0], str) else "double_array_value").data.extend(
                value)
        else:
            setattr(state, VALUES[kind], value)
        self._values[state.id] = state
        try:
            return await self._ask(action, seconds, fragment=shown.fragment)
        finally:
            if kind == "button":       # it counts once
                self._values.pop(state.id, None)

    def find(self, wanted: Callable[[Shown], bool]) -> list[Shown]:
        """The wanted parts of the page, from top to bottom."""
        return [self.shown[path] for path in sorted(self.shown) if wanted(self.shown[path])]

    def value(self, shown: Shown) -> WidgetState | None:
        """The value that this reader gave a widget; None if it is as it was drawn."""
        return self._values.get(shown.widget.id)

    def has_picture(self, key: str) -> bool:
        """Whether a component of this key is on the page, or a chart in a container of this key."""
        charts = [path for path, shown in self.shown.items() if shown.kind == "vega_lite_chart"]
        return (any(key_of(shown) == key for shown in self.shown.values())
                or any(self._boxes.get(path[:n]) == key for path in charts for n in range(len(path))))

    async def _ask(self, action: str, seconds: float, fragment: str = "", page_hash: str | None = None) -> Answer:
        self.error, began, answered = "", time.perf_counter(), None
        sent, received = self.sent, self.received
        self._finished.clear()
        self._run = ""                       # an end counts only of a run that begins from here on
        try:
            await self._send(fragment, self.page_hash if page_hash is None else page_hash)
            async with asyncio.timeout(seconds):
                await self._finished.wait()
                answered = 1e3 * (time.perf_counter() - began)
                while not self.error and self._growing():
                    self._finished.clear()
                    await self._finished.wait()
        except TimeoutError:
            if answered is None:
                self.error = f"no answer within {seconds:g} s"
        except Exception as error:           # whatever breaks a connection is one error of one reader
            self.error = f"{type(error).__name__}: {error}"
        whole = 1e3 * (time.perf_counter() - began)
        return Answer(action, whole if answered is None else answered, whole, self.sent - sent,
                      self.received - received, self.error, "" if self.error else self._growing())

    def _growing(self) -> str:
        """The page and what it says of its picture, where that is not whole yet; "" where it is."""
        if not self.find(lambda shown: key_of(shown) in (GROWS, STANDING)):
            return ""
        said = [shown.widget.text for shown in self.find(lambda shown: shown.kind == "progress")]
        return f"{self.page_name or catalogue.HOME}: {', '.join(said) or 'not said yet to be seen'}"

    async def _say_that_it_stands(self, standing: Shown) -> None:
        """As a browser does that has shown the picture: what is said of it then follows."""
        name = TRIGGERS.format(standing.widget.id)
        told = [{"event": "told", "value": [[time.time_ns(), "stands", True]]}]
        self._values[name] = WidgetState(id=name, json_trigger_value=json.dumps(told))
        with contextlib.suppress(Exception):
            await self._send(standing.fragment, self.page_hash)
        self._values.pop(name, None)

    async def _send(self, fragment: str, page_hash: str, by_itself: bool = False) -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash, state.fragment_id, state.is_auto_rerun = (self.query, page_hash,
                                                                                              fragment, by_itself)
        if not page_hash:
            state.page_name = self.page_name
        state.widget_states.widgets.extend(self._values.values())
        state.cached_message_hashes.extend(name for name, (_, run) in self._cached.items()
                                           if self.runs - run < KEPT_RUNS)
        state.context_info.timezone, state.context_info.locale, state.context_info.color_scheme = ("UTC",
                                                                                                   "en-US", "light")
        state.context_info.url = f"{self.url}/{self.page_name}"
        data = message.SerializeToString()
        await self._socket.send(data)
        self.sent += len(data)

    async def _listen(self) -> None:
        try:
            async for data in self._socket:
                self.received += len(data)
                self._take(self._whole(ForwardMsg.FromString(data)))
        except Exception as error:
            # the connection is gone, or what came makes no sense: the reader who waits is told
            self.error = f"{type(error).__name__}: {error}"
        else:
            self.error = "the server closed the connection"
        self.closed = True
        self._finished.set()

    def _whole(self, message: ForwardMsg) -> ForwardMsg:
        """The message itself, or the kept one that it stands for, at the place where this one belongs."""
        if message.WhichOneof("type") != "ref_hash":
            return message
        whole = ForwardMsg()
        whole.CopyFrom(self._cached[message.ref_hash][0])
        whole.metadata.CopyFrom(message.metadata)
        self._cached[message.ref_hash] = whole, self.runs
        return whole

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if message.metadata.cacheable:
            self._cached[message.hash] = (message, self.runs)
        if kind == "new_session":
            self._begin(message)
        elif kind == "delta":
            self._draw(tuple(message.metadata.delta_path), message.delta)
        elif kind == "navigation":
            self.pages = {("" if page.is_default else page.url_pathname): page.page_script_hash
                          for page in message.navigation.app_pages}
            self.page_hash = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self._follow(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "stop_auto_rerun":
            self._leave(lambda fragment: fragment in message.stop_auto_rerun.fragment_ids)
        elif kind == "page_not_found":
            self.error = "page not found"
        elif kind == "script_finished":
            self._end(message.script_finished)

    def _begin(self, message: ForwardMsg) -> None:
        run = message.metadata.run
        self._run, self._fragments = run.script_run_id or "?", frozenset(run.fragment_ids)
        if not self._fragments:
            self._leave(lambda fragment: True)

    def _draw(self, path: tuple[int, ...], delta) -> None:
        kind = delta.WhichOneof("type")
        if kind == "add_block":
            self.shown.pop(path, None)
            self._boxes[path] = key_in(delta.add_block.id)
            return
        if kind != "new_element":
            return
        self.shown[path] = here = Shown(delta.new_element, self._run, delta.fragment_id)
        if here.kind == "exception" or here.kind == "alert" and here.widget.format == Alert.ERROR:
            self.error = self.error or (here.widget.message if here.kind == "exception" else here.widget.body)[:200]
        elif getattr(here.widget, "set_value", False):
            # the app has set it: what this reader had given counts no longer
            self._values.pop(here.widget.id, None)

    def _end(self, status: int) -> None:
        if status == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            self.error = "the script does not compile"
        elif status not in FINISHED or not self._run:
            return
        self.runs += 1
        self.shown = {path: shown for path, shown in self.shown.items()
                      if shown.run == self._run or self._fragments and shown.fragment not in self._fragments}
        on_page = {shown.widget.id for shown in self.shown.values() if hasattr(shown.widget, "id")}
        self._values = {name: state for name, state in self._values.items() if name in on_page}
        # twice as long as the server is told: an answer on its way may still speak of what was told before
        self._cached = {name: (kept, run) for name, (kept, run) in self._cached.items()
                        if self.runs - run < 2 * KEPT_RUNS}
        for standing in self.find(lambda shown: key_of(shown) == STANDING):
            self._tasks.append(asyncio.create_task(self._say_that_it_stands(standing)))
        self._finished.set()

    def _follow(self, fragment: str, seconds: float) -> None:
        self._leave(lambda other: other == fragment)

        async def again() -> None:
            with contextlib.suppress(Exception):
                for _ in itertools.count():
                    await asyncio.sleep(seconds)
                    await self._send(fragment, self.page_hash, by_itself=True)

        self._again[fragment] = asyncio.create_task(again())

    def _leave(self, which: Callable[[str], bool]) -> None:
        for fragment in [fragment for fragment in self._again if which(fragment)]:
            self._again.pop(fragment).cancel()


def key_of(shown: Shown) -> str:
    """The key that the app gave a widget, "" if it has none. An id is `$$ID-<hash>-<key>`."""
    return key_in(getattr(shown.widget, "id", ""))


def key_in(written: str) -> str:
    """The same of an id."""
    parts = written.split("-", 2)
    return "" if len(parts) < 3 or parts[2] == "None" else parts[2]


def query_of(**settings: str) -> str:
    """Settings as the address has them."""
    return urllib.parse.urlencode(settings)
