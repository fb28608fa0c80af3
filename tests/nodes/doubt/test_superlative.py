"""The largest of what a relation leads to is that by its qualifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from nodes.doubt.doubt_kit import against
from nodes.flows import deps_of, outcome, triple

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import PromptContext, Texts
from thinkgraph.nodes.common.judging import decide
from thinkgraph.nodes.doubt.judged import judged
from thinkgraph.prompts.kinds import Judgement
from thinkgraph.state.evidence import Path, path_item
from thinkgraph.state.knowledge import Triple
from thinkgraph.state.settings import DoubtSettings
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore

DEPS = deps_of(MemoryGraphStore([]), HashEmbedder())


BUYERS = [
    triple("u", "Kenya", "export partner", "Uganda", share_pct="11", year="2023"),
    triple("p", "Kenya", "export partner", "Pakistan", share_pct="9.5", year="2024"),
    triple("c", "Uganda", "capital", "Kampala"),
    triple("d", "Pakistan", "capital", "Islamabad"),
    triple("x", "Chad", "export partner", "China", share_pct="40"),
]


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("What is the capital of the largest export partner of Kenya?", "", "Uganda has 11 where Pakistan has 9.5"),
        (
            "What is the capital of the country that buys most of Kenya's exports?",
            "",
            "Uganda has 11 where Pakistan has 9.5",
        ),
        ("What is the capital of the smallest export partner of Kenya?", "Pakistan has 9.5 where Uganda has 11", ""),
        ("What is the capital of the second largest export partner of Kenya?", "", ""),
        ("What are the capitals of the two largest export partners of Kenya?", "", ""),
    ],
)
def test_a_qualifier_may_rank_another_thing_first(question: str, first: str, second: str) -> None:
    def told(answer: str, cited: Sequence[Triple]) -> str:
        return against(question, answer, cited=cited, beside=BUYERS).removeprefix("the question compares, and ")

    assert told("Kampala", BUYERS[::2][:2]) == first
    assert told("Islamabad", BUYERS[1::2]) == second


@pytest.mark.parametrize("other", ["-12", "\u221212", "0.975"])
def test_a_value_below_zero_or_one_is_smaller(other: str) -> None:
    """-12 was ranked as 12, and 0.975 as 975."""
    bought = [triple(key, "Osk", "buyer", key, growth=growth) for key, growth in (("Ann", "9"), ("Bea", other))]
    assert against("Who is the largest buyer of Osk?", "Ann", cited=bought[:1], beside=bought) == ""
    assert against("Who is the largest buyer of Osk?", "Bea", cited=bought[1:], beside=bought)


@pytest.mark.parametrize(
    ("question", "relation"),
    [("What are the largest industries of Osk?", "industry"), ("Who is the older sibling of Osk?", "sibling")],
)
def test_a_word_is_a_relations_in_any_form(question: str, relation: str) -> None:
    """The relation "industry" was not seen in "industries": the lines cited were said to have no two values."""
    ranked = [triple(end, "Osk", relation, end, share=share) for end, share in (("Ore", "7"), ("Silk", "5"))]
    assert against(question, "Ore", cited=ranked[:1], beside=ranked) == ""
    assert against(question, "Silk", cited=ranked[1:], beside=ranked).endswith("Ore has 7 where Silk has 5")


def test_a_statement_is_ranked_among_those_of_the_same_thing() -> None:
    sold = [
        triple("a", "Ann", "largest buyer of", "Osk", tons="5"),
        triple("b", "Bea", "buyer of", "Osk", tons="7"),
        triple("c", "Cid", "buyer of", "Osk", tons="6"),
    ]
    question = "Who is the largest buyer of Osk?"
    assert (
        against(question, "Cid", cited=sold[2:], beside=sold) == "the question compares, and Bea has 7 where Cid has 6"
    )
    assert against(question, "Bea", cited=sold[1:2], beside=sold) == ""
    # Years and ranks measure nothing.
    ranked = [triple("b", "Bea", "buyer of", "Osk", rank="2"), triple("c", "Cid", "buyer of", "Osk", rank="1")]
    assert against(question, "Cid", cited=ranked[1:], beside=ranked) == ""


def test_an_answer_is_ranked_among_what_the_question_names() -> None:
    """Every line was cited, the first one's too, and the answer was taken for it."""
    lengths = (("Osk", "Ann", "2236"), ("Bea", "Osk", "489"), ("Bea", "Cid", "749"), ("Cid", "Bea", "749"))
    borders = [triple(one + end, one, "shares border with", end, length_km=length) for one, end, length in lengths]
    question = "Which country that borders Osk has the longest border with it?"
    assert against(question, "Bea", cited=borders).endswith("Ann has 2236 where Bea has 489")
    assert against(question, "Ann", cited=borders) == ""


def test_the_lines_of_those_behind_are_left_out_once_an_answer_is_doubted() -> None:
    question = "What is the capital of the largest export partner of Kenya?"
    known = {one["id"]: one for one in BUYERS}
    ways = [path_item(key, Path(start="Kenya", triples=[key]), [end], total=1) for key, end in ("uc", "pd")]
    lines = ["Kenya, Uganda, Kampala", "Kenya, Pakistan, Islamabad"]
    looks: list[Sequence[str]] = []

    def asks(shown: PromptContext, **_told: str) -> Flow[Judgement]:
        looks.append(shown.lines)
        yield from ()
        last = shown.lines[-1].rsplit(" ")[-1]
        return Judgement(sufficient=True, answers=[last], evidence=[len(shown.lines)], clues="", query="")

    state: Any = {"question": question, "stopped": "", "round": 1, "evidence": {}, "doubted": []}
    settings = DoubtSettings()

    def draft_of(judgement: Judgement, shown: PromptContext) -> Any:
        return decide(judgement, shown, state, settings, final=False, likely=False)

    result = outcome(judged(asks, draft_of, PromptContext(ways, lines, Texts(known, {})), state, settings), DEPS)
    assert looks == [lines, lines[:1]]
    assert (result.judgement["answers"], result.fault) == (["Kampala"], "")
