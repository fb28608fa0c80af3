"""Every method's own view in headless Chromium, over `world` with a scripted model that knows the way to the answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, ServedCall, answers_of
from replies import Answer
from starlette.testclient import TestClient
from ui.conftest import TOKEN, Browse, Seen, app_of, ended, open_page, served, serving, start

from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.questions import Question
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui.app import create_app
from thinkgraph.ui.runs import Desk
from thinkgraph.ui.share import page_of_run

HIGH = Question(
    "w043",
    "How high is the highest mountain of the country whose capital is Quito?",
    ("6267",),
    gold_path=(("Quito", "-capital"), ("Ecuador", "highest_point"), ("Chimborazo", "elevation_m")),
)
ISLAND = Question(
    "namesake",
    "Which country has Kingston as its capital?",
    ("Norfolk Island",),
    gold_path=(("Kingston (Norfolk Island)", "-capital"),),
)
MODEL = "openai:scripted"
REJECTED = "What is the highest point of Ecuador?"


class Script:
    """A model that chooses what lies on the gold path; once it calls a right answer wrong, and it may wait to be let on."""

    def __init__(self, world: Knowledge) -> None:
        golds = zip((HIGH, ISLAND), resolve_golds([HIGH, ISLAND], world.graph, world.text), strict=True)
        self._knows = answers_of(PerfectChooser({one.question: gold for one, gold in golds}))
        self._rejected = False
        self._held = False
        self._permits = threading.Semaphore(0)
        self.asked = 0
        """Calls that came, answered or not."""

    def __call__(self, call: ServedCall) -> Answer:
        """The reply to a call."""
        self.asked += 1
        if self._held:
            self._permits.acquire(timeout=30)
        if call.role == "coggrag.verify" and REJECTED in call.text and not self._rejected:
            self._rejected = True
            return json.dumps({"right": False})
        return self._knows(call)

    def hold(self) -> None:
        """Answer no further call until it is let on."""
        self._held = True
        self._permits = threading.Semaphore(0)

    def forget(self) -> None:
        """Call the next right answer wrong again."""
        self._rejected = False

    def let_on(self, calls: int = 1) -> None:
        """Answer so many calls."""
        self._permits.release(calls)


@contextmanager
def model_of(script: Script) -> Iterator[ModelServer]:
    """The scripted model's server, where a page looks for it."""
    with pytest.MonkeyPatch.context() as patch, ModelServer(script) as server:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "none")
        try:
            yield server
        finally:
            # Nothing waits for a gate that a failed test has left shut.
            script.let_on(100)


@contextmanager
def page_of(browse: Browse, world: Knowledge, script: Script, **settings: Any) -> Iterator[tuple[Seen, ModelServer]]:
    """The page with the scripted model, and the model's server."""
    app = app_of(served(world, MODEL, **settings))
    with model_of(script) as server, open_page(browse, app, reduced_motion="reduce") as seen:
        yield seen, server


def answer_of(seen: Seen) -> str:
    """The answer's parts and its status, as the page words them, when it is there."""
    seen.page.locator(".answer").wait_for()
    parts = seen.page.locator(".answer .parts .big").all_inner_texts()
    return f"{'; '.join(parts)}: {seen.page.locator('.answer .chip').inner_text()}"


def stop(seen: Seen) -> None:
    """Stop the run, and wait until the page's server knows."""
    with seen.page.expect_response("**/stop"):
        seen.page.get_by_role("button", name="Stop", exact=True).click()


@pytest.fixture
def script(world: Knowledge) -> Script:
    return Script(world)


