"""Databases that nobody would wish for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES
from tools.neo4j.conftest import Database, cli_run

import thinkgraph as tg
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.neo4j import graph as graph_module
from thinkgraph.tools.neo4j import names, schema
from thinkgraph.tools.neo4j.connection import Connection, TimedOutError
from thinkgraph.tools.neo4j.cypher import quoted
from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
from thinkgraph.tools.neo4j.text import Neo4jTextStore

ODD = "a `b` \\u0041\\ 'c' \"d\" {e} $f //; MATCH (n) DETACH DELETE n"
MEGABYTE = "An endless tale goes on and on. " * 32_768


def odd_names(database: Database) -> None:
    label, kind, key = quoted(ODD), quoted(f"{ODD} type"), quoted(f"{ODD} key")
    database.run(
        f"CREATE (a:{label} {{name: $odd, {key}: $odd, same: 'x'}})-[:{kind} {{{key}: [$odd, 'two']}}]->(b:{label} {{name: 'End'}})"
        f"-[:{kind}]->(b)-[:{kind}]->(a)-[:same]->(b)",
        odd=ODD,
    )


def test_labels_types_and_properties_with_cypher_in_them(neo4j_server: Database) -> None:
    with neo4j_server.holding("odd names", odd_names), Neo4jGraphStore.open(neo4j_server.spec) as store:
        (match,) = store.lookup([ODD])[0]
        one = match["entity"]["id"]
        assert match["entity"]["type"] == ODD
        (found,) = store.neighbourhood([one])
        assert found["total"] == 5
        assert {triple["relation"] for triple in found["triples"]} == {
            f"{ODD} type",
            f"{ODD} key",
            "same",
            "same (property)",
        }
        (edge,) = [triple for triple in found["triples"] if triple["qualifiers"]]
        assert edge["qualifiers"] == [[f"{ODD} key", ODD], [f"{ODD} key", "two"]]
        steps = [
            {"entity": one, "relation": r, "direction": "out"}
            for r in (f"{ODD} type", f"{ODD} key", "same", "same (property)")
        ]
        walked = store.neighbours(steps)  # type: ignore[arg-type]
        assert [[triple["object_label"] for triple in step["triples"]] for step in walked] == [
            ["End"],
            [ODD],
            ["End"],
            ["x"],
        ]
        (relations,) = store.relations([one])
        assert sum(edge["count"] for edge in relations) == 5
        (back,) = store.neighbourhood([store.lookup(["end"])[0][0]["entity"]["id"]])
        assert back["total"] == len(back["triples"]) == 4, "the loop counts once"
        ids = [triple["id"] for triple in found["triples"]]
        assert store.triples(ids) == found["triples"]
        assert len(neo4j_server.run("MATCH (n) RETURN n")) == 2


def test_hubs_are_walked_along_odd_types(neo4j_server: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_module, "HUB", 1)
    with neo4j_server.holding("odd names", odd_names), Neo4jGraphStore.open(neo4j_server.spec) as store:
        one = store.lookup([ODD])[0][0]["entity"]["id"]
        (found,) = store.neighbours([{"entity": one, "relation": f"{ODD} type", "direction": "out"}])
        assert [triple["object_label"] for triple in found["triples"]] == ["End"]
        (relations,) = store.relations([one])
        assert {(edge["name"], edge["direction"], edge["count"]) for edge in relations} == {
            (f"{ODD} type", "out", 1),
            (f"{ODD} type", "in", 1),
            ("same", "out", 1),
            ("same (property)", "out", 1),
            (f"{ODD} key", "out", 1),
        }
        assert len(store.edges_among([one, store.lookup(["End"])[0][0]["entity"]["id"]])) == 4


def big(database: Database) -> None:
    database.run(
        "CREATE (a:Film {name: 'Long', plot: $big}), (b:Film {name: 'Short', plot: $small}), "
        "(a)-[:FOLLOWS {note: $big}]->(b), (c:Blob {name: 'Blob', data: $data, odd: $big})",
        big=MEGABYTE,
        small="A tale of some words, told at enough length to be a text and no value. " * 3,
        data="A" * (1 << 20),
    )
    database.run("UNWIND range(1, 20) AS i CREATE (:Blob {name: 'b' + i, odd: 'short'})")


def test_properties_of_a_megabyte(neo4j_server: Database) -> None:
    with neo4j_server.holding("big", big), Neo4jGraphStore.open(neo4j_server.spec) as store:
        (film,), (blob,) = store.lookup(["Long", "blob"])
        ids = [film["entity"]["id"], blob["entity"]["id"]]
        long, odd = store.neighbourhood(ids)
        (edge,) = long["triples"]
        assert edge["qualifiers"][0][1].startswith("An endless tale")
        assert len(edge["qualifiers"][0][1]) <= 300
        assert [t["relation"] for t in odd["triples"]] == ["odd"], "data are no fact"
        assert 290 < len(odd["triples"][0]["object_label"]) <= 300
        assert all(len(str(entity)) < 1_000 for entity in store.entities(ids))
        text = Neo4jTextStore(store, HashEmbedder())
        hits = text.passages_of(ids, "an endless tale", limit=100)
        assert all(len(hit["passage"]["text"]) <= 16_400 for hit in hits)
        assert 10 < len(hits) < 66
        again = text.passages([hit["passage"]["id"] for hit in hits])
        assert again == [hit["passage"] for hit in hits]
        first, second = (one["text"] for one in text.passages([f"{ids[0]}@plot", f"{ids[0]}@plot@1"]) if one)
        assert first == MEGABYTE[:16_400]
        assert second == MEGABYTE[16_000:32_400]
        last = MEGABYTE[63 * 16_000 :]
        assert text.passages([f"{ids[0]}@plot@63", f"{ids[0]}@plot@64"]) == [
            {"id": f"{ids[0]}@plot@63", "entities": ids[:1], "title": "Long", "section": "plot", "text": last[:16_400]},
            None,
        ]


def bare(database: Database) -> None:
    database.run(
        "CREATE (:Thing)-[:TO]->(), ()-[:TO]->({name: 'Named without a label'}), (:`_Bloom_Perspective_` {name: 'tool'})"
    )


def test_nodes_without_properties_or_labels(neo4j_server: Database) -> None:
    with neo4j_server.holding("bare", bare), Neo4jGraphStore.open(neo4j_server.spec) as store:
        assert store.info()["entities"] == 4
        (match,) = store.lookup(["named without a label"])[0]
        (found,) = store.neighbourhood([match["entity"]["id"]])
        start = found["triples"][0]["subject"]
        assert found["triples"][0]["subject_label"].startswith("node ")
        (entity,) = store.entities([start])
        assert entity is not None
        assert entity["description"] == "to: Named without a label"
        assert store.lookup(["tool", "Thing"]) == [[], []]


def several_labels(database: Database) -> None:
    database.run("CREATE (:Person:Actor {name: 'Tom Reed'})-[:STARRED_IN]->({name: 'Silent Harbour'})")
    database.run("UNWIND range(1, 9) AS i CREATE (:Person:Actor {name: 'Extra ' + i})")


def test_unlabelled_nodes_beside_those_with_several_labels(
    neo4j_server: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with neo4j_server.holding("several labels", several_labels):
        with Neo4jGraphStore.open(neo4j_server.spec) as store:
            (match,) = store.lookup(["Silent Harbour"])[0]
            (found,) = store.neighbourhood([match["entity"]["id"]])
            assert [triple["subject_label"] for triple in found["triples"]] == ["Tom Reed"]
            assert store.describe()["missing"] == []
        query = Connection.rows

        def slow(self: Connection, text: str, *rest: Any, seconds: float | None = None) -> Any:
            if "!%" in text:
                raise TimedOutError("too slow")
            return query(self, text, *rest, seconds=seconds)

        monkeypatch.setattr(Connection, "rows", slow)
        with Neo4jGraphStore.open(neo4j_server.spec) as store:
            (said,) = store.describe()["missing"]
            assert said.startswith("counting the nodes without a label took more than 5 seconds, so that some may not")


def test_a_node_with_several_labels_counts_once(neo4j_server: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of as many nodes as are read through every one is, however many labels they have."""
    monkeypatch.setattr(names, "SCANNED", 11)
    with neo4j_server.holding("several labels", several_labels), Neo4jGraphStore.open(neo4j_server.spec) as store:
        assert store.finder.ways.notes == []
        assert len(store.finder.ways.scanned) == 2
        assert store.search(["Extr 7"], fuzzy=True)[0][0]["entity"]["label"] == "Extra 7"


