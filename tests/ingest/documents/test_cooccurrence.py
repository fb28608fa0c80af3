"""Edges between names that stand together."""

from __future__ import annotations

from thinkgraph.ingest.documents import graph
from thinkgraph.ingest.documents.graph import MENTIONS, WITH, Cooccurrence
from thinkgraph.ingest.documents.lexicon import Chunk
from thinkgraph.ingest.documents.mentions import LinkedPassage


def reads(*passages: str) -> list[LinkedPassage]:
    """Passages given as "title: names"."""
    made = []
    for number, line in enumerate(passages):
        title, _, rest = line.partition(":")
        chunk = Chunk(str(number), str(number), title, "", rest)
        made.append(LinkedPassage(chunk, title, rest.split()))
    return made


def edges(*passages: str) -> list[tuple[str, str, str, int]]:
    together = Cooccurrence()
    for read in reads(*passages):
        together.add(read)
    return list(together.edges())


def test_edges_count_passages() -> None:
    assert edges("t:a b a", "t:b a", ":a c") == [
        ("t", MENTIONS, "a", 2),
        ("t", MENTIONS, "b", 2),
        ("a", WITH, "b", 2),
        ("a", WITH, "c", 1),
    ]


def test_a_title_that_mentions_something_is_not_joined_to_it_twice() -> None:
    assert edges("t:a t") == [("t", MENTIONS, "a", 1)]


def test_the_strongest_edges_are_kept(monkeypatch) -> None:
    """`hub` stands everywhere: its edges say little. Each of the others keeps its own partner."""
    monkeypatch.setattr(graph, "_MOST_MENTIONS", 3)
    monkeypatch.setattr(graph, "_MOST_WITH", 1)
    found = edges(*(f":hub a{n} b{n}" for n in range(30)))
    pairs = {(left, right) for left, _, right, _ in found}
    assert {(f"a{n}", f"b{n}") for n in range(30)} <= pairs
    assert sum("hub" in pair for pair in pairs) == 1
    assert sum(e[1] == MENTIONS for e in edges("t:" + " ".join(f"a{n}" for n in range(20)))) == 3


def test_a_list_of_names_is_no_clique(monkeypatch) -> None:
    monkeypatch.setattr(graph, "_MOST_WITH", 1000)
    found = edges(":" + " ".join(f"n{n:03}" for n in range(200)))
    assert len(found) < 200 * 8
