"""Knowledge by address: a SPARQL endpoint, with or without a password, and passages from a Chroma collection."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import chromadb
import pytest
from chromadb.config import Settings
from cli.conftest import ANSWER, MODEL, QUESTION
from graphs.cases import ROWS
from replies import Drop, Fault, Hang
from sparql_server import Page, SparqlServer

from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.addresses import redacted
from thinkgraph.tools.encoders.embeddings import BundledEmbedder
from thinkgraph.tools.protocols import Embedder

PASSWORD = "geheim#7"  # noqa: S105 - nobody's
NODES = {name: f"<http://e/{quote(name.replace(' ', '_'))}>" for row in ROWS for name in row[:1] + row[2:]}


def triples() -> str:
    out = []
    for subject, relation, value in ROWS:
        end = f'"{value}"' if value.isdecimal() else NODES[value]
        out.append(f"{NODES[subject]} <http://e/ns#{relation}> {end} .")
    return "\n".join(out)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def endpoint():
    with SparqlServer(triples()) as server:
        yield server


def address(server: SparqlServer, login: str = "", options: str = "") -> str:
    return f"sparql+http://{login}127.0.0.1:{server.port}/sparql?retries=0{options}"


def run_ask(cli, spec, *more):
    return cli("ask", QUESTION, "--kb", spec, "--model", MODEL, "--set", "ranker=bm25", *more)


def test_the_same_answer_and_round_trips_as_over_a_folder(cli, kb, endpoint, served):
    over = [json.loads(run_ask(cli, spec, "--json").out) for spec in (kb, address(endpoint))]
    assert [one["text"] for one in over] == [ANSWER, ANSWER]
    assert [one["status"] for one in over] == ["grounded", "grounded"]
    counts = [(one["usage"]["total"]["calls"], one["usage"]["store_round_trips"]) for one in over]
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("trouble", "options", "step"),
    [
        (Drop("head"), "", 1),
        (Hang(60), "&timeout=1", 4),
        (Fault(503, "the database is read-only while it is restored"), "", 1),
        (Fault(400, "Parse error: VALUES is not a keyword of SPARQL 1.0"), "", 1),
        (Page(b"<html>another product"), "", 1),
    ],
    ids=["killed", "paused", "in maintenance", "of an older version", "of another kind"],
)
def test_a_server_that_fails_in_the_middle_of_a_run(cli, endpoint, served, trouble, options, step):
    where = address(endpoint, options=options)
    run_ask(cli, where)  # the names are read once
    first, before = len(endpoint.calls), len(served.calls)
    whole = json.loads(run_ask(cli, where, "--json").out)
    asked, paid = len(endpoint.calls) - first, len(served.calls) - before
    stopped = 0
    for fatal in range(0, asked, step):
        first, before = len(endpoint.calls) + fatal, len(served.calls)
        endpoint.change(lambda call, at=first: trouble if call.number >= at else None)
        done = run_ask(cli, where, "--thread", f"t{fatal}")
        endpoint.change(())
        assert done.code == 3
        assert "127.0.0.1" in done.line
        assert not done.out, "what could not be looked up is no answer"
        if f"resume t{fatal}" not in done.line:  # it died before the run began
            continue
        again = cli("resume", f"t{fatal}", "--json")
        assert again.code == 0
        answer = json.loads(again.out)
        assert (answer["text"], answer["evidence"]) == (whole["text"], whole["evidence"])
        # No reply of the model is asked for twice.
        assert len(served.calls) - before == paid
        stopped += 1
    assert stopped > 3 // step


def test_passwords_are_not_written_down(cli, endpoint, served, home, monkeypatch):
    spec = address(endpoint, f"me:{quote(PASSWORD)}@", "&x-apikey=alsosecret")
    done = run_ask(cli, spec, "--thread", "t")
    assert (done.code, done.out.splitlines()[0]) == (0, ANSWER)
    sent = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    assert {call.headers.get("Authorization") for call in endpoint.calls} == {f"Basic {sent}"}
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    for secret in (PASSWORD, quote(PASSWORD), "alsosecret"):
        assert secret.encode() not in kept
        assert secret not in done.out + done.err
    endpoint.change(lambda _: Fault(401, "who are you"))
    refused = run_ask(cli, spec)
    assert refused.code == 3
    assert PASSWORD not in refused.err
    assert quote(PASSWORD) not in refused.err


def test_resuming_needs_the_password_again(cli, endpoint, served, monkeypatch):
    sent = f"Basic {base64.b64encode(f'me:{PASSWORD}'.encode()).decode()}"
    spec = address(endpoint, f"me:{quote(PASSWORD)}@")
    run_ask(cli, spec)
    for thread, more in (("t", ""), ("s", "&x-token=abc")):
        first = len(endpoint.calls) + 4
        endpoint.change(lambda call, at=first: Drop("head") if call.number >= at else None)
        assert run_ask(cli, spec + more, "--thread", thread).code == 3
        endpoint.change(lambda call: None if call.headers.get("Authorization") == sent else Fault(401, "who are you"))
        done = cli("resume", thread)
        assert done.code == 3
        assert ("give --kb again" if more else "SPARQL_PASSWORD") in done.line
        if more:
            done = cli("resume", thread, "--kb", spec + more)
        else:
            monkeypatch.setenv("SPARQL_PASSWORD", PASSWORD)
            done = cli("resume", thread)
        assert (done.code, done.out.splitlines()[0]) == (0, ANSWER)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("neo4j://u:p@h:7687/db", "neo4j://u@h:7687/db"),
        ("sparql+https://u:p%40:x@h/p?token=abc&profile=rdf", "sparql+https://u@h/p?token=***&profile=rdf"),
        ("sparql+https://u:p/x@h/p?contact=a@b", "sparql+https://u@h/p?contact=a@b"),
        ("neo4j://u:a#p?x@h:7687/db", "neo4j://u@h:7687/db"),
        ("sparql+http://h:8890/p?contact=a@b&x-api-key=abc", "sparql+http://h:8890/p?contact=a@b&x-api-key=***"),
        ("sparql+http://[::1]:8890/p?contact=a@b", "sparql+http://[::1]:8890/p?contact=a@b"),
        ("bolt://:p@h", "bolt://h"),
        ("bolt://u@h", "bolt://u@h"),
        ("/a/folder:with@signs", "/a/folder:with@signs"),
        ("world", "world"),
    ],
)
def test_redacted(given, shown):
    assert redacted(given) == shown
    assert redacted(shown) == shown


def test_info_and_doctor(cli, endpoint):
    done = cli("kb", "info", address(endpoint, options="&counts=yes"))
    assert done.code == 0
    assert "triples      8" in done.out
    assert "passages     none" in done.out
    assert json.loads(cli("kb", "info", address(endpoint), "--json").out)["graph"]["triples"] == -1
    assert "unknown" in cli("kb", "info", address(endpoint, options="&counts=no")).out
    assert "leave --text out, and give no address" in cli("kb", "info", address(endpoint), "--documents").line
    checked = cli("doctor", "--no-calls", "--kb", address(endpoint, options="&counts=no&names=server"))
    assert "an unknown number of triples" in checked.out
    assert "misspelt" in checked.out
    assert cli("kb", "info", "sparql+http://127.0.0.1:1/x?retries=0").line.endswith("Connection refused")


def made_collection(folder: Path, embedder: Embedder, **metadata: str) -> Path:
    client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    try:
        texts = client.create_collection("docs", embedding_function=None)
        body = "Citizens of Panama vote from the age of 18."
        texts.add(ids=["v1"], documents=[body], embeddings=embedder.embed([body]), metadatas=[metadata])
    finally:
        client.close()
    return folder


@pytest.fixture
def collection(tmp_path) -> Path:
    return made_collection(tmp_path / "chroma", HashEmbedder(), about="http://e/Panama", head="Voting in Panama")


def test_a_collection_beside_an_endpoint_and_a_folder(cli, kb, endpoint, collection, monkeypatch):
    text = f"chroma:{collection}?collection=docs&entity=about&title=head"
    for spec in (kb, address(endpoint)):
        plain = json.loads(cli("kb", "info", spec, "--json").out)
        done = cli("kb", "info", spec, "--text", text, "--json")
        facts = json.loads(done.out)
        assert facts["text"]["passages"] == 1
        assert facts["fingerprint"] != plain["fingerprint"]
    monkeypatch.chdir(collection.parent)
    assert cli("kb", "info", kb, "--text", "chroma:chroma?collection=docs").code == 0


def test_doctor_asks_the_texts_beside_a_graph(cli, kb, collection):
    for options, says in (
        (
            "entity=about&embedder=bundled",
            "FAIL texts                    the Chroma collection's vectors have 256 dimensions",
        ),
        ("embedder=bundled", "FAIL texts                    no document of docs names an entity"),
    ):
        done = cli("doctor", "--no-calls", "--kb", kb, "--text", f"chroma:{collection}?collection=docs&{options}")
        assert done.code == 1
        assert says in done.out
        assert "1 of the checks failed" in done.out


def test_doctor_tells_texts_about_nothing_in_the_graph(cli, kb, tmp_path):
    folder = made_collection(tmp_path / "chroma", BundledEmbedder(), entity="http://e/Panama")
    done = cli("doctor", "--no-calls", "--kb", kb, "--text", f"chroma:{folder}?collection=docs&embedder=bundled")
    assert done.code == 1
    assert "docs speaks of nothing in the graph: none of 1 entity (http://e/Panama) is there" in done.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("docs", "chroma:FOLDER"),
        ("chroma:", "chroma:FOLDER"),
        ("chroma:x", "names no collection"),
        ("chroma:x?collection=a&entitiy=b", "'entitiy' is no option"),
        ("chroma:/nowhere?collection=a", "no Chroma database"),
        ("faiss:x?collection=a", "chroma:FOLDER"),
    ],
)
def test_texts_that_are_none(cli, kb, text, says):
    for command in (["ask", "What?", "--kb", kb], ["kb", "info", kb], ["bench", "--data", "world", "--kb", kb]):
        done = cli(*command, "--text", text)
        assert done.code == 3
        assert says in done.line
