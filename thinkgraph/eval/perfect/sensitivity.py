"""What errors of a model cost a method: which role's errors cost how many points, and hits@1 over the share of errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from typing_extensions import TypedDict

from thinkgraph.eval.bench import BenchPlan, run_bench
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.perfect.errors import Slip
from thinkgraph.eval.reports.results import BenchResult, aligned, shown, whole_row
from thinkgraph.tools.progress import Progress, no_progress

CURVE = (0.0, 0.05, 0.1, 0.2, 0.3)
"""Shares of errors, in all roles alike."""
AT_A_ROLE = 0.2
"""Share of errors where one role errs alone."""


class ErrorRow(TypedDict):
    """A method whose model errs; means over questions and seeds."""

    method: str
    role: str
    """The role that errs; empty for all of them."""
    share: float
    hits1: float
    lost: float
    """Points of hits@1 below the perfect run, 0 to 100."""
    unknown: float
    """Share of questions that end without an answer."""
    wrong: float
    """Share whose answers hold none that is right."""
    calls: float


@dataclass(frozen=True)
class Sensitivity:
    """What is measured: a plan whose model is a perfect chooser, and how one that errs is made."""

    plan: BenchPlan
    chooser: Callable[[Sequence[Slip], int], PerfectChooser]
    """Given the errors and the seed."""
    seeds: Sequence[int] = (0,)

    def rows(self, progress: Progress = no_progress) -> Iterator[ErrorRow]:
        """Every method: all roles at every share of `CURVE`, then each of its roles alone at `AT_A_ROLE`."""
        for method, settings in self.plan.methods.items():
            perfect = self._results(method, settings, ())
            roles = list(dict.fromkeys(role for one in perfect for role in one["answer"]["usage"]["roles"]))
            runs = [("", share) for share in CURVE] + [(role, AT_A_ROLE) for role in roles]
            best = whole_row(perfect)["hits1"]
            for number, (role, share) in enumerate(runs, start=1):
                results = self._results(method, settings, [Slip(share, role)]) if share else perfect
                progress(method, number, len(runs))
                yield _row(method, role, share, best, results)

    def _results(self, method: str, settings: Mapping[str, Any], slips: Sequence[Slip]) -> list[BenchResult]:
        found: list[BenchResult] = []
        for seed in self.seeds if slips else self.seeds[:1]:
            found += run_bench(replace(self.plan, methods={method: settings}, model=self.chooser(slips, seed)))
        return found


def _row(method: str, role: str, share: float, best: float, results: Sequence[BenchResult]) -> ErrorRow:
    row = whole_row(results)
    return ErrorRow(
        method=method,
        role=role,
        share=share,
        hits1=row["hits1"],
        lost=round(100 * (best - row["hits1"]), 1),
        unknown=row["unknown"],
        wrong=row["wrong"],
        calls=row["calls_mean"],
    )


def render(rows: Sequence[ErrorRow]) -> str:
    """The table as text."""
    head = ["method", "errs", "share", "hits1", "points lost", "unknown", "wrong", "calls"]
    cells = [
        [
            row["method"],
            row["role"] or "all roles",
            f"{row['share']:.2f}",
            shown(row["hits1"]),
            f"{row['lost']:.1f}",
            shown(row["unknown"]),
            shown(row["wrong"]),
            f"{row['calls']:.2f}",
        ]
        for row in rows
    ]
    return "\n".join(aligned([head, *cells], left=2))


def draw_curves(rows: Sequence[ErrorRow]) -> Callable[[Any], None]:
    """Draws hits@1, and dashed the wrong answers, over the share of errors; for `report.figure`."""

    def draw(axes: Any) -> None:
        for method in dict.fromkeys(row["method"] for row in rows):
            curve = [row for row in rows if row["method"] == method and not row["role"]]
            shares = [row["share"] for row in curve]
            (line,) = axes.plot(shares, [row["hits1"] for row in curve], marker="o", label=method)
            axes.plot(shares, [row["wrong"] for row in curve], linestyle="--", color=line.get_color())
        axes.set_xlabel("share of wrong choices (dashed: wrong answers)")
        axes.set_ylim(-0.02, 1.05)
        axes.legend(fontsize=7)

    return draw
