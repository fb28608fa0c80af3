"""A knowledge base loaded into Neo4j is the knowledge base it was."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import environment
from fakes import FakeModel
from graphs.cases import CASES, PASSAGES, ROWS
from neo4j_server import Neo4jServer, admin
from tools.neo4j.conftest import Database, cli_run

import thinkgraph as tg
from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.build import build_kb
from thinkgraph.ingest.encode import encode_kb
from thinkgraph.ingest.neo4j.csv_files import export_csv
from thinkgraph.ingest.neo4j.export import export_neo4j
from thinkgraph.state.knowledge import Triple
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.linking.linker import StandardLinker
from thinkgraph.tools.neo4j.connection import Connection
from thinkgraph.tools.protocols import GraphStore

LONG = "long id " * 1_500
ODD = 'a "quoted" `name\\u0041\\ with {braces}; MATCH (n) DETACH DELETE n //'
MORE: list[dict[str, Any]] = [
    {"s": "Panama", "p": "ABOUT", "o": "Colombia"},
    {"s": "Panama", "p": ODD, "o": "Costa Rica", "qualifiers": [["since", "1903"], ["since", "1904"], [ODD, ODD]]},
    {"s": LONG, "p": "borders", "o": LONG},
    {"s": ODD, "p": "P31", "o": "Panama"},
    {"s": "Panama", "p": "motto", "o": 'Pro mundi\nbeneficio, "for" all', "literal": True},
    {"s": "Panama", "p": "motto", "o": "Pro mundi\nbeneficio", "literal": True},
    {"s": "Panama", "p": "motto", "o": "Pro mundi\r\nbeneficio", "literal": True},
    {"s": "Panama", "p": "motto", "o": "Pro mundi\rbeneficio", "literal": True},
    {"s": "Colombia", "p": "population", "o": "52000000", "literal": True, "qualifiers": [["in", "2023"]]},
    {"s": "Panama", "p": "HAS_CANAL", "o": "Panama Canal"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small graph of the contract's tests with everything odd beside it."""
    return build(tmp_path_factory.mktemp("small"), MORE)


def build(place: Path, more: list[dict[str, Any]]) -> Path:
    rows = [{"s": s, "p": p, "o": o, "literal": p in {"population", "elevation_m"}} for s, p, o in ROWS]
    (place / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, *more]))
    passages = [*PASSAGES, {**PASSAGES[0], "id": "p3", "entities": ["Panama", "Colombia"], "text": "word " * 5_000}]
    (place / "p.jsonl").write_text("".join(json.dumps(one) + "\n" for one in passages))
    entities = [
        {"id": "Panama", "description": "country between two oceans", "type": "country"},
        {"id": "highest_point", "label": "highest mountain"},
    ]
    (place / "e.jsonl").write_text("".join(json.dumps(one) + "\n" for one in entities))
    (place / "a.json").write_text(json.dumps({"Panama": ["Republic of Panama", "PA"], "Baru": ["Volcán Barú"]}))
    build_kb(
        place / "kb",
        triples=[place / "t.jsonl"],
        passages=[place / "p.jsonl"],
        entities=place / "e.jsonl",
        aliases=place / "a.json",
        detect_literals=False,
        embedder=HashEmbedder(),
        index=False,
    )
    encode_kb(place / "kb", embedder=HashEmbedder())
    return place / "kb"


@pytest.fixture
def both(neo4j_server: Database, folder: Path) -> Iterator[tuple[Knowledge, Knowledge]]:
    with (
        neo4j_server.holding("small exported", lambda there: export_neo4j(folder, there.spec, batch=3) and None),
        Knowledge.open(folder, embedder=HashEmbedder()) as here,
        Knowledge.open(neo4j_server.spec, embedder=HashEmbedder()) as there,
    ):
        yield here, there


def shapes(triples: list[Triple]) -> Counter[str]:
    """Triples without the ids that each store gives them."""
    return Counter(
        json.dumps({**triple, "id": "", "object": "", "subject": "", "qualifiers": sorted(triple["qualifiers"])})
        for triple in triples
    )


def everything(graph: GraphStore) -> Counter[str]:
    ids = ["Panama", "Colombia", "Costa Rica", "Baru", "Panama Canal", ODD]
    return shapes([triple for one in graph.neighbourhood(ids, limit=1_000) for triple in one["triples"]])


def test_the_same_graph(both: tuple[Knowledge, Knowledge]) -> None:
    here, there = both
    assert {**here.graph.info(), "name": "", "fingerprint": ""} == {**there.graph.info(), "name": "", "fingerprint": ""}
    assert everything(here.graph) == everything(there.graph)
    for ids in (["Panama", ODD, "Baru"], ["literal:52000000"]):
        assert here.graph.relations(ids) == there.graph.relations(ids)
    (entity,) = there.graph.entities(["Panama"])
    assert entity == here.graph.entities(["Panama"])[0]


