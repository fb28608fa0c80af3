"""docs/tutorial.md works as it stands, on a real Neo4j server: its commands, its Python, and what it says they print. So do the
Python of docs/howto/neo4j.md, and the commands there and in README.md that ask a server.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import chromadb
import pytest
from chromadb.config import Settings
from integrations.langgraph.conftest import serving
from model_server import ModelServer, ServedCall
from replies import Answer, Reply
from tools.neo4j.conftest import ROOT, Database, cli_run
from tools.neo4j.contents import EXAMPLES

from thinkgraph.testing.embedder import HashEmbedder

PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
ADDRESS, SERVER = "bolt://127.0.0.1:7687", "http://127.0.0.1:2024"
START = "scripts/neo4j-server --load examples/neo4j/movies.cypher"
CUT = " …"
"""A line of the page that ends so is the beginning of a line that is printed."""


class Block(NamedTuple):
    """A block of the page, and what the page says it prints; nothing where the page does not say."""

    language: str
    code: str
    printed: list[str]


def blocks() -> list[Block]:
    """The blocks of the page in their order."""
    found = re.findall(r"(?ms)^```(sh|python)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", PAGE)
    return [Block(language, code, printed.splitlines()) for language, code, printed in found]


def check(printed: str, block: Block) -> None:
    """Every line that the page shows is there, in this order."""
    lines = iter(printed.splitlines())
    for shown in filter(None, block.printed):
        whole, cut = shown.removesuffix(CUT), shown.endswith(CUT)
        assert any(line.startswith(whole) if cut else line.rstrip() == whole for line in lines), (shown, printed)


def agent(call: ServedCall) -> Answer:
    """A hosted model: it asks the tool once, and then says what came back."""
    last = call.messages[-1]
    if last["role"] == "tool":
        return Reply(last["content"].splitlines()[0])
    name = call.parameters["tools"][0]["function"]["name"]
    return Reply("", tool_calls=[{"name": name, "args": {"question": last["content"]}, "id": "1"}])


def test_every_block_of_the_page_is_run_here() -> None:
    assert len(re.findall(r"(?m)^```\w", PAGE)) == sum(2 if block.printed else 1 for block in blocks())
    assert [block.language for block in blocks()] == ["sh", "sh", "sh", "python", "python", "sh", "python"]


def test_the_tutorial(
    neo4j_server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    start, info, ask, *python, serve, client = blocks()
    assert start.code == f"{START}\n"
    (tmp_path / "thinkgraph").symlink_to(ROOT / "thinkgraph")
    (tmp_path / "langgraph.json").write_text((ROOT / "langgraph.json").read_text("utf-8"), "utf-8")
    with (
        neo4j_server.holding("movies", lambda there: there.script(EXAMPLES / "movies.cypher")),
        ModelServer(agent) as models,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", models.base_url)
        for block in (info, ask):
            program, *words = shlex.split(block.code)
            assert program == "./tg"
            assert ADDRESS in words
            done = cli_run(*(neo4j_server.spec if word == ADDRESS else word for word in words))
            assert done.code == 0, done.err
            check(done.out.replace(neo4j_server.plain, ADDRESS), block)
        names: dict[str, Any] = {}
        for block in python:
            code = block.code.replace(ADDRESS, neo4j_server.spec)
            exec(compile(code, "tutorial", "exec"), names)  # noqa: S102 - our own page
            check(capsys.readouterr().out, block)
        assert [len(call.messages) for call in models.calls] == [2, 4]
        assert serve.code == f"THINKGRAPH_KB={ADDRESS} ./tg dev --no-browser\n"
        given = {"THINKGRAPH_KB": neo4j_server.spec, "THINKGRAPH_MODEL": None}
        names["kb"].close()
        with serving(tmp_path, models, given) as running:
            exec(compile(client.code.replace(SERVER, running.url), "tutorial", "exec"), names)  # noqa: S102 - as above
            names["client"].close()
            check(capsys.readouterr().out, client)


@pytest.mark.parametrize("page", ["README.md", "docs/howto/neo4j.md"])
def test_commands_that_need_a_server(neo4j_server: Database, page: str) -> None:
    lines = re.findall(r"(?m)^ {4}\./tg ((?:ask|kb info) [^#\n]*neo4j://[^#\n]*)", (ROOT / page).read_text("utf-8"))
    assert lines
    with neo4j_server.holding("movies", lambda there: there.script(EXAMPLES / "movies.cypher")):
        for line in lines:
            words = shlex.split(re.sub(r"neo4j://\S+", neo4j_server.spec, line).replace("…", "Who directed Speed?"))
            done = cli_run(*words)
            assert done.code == 0, done.err
            assert ("Jan de Bont" if words[0] == "ask" else "(FOLLOWS)") in done.out


def test_passages_from_elsewhere(neo4j_server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```$", (ROOT / "docs" / "howto" / "neo4j.md").read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    client = chromadb.PersistentClient("chroma-folder", settings=Settings(anonymized_telemetry=False))
    said = "Brakes fail on the bus."
    client.create_collection("plots", embedding_function=None).add(
        ids=["1"], documents=[said], embeddings=HashEmbedder().embed([said]), metadatas=[{"title": "Speed"}]
    )
    # The films here have no tmdbId: their titles stand in.
    code = code.replace("neo4j://user@host/films", neo4j_server.spec).replace("tmdbId", "title")
    names: dict[str, Any] = {}
    with (
        contextlib.closing(client),
        neo4j_server.holding("movies", lambda there: there.script(EXAMPLES / "movies.cypher")),
    ):
        exec(compile(code, "neo4j.md", "exec"), names)  # noqa: S102 - our own page
        with names["kb"] as kb:
            (match,) = kb.graph.lookup(["Speed"])[0]
            passage = kb.text.passages(["1"])[0]
    assert (passage["text"], passage["entities"]) == (said, [match["entity"]["id"]])
