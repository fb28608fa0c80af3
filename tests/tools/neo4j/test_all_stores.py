"""Every method over a folder, a Neo4j database and a SPARQL endpoint with the same contents: the same answer, calls and round trips."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fakes import FakeModel
from graphs.cases import AMERICA, CASES, PASSAGES, ROWS, america
from sparql_server import SparqlServer
from tools.neo4j.conftest import Database

import thinkgraph as tg
from thinkgraph.ingest.build import build_kb
from thinkgraph.ingest.neo4j.export import export_neo4j
from thinkgraph.prompts.lines import triple_sentence
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge

GRAPHS: Mapping[str, Any] = {"small": ROWS, "america": AMERICA}
VALUES = {"population", "elevation_m"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A knowledge base of each of the cases' graphs."""
    made = {}
    for name, rows in GRAPHS.items():
        place = tmp_path_factory.mktemp(name)
        (place / "triples.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
        (place / "passages.jsonl").write_text("".join(json.dumps(passage) + "\n" for passage in PASSAGES))
        build_kb(
            place / "kb",
            triples=[place / "triples.tsv"],
            passages=[place / "passages.jsonl"],
            literal_relations=sorted(VALUES),
            embedder=HashEmbedder(),
        )
        made[name] = place / "kb"
    return made


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THINKGRAPH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def iri(name: str) -> str:
    return f"http://e/{quote(name.replace(' ', '_'))}"


def rdf(rows: Any) -> str:
    ends = [f'"{end}"' if relation in VALUES else f"<{iri(end)}>" for _, relation, end in rows]
    return "\n".join(
        f"<{iri(subject)}> <http://e/ns#{relation}> {end} ."
        for (subject, relation, _), end in zip(rows, ends, strict=True)
    )


@pytest.fixture(scope="module")
def endpoints() -> Iterator[dict[str, SparqlServer]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(SparqlServer(rdf(rows))) for name, rows in GRAPHS.items()}


def over_sparql(server: SparqlServer) -> Knowledge:
    texts = [Passage(**{**passage, "entities": [iri(name) for name in passage["entities"]]}) for passage in PASSAGES]
    spec = f"sparql+http://127.0.0.1:{server.port}/sparql?retries=0"
    return Knowledge.open(spec, text=MemoryTextStore(texts, name="texts"), embedder=HashEmbedder())


# Those over one graph together: every change of what the database holds costs seconds.
@pytest.mark.parametrize("name", sorted(CASES, key=lambda name: (CASES[name].knowledge is america, name)))
def test_the_same_over_all_stores(
    name: str, folders: dict[str, Path], endpoints: dict[str, SparqlServer], neo4j_server: Database
) -> None:
    case = CASES[name]
    graph = "america" if case.knowledge is america else "small"
    told = {}
    with neo4j_server.holding(f"case {graph}", lambda there: export_neo4j(folders[graph], there.spec) and None):
        opened = {
            "folder": lambda: Knowledge.open(folders[graph], embedder=HashEmbedder()),
            "neo4j": lambda: Knowledge.open(neo4j_server.spec, embedder=HashEmbedder()),
            "sparql": lambda: over_sparql(endpoints[graph]),
        }
        for store, open_ in opened.items():
            with open_() as knowledge:
                method = tg.build(
                    name, knowledge=knowledge, model=FakeModel(case.replies), settings=dict(case.settings)
                )
                method.invoke({"question": case.question})  # what is read once is read
                answer = method.invoke({"question": case.question})["answer"]
            usage = answer["usage"]
            told[store] = (
                answer["status"],
                answer["answers"],
                usage["total"]["calls"],
                usage["store_round_trips"],
                sorted(triple_sentence(triple) for triple in answer["evidence"]["triples"]),
                sorted(passage["text"] for passage in answer["evidence"]["passages"]),
            )
    assert told["folder"][:3] == (case.status, case.answers, case.calls)
    assert told["neo4j"] == told["folder"]
    assert told["sparql"] == told["folder"]
