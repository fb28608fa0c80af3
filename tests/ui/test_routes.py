"""The page's interface: who may use it, what it takes, and what it gives."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from ui.conftest import QUESTION, TOKEN, app_of, ended, served

from thinkgraph.cli.main import main
from thinkgraph.cli.runs import RunStore
from thinkgraph.integrations.mcp.tools import CLIENT_SETTINGS
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui.live import LiveRun
from thinkgraph.ui.runs import MOST_RUNS, Desk
from thinkgraph.ui.security import POLICY

BORDERS = {"question": "Which countries border both Bolivia and Uruguay?", "method": "coggrag"}


@pytest.fixture
def tight(world: Knowledge) -> Iterator[TestClient]:
    """A browser that has opened a page on which a run of CogGRAG asks for a second call."""
    app = app_of(served(world, coggrag={"max_calls": 1}))
    with TestClient(app, base_url="http://127.0.0.1:8421") as opened:
        opened.get(f"/?token={TOKEN}")
        yield opened


@pytest.fixture
def stranger(world: Knowledge) -> TestClient:
    """A browser without the page's cookie."""
    return TestClient(app_of(served(world)), base_url="http://127.0.0.1:8421", follow_redirects=False)


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/about", "/api/runs", "/api/runs/x/events"])
def test_nothing_is_to_be_had_without_the_token(stranger: TestClient, path: str) -> None:
    assert stranger.get(path).status_code == 401
    assert stranger.get(f"{path}?token=wrong").status_code == 401
    assert stranger.post("/api/runs", json={"question": QUESTION}).status_code == 401


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_have(stranger: TestClient) -> None:
    reply = stranger.get(f"/?token={TOKEN}")
    assert (reply.status_code, reply.headers["location"]) == (303, "/")
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie


