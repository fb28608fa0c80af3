"""The pictures of docs/page.md and the README show today's page. `THINKGRAPH_UI_SHOTS=docs/img` takes them anew.

A picture carries the words that the page itself wrote around the question and its graph. Where the page writes others the picture is stale.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin
from ui.conftest import QUESTION, SHOTS, Browse, Seen, app_of, ask, open_page, served

from thinkgraph.tools.knowledge import Knowledge

FOLDER = Path(__file__).parents[2] / "docs" / "img"
FIRST = "At what age can people vote in the country whose highest point is Mont Ngaoui?"
BOTH = "Which countries border both Bolivia and Uruguay?"
SIZE = (1400, 860)
VIEWPORT = dict(zip(("width", "height"), SIZE, strict=True))
MOST_BYTES = 300_000
NOTE = "Words"
WORDS = """() => {
  const places = "header a, .actions button, .actions summary, .legend li, .panel h2, .timeline dt, dialog label > :first-child, .figures thead th";
  return [...document.querySelectorAll(places)].map((one) => one.innerText.trim().replace(/[0-9]+/g, "N")).filter(Boolean);
}"""

UNNAMED = """() => document.querySelector(".canvas")._cyreg.cy.edges(".cited").connectedNodes(".covered").map((one) => one.id())"""


def pictured(png: bytes, words: list[str]) -> bytes:
    """A picture in few colours, with the words of its page."""
    said = PngImagePlugin.PngInfo()
    said.add_itxt(NOTE, "\n".join(words), zip=True)
    out = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        out, "png", optimize=True, pnginfo=said
    )
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "question", "method", "at"),
    [
        ("page", FIRST, "tog2", None),
        ("communities", BOTH, "fasttog", None),
        ("clues", QUESTION, "fiske", ".clues"),
    ],
)
def test_a_picture_is_current(
    browse: Browse, world: Knowledge, name: str, question: str, method: str, at: str | None
) -> None:
    with open_page(browse, app_of(served(world)), viewport=VIEWPORT) as seen:
        page = seen.page
        ask(seen, question, method)
        if at:
            page.locator(at).first.evaluate("one => one.closest('section, div').scrollIntoView()")
        page.wait_for_timeout(900)
        if method == "tog2":
            assert page.evaluate(UNNAMED) == [], "what is cited has its name"
        check(seen, name)


def test_the_pictures_of_a_change_are_current(browse: Browse, world: Knowledge) -> None:
    with open_page(browse, app_of(served(world)), viewport=VIEWPORT) as seen:
        page = seen.page
        ask(seen)
        page.get_by_role("button", name="Change").click()
        steps = page.get_by_label("After the step")
        step = steps.locator("option").filter(has_text="relation prune").first
        step.wait_for(state="attached")
        steps.select_option(step.get_attribute("value"))
        page.locator("dialog .tick", has_text="capital").locator("input").uncheck()
        check(seen, "change")
        page.get_by_role("button", name="Go on from here").click()
        page.locator(".answer").nth(1).wait_for()
        page.locator(".figures tbody").get_by_text("not from Suriname").first.wait_for()
        page.wait_for_timeout(900)
        check(seen, "side_by_side")


def check(seen: Seen, name: str) -> None:
    """The picture of this name is as the page is now; where pictures are wanted it is taken first."""
    words: list[str] = seen.page.evaluate(WORDS)
    if SHOTS:
        (Path(SHOTS) / f"{name}.png").write_bytes(pictured(seen.page.screenshot(), words))
    with Image.open(FOLDER / f"{name}.png") as picture:
        assert picture.size == SIZE
        assert str(picture.info[NOTE]).splitlines() == words, "stale: THINKGRAPH_UI_SHOTS=docs/img takes it anew"
    assert (FOLDER / f"{name}.png").stat().st_size < MOST_BYTES
