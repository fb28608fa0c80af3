"""What the tests put into the database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.neo4j.conftest import ROOT, Database

from thinkgraph.ingest.build import build_kb
from thinkgraph.testing.conformance import graph_data
from thinkgraph.testing.conformance.linker import LinkerConformance
from thinkgraph.testing.conformance.text import sample_passages
from thinkgraph.tools.neo4j.cypher import quoted

EXAMPLES = ROOT / "examples" / "neo4j"


def suite_kb(folder: Path) -> Path:
    """The conformance suite's graph as a knowledge base folder."""
    with (folder / "triples.jsonl").open("w") as out:
        for s in graph_data.STATEMENTS:
            row = {"s": s.subject, "p": s.relation, "o": s.object, "qualifiers": s.qualifiers, "literal": s.literal}
            out.write(json.dumps(row) + "\n")
    rows = [{"id": key, "label": label} for key, label in graph_data.LABELS.items()]
    (folder / "entities.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "aliases.json").write_text(json.dumps(graph_data.ALIASES))
    build_kb(
        folder / "kb",
        triples=[folder / "triples.jsonl"],
        entities=folder / "entities.jsonl",
        aliases=folder / "aliases.json",
        detect_literals=False,
        index=False,
    )
    return folder / "kb"


def native_suite(database: Database) -> None:
    """The suite's graph as people model it: a property where a value has no qualifiers, several labels, no key at all."""
    names = sorted(
        {s.subject for s in graph_data.STATEMENTS} | {s.object for s in graph_data.STATEMENTS if not s.literal}
    )
    rows: list[dict[str, Any]] = []
    for name in names:
        own = {"name": graph_data.LABELS.get(name, name), "key": name}
        if name in graph_data.ALIASES:
            own["aka"] = graph_data.ALIASES[name]
        own |= {
            s.relation: s.object for s in graph_data.STATEMENTS if s.subject == name and s.literal and not s.qualifiers
        }
        rows.append({"own": own, "old": name.startswith(("leaf", "ring"))})
    database.run("CREATE INDEX suite_key FOR (n:Place) ON (n.key)")
    database.run("UNWIND $rows AS row CREATE (n:Place) SET n = row.own WITH n, row WHERE row.old SET n:Old", rows=rows)
    for kind in sorted({s.relation for s in graph_data.STATEMENTS}):
        for literal in (False, True):
            chosen = [
                [s.subject, s.object, dict(s.qualifiers)]
                for s in graph_data.STATEMENTS
                if s.relation == kind and s.literal == literal and (s.qualifiers or not literal)
            ]
            end = "CREATE (o:Literal {value: row[1]})" if literal else "MATCH (o:Place {key: row[1]})"
            database.run(
                f"UNWIND $rows AS row MATCH (s:Place {{key: row[0]}}) {end} CREATE (s)-[r:{quoted(kind)}]->(o) SET r = row[2]",
                rows=chosen,
            )
    database.run("DROP INDEX suite_key")
    database.run("MATCH (n) REMOVE n.key")


def entity_nodes(database: Database) -> None:
    """The entities of the linker's suite."""
    rows = [
        {"id": one["id"], "name": one["label"], "description": one["description"], "aliases": list(aliases)}
        for one, aliases in LinkerConformance.entities
    ]
    database.run("CREATE CONSTRAINT FOR (n:Entity) REQUIRE n.id IS UNIQUE")
    database.run("UNWIND $rows AS row CREATE (n:Entity) SET n = row", rows=rows)


def passage_nodes(database: Database, vectors: dict[str, list[float]] | None = None) -> None:
    """The passages of the text suite, as nodes about entities; with an index over their vectors, if there are any."""
    for label in ("Entity", "Passage"):
        database.run(f"CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.id IS UNIQUE")
    rows = [{**passage, "embedding": (vectors or {}).get(passage["id"])} for passage in sample_passages()]
    database.run(
        "UNWIND $rows AS row MERGE (p:Passage {id: row.id}) "
        "SET p.title = row.title, p.section = row.section, p.text = row.text, p.embedding = row.embedding "
        "WITH p, row UNWIND row.entities AS id MERGE (e:Entity {id: id}) SET e.name = id MERGE (p)-[:ABOUT]->(e)",
        rows=rows,
    )
    if vectors:
        size = len(next(iter(vectors.values())))
        database.run(
            "CREATE VECTOR INDEX by_meaning FOR (n:Passage) ON (n.embedding) OPTIONS "
            f"{{indexConfig: {{`vector.dimensions`: {size}, `vector.similarity_function`: 'cosine'}}}}"
        )
