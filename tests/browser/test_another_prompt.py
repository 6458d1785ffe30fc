"""Names of a prompt's tokens follow the next prompt, in a real Chromium: a browser keeps the name of what was picked in
a list, and sends it with whatever the reader does next.
"""
from __future__ import annotations

from playwright.sync_api import Page, expect

from core.base import prose
from tests.browser.serving import go_to, settle

CAT, GIRL = "The cat sat on the mat", "A girl ran to the park"      # of seven tokens each


def write(page: Page, prompt: str) -> None:
    field = page.locator(".st-key-prompt textarea")
    field.fill(prompt)
    field.press("Control+Enter")
    settle(page)


# address, key of the list, and the name that the same choice has in either prompt
LISTS = [
    ("heads?position=3&heads_key=2", "heads_key_widget", "2 ·cat", "2 ·girl"),
    ("residual_stream?residual_stream_view=block&position=3", "residual_stream_pick_position", "3 ·sat", "3 ·ran"),
    ("residual_stream?residual_stream_view=block&residual_stream_beside=2", "residual_stream_beside", "2 ·cat",
     "2 ·girl"),
    ("attention?attention_view=averages&attention_average_part=bend&attention_bend_other=2", "attention_bend_other",
     "·cat (2)", "·girl (2)"),
    ("limits?limits_view=words&limits_pair=own&limits_place=1", "limits_place", "cat (2)", "girl (2)")]


def test_what_names_the_tokens_of_a_prompt_names_those_of_the_one_that_is_read(open_page, server):
    page = open_page(f"heads?prompt={CAT}")
    a_list_names_the_tokens_of_the_prompt(page, "heads_query_widget", "6 ·mat", "6 ·park")
    a_question_about_another_prompt_is_answered_anew_and_the_old_answer_stands(page)
    for address, *listed in LISTS:
        go_to(page, f"{server.url}/{address}&prompt={CAT}")
        settle(page)
        a_list_names_the_tokens_of_the_prompt(page, *listed)


def a_list_names_the_tokens_of_the_prompt(page: Page, key: str, cat: str, girl: str) -> None:
    listed = page.locator(f"[class*='st-key-{key}']").get_by_role("combobox")
    expect(listed, key).to_have_value(cat)
    for prompt, name in ((GIRL, girl), (CAT, cat)):
        write(page, prompt)
        expect(listed, key).to_have_value(name)
        # and still does after what the reader does next
        page.get_by_role("button", name=prose.load("app").label("share"), exact=True).click()
        settle(page)
        page.keyboard.press("Escape")
        expect(listed, key).to_have_value(name)
        expect(page.get_by_test_id("stAlertContentError"), key).to_have_count(0)


def a_question_about_another_prompt_is_answered_anew_and_the_old_answer_stands(page: Page) -> None:
    answers = page.get_by_test_id("stRadio").locator("input")
    commit = page.locator("[class*=st-key-heads_][class*=_commit] button")
    page.get_by_test_id("stRadio").locator("label").nth(2).click()
    expect(commit).to_be_enabled()
    write(page, GIRL)
    expect(page.get_by_test_id("stRadio").locator("input:checked")).to_have_count(0)
    expect(commit).to_be_disabled()
    page.get_by_test_id("stRadio").locator("label").nth(3).click()
    commit.click()
    expect(commit).to_have_count(0)
    write(page, CAT)
    expect(commit).to_be_disabled()
    write(page, GIRL)
    expect(answers.nth(2)).to_be_checked()
    expect(commit).to_have_count(0)
