"""What cited statements alone show to be right needs no verifier."""

from __future__ import annotations

from typing import Any

import pytest
from nodes.flows import TypedStore, deps_of, outcome

from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.doubt.misfit import misfit
from thinkgraph.nodes.doubt.settled import is_settled
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Step
from thinkgraph.testing.embedder import HashEmbedder

TYPES = {"Osk": "river", "Arden": "country", "Lind": "country", "Merrow": "region"}
FLOWS = [("Osk", "flows_through", "Arden"), ("Osk", "flows_through", "Lind"), ("Tarr", "flows_through", "Lind")]
SIZES = [("Arden", "population", "53"), ("Lind", "population", "48"), ("Arden", "capital", "Port Arden")]


def cited(*rows: tuple[str, str, str], total: int = 0) -> tuple[list[EvidenceItem], Texts, Any]:
    """A line of each statement's subject and relation, what the lines refer to, and the graph."""
    graph = TypedStore(rows, literals=["population"])
    graph.types = TYPES
    steps = [Step(entity=start, relation=relation, direction="out") for start, relation, _ in dict.fromkeys(rows)]
    triples = {one["id"]: one for near in graph.neighbours(steps, limit=99, seed=0) for one in near["triples"]}
    lists: dict[tuple[str, str], list[str]] = {}
    for key, one in triples.items():
        lists.setdefault((one["subject"], one["relation"]), []).append(key)
    items = [path_item(keys[0], Path(start=start, triples=[]), keys, total=total) for (start, _), keys in lists.items()]
    return items, Texts(triples, {}), deps_of(graph, HashEmbedder())


def settled(question: str, *answers: str, rows: list[tuple[str, str, str]], total: int = 0) -> bool:
    items, texts, deps = cited(*rows, total=total)
    assert outcome(misfit(answers, Walk(question, items, texts)), deps) == "", "it fits"
    return bool(outcome(is_settled(answers, Walk(question, items, texts)), deps))


@pytest.mark.parametrize(
    ("question", "answers", "right"),
    [
        ("Through which countries does the Osk flow?", ["Arden", "Lind"], True),
        ("Which river flows through Arden?", ["Osk"], True),
        ("Through how many countries does the Osk flow?", ["2"], True),
        ("Through how many countries does the Osk flow?", ["3"], False),
        # A word of the question says more than the list does.
        ("Through how many northern countries does the Osk flow?", ["2"], False),
        ("Through which country do both the Osk and the Tarr flow?", ["Lind"], True),
    ],
)
def test_statements_settle_lists_counts_and_what_things_share(
    question: str, answers: list[str], *, right: bool
) -> None:
    assert settled(question, *answers, rows=FLOWS) is right


def test_what_a_line_leaves_out_is_not_counted() -> None:
    assert not settled("Through how many countries does the Osk flow?", "2", rows=FLOWS, total=5)


def test_what_only_some_of_the_things_have_does_not_fit() -> None:
    items, texts, deps = cited(*FLOWS)
    fault = outcome(
        misfit(["Arden"], Walk("Through which country do both the Osk and the Tarr flow?", items, texts)), deps
    )
    assert fault == "the question compares, and only some of the things that it names have Arden"


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Which has more people, Arden or Lind?", "Arden", True),
        ("Arden and Lind: which of the two has a smaller population?", "Lind", True),
        # Next to the larger one stand other towns too.
        ("Which is the capital of the larger one, Arden or Lind?", "Port Arden", False),
    ],
)
def test_the_larger_of_two_values_settles_a_comparison(question: str, answer: str, *, right: bool) -> None:
    assert settled(question, answer, rows=SIZES) is right


def test_a_type_that_is_not_asked_for_is_left_to_the_verifier() -> None:
    rows = [("Arden", "located_in", "Merrow"), ("Arden", "located_in", "Lind")]
    assert settled("In which country is Arden located?", "Lind", rows=rows)
    assert not settled("In which country is Arden located?", "Merrow", rows=rows)


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Which country does the Osk flow through?", "Arden", True),
        ("Which country does the Osk not flow through?", "Arden", False),
        ("Which country doesn't the Osk flow through?", "Arden", False),
        ("Which country did the Osk flow through in 1990?", "Arden", False),
        ("Which is the largest country that the Osk flows through?", "Lind", False),
        ("Which river is the longest that flows through Lind?", "Tarr", False),
    ],
)
def test_a_list_does_not_settle_which_of_its_members_is_meant(question: str, answer: str, *, right: bool) -> None:
    """What a question does not ask for, or the shorter river, was accepted unverified, as a member of the list."""
    items, texts, deps = cited(*FLOWS, *SIZES)
    assert outcome(is_settled([answer], Walk(question, items, texts)), deps) is right