def rare_labels(database: Database) -> None:
    database.run(
        "UNWIND range(1, 9) AS i CREATE (:Common {name: 'Thing ' + i})-[:PART_OF]->(:Usual {title: 'Whole ' + i})"
    )
    for at in range(7):
        database.run(f"CREATE (:Rare{at} {{rareName: 'Gem {at}'}})-[:MADE_IN]->(:Other{at} {{title: 'Works {at}'}})")
    database.run("CREATE ({name: 'No label'})")


def test_the_rarest_of_many_labels_are_looked_at_together(
    neo4j_server: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_SAMPLED_LABELS", 2)
    monkeypatch.setattr(schema, "_TOGETHER", 5)
    monkeypatch.setattr(names, "_LABELS_AT_ONCE", 4)
    with neo4j_server.holding("rare labels", rare_labels):
        with Neo4jGraphStore.open(neo4j_server.spec) as store:
            wanted = ["Thing 3", "Whole 9", "No label"]
            wanted += [f"{what} {at}" for what in ("Gem", "Works") for at in range(7)]
            assert [[match["entity"]["label"] for match in row] for row in store.lookup(wanted)] == [
                [one] for one in wanted
            ]
            (said,) = store.describe()["missing"]
            assert said.startswith(
                "14 rare ones of 16 labels were looked at together, so that a name of one alone may be"
            )
        monkeypatch.setattr(schema, "_RARE_LABELS", 10)
        with Neo4jGraphStore.open(neo4j_server.spec) as store:
            assert store.describe()["missing"][1] == (
                "the 4 rarest of 16 labels were not looked at: their nodes are not found by name"
            )


def odd_values_of_names(database: Database) -> None:
    database.run(
        "UNWIND range(0, 999) AS i CREATE (:Person {name: 'Person ' + i})-[:LIVES_IN]->(:City {name: 'City ' + i})"
    )
    # Among the first nodes, wherever the server puts them; and lists among the names that no sample shows.
    database.run("MATCH (p:Person) WITH p LIMIT 1 SET p.name = 1984.0")
    database.run("MATCH (p:Person) WHERE p.name IN ['Person 300', 'Person 301'] SET p.name = [p.name, 'Alt ' + p.name]")


@pytest.mark.parametrize("option", ["", "?name=Person.name"])
def test_one_odd_name_among_many(neo4j_server: Database, option: str) -> None:
    with (
        neo4j_server.holding("odd names among many", odd_values_of_names),
        Neo4jGraphStore.open(neo4j_server.spec + option) as store,
    ):
        found = store.lookup(["person 777", "1984", "Person 300", "Alt Person 300"])
        assert [[match["entity"]["label"] for match in row] for row in found] == [
            ["Person 777"],
            ["1984"],
            ["Person 300"],
            ["Person 300"],
        ]
        assert [row[0]["method"] for row in found] == ["exact", "exact", "exact", "alias"]


FOLDED = ["Hauptstraße", "Οδυσσευς", "İzmir"]


def folding(database: Database) -> None:
    database.run("UNWIND $names AS name CREATE (:Place {name: name})", names=FOLDED)
    database.run("CREATE FULLTEXT INDEX places FOR (n:Place) ON EACH [n.name]")


@pytest.mark.parametrize("scanned", [0, 100])
def test_letters_that_folding_changes(neo4j_server: Database, monkeypatch: pytest.MonkeyPatch, scanned: int) -> None:
    monkeypatch.setattr(names, "SCANNED", scanned)
    with neo4j_server.holding("folding", folding), Neo4jGraphStore.open(neo4j_server.spec) as store:
        assert [[match["name"] for match in row] for row in store.lookup(FOLDED)] == [[name] for name in FOLDED]
        assert [row[0]["name"] for row in store.search(FOLDED)] == FOLDED
        if scanned:
            assert [match["name"] for match in store.lookup(["HAUPTSTRASSE"])[0]] == FOLDED[:1]


WORDS = ["alpha", "bravos", "charlie", "deltas", "echoes", "foxtrot", "golfing", "hotels", "indiana", "juliet", "limas"]


def much_alike(database: Database) -> None:
    rows = [
        " ".join(f"{word[:at]}{letter}{word[at + 1 :]}" for word in WORDS)
        for at in range(1, 5)
        for letter in "bfghjkmnpqstvwxyz"
    ]
    database.run("UNWIND $rows AS row CREATE (:Thing {name: row, aka: row})", rows=[*rows, " ".join(WORDS)])
    database.run("CREATE FULLTEXT INDEX things FOR (n:Thing) ON EACH [n.name, n.aka]")


def test_more_clauses_than_lucene_takes(neo4j_server: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long names in several fields, with many words spelt alike; and a long stretch of a script without spaces."""
    monkeypatch.setattr(names, "SCANNED", 0)
    with neo4j_server.holding("much alike", much_alike), Neo4jGraphStore.open(neo4j_server.spec) as store:
        (found,) = store.search([" ".join(WORDS)], fuzzy=True)
        assert found[0]["name"] == " ".join(WORDS)
        assert store.search(["".join(map(chr, range(0x4E00, 0x4E00 + 900)))]) == [[]]


UNTIDY = ["  Tom  Reed ", "Silent\nHarbour", "Ann\tLee", "One\u2028\r\nTwo", "Non\u00a0Break", " "]


def untidy(database: Database) -> None:
    database.run("UNWIND $names AS name CREATE (:Thing {name: name, aka: [name + ' again']})", names=UNTIDY)


def test_names_with_white_space_of_all_kinds(neo4j_server: Database) -> None:
    with neo4j_server.holding("untidy", untidy), Neo4jGraphStore.open(neo4j_server.spec) as store:
        wanted = ["tom reed", "Silent Harbour", "Ann Lee", "One  Two", "Non Break"]
        assert [[match["name"] for match in row] for row in store.lookup(wanted)] == [
            [name.strip()] for name in UNTIDY[:-1]
        ]
        assert [len(row) for row in store.lookup([f"{name} again" for name in wanted])] == [1] * len(wanted)


TIMES = {
    "date('-0044-03-15')": "-0044-03-15",
    "date('+12000-02-29')": "+12000-02-29",
    "date('-999999999-01-01')": "-999999999-01-01",
    "localdatetime('-0044-03-15T10:05:07.5')": "-0044-03-15T10:05:07.5",
    "datetime('-0044-03-15T10:05:07Z')": "-0044-03-15T10:05:07Z",
    "datetime('9999-12-31T23:59:59-05:30')": "9999-12-31T23:59:59-05:30",
    "datetime('+12000-01-01T00:00:00.000000001+01:00')": "+12000-01-01T00:00:00.000000001+01:00",
    "datetime('-0044-03-15T10:00:00[UTC]')": "-0044-03-15T10:00:00Z",
    "datetime('2020-01-01T00:00:00[SystemV/PST8]')": "2020-01-01T08:00:00Z",
}
"""Such as the driver has no value for, and how they read."""


def far_times(database: Database) -> None:
    for at, time in enumerate(TIMES):
        database.run(
            f"CREATE (:Event {{name: 'event {at}', at: {time}, all: [{time}]}})-[:AFTER {{at: {time}}}]->(:Event {{name: 'x'}})"
        )


def test_dates_before_the_year_1_and_after_9999(neo4j_server: Database) -> None:
    with neo4j_server.holding("far times", far_times), Neo4jGraphStore.open(neo4j_server.spec) as store:
        found = store.lookup([f"event {at}" for at in range(len(TIMES))])
        near = store.neighbourhood([match["entity"]["id"] for (match,) in found])
        for text, one in zip(TIMES.values(), near, strict=True):
            *values, after = one["triples"]
            assert [value["object_label"] for value in values] == [text, text]
            assert after["qualifiers"] == [["at", text]]
            assert store.triples([triple["id"] for triple in one["triples"]]) == one["triples"]


def rarely_called_otherwise(database: Database) -> None:
    database.run("UNWIND range(0, 999) AS at CREATE (n:Thing {name: 'thing ' + at})")
    # Neither among the first nodes nor in the middle, wherever the server puts them.
    database.run("MATCH (n:Thing) WITH n SKIP 250 LIMIT 1 SET n.also_known_as = ['the odd one']")


def test_a_further_name_that_one_node_of_a_thousand_has(neo4j_server: Database) -> None:
    with neo4j_server.holding("rare alias", rarely_called_otherwise), Neo4jGraphStore.open(neo4j_server.spec) as store:
        assert [(match["name"], match["method"]) for match in store.lookup(["The odd one"])[0]] == [
            ("the odd one", "alias")
        ]


@pytest.fixture
def nothing(neo4j_server: Database) -> Iterator[Database]:
    with neo4j_server.holding("nothing at all", lambda _: None):
        yield neo4j_server


def test_an_empty_database(nothing: Database) -> None:
    with Knowledge.open(nothing.spec) as knowledge:
        assert {**knowledge.graph.info(), "name": "", "fingerprint": ""} == {
            **dict.fromkeys(("entities", "literals", "triples", "relations"), 0),
            "name": "",
            "fingerprint": "",
        }
        assert knowledge.text is None
        assert knowledge.linker.link(["Is there anything?"]) == [[]]
        graph = tg.build("tog2", knowledge=knowledge, model=FakeModel(CASES["tog2"].replies))
        answer = graph.invoke({"question": "Is there anything?"})["answer"]
        assert (answer["status"], answer["reason"]) == (
            "unknown",
            "the knowledge base is empty: there is nothing to look in",
        )
    elsewhere = MemoryTextStore([{"id": "p", "entities": ["x"], "title": "", "section": "", "text": "There is."}])
    with Knowledge.open(nothing.spec, text=elsewhere) as knowledge:
        assert not knowledge.empty, "its passages are elsewhere"
    info = cli_run("kb", "info", nothing.spec)
    assert info.code == 0
    assert "the database is empty: load a graph into it" in info.out
    assert cli_run("doctor", "--kb", nothing.spec, "--no-calls").code == 0


def many_types(database: Database) -> None:
    """More types than are counted one by one, and a hub."""
    database.run(
        "CREATE (h:City {name: 'Hub'}) WITH h UNWIND range(1, 1500) AS i CREATE (:City {name: 'c' + i})-[:NEAR]->(h)"
    )
    for number in range(40):
        database.run(f"MATCH (h:City {{name: 'Hub'}}) CREATE (h)-[:T{number}]->(:City {{name: 'end {number}'}})")


def test_a_hub_with_many_types(neo4j_server: Database) -> None:
    with neo4j_server.holding("many types", many_types), Neo4jGraphStore.open(neo4j_server.spec) as store:
        hub = store.lookup(["hub"])[0][0]["entity"]["id"]
        step: Any = {"entity": hub, "relation": "T7", "direction": "out"}
        (unknown_yet,) = store.neighbours([step])
        assert [triple["object_label"] for triple in unknown_yet["triples"]] == ["end 7"]
        (edges,) = store.relations([hub])
        assert len(edges) == 41
        assert edges[-1]["count"] == 1_500
        (near,) = store.neighbours([{"entity": hub, "relation": "NEAR", "direction": "in"}], limit=20, seed=4)
        assert near["total"] == 1_500
        assert len({triple["id"] for triple in near["triples"]}) == 20


def long_numbers(database: Database) -> None:
    """Ids as long as those of posts, up to the least and the greatest that there are."""
    database.run("CREATE CONSTRAINT posts FOR (n:Post) REQUIRE n.id IS UNIQUE")
    ids = [1_234_567_890_123_456_789, (1 << 63) - 1, -(1 << 63)]
    database.run("UNWIND $ids AS id CREATE (:Post {id: id, name: 'post ' + id})-[:BY]->(:User {name: 'Ann'})", ids=ids)


def test_ids_of_nineteen_digits(neo4j_server: Database) -> None:
    with neo4j_server.holding("long numbers", long_numbers), Neo4jGraphStore.open(neo4j_server.spec) as store:
        ids = ["1234567890123456789", "9223372036854775807", "-9223372036854775808"]
        assert [one and one["label"] for one in store.entities(ids)] == [f"post {id_}" for id_ in ids]
        assert [len(one) for one in store.relations(ids)] == [1, 1, 1]
        assert store.entities(["9223372036854775808", "9" * 5_000]) == [None, None]