def test_the_mind_map_shows_what_was_answered_verified_and_thought_over(
    browse: Browse, world: Knowledge, script: Script
) -> None:
    with page_of(browse, world, script, coggrag={"skip_settled": False, "rethinks": 2}) as (seen, server):
        start(seen, HIGH.question, "coggrag")
        assert answer_of(seen) == "6267: Grounded"
        seen.shot("scripted-coggrag")
        root = seen.page.locator(".map").first.locator("> li")
        assert root.locator("> .question p").all_inner_texts() == [HIGH.question, "6267 · verified"]
        inside = root.locator("> .map > li > .question")
        assert [one.locator("p").all_inner_texts() for one in inside.all()] == [
            ["What has Quito as its capital?", "Ecuador · verified"],
            [REJECTED, "Chimborazo · verified, re-thought 1 time"],
            ["What is the elevation m of Chimborazo?", "6267 · verified"],
        ]
        assert seen.page.locator(".map .question.solved").count() == 4
        again = seen.page.locator(".step", has_text="Answered after re-thinking")
        assert REJECTED in again.inner_text()
        assert [call.role for call in server.calls].count("coggrag.rethink") == 1


def test_open_questions_of_the_mind_map_are_told_from_answered_ones(
    browse: Browse, world: Knowledge, script: Script
) -> None:
    script.hold()
    with page_of(browse, world, script) as (seen, _):
        start(seen, HIGH.question, "coggrag")
        states = seen.page.locator(".map .state")
        states.filter(has_text="open").wait_for()
        assert states.all_inner_texts() == ["open"]
        script.let_on(3)
        states.filter(has_text="Ecuador").wait_for()
        assert states.all_inner_texts() == ["open", "Ecuador", "open", "open"]
        assert seen.page.locator(".map .question.solved").count() == 1
        script.let_on(20)
        assert answer_of(seen) == "6267: Grounded"
        assert seen.page.locator(".map .question.open").count() == 0


def test_the_clue_table_fills_until_the_answer(browse: Browse, world: Knowledge, script: Script) -> None:
    with page_of(browse, world, script) as (seen, _):
        start(seen, HIGH.question, "fiske")
        assert answer_of(seen) == "6267: Grounded"
        seen.shot("scripted-fiske")
        rows = seen.page.locator(".clues tbody tr")
        assert [row.locator("th, td").all_inner_texts() for row in rows.all()] == [
            ["Quito", "Quito"],
            ["capital", "capital: Ecuador"],
            ["highest point", "highest point: Chimborazo"],
            ["elevation m", "elevation m: 6267"],
        ]
        assert [row.get_attribute("class") for row in rows.all()] == ["mapped"] * 4
        # As it stood before the last clue was found.
        slider = seen.page.get_by_label("Moment of the run")
        slider.evaluate("one => { one.value = one.max / 2; one.dispatchEvent(new Event('input')); }")
        assert rows.last.inner_text().split("\t") == ["elevation m", "not yet"]
        assert seen.page.locator(".answer").count() == 0


BOXES = """() => {
  const boxes = document.querySelector(".canvas")._cyreg.cy.nodes(".box");
  return boxes.map((box) => [box.style("label"), box.visible(), box.children().map((one) => one.data("label"))]);
}"""


def test_communities_are_boxes_along_the_chain_to_the_answer(browse: Browse, world: Knowledge, script: Script) -> None:
    with page_of(browse, world, script) as (seen, _):
        start(seen, HIGH.question, "fasttog")
        assert answer_of(seen) == "6267: Grounded"
        seen.shot("scripted-fasttog")
        chain = seen.page.evaluate(BOXES)
        assert len(chain) == 3
        assert all(visible for _, visible, _ in chain)
        assert "Ecuador" in chain[0][2]
        assert [members for *_, members in chain[1:]] == [["Chimborazo"], ["6267"]]
        chosen = seen.page.locator(".step", has_text="communities").filter(has_text="Kept 1 of").last
        chosen.locator("summary").click()
        assert "1 dropped: not chosen for the question" in chosen.inner_text()
        assert chosen.locator(".kept li").inner_text().startswith("Ecuador")
        assert chosen.locator(".dropped li").inner_text() == "1957000"


CITED = """() => document.querySelector(".canvas")._cyreg.cy.nodes(".cited").not(".literal, .covered").map((one) => one.data("label")).sort()"""


