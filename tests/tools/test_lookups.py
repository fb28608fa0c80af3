"""The five look-ups over a small knowledge base."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from graphs.cases import ROWS, small_knowledge

from thinkgraph.errors import KnowledgeError, StoreError, UsageError
from thinkgraph.integrations.langchain.lookups import shown
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools import lookups
from thinkgraph.tools.knowledge import Knowledge

Way = Literal["out", "in", "both"]
BASE = small_knowledge()
TWINS = Knowledge(
    graph=MemoryGraphStore(
        [("a", "in", "x"), ("b", "in", "y"), ("a", "near", "x")],
        labels={"a": "Paris", "b": "Paris"},
        descriptions={"a": "city in France", "b": "town in\nTexas"},
    )
)


def test_entities_of_a_question() -> None:
    found = lookups.find_entities(BASE, "Is Panama larger than Colombia?")
    assert {(one["id"], one["mention"], one["method"]) for one in found["entities"][:2]} == {
        ("Panama", "Panama", "exact"),
        ("Colombia", "Colombia", "exact"),
    }
    assert 'Panama -- country | id "Panama" | exact 0.95' in shown(found).splitlines()
    assert shown(lookups.find_entities(BASE, "?!")) == "nothing found"


def test_relations_by_id_and_by_name() -> None:
    found = lookups.relations_of(BASE, "Panama")
    assert found["entity"] == {"id": "Panama", "label": "Panama", "description": "country"}
    assert {(one["relation"], one["direction"], one["count"]) for one in found["relations"]} == {
        ("capital", "out", 1),
        ("highest_point", "out", 1),
        ("population", "out", 1),
        ("borders", "out", 2),
    }
    assert lookups.relations_of(BASE, "pANAMA") == found
    cut = lookups.relations_of(BASE, "Panama", limit=1)
    assert len(cut["relations"]) == 1
    assert cut["total"] == 4
    assert shown(cut).splitlines()[-1] == "... and 3 more"


@pytest.mark.parametrize(
    ("relation", "direction", "ends"),
    [
        ("borders", "both", {"Colombia", "Costa Rica"}),
        ("Highest Point", "out", {"Baru"}),
        (None, "both", {"Panama City", "Baru", "4500000", "Colombia", "Costa Rica"}),
        (None, "in", set()),
    ],
)
def test_neighbours(relation: str | None, direction: Way, ends: set[str]) -> None:
    found = lookups.neighbours(BASE, "Panama", relation, direction=direction)
    assert {one["object_label"] for one in found["triples"]} == ends
    assert found["total"] == len(ends)


@pytest.mark.parametrize("relation", ["capital", None])
def test_a_loop_is_one_neighbour(relation: str | None) -> None:
    knowledge = Knowledge(graph=MemoryGraphStore([("Gibraltar", "capital", "Gibraltar")]))
    found = lookups.neighbours(knowledge, "Gibraltar", relation)
    assert (len(found["triples"]), found["total"]) == (1, 1)
    assert "more" not in shown(found)


def test_neighbours_backwards_and_cut() -> None:
    found = lookups.neighbours(BASE, "Baru", "highest_point", direction="in")
    assert shown(found).endswith('(Baru) <-[highest point]- (Panama) | id "Panama"')
    cut = lookups.neighbours(BASE, "Panama", limit=2)
    assert len(cut["triples"]) == 2
    assert cut["total"] == 5


def test_passages() -> None:
    found = lookups.passages_of(BASE, ["Panama"], "age to vote")
    assert [one["id"] for one in found["passages"]] == ["p1"]
    assert found["passages"][0]["line"].startswith("text | Panama | Voting | Citizens")
    everywhere = lookups.search_passages(BASE, "Three ranges cross Colombia", limit=1)
    assert [one["id"] for one in everywhere["passages"]] == ["p2"]


def test_everything_is_json() -> None:
    for found in (
        lookups.find_entities(BASE, "Panama"),
        lookups.relations_of(BASE, "Panama"),
        lookups.neighbours(BASE, "Panama"),
        lookups.search_passages(BASE, "vote"),
    ):
        assert json.loads(json.dumps(found)) == found


def test_a_name_of_two() -> None:
    with pytest.raises(KnowledgeError, match=r"several entities, give an id: a \(Paris -- city in France\); b \(Paris"):
        lookups.relations_of(TWINS, "Paris")
    assert lookups.relations_of(TWINS, "b")["entity"]["description"] == "town in Texas"


@pytest.mark.parametrize("limit", [0, 201, True, "5"])
def test_wrong_limits(limit: int) -> None:
    for look in (
        lambda: lookups.find_entities(BASE, "Panama", limit=limit),
        lambda: lookups.relations_of(BASE, "Panama", limit=limit),
        lambda: lookups.neighbours(BASE, "Panama", limit=limit),
        lambda: lookups.passages_of(BASE, ["Panama"], "vote", limit=limit),
        lambda: lookups.search_passages(BASE, "vote", limit=limit),
    ):
        with pytest.raises(UsageError, match="limit is a number from 1 to 200"):
            look()


def test_wrong_words() -> None:
    with pytest.raises(UsageError, match="text is empty"):
        lookups.find_entities(BASE, " \0 ")
    with pytest.raises(KnowledgeError, match="there is no entity 'Narnia'"):
        lookups.neighbours(BASE, "Nar\x1b\nnia".replace("\x1b\n", ""))
    with pytest.raises(KnowledgeError, match="no relation 'capital' that way: it has it in the other direction"):
        lookups.neighbours(BASE, "Panama", "capital", direction="in")
    with pytest.raises(UsageError, match="direction is out, in or both, not 'up'"):
        lookups.neighbours(BASE, "Panama", direction="up")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="entities is a list"):
        lookups.passages_of(BASE, "Panama", "vote")
    with pytest.raises(KnowledgeError, match="has no passages"):
        lookups.search_passages(Knowledge(graph=MemoryGraphStore(ROWS)), "vote")


class NoLabels(MemoryGraphStore):
    """A store of one's own that gives None where it has no label."""

    def entities(self, ids: Sequence[str]) -> Any:
        return [one and {**one, "label": None} for one in super().entities(ids)]


class TooFew(MemoryGraphStore):
    """One that leaves out what it has nothing for."""

    def relations(self, ids: Sequence[str]) -> Any:
        return super().relations(ids)[1:]


@pytest.mark.parametrize(
    ("store", "words"),
    [
        (NoLabels, r"NoLabels.entities does not give what GraphStore promises: '0.label': .* \(it is None\)"),
        (TooFew, "TooFew.relations does not give what GraphStore promises: 0 results for 1 asked"),
    ],
)
def test_what_an_own_store_should_not_give_is_one_line(store: type[MemoryGraphStore], words: str) -> None:
    with pytest.raises(StoreError, match=words):
        lookups.relations_of(Knowledge(graph=store(ROWS)), "Panama")
