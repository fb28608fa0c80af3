"""`thinkgraph bench --sensitivity`: which role's errors cost a method how much."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.show import LineProgress, write_rows
from thinkgraph.errors import UsageError
from thinkgraph.eval.files import write_text
from thinkgraph.eval.questions import Question

if TYPE_CHECKING:
    from thinkgraph.tools.knowledge import Knowledge


def check(args: argparse.Namespace) -> None:
    """Refuse flags that do not go together.

    Raises:
        UsageError: naming them.
    """
    from thinkgraph.eval.bench_setup import PERFECT

    if args.model not in {None, PERFECT}:
        raise UsageError(
            f"--sensitivity measures the perfect chooser with errors of its own: leave --model {args.model} out"
        )
    if args.out or args.workers > 1:
        raise UsageError("--sensitivity has a table of its own: leave --out and --workers out; --report keeps it")
    for flag in ("estimate", "prices", "rate"):
        if getattr(args, flag):
            raise UsageError(f"--sensitivity calls no model that costs anything: leave --{flag} out")
    if args.seeds < 1:
        raise UsageError("--seeds must be at least 1")


def run(
    args: argparse.Namespace,
    questions: Sequence[Question],
    methods: Mapping[str, Mapping[str, Any]],
    knowledge: Knowledge,
    folder: Path | None,
) -> int:
    """Measure and print; --report keeps table and plot."""
    from thinkgraph.eval.bench import BenchPlan
    from thinkgraph.eval.bench_setup import PERFECT, perfect_chooser
    from thinkgraph.eval.perfect.sensitivity import Sensitivity, draw_curves, render
    from thinkgraph.eval.reports.report import figure

    chooser = perfect_chooser(PERFECT, questions, knowledge)
    plan = BenchPlan(questions, knowledge, methods, chooser((), args.seed), concurrency=args.concurrency)
    seeds = range(args.seed, args.seed + args.seeds)
    with LineProgress(sys.stderr) as progress:
        rows = list(Sensitivity(plan, chooser, seeds).rows(progress))
    if folder and (picture := figure(draw_curves(rows))):
        write_text(folder / "sensitivity.svg", picture)
    write_rows(rows, render(rows), as_json=args.json, keep=folder and folder / "sensitivity")
    return 0
