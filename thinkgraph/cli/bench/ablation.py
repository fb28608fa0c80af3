"""`thinkgraph ablation`: one table or figure of a paper, its settings over one set of questions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
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
    open_models,
    place,
)
from thinkgraph.cli.show import leaving_at_once, many, write_line, write_result
from thinkgraph.config import parse_settings
from thinkgraph.errors import KnowledgeError, StoreError, UsageError
from thinkgraph.eval.ablations import ABLATIONS, ablation
from thinkgraph.eval.ablations.table import G2T
from thinkgraph.eval.files import make_folder
from thinkgraph.eval.questions import Question, spread
from thinkgraph.eval.record import RecordFile
from thinkgraph.eval.reports.published import paper_tables
from thinkgraph.tools.progress import no_progress

if TYPE_CHECKING:
    from thinkgraph.eval.ablations.cells import AblationCell, CellRun
    from thinkgraph.eval.ablations.figures import Figures
    from thinkgraph.eval.ablations.shown import RunNote
    from thinkgraph.eval.bench import BenchPlan
    from thinkgraph.eval.reports.results import BenchResult
    from thinkgraph.tools.knowledge import Knowledge

_PRESETS = {"paper": "paper", "ours": "default"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `ablation`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one, for example tog2-table6 (see --list)")
    parser.add_argument("--list", action="store_true", help="name them all")
    parser.add_argument("--data", default="world", metavar="DATA", help="as for bench (default world)")
    add_flags(parser, "model", help=MEASURED_MODEL)
    add_flags(parser, *MEASURING)
    # Those that are configured: a ceiling on money needs them.
    parser.set_defaults(prices=None)
    parser.add_argument(
        "--preset", choices=[*_PRESETS], default="paper", help="whose settings the table does not name (default paper)"
    )
    add_flags(parser, "set", help="a setting of all cells that have it and do not set it; may be repeated")
    parser.add_argument(
        "--g2t", metavar="MODEL", help="graph-to-text model for the cells that need one, name or folder"
    )
    parser.add_argument(
        "--leave-out", action="append", default=[], metavar="ROW", help="leave out a row or a column; may be repeated"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=place,
        help="keep the answers there, a file for each setting; the same command goes on",
    )
    add_flags(parser, "json", help="print the cells as JSON instead of the table")


def run(args: argparse.Namespace) -> int:
    """Run one ablation."""
    from thinkgraph.eval import bench_setup
    from thinkgraph.eval.ablations import shown
    from thinkgraph.eval.ablations.cells import cells
    from thinkgraph.eval.datasets import read_dataset
    from thinkgraph.eval.datasets.ids import named

    if args.list:
        sources = {name: one.source.partition(", section")[0] for name, one in paper_tables().items()}
        write_line("\n".join(f"{name:16} {sources[name]:29} {one.title}" for name, one in ABLATIONS.items()))
        return 0
    if not args.name:
        raise UsageError("which ablation? 'thinkgraph ablation --list' names them")
    configured(args)
    chosen = ablation(args.name)
    check_numbers(args)
    dataset, questions = read_dataset(args.data)
    questions = spread(questions, args.limit)
    settings = {"preset": _PRESETS[args.preset], "task": dataset.style, **parse_settings(args.set)}
    if args.seed:
        settings.setdefault("seed", args.seed)
    made = cells(chosen, extra=settings, g2t=args.g2t, leave_out=args.leave_out)
    if any(one.get("community_text") == G2T for one in chosen.rows.values()) and not args.g2t:
        sys.stderr.write("the cells with graph-to-text are left out: they need --g2t MODEL\n")
    folder = Path(args.out).expanduser() if args.out else None
    if folder:
        make_folder(folder)
    kept = f"; what was answered is in {folder}: the same command goes on from there" if folder else ""
    with open_knowledge(args) as knowledge, leaving_at_once(f"interrupted{kept}"):
        rows, blank = _measured(args, made, named(questions, knowledge.graph), knowledge, folder)
    if blank and not rows:
        raise KnowledgeError(next(iter(blank.values())))
    note = shown.RunNote(
        data=args.data.partition(":")[0].casefold(),
        file=bench_setup.data_name(args.data),
        questions=len(questions),
        knowledge=knowledge.name,
        model=model_name(args.model),
        seed=args.seed,
        preset=str(settings["preset"]),
        gold_entities=args.gold_entities == "yes",
    )
    text = shown.render(args.name, made, rows, note)
    write_result(_as_json(args.name, made, rows, note), text, as_json=args.json)
    for where, why in blank.items():
        sys.stderr.write(f"thinkgraph: error: no figure for {where}: {why}\n")
    return KnowledgeError.exit_code if blank else 0


def _as_json(name: str, made: Sequence[AblationCell], rows: dict[str, Figures], note: RunNote) -> dict[str, object]:
    from thinkgraph.eval.ablations import shown

    paper = paper_tables()[name]
    return {
        "ablation": name,
        "source": paper.source,
        "cells": [{"row": cell.row, "column": cell.column, "figures": rows.get(cell.key)} for cell in made],
        "paper": [figure._asdict() for figure in paper.figures],
        "faults": paper.faults,
        "differs": shown.differs(name, note),
    }


def _measured(
    args: argparse.Namespace,
    cells: Sequence[AblationCell],
    questions: Sequence[Question],
    opened: Knowledge,
    folder: Path | None,
) -> tuple[dict[str, Figures], dict[str, str]]:
    """The cells' figures by key; and by place, why there are none where an encoder cannot be loaded."""
    from thinkgraph.eval.ablations.cells import runs
    from thinkgraph.eval.ablations.figures import cell_figures, merged

    plan_of = _plans(args, questions, opened)
    name = model_name(args.model)
    rows: dict[str, Figures] = {}
    kept: dict[str, list[BenchResult]] = {}
    blank: dict[str, str] = {}
    missing: set[str] = set()
    both = [cell for cell in cells if cell.plus]
    wanted = {run.key for cell in both for run in (cell.run, cell.plus) if run}
    todo = runs(cells)
    for number, (key, (run, where)) in enumerate(todo.items(), start=1):
        sys.stderr.write(f"{number} of {len(todo)}: {where}, {many(len(questions), 'question')} with model {name}\n")
        ranker = str(run.settings.get("ranker"))
        if ranker in missing:
            continue
        try:
            results = _results(args, plan_of(run), key, folder)
        except StoreError:
            raise
        except KnowledgeError as error:
            # What the other cells cost must not be lost for it.
            blank[where] = str(error)
            missing.add(ranker)
            continue
        rows[key] = cell_figures(results, seed=args.seed)
        if key in wanted:
            kept[key] = results
    for cell in both:
        if cell.plus and cell.run.key in kept and cell.plus.key in kept:
            results = merged(kept[cell.run.key], kept[cell.plus.key], questions)
            rows[cell.key] = cell_figures(results, seed=args.seed)
    return rows, blank


