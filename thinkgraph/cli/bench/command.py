"""`thinkgraph bench`: a question file over one or several methods, as a table and as a report."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.options import (
    add_bench_model,
    add_kb,
    add_methods,
    add_workers,
    check_concurrency,
    configured,
    method_names,
    model_name,
)
from thinkgraph.cli.show import leaving_at_once, write_json, write_line
from thinkgraph.config import parse_settings
from thinkgraph.errors import UsageError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from thinkgraph.eval.batch import Ask
    from thinkgraph.eval.questions import Question
    from thinkgraph.eval.reports.results import BenchResult

MAX_CONCURRENCY = 512


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `bench`."""
    parser.add_argument(
        "--data",
        required=True,
        metavar="DATA",
        help="'world', a JSONL file of questions, or NAME:FILE for a published benchmark (metaqa:qa_dev.txt); "
        "--data list names them all and says where to get each",
    )
    add_kb(parser)
    add_methods(parser, ["tog2"])
    add_bench_model(parser)
    parser.add_argument("--limit", type=int, metavar="N", help="only N questions, spread over the file")
    parser.add_argument("--type", action="append", metavar="TYPE", help="only questions of this type; may be repeated")
    parser.add_argument("--concurrency", type=int, default=1, metavar="C", help="questions at a time (default 1)")
    add_workers(parser)
    parser.add_argument(
        "--rate", type=float, metavar="R", help="at most R requests to models a second, over all questions"
    )
    parser.add_argument(
        "--gold-entities",
        choices=("yes", "no"),
        default="no",
        help="start from the topic entities that the data gives instead of linking them (default no)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="of samples, wrong choices and intervals (default 0)"
    )
    parser.add_argument(
        "--prices", metavar="FILE", help="YAML price table, model: [input, output] in dollars per million tokens"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="one JSON line per question, with the whole answer; the same bench started again goes on where it was",
    )
    parser.add_argument(
        "--report", metavar="DIR", help="results, report.md, report.html and plots; goes on as --out does"
    )
    parser.add_argument("--json", action="store_true", help='print {"rows": [...]} instead of the table')


def run(args: argparse.Namespace) -> int:
    """Run the bench."""
    from thinkgraph.eval import bench, bench_setup
    from thinkgraph.eval.datasets import read_dataset
    from thinkgraph.eval.datasets.ids import named
    from thinkgraph.eval.record import RecordFile
    from thinkgraph.models.client import rate_limiter
    from thinkgraph.models.prices import load_prices
    from thinkgraph.tools.knowledge import Knowledge

    if args.data == "list":
        return _list()
    _check_numbers(args)
    dataset, questions = read_dataset(args.data)
    settings = _settings(args, dataset.style)
    questions = bench_setup.spread(_of_type(questions, args), args.limit)
    name = model_name(args.model)
    gold = args.gold_entities == "yes"
    folder = Path(args.report).expanduser() if args.report else None
    out = _results_path(args.out, folder)
    kept = f"; what was answered is in {out}: the same command goes on from there" if out else ""
    with Knowledge.open(args.kb, text=args.text) as knowledge, leaving_at_once(f"interrupted{kept}"):
        questions = named(questions, knowledge.graph)
        plan = bench.BenchPlan(
            questions=questions,
            knowledge=bench_setup.gold_knowledge(knowledge, questions) if gold else knowledge,
            methods=settings,
            model=bench_setup.bench_model(name, questions, knowledge, seed=args.seed),
            prices=load_prices(args.prices) if args.prices else None,
            golds=bench_setup.known_golds(questions, knowledge),
            concurrency=max(args.concurrency, args.workers),
            rate_limiter=rate_limiter(args.rate),
        )
        record = bench.plan_record(
            plan,
            model=name,
            seed=args.seed,
            gold_entities=gold,
            data=bench_setup.data_name(args.data),
        )
        if folder:
            _make(folder)
        with RecordFile(out, record) if out else nullcontext() as file:
            done = bench.kept_results(file) if file else []
            again = f", {len(done)} answered before" if done else ""
            sys.stderr.write(f"{len(questions)} questions over {knowledge.name} with model {name}{again}\n")
            results = bench.run_bench(
                plan,
                progress=_progress,
                keep=file.keep if file else None,
                done=done,
                workers=_workers(args, settings, name, questions) if args.workers > 1 else None,
            )
    _print(results, record, folder, args)
    return 0


