"""The shell around every page: page settings, navigation, the shared prompt bar."""
import gc
import importlib
import sys
import threading
import time
from pathlib import Path

import streamlit as st

from core.app.bar import prompt_bar
from core.app.compute import cache, queue
from core.app.lesson.lesson import A_PICTURE_STANDS
from core.app.parts.guard import guard
from core.app.shell import navigation, page_style
from core.app.state import address, fragments, model_choice, reader
from core.base import devices, prose
from core.components.page.framed import show_element

ICON = Path(__file__).resolve().parents[3] / "assets" / "icon.png"
# Every operation of torch releases Python's lock; a thread that wants the lock waits this long before it interrupts the
# thread that has it. With Python's own 5 ms, 64 % of a class's answers came within a second, with 30 ms 85 %
# (tests.benchmarks --only load, one process): a pass of some hundred operations waits for thirty readers' threads.
SWITCH_SECONDS = 0.03
# the overview's picture needs none of them; importing them takes half a second, in which everything else waits
LATER = ("pandas", "altair", "plotly.graph_objects")
LATEST_SECONDS = 30
TIDY_SECONDS = 60


def draw() -> None:
    """One run of the app for one reader: the frame, and in it the page that the address names."""
    sys.setswitchinterval(SWITCH_SECONDS)
    words = prose.load("app")
    st.set_page_config(page_title=words.label("page_title"), page_icon=str(ICON), layout="wide")
    fragments.begin_all()
    with guard():
        reader.begin()
    page = st.navigation(navigation.pages(), position="hidden")
    model_choice.enter(page.url_path)
    with guard():
        address.open_page()
        unseen = page_style.inject()
        navigation.draw(is_hidden=reader.present() or reader.looks_on())
        if not reader.looks_on():
            prompt_bar.draw()
    with guard():
        page.run()
    address.close_page()
    if followed := address.followed_element():
        with unseen:            # last, since an element drawn earlier would be taken for it
            show_element(*followed)


def prepare() -> None:
    """Load what the first readers would otherwise wait for: their model and, once the first of them sees a picture, the
    packages that draw other pages.
    """
    cache.shared_model(cache.model_names()[0], devices.available()[0])
    A_PICTURE_STANDS.wait(LATEST_SECONDS)
    for package in LATER:
        importlib.import_module(package)
    gc.collect()
    gc.freeze()     # everything loaded by now is exempt from collection, so a collection is short
    threading.Thread(target=tidy, name="tidy", daemon=True).start()


def tidy() -> None:
    """Give freed memory back to the machine once a minute, while no page runs. Does not end."""
    while True:
        time.sleep(TIDY_SECONDS)
        if not queue.PAGES.n:
            devices.give_memory_back()
