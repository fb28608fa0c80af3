"""Whoever goes on while something is still being loaded sees what they went to, whenever the rest comes."""

from __future__ import annotations

from typing import Any

from ui.conftest import Browse, ask


def late(page: Any, pattern: str) -> list[Any]:
    """Requests that are held back from now on, in the order in which they came."""
    held: list[Any] = []
    page.route(pattern, lambda route: held.append(route))  # noqa: PLW0108 - playwright marks what it calls
    return held


def let_in(page: Any, held: list[Any], at: int) -> None:
    """Answer a request that was held back, once it came, and wait until the page has read the reply."""
    while len(held) <= at:
        page.wait_for_timeout(10)
    with page.expect_response(lambda reply: reply.request == held[at].request) as reply:
        held[at].continue_()
    reply.value.finished()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def test_a_run_that_comes_late_does_not_replace_what_was_gone_to(browse: Browse, address: str) -> None:
    seen = browse(address)
    ask(seen)
    page = seen.page
    run = page.url.rpartition("/")[2]
    page.get_by_role("link", name="Ask", exact=True).click()
    held = late(page, f"**/api/runs/{run}")
    page.locator("#side li a").first.click()
    page.wait_for_url(f"**/{run}")
    page.get_by_role("link", name="Knowledge").click()
    page.get_by_role("heading", name="Knowledge").wait_for()
    let_in(page, held, 0)
    assert page.locator("h1").all_inner_texts() == ["Knowledge"]


def test_neighbours_that_come_late_do_not_replace_those_asked_for_since(browse: Browse, address: str) -> None:
    page = browse(address).page
    page.get_by_role("link", name="Knowledge").click()
    page.get_by_label("Find entities").fill("Suriname")
    page.get_by_role("button", name="Find", exact=True).click()
    page.locator(".panel h2", has_text="Suriname").wait_for()
    held = late(page, "**/api/look/neighbours*")
    page.locator(".panel .sentences button", has_text="Paramaribo").first.click()
    page.get_by_label("Find entities").fill("Bolivia")
    page.get_by_role("button", name="Find", exact=True).click()
    page.locator(".results", has_text="Bolivia").wait_for()
    let_in(page, held, 1)
    page.locator(".panel h2", has_text="Bolivia").wait_for()
    let_in(page, held, 0)
    assert page.locator(".panel h2").all_inner_texts() == ["Bolivia"]


def test_a_question_that_was_begun_is_there_after_a_look_at_the_knowledge(browse: Browse, address: str) -> None:
    page = browse(address).page
    page.locator("summary", has_text="Ceilings").click()
    page.locator("#set-max_calls").fill("9")
    page.get_by_label("Question", exact=True).fill("Which river flows through the capital of")
    page.get_by_label("Method").select_option("fiske")
    page.get_by_role("link", name="Knowledge").click()
    page.get_by_role("heading", name="Knowledge").wait_for()
    page.go_back()
    question = page.get_by_label("Question", exact=True)
    question.wait_for()
    assert question.input_value() == "Which river flows through the capital of"
    assert page.get_by_label("Method").input_value() == "fiske"
    assert page.locator("#set-max_calls").input_value() == "9"
