"""What an answer stands on speaks of something that the question names."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from nodes.flows import outcome

from thinkgraph.nodes.closing.rooted import aside
from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.state.evidence import EvidenceItem, Path, chunk_item, path_item
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge

ROWS = [
    ("Poland", "currency", "zloty"),
    ("Poland", "premier", "Tusk"),
    ("Oman", "premier", "Said"),
    ("Oman", "on", "Gulf"),
]
NOTE = "Muscat is where the premier lives."


def said(question: str, *labels: str, text: str = "", entity: str = "") -> str:
    """What is said against evidence of the triples with these objects and a passage about an entity."""
    graph = MemoryGraphStore(ROWS)
    passage = Passage(id="d", title="Muscat", section="", text=text, entities=[entity] if entity else [])
    knowledge = Knowledge(graph=graph, text=MemoryTextStore([passage] if text else []))
    every = {one["id"]: one for near in graph.neighbourhood(["Poland", "Oman"]) for one in near["triples"]}
    cited = [one for one in every.values() if one["object_label"] in labels]
    items: list[EvidenceItem] = [
        path_item(one["id"], Path(start=one["subject"], triples=[]), [one["id"]], total=1) for one in cited
    ]
    items += [chunk_item("d", 0, len(text), entity=entity)] if text else []
    flow = aside(question, items, Texts(every, {"d": passage} if text else {}))
    return str(outcome(flow, SimpleNamespace(knowledge=knowledge)))


@pytest.mark.parametrize("question", ["Who is premier in the country of the zloty?", "WHO IS PREMIER OF POLAND?"])
def test_evidence_about_other_things_is_aside(question: str) -> None:
    assert said(question, "Said").startswith("nothing cited speaks of ")
    assert said(question, "Tusk", "zloty") == ""


def test_a_common_noun_that_is_some_entitys_name_does_not_count_beside_a_name() -> None:
    assert said("Who is the said of Poland?", "Said") == "nothing cited speaks of Poland"
    assert said("who is the said?", "Said") == ""


def test_passages_speak_of_what_they_are_about_and_of_what_they_mention() -> None:
    assert said("Where does the premier of Oman live?", text=NOTE) == "nothing cited speaks of Oman"
    assert said("Where does the premier of Oman live?", text=NOTE, entity="Oman") == ""
    assert said("Where does the premier of Oman live?", text=f"In Oman {NOTE}") == ""
    assert said("Who lives in Muscat?", text=NOTE) == ""


def test_a_question_that_names_no_entity_says_nothing() -> None:
    assert said("Who is the richest of all?", "Said") == ""