def test_relations_are_scored_and_kept_or_pruned_with_the_reason(
    browse: Browse, world: Knowledge, script: Script
) -> None:
    with page_of(browse, world, script) as (seen, _):
        start(seen, HIGH.question, "tog2")
        assert answer_of(seen) == "6267: Grounded"
        seen.shot("scripted-tog2")
        rounds = seen.page.locator(".step", has_text="options: relations")
        assert rounds.locator(".round").all_inner_texts() == ["round 3", "round 2", "round 1"]
        first = rounds.last
        assert first.locator("h3").inner_text() == "Kept 1 of 4 options: relations"
        assert first.locator(".kept li").all_inner_texts() == ["Quito: capital (inverse)\n10.00"]
        first.locator("summary").click()
        assert first.locator("summary").inner_text() == "3 dropped: scored too low for the question"
        assert seen.page.evaluate(CITED) == ["Chimborazo", "Ecuador", "Quito"]
        assert seen.page.get_by_text("Kept 0 of 0").count() == 0
        assert "Quito: population" in first.locator(".dropped").inner_text()


def shown(seen: Seen) -> tuple[int, int, int, int]:
    """Entities and triples of the picture, calls and tokens, as the page tells them."""
    about = seen.page.locator(".canvas").get_attribute("aria-label").split()
    calls, tokens = seen.page.locator(".numbers dd").all_inner_texts()[:2]
    return int(about[5]), int(about[7]), int(calls), int(tokens.replace(",", ""))


def when_called(seen: Seen, calls: int) -> tuple[int, int, int, int]:
    """What the page shows when so many calls were made, and the step after the last one is drawn."""
    page = seen.page
    page.locator(".numbers div", has_text="calls").get_by_text(str(calls), exact=True).wait_for()
    page.locator(".step:not(.model)").first.get_by_text("Kept 1 of 1 option: entities").wait_for()
    return shown(seen)


def test_a_run_is_watched_stopped_and_goes_on(browse: Browse, world: Knowledge, script: Script) -> None:
    script.hold()
    with page_of(browse, world, script) as (seen, server):
        page = seen.page
        start(seen, HIGH.question, "tog2")
        page.get_by_role("heading", name="Found 2 candidates").wait_for()
        before = shown(seen)
        assert before[1:] == (0, 0, 0)
        script.let_on()
        one = when_called(seen, 1)
        assert all(now > then for now, then in zip(one, before, strict=True))
        script.let_on()
        page.locator(".step", has_text="Kept 1 of").filter(has_text="Chimborazo").first.wait_for()
        two = when_called(seen, 2)
        assert all(now > then for now, then in zip(two, one, strict=True))
        assert page.locator(".chip.working").count() >= 1
        stop(seen)
        page.get_by_text("Stopping …").wait_for()
        script.let_on()
        page.locator(".step", has_text="The run rests").get_by_text("nothing is lost").wait_for()
        page.locator(".run-title .chip", has_text="Unfinished").wait_for()
        assert page.locator(".answer").count() == 0
        asked = len(server.calls)
        assert asked == 3
        seen.shot("scripted-stopped")
        script.let_on(20)
        page.get_by_role("button", name="Go on").click()
        assert answer_of(seen) == "6267: Grounded"
        seen.shot("scripted-resumed")
        assert len(server.calls) == 4
        assert len({json.dumps(call.messages) for call in server.calls}) == 4, "no call is made twice"
        calls, tokens = page.locator(".usage").inner_text().split(", ")[:2]
        *_, counted, spent = shown(seen)
        assert (calls, tokens) == (f"{counted} model calls", f"{spent:,} tokens")
        assert counted == 4