def test_a_page_of_another_site_or_name_is_refused(client: TestClient) -> None:
    assert client.get("/api/about", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.get("/api/about", headers={"host": "evil.example:8421"}).status_code == 403
    assert client.get("/api/about", headers={"origin": "http://127.0.0.1:9"}).status_code == 403
    body = json.dumps({"question": QUESTION})
    assert client.post("/api/runs", content=body, headers={"content-type": "text/plain"}).status_code == 403
    spelled = {"content-type": "application/JSON; charset=utf-8"}
    assert client.post("/api/estimate", content=body, headers=spelled).status_code == 200
    crossed = {"content-type": "application/json", "sec-fetch-site": "cross-site"}
    assert client.post("/api/runs", content=body, headers=crossed).status_code == 403
    assert client.get("/api/about", headers={"origin": "http://127.0.0.1:8421"}).status_code == 200
    assert client.get("/api/runs").json() == []


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/about", "/api/nothing"])
def test_every_reply_has_the_policy(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in POLICY


def test_about_offers_what_clients_may_set_and_no_secret(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    reply = client.get("/api/about")
    assert "secret" not in reply.text
    about = reply.json()
    assert about["knowledge"][0]["entities"] > 1000
    assert about["models"] == ["offline"]
    first = about["methods"][0]
    assert first["name"] == "tog2"
    assert set(first["settings"]) <= {*CLIENT_SETTINGS, "ask_user"}
    assert first["settings"]["width"]["description"]


def test_a_question_is_answered_and_its_events_are_kept(client: TestClient) -> None:
    thread = client.post("/api/runs", json={"question": QUESTION}).json()["thread"]
    run = ended(client, thread)
    kinds = [event["type"] for event in run["events"]]
    assert (kinds[0], kinds[-1]) == ("started", "finished")
    assert run["events"][-1]["answer"]["answers"] == ["Paramaribo"]
    walked = [event for event in run["events"] if event["type"] == "walked"]
    assert walked[0]["starts"][0]["label"] == "Suriname"
    seen = {triple["id"] for event in walked for triple in event["triples"]}
    assert {triple["id"] for triple in run["events"][-1]["answer"]["evidence"]["triples"]} <= seen
    assert any(event["passages"] for event in walked)
    with RunStore() as runs:
        assert runs.events(thread) == run["events"]
        assert runs.get(thread)["status"] == "grounded"
    assert [one["thread"] for one in client.get("/api/runs").json()] == [thread]


def test_events_come_one_by_one_with_their_numbers(client: TestClient) -> None:
    thread = client.post("/api/runs", json={"question": QUESTION}).json()["thread"]
    told = client.get(f"/api/runs/{thread}/events").text
    numbers = [int(line[4:]) for line in told.splitlines() if line.startswith("id: ")]
    assert numbers == list(range(len(numbers)))
    assert told.endswith("event: rest\ndata: {}\n\n")
    rest = client.get(f"/api/runs/{thread}/events?after={numbers[-2]}").text
    assert rest.count("id: ") == 1
    assert client.get("/api/runs/unheard-of/events").status_code == 204
    for odd in ("²", "-1", "9" * 5_000):
        assert client.get(f"/api/runs/{thread}/events", params={"after": odd}).text == told


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"question": " "}, "the question is empty"),
        ({"question": ["a"]}, "the question is a text"),
        ({"question": True}, "the question is a text"),
        ({"question": "x", "method": "magic"}, "no method 'magic'"),
        ({"question": "x", "model": "openai:gpt-4o"}, "no model 'openai:gpt-4o'"),
        ({"question": "x", "settings": {"call_timeout": 1}}, "'call_timeout' is the server's to choose"),
        ({"question": "x", "settings": {"max_calls": 101}}, "can only be lowered"),
        ({"question": "x", "settings": {"width": 10**9}}, "width"),
        ({"question": "x", "settings": [1]}, "settings are an object"),
        ({"question": "x" * 9_000}, "8"),
        ({"question": "x" * 200_000}, "at most 100,000 bytes"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_line(client: TestClient, body: dict, words: str) -> None:
    reply = client.post("/api/runs", json=body)
    assert reply.status_code == 400
    assert words in reply.json()["error"]
    assert "\n" not in reply.json()["error"]
    assert client.get("/api/runs").json() == []


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 50_000, b'"\xff"'])
def test_a_body_that_is_no_object_is_refused(client: TestClient, body: bytes) -> None:
    reply = client.post("/api/runs", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 400


def test_a_ceiling_without_end_is_refused_and_one_that_is_kept_leaves_the_history_readable(
    client: TestClient, world: Knowledge
) -> None:
    body = '{"question": "x", "settings": {"max_seconds": Infinity}}'
    reply = client.post("/api/runs", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 400
    assert "'max_seconds'" in reply.json()["error"]
    with RunStore() as runs:
        # However it came there.
        runs.start(
            "old", QUESTION, {**served(world).options, "settings": {"max_seconds": float("inf"), "max_calls": 3}}
        )
    for path in ("", "/old", "/old/run.json", "/old/share.html"):
        assert "Infinity" not in client.get(f"/api/runs{path}").text
    assert client.get("/api/runs").json()[0]["settings"] == {"max_seconds": None, "max_calls": 3}


def test_an_estimate_asks_no_model(client: TestClient) -> None:
    words = client.post("/api/estimate", json={"question": QUESTION}).json()["words"]
    assert words.startswith("expected ")
    assert "calls" in words
    assert client.get("/api/runs").json() == []


def test_a_run_is_stopped_and_goes_on_where_it_stopped(client: TestClient) -> None:
    question = "Which countries border both Bolivia and Uruguay?"
    thread = client.post("/api/runs", json={"question": question, "method": "coggrag"}).json()["thread"]
    assert client.post(f"/api/runs/{thread}/stop", json={}).status_code == 200
    stopped = ended(client, thread)
    assert stopped["status"] == "unfinished"
    assert stopped["events"][-1]["type"] == "paused"
    assert client.post(f"/api/runs/{thread}/stop", json={}).status_code == 400
    assert client.post(f"/api/runs/{thread}/resume", json={}).status_code == 200
    run = ended(client, thread)
    assert run["events"][: len(stopped["events"])] == stopped["events"]
    assert run["events"][-1]["type"] == "finished"
    assert client.post(f"/api/runs/{thread}/resume", json={}).json()["error"] == f"run {thread} is finished"


def test_a_run_that_waits_for_its_turn_says_so(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, go = threading.Event(), Desk._go

    def held(*args: Any) -> None:
        begin.wait(30)
        go(*args)

    monkeypatch.setattr(Desk, "_go", held)
    threads = [client.post("/api/runs", json={"question": QUESTION}).json()["thread"] for _ in range(MOST_RUNS + 1)]
    said = [[one["type"] for one in client.get(f"/api/runs/{thread}").json()["events"]] for thread in threads]
    begin.set()
    assert said == [[]] * MOST_RUNS + [["queued"]]
    told = [event["type"] for event in ended(client, threads[-1])["events"]]
    assert told[:2] == ["queued", "started"]
    assert told[-1] == "finished"


def shown(client: TestClient, thread: str) -> tuple[str, list[str], list[str]]:
    """What the page, run.json and share.html tell of a run: its question, the events' types and the answers in them."""
    run = client.get(f"/api/runs/{thread}").json()
    assert client.get(f"/api/runs/{thread}/run.json").json() == run
    page = client.get(f"/api/runs/{thread}/share.html").text
    held = json.loads(page.partition('id="run">')[2].partition("</script>")[0])
    assert held == run
    finished = [event["answer"]["text"] for event in run["events"] if event["type"] == "finished"]
    return run["question"], [event["type"] for event in run["events"]], finished


def test_a_run_that_another_process_went_on_with_is_shown_as_that_left_it(client: TestClient) -> None:
    thread = client.post("/api/runs", json={"question": QUESTION}).json()["thread"]
    assert client.post(f"/api/runs/{thread}/stop", json={}).status_code == 200
    assert ended(client, thread)["events"][-1]["type"] == "paused"
    assert main(["resume", thread, "--quiet"]) == 0
    question, kinds, answers = shown(client, thread)
    assert (question, kinds[-1], answers) == (QUESTION, "finished", ["Paramaribo"])
    other = "What is the capital of Peru?"
    assert main(["ask", other, "--thread", thread, "--quiet"]) == 0
    assert shown(client, thread) == (other, ["started", "finished"], ["Lima"])


def test_a_run_that_another_process_works_on_rests_here_until_that_has_answered(
    client: TestClient, world: Knowledge
) -> None:
    options = served(world).options
    with RunStore() as runs, runs.lock("cli1"):
        runs.start("cli1", QUESTION, options)
        client.post("/api/runs/cli1/resume", json={})
        run = ended(client, "cli1")
        assert "being worked on by another process" in run["events"][-1]["reason"]
    assert main(["resume", "cli1", "--quiet"]) == 0
    assert shown(client, "cli1") == (QUESTION, ["started", "finished"], ["Paramaribo"])


def test_a_run_asks_back_and_goes_on_with_the_reply(tight: TestClient) -> None:
    thread = tight.post("/api/runs", json=BORDERS).json()["thread"]
    run = ended(tight, thread)
    assert run["events"][-1]["type"] == "asked"
    assert run["events"][-1]["question"]["kind"] == "budget"
    assert tight.post(f"/api/runs/{thread}/reply", json={"reply": ""}).status_code == 400
    tight.post(f"/api/runs/{thread}/reply", json={"reply": "nonsense"})
    assert "no number" in ended(tight, thread)["events"][-1]["question"]["problem"]
    tight.post(f"/api/runs/{thread}/reply", json={"reply": "60"})
    assert ended(tight, thread)["events"][-1]["type"] == "finished"


def test_a_reply_before_the_question_is_kept_is_taken(tight: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = LiveRun.keep

    def slow(live: LiveRun, runs: RunStore) -> None:
        if live.events[-1]["type"] == "asked":
            time.sleep(1)
        keep(live, runs)

    monkeypatch.setattr(LiveRun, "keep", slow)
    thread = tight.post("/api/runs", json=BORDERS).json()["thread"]
    while "asked" not in [event["type"] for event in tight.get(f"/api/runs/{thread}").json()["events"]]:
        time.sleep(0.02)
    assert tight.post(f"/api/runs/{thread}/reply", json={"reply": "60"}).status_code == 200
    kinds = [event["type"] for event in ended(tight, thread)["events"]]
    assert kinds.count("asked") == 1
    assert kinds[-1] == "finished"


def test_a_run_goes_on_from_a_checkpoint_with_what_was_changed(client: TestClient) -> None:
    thread = client.post("/api/runs", json={"question": QUESTION}).json()["thread"]
    first = ended(client, thread)
    asked = [event for event in first["events"] if event["type"] == "prompted"]
    assert asked
    assert all(one["messages"][-1]["text"] and one["reply"] for one in asked)
    moments = client.get(f"/api/runs/{thread}/moments").json()
    pruned = next(one for one in moments if one["did"] == "relation_prune")
    capital = next(one["id"] for one in pruned["relations"] if "capital" in one["label"])
    path = f"/api/runs/{thread}/fork"
    other = client.post(path, json={"checkpoint": pruned["id"], "forbid": [capital]}).json()["thread"]
    run = ended(client, other)
    forked = next(event for event in run["events"] if event["type"] == "forked")
    assert forked["source"] == thread
    assert forked["changes"] == ["not from Suriname: capital →"]
    after = run["events"][run["events"].index(forked) :]
    assert after[-1]["type"] == "finished"
    walked = next(event for event in after if event["type"] == "walked")
    assert {one["relation_label"] for one in walked["triples"]} == {"currency", "major city"}
    assert client.get(f"/api/runs/{thread}").json()["events"] == first["events"]
    begun = next(one for one in moments if one["addable"] and one["starts"])
    guyana = client.post("/api/look/find_entities", json={"text": "Guyana"}).json()["entities"][0]["id"]
    drop = [one["id"] for one in begun["starts"]]
    moved = {"checkpoint": begun["id"], "drop": drop, "add": [guyana], "question": "What is the capital of Guyana?"}
    run = ended(client, client.post(path, json=moved).json()["thread"])
    assert run["events"][-1]["answer"]["answers"] == ["Georgetown"]
    count = len(client.get("/api/runs").json())
    for wrong in ({"checkpoint": "none"}, {**moved, "add": []}, {**moved, "add": ["no such"]}, {**moved, "drop": "x"}):
        assert client.post(path, json=wrong).status_code == 400
    assert len(client.get("/api/runs").json()) == count, "what was refused leaves no run"


def test_what_would_be_lost_on_the_way_is_not_offered(client: TestClient) -> None:
    """A change of what the next step makes anew, or has walked on from, would do nothing, or break the run."""
    offered: dict[str, set[str]] = {}
    last: dict[str, dict[str, Any]] = {}
    for method in ("tog2", "fasttog", "fiske", "coggrag", "rag"):
        thread = client.post("/api/runs", json={"question": QUESTION, "method": method}).json()["thread"]
        ended(client, thread)
        moments = client.get(f"/api/runs/{thread}/moments").json()
        offered |= {f"{method} {what}": {one["did"] for one in moments if one[what]} for what in ("addable", "clues")}
        for text in ("query", "question"):
            offered[f"{method} {text}"] = {one["did"] for one in moments if text in one["texts"]}
        last[method] = moments[-1]
        path, wrong = f"/api/runs/{thread}/fork", {"checkpoint": moments[0]["id"], "add": ["x"]}
        assert "go back to a step" in client.post(path, json=wrong).json()["error"]
    assert "topic_prune" in offered["tog2 addable"]
    assert not offered["tog2 addable"] & {"begin", "link_entities", "relation_prune", "entity_discovery"}
    assert offered["fasttog addable"] == {"extract_subjects"}
    assert not offered["fiske addable"] | offered["coggrag addable"]
    assert offered["fiske clues"] == {"extract_clues"}
    assert offered["tog2 query"] >= {"topic_prune", "relation_prune"}
    # The last step before the answer has one already: another question would stand over it.
    assert all(one["next"] == ["answer"] and "question" not in one["texts"] for one in last.values())
    assert offered["tog2 question"] >= {"begin", "link_entities", "topic_prune", "entity_prune"}
    assert offered["fiske question"] >= {"begin", "extract_clues", "outcomes"}
    assert offered["rag question"] == {"begin", "link_entities", "passage_search"}
    assert offered["coggrag question"] == {"begin"}, "the mind map asks what it was planted with"


@pytest.mark.parametrize(
    ("method", "did", "change", "answer"),
    [
        ("tog2", "topic_prune", {"query": "the president of Suriname"}, "Paramaribo"),
        ("fasttog", "extract_subjects", {"add": "Guyana", "question": "What is the capital of Guyana?"}, "Georgetown"),
        (
            "fiske",
            "extract_clues",
            {"clues": ["Guyana", "capital"], "question": "What is the capital of Guyana?"},
            "Georgetown",
        ),
        ("coggrag", "begin", {"question": "What is the capital of Guyana?"}, "Georgetown"),
    ],
)
def test_every_kind_of_change_is_heeded(
    client: TestClient, method: str, did: str, change: dict[str, Any], answer: str
) -> None:
    thread = client.post("/api/runs", json={"question": QUESTION, "method": method}).json()["thread"]
    ended(client, thread)
    moment = next(one for one in client.get(f"/api/runs/{thread}/moments").json() if one["did"] == did)
    asked = {"checkpoint": moment["id"], **change}
    if "add" in change:
        found = client.post("/api/look/find_entities", json={"text": change["add"]}).json()["entities"]
        asked |= {"add": [found[0]["id"]], "drop": [one["id"] for one in moment["starts"]]}
    run = ended(client, client.post(f"/api/runs/{thread}/fork", json=asked).json()["thread"])
    forked = next(event for event in run["events"] if event["type"] == "forked")
    after = run["events"][run["events"].index(forked) :]
    assert forked["changes"]
    assert after[-1]["answer"]["answers"] == [answer], after[-1]["answer"]["text"]
    asks = change.get("question", QUESTION)
    assert run["question"] == after[-1]["answer"]["question"] == asks, "an answer stands under its own question"
    assert {one["question"] for one in client.get("/api/runs").json()} == {QUESTION, asks}
    if "query" in change:
        read = next(event for event in after if event["type"] == "retrieved")
        assert any("took office as president" in text for text in read["best"])


@pytest.mark.parametrize(("broken", "kept"), [("of Guyana\ud800", "of Guyana?"), ("of\0Guyana", "of Guyana")])
def test_half_a_character_in_a_changed_question_is_no_internal_error(
    client: TestClient, broken: str, kept: str
) -> None:
    """A question that is asked may hold half a character; one that was changed to hold it could not be kept."""
    thread = client.post("/api/runs", json={"question": QUESTION}).json()["thread"]
    ended(client, thread)
    moment = next(one for one in client.get(f"/api/runs/{thread}/moments").json() if "question" in one["texts"])
    asked = {"checkpoint": moment["id"], "question": broken}
    # As a browser sends it: escaped.
    sent = {"content": json.dumps(asked), "headers": {"content-type": "application/json"}}
    forked = client.post(f"/api/runs/{thread}/fork", **sent)
    assert forked.status_code == 200, forked.text
    assert ended(client, forked.json()["thread"])["question"] == kept


def _answered(client: TestClient, kind: str, message: dict[str, str]) -> list[Any]:
    """What the application sends for a POST, or a web socket, of which `message` is all that comes."""
    sent: list[Any] = []
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    headers = {"host": "127.0.0.1", "content-type": "application/json", "cookie": cookie}

    async def receive() -> dict[str, str]:
        return message

    async def send(one: Any) -> None:
        sent.append(one)

    scope = {
        "type": kind,
        "method": "POST",
        "path": "/api/runs",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(client.app(scope, receive, send))
    return sent


def test_a_sender_who_goes_away_leaves_no_traceback_in_the_log(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    """A request that ended in the middle was logged as a fault of the page, with its traceback."""
    assert _answered(client, "http", {"type": "http.disconnect"})[0]["status"] == 400
    assert not caplog.records


def test_a_web_socket_is_refused(client: TestClient) -> None:
    """Nothing was sent, which a server takes for a fault: status 500, and an error in the log, for whoever knocks."""
    assert _answered(client, "websocket", {"type": "websocket.connect"}) == [{"type": "websocket.close"}]


def test_what_is_indexed_is_what_kb_info_says(client: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    lines = client.get("/api/indexed").json()["lines"]
    capsys.readouterr()
    main(["kb", "info", "world"])
    assert capsys.readouterr().out.startswith("\n".join(lines))
    titles = [line.partition(" ")[0] for line in lines]
    assert {"encoded", "search", "embedder", "by"} <= set(titles)


def test_look_ups_are_those_of_the_tools(client: TestClient) -> None:
    found = client.post("/api/look/find_entities", json={"text": "Suriname"}).json()["entities"]
    assert found[0]["label"] == "Suriname"
    here = {"entity": found[0]["id"]}
    assert client.post("/api/look/neighbours", json={**here, "limit": 5}).json()["triples"]
    assert client.post("/api/look/relations_of", json=here).json()["relations"]
    passages = client.post("/api/look/passages_of", json={"entities": [found[0]["id"]], "query": "capital"})
    assert passages.json()["passages"]
    for name, body, words in (
        ("drop_table", {}, "there is no look-up 'drop_table'"),
        ("ask", {"question": QUESTION}, "there is no look-up 'ask'"),
        ("find_entities", {"text": ""}, "text is empty"),
        ("find_entities", {"text": "x" * 9_000}, "find_entities: 'text'"),
        ("neighbours", {"entity": "x", "sql": 1}, "neighbours takes no 'sql'"),
    ):
        reply = client.post(f"/api/look/{name}", json=body)
        error = reply.json()["error"]
        assert (reply.status_code, "\n" in error, "pydantic" in error) == (400, False, False)
        assert error.startswith(words)
        assert len(error) < 300


def test_a_run_is_shared_as_page_picture_and_events(client: TestClient) -> None:
    thread = client.post("/api/runs", json={"question": QUESTION}).json()["thread"]
    run = ended(client, thread)
    page = client.get(f"/api/runs/{thread}/share.html")
    assert page.headers["content-disposition"] == f'attachment; filename="{thread}-share.html"'
    assert "Paramaribo" in page.text
    assert client.get(f"/api/runs/{thread}/picture.svg").text.startswith("<svg")
    assert json.loads(client.get(f"/api/runs/{thread}/run.json").text)["events"] == run["events"]
    assert client.get(f"/api/runs/{thread}/passwd").status_code == 400
    assert client.get("/api/runs/unheard-of/share.html").status_code == 400


def test_runs_of_the_command_line_are_in_the_history(client: TestClient, world: Knowledge) -> None:
    assert main(["ask", QUESTION, "--thread", "mine", "--quiet", "--json"]) == 0
    run = client.get("/api/runs/mine").json()
    assert [event["type"] for event in run["events"]] == ["started", "finished"]
    assert run["status"] == "grounded"


def test_a_run_with_a_name_of_other_letters_is_shared_under_it(client: TestClient) -> None:
    assert main(["ask", QUESTION, "--thread", "日本", "--quiet"]) == 0
    for file in ("share.html", "picture.svg", "run.json"):
        reply = client.get(f"/api/runs/日本/{file}")
        assert reply.status_code == 200
        named = f"attachment; filename*=UTF-8''%E6%97%A5%E6%9C%AC-{file}"
        assert reply.headers["content-disposition"] == named


def test_a_closed_page_leaves_a_run_that_can_be_resumed(world: Knowledge) -> None:
    with TestClient(app_of(served(world)), base_url="http://127.0.0.1:8421") as first:
        first.get(f"/?token={TOKEN}")
        thread = first.post("/api/runs", json=BORDERS).json()["thread"]
    with TestClient(app_of(served(world)), base_url="http://127.0.0.1:8421") as second:
        second.get(f"/?token={TOKEN}")
        until = time.monotonic() + 30
        while time.monotonic() < until and second.post(f"/api/runs/{thread}/resume", json={}).status_code != 200:
            assert second.get(f"/api/runs/{thread}").json()["status"] == "unfinished"
            time.sleep(0.1)
        run = ended(second, thread)
        while run["events"][-1]["type"] != "finished" and time.monotonic() < until:
            time.sleep(0.1)  # the first page may have held the lock still
            second.post(f"/api/runs/{thread}/resume", json={})
            run = ended(second, thread)
        assert run["events"][-1]["type"] == "finished"
