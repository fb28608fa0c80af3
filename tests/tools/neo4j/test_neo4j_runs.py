"""Runs over a server: what is kept of its address, and what happens when it goes away."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import MODEL, use_server
from fakes import FakeModel
from graphs.cases import CASES, PASSAGES, ROWS
from langgraph.checkpoint.memory import InMemorySaver
from local_http import self_signed
from model_server import ModelServer
from replies import Fault
from tools.neo4j.conftest import PASSWORD, QUOTED, Database, cli_run

import thinkgraph as tg
from thinkgraph.errors import StoreError
from thinkgraph.models.offline import OfflineChatModel
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.neo4j import connection

QUESTION = "What is the capital of Panama?"


def small(database: Database) -> None:
    """The graph of the contract's tests, as people model it."""
    values = {"population", "elevation_m"}
    for s, p, o in ROWS:
        if p in values:
            database.run(f"MERGE (a:Place {{name: $s}}) SET a.{p} = toInteger($o)", s=s, o=o)
        else:
            database.run(f"MERGE (a:Place {{name: $s}}) MERGE (b:Place {{name: $o}}) CREATE (a)-[:{p}]->(b)", s=s, o=o)
    for one in PASSAGES:
        database.run(
            "MATCH (a:Place {name: $name}) CREATE (c:Chunk {text: $text, title: $title})-[:ABOUT]->(a)",
            name=one["entities"][0],
            text=one["text"],
            title=one["title"],
        )


@pytest.fixture
def filled(neo4j_server: Database) -> Iterator[Database]:
    with neo4j_server.holding("small", small):
        yield neo4j_server


@pytest.fixture(scope="module")
def offline_server() -> Iterator[ModelServer]:
    with ModelServer(chat_model=OfflineChatModel()) as server:
        yield server


def test_a_run_keeps_no_password_and_goes_on_with_the_environments(
    filled: Database, offline_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["ask", QUESTION, "--kb", filled.spec, "--model", MODEL, "--set", "ranker=bm25", "--thread", "t"]
    with ModelServer([Fault(401, "no")]) as broken:
        use_server(broken, monkeypatch)
        done = cli_run(*words)
    assert done.code == 4
    home = Path(os.environ["THINKGRAPH_HOME"])
    secrets = [PASSWORD.encode(), QUOTED.encode(), json.dumps(PASSWORD).encode()]
    for file in home.rglob("*"):
        if file.is_file():
            assert not any(secret in file.read_bytes() for secret in secrets), file
    shown = cli_run("runs", "--json").out + cli_run("runs", "export", "t").out + done.out + done.err
    assert not any(secret.decode() in shown for secret in secrets)
    assert json.loads(cli_run("runs", "--json").out)[0]["options"]["kb"] == f"bolt://neo4j@{filled.address.place}"
    use_server(offline_server, monkeypatch)
    refused = cli_run("resume", "t")
    assert refused.code == 3
    assert "does not let 'neo4j' in: check user and password" in refused.line
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)
    went_on = cli_run("resume", "t", "--json")
    assert went_on.code == 0, went_on.err
    assert json.loads(went_on.out)["answers"] == ["Panama City"]


def test_a_run_goes_on_with_the_password_of_the_flag(
    filled: Database, offline_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([Fault(401, "no")]) as broken:
        use_server(broken, monkeypatch)
        cli_run("ask", QUESTION, "--kb", filled.spec, "--model", MODEL, "--set", "ranker=bm25", "--thread", "t")
    use_server(offline_server, monkeypatch)
    done = cli_run("resume", "t", "--kb", filled.spec, "--json")
    assert done.code == 0, done.err
    home = Path(os.environ["THINKGRAPH_HOME"])
    assert not any(QUOTED.encode() in file.read_bytes() for file in home.rglob("*") if file.is_file())


def test_a_run_over_a_changed_database_is_refused(
    filled: Database, offline_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([Fault(401, "no")]) as broken:
        use_server(broken, monkeypatch)
        cli_run("ask", QUESTION, "--kb", filled.spec, "--model", MODEL, "--set", "ranker=bm25", "--thread", "t")
    use_server(offline_server, monkeypatch)
    filled.run("CREATE (:Place {name: 'Atlantis'})")
    try:
        done = cli_run("resume", "t", "--kb", filled.spec)
        assert done.code == 5
        assert "was started over knowledge base 'neo4j'" in done.line
    finally:
        filled.run("MATCH (n:Place {name: 'Atlantis'}) DELETE n")
    assert cli_run("resume", "t", "--kb", filled.spec).code == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda spec: spec.replace(QUOTED, "wrong"), "does not let 'neo4j' in: check user and password"),
        (lambda spec: spec.replace(f"neo4j:{QUOTED}@", ""), "wants a user and a password"),
        (lambda spec: spec + "/nodb", "has no database 'nodb' that is online"),
        (lambda spec: spec.replace("bolt:", "neo4j:") + "/nodb", "has no database 'nodb' that is online"),
        (lambda spec: spec.replace("bolt:", "bolt+s:"), "it does not speak TLS"),
        (lambda spec: spec.replace("bolt:", "neo4j+ssc:"), "try neo4j:// without +s"),
        (lambda spec: spec.rpartition(":")[0] + ":9", "cannot be reached: [Errno 111] Connection refused"),
        (lambda spec: spec.replace("127.0.0.1", "nowhere.invalid"), "cannot be reached: "),
    ],
)
def test_one_line_for_what_goes_wrong(filled: Database, change: Any, said: str) -> None:
    done = cli_run("ask", QUESTION, "--kb", change(filled.spec), "--quiet")
    assert done.code == 3
    assert said in done.line
    assert QUOTED not in done.err
    assert PASSWORD not in done.err


