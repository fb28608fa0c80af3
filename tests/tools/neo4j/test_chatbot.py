"""examples/neo4j/chatbot.py over the movies."""

from __future__ import annotations

import io
import runpy

import pytest
from tools.neo4j.conftest import Database
from tools.neo4j.contents import EXAMPLES

SCRIPT = EXAMPLES / "chatbot.py"
ASKED = "Who wrote the film that Tony Scott directed?\n\nWhen was the director of Speed born?\n"


def test_it_answers_a_line_at_a_time(
    neo4j_server: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(SCRIPT))["main"]
    monkeypatch.setattr("sys.stdin", io.StringIO(ASKED))
    with neo4j_server.holding("movies", lambda there: there.script(EXAMPLES / "movies.cypher")):
        main([neo4j_server.spec])
    first, second = ("\n" + capsys.readouterr().out).split("\n> ")[1:]
    assert first.splitlines()[1:3] == [
        "Jim Cash",
        "Status: grounded (the evidence holds the answer; best guess (offline))",
    ]
    assert "Tony Scott" in first
    assert second.splitlines()[1] == "1943"
