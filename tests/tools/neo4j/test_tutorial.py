"""docs/tutorial.md works as it stands, on a real Neo4j server: its commands, its Python, and what it says they print. So do the
Python of docs/howto/neo4j.md, and the commands there, in README.md, docs/howto/training.md and examples/neo4j/README.md that need a server.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import chromadb
import pytest
from chromadb.config import Settings
from docs.page_blocks import block_of, check_printed
from docs.page_blocks import blocks as blocks_of
from graphs.cases import ROWS
from integrations.langgraph.conftest import Model, serving
from model_server import ModelServer, ServedCall
from replies import Answer, Reply
from tools.neo4j.conftest import ROOT, Database, cli_run
from tools.neo4j.contents import EXAMPLES

from thinkgraph.ingest.build import build_kb
from thinkgraph.testing.embedder import HashEmbedder

PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
ADDRESS, SERVER = "bolt://127.0.0.1:7687", "http://127.0.0.1:2024"
START = "scripts/neo4j-server --load examples/neo4j/movies.cypher"


class Block(NamedTuple):
    """A block of the page, and what the page says it prints; nothing where the page does not say."""

    language: str
    code: str
    printed: str


def blocks() -> list[Block]:
    """The blocks of the page in their order."""
    found = re.findall(r"(?ms)^```(sh|python)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", PAGE)
    return [Block(language, code, printed) for language, code, printed in found]


def agent(call: ServedCall) -> Answer:
    """A hosted model: it asks the tool once, and then says what came back."""
    last = call.messages[-1]
    if last["role"] == "tool":
        return Reply(last["content"].splitlines()[0])
    name = call.parameters["tools"][0]["function"]["name"]
    return Reply("", tool_calls=[{"name": name, "args": {"question": last["content"]}, "id": "1"}])


def test_every_block_of_the_page_is_run_here() -> None:
    every = [block.text for block in blocks_of(ROOT / "docs" / "tutorial.md")]
    assert every == [text for block in blocks() for text in (block.code, block.printed) if text]
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
            check_printed(done.out.replace(neo4j_server.plain, ADDRESS), block.printed)
        names: dict[str, Any] = {}
        for block in python:
            code = block.code.replace(ADDRESS, neo4j_server.spec)
            exec(compile(code, "tutorial", "exec"), names)  # noqa: S102 - our own page
            check_printed(capsys.readouterr().out, block.printed)
        assert [len(call.messages) for call in models.calls] == [2, 4]
        assert serve.code == f"THINKGRAPH_KB={ADDRESS} ./tg dev --no-browser\n"
        given = {"THINKGRAPH_KB": neo4j_server.spec, "THINKGRAPH_MODEL": None}
        names["kb"].close()
        with serving(tmp_path, models, given) as running:
            exec(compile(client.code.replace(SERVER, running.url), "tutorial", "exec"), names)  # noqa: S102 - as above
            names["client"].close()
            check_printed(capsys.readouterr().out, client.printed)


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
    code = block_of("docs/howto/neo4j.md", "import thinkgraph")
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


def hosted(call: ServedCall) -> Answer:
    """A hosted model that calls tools where it has some, and else answers as the offline one."""
    return agent(call) if "tools" in call.parameters else Model()(call)


def test_the_chatbot_of_the_examples(
    neo4j_server: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = block_of("examples/neo4j/README.md", "python examples/neo4j/chatbot.py").splitlines()
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with (
        neo4j_server.holding("movies", lambda there: there.script(EXAMPLES / "movies.cypher")),
        ModelServer(hosted) as models,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", models.base_url)
        said = []
        for line in lines:
            _, script, *words = shlex.split(line, comments=True)
            monkeypatch.setattr("sys.stdin", io.StringIO("Who wrote the film that Tony Scott directed?\n"))
            runpy.run_path(str(ROOT / script))["main"]([word.replace(ADDRESS, neo4j_server.spec) for word in words])
            said.append(capsys.readouterr().out.splitlines()[1])
            assert bool(models.calls) == ("--model" in words)
    assert said[0] == "Jim Cash"
    assert said[1].startswith(("Jim Cash", "I don't know"))


def test_training_data_come_out_of_a_database(
    neo4j_server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (line,) = re.findall(r"\./tg (export training .*neo4j://.*)", (ROOT / "docs/howto/training.md").read_text("utf-8"))
    words = shlex.split(re.sub(r"neo4j://\S+", neo4j_server.spec, line).replace("500", "2"))
    with (
        neo4j_server.holding("movies", lambda there: there.script(EXAMPLES / "movies.cypher")),
        ModelServer(hosted) as models,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", models.base_url)
        done = cli_run(*words)
        assert done.code == 0, done.err
        assert models.calls
    assert list(Path("movie-data", "train").glob("*.jsonl"))


def test_the_samples_of_the_examples(neo4j_server: Database) -> None:
    for group in block_of("examples/neo4j/README.md", "scripts/neo4j-server").split("\n\n"):
        start, *lines = (shlex.split(line, comments=True) for line in group.splitlines())
        sample = ROOT / start[-1]
        with neo4j_server.holding(sample.stem, lambda there, sample=sample: there.script(sample)):  # type: ignore[misc]
            for _, *words in lines:
                done = cli_run(*(neo4j_server.spec if word == ADDRESS else word for word in words))
                assert done.code == 0, done.err
                assert words[0] == "kb" or "grounded" in done.out, done.out


def test_a_knowledge_base_goes_into_an_empty_database(
    neo4j_server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS), "utf-8")
    build_kb(Path("my-kb"), triples=[Path("rows.tsv")])
    line = block_of("docs/howto/neo4j.md", "./tg kb export").splitlines()[0]

    def export(there: Database) -> None:
        done = cli_run(*shlex.split(line.replace("neo4j://user@host/database", there.spec))[1:])
        assert done.code == 0, done.err

    with neo4j_server.holding("the export of a page", export):
        done = cli_run("ask", "--kb", neo4j_server.spec, "What is the capital of Panama?")
    assert done.out.splitlines()[0] == "Panama City"
