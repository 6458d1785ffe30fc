"""Into the picture and out again: by presses, by keys and by links, with the Trace's numbers at every depth."""
from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from core.base import catalogue, tables
from pages.overview.shared import traced
from tests.browser.accessibility import violations
from tests.browser.pictures import comes
from tests.browser.serving import go_to, rest, settle
from tests.browser.test_overview_page import CATS, at, opened, run_of
from tests.helpers.messages import value_of

LAYER, HEAD = 3, 5
HER = "One day Lily lost her ball. She looked for her"


def place(page: Page) -> str:
    """The place at which the reader is, as the address says it."""
    return parse_qs(urlsplit(page.url).query).get("overview_at", [""])[0]


def arrives(page: Page, where: str) -> None:
    """The reader stands there, and the address says so."""
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query).get("overview_at", [""])[0] == where)
    settle(page)
    crumbs = page.locator(".map .crumb")
    if where:
        expect(crumbs.last).to_have_attribute("aria-current", "location")
        expect(page.locator(".map canvas.depth")).to_be_visible()
    else:
        expect(crumbs).to_have_count(0)
        expect(page.locator(".map .stage")).to_be_visible()


def press_inside(page: Page, name: str) -> None:
    """Press in the middle of what the keys would enter by this name."""
    x, y = page.locator(".map .child").and_(page.get_by_label(re.compile(name))).first.evaluate(
        "(child) => [child.offsetLeft + child.offsetWidth / 2, child.offsetTop + child.offsetHeight / 2]")
    page.locator(".map canvas.depth").click(position={"x": x, "y": y})


def title(page: Page) -> str:
    return page.locator(".map .caption").inner_text()


def says(page: Page, before: str, value: float) -> bool:
    """Whether the title has this number, of three digits, after these words."""
    return value_of(re.search(rf"{before} ([^\s;:]+)", title(page))[1]) == pytest.approx(value, rel=5e-3)


def test_presses_lead_from_the_whole_to_one_number_and_crumbs_lead_back(open_page):
    page, run = opened(open_page, at(CATS)), run_of(CATS)
    n, block = len(run.tokens), run.trace.blocks[LAYER]
    page.locator(".map .stage").click(position=tile(page))
    arrives(page, f"head.{LAYER}.{HEAD}")
    query = n - 2
    press_inside(page, f", position {query}, looks most")
    arrives(page, f"look.{LAYER}.{HEAD}.{query}")
    key = int(block.pattern[HEAD, query].argmax())
    assert title(page).endswith(run.tokens[key])
    press_inside(page, f", position {key}: score")
    arrives(page, f"product.{LAYER}.{HEAD}.{query}.{key}")
    assert says(page, "the score is", float(block.scores[HEAD, query, key]))
    onward = page.locator(".st-key-next_view a").first
    expect(onward).to_contain_text(tables.entry_name(catalogue.entry("attention"), "scaling"))
    press_inside(page, "^Number 7 of the query")
    arrives(page, f"number.{LAYER}.{HEAD}.{query}.{key}.7")
    assert says(page, " is", float(block.Q[HEAD, query, 7]))
    for crumb, where in ((-4, f"head.{LAYER}.{HEAD}"), (1, f"block.{LAYER}"), (0, "")):
        page.locator(".map .crumb").nth(crumb).click()
        arrives(page, where)
    expect(onward).to_contain_text(tables.entry_name(catalogue.entry("tokens"), "merges"))
    assert page.errors == []


def tile(page: Page) -> dict[str, float]:
    """The middle of a head's tile on the map."""
    return page.locator(".map").evaluate("""({ map }, [layer, head]) => {
        const { tiles: { x, y, size, columns } } = map.geometry.blocks[layer];
        return { x: x + (head % columns + 0.5) * (size + 3), y: y + (Math.floor(head / columns) + 0.5) * (size + 3) };
    }""", [LAYER, HEAD])


