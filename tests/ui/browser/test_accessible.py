"""By keyboard, on phones, in light and dark, and what axe finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ui.browser.conftest import SHARED
from ui.conftest import QUESTION, Browse, app_of, ask, open_page, served, start

from thinkgraph.tools.knowledge import Knowledge


def test_phone_and_dark(browse: Browse, address: str) -> None:
    seen = browse(address, viewport={"width": 390, "height": 844}, color_scheme="dark", reduced_motion="reduce")
    seen.shot("phone-ask")
    ask(seen)
    page = seen.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    seen.shot("phone")
    page.get_by_role("button", name="Runs").click()
    page.locator("#side li").first.wait_for()
    dark = browse(address, color_scheme="dark")
    ask(dark)
    dark.shot("dark")


def test_by_keyboard_alone(browse: Browse, address: str) -> None:
    seen = browse(address)
    page = seen.page
    page.get_by_label("Question", exact=True).wait_for()
    assert page.evaluate("document.activeElement.id") == "question"
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    part = page.locator("button.part")
    part.wait_for()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "part":
            break
    page.keyboard.press("Enter")
    assert page.locator(".cited-now").count() == 1


def serious(page: Any, *impacts: str) -> list[str]:
    """What axe finds serious in a page as it is, or of these impacts too."""
    from axe_playwright_python.sync_playwright import Axe

    wanted = {"serious", "critical", *impacts}
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in wanted]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browse: Browse, address: str, scheme: str) -> None:
    seen = browse(address, color_scheme=scheme, reduced_motion="reduce")
    page = seen.page
    page.get_by_label("Question", exact=True).wait_for()
    for more in page.locator(".more summary").all():
        more.click()
    assert serious(page) == []
    ask(seen, SHARED, "coggrag")
    assert serious(page) == []
    page.get_by_role("link", name="Knowledge").click()
    page.get_by_label("Find entities").fill("Suriname")
    page.keyboard.press("Enter")
    page.locator(".panel .passage").first.wait_for()
    assert serious(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_what_stands_beside_a_run(
    browse: Browse, address: str, tmp_path: Path, scheme: str
) -> None:
    seen = browse(address, color_scheme=scheme, reduced_motion="reduce")
    ask(seen, SHARED)
    page = seen.page
    page.get_by_text("Passages read").click()
    page.locator(".part").last.click()
    assert serious(page) == []
    page.locator(".share summary").click()
    with page.expect_download() as download:
        page.get_by_text("A page that replays").click()
    download.value.save_as(tmp_path / "why.html")
    page.get_by_role("button", name="Change").click()
    page.get_by_label("After the step").wait_for()
    page.locator("dialog textarea").first.wait_for()
    assert serious(page) == []
    page.get_by_role("button", name="Go on from here").click()
    page.locator(".figures .chip").nth(1).wait_for()
    page.wait_for_timeout(600)
    assert serious(page, "moderate") == [], "and each region is named by its run"
    assert page.get_by_role("region", name="Answer, run 2 of 2").count() == 1
    alone = browse((tmp_path / "why.html").as_uri(), color_scheme=scheme, reduced_motion="reduce").page
    alone.locator(".part").first.wait_for()
    assert serious(alone) == []


def test_axe_finds_nothing_serious_on_a_phone_where_a_run_asks(browse: Browse, world: Knowledge) -> None:
    phone = {"width": 390, "height": 844}
    app = app_of(served(world, coggrag={"max_calls": 1}))
    with open_page(browse, app, viewport=phone, reduced_motion="reduce") as seen:
        page = seen.page
        start(seen, SHARED, "coggrag")
        page.get_by_label("New ceiling").wait_for()
        assert serious(page) == []
        page.get_by_role("button", name="Runs").click()
        page.locator("#side li").first.wait_for()
        assert serious(page) == []


def test_runs_and_their_columns_fit_the_narrowest_phone(browse: Browse, address: str) -> None:
    seen = browse(address, viewport={"width": 320, "height": 640})
    page = seen.page
    ask(seen)
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) == 320
    there = page.url.rpartition("/")[2]
    page.evaluate("there => { location.hash = `#/side/${[there, there, there].join('/')}`; }", there)
    page.locator(".figures .chip").nth(2).wait_for()
    page.locator(".column .answer").nth(2).wait_for()
    seen.shot("narrow-side")
    assert page.evaluate(wide) == 320
    head = page.locator(".figures thead th", has_text="Answer")
    assert head.evaluate("one => one.clientHeight") < 45, "the heading is not broken within a word"