def _settings(args: argparse.Namespace, style: Any) -> dict[str, dict[str, Any]]:
    """The settings of each method: the configuration's, then those of the flags."""
    from thinkgraph.eval.bench_setup import settings_by_method
    from thinkgraph.graphs.registry import find_method
    from thinkgraph.state.settings import resolve_settings

    methods = method_names(args.methods)
    schemas = {name: find_method(name).settings for name in methods}
    config = configured(args)
    flags = settings_by_method(methods, parse_settings(args.set), style=style)
    settings = {name: {**config.settings(name), **flags[name]} for name in methods}
    for name, schema in schemas.items():
        if args.seed and "seed" in schema.model_fields:
            settings[name].setdefault("seed", args.seed)
        resolve_settings(schema, settings[name])
    return settings


def _workers(
    args: argparse.Namespace, settings: dict[str, dict[str, Any]], model: str, questions: list[Question]
) -> AbstractAsyncContextManager[Ask]:
    """The processes that share the questions; perfect choosers and gold entities need the questions themselves."""
    from thinkgraph.eval.bench_setup import PERFECT
    from thinkgraph.eval.workers import Work, workers
    from thinkgraph.models.prices import load_prices

    gold = args.gold_entities == "yes"
    work = Work(
        kb=args.kb,
        text=args.text,
        methods=settings,
        model=model,
        prices=load_prices(args.prices) if args.prices else None,
        rate=args.rate,
        seed=args.seed,
        gold_entities=gold,
        questions=questions if model.startswith(PERFECT) or gold else (),
    )
    return workers(work, args.workers)


def _print(results: list[BenchResult], record: dict[str, Any], folder: Path | None, args: argparse.Namespace) -> None:
    from thinkgraph.eval.reports.results import render, table

    rows = table(results, seed=args.seed)
    if folder:
        from thinkgraph.eval.reports.report import write_report

        write_report(folder, results, record)
        sys.stderr.write(f"report: {folder / 'report.md'} and report.html\n")
    if args.json:
        write_json({"rows": rows})
    else:
        write_line(render(rows))


def _list() -> int:
    from thinkgraph.eval.datasets import DATASETS

    for entry in DATASETS.values():
        write_line(f"{entry.name:12} {entry.title:20} {entry.where}")
    return 0


def _of_type(questions: list[Question], args: argparse.Namespace) -> list[Question]:
    if not args.type:
        return questions
    chosen = [question for question in questions if question.type in args.type]
    if not chosen:
        raise UsageError(f"{args.data} has no question of type {', '.join(args.type)}")
    return chosen


def _check_numbers(args: argparse.Namespace) -> None:
    if args.limit is not None and args.limit < 1:
        raise UsageError("--limit must be at least 1")
    check_concurrency(args, MAX_CONCURRENCY)
    if args.rate is not None and not 0 < args.rate < float("inf"):
        raise UsageError("--rate must be a number of requests a second above 0")
    if args.out and args.report:
        raise UsageError("--report keeps the results in its folder: leave --out out")


def _results_path(out: str | None, folder: Path | None) -> Path | None:
    if folder:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"--report {folder} is no folder")
        return folder / "results.jsonl"
    if not out:
        return None
    path = Path(out).expanduser()
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent} for {path.name}")
    return path


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({error.strerror or error})") from None


def _progress(stage: str, done: int, total: int | None) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{stage} {done} of {total} " + ("\n" if done == total else ""))
        sys.stderr.flush()
    elif done == total or done % 50 == 0:
        sys.stderr.write(f"{stage} {done} of {total}\n")
