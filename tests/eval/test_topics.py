"""Given topic entities in the place of linking, by text and by name."""

from __future__ import annotations

import pytest

from thinkgraph.eval.questions import Question
from thinkgraph.eval.topics import TopicLinker
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.linking.linker import StandardLinker

GRAPH = MemoryGraphStore([("Niger", "capital", "Niamey"), ("Joliba", "flows_through", "Mali")])
ASKED = Question(id="1", question="How long is the river Niger?", answers=("4180",), topic=("Joliba",))


@pytest.mark.parametrize("way", ["link", "link_names"])
def test_topics_are_given_and_everything_else_is_linked_as_usual(way: str) -> None:
    linker = TopicLinker([ASKED], GRAPH, StandardLinker(GRAPH))
    found = getattr(linker, way)(["How long is the river Niger?", "joliba", "Niger", "Niameyy"], limit=5)
    ids = [[link["entity"]["id"] for link in links] for links in found]
    assert ids[:3] == [["Joliba"], ["Joliba"], ["Niger"]]
    assert (ids[3] == []) == (way == "link_names"), "names alone: nothing misspelt is guessed"
