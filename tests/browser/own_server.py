"""A server of a module's own, under the name of the shared one: what trains a model takes the processor from others."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.serving import Server, serve


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as running:
        yield running