def test_the_keys_go_in_and_out_and_to_the_neighbours_and_the_browser_goes_back(open_page):
    page = open_page(at(CATS, overview_at=f"block.{LAYER}"))
    arrives(page, f"block.{LAYER}")
    page.locator(".map .child[tabindex='0']").press("Enter")
    arrives(page, f"heads.{LAYER}")
    expect(page.locator(".map .child:focus")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    arrives(page, f"head.{LAYER}.2")
    page.keyboard.press("ArrowLeft")
    arrives(page, f"head.{LAYER}.1")
    page.keyboard.press("Enter")
    last = len(run_of(CATS).tokens) - 1
    arrives(page, f"look.{LAYER}.1.{last}")
    page.keyboard.press("ArrowLeft")
    arrives(page, f"look.{LAYER}.1.{last - 1}")
    page.go_back()
    arrives(page, f"look.{LAYER}.1.{last}")
    page.locator(".map .child[tabindex='0']").focus()
    for where in (f"head.{LAYER}.1", f"heads.{LAYER}", f"block.{LAYER}", ""):
        page.keyboard.press("Escape")
        arrives(page, where)
    expect(page.locator(".map canvas.over")).to_be_focused()
    assert page.errors == []


def test_an_answer_of_python_that_comes_on_the_way_neither_ends_it_nor_takes_the_focus(open_page):
    page = open_page(at(CATS, overview_at=f"heads.{LAYER}"))
    arrives(page, f"heads.{LAYER}")
    page.locator(".map .child[tabindex='0']").focus()
    for where in (f"block.{LAYER}", ""):
        page.locator(".map").evaluate("""({ map }, where) => new Promise((done) => {
            const answered = () => (map.at === where ? done(map.dive.receive()) : requestAnimationFrame(answered));
            map.dive.root.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
            answered();
        })""", where)
        arrives(page, where)
    expect(page.locator(".map canvas.over")).to_be_focused()
    expect(page.locator(".map.travels, .map .asking")).to_have_count(0)
    assert page.errors == []


DEPTHS = {
    "block.1": "Block 1:", "heads.0": "The 8 heads of block 0", "head.5.7": "Head 5.7:", "look.0.0.3": "scores all",
    "product.2.3.9.4": "How well does", "number.2.3.9.4.40": "Number 8 of the key", "neurons.4.6": "neurons of block 4",
    "neuron.4.6.100": "Neuron 100 of block 4", "embedding.2": "is token", "stream.5": "grows from length",
    "end.12": "gets a score", "logit.12.7": "The score of",
}


def test_a_link_leads_to_every_depth_and_all_of_it_stands_on_the_first_screen(open_page, server):
    page = opened(open_page, at(CATS), width=1280, height=720)
    for where, said in DEPTHS.items():
        go_to(page, f"{server.url}/{at(CATS, overview_at=where)}")
        expect(page.locator(".map .caption")).to_contain_text(said)
        arrives(page, where)
        rest(page)
        for width, height in ((1440, 900), (1280, 720), (390, 800)):
            page.set_viewport_size({"width": width, "height": height})
            rest(page)
            box = page.locator(".map canvas.depth").bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width, where
            assert width == 390 or box["y"] + box["height"] <= height, where
    assert violations(page) == []
    go_to(page, f"{server.url}/{at(CATS, overview_at='head.6.0')}")
    arrives(page, "")
    assert page.errors == []


# Where the tile of a head is painted in the frames of the way from the map into it: its boxes.
# The boxes of a head's tile on the way into it, frame by frame, of a clock that moves on by 17 ms for each.
WAY = """(root, [layer, head]) => {
    const { dive } = root.map, boxes = [], paint = dive.paint.bind(dive), frame = window.requestAnimationFrame;
    const now = performance.now;
    let clock = performance.now();
    performance.now = () => clock;
    window.requestAnimationFrame = (call) => setTimeout(() => call(clock += 17), 0);
    dive.paint = (painted, ...more) => {
        const tile = painted.find(({ part }) => part.id === `tile ${layer}.${head}`);
        if (tile) boxes.push(tile.box);
        paint(painted, ...more);
    };
    return dive.goTo({ depth: "head", at: [layer, head] }).then(() => {
        Object.assign(window, { requestAnimationFrame: frame });
        performance.now = now;
        dive.paint = paint;
        return boxes;
    });
}"""


def test_a_tile_grows_from_its_place_into_the_matrix_without_a_jump(open_page):
    page = opened(open_page, at(CATS))
    corner = tile(page)
    boxes = page.locator(".map").evaluate(WAY, [LAYER, HEAD])
    (x, y, *size), last = boxes[0], boxes[-1]
    assert abs(x + size[0] / 2 - corner["x"]) < 12 and abs(y + size[1] / 2 - corner["y"]) < 12
    assert all(a[2] <= b[2] + 1e-6 for a, b in zip(boxes, boxes[1:])) and last[2] > 5 * size[0]
    assert len(boxes) > 10
    arrives(page, f"head.{LAYER}.{HEAD}")


def test_who_prefers_less_motion_is_there_at_once(open_page):
    page = opened(open_page, at(CATS), still=True)
    assert len(page.locator(".map").evaluate(WAY, [LAYER, HEAD])) == 1
    arrives(page, f"head.{LAYER}.{HEAD}")


def test_a_place_that_the_server_does_not_answer_for_is_told_and_nothing_else_changes(open_page):
    page = opened(open_page, at(CATS))
    page.route("**/live/overview_inside*", lambda route: route.fulfill(status=503, body="full"))
    said = title(page)
    page.locator(".map .stage").click(position=tile(page))
    expect(page.locator(".map .tip")).to_contain_text("does not answer")
    assert comes(page, lambda: title(page) == said) and place(page) == ""
    page.unroute_all()
    page.locator(".map .stage").click(position=tile(page))
    arrives(page, f"head.{LAYER}.{HEAD}")


def test_a_head_is_switched_off_the_change_is_marked_up_to_the_next_word_and_put_back(open_page):
    page = open_page(at(HER, overview_at="head.4.3"))
    arrives(page, "head.4.3")
    restore = page.locator(".map .restore")
    expect(restore).to_be_hidden()
    page.locator(".map .switch").click()
    page.wait_for_url("**overview_edit=head.4.3*")
    settle(page)
    expect(restore).to_have_text("Head 4.3 is off: put it back")
    expect(page.locator(".map .switch")).to_have_count(0)
    page.locator(".map .crumb").first.click()
    arrives(page, "")
    run = run_of(HER)
    p = traced(run, "head.4.3").probs[-1].max()
    expect(page.locator(".map .caption")).to_contain_text("before: ·ball")
    assert says(page, "·ball ?, with", 100 * float(p))
    assert page.locator(".map").evaluate("(root) => root.map.differs.findIndex((most) => most > 0.01)") >= 5 * 8
    restore.click()
    page.wait_for_url(lambda url: "overview_edit" not in url)
    settle(page)
    expect(restore).to_be_hidden()
    assert says(page, "with probability", 100 * float(run.trace.probs[-1].max()))
    assert page.errors == []


def score_of(page: Page, key: int) -> dict[str, float]:
    """The place in the window of the end of a key's bar of scores, and the score and the weight that the picture shows.
    """
    return page.locator(".map").evaluate("""({ map: { dive } }, key) => {
        const { left, top } = dive.canvas.getBoundingClientRect(), [x, y, w, h] = dive.scene.where(`grip ${key}`);
        const grip = dive.scene.parts.find(({ id }) => id === `grip ${key}`);
        const row = dive.scene.parts.find(({ id }) => id === `key ${key}`);
        return { x: left + x + w / 2, y: top + y + h / 2, score: grip.read()[1], weight: row.read()[1] };
    }""", key)


def test_a_score_is_dragged_the_picture_follows_at_once_and_the_pass_when_it_is_let_go(open_page):
    page, run = open_page(at(HER, overview_at="look.4.3.11")), run_of(HER)
    arrives(page, "look.4.3.11")
    ball = run.tokens.index("·ball")
    plain = run.trace.blocks[4]
    before = score_of(page, ball)
    assert value_of(before["score"]) == pytest.approx(float(plain.scores[3, 11, ball]), rel=1e-4)
    page.mouse.move(before["x"], before["y"])
    page.mouse.down()
    page.mouse.move(before["x"] - 60, before["y"], steps=4)
    held = score_of(page, ball)
    scores = plain.scores[3, 11].double().clone()
    scores[ball] = value_of(held["score"])
    assert value_of(held["score"]) < value_of(before["score"]) - 1
    assert value_of(held["weight"]) == pytest.approx(float(scores.softmax(-1)[ball]), rel=1e-3)
    assert held["x"] == pytest.approx(before["x"] - 60, abs=1.5) and place(page) == "look.4.3.11"
    page.mouse.move(before["x"] - 60, before["y"] + 40)
    page.mouse.up()
    page.wait_for_url("**overview_edit=product.4.3.11.*")
    settle(page)
    assert place(page) == "look.4.3.11", "the end of a drag is no press"
    edit = parse_qs(urlsplit(page.url).query)["overview_edit"][0]
    assert float(edit.split("=")[1]) == value_of(held["score"])
    expect(page.locator(".map .restore")).to_contain_text("·her scores ·ball with")
    assert value_of(score_of(page, ball)["weight"]) == pytest.approx(value_of(held["weight"]), rel=1e-3)
    page.locator(".map .crumb").first.click()
    arrives(page, "")
    top = traced(run, edit).probs[-1].max()
    assert says(page, "this model now expects ·\\w+, with", 100 * float(top))
    page.locator(".map .restore").click()
    page.wait_for_url(lambda url: "overview_edit" not in url)
    assert page.errors == []


def test_a_changed_score_is_told_and_each_step_to_its_weight_stands_in_the_picture_of_a_phone(open_page):
    changed = at(HER, overview_at="product.4.3.11.6", overview_edit="product.4.3.11.6%3D1.5")
    page = open_page(changed, width=390, height=800)
    arrives(page, "product.4.3.11.6")
    assert "the score was changed to 1.5" in title(page)
    foot = page.locator(".map").evaluate("""({ map: { dive } }) => {
        const ends = dive.scene.parts.filter(({ id }) => id.startsWith("sums")).map(({ box: [, y, , h] }) => y + h);
        return [ends.length, dive.height - Math.max(...ends)];
    }""")
    assert foot[0] == 4 and foot[1] >= 0
    assert page.errors == []


def test_plus_and_minus_change_the_chosen_score_and_the_focus_stays_on_it(open_page):
    page, run = open_page(at(HER, overview_at="look.4.3.11")), run_of(HER)
    arrives(page, "look.4.3.11")
    chosen = page.locator(".map .child[tabindex='0']")
    expect(chosen).to_have_accessible_name(re.compile("^·ball, position 6: score"))
    was = float(run.trace.blocks[4].scores[3, 11, 6])
    chosen.focus()
    for steps in (1, 2):
        page.keyboard.press("-")
        page.wait_for_url(f"**overview_edit=product.4.3.11.6%3D{round(was - 0.5 * steps, 2):g}*")
        settle(page)
        expect(page.locator(".map .child:focus")).to_have_accessible_name(re.compile("^·ball, position 6: score"))
    assert page.errors == []


def test_another_token_is_put_in_place_and_what_follows_is_marked(open_page):
    page, run = open_page(at(HER, overview_at="embedding.4")), run_of(HER)
    arrives(page, "embedding.4")
    offered = page.locator(".map .child").first
    word = re.match(r"Put \u2068(.+)\u2069 here", offered.get_attribute("aria-label"))[1]
    press_inside(page, "^Put ")
    page.wait_for_url("**overview_edit=embedding.4*")
    settle(page)
    expect(page.locator(".map .restore")).to_have_text(f"{word} stands in place of {run.tokens[4]}: put it back")
    assert title(page).startswith(f"{word}is token") or title(page).startswith(f"{word} is token")
    page.locator(".map .crumb").first.click()
    arrives(page, "")
    expect(page.locator(".map .chips .changed")).to_have_text(word)
    edit = parse_qs(urlsplit(page.url).query)["overview_edit"][0]
    assert says(page, "this model now expects ·\\w+, with", 100 * float(traced(run, edit).probs[4].max()))
    assert page.errors == []


PINCH = """({ map }, [x, y, from, to]) => {
    const stage = map.dive.isOpen ? map.dive.canvas : map.area, box = stage.getBoundingClientRect();
    const fingers = (apart) => [-1, 1].map((side, identifier) => new Touch({ identifier, target: stage,
        clientX: box.left + x + side * apart / 2, clientY: box.top + y }));
    for (const [type, apart] of [["touchstart", from], ["touchmove", (from + to) / 2], ["touchmove", to]])
        stage.dispatchEvent(new TouchEvent(type, { touches: fingers(apart), bubbles: true, cancelable: true }));
}"""


def test_two_fingers_lead_in_where_they_part_and_out_where_they_close(open_page):
    page = opened(open_page, at(CATS))
    there, x, y = page.locator(".map"), *tile(page).values()
    there.evaluate(PINCH, [x, y, 40, 48])
    there.evaluate(PINCH, [x, y, 40, 90])
    arrives(page, f"head.{LAYER}.{HEAD}")
    there.evaluate(PINCH, [300, 300, 120, 60])
    arrives(page, f"heads.{LAYER}")
    assert page.errors == []


def test_a_lit_stage_of_a_lesson_leads_inside_the_whole_picture(open_page):
    page = open_page("residual_stream" + at(HER, position=6, layer=2))
    lit = page.locator("[class*=st-key-strip_] a.lit")
    expect(lit).to_have_count(2)
    expect(lit.last).to_have_attribute("title", re.compile("See it inside the whole model"))
    lit.last.click()
    arrives(page, "neurons.2.6")
    page.go_back()
    page.wait_for_url("**/residual_stream*")
    assert page.errors == []


def test_a_part_of_the_map_leads_inside_the_whole_picture(open_page):
    page = open_page("map" + at(HER, layer=2))
    page.locator(".model_map .part.attention").click()
    page.locator(".model_map .inside a").click()
    arrives(page, "heads.2")
    assert page.errors == []


def test_on_a_wall_a_remote_follows_one_word_through_ten_steps_and_no_step_covers_its_picture(open_page):
    page = open_page("?present=true", width=1280, height=720)
    bar = page.locator(".st-key-try_step")
    for step in range(1, 11):
        page.keyboard.press("ArrowRight")
        expect(bar).to_contain_text(f"{step} / ")
        settle(page)
        rest(page)
        stands = page.locator(".map .stage" if step == 1 else ".map canvas.depth")
        expect(stands).to_be_visible()
        box, foot = stands.bounding_box(), bar.bounding_box()
        assert box["y"] + box["height"] <= foot["y"] + 1, step
        assert foot["height"] <= 84 and bar.locator("p").evaluate(
            "(p) => p.scrollHeight <= p.closest('[data-testid=stMarkdown]').clientHeight + 1"), step
    assert page.errors == []
