"""An answer that does not fit the question is judged again, and options come in another order after each way back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodes.flows import outcome

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import PromptContext, Texts
from thinkgraph.nodes.common.judging import decide
from thinkgraph.nodes.doubt.judged import Judged, going_back, judged, may_backtrack, rounds_since, turned
from thinkgraph.nodes.doubt.misfit import misfit
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.prompts.kinds import Judgement
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Relation, Triple
from thinkgraph.state.settings import DoubtSettings

QUESTION = "How many people live in the country where the Volga ends?"
FAULT = "the question asks for a number, and {} is a name"
AGAIN = f"{FAULT}; it was given again all the same"
NAMED = "the question asks for a number, and Volga is what it asks about"


def triple(key: str, subject: str, relation: str, end: str, *, literal: bool = False) -> Triple:
    return Triple(
        id=key,
        subject=subject,
        relation=relation,
        object=end,
        subject_label=subject,
        relation_label=relation,
        object_label=end,
        literal=literal,
        qualifiers=[],
    )


TRIPLES = {
    "1": triple("1", "Volga", "ends in", "Russia"),
    "2": triple("2", "Russia", "population", "144000000", literal=True),
}
ITEMS = [
    path_item(key, Path(start=one["subject"], triples=[]), [key], total=1, score=1.0, number=1)
    for key, one in TRIPLES.items()
]
LINES = ["(Volga) -[ends in]-> (Russia)", "(Russia) -[population]-> (144000000)"]
CONTEXT = PromptContext(ITEMS, LINES, Texts(TRIPLES, {}))


RULED = Relation(entity="Volga", name="ruled_by", label="ruled by", direction="out", count=1)
# The graph knows one relation more, and the encoder nothing nearer to the question.
DEPS: Any = SimpleNamespace(
    call=lambda method, ids: (
        [[RULED] if "Volga" in ids else []] if method == "graph.relations" else [None for _ in ids]
    ),
    knowledge=SimpleNamespace(
        embedder=SimpleNamespace(
            embed=lambda texts: [[float(at == 0 or text == "ruled by")] for at, text in enumerate(texts)]
        )
    ),
)
alone: list[list[str]] = []


def run(
    *answers: str, question: str = QUESTION, doubted: Iterable[str] = (), sufficient: bool = True, **settings: Any
) -> tuple[Judged, list[tuple[str, str]]]:
    """The outcome where a model gives these answers one after the other, and by key what it was told of doubts."""
    told: list[tuple[str, str]] = []
    replies = iter(answers)
    state: Any = {"question": question, "stopped": "", "round": 1, "evidence": {}, "doubted": list(doubted)}
    chosen = DoubtSettings(**settings)

    def asks(shown: PromptContext, *, key: str, doubted: str) -> Flow[Judgement]:
        told.append((key, doubted))
        alone.extend([list(shown.lines)] if "alone" in key else [])
        yield from ()
        answer = next(replies)
        lines = [1, 2] if answer and len(shown.lines) > 1 else [1] if answer else []
        return Judgement(sufficient=sufficient, answers=[answer] if answer else [], evidence=lines, clues="", query="")

    def draft_of(judgement: Judgement, shown: PromptContext) -> Any:
        return decide(judgement, shown, state, chosen, final=False, likely=False)

    flow = judged(asks, draft_of, CONTEXT, state, chosen)
    try:
        op: Any = next(flow)
        assert question != QUESTION, "what the statements tell is not looked up"
        while True:
            op = flow.send(op.function(DEPS))
    except StopIteration as ended:
        result: Judged = ended.value
    assert next(replies, None) is None, "an answer was not asked for"
    return result, told


def test_an_answer_that_fits_at_once_is_one_call() -> None:
    result, told = run("144000000")
    assert told == [("", "")]
    assert (result.judgement["answers"], result.fault, result.doubted) == (["144000000"], "", [])


def test_a_doubted_answer_is_asked_for_again_with_the_reason() -> None:
    result, told = run("Russia", "144000000")
    assert told == [("", ""), ("again", f"[1] {FAULT.format('Russia')}")]
    assert (result.judgement["answers"], result.fault) == (["144000000"], "")
    assert result.doubted == [FAULT.format("Russia")], "later rounds are told too"


def test_an_answer_given_again_is_told_so_and_has_a_fault() -> None:
    result, told = run("Russia", "Russia", "Russia")
    doubt, again = FAULT.format("Russia"), AGAIN.format("Russia")
    assert told == [("", ""), ("again", f"[1] {doubt}"), ("at last", f"[1] {again}")]
    assert (result.fault, result.doubted) == (doubt, [again])


def test_an_answer_doubted_three_times_is_not_asked_for_again() -> None:
    result, told = run("Russia", "Volga", "Russia")
    assert [key for key, _ in told] == ["", "again", "at last"]
    assert (result.fault, result.doubted) == (FAULT.format("Russia"), [NAMED, AGAIN.format("Russia")])


def test_a_doubt_of_before_is_told_at_once_and_an_equal_prompt_is_not_sent_twice() -> None:
    before, again = FAULT.format("Russia"), AGAIN.format("Russia")
    result, told = run("Russia", "Russia", doubted=[before])
    assert [said for _, said in told] == [f"[1] {before}", f"[1] {again}"]
    assert (result.fault, result.doubted) == (before, [again])
    assert run("Russia", doubted=[again])[1] == [("", f"[1] {again}")]


ENDS = "Who governs at the mouth of the Volga?"
OPEN = "Russia does not follow from the lines cited for it alone"


def test_where_no_relation_named_leads_to_it_the_cited_lines_are_judged_alone() -> None:
    alone.clear()
    result, told = run("Russia", "Russia", question=ENDS)
    assert told == [("", ""), (" alone", "")]
    assert alone == [LINES]
    assert (result.judgement["answers"], result.fault, result.doubted) == (["Russia"], "", [])


@pytest.mark.parametrize("third", ["Russia", ""])
def test_two_judgements_that_disagree_are_settled_by_a_third(third: str) -> None:
    result, told = run("Russia", "", third, question=ENDS)
    assert told == [("", ""), (" alone", ""), ("again", f"[1] {OPEN}")]
    assert (result.judgement["answers"], result.fault) == ([third] if third else [], "")
    assert result.doubted == [OPEN]


def test_a_relation_that_the_question_names_needs_no_second_look() -> None:
    assert run("Russia", question="Which country does the Volga end in?")[1] == [("", "")]


@pytest.mark.parametrize("settings", [{"backtracks": 0}, {"preset": "paper", "backtracks": 0}, {"task": "truth"}])
def test_without_ways_back_or_of_a_claim_nothing_is_held_against_the_question(settings: dict[str, Any]) -> None:
    result, told = run("Russia", **settings)
    assert told == [("", "")]
    assert (result.fault, result.doubted) == ("", [])


def test_no_answer_is_not_doubted() -> None:
    assert run("")[1] == [("", "")]
    # Nor is one that the search does not end with.
    assert run("Russia", sufficient=False)[1] == [("", "")]


@given(st.lists(st.integers(), max_size=30), st.integers(0, 20))
def test_turned_options_are_all_there(options: list[int], times: int) -> None:
    assert sorted(turned(options, times)) == sorted(options)


@given(st.integers(3, 60))
def test_turned_options_come_in_another_order_each_time(count: int) -> None:
    options = list(range(count))
    first, second, third, *more = [list(turned(options, times)) for times in range(21)]
    assert first == options
    assert third not in (first, second)
    assert all(one != after for one, after in pairwise([first, second, third, *more]))


@pytest.mark.parametrize(
    ("backtracked", "stopped", "expected"), [(0, "", True), (1, "", True), (2, "", False), (0, "spent", False)]
)
def test_the_search_goes_back_as_often_as_it_may_and_not_once_stopped(
    backtracked: int, stopped: str, *, expected: bool
) -> None:
    state: Any = {"backtracked": backtracked, "stopped": stopped}
    assert may_backtrack(state, DoubtSettings(backtracks=2)) is expected


def test_rounds_are_counted_from_the_last_way_back() -> None:
    state: Any = {"round": 3, "since": 0, "backtracked": 0}
    assert rounds_since(state) == 3
    state.update(going_back(state))
    assert (state["backtracked"], rounds_since(state)) == (1, 0)
    assert rounds_since({**state, "round": 5}) == 2


def compared(question: str, *answers: str, triples: Sequence[Triple] = (), communities: bool = False) -> str:
    """What `misfit` says of answers that stand on these statements, each a line of its own."""
    known = {one["id"]: one for one in triples}
    items = [path_item(key, Path(start=one["subject"], triples=[]), [key], total=1) for key, one in known.items()]
    if communities:
        items = [EvidenceItem(id="c", kind="community", score=1.0, round=1, triples=list(known), totals=[])]
    return str(outcome(misfit(answers, Walk(question, items, Texts(known, {}))), DEPS))


BOTH = [triple("k", "Kenya", "population", "53", literal=True), triple("u", "Uganda", "population", "48", literal=True)]
SMALLER = "Which is smaller, Kenya or Uganda?"
ALONE = "the question compares, and the lines cited do not have two values"


def test_a_comparison_needs_two_values_and_one_answer() -> None:
    assert compared(SMALLER, "Uganda", triples=BOTH) == ""
    assert compared(SMALLER, "Uganda", triples=BOTH[1:]) == ALONE
    fewer = "Which has the smallest population, Kenya or Uganda?"
    assert compared(fewer, "Uganda", triples=BOTH[1:], communities=True) == ALONE
    assert compared(fewer, "Uganda", triples=BOTH, communities=True) == ""
    leading = [triple("c", "Uganda", "capital", "Kampala")]
    assert (
        compared("What is the capital of the smallest neighbour?", "Kampala", triples=leading, communities=True) == ""
    )
    assert compared(SMALLER, "Uganda", "Kenya", triples=BOTH).endswith(
        "only one of the things that it names is the answer"
    )
    # What stands before a relation to things tells which of them it is.
    buyer = [triple("b", "Kenya", "export partner", "Uganda"), triple("c", "Uganda", "capital", "Kampala")]
    asked = "What is the capital of the country that is the largest export partner of Kenya?"
    assert compared(asked, "Kampala", triples=buyer) == ""
    # A relation may say itself which is the smallest.
    town = [triple("t", "Kenya", "smallest town", "Osk")]
    assert compared("What is the smallest town of Kenya?", "Osk", triples=town) == ""


def test_the_value_decides_between_two_things() -> None:
    assert compared(SMALLER, "Kenya", triples=BOTH) == "the question compares, and Uganda has 48 where Kenya has 53"
    assert compared("Which has more people, Kenya or Uganda?", "Kenya", triples=BOTH) == ""
    capitals = [triple("c", "Kenya", "capital", "Nairobi"), triple("d", "Uganda", "capital", "Kampala")]
    described = "Which has more people, the country ruled from Nairobi or the one ruled from Kampala?"
    fault = "the question compares, and Kenya has 53 where Uganda has 48"
    assert compared(described, "Uganda", triples=[*BOTH, *capitals]) == fault
    assert (
        compared("What is the capital of the larger one, Kenya or Uganda?", "Kampala", triples=[*BOTH, *capitals])
        == fault
    )


def test_values_that_may_not_be_meant_decide_nothing() -> None:
    # Another relation may be meant.
    areas = [triple("a", "Kenya", "area", "580", literal=True), triple("b", "Uganda", "area", "241", literal=True)]
    assert compared(SMALLER, "Kenya", triples=[*BOTH, *areas]) == ""
    assert compared("Which has the smaller area, Kenya or Uganda?", "Kenya", triples=[*BOTH, *areas]) != ""
    # Who was born later is younger; an age is an age.
    born = [triple("a", "Ann", "born", "1900", literal=True), triple("b", "Bea", "born", "1950", literal=True)]
    assert compared("Who is older, Ann or Bea?", "Ann", triples=born) == ""
    ages = [triple("a", "Ann", "age", "50", literal=True), triple("b", "Bea", "age", "40", literal=True)]
    assert compared("Who is younger, Ann or Bea?", "Bea", triples=ages) == ""
    assert (
        compared("Who is younger, Ann or Bea?", "Ann", triples=ages)
        == "the question compares, and Bea has 40 where Ann has 50"
    )
    # A value is missing, or both are equal.
    assert compared(SMALLER, "Kenya", triples=[*BOTH[:1], triple("x", "Chad", "population", "9", literal=True)]) == ""
    equal = [BOTH[0], triple("u", "Uganda", "population", "53", literal=True)]
    assert compared(SMALLER, "Kenya", triples=equal) == ""


def test_what_tells_the_things_compared_is_not_compared_itself() -> None:
    question = "Which has more people, the country ruled from Nairobi or the one ruled from Kampala?"
    triples = [*BOTH, triple("c", "Kenya", "capital", "Nairobi")]
    assert compared(question, "Nairobi", triples=triples).endswith("Nairobi only tells which things it compares")
    assert compared(question, "Kenya", triples=triples) == ""


@pytest.mark.parametrize(
    ("question", "one"),
    [
        ("Which has more people, the country ruled from Nairobi or the one ruled from Kampala?", True),
        ("Which is larger: the neighbour of Gabon or that of Chad?", True),
        ("Which countries have more than five rivers or lakes?", False),
        ("Which are the largest cities of this lake or that river?", False),
    ],
)
def test_of_things_that_are_described_one_is_the_answer_too(question: str, *, one: bool) -> None:
    both = "only one of the things that it names is the answer"
    triples = [*BOTH, triple("c", "Kenya", "capital", "Nairobi"), triple("d", "Uganda", "capital", "Kampala")]
    assert compared(question, "Kenya", "Uganda", triples=triples).endswith(both) == one


def test_a_number_of_a_relation_that_says_more_is_another_one() -> None:
    ages = [triple("m", "Austria", "median age", "44.5", literal=True)]
    fault = "the question asks for age, and 44.5 is its median age"
    assert compared("At what age may people vote in Austria?", "44.5", triples=ages) == fault
    assert compared("What is the median age in Austria?", "44.5", triples=ages) == ""
    area = [triple("a", "Austria", "area sq km", "83871", literal=True)]
    assert compared("What is the area of Austria?", "83871", triples=area) == ""
