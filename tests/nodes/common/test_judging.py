"""Which lines support an answer, and what a run that ends without one says."""

from __future__ import annotations

from typing import Any

import pytest

from thinkgraph.nodes.coggrag.prompt_context import QuestionContext
from thinkgraph.nodes.common.evidence_lines import PromptContext, Texts
from thinkgraph.nodes.common.judging import MOVED, decide, nothing_found, supporting
from thinkgraph.state.settings import RunSettings

LINE = "(Gabon) -[capital]-> (Libreville)"
CONTEXT = PromptContext([{"id": "p1"}], [LINE])  # type: ignore[typeddict-item, list-item]


@pytest.mark.parametrize(
    ("question", "found"), [("Is Libreville in Gabon?", [1]), ("What is the capital of Gabon?", []), ("", [1])]
)
def test_yes_stands_on_a_line_only_where_it_can_be_an_answer(question: str, found: list[int]) -> None:
    assert supporting(["Yes"], [1], [LINE], question) == found
    context = QuestionContext([{"id": "p1", "tails": []}], [], [LINE], Texts({}, {}))  # type: ignore[typeddict-item, list-item]
    assert context.supporting(["Yes"], [1], question) == found


@pytest.mark.parametrize(("task", "status"), [("question", "unknown"), ("truth", "grounded")])
def test_a_claim_to_be_judged_is_no_question(task: Any, status: str) -> None:
    judgement: Any = {"sufficient": True, "answers": ["true"], "evidence": [1], "clues": "", "query": ""}
    state: Any = {"question": "What a day, who sang?", "stopped": "", "round": 1, "evidence": {}}
    draft = decide(judgement, CONTEXT, state, RunSettings(task=task), final=True, likely=True)
    assert draft is not None
    assert draft["status"] == status


def test_a_count_stands_on_no_list_of_something_else() -> None:
    lines = ["(Gabon) -[borders]-> (Congo), (Chad)", "(Gabon) -[instance of]-> (country)"]
    assert supporting(["2"], [1], lines, "How many countries border Gabon?") == [1]
    assert supporting(["1"], [2], lines, "How many countries border Gabon?") == []
    assert supporting(["1"], [2], lines) == [2], "of a claim any list counts"


def test_a_false_name_among_true_words_stands_on_nothing() -> None:
    assert supporting(["The capital of Gabon is Libreville"], [1], [LINE]) == [1]
    assert supporting(["The capital of Gabon is Rome"], [1], [LINE]) == []


@pytest.mark.parametrize(("rounds", "said"), [(0, ""), (1, " gathered in 1 round"), (2, " gathered in 2 rounds")])
def test_rounds_are_counted_in_words(rounds: int, said: str) -> None:
    state: Any = {"stopped": "", "evidence": {"t1": {}}, "round": rounds}
    draft = nothing_found(state, RunSettings(task="question"))
    assert draft["reason"] == f"the evidence{said} does not hold the answer"


@pytest.mark.parametrize(("cited", "reported"), [([2], True), ([1], False), ([], False), ([1, 2], False)])
def test_a_citation_that_had_to_be_moved_is_reported(cited: list[int], *, reported: bool) -> None:
    context = PromptContext([{"id": "p1"}, {"id": "p2"}], [LINE, "(Gabon) -[borders]-> (Congo)"])  # type: ignore[typeddict-item, list-item]
    judgement: Any = {"sufficient": True, "answers": ["Libreville"], "evidence": cited, "clues": "", "query": ""}
    state: Any = {"question": "What is the capital of Gabon?", "stopped": "", "round": 1, "evidence": {}}
    draft = decide(judgement, context, state, RunSettings(), final=True, likely=True)
    assert draft is not None
    assert (draft["status"], draft["cited"]) == ("grounded", ["p1"])
    assert (MOVED in draft["reason"]) is reported
