"""Whoever goes on while something is still being loaded sees what they went to, whenever the rest comes."""

from __future__ import annotations

from typing import Any

from ui.conftest import Browse, ask


def late(page: Any, pattern: str) -> list[Any]:
    """Requests that are held back from now on, in the order in which they came."""
    held: list[Any] = []
    page.route(pattern, lambda route: held.append(route))  # noqa: PLW0108 - playwright marks what it calls
    return held


def let_in(page: Any, held: Any) -> None:
    """Answer a request that was held back, and wait until the page has read the reply."""
    with page.expect_response(lambda reply: reply.request == held.request) as reply:
        held.continue_()
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
    let_in(page, held[0])
    assert page.locator("h1").all_inner_texts() == ["Knowledge"]
