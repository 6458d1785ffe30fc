"""Paths below the server's base path, among them the home page's own name, and the short form of a link to a step of
the tour.

Streamlit serves the home page only at the root; without HOME_ROUTE its own name, unlike those of the other pages, would
be no page of the app.
"""
import contextlib
import ipaddress
import re
import socket
from urllib.parse import parse_qs, urlsplit

import psutil
import streamlit as st
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.types import Scope

from core.base import catalogue, deployment

BEEN_HERE, A_YEAR = "been_here", 365 * 24 * 3600        # a cookie that says nothing else, and its duration in seconds
# names of interfaces of containers, virtual machines and tunnels
VIRTUAL = re.compile(r"docker|br-|veth|virbr|vboxnet|vmnet|vEthernet|VirtualBox|VMware|podman|cni|u?tun|tap|wg", re.I)
EVERYWHERE = ("0.0.0.0", "::")          # with these a server listens at all addresses of its machine


def below(*parts: str) -> str:
    """The path of these parts below the server's base path, if it has one."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return "/".join(["", *filter(None, [base]), *parts])


def live(name: str) -> str:
    """The path of the live route with this name."""
    return below("live", name)


def of_server() -> list[str]:
    """The addresses at which browsers reach the server: on this machine, and from its network unless one address is
    set.
    """
    bound = st.get_option("server.address")
    hosts = [bound] if bound and bound not in EVERYWHERE else ["localhost", way_out()]
    scheme, port = "https" if st.get_option("server.sslCertFile") else "http", st.get_option("browser.serverPort")
    written = (f"[{host}]" if ":" in host else host for host in hosts if host)
    return [f"{scheme}://{host}:{port}{below()}".rstrip("/") for host in written]


def reachable(page: str) -> list[str]:
    """The origins (http://192.168.1.20:8501) at which other machines reach the server of a page that is open here.

    If the operator has set one (TRANSFORMER_ADDRESS), only this. Otherwise the page's own ("" if it has none); but if
    that names this machine alone, those of the machine in its networks, for which the machine is asked, and nothing on
    the internet.
    """
    if own := deployment.current().address:
        return [own]
    parts = urlsplit(page)
    if not parts.netloc:
        return [""]
    origin = f"{parts.scheme}://{parts.netloc}"
    bound = st.get_option("server.address")
    if not is_this_machine(parts.hostname or "") or bound and is_this_machine(bound):
        return [origin]
    port = f":{parts.port}" if parts.port else ""
    return [f"{parts.scheme}://{host}{port}" for host in of_networks()] or [origin]


def at(origin: str, page: str) -> str:
    """The address of a page at another origin of its server.

    >>> at("http://192.168.1.20:8501", "http://localhost:8501/heads?prompt=a")
    'http://192.168.1.20:8501/heads?prompt=a'
    """
    parts = urlsplit(page)
    return origin + page.removeprefix(f"{parts.scheme}://{parts.netloc}")


def of_networks() -> list[str]:
    """The IPv4 addresses of this machine in its networks: first that of its way out, a network that phones share; last
    those of networks inside this machine; private addresses before others.
    """
    found = {ipaddress.ip_address(one.address): VIRTUAL.match(name) is not None
             for name, interface in psutil.net_if_addrs().items() for one in interface if one.family == socket.AF_INET}
    usable = [one for one in found if not (one.is_loopback or one.is_link_local or one.is_unspecified)]
    first = way_out()
    ordered = sorted(usable, key=lambda one: (str(one) != first, found[one], not one.is_private, one))
    return [*map(str, ordered)]


def way_out() -> str | None:
    """The IPv4 address from which this machine would send to the internet; None without a network. Nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.connect(("8.8.8.8", 1))
        return asked.getsockname()[0]
    return None


def is_this_machine(host: str) -> bool:
    """Whether a host's name or address means the machine itself."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _to_the_root(request: Request) -> RedirectResponse:
    # relative, so that it holds behind any proxy
    return RedirectResponse("./" + (f"?{request.url.query}" if request.url.query else ""))


HOME_ROUTE = Route(below(catalogue.HOME), _to_the_root)


def to_the_tour(scope: Scope, first_visits: bool = True) -> RedirectResponse | None:
    """The answer to a request for the home address that names a step of the tour (/?tour=3), or is a browser's first
    visit without a query (`first_visits`: whether that leads to the tour); None for any other request.

    If the page itself redirected, the browser's history would have the home page before the tour.
    """
    if scope.get("path") != f"{below()}/" or scope.get("method") not in ("GET", "HEAD"):
        return None
    query = scope.get("query_string", b"").decode("latin-1")
    if catalogue.TOUR in parse_qs(query):
        return RedirectResponse(f"./{catalogue.TOUR}?{query}")
    if query or not first_visits or BEEN_HERE in HTTPConnection(scope).cookies:
        return None
    answer = RedirectResponse(f"./{catalogue.TOUR}")
    answer.set_cookie(BEEN_HERE, "1", max_age=A_YEAR, path=f"{below()}/", httponly=True)
    return answer
