"""Every view in headless Chromium, over `world` with the offline model; what the console complains of fails the test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ui.browser.conftest import SHARED
from ui.conftest import QUESTION, Browse, app_of, ask, open_page, served, start

from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui.share import page_of_run
from thinkgraph.ui.walk import Recorder


def graph_list(page: Any) -> list[str]:
    """The graph in words."""
    summary = page.get_by_text("The graph as a list")
    summary.click()
    found: list[str] = page.locator(".sentences li").all_inner_texts()
    summary.click()
    return found


def test_ask_watch_and_see_what_the_answer_stands_on(browse: Browse, address: str) -> None:
    seen = browse(address)
    seen.page.get_by_label("Question", exact=True).wait_for()
    seen.shot("ask")
    page = seen.page
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_role("button", name="Estimate").click()
    page.get_by_text(re.compile(r"expected [\d.]+ calls")).wait_for()
    ask(seen)
    assert "token" not in page.url
    part = page.locator(".part", has_text="Paramaribo")
    part.click()
    assert page.locator(".cited-now").count() == 1
    assert page.locator(".cited-now mark").inner_text() == "Paramaribo"
    assert page.locator(".answer .chip").inner_text() == "Grounded"
    assert "It does not promise" in page.locator(".promise").inner_text()
    listed = graph_list(page)
    assert any(re.search("Suriname — capital → Paramaribo", line) and "cited" in line for line in listed)
    page.wait_for_timeout(500)
    seen.shot("answer")
    assert page.locator("#side li").count() >= 1


LIT = """() => document.querySelector(".canvas")._cyreg.cy.edges(".lit").map((one) =>
  `${one.source().data("label")} → ${one.target().data("label")}`)"""


@pytest.mark.parametrize(
    ("question", "answer", "lit"),
    [
        (SHARED, "Argentina", ["Bolivia → Argentina"]),
        (SHARED, "Brazil", ["Bolivia → Brazil"]),
        (
            "What is the currency of the country whose capital is Lima?",
            "nuevo sol",
            ["Peru → Lima", "Peru → nuevo sol"],
        ),
    ],
)
def test_a_picked_answer_is_marked_and_only_its_own_way_is_lit(
    browse: Browse, address: str, question: str, answer: str, lit: list[str]
) -> None:
    seen = browse(address, reduced_motion="reduce")
    ask(seen, question, "coggrag" if question == SHARED else "tog2")
    page = seen.page
    page.locator(".path button").first.click()
    assert len(page.evaluate(LIT)) == 2
    page.locator(".part", has_text=answer).click()
    assert page.locator("mark").all_inner_texts() == [answer]
    assert page.locator(".cited-now mark").inner_text() == answer
    assert sorted(page.evaluate(LIT)) == lit
    seen.shot(f"picked-{answer}")


def test_each_answer_of_one_passage_is_marked_in_its_own_sentence(browse: Browse, tmp_path: Path) -> None:
    text = "🌊 The Amazon is long. It flows through Peru. It ends in Brazil."
    places = [(answer, text.index(answer)) for answer in ("Peru", "Brazil")]
    answer = {
        "text": "Peru; Brazil", "answers": ["Peru", "Brazil"], "status": "grounded", "reason": "", "trace": {},
        "evidence": {"triples": [], "paths": [], "passages": [{"id": "p", "title": "Amazon", "section": "", "text": text}]},
        "usage": {"total": {"calls": 1, "input_tokens": 1, "output_tokens": 1, "cost": 0}, "store_round_trips": 1, "seconds": 1},
        "support": [
            {"answer": one, "kind": "sentence", "within": "passages", "line": 0, "start": at, "end": at + len(one)}
            for one, at in places
        ],
    }  # fmt: skip
    events = [{"type": "finished", "answer": answer}]
    file = tmp_path / "two.html"
    file.write_text(page_of_run({"question": "?", "method": "rag", "model": "m", "events": events}), "utf-8")
    page = browse(file.as_uri(), offline=True).page
    for one, sentence in (("Brazil", "It ends in Brazil."), ("Peru", "It flows through Peru.")):
        page.locator(".part", has_text=one).click()
        assert page.locator("mark").all_inner_texts() == [one]
        assert page.locator(".cited-now .sentence").inner_text() == sentence


def test_a_picked_member_of_a_list_too_long_to_be_shown_is_lit_alone(browse: Browse, tmp_path: Path) -> None:
    names = [f"Member of the club {at:03d}" for at in range(300)]
    triples = [
        {"id": name, "subject": name, "subject_label": name, "relation": "in", "relation_label": "in",
         "object": "Club", "object_label": "Club", "literal": False, "qualifiers": []} for name in names
    ]  # fmt: skip
    text = "(Club) <-[in]- " + ", ".join(f"({name})" for name in names)
    answer = {
        "text": "; ".join(names), "answers": names, "status": "grounded", "reason": "", "trace": {},
        "evidence": {"triples": triples, "paths": [{"text": text, "triples": names}], "passages": []},
        "usage": {"total": {"calls": 1, "input_tokens": 1, "output_tokens": 1, "cost": 0}, "store_round_trips": 1, "seconds": 1},
        "support": [
            {"answer": name, "kind": "path", "within": "paths", "line": 0, "start": at, "end": at + len(name)}
            for name in names for at in [text.index(name)]
        ],
    }  # fmt: skip
    events = [Recorder.stamped({"type": "finished", "answer": answer})]
    file = tmp_path / "list.html"
    file.write_text(page_of_run({"question": "?", "method": "tog2", "model": "m", "events": events}), "utf-8")
    page = browse(file.as_uri(), offline=True).page
    for name, marks in ((names[0], [names[0]]), (names[-1], [])):
        page.locator(".part", has_text=name).click()
        assert page.evaluate(LIT) == [f"{name} → Club"]
        assert page.locator("mark").all_inner_texts() == marks


def test_a_run_of_the_history_is_replayed_event_by_event(browse: Browse, address: str) -> None:
    seen = browse(address)
    ask(seen)
    page = seen.page
    page.reload()
    page.locator(".answer").wait_for()
    slider = page.get_by_label("Moment of the run")
    last = int(slider.get_attribute("max"))
    slider.evaluate("one => { one.value = 1; one.dispatchEvent(new Event('input')); }")
    assert page.locator(".answer").count() == 0
    assert page.locator(".moment").inner_text() == f"1 of {last}"
    page.get_by_role("button", name="Replay").click()
    page.locator(".answer").wait_for(timeout=40_000)
    assert page.locator(".moment").inner_text() == f"{last} of {last}"


@pytest.mark.parametrize(
    ("method", "shows"),
    [("fasttog", ".step"), ("fiske", ".clues tbody tr"), ("coggrag", ".map .question"), ("rag", ".passages .passage")],
)
def test_every_method_shows_its_own_way(browse: Browse, address: str, method: str, shows: str) -> None:
    seen = browse(address)
    ask(seen, SHARED if method != "rag" else QUESTION, method)
    assert seen.page.locator(shows).count() >= 1
    labels = seen.page.evaluate(LABELS)
    assert method != "fiske" or labels["starts"] == 3
    assert labels["hidden"] == [], "entities that nothing joins stand clear of each other"
    seen.shot(method)


LABELS = """() => {
  const alone = document.querySelector(".canvas")._cyreg.cy.nodes(".start").filter((one) => one.degree() === 0).toArray();
  const box = (one) => one.boundingBox({ includeLabels: true, includeOverlays: false });
  const clear = (a, b) => a.x2 <= b.x1 || b.x2 <= a.x1 || a.y2 <= b.y1 || b.y2 <= a.y1;
  return { starts: alone.length, hidden: alone.flatMap((a, at) => alone.slice(at + 1).filter((b) => !clear(box(a), box(b))).map((b) => [a.id(), b.id()])) };
}"""


DRAWN = """() => {
  const cy = document.querySelector(".canvas")._cyreg.cy;
  const nodes = cy.nodes(":visible").not(".box").toArray();
  const apart = (a, b) => Math.hypot(a.position("x") - b.position("x"), a.position("y") - b.position("y")) >= (a.width() + b.width()) / 2;
  return {
    every: cy.nodes().not(".box").length, nodes: nodes.length,
    overlap: nodes.flatMap((a, at) => nodes.slice(at + 1).filter((b) => !apart(a, b)).map((b) => [a.id(), b.id()])),
    boxes: cy.nodes(".box").map((box) => [box.style("label"), box.children().map((one) => one.data("label"))]),
    outside: cy.nodes(":visible").orphans().not(".box, .start, .answer, .near").filter((one) => one.connectedEdges(".cited").length < 2).map((one) => one.id()),
    members: cy.nodes(".box").children().not(".start, .answer").map((one) => one.style("label")).filter(Boolean),
  };
}"""


def test_communities_are_drawn_without_the_crowd_round_them(browse: Browse, address: str) -> None:
    seen = browse(address, reduced_motion="reduce")
    ask(seen, SHARED, "fasttog")
    page = seen.page
    page.get_by_text("not drawn").wait_for()
    drawn = page.evaluate(DRAWN)
    assert f"{drawn['every'] - drawn['nodes']} not drawn" in page.locator(".is-seen").inner_text()
    assert len(drawn["boxes"]) <= drawn["nodes"] < drawn["every"] / 4
    assert drawn["overlap"] == []
    assert drawn["outside"] == [], "what no cited path leads through is not drawn"
    assert drawn["boxes"]
    assert all(name.startswith(members[0]) for name, members in drawn["boxes"])
    assert drawn["members"] == [], "a community has one name until somebody picks it"
    page.evaluate("""() => { document.querySelector(".canvas")._cyreg.cy.nodes(".box").first().emit("tap"); }""")
    assert page.evaluate(DRAWN)["members"]
    page.locator("button.part").first.click()
    page.wait_for_timeout(500)
    cited = page.evaluate(DRAWN)
    assert cited["overlap"] == [], "what a click brings out finds a place"
    assert cited["nodes"] > drawn["nodes"]
    page.get_by_role("button", name="See all of the graph").click()
    page.get_by_text("not drawn").wait_for(state="detached")
    assert page.evaluate(DRAWN)["nodes"] == drawn["every"]


def test_knowledge_is_searched_and_walked(browse: Browse, address: str) -> None:
    seen = browse(address)
    page = seen.page
    page.get_by_role("link", name="Knowledge").click()
    page.get_by_label("Find entities").fill("Suriname")
    page.get_by_role("button", name="Find", exact=True).click()
    page.locator(".panel h2", has_text="Suriname").wait_for()
    page.wait_for_timeout(900)
    seen.shot("knowledge")
    assert page.locator(".panel .passage").count() >= 1
    page.locator(".panel .sentences button", has_text="Paramaribo").first.click()
    page.locator(".panel h2", has_text="Paramaribo").wait_for()


NAMES = """() => {
  const cy = document.querySelector(".canvas")._cyreg.cy;
  const written = cy.elements(":visible").filter((one) => Number(one.style("text-opacity")) > 0 && one.style("label"));
  const boxes = written.map((one) => one.renderedBoundingBox({ includeNodes: false, includeEdges: false }));
  const cover = (a, b) => a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2;
  return {
    entities: written.nodes().length, hidden: cy.elements(":visible").length - written.length,
    covering: boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => cover(a, b)).map((b) => [a, b])),
    size: Math.min(...written.nodes().map((one) => parseFloat(one.style("font-size")) * cy.zoom())),
  };
}"""


@pytest.mark.parametrize("width", [1360, 390])
def test_names_round_a_hub_are_readable_and_cover_none(browse: Browse, address: str, width: int) -> None:
    seen = browse(f"{address}#/knowledge", viewport={"width": width, "height": 844}, reduced_motion="reduce")
    page = seen.page
    page.get_by_label("Find entities").fill("Suriname")
    page.get_by_role("button", name="Find", exact=True).click()
    page.locator(".panel h2", has_text="Suriname").wait_for()
    page.wait_for_timeout(900)
    seen.shot(f"hub-{width}")
    names = page.evaluate(NAMES)
    assert names["covering"] == []
    assert names["entities"] > 8
    assert names["hidden"] > 8
    assert names["size"] >= 8, "pixels"
    assert page.locator("a.view").last.bounding_box()["height"] < 40, "one line"
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_ceiling_is_asked_about_and_raised(browse: Browse, world: Knowledge) -> None:
    with open_page(browse, app_of(served(world, coggrag={"max_calls": 1}))) as seen:
        page = seen.page
        start(seen, SHARED, "coggrag")
        page.get_by_label("New ceiling").fill("60")
        widths = page.evaluate("[...document.querySelectorAll('.step')].map((one) => one.clientWidth)")
        assert len(widths) > 1
        assert len(set(widths)) == 1, "every step is as wide as the others"
        seen.shot("ask-back")
        page.get_by_role("button", name="Raise it").click()
        page.locator(".answer").wait_for()
        assert page.locator(".ask-card").count() == 0


def test_passages_light_up_while_a_run_reads_and_close_at_its_end(browse: Browse, world: Knowledge) -> None:
    with open_page(browse, app_of(served(world, tog2={"max_calls": 2}))) as seen:
        page = seen.page
        start(seen, SHARED, "tog2")
        page.get_by_label("New ceiling").fill("60")
        passage = page.locator(".passages .fresh").first
        assert passage.is_visible()
        assert passage.evaluate("one => getComputedStyle(one).animationName") == "fresh"
        assert page.locator(".passages").bounding_box()["height"] < 400, "the steps below stay near"
        seen.shot("reading")
        page.get_by_role("button", name="Raise it").click()
        page.locator(".answer").wait_for()
        assert not passage.is_visible()
        slider = page.get_by_label("Moment of the run")
        move = "(one, to) => { one.value = to; one.dispatchEvent(new Event('input')); }"
        last = int(slider.get_attribute("max"))
        slider.evaluate(move, last - 1)
        assert passage.is_visible(), "a replay reads them again"
        slider.evaluate(move, last)
        assert not passage.is_visible()
        page.get_by_text("Passages read").click()
        assert passage.is_visible()
        slider.evaluate(move, last - 1)
        slider.evaluate(move, last)
        assert passage.is_visible(), "somebody opened them"


def test_a_run_goes_on_otherwise_from_an_earlier_step_and_both_stand_side_by_side(browse: Browse, address: str) -> None:
    seen = browse(address)
    ask(seen)
    page = seen.page
    page.locator(".step.model summary").first.click()
    assert QUESTION in page.locator(".step.model").first.inner_text()
    page.get_by_role("button", name="Change").click()
    steps = page.get_by_label("After the step")
    steps.wait_for()
    steps.locator("option").nth(1).wait_for(state="attached")
    chosen = steps.locator("option").filter(has_text="relation prune").first.get_attribute("value")
    steps.select_option(chosen)
    page.locator("dialog .tick", has_text="capital").locator("input").uncheck()
    assert "from other entities they may come again" in page.locator("dialog").inner_text()
    seen.shot("change")
    page.get_by_role("button", name="Go on from here").click()
    page.locator(".figures tbody tr").nth(1).get_by_text("tog2").wait_for()
    page.locator(".figures .chip").nth(1).wait_for()
    page.wait_for_timeout(600)
    seen.shot("side")
    assert "not from Suriname: capital →" in page.locator(".figures tbody tr").nth(1).inner_text()
    assert "Paramaribo" in page.locator(".figures tbody tr").first.inner_text()


def test_change_opens_at_a_step_that_can_be_changed(browse: Browse, address: str) -> None:
    seen = browse(address)
    ask(seen)
    seen.page.get_by_role("button", name="Change").click()
    dialog = seen.page.locator("dialog")
    assert dialog.get_by_label("Question", exact=True).input_value() == QUESTION
    steps = dialog.get_by_label("After the step")
    steps.select_option(steps.locator("option").last.get_attribute("value"))
    assert dialog.get_by_label("Question", exact=True).count() == 0, "the answer has been decided on"
    assert "heeds no change" in dialog.inner_text()


def test_a_change_that_was_begun_is_left_by_going_back(browse: Browse, address: str) -> None:
    seen = browse(address)
    ask(seen)
    page = seen.page
    page.get_by_role("button", name="Change").click()
    page.get_by_label("After the step").wait_for()
    page.go_back()
    page.get_by_label("Question", exact=True).wait_for()
    assert page.locator("dialog").count() == 0


def test_figures_stay_whole_beside_long_answers(browse: Browse, address: str) -> None:
    seen = browse(address, viewport={"width": 760, "height": 860})
    page = seen.page
    page.get_by_label("Question", exact=True).fill(SHARED)
    page.get_by_label("Method").select_option("fiske")
    page.get_by_text("Compare with").click()
    page.locator(".tick", has_text="CogGRAG").locator("input").check()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".figures .chip").nth(1).wait_for(timeout=40_000)
    heads = page.evaluate("[...document.querySelectorAll('.figures thead th')].map((one) => one.clientHeight)")
    assert max(heads) < 45, "no heading is broken within a word"


def test_methods_are_compared_side_by_side(browse: Browse, address: str) -> None:
    seen = browse(address)
    page = seen.page
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_text("Compare with").click()
    page.locator(".tick", has_text="CogGRAG").locator("input").check()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".figures tbody tr").nth(1).wait_for()
    page.locator(".figures .chip").nth(1).wait_for(timeout=40_000)
    assert [row.split()[0] for row in page.locator(".figures tbody tr").all_inner_texts()] == ["tog2", "coggrag"]
    assert page.locator(".figures strong", has_text="Paramaribo").count() == 2


def test_a_shared_file_replays_without_a_server(browse: Browse, address: str, browser: Any, tmp_path: Path) -> None:
    seen = browse(address)
    ask(seen)
    page = seen.page
    page.locator(".share summary").click()
    with page.expect_download() as download:
        page.get_by_text("A page that replays").click()
    file = tmp_path / "why.html"
    download.value.save_as(file)
    alone = browse(file.as_uri(), offline=True)
    alone.page.locator(".part", has_text="Paramaribo").click()
    assert alone.page.locator(".cited-now").count() == 1
    alone.page.get_by_label("Moment of the run").evaluate(
        "one => { one.value = 3; one.dispatchEvent(new Event('input')); }"
    )
    assert alone.page.locator(".answer").count() == 0
    alone.page.get_by_role("button", name="Replay").click()
    alone.page.locator(".answer").wait_for(timeout=40_000)
    alone.shot("shared")


def test_the_title_says_what_is_open_and_an_odd_address_is_no_run(browse: Browse, address: str) -> None:
    from playwright.sync_api import expect

    seen = browse(address)
    ask(seen)
    page = seen.page
    assert page.title() == f"{QUESTION} - thinkgraph"
    page.get_by_role("link", name="Knowledge").click()
    expect(page).to_have_title("Knowledge - thinkgraph")
    page.evaluate("() => { location.hash = '#/run/%'; }")
    page.get_by_text("there is no run %").wait_for()
    expect(page).to_have_title("thinkgraph")
    (refused,) = seen.complaints
    assert "status of 400" in refused
    seen.complaints.clear()


def test_what_cannot_be_read_is_a_problem_and_no_empty_history(browse: Browse, address: str) -> None:
    page = browse(address).page
    page.route(
        "**/api/runs", lambda route: route.fulfill(status=200, content_type="application/json", body="[Infinity")
    )
    page.reload()
    page.locator("#side .problem", has_text="cannot be read").wait_for()
    assert page.get_by_text("None yet.").count() == 0


def test_a_value_out_of_range_is_pointed_at_in_a_closed_section_too(browse: Browse, address: str) -> None:
    page = browse(address).page
    page.get_by_label("Question", exact=True).fill(QUESTION)
    ceilings = page.locator("summary", has_text="Ceilings")
    ceilings.click()
    page.locator("#set-max_calls").fill("0")
    ceilings.click()
    assert not page.locator("#set-max_calls").is_visible()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#set-max_calls:focus").wait_for()


def test_a_run_that_is_gone_is_not_waited_for_beside_others(browse: Browse, address: str) -> None:
    seen = browse(address)
    ask(seen)
    page = seen.page
    there = page.url.rpartition("/")[2]
    page.evaluate("there => { location.hash = `#/side/${there}/gone`; }", there)
    rows = page.locator(".figures tbody tr")
    rows.last.get_by_text("cannot be shown").wait_for()
    # Each of the two is read by a request of its own.
    rows.first.get_by_text("Paramaribo").wait_for()
    assert "there is no run gone" in page.locator(".column").last.inner_text()
    assert ["400" in one for one in seen.complaints] == [True]
    seen.complaints.clear()


BODIES = """() => {
  const there = window.fetch;
  window.asked = [];
  window.fetch = (path, options) => {
    if (path === "api/runs" && options.body) window.asked.push(JSON.parse(options.body));
    return there(path, options);
  };
}"""


def test_a_ceiling_that_was_set_holds_for_other_methods_and_the_next_question(browse: Browse, address: str) -> None:
    page = browse(address).page
    page.evaluate(BODIES)
    page.locator("summary", has_text="Ceilings").click()
    page.locator("summary", has_text="Settings").click()
    page.locator("#set-max_calls").fill("9")
    page.locator("#set-width").fill("2")
    page.get_by_label("Method").select_option("coggrag")
    page.get_by_label("Method").select_option("tog2")
    page.get_by_text("Compare with").click()
    page.locator(".tick", has_text="FiSKE").locator("input").check()
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".figures .chip").nth(1).wait_for(timeout=40_000)
    settings = [one["settings"] for one in page.evaluate("window.asked")]
    assert settings == [{"max_calls": 9, "width": 2}, {"max_calls": 9}]
    page.get_by_role("link", name="Ask", exact=True).click()
    field = page.locator("#set-max_calls")
    field.wait_for()
    assert field.input_value() == "9"
    field.fill("")
    page.get_by_label("Method").select_option("fiske")
    assert field.input_value() == ""