def test_the_same_links(both: tuple[Knowledge, Knowledge]) -> None:
    texts = [
        "Panama",
        "What borders the republic of PANAMA?",
        "Volcán Barú",
        "PA and Colombia",
        ODD,
        "Bogota's mayor",
        "nothing",
    ]
    found = [
        [
            [(one["entity"]["id"], one["method"], one["start"]) for one in row if one["method"] in {"exact", "alias"}]
            for row in rows
        ]
        for rows in (StandardLinker(one.graph).link(texts) for one in both)
    ]
    assert found[0] == found[1]
    assert [bool(row) for row in found[0]] == [True] * 6 + [False]


def test_the_same_passages(both: tuple[Knowledge, Knowledge]) -> None:
    here, there = both
    assert here.text is not None
    assert there.text is not None
    assert there.text.passages(["p1", "p2"]) == here.text.passages(["p1", "p2"])
    for query in ("age to vote", "mountain ranges"):
        one, other = (text.passages_of(["Panama", "Colombia"], query) for text in (here.text, there.text))
        # The long one comes in parts, and its windows are encoded anew; the others' vectors came along.
        best = {hit["passage"]["id"].partition("@")[0]: hit["score"] for hit in reversed(other)}
        assert best == pytest.approx({hit["passage"]["id"]: hit["score"] for hit in one}, abs=2e-3)


@pytest.mark.parametrize("question", ["question", "other_question"])
def test_the_same_run(both: tuple[Knowledge, Knowledge], question: str) -> None:
    case = CASES["tog2"]
    answers = []
    for knowledge in both:
        replies = {**case.replies}
        graph = tg.build("tog2", knowledge=knowledge, model=FakeModel(replies), settings=case.settings)
        answers.append(
            graph.invoke({"question": getattr(case, question).replace("highest point", "highest mountain")})["answer"]
        )
    one, other = answers
    assert other["answers"] == one["answers"]
    assert other["usage"]["store_round_trips"] == one["usage"]["store_round_trips"]
    assert other["usage"]["total"] == one["usage"]["total"]
    assert [path["text"] for path in other["evidence"]["paths"]] == [path["text"] for path in one["evidence"]["paths"]]


def test_only_into_an_empty_database(both: tuple[Knowledge, Knowledge], neo4j_server: Database, folder: Path) -> None:
    done = cli_run("kb", "export", str(folder), "--to", neo4j_server.spec)
    assert done.code == 3
    assert done.line.endswith("is not empty; export into an empty one")
    assert everything(both[0].graph) == everything(both[1].graph)


class Stop(BaseException):
    """Stands in for a kill: nothing catches it."""


def test_goes_on_after_being_killed(neo4j_server: Database, folder: Path, tmp_path: Path) -> None:
    with neo4j_server.holding("nothing", lambda _: None):
        stopped = 0
        for at in range(40):
            calls = 0

            def progress(stage: str, done: int, total: int | None, at: int = at) -> None:
                nonlocal calls
                calls += 1
                # Further on every time; every batch but the last is the last of some process.
                if calls > 1 + at // 6:
                    raise Stop

            try:
                report = export_neo4j(folder, neo4j_server.spec, batch=2, progress=progress)
            except Stop:
                stopped += 1
                if stopped == 2:
                    with pytest.raises(KnowledgeError, match="holds an unfinished export"):
                        Knowledge.open(neo4j_server.spec)
                    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
                    build_kb(tmp_path / "other", triples=[tmp_path / "t.tsv"], index=False)
                    with pytest.raises(KnowledgeError, match="unfinished export of another knowledge base"):
                        export_neo4j(tmp_path / "other", neo4j_server.spec)
                continue
            break
        assert stopped > 5
        assert report.resumed
        with (
            Knowledge.open(folder, embedder=HashEmbedder()) as here,
            Knowledge.open(neo4j_server.spec, embedder=HashEmbedder()) as there,
        ):
            assert everything(here.graph) == everything(there.graph)
            assert here.text is not None
            assert there.text is not None
            assert there.text.info()["entities"] == here.text.info()["entities"]
            assert neo4j_server.run("MATCH (n) RETURN count(n)") == [
                [here.graph.info()["entities"] + here.graph.info()["literals"] + here.text.info()["passages"] + 3]
            ], "three relations have labels that their names do not tell"
        assert not neo4j_server.run("MATCH (n:_ThinkGraphExport) RETURN n")
    neo4j_server.forget()


