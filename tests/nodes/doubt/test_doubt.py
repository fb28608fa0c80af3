"""An answer that does not fit the question is judged again, and options come in another order after each way back."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodes.flows import triple

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import PromptContext, Texts
from thinkgraph.nodes.common.judging import decide
from thinkgraph.nodes.doubt.judged import Judged, going_back, judged, may_backtrack, rounds_since, turned
from thinkgraph.prompts.kinds import Judgement
from thinkgraph.state.evidence import Path, path_item
from thinkgraph.state.knowledge import Relation
from thinkgraph.state.settings import DoubtSettings

QUESTION = "How many people live in the country where the Volga ends?"
FAULT = "the question asks for a number, and {} is a name"
AGAIN = f"{FAULT}; it was given again all the same"
NAMED = "the question asks for a number, and Volga is what it asks about"


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
FLOWS = {end: triple(end, "Volga", "flows through", end) for end in ("Tver", "Kazan", "Samara")}
FLOW = path_item("4", Path(start="Volga", triples=[]), [*FLOWS], total=3, score=1.0, number=1)
COUNTS = PromptContext([FLOW], ["(Volga) -[flows through]-> (Tver), (Kazan), (Samara)"], Texts(FLOWS, {}))


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
    *answers: str,
    question: str = QUESTION,
    context: PromptContext = CONTEXT,
    doubted: Iterable[str] = (),
    sufficient: bool = True,
    **settings: Any,
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

    flow = judged(asks, draft_of, context, state, chosen)
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


def test_a_wrong_count_is_asked_for_again_with_the_length_of_the_list() -> None:
    question = "How many towns does the Volga flow through?"
    result, told = run("5", "3", question=question, context=COUNTS)
    doubt = "the lines cited list 3, not 5"
    assert told == [("", ""), ("again", f"[1] {doubt}")]
    assert result.draft is not None
    assert (result.draft["answers"], result.draft["status"], result.doubted) == (["3"], "grounded", [doubt])
    # Given again it is counted for the model.
    result, told = run("5", "5", question=question, context=COUNTS)
    assert result.draft is not None
    assert (len(told), result.draft["answers"], result.draft["status"]) == (2, ["3"], "grounded")
    assert result.judgement["answers"] == ["3"]
    # A third number is not asked for once more.
    assert len(run("5", "6", "7", question=question, context=COUNTS)[1]) == 3
    # The question may count only some of them: the number does not stand in the evidence, and the search goes on.
    result, told = run("5", "5", question="How many Russian towns does the Volga flow through?", context=COUNTS)
    assert (len(told), result.draft) == (2, None)
    assert len(run("5", question=question, context=COUNTS, backtracks=0)[1]) == 1


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