@pytest.mark.parametrize("method", ["tog2", "fasttog", "fiske", "coggrag"])
def test_a_run_stopped_at_every_call_makes_none_twice(
    world: Knowledge, script: Script, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        model_of(script) as server,
        TestClient(app_of(served(world, MODEL)), base_url="http://127.0.0.1:8421") as client,
    ):
        client.get(f"/?token={TOKEN}")
        body = {"question": HIGH.question, "method": method}
        ended(client, client.post("/api/runs", json=body).json()["thread"])
        script.forget()
        script.hold()
        seen, stops = script.asked, 0
        thread = client.post("/api/runs", json=body).json()["thread"]
        while client.get(f"/api/runs/{thread}").json()["status"] == "unfinished":
            until = time.monotonic() + 30
            while script.asked == seen and client.get(f"/api/runs/{thread}").json()["working"]:
                assert time.monotonic() < until
                time.sleep(0.01)
            client.post(f"/api/runs/{thread}/stop", json={})
            script.let_on(100)
            run, seen = ended(client, thread), script.asked
            script.hold()
            if run["status"] == "unfinished":
                assert run["events"][-1]["type"] == "paused"
                stops += 1
                client.post(f"/api/runs/{thread}/resume", json={})
        answer = client.get(f"/api/runs/{thread}").json()["events"][-1]["answer"]
        assert answer["answers"] == ["6267"]
        assert stops >= 2
        made = [json.dumps(call.messages) for call in server.calls]
        whole, parts = sorted(made[: len(made) // 2]), sorted(made[len(made) // 2 :])
        assert whole == parts
        assert answer["usage"]["total"]["calls"] == len(parts)
        told = [event for event in run["events"] if event["type"] == "called"]
        assert not any(event["replayed"] for event in told), "what a step wrote is kept"
        assert not caplog.records


def test_what_was_told_before_is_counted_once(browse: Browse, tmp_path: Path) -> None:
    told = {
        "type": "called",
        "role": "tog2.reason",
        "attempts": 1,
        "input_tokens": 10,
        "output_tokens": 2,
        "problem": "",
    }
    events = [
        {**told, "replayed": False, "attempts": 2, "problem": "no JSON object", "at": 1.0},
        {**told, "replayed": True, "problem": "fallback taken: no JSON object", "at": 2.0},
        {**told, "replayed": True, "at": 3.0},
        {**told, "replayed": False, "at": 4.0},
    ]
    file = tmp_path / "counted.html"
    file.write_text(page_of_run({"question": "?", "method": "tog2", "model": "m", "events": events}), "utf-8")
    page = browse(file.as_uri(), offline=True).page
    assert page.locator(".numbers dd").all_inner_texts()[:2] == ["3", "24"]


def test_the_time_is_that_of_the_work_and_not_of_the_rests(browse: Browse, tmp_path: Path) -> None:
    events = [
        {"type": "queued", "running": 8, "at": 10.0},
        {"type": "started", "method": "tog2", "models": [], "knowledge": "k", "at": 100.0},
        {"type": "paused", "reason": "stopped", "at": 102.0},
        {"type": "stopped", "reason": "of the next day", "at": 86_500.0},
        {"type": "asked", "question": {"kind": "budget", "text": "More?", "options": []}, "at": 86_501.0},
        {"type": "stopped", "reason": "no more", "at": 90_000.0},
        {"type": "forked", "source": "t", "changes": [], "at": 180_000.0},
        {"type": "stopped", "reason": "the end", "at": 180_001.5},
    ]
    file = tmp_path / "timed.html"
    file.write_text(page_of_run({"question": "?", "method": "tog2", "model": "m", "events": events}), "utf-8")
    page = browse(file.as_uri(), offline=True).page
    assert page.locator(".numbers dd").all_inner_texts()[2] == "4.5 s"
    times = page.locator(".step time").all_inner_texts()
    assert times == ["4.5 s", "3.0 s", "3.0 s", "3.0 s", "2.0 s", "2.0 s", "0.0 s", "0.0 s"]
    assert page.locator(".step p").last.inner_text() == "8 other runs at work"


def test_a_page_whose_server_has_gone_says_so(browse: Browse, world: Knowledge, script: Script) -> None:
    script.hold()
    with model_of(script):
        desk = Desk(served(world, MODEL))
        with serving(create_app(lambda: desk.served, token=TOKEN, desk=desk)) as root:
            seen = browse(f"{root}/?token={TOKEN}", reduced_motion="reduce")
            page = seen.page
            start(seen, HIGH.question, "tog2")
            page.get_by_role("heading", name="Found 2 candidates").wait_for()
            stop = page.get_by_role("button", name="Stop", exact=True)
            page.route("**/stop", lambda route: route.abort())
            stop.click()
            page.get_by_role("alert").get_by_text("does not answer").wait_for()
            assert stop.is_enabled()
            desk.close()
        page.locator(".run-title .chip", has_text="No connection").wait_for()
        page.get_by_role("alert").get_by_text("is 'thinkgraph ui' still running?").wait_for()
        assert not stop.is_visible()
        # What the browser says of a server that has gone.
        page.close()
        assert all("ERR_" in one for one in seen.complaints)
        seen.complaints.clear()


def test_a_second_tab_learns_that_the_run_went_on(browse: Browse, world: Knowledge, script: Script) -> None:
    script.hold()
    with page_of(browse, world, script) as (seen, _):
        first = seen.page
        start(seen, HIGH.question, "tog2")
        first.get_by_role("heading", name="Found 2 candidates").wait_for()
        stop(seen)
        script.let_on()
        first.locator(".run-title .chip", has_text="Unfinished").wait_for()
        second = first.context.new_page()
        second.goto(first.url)
        second.get_by_role("button", name="Go on").wait_for()
        first.get_by_role("button", name="Go on").click()
        first.locator(".run-title .chip.working").wait_for()
        second.get_by_role("button", name="Go on").click()
        second.locator(".run-title .chip.working").wait_for()
        script.let_on(20)
        for page in (first, second):
            page.locator(".answer .big", has_text="6267").wait_for()


STARTS = """() => document.querySelector(".canvas")._cyreg.cy.nodes(".start").map((one) => one.data("entity"))"""


def test_which_of_two_namesakes_is_meant_is_asked(browse: Browse, world: Knowledge, script: Script) -> None:
    with page_of(browse, world, script) as (seen, server):
        page = seen.page
        page.locator("summary", has_text="Settings").click()
        page.locator("#set-ask_user").select_option("both")
        page.get_by_label("Question", exact=True).fill(ISLAND.question)
        page.get_by_role("button", name="Ask", exact=True).click()
        card = page.locator(".ask-card")
        card.locator("h2").wait_for()
        assert card.locator("h2").inner_text() == "Which 'Kingston' is meant?"
        assert sorted(card.locator(".choice").all_inner_texts()) == [
            "Any of them",
            "Kingston\ncapital city of Jamaica",
            "Kingston\ncapital city of Norfolk Island",
        ]
        assert not server.calls
        seen.shot("scripted-namesakes")
        card.get_by_role("button", name="Norfolk Island").click()
        assert answer_of(seen) == "Norfolk Island: Grounded"
        assert card.count() == 0
        assert [one for one in page.evaluate(STARTS) if "Kingston" in one] == ["Kingston (Norfolk Island)"]
        assert server.calls
        assert not any("Jamaica" in call.text for call in server.calls), "the other one is not looked at"


def test_two_methods_answer_side_by_side(browse: Browse, world: Knowledge, script: Script) -> None:
    with page_of(browse, world, script) as (seen, _):
        page = seen.page
        page.get_by_text("Compare with").click()
        page.locator(".tick", has_text="FiSKE").locator("input").check()
        # What is ticked stays so when another method is chosen.
        page.get_by_label("Method").select_option("coggrag")
        page.get_by_label("Method").select_option("tog2")
        page.get_by_label("Question", exact=True).fill(HIGH.question)
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".figures .chip").nth(1).wait_for()
        rows = [row.locator("th, td").all_inner_texts()[:4] for row in page.locator(".figures tbody tr").all()]
        costs = page.locator(".figures tbody td:last-child").all_inner_texts()
        seen.shot("scripted-compare")
        assert rows == [[f"{one} · {MODEL}", "6267", "Grounded", "1 line"] for one in ("tog2", "fiske")]
        assert all(cost.startswith("4 calls · ") for cost in costs), costs
        columns = page.locator(".column .answer")
        assert [one.locator(".parts .big").inner_text() for one in columns.all()] == ["6267", "6267"]
