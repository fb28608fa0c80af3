"""The figures of a cell: those of a bench, and those that only an ablation shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from thinkgraph.eval.bench import rescored
from thinkgraph.eval.questions import Question
from thinkgraph.eval.reports.results import BenchResult, whole_row
from thinkgraph.state.answer import Answer
from thinkgraph.tools.grounding import fold, stands_in

Figures = Mapping[str, Any]
"""By name: the columns of a `ReportRow`, and those that `cell_figures` adds. None: there is none."""

SECONDS = {
    "seconds_relation_prune": ("relation_prune",),
    "seconds_entity_prune": ("context_retrieval", "entity_prune"),
    "seconds_reason": ("reason",),
}
"""What a step of ToG-2's Table 7 is made of: nodes of the graph, of which the last gives the number of steps."""
_YES = frozenset({"yes", "true", "supports"})


def cell_figures(results: Sequence[BenchResult], *, seed: int) -> Figures:
    """The figures of a cell.

    Args:
        results: of its method over all questions, one at least.
        seed: of the intervals.
    """
    prose = [result["answer"]["trace"]["data"].get("texts", {}) for result in results]
    asked, refused = (sum(one.get(name, 0) for one in prose) for name in ("asked", "fell_back"))
    return {
        **whole_row(results, seed=seed),
        "supported": _supported(results),
        "from_nothing": _origin(results, triples=False, passages=False),
        "from_triples": _origin(results, triples=True, passages=False),
        "from_documents": _origin(results, triples=False, passages=True),
        "from_both": _origin(results, triples=True, passages=True),
        **{name: _seconds(results, nodes) for name, nodes in SECONDS.items()},
        "refused_texts": round(refused / asked, 4) if asked else None,
        "texts_mean": round(asked / len(results), 4),
    }


def merged(
    first: Sequence[BenchResult], second: Sequence[BenchResult], questions: Sequence[Question]
) -> list[BenchResult]:
    """FiSKE's "+ IO" (its Table 2): the answers of two methods together, question by question, and the calls of both.

    Args:
        first: results of the method.
        second: results of what is merged in, over the same questions.
        questions: these, in the same order.
    """
    found = []
    for one, other, question in zip(first, second, questions, strict=True):
        answers = list(dict.fromkeys([*one["answer"]["answers"], *other["answer"]["answers"]]))
        both = rescored(one, question, answers)
        both["calls"], both["apart_calls"] = one["calls"] + other["calls"], one["apart_calls"] + other["apart_calls"]
        # Of both methods together no paper gives a bound.
        both["bound"] = None
        found.append(both)
    return found


def _share(hits: Sequence[bool]) -> float | None:
    return round(fmean(hits), 4) if hits else None


def _supported(results: Sequence[BenchResult]) -> float | None:
    """Right, and a cited path supports it (FiSKE section 4.1: a guess between true and false is right half the time)."""
    return _share([bool(one["scores"]["hits1"]) and _has_path(one["answer"]) for one in results])


def _has_path(answer: Answer) -> bool:
    """Whether the answer is `grounded` on triples about what the question names: a yes on both ends of what it claims, all else on one."""
    if answer["status"] != "grounded":
        return False
    asked = fold(answer["question"])
    triples = answer["evidence"]["triples"]
    ends = {fold(label) for triple in triples for label in (triple["subject_label"], triple["object_label"])}
    named = [end for end in ends if end and stands_in(end, asked)]
    return len(named) > (fold(answer["answers"][0]) in _YES)


def _origin(results: Sequence[BenchResult], *, triples: bool, passages: bool) -> float | None:
    """Share of the right answers that cite triples, passages, both or none."""
    cited = [result["answer"]["evidence"] for result in results if result["em_contains"] and result["gold"]]
    return _share([(bool(one["triples"]), bool(one["passages"])) == (triples, passages) for one in cited])


def _seconds(results: Sequence[BenchResult], nodes: Sequence[str]) -> float | None:
    """Mean seconds of a step over all runs; None where no run had it, or steps were not timed."""
    timed = [result.get("steps", {}) for result in results]
    turns = sum(steps[nodes[-1]]["turns"] for steps in timed if nodes[-1] in steps)
    spent = sum(steps[node]["seconds"] for steps in timed for node in nodes if node in steps)
    return round(spent / turns, 6) if turns else None