def test_a_web_server_is_no_database(offline_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    # It waits for the rest of a request, and so does the driver for its answer.
    monkeypatch.setattr(connection, "_POOL_SECONDS", 1.0)
    port = offline_server.base_url.rpartition(":")[2].partition("/")[0]
    done = cli_run("kb", "info", f"bolt://127.0.0.1:{port}")
    assert done.code == 3
    assert "what answers there is a web server" in done.line or "cannot be reached" in done.line


@pytest.mark.parametrize("scheme", ["bolt", "neo4j", "bolt+ssc"])
def test_a_server_that_takes_connections_and_says_nothing(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setattr(connection, "_POOL_SECONDS", 1.0)
    monkeypatch.setattr(connection, "_CONNECT_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        done = cli_run("kb", "info", f"{scheme}://127.0.0.1:{mute.getsockname()[1]}")
    assert done.code == 3
    assert "cannot be reached: it takes connections and says nothing; look at the server, and try again" in done.line


def test_a_closed_store_says_so(filled: Database) -> None:
    knowledge = Knowledge.open(filled.spec)
    knowledge.close()
    knowledge.close()
    with pytest.raises(StoreError, match="is closed; open the knowledge base again"):
        knowledge.graph.lookup(["Panama"])


def test_queries_are_bounded_in_time(filled: Database) -> None:
    with Knowledge.open(f"{filled.spec}?timeout=2") as knowledge:
        connection = knowledge.graph.connection  # type: ignore[attr-defined]
        with pytest.raises(StoreError, match=r"took Neo4j at .* more than 2 seconds; allow more with"):
            connection.rows("UNWIND range(1, 1000000000) AS i RETURN sum(i)")


def test_nothing_can_be_written(filled: Database) -> None:
    with (
        Knowledge.open(filled.spec) as knowledge,
        pytest.raises(StoreError, match="Writing in read access mode not allowed"),
    ):
        knowledge.graph.connection.rows("CREATE (n:Made) RETURN n")  # type: ignore[attr-defined]


@pytest.fixture
def behind_tls(filled: Database, tmp_path: Path) -> Iterator[str]:
    """The server behind TLS with a self-signed certificate; gives host and port."""
    context = self_signed(tmp_path)
    inside = (filled.address.host, filled.address.port)

    class Tunnel(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with (
                contextlib.suppress(OSError),
                context.wrap_socket(self.request, server_side=True) as outer,
                socket.create_connection(inside) as inner,
            ):
                outer.settimeout(0.05)
                inner.settimeout(0.05)
                self.copy(outer, inner)

        def copy(self, outer: socket.socket, inner: socket.socket) -> None:
            while True:
                for source, sink in ((outer, inner), (inner, outer)):
                    with contextlib.suppress(TimeoutError):
                        data = source.recv(1 << 16)
                        if not data:
                            return
                        sink.sendall(data)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", 0), Tunnel) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_certificates(filled: Database, behind_tls: str) -> None:
    spec = filled.spec.replace(filled.address.place, behind_tls)
    with Knowledge.open(spec.replace("bolt:", "bolt+ssc:")) as knowledge:
        assert knowledge.graph.lookup(["Panama"])[0]
    done = cli_run("kb", "info", spec.replace("bolt:", "bolt+s:"))
    assert done.code == 3
    assert "its certificate is not trusted" in done.line
    assert "bolt+ssc:// accepts a self-signed one" in done.line
    plain = cli_run("kb", "info", spec)
    assert plain.code == 3
    assert "if it wants TLS, use bolt+s://" in plain.line


def test_a_server_that_dies_in_the_middle_of_a_run(filled: Database) -> None:
    server = filled.server
    if server is None:
        pytest.skip("the server is somebody else's")
    case = CASES["tog2"]
    expected = tg.build("tog2", knowledge=case.knowledge(), model=FakeModel(case.replies), settings=case.settings)
    wanted = expected.invoke({"question": case.question})["answer"]
    killed: list[bool] = []

    def relations(prompt: Any) -> Any:
        if not killed:
            killed.append(True)
            server.kill()
        return case.replies["tog2.relation_prune"](prompt)

    model = FakeModel({**case.replies, "tog2.relation_prune": relations})
    config: Any = {"configurable": {"thread_id": "1"}}
    with Knowledge.open(filled.spec, embedder=HashEmbedder()) as knowledge:
        graph = tg.build(
            "tog2",
            knowledge=knowledge,
            model=model,
            settings=case.settings,
            checkpointer=InMemorySaver(),
            journal=tg.MemoryJournal(),
        )
        try:
            with pytest.raises(StoreError) as caught:
                graph.invoke({"question": case.question}, config)
            assert f"Neo4j at 127.0.0.1:{server.port} cannot be reached" in str(caught.value)
            assert "\n" not in str(caught.value)
            assert PASSWORD not in str(caught.value)
            with pytest.raises(StoreError):
                Knowledge.open(filled.spec)
        finally:
            server.start()
        # The same graph over the same knowledge goes on: its connections come back by themselves.
        answer = graph.invoke(None, config)["answer"]
    assert answer["answers"] == wanted["answers"] == case.answers
    assert answer["status"] == "grounded"
    assert answer["usage"]["total"]["calls"] == case.calls
    assert model.roles.count("tog2.relation_prune") == 1, "the reply that came before the server died was kept"
    assert answer["evidence"]["passages"][0]["text"] == wanted["evidence"]["passages"][0]["text"]
