"""Questions for yes or no are answered by one, and yes stands on lines that join what the question names."""

from __future__ import annotations

from collections.abc import Sequence

from nodes.flows import deps_of, outcome, triple

from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.doubt.misfit import misfit
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Passage, Triple
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore

DEPS = deps_of(MemoryGraphStore([]), HashEmbedder())


def compared(
    question: str,
    *answers: str,
    triples: Sequence[Triple] = (),
    communities: bool = False,
    beside: Sequence[Triple] = (),
) -> str:
    """What `misfit` says of answers that stand on these statements, each a line of its own, with others shown beside them."""
    known = {one["id"]: one for one in [*triples, *beside]}
    shown = [path_item(key, Path(start=one["subject"], triples=[]), [key], total=1) for key, one in known.items()]
    items = shown[: len(triples)]
    if communities:
        items = [EvidenceItem(id="c", kind="community", score=1.0, round=1, triples=[*known], totals=[])]
    return str(outcome(misfit(answers, Walk(question, items, Texts(known, {})), shown=shown), DEPS))


BORDERS = [
    triple("m", "Mexico", "borders", "Belize"),
    triple("g", "Guatemala", "borders", "Belize"),
    triple("u", "Mexico", "borders", "United States"),
    triple("e", "Belize", "official language", "English"),
    triple("f", "United States", "official language", "English"),
]


def test_a_question_for_yes_or_no_is_answered_by_one() -> None:
    question = "Do Mexico and Belize share a border?"
    assert compared(question, "Mexico", "Belize", triples=BORDERS).startswith("the question asks for yes or no, and ")
    for answer in ("Yes", "No", "yes, they do"):
        assert compared(question, answer, triples=BORDERS[:1]) == ""
    # These ask for things.
    for asks in ("Can you name a country that borders Mexico?", "Is it Mexico or Belize that borders Guatemala?"):
        assert compared(asks, "Belize", triples=BORDERS) == ""


def test_yes_stands_on_lines_that_join_what_the_question_names() -> None:
    question = "Do Belize and the United States share a border?"
    apart = [BORDERS[1], BORDERS[2]]
    assert compared(question, "Yes", triples=apart) == "the lines cited do not join Belize and United States"
    assert compared(question, "No", triples=apart) == ""
    assert compared(question, "Yes", triples=apart, communities=True) == ""


def test_yes_speaks_of_every_name_that_the_evidence_knows() -> None:
    question = "Do Belize and the United States share a border?"
    fault = "the lines cited do not join Belize and United States"
    assert compared(question, "Yes", triples=BORDERS[1:2], beside=BORDERS[2:3]) == fault
    assert compared(question, "Yes", triples=BORDERS[1:2]) == ""


def test_a_text_joins_what_it_names_and_what_it_is_about() -> None:
    question = "Do Belize and the United States share a border?"
    texts = {
        "b": "Belize is bounded by Mexico and by a sea.",
        "u": "Its neighbours are Canada and Mexico.",
        "m": "Belize is small.",
    }
    titles = {"b": "Belize", "u": "United States", "m": "Mexico"}
    passages = {
        key: Passage(id=key, title=titles[key], section="", text=text, entities=[titles[key]])
        for key, text in texts.items()
    }
    chunks = {
        key: EvidenceItem(id=key, kind="chunk", score=1.0, round=0, passage=key, start=0, end=len(text), sentences=[])
        for key, text in texts.items()
    }

    def told(*cited: str) -> str:
        walk = Walk(question, [chunks[key] for key in cited], Texts({}, passages))
        return str(outcome(misfit(["Yes"], walk, shown=list(chunks.values())), DEPS))

    assert told("b", "m") == "the lines cited do not join Belize and United States"
    assert told("b", "u") == "the lines cited do not join Belize and United States", "only texts about both name both"
    passages["u"]["text"] = "Belize is a neighbour."
    chunks["u"]["end"] = len(passages["u"]["text"])
    assert told("u") == ""
