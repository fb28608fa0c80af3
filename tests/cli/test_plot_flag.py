"""`--plot` of ask and resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import ANSWER, QUESTION, Run, use_server
from model_server import ModelServer
from replies import Fault

from thinkgraph.cli.runs import RunStore
from thinkgraph.tools.knowledge import Knowledge


def test_ask_and_resume_draw_the_answer(ask: Run, cli: Run, tmp_path: Path) -> None:
    svg, page = tmp_path / "why.svg", tmp_path / "why.html"
    done = ask(QUESTION, "--thread", "t", "--plot", str(svg), "--json")
    assert done.code == 0
    assert json.loads(done.out)["answers"] == [ANSWER]
    assert f"picture written to {svg}" in done.err
    assert ANSWER in svg.read_text("utf-8")
    done = cli("resume", "t", "--plot", str(page), "--quiet")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == ANSWER
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_a_run_that_was_stopped_is_drawn_when_it_ends(
    ask: Run, cli: Run, served: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "why.svg"
    with ModelServer([Fault(401, "no")]) as broken:
        use_server(broken, monkeypatch)
        assert ask(QUESTION, "--thread", "t", "--plot", str(file)).code == 4
    assert not file.exists()
    use_server(served, monkeypatch)
    assert cli("resume", "t", "--plot", str(file)).code == 0
    assert ANSWER in file.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("why.png", "a picture is written as .svg or .html"),
        ("", "a picture is written as .svg or .html"),
        ("nowhere/why.svg", "there is no folder"),
        ("file/why.svg", "is a file, not a folder"),
        ("folder.html", "is a folder; name a file"),
        ("a\x1b[31m.svg/b.svg", "there is no folder"),
    ],
)
def test_a_wrong_target_costs_nothing(
    ask: Run, cli: Run, served: ModelServer, home: Path, tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.html").mkdir()
    before = len(served.calls)
    for done in (ask(QUESTION, "--plot", str(tmp_path / name)), cli("resume", "t", "--plot", str(tmp_path / name))):
        assert done.code == 2
        assert words in done.line
        assert "\x1b" not in done.err
        assert done.out == ""
    assert len(served.calls) == before
    with RunStore(home) as runs:
        assert runs.rows() == []


def test_of_an_answer_without_evidence_the_search_and_its_end_are_drawn(ask: Run, tmp_path: Path) -> None:
    file = tmp_path / "why.svg"
    done = ask("Zorblax?", "--plot", str(file))
    assert done.out.startswith("I don't know")
    assert done.code == 0
    assert "<title>no entity of the knowledge base fits the question" in file.read_text("utf-8")


def shown(page: Path | str) -> dict[str, Any]:
    """The run that a page holds."""
    text = page if isinstance(page, str) else page.read_text("utf-8")
    run: dict[str, Any] = json.loads(text.partition('id="run">')[2].partition("</script>")[0])
    return run


def test_the_page_is_the_one_that_the_page_shares(cli: Run, tmp_path: Path) -> None:
    testclient = pytest.importorskip("starlette.testclient")
    from ui.conftest import TOKEN, app_of, ended, served

    question, file = "What is the capital of Suriname?", tmp_path / "why.html"
    words = ("--kb", "world", "--model", "offline", "--quiet", "--set", "ask_user=budget")
    assert cli("ask", question, *words, "--plot", str(file)).code == 0
    with (
        Knowledge.open("world") as world,
        testclient.TestClient(app_of(served(world)), base_url="http://127.0.0.1:8421") as client,
    ):
        client.get(f"/?token={TOKEN}")
        thread = client.post("/api/runs", json={"question": question}).json()["thread"]
        ended(client, thread)
        shared = shown(client.get(f"/api/runs/{thread}/share.html").text)
    own = shown(file)
    kinds = [event["type"] for event in own["events"]]
    assert kinds == [event["type"] for event in shared["events"]]
    assert "prompted" in kinds
    assert {"thread", "updated", "events"} == {name for name in own if own[name] != shared[name]}
    assert own.keys() == shared.keys()
    assert (own["knowledge"], own["settings"]) == ("world", {"ask_user": "budget"})


def test_the_page_of_a_run_that_was_stopped_has_its_stop_and_what_it_asked(
    ask: Run, cli: Run, served: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plot = ("--plot", str(tmp_path / "why.html"))
    assert ask(QUESTION, "--thread", "t", *plot, "--set", "ask_user=budget", "--set", "max_calls=1").code == 5
    with ModelServer([Fault(401, "no")]) as broken:
        use_server(broken, monkeypatch)
        assert cli("resume", "t", "--answer", "9", *plot).code == 4
    use_server(served, monkeypatch)
    # Nobody watches its end: that is in the page all the same.
    assert cli("resume", "t").code == 0
    assert cli("resume", "t", *plot).code == 0
    kinds = [event["type"] for event in shown(tmp_path / "why.html")["events"]]
    assert (kinds[0], kinds[-1]) == ("started", "finished")
    assert [kind for kind in kinds if kind in {"paused", "asked"}] == ["asked", "paused"]
