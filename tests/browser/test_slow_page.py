"""A page that is slower than the server: what two runs say is drawn at once, and its controls still stand where the picture has them."""
from __future__ import annotations

from playwright.sync_api import Browser, Error, WebSocketRoute
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.serving import settle

# The passage's name and its number of tokens: neither is the first of its list, which an empty field would show.
SHOWN = "() => [document.querySelector('.st-key-limits_passage_widget input').value, document.querySelector('.st-key-limits_start_widget input').value]"


def opened(browser: Browser, url: str, word: bytes | None = None) -> tuple[list[str], list[bytes]]:
    """What the controls show, and what the page told the server. With a `word`, the page hears nothing until the server has ended the run for its opening and the one for this."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    told, held, ends, sending, sides, errors = [], [], [], [], [], []
    page.on("pageerror", lambda error: errors.append(error.message))

    def heard(message: bytes) -> None:
        held.append(message)
        if ForwardMsg.FromString(message).WhichOneof("type") == "script_finished":
            ends.append(message)
            if len(ends) == 1:
                sides[1].send(word)
        # A message may come while another is sent on: it waits for its turn.
        if len(ends) >= 2 and not sending:
            sending.append(True)
            while held:
                sides[0].send(held.pop(0))
            sending.clear()

    def connect(page_side: WebSocketRoute) -> None:
        sides[:] = page_side, page_side.connect_to_server()
        sides[1].on_message(heard)
        page_side.on_message(lambda message: (told.append(message), sides[1].send(message)))

    if word is None:            # nothing is held: what stands between a page and its server would only be in their way
        page.on("websocket", lambda socket: socket.on("framesent", lambda message: told.append(message)))
    else:
        page.route_web_socket(lambda address: "_stcore/stream" in address, connect)
    page.goto(url)
    try:
        settle(page)
    except Error as error:
        error.add_note(f"the page's own errors: {errors}, what it has not heard: {len(held)}, ends of runs: {len(ends)}")
        raise
    shown = page.evaluate(SHOWN)
    page.context.close()
    return shown, told


def test_controls_stand_where_the_picture_has_them_on_a_page_that_draws_late(browser, server):
    """A page tells where it stands while it has drawn little else; the run for this comes before it has drawn the rest."""
    url = f"{server.url}/limits?limits_view=memory"
    expected, told = opened(browser, url)
    word = next(message for message in map(BackMsg.FromString, told) if message.rerun_script.fragment_id)
    drawn = [widget for widget in word.rerun_script.widget_states.widgets if "standing" in widget.id]
    word.rerun_script.widget_states.ClearField("widgets")
    word.rerun_script.widget_states.widgets.extend(drawn)
    assert drawn and expected[0].startswith("giant")
    assert opened(browser, url, word.SerializeToString())[0] == expected
