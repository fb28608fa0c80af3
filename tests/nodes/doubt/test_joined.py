"""Questions for yes or no are answered by one, and yes stands on lines that join what the question names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from nodes.flows import deps_of, outcome, triple

from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.doubt.misfit import misfit
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Passage, Triple
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
DEPS = deps_of(GRAPH, HashEmbedder())
APART = "the lines cited do not join Belize and {}"


def against(question: str, *answers: str, cited: Sequence[Triple] = (), communities: bool = False) -> str:
    """What speaks against answers that stand on these statements, each a line of its own."""
    known = {one["id"]: one for one in cited}
    items = [path_item(key, Path(start=one["subject"], triples=[]), [key], total=1) for key, one in known.items()]
    if communities:
        items = [EvidenceItem(id="c", kind="community", score=1.0, round=1, triples=[*known], totals=[])]
    return str(outcome(misfit(answers, Walk(question, items, Texts(known, {}))), DEPS))


def test_a_question_for_yes_or_no_is_answered_by_one() -> None:
    question = "Do Mexico and Belize share a border?"
    assert against(question, "Mexico", "Belize", cited=BORDERS).startswith("the question asks for yes or no, and ")
    for answer in ("Yes", "No", "yes, they do"):
        assert against(question, answer, cited=BORDERS[:1]) == ""
    # These ask for things.
    for asks in ("Can you name a country that borders Mexico?", "Is it Mexico or Belize that borders Guatemala?"):
        assert against(asks, "Belize", cited=BORDERS) == ""


@pytest.mark.parametrize("name", ["United States", "USA"])
def test_yes_stands_on_lines_that_join_what_the_question_names(name: str) -> None:
    question = f"Do Belize and the {name} share a border?"
    assert against(question, "Yes", cited=BORDERS[1:]) == APART.format(name)
    assert against(question, "Yes", cited=BORDERS[1:2]) == APART.format(name), "the evidence does not speak of it"
    assert against(question, "No", cited=BORDERS[1:]) == ""
    assert against(question, "Yes", cited=BORDERS[1:], communities=True) == ""
    assert against(question, "Yes", cited=BORDERS) == "", "over Mexico"
    assert against("Do Belize and Narnia share a border?", "Yes", cited=BORDERS[:1]) == "", (
        "a name that the graph lacks"
    )


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
        return str(outcome(misfit(["Yes"], Walk(question, items, Texts({}, passages))), DEPS))

    assert told("m") == told("u") == told("m", "u") == APART.format("USA")
    assert told("b") == ""
