"""Relations that lead back to what the question names: those of a second condition, and of a thing to itself."""

from __future__ import annotations

import pytest
from nodes.doubt.doubt_kit import against
from nodes.flows import triple

from thinkgraph.state.knowledge import Triple
from thinkgraph.testing.memory import MemoryGraphStore

CAPITALS = [triple("l", "Lind", "capital", "Tarr"), triple("m", "Merrow", "capital", "Osk")]
BORDERS = [triple("b", "Lind", "borders", "Arden"), triple("d", "Merrow", "borders", "Arden")]
GRAPH = MemoryGraphStore([(one["subject"], one["relation"], one["object"]) for one in (*CAPITALS, *BORDERS)])
BOTH = "Which country borders Arden and has the capital Tarr?"


@pytest.mark.parametrize("cited", [CAPITALS[:1], BORDERS[:1]], ids=["capital", "borders"])
def test_what_joins_an_answer_to_a_name_in_the_question_leads_no_further(cited: list[Triple]) -> None:
    """A search walks one part of such a question; the relation of the other part was said to lead on from the answer."""
    assert against(BOTH, "Lind", cited=cited, graph=GRAPH) == ""


def test_what_joins_it_to_something_else_leads_on() -> None:
    on_the_way = "the question asks for {}, and Merrow is on the way to it"
    assert against(BOTH, "Merrow", cited=BORDERS[1:], graph=GRAPH) == on_the_way.format("country")
    mayor = "Who is the mayor of the capital of the country that borders Arden?"
    assert against(mayor, "Merrow", cited=BORDERS[1:], graph=GRAPH) == on_the_way.format("a person")


def test_who_did_it_to_himself_is_named_by_the_question() -> None:
    """Judas was "what it asks about" in every search, whatever statement said that he did it."""
    himself, other = triple("j", "Judas", "killed by", "Judas"), triple("a", "Judas", "killed by", "Arne")
    assert against("Who killed Judas?", "Judas", cited=[himself]) == ""
    assert against("Who killed Judas?", "Judas", cited=[other]).endswith("Judas is what it asks about")
