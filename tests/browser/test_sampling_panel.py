"""The sampling panel in a real Chromium: it computes what core/model/sampling.py computes, answers while the hand
moves, and stays where it is.
"""
from __future__ import annotations

import json
import re

import numpy as np
import pytest

from core.app.base import scripts
from core.components import sampling_panel
from core.components.sampling_panel import PanelSettings, seeded_uniforms
from core.model.sampling import SamplingConfig, draw, truncate
from tests.browser.serving import settle

LOGITS = {
    "gaussian": lambda n, rng: rng.normal(0, 3, n),
    "all equal": lambda n, rng: np.zeros(n),
    "many ties": lambda n, rng: np.round(rng.normal(0, 1.5, n)),
    "half impossible": lambda n, rng: np.where(np.arange(n) % 2, -np.inf, rng.normal(0, 2, n)),
    "one possible": lambda n, rng: np.where(np.arange(n) == n // 2, 4.0, -np.inf),
    "one giant": lambda n, rng: np.where(np.arange(n) == n - 1, 800.0, rng.normal(0, 1, n)),
    "far apart": lambda n, rng: rng.normal(0, 300, n),
    "float32": lambda n, rng: rng.normal(0, 4, n).astype(np.float32).astype(np.float64),
    "round probabilities": lambda n, rng: np.log(np.arange(1, n + 1) / 10),
}
XIS = (0.0, 0.25, 0.5, 0.7, 0.999999)
FIND = """() => { const seek = (root) => { for (const node of root.querySelectorAll('*')) {
    if (node.classList.contains('sampling-panel')) return node;
    const found = node.shadowRoot && seek(node.shadowRoot); if (found) return found; } return null; };
    return seek(document); }"""


def configs(rng: np.random.Generator, n: int) -> list[SamplingConfig]:
    """Every rule alone at its edges, then twenty random mixtures."""
    alone = [SamplingConfig(temperature=t) for t in (0.0, 1e-300, 0.01, 1.0, 50.0, 1e30)]
    alone += [SamplingConfig(top_k=k) for k in (1, 2, n, n + 5)] + [SamplingConfig(top_p=p)
                                                                    for p in (0.0, 0.3, 0.5, 0.8, 0.999, 1.0)]
    alone += [SamplingConfig(min_p=p) for p in (0.05, 0.5, 1.0)] + [SamplingConfig(typical_p=p)
                                                                    for p in (0.0, 0.2, 0.5, 0.95)]
    return alone + [SamplingConfig(float(rng.choice([0.3, 1, 2])),
                                   None if rng.random() < 0.4 else int(rng.integers(1, n + 2)), float(rng.random()),
                                   float(rng.choice([0, 0.01, 0.2])), float(rng.choice([1, rng.random()])))
                    for _ in range(20)]


def in_browser(page, name: str, *arguments):
    """A function of truncation.js, called in the page with JSON arguments; infinities travel as null."""
    return page.evaluate(f"""async (a) => {{ const {{ Truncation, seededUniforms }} = await import(location.href);
        return ({name})(...a); }}""", list(arguments))


@pytest.fixture
def script(browser, server):
    """The page that truncation.js is by itself."""
    page = browser.new_page()
    page.goto(server.url + scripts.address(sampling_panel._FOLDER / "truncation.js"))
    yield page
    page.close()


@pytest.mark.parametrize("kind", LOGITS)
def test_browser_and_python_agree_to_a_billionth(script, kind):
    rng = np.random.default_rng(7)
    for n in (1, 2, 10, 1000, 4096):
        logits = LOGITS[kind](n, rng)
        cases = configs(rng, n)[::max(1, n // 300)]
        answers = in_browser(
            script,
            """(logits, configs, xis) => { const t = new Truncation(Float64Array.from(logits, (u) => u ?? -Infinity));
            return configs.map((config) => { t.update(config); return { ids: [...t.tokenIds], rules: [...t.cutBy],
                n_kept: t.nKept, places: xis.map((xi) => t.draw(xi)),
                left: t.left[t.left.length - 1], numbers: [t.probs, t.cumulative, t.renormalised, t.intervalEnds]
                    .map((row) => [...row]),
                scalars: [t.entropyBefore, t.entropyAfter, t.keptMass] }; }); }""",
            [None if u == -np.inf else u for u in logits.tolist()], [vars(config) for config in cases], XIS)
        for config, answer in zip(cases, answers, strict=True):
            expected = truncate(logits, config)
            assert answer["ids"] == expected.token_ids.tolist()
            assert answer["rules"] == expected.cut_by.tolist(), config
            assert answer["n_kept"] == answer["left"] == expected.n_kept
            assert answer["places"] == [draw(expected, xi) for xi in XIS]
            np.testing.assert_allclose(answer["numbers"], [expected.probs, expected.cumulative, expected.renormalised,
                                                           expected.interval_ends], rtol=0, atol=1e-9)
            np.testing.assert_allclose(answer["scalars"], [expected.entropy_before, expected.entropy_after,
                                                           expected.kept_mass], rtol=0, atol=1e-9)


def test_browser_and_python_throw_the_same_dice(script):
    for seed in (0, 1, 12345, 2**32 - 1):
        assert (in_browser(script, "(seed) => [...seededUniforms(seed, 200)]", seed)
                == seeded_uniforms(seed, 200).tolist())


def panel_of(page):
    page.locator(".sampling-panel canvas").first.wait_for()
    page.wait_for_timeout(200)
    return page.evaluate_handle(FIND)


def state_of(panel) -> dict:
    """What the panel shows: its settings, its truncation's logits, and the words on it."""
    return panel.evaluate(
        """(root) => { const { settings, truncations: [t] } = root.panel; return { settings, ids: [...t.tokenIds],
            logits: [...t.logits],
        kept: t.nKept, mass: t.keptMass, headline: root.querySelector('.headline').textContent,
            drawn: root.querySelector('.drawn').textContent }; }""")


def test_the_panel_shows_what_python_computes_of_the_same_logits(open_page):
    page = open_page("next_token?next_token_panel=T0.8_k100_p0.9_m0.001_x0.35_s1")
    shown = state_of(panel_of(page))
    logits = np.empty(len(shown["ids"]))
    logits[shown["ids"]] = shown["logits"]
    expected = truncate(logits, SamplingConfig(temperature=0.8, top_k=100, top_p=0.9, min_p=0.001))
    assert shown["ids"] == expected.token_ids.tolist()
    assert (shown["kept"], shown["mass"]) == (expected.n_kept, pytest.approx(expected.kept_mass, abs=1e-9))
    assert f"{expected.n_kept:,}" in shown["headline"]
    table = page.locator(".sampling-panel .numbers tbody tr")
    assert float(table.nth(1).locator("td").nth(1).text_content()) == pytest.approx(expected.entropy_after, abs=6e-4)
    assert not page.errors


def test_everything_answers_while_the_hand_moves_and_the_page_follows_when_it_lets_go(open_page):
    page = open_page("next_token")
    panel = panel_of(page)
    panel.evaluate("(root) => { root.mine = true; }")
    before, twin, address = state_of(panel), page.locator(".st-key-lesson_code").text_content(), page.url
    canvas = page.locator(".sampling-panel .figure canvas")
    picture, box = canvas.screenshot(), canvas.bounding_box()
    grip = panel.evaluate("(root) => root.panel.picture.grips.top_p")
    x, y = box["x"] + (grip["left"] + grip["right"]) / 2, box["y"] + (grip["top"] + grip["bottom"]) / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 30, steps=5)
    page.wait_for_timeout(100)
    during = state_of(panel)
    assert (during["settings"]["top_p"] < before["settings"]["top_p"] and during["kept"] < before["kept"]
            and during["headline"] != before["headline"])
    assert during["settings"]["xi"] == before["settings"]["xi"], "the dice stay frozen"
    assert canvas.screenshot() != picture
    assert page.url == address, "Python hears nothing before the hand lets go"
    page.mouse.up()
    page.wait_for_function("(old) => location.href !== old", arg=address)
    settle(page)
    assert page.locator(".st-key-lesson_code").text_content() != twin
    assert f"p{during['settings']['top_p']}" in page.url
    assert panel.evaluate("(root) => root.isConnected && root.mine"), "the panel was mounted anew"
    assert state_of(panel)["settings"] == during["settings"]
    assert not page.errors


def test_the_keyboard_reaches_every_setting(open_page):
    page = open_page("next_token?next_token_panel=T1_k40_p0.9_x0.6_s1")
    panel = panel_of(page)
    for label, key, name in (("Temperature", "ArrowRight", "temperature"), ("Top-k", "ArrowLeft", "top_k"),
                             ("Top-p", "ArrowLeft", "top_p"), ("Min-p", "ArrowRight", "min_p"),
                             ("Typical", "ArrowLeft", "typical_p"), ("Draw", "ArrowRight", "xi")):
        before = state_of(panel)["settings"][name]
        page.locator(".sampling-panel").get_by_label(re.compile(label)).first.focus()
        page.keyboard.press(key)
        settle(page)
        assert state_of(panel)["settings"][name] != before, label
    page.locator(".sampling-panel").get_by_label(re.compile("Temperature")).first.focus()
    page.keyboard.press("Home")
    settle(page)
    assert state_of(panel)["settings"]["temperature"] == 0 and state_of(panel)["kept"] == 1


def test_a_copied_link_shows_the_same_panel(open_page):
    page = open_page("next_token")
    panel = panel_of(page)
    page.get_by_role("button", name="Typical", exact=True).click()
    page.get_by_role("button", name="1,000 draws").click()
    page.get_by_role("button", name="Pin as A").click()
    page.wait_for_url("**_draws_A~t0.9")
    first = state_of(panel)
    copied = state_of(panel_of(open_page(page.url.split("/")[-1])))
    assert copied == first
    assert first["settings"]["pinned"]["typical_p"] == 0.9


def test_an_experiment_moves_a_panel_that_is_in_use(open_page):
    page = open_page("next_token")
    panel = panel_of(page)
    page.get_by_role("button", name="Random", exact=True).click()
    page.wait_for_url("**next_token_panel=x0.6_s1")
    page.locator(".st-key-do_next_token_greedy button").click()
    page.wait_for_url("**next_token_panel=k1_x0.6_s1")
    settle(page)
    assert state_of(panel)["settings"]["top_k"] == 1
    # the very settings of before: Python must hear them again
    page.get_by_role("button", name="Random", exact=True).click()
    page.wait_for_url("**next_token_panel=x0.6_s1")
    assert PanelSettings.from_browser(state_of(panel)["settings"]).config == SamplingConfig()


def test_a_candidate_that_is_clicked_continues_the_prompt(open_page):
    page = open_page("next_token?prompt=Once%20upon%20a")
    panel = panel_of(page)
    first = panel.evaluate("(root) => root.panel.tokens[root.panel.truncations[0].tokenIds[0]]")
    page.locator(".sampling-panel .candidate").first.click()
    page.wait_for_function("() => document.querySelector('.st-key-prompt textarea').value !== 'Once upon a'")
    assert page.locator(".st-key-prompt textarea").input_value() == "Once upon a" + first.replace("·", " ")


def test_a_token_found_by_name_is_marked_and_explained(open_page):
    page = open_page("next_token")
    panel = panel_of(page)
    token = panel.evaluate("(root) => root.panel.tokens[root.panel.truncations[0].tokenIds[60]]")
    page.locator(".sampling-panel .find").fill(token.replace("·", " "))
    page.wait_for_timeout(100)
    assert token in page.locator(".sampling-panel .found").text_content()
    page.keyboard.press("Tab")
    page.wait_for_function("() => location.search.includes('target=')")
    settle(page)
    assert token in page.locator(".st-key-lesson_numbers").text_content()


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_cut_off_on_a_phone(open_page, dark):
    page = open_page("next_token", width=390, height=844, dark=dark)
    panel_of(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    over = page.evaluate(f"() => {{ const root = ({FIND})(); return [...root.querySelectorAll('*')].filter((e) => "
                         "e.checkVisibility() && !e.closest('.twin, .candidates')"
                         " && e.getBoundingClientRect().right > 391).map((e) => e.className); }")
    assert over == []
    assert not page.errors, json.dumps(page.errors)


def test_the_picture_is_saved(open_page):
    page = open_page("next_token")
    panel_of(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG", exact=True).click()
    with open(download.value.path(), "rb") as file:
        head = file.read(24)
    width = page.locator(".sampling-panel .figure canvas").evaluate("(canvas) => canvas.width")
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(head[16:20], "big") >= width
