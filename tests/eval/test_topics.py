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


IDS = MemoryGraphStore([("Q1", "capital", "Q2"), ("Q3", "capital", "Q4")], labels={"Q1": "Niger", "Q3": "Niger"})


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        ((("Q3", "m.05cc1"),), ["Q3"]),
        ((("m.05cc1", "Q9"),), ["Q1", "Q3"]),
        ((), ["Q1", "Q3"]),
    ],
)
def test_a_topic_is_found_by_its_ids_and_by_its_name_where_the_graph_has_none_of_them(
    ids: tuple[tuple[str, ...], ...], found: list[str]
) -> None:
    asked = Question(id="1", question="How long is it?", answers=("4180",), topic=("Niger",), topic_ids=ids)
    linker = TopicLinker([asked], IDS, StandardLinker(IDS))
    by_question, by_name = linker.link(["How long is it?", "Niger"], limit=5)
    assert [link["entity"]["id"] for link in by_question] == found
    assert by_name == [{**link, "start": 0} for link in by_question]


def test_questions_of_the_same_words_share_their_topics() -> None:
    asked = [
        Question(id=key, question="How long is it?", answers=("x",), topic=("Niger",), topic_ids=((key,),))
        for key in ("Q1", "Q3")
    ]
    (links,) = TopicLinker(asked, IDS, StandardLinker(IDS)).link(["How long is it?"])
    assert [link["entity"]["id"] for link in links] == ["Q1", "Q3"]