def test_a_batch_whose_answer_was_lost_is_not_written_twice(
    neo4j_server: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = Connection.rows

    def twice(self: Connection, query: str, *rest: Any, **more: Any) -> list[list[Any]]:
        if "SET p.written" in query:
            once(self, query, *rest, **more)
        return once(self, query, *rest, **more)

    with neo4j_server.holding("nothing", lambda _: None):
        monkeypatch.setattr(Connection, "rows", twice)
        export_neo4j(folder, neo4j_server.spec, batch=4)
        with (
            Knowledge.open(folder, embedder=HashEmbedder()) as here,
            Knowledge.open(neo4j_server.spec, embedder=HashEmbedder()) as there,
        ):
            assert everything(here.graph) == everything(there.graph)
            assert here.graph.info()["entities"] == there.graph.info()["entities"]
    neo4j_server.forget()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("world", "--to", "/nowhere"), 2, "give --to neo4j://… for a running database"),
        (("world", "--to", "bolt://x", "--format", "neo4j-csv"), 2, "give --to neo4j://…"),
        (("bolt://x", "--to", "bolt://y"), 2, "takes a knowledge base's folder"),
        (("world", "--to", "ftp://x"), 3, "ftp:// takes no export"),
        (("/nowhere", "--to", "bolt://127.0.0.1:9"), 3, "there is no knowledge base /nowhere"),
        (("/nowhere", "--to", "bolt://a:b@c:d"), 3, "the address of the Neo4j database cannot be read"),
    ],
)
def test_export_refuses(words: tuple[str, ...], code: int, said: str) -> None:
    done = cli_run("kb", "export", *words)
    assert done.code == code
    assert said in done.line


def test_csv_refuses_a_folder_that_is_there(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    done = cli_run("kb", "export", str(folder), "--to", str(tmp_path), "--format", "neo4j-csv")
    assert done.code == 2
    assert "exists already" in done.line


def _plain() -> list[dict[str, Any]]:
    """Rows whose qualifiers can be columns."""

    def renamed(pairs: list[list[str]]) -> list[list[str]]:
        return [["at", ODD] if name == ODD else [name, value] for name, value in pairs]

    return [{**row, "qualifiers": renamed(row.get("qualifiers", []))} for row in MORE]


KILLED = """
import os, signal, sys
from pathlib import Path
from thinkgraph.ingest.neo4j.csv_files import export_csv

def progress(stage, done, total):
    if stage == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)

export_csv(Path(sys.argv[1]), Path(sys.argv[2]), progress=progress)
"""


def test_a_csv_export_killed_at_any_stage_goes_on(tmp_path: Path) -> None:
    folder = build(tmp_path, _plain())
    stages: list[str] = []
    names = export_csv(folder, tmp_path / "whole", progress=lambda stage, *_: stages.append(stage))
    whole = {name: (tmp_path / "whole" / name).read_bytes() for name in names}
    assert {path.name for path in (tmp_path / "whole").iterdir()} == set(names)
    for number, stage in enumerate(dict.fromkeys(stages)):
        to = tmp_path / f"export {number}"
        killed = subprocess.run([sys.executable, "-c", KILLED, folder, to, stage], env=environment(), check=False)
        assert killed.returncode == -signal.SIGKILL
        assert not to.exists()
        again: list[str] = []
        assert export_csv(folder, to, progress=lambda stage, *_: again.append(stage)) == names  # noqa: B023
        assert list(dict.fromkeys(again)) == list(dict.fromkeys(stages))[number:], "what was whole is kept"
        assert {path.name: path.read_bytes() for path in to.iterdir()} == whole
    assert not list(tmp_path.glob(".*"))


def test_values_that_differ_in_the_ends_of_their_lines_stay_apart(tmp_path: Path) -> None:
    export_csv(build(tmp_path, _plain()), tmp_path / "csv")
    with (tmp_path / "csv" / "literals.csv").open(encoding="utf-8", newline="") as file:
        values = [row[1] for row in csv.reader(file)]
    assert {f"Pro mundi{end}beneficio" for end in ("\n", "\r\n", "\r")} < set(values)
    assert len(set(values)) == len(values)


def test_a_csv_export_that_cannot_be_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="cannot be a column for neo4j-admin"):
        export_csv(folder, tmp_path / "refused")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_csv_through_the_real_importer(neo4j_server: Database, tmp_path: Path) -> None:
    folder = build(tmp_path, _plain())
    files = export_csv(folder, tmp_path / "csv")
    words = (tmp_path / "csv" / "import.sh").read_text().split("--nodes", 1)[1]
    options = f"--nodes{words}".replace("\\\n", " ").replace('"$@"', "").split()
    places = [word.replace("=", f"={tmp_path / 'csv'}/") if word.endswith(".csv") else word for word in options]
    admin(tmp_path / "home", "database", "import", "full", "neo4j", *places)
    assert "entities.csv" in files
    with Neo4jServer(tmp_path / "home") as server:
        imported = Database(server.address, server, "imported")
        for statement in (tmp_path / "csv" / "indexes.cypher").read_text("utf-8").splitlines():
            imported.run(statement.rstrip(";"))
        imported.settled()
        with (
            Knowledge.open(folder, embedder=HashEmbedder()) as here,
            Knowledge.open(imported.spec, embedder=HashEmbedder()) as there,
        ):
            assert everything(here.graph) == everything(there.graph)
            assert here.graph.relations(["Panama", ODD]) == there.graph.relations(["Panama", ODD])
            assert here.text is not None
            assert there.text is not None
            assert there.text.passages(["p1", "p2"]) == here.text.passages(["p1", "p2"])
