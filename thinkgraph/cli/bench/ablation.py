"""`thinkgraph ablation`: one table or figure of a paper, its settings over one set of questions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgraph.cli.options import (
    MEASURED_MODEL,
    MEASURING,
    add_flags,
    check_numbers,
    configured,
    model_name,
    open_knowledge,
)
from thinkgraph.cli.show import leaving_at_once, write_json, write_line
from thinkgraph.config import parse_settings
from thinkgraph.errors import KnowledgeError, StoreError, UsageError
from thinkgraph.tools.progress import no_progress

if TYPE_CHECKING:
    from thinkgraph.eval.ablations import AblationCell
    from thinkgraph.eval.questions import Question
    from thinkgraph.eval.reports.results import ReportRow
    from thinkgraph.tools.knowledge import Knowledge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `ablation`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one, for example tog2-table6 (see --list)")
    parser.add_argument("--list", action="store_true", help="name them all")
    parser.add_argument("--data", default="world", metavar="DATA", help="as for bench (default world)")
    add_flags(parser, "model", help=MEASURED_MODEL)
    add_flags(parser, *MEASURING)
    add_flags(
        parser, "set", help="a setting of all cells that have it and do not set it (preset=paper); may be repeated"
    )
    parser.add_argument(
        "--g2t", metavar="MODEL", help="graph-to-text model for the cells that need one, name or folder"
    )
    parser.add_argument(
        "--leave-out", action="append", default=[], metavar="ROW", help="leave out a row or a column; may be repeated"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="keep the answers there, a file for each setting; the same command goes on"
    )
    add_flags(parser, "json", help="print the cells as JSON instead of the table")


def run(args: argparse.Namespace) -> int:
    """Run one ablation."""
    from thinkgraph.eval import ablations, bench_setup
    from thinkgraph.eval.datasets import read_dataset
    from thinkgraph.eval.datasets.ids import named
    from thinkgraph.eval.files import make_folder

    if args.list:
        names = ablations.ABLATIONS.items()
        write_line("\n".join(f"{name:16} {table.source:20} {table.title}" for name, table in names))
        return 0
    if not args.name:
        raise UsageError("which ablation? 'thinkgraph ablation --list' names them")
    configured(args)
    table = ablations.ablation(args.name)
    check_numbers(args)
    dataset, questions = read_dataset(args.data)
    questions = bench_setup.spread(questions, args.limit)
    settings = {**({"task": dataset.style} if dataset.style != "question" else {}), **parse_settings(args.set)}
    if args.seed:
        settings.setdefault("seed", args.seed)
    cells = ablations.cells(table, extra=settings, g2t=args.g2t, leave_out=args.leave_out)
    if any(one.get("community_text") == ablations.G2T for one in table.rows.values()) and not args.g2t:
        sys.stderr.write("the cells with graph-to-text are left out: they need --g2t MODEL\n")
    folder = Path(args.out).expanduser() if args.out else None
    if folder:
        make_folder(folder)
    kept = f"; what was answered is in {folder}: the same command goes on from there" if folder else ""
    with open_knowledge(args) as knowledge, leaving_at_once(f"interrupted{kept}"):
        rows, blank = _measured(args, cells, named(questions, knowledge.graph), knowledge, folder)
    if blank and not rows:
        raise KnowledgeError(next(iter(blank.values())))
    if args.json:
        found = [{"row": cell.row, "column": cell.column, "figures": rows.get(cell.key)} for cell in cells]
        write_json({"ablation": args.name, "source": table.source, "cells": found})
    else:
        write_line(ablations.render(args.name, cells, rows, dataset=args.data.partition(":")[0]))
        title = f"{len(questions)} questions of {bench_setup.data_name(args.data)}"
        write_line(f"\n{title}, {knowledge.name}, model {model_name(args.model)}")
    for where, why in blank.items():
        sys.stderr.write(f"thinkgraph: error: no figure for {where}: {why}\n")
    return KnowledgeError.exit_code if blank else 0


def _measured(
    args: argparse.Namespace,
    cells: Sequence[AblationCell],
    questions: Sequence[Question],
    opened: Knowledge,
    folder: Path | None,
) -> tuple[dict[str, ReportRow], dict[str, str]]:
    """The cells' figures by key; and by place, why there are none where an encoder cannot be loaded."""
    from thinkgraph.eval import bench, bench_setup
    from thinkgraph.eval.record import RecordFile
    from thinkgraph.eval.reports.results import table
    from thinkgraph.models.client import rate_limiter

    given = args.gold_entities == "yes"
    knowledge = bench_setup.gold_knowledge(opened, questions) if given else opened
    name = model_name(args.model)
    model = bench_setup.bench_model(name, questions, opened, seed=args.seed)
    rows: dict[str, ReportRow] = {}
    blank: dict[str, str] = {}
    missing: set[str] = set()
    runs = {cell.key: cell for cell in cells}
    for number, (key, cell) in enumerate(runs.items(), start=1):
        where = " ".join(part for part in (cell.row, cell.column) if part)
        sys.stderr.write(f"{number} of {len(runs)}: {where}, {len(questions)} questions with model {name}\n")
        ranker = str(cell.settings.get("ranker"))
        if ranker in missing:
            continue
        plan = bench.BenchPlan(
            questions=questions,
            knowledge=knowledge,
            methods={cell.method: cell.settings},
            model=model,
            concurrency=args.concurrency,
            rate_limiter=rate_limiter(args.rate),
        )
        data = bench_setup.data_name(args.data)
        record = bench.plan_record(plan, model=name, seed=args.seed, gold_entities=given, data=data)
        with RecordFile(folder / f"{key}.jsonl", record) if folder else nullcontext() as file:
            done = bench.kept_results(file) if file else []
            try:
                results = bench.run_bench(plan, progress=no_progress, keep=file.keep if file else None, done=done)
            except StoreError:
                raise
            except KnowledgeError as error:
                # What the other cells cost must not be lost for it.
                blank[where] = str(error)
                missing.add(ranker)
                continue
        rows[key] = next(row for row in table(results, seed=args.seed) if row["type"] == "all")
    return rows, blank
