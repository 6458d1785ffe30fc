"""The entry of the app: page config, theme, navigation, the shared prompt bar. Everything else is in pages/ and core/ui/."""
import gc
import sys
from pathlib import Path

import streamlit as st
import torch
from starlette.middleware import Middleware
from streamlit import net_util
from streamlit.runtime.pages_manager import PagesManager

from core.ui import addresses, deployment, navigation, next_token, overview, page_style, prompt_bar, state, text
from core.ui.attention import live as attention_live
from core.ui.guard import guard
from core.ui.heads import live as heads_live
from core.ui.pace import Paced

ROOT = Path(__file__).resolve().parent
deployment.check()
# Else a fresh server takes the folder pages/ for its older kind of app until st.navigation was called, and runs a page by itself.
PagesManager.uses_pages_directory = False
# What `streamlit run app.py` serves: this file as the script, and the routes beside it.
app = st.App(__file__, routes=[*heads_live.ROUTES, attention_live.ROUTE, overview.ROUTE, next_token.ROUTE, addresses.HOME_ROUTE], middleware=[Middleware(Paced)])
# Streamlit would ask a server on the internet for this machine's address, at the start and whenever a page of another address opens a websocket, and answer nobody meanwhile.
net_util.get_external_ip = lambda: None
# Every operation of torch lets another reader's thread have Python, and waits this long at most to have it back. Python's own 5 ms leave a pass of some hundred operations to the
# threads of thirty readers at every one of them: of a class's answers 64 % came within a second, with 30 ms 85 % (tests.benchmarks --only load, one process).
SWITCH_SECONDS = 0.03
TORCH_THREADS = 1   # more threads spin against each other as soon as two readers compute at once: measured by tests.benchmarks


def main() -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
    torch.set_num_threads(TORCH_THREADS)      # before the first page computes: a text of 40 tokens is 40 passes
    words = text.load("app")
    st.set_page_config(page_title=words.label("page_title"), page_icon=str(ROOT / "assets" / "icon.png"), layout="wide")
    with guard():
        state.begin()
    page = st.navigation(navigation.sections(), position="hidden" if state.present() else "top")
    state.enter(page.url_path)
    with guard():
        page_style.inject()
        prompt_bar.draw()
    with guard():
        page.run()
    _settle()


@st.cache_resource(show_spinner=False)
def _settle() -> None:
    """Once in a process, after the first page has imported what it needs: what is loaded by then is never collected, so a collection is short."""
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    main()
