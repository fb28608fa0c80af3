"""Questions for yes or no are answered by one, and yes stands on lines that join what the question names."""

from __future__ import annotations

from functools import partial

import pytest
from nodes.doubt.doubt_kit import against
from nodes.flows import deps_of, outcome, triple

from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.doubt.misfit import misfit
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore

BORDERS = [
    triple("m", "Mexico", "borders", "Belize"),
    triple("g", "Guatemala", "borders", "Belize"),
    triple("u", "Mexico", "borders", "United States"),
]
GRAPH = MemoryGraphStore(
    [(one["subject"], one["relation"], one["object"]) for one in BORDERS], aliases={"United States": ["USA"]}
)
APART = "the lines cited do not join Belize and {}"


apart = partial(against, graph=GRAPH)


def test_a_question_for_yes_or_no_is_answered_by_one() -> None:
    question = "Do Mexico and Belize share a border?"
    assert apart(question, "Mexico", "Belize", cited=BORDERS).startswith("the question asks for yes or no, and ")
    for answer in ("Yes", "No", "yes, they do"):
        assert apart(question, answer, cited=BORDERS[:1]) == ""
    # These ask for things.
    for asks in ("Can you name a country that borders Mexico?", "Is it Mexico or Belize that borders Guatemala?"):
        assert apart(asks, "Belize", cited=BORDERS) == ""


@pytest.mark.parametrize("name", ["United States", "USA"])
def test_yes_stands_on_lines_that_join_what_the_question_names(name: str) -> None:
    question = f"Do Belize and the {name} share a border?"
    assert apart(question, "Yes", cited=BORDERS[1:]) == APART.format(name)
    assert apart(question, "Yes", cited=BORDERS[1:2]) == APART.format(name), "the evidence does not speak of it"
    assert apart(question, "No", cited=BORDERS[1:]) == ""
    assert apart(question, "Yes", cited=BORDERS[1:], communities=True) == ""
    assert apart(question, "Yes", cited=BORDERS) == "", "over Mexico"
    assert apart("Do Belize and Narnia share a border?", "Yes", cited=BORDERS[:1]) == "", "a name that the graph lacks"


def test_a_text_joins_what_it_names_and_what_it_is_about() -> None:
    question = "Do Belize and the USA share a border?"
    texts = {"m": "Belize lies beside it.", "u": "It ends at Mexico.", "b": "The United States are far."}
    about = {"m": "Mexico", "u": "United States", "b": "Belize"}

    def told(*cited: str) -> str:
        passages = {key: Passage(id=key, title="", section="", text=texts[key], entities=[about[key]]) for key in cited}
        items = [
            EvidenceItem(
                id=key, kind="chunk", score=1.0, round=0, passage=key, start=0, end=len(texts[key]), sentences=[]
            )
            for key in cited
        ]
        return str(outcome(misfit(["Yes"], Walk(question, items, Texts({}, passages))), deps_of(GRAPH, HashEmbedder())))

    assert told("m") == told("u") == told("m", "u") == APART.format("USA")
    assert told("b") == ""
