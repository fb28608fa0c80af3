"""The most calls a run may make, by each method's paper."""

from __future__ import annotations

from typing import Any, cast

import pytest
from fakes import FakeModel
from graphs.cases import CASES

import thinkgraph as tg
from thinkgraph.eval.reports.results import BenchResult, table
from thinkgraph.graphs.registry import find_method
from thinkgraph.state.answer import Answer
from thinkgraph.state.settings import resolve_settings

NOTHING = cast("Answer", {"usage": {"roles": {}}, "trace": {"data": {"nodes": []}}})


def bound(name: str, settings: dict[str, Any], answer: Answer = NOTHING) -> int | None:
    found = find_method(name)
    return found.bound(resolve_settings(found.settings, settings), answer)


def one_way(name: str) -> dict[str, Any]:
    """Settings of a run that does not go back, as in the papers."""
    return {"backtracks": 0} if "backtracks" in find_method(name).settings.model_fields else {}


@pytest.mark.parametrize(
    ("name", "settings", "most"),
    [
        ("tog2", {"topic_prune": False}, 7),
        ("tog2", {"combined": False, "topic_prune": False}, 13),
        ("tog2", {"fused": False}, 11),
        ("tog2", {"precheck": True, "own_knowledge": True, "precheck_samples": 4}, 12),
        ("tog", {"topic_prune": False}, 22),
        ("paths", {}, 7),
        ("paths", {"topic_prune": True}, 8),
        # Its first round begins at twice as many named entities, and at as many that the paths reach.
        ("paths", {"combined": False}, 13 + 6),
        ("fasttog", {"backtracks": 0}, 23),
        ("fasttog", {"own_knowledge": True, "backtracks": 0}, 24),
        (
            "fasttog",
            {"own_knowledge": True, "fallback": "cot_sc", "fallback_samples": 5, "depth": 1, "backtracks": 0},
            12,
        ),
        ("fasttog", {"own_knowledge": True, "fallback": "off", "backtracks": 0}, 23),
        ("fiske", {}, 30),
        ("fiske", {"max_calls": None}, None),
        ("cot_sc", {"samples": 4}, 4),
        ("search_agent", {"turns": 6}, 6),
        ("direct", {}, 1),
        ("rag", {"cot": True}, 1),
    ],
)
def test_the_bound_is_the_papers(name: str, settings: dict[str, Any], most: int | None) -> None:
    assert bound(name, {**settings, **one_way(name)}) == most


@pytest.mark.parametrize(
    ("name", "settings", "most"),
    [
        # 3 · (1 + 2) rounds, and ten times Reason, each at most five times.
        ("tog2", {"topic_prune": False}, 9 + 50),
        ("tog2", {"fused": False, "topic_prune": False}, 9 + 50 + 9),
        # From one starting entity and one left aside: a round, then from what its three relations led to too, then from six.
        ("tog2", {"combined": False, "topic_prune": False, "width": 1, "depth": 1}, 1 + (2 + 3) + (2 + 6) + 20),
        # No round, nothing to go back for: Reason may still be asked five times.
        ("tog2", {"depth": 0, "topic_prune": False}, 5),
        # Extraction; three times header choice, five rounds of three prunes, six times Reason, each at most five times.
        ("fasttog", {}, 1 + 3 * (1 + 15 + 30)),
    ],
)
def test_a_way_back_takes_as_many_again(name: str, settings: dict[str, Any], most: int) -> None:
    assert bound(name, {**settings, "backtracks": 2}) == most


def test_coggrags_bound_follows_its_mind_map() -> None:
    case = CASES["coggrag"]
    graph = tg.build("coggrag", model=FakeModel(case.replies), knowledge=case.knowledge(), settings=dict(case.settings))
    answer = graph.invoke({"question": case.question})["answer"]
    nodes = len(answer["trace"]["data"]["nodes"])
    split = answer["usage"]["roles"]["coggrag.decompose"]["calls"]
    sure = {"backtracks": 0, "joint_keys": False}
    assert bound("coggrag", sure, answer) == split + 2 + 3 * nodes
    assert bound("coggrag", {"backtracks": 0}, answer) == split + 1 + 3 * nodes
    assert bound("coggrag", {**sure, "rethinks": 2, "global_keys": False}, answer) == split + 1 + 5 * nodes
    assert bound("coggrag", {**sure, "verify": False}, answer) == split + 2 + nodes
    # In doubt the last answer is verified too, and each mind map that is given up may have had 16 questions.
    assert bound("coggrag", {"backtracks": 2}, answer) == split + 1 + 2 + 4 * (nodes + 2 * 16)
    assert bound("coggrag", {"backtracks": 1, "verify": False}, answer) == split + 1 + 1 + nodes + 16


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.method)
def test_no_run_takes_more(case: Any) -> None:
    busy = {**case.settings, **case.busy, "max_calls": 1000}
    for question, settings in ((case.question, dict(case.settings)), (case.other_question, busy)):
        model = FakeModel(case.replies)
        graph = tg.build(case.method, model=model, knowledge=case.knowledge(), settings=settings)
        answer = graph.invoke({"question": question})["answer"]
        most = bound(case.method, settings, answer)
        # Each call counts once, those after a way back too.
        assert answer["usage"]["total"]["calls"] == len(model.asked)
        assert most is None or answer["usage"]["total"]["calls"] <= most


def test_the_table_counts_questions_above_their_bound() -> None:
    case = CASES["direct"]
    graph = tg.build(
        case.method, model=FakeModel(case.replies), knowledge=case.knowledge(), settings=dict(case.settings)
    )
    answer = graph.invoke({"question": case.question})["answer"]
    scores = dict.fromkeys(("hits1", "em", "partial", "complete", "f1", "unknown", "wrong"), 0.0)

    def result(calls: int, most: int | None) -> BenchResult:
        record = {"id": f"{calls}", "type": "", "method": "m", "gold": [], "scores": scores}
        record |= {"em_contains": 0.0, "rouge_l": 0.0}
        return cast(
            "BenchResult",
            {**record, "evidence": None, "calls": calls, "apart_calls": 0, "bound": most, "answer": answer},
        )

    rows = table([result(3, 4), result(5, 4), result(9, 8), result(20, None)])
    assert [(row["bound"], row["above"]) for row in rows] == [(8, 2), (8, 2)]
    assert [(row["bound"], row["above"]) for row in table([result(7, None)])] == [(None, 0), (None, 0)]