def _plans(
    args: argparse.Namespace, questions: Sequence[Question], opened: Knowledge
) -> Callable[[CellRun], BenchPlan]:
    """What makes the bench of a method with settings, over the same questions, knowledge and model."""
    from thinkgraph.eval import bench, bench_setup
    from thinkgraph.eval.ablations.figures import SECONDS

    knowledge = bench_setup.gold_knowledge(opened, questions) if args.gold_entities == "yes" else opened
    model = bench_setup.bench_model(model_name(args.model), questions, opened, seed=args.seed)
    timed = any(measure.column in SECONDS for measure in ablation(args.name).measures)

    def plan(run: CellRun) -> BenchPlan:
        return bench.BenchPlan(
            questions=questions,
            knowledge=knowledge,
            methods={run.method: run.settings},
            model=open_models(model, knowledge, prices=args.prices, rate=args.rate),
            concurrency=args.concurrency,
            clocks={} if timed else None,
        )

    return plan


def _results(args: argparse.Namespace, plan: BenchPlan, key: str, folder: Path | None) -> list[BenchResult]:
    """The results of one bench, kept in the folder if there is one."""
    from thinkgraph.eval import bench, bench_setup

    record = bench.plan_record(
        plan,
        model=model_name(args.model),
        seed=args.seed,
        gold_entities=args.gold_entities == "yes",
        data=bench_setup.data_name(args.data),
    )
    with RecordFile(folder / f"{key}.jsonl", record) if folder else nullcontext() as file:
        done = bench.kept_results(file) if file else []
        return bench.run_bench(plan, progress=no_progress, keep=file.keep if file else None, done=done)
