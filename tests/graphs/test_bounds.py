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


@pytest.mark.parametrize(
    ("name", "settings", "most"),
    [
        ("tog2", {"topic_prune": False}, 7),
        ("tog2", {"combined": False, "topic_prune": False}, 13),
        ("tog2", {"fused": False}, 11),
        ("tog2", {"precheck": True, "own_knowledge": True, "precheck_samples": 4}, 12),
        ("tog", {"topic_prune": False}, 22),
        ("fasttog", {}, 23),
        ("fasttog", {"own_knowledge": True}, 24),
        ("fasttog", {"own_knowledge": True, "fallback": "cot_sc", "fallback_samples": 5, "depth": 1}, 12),
        ("fasttog", {"own_knowledge": True, "fallback": "off"}, 23),
        ("fiske", {}, 30),
        ("fiske", {"max_calls": None}, None),
        ("cot_sc", {"samples": 4}, 4),
        ("search_agent", {"turns": 6}, 6),
        ("direct", {}, 1),
        ("rag", {"cot": True}, 1),
    ],
)
def test_the_bound_is_the_papers(name: str, settings: dict[str, Any], most: int | None) -> None:
    assert bound(name, settings) == most


def test_coggrags_bound_follows_its_mind_map() -> None:
    case = CASES["coggrag"]
    graph = tg.build("coggrag", model=FakeModel(case.replies), knowledge=case.knowledge(), settings=dict(case.settings))
    answer = graph.invoke({"question": case.question})["answer"]
    nodes = len(answer["trace"]["data"]["nodes"])
    split = answer["usage"]["roles"]["coggrag.decompose"]["calls"]
    assert bound("coggrag", {}, answer) == split + 2 + 3 * nodes
    assert bound("coggrag", {"rethinks": 2, "global_keys": False}, answer) == split + 1 + 5 * nodes
    assert bound("coggrag", {"verify": False}, answer) == split + 2 + nodes


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.method)
def test_no_run_takes_more(case: Any) -> None:
    graph = tg.build(
        case.method, model=FakeModel(case.replies), knowledge=case.knowledge(), settings=dict(case.settings)
    )
    answer = graph.invoke({"question": case.question})["answer"]
    most = bound(case.method, dict(case.settings), answer)
    assert most is None or answer["usage"]["total"]["calls"] <= most


def test_the_table_counts_questions_above_their_bound() -> None:
    case = CASES["direct"]
    graph = tg.build(
        case.method, model=FakeModel(case.replies), knowledge=case.knowledge(), settings=dict(case.settings)
    )
    answer = graph.invoke({"question": case.question})["answer"]
    scores = dict.fromkeys(("hits1", "em", "partial", "complete", "f1", "unknown", "wrong"), 0.0)

    def result(calls: int, most: int | None) -> BenchResult:
        record = {"id": f"{calls}", "type": "", "method": "m", "gold": [], "scores": scores, "rouge_l": None}
        return cast(
            "BenchResult",
            {**record, "evidence": None, "calls": calls, "apart_calls": 0, "bound": most, "answer": answer},
        )

    rows = table([result(3, 4), result(5, 4), result(9, 8), result(20, None)])
    assert [(row["bound"], row["above"]) for row in rows] == [(8, 2), (8, 2)]
    older = cast("BenchResult", {key: value for key, value in result(7, 1).items() if key != "bound"})
    assert [(row["bound"], row["above"]) for row in table([older])] == [(None, 0), (None, 0)]
