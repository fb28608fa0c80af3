"""`thinkgraph bench`: a question file over one or several methods, as a table and as a report."""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.bench import roles, sensitivity
from thinkgraph.cli.options import (
    MEASURED_MODEL,
    MEASURING,
    OF_SEVERAL,
    add_flags,
    check_numbers,
    configured,
    model_name,
    open_knowledge,
    open_models,
    place,
    prices_of,
    profiles,
    settings_by_method,
)
from thinkgraph.cli.show import LineProgress, leaving_at_once, many, telling, write_estimates, write_line, write_rows
from thinkgraph.errors import UsageError
from thinkgraph.eval.costs.bill import Spent
from thinkgraph.eval.files import make_folder
from thinkgraph.eval.questions import Question, spread
from thinkgraph.eval.record import RecordFile
from thinkgraph.models.prices import Prices
from thinkgraph.prompts.lines import one_line

if TYPE_CHECKING:
    from thinkgraph.eval.batch import Ask
    from thinkgraph.eval.bench import BenchPlan
    from thinkgraph.eval.reports.results import BenchResult
    from thinkgraph.models.roles import Models


class _Parts(argparse._SubParsersAction):  # type: ignore[type-arg]  # noqa: SLF001 - no public one knows what came before
    """The commands within `bench`, whose flags are their own: one of a bench before them would do nothing."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        given = [name for name, value in vars(namespace).items() if value != parser.get_default(name)]
        if given:
            flag = given[0].replace("_", "-")
            parser.error(f"--{flag} is a flag of a bench of questions: name those of '{values[0]}' after it")
        super().__call__(parser, namespace, values, option_string)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `bench`."""
    parts = parser.add_subparsers(dest="part", metavar="[roles …]", parser_class=type(parser), action=_Parts)
    roles.add_arguments(parts)
    parser.add_argument(
        "--data",
        metavar="DATA",
        help="'world', a JSONL file of questions, or NAME:FILE for a published benchmark (metaqa:qa_dev.txt); "
        "--data list names them all and says where to get each",
    )
    add_flags(parser, "methods", default="tog2")
    add_flags(parser, "set", help=OF_SEVERAL)
    add_flags(parser, "model", help=MEASURED_MODEL)
    add_flags(parser, *MEASURING, "workers", "prices", "estimate")
    parser.add_argument("--type", action="append", metavar="TYPE", help="only questions of this type; may be repeated")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=place,
        help="one JSON line per question, with the whole answer; the same bench started again goes on where it was",
    )
    parser.add_argument(
        "--report", metavar="DIR", type=place, help="results, report.md, report.html and plots; goes on as --out does"
    )
    parser.add_argument(
        "--sensitivity",
        action="store_true",
        help="which role's errors cost each method how many points, and hits@1 over the share of errors (perfect chooser)",
    )
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="with --sensitivity: means over N seeds, from --seed on"
    )
    add_flags(parser, "json", help='print {"rows": [...]} instead of the table')


def run(args: argparse.Namespace) -> int:
    """Run the bench."""
    if args.part:
        return roles.run(args)
    if not args.data:
        raise UsageError("name the questions: --data DATA (see thinkgraph bench --help)")
    from thinkgraph.eval import bench, bench_setup
    from thinkgraph.eval.datasets import DATASETS, read_dataset
    from thinkgraph.eval.datasets.ids import named

    if args.data == "list":
        write_line("\n".join(f"{entry.name:12} {entry.title:20} {entry.where}" for entry in DATASETS.values()))
        return 0
    _check(args)
    dataset, questions = read_dataset(args.data)
    settings = settings_by_method(args, configured(args), args.methods, style=dataset.style)
    questions = spread(_of_type(questions, args), args.limit)
    name = model_name(args.model)
    gold = args.gold_entities == "yes"
    folder = Path(args.report).expanduser() if args.report else None
    out = folder / "results.jsonl" if folder else Path(args.out).expanduser() if args.out else None
    kept = f"; what was answered is in {out}: the same command goes on from there" if out else ""
    if folder and out and not out.exists() and not (args.estimate or args.sensitivity):
        _check_reports(folder)
    with open_knowledge(args) as knowledge, leaving_at_once(f"interrupted{kept}"):
        questions = named(questions, knowledge.graph)
        if folder and not args.estimate:
            make_folder(folder)
        asked = bench_setup.gold_knowledge(knowledge, questions) if gold else knowledge
        if args.sensitivity:
            return sensitivity.run(args, questions, settings, asked, folder)
        model = bench_setup.bench_model(name, questions, knowledge, seed=args.seed)
        models = open_models(model, asked, prices=args.prices, rate=args.rate)
        prices = prices_of(args.prices)
        plan = bench.BenchPlan(
            questions=questions,
            knowledge=asked,
            methods=settings,
            model=models,
            golds=bench_setup.known_golds(questions, knowledge),
            concurrency=max(args.concurrency, args.workers),
        )
        if args.estimate:
            return _estimate(plan, models, prices, as_json=args.json)
        data = bench_setup.data_name(args.data)
        record = bench.plan_record(plan, model=name, seed=args.seed, gold_entities=gold, data=data)
        with RecordFile(out, record) if out else nullcontext() as file, LineProgress(sys.stderr) as progress:
            done = bench.kept_results(file) if file else []
            _announce(plan, name, gold=gold, done=len(done))
            spent = Spent(len(questions) * len(settings), prices, done, methods=len(settings))
            results = bench.run_bench(
                plan,
                progress=progress,
                keep=telling(file.keep if file else None, spent, progress),
                done=done,
                workers=_workers(args, settings, name, questions) if args.workers > 1 else None,
            )
    _print(results, record, prices, folder, args)
    return 0


def _announce(plan: BenchPlan, model: str, *, gold: bool, done: int) -> None:
    again = f", {done} answered before" if done else ""
    topics = f", topics given for {sum(bool(question.topic) for question in plan.questions)}" if gold else ""
    sys.stderr.write(
        f"{many(len(plan.questions), 'question')} over {plan.knowledge.name} with model {model}{topics}{again}\n"
    )
    pathed = [question for question in plan.questions if question.gold_path or question.gold_passages]
    if plan.golds is not None and (unfit := [question.id for question in pathed if question.id not in plan.golds]):
        sys.stderr.write(
            f"scores of evidence leave out {len(unfit)} of {many(len(pathed), 'gold path')}, which the knowledge does not "
            f"have; the first is of question {one_line(unfit[0])}\n"
        )


def _estimate(plan: BenchPlan, models: Models, prices: Prices | None, *, as_json: bool) -> int:
    from thinkgraph.eval.costs.estimate import chooser_for, estimates

    texts = [question.question for question in plan.questions]
    chooser = chooser_for(plan.questions, plan.knowledge)
    expected = estimates(models, plan.knowledge, plan.methods, texts, chooser=chooser)
    write_estimates(expected, prices, as_json=as_json)
    return 0


def _check(args: argparse.Namespace) -> None:
    check_numbers(args)
    if args.sensitivity:
        sensitivity.check(args)
    elif args.seeds != 1:
        raise UsageError("--seeds is for --sensitivity: leave it out; --seed is the one of a bench")
    if args.out and args.report:
        raise UsageError("--report keeps the results in its folder: leave --out out")


def _check_reports(folder: Path) -> None:
    """Refuse a folder without results in which something else has the name of a report."""
    for name in ("report.md", "report.html", "timing.md"):
        if (folder / name).exists():
            raise UsageError(
                f"{folder / name} exists already and was not begun by this command; name another folder, or remove it"
            )


def _workers(
    args: argparse.Namespace, settings: dict[str, dict[str, Any]], model: str, questions: list[Question]
) -> AbstractAsyncContextManager[Ask]:
    """The processes that share the questions; perfect choosers and gold entities need the questions themselves."""
    from thinkgraph.eval.bench_setup import is_perfect
    from thinkgraph.eval.workers import Work, workers

    gold = args.gold_entities == "yes"
    work = Work(
        kb=args.kb,
        text=args.text,
        trust_embedder=bool(args.trust_embedder),
        methods=settings,
        model=model,
        prices=prices_of(args.prices),
        profiles=profiles(),
        rate=args.rate,
        seed=args.seed,
        gold_entities=gold,
        questions=questions if is_perfect(model) or gold else (),
    )
    return workers(work, args.workers)


def _print(
    results: list[BenchResult],
    record: dict[str, Any],
    prices: Prices | None,
    folder: Path | None,
    args: argparse.Namespace,
) -> None:
    from thinkgraph.eval.reports.results import render, table

    rows = table(results, seed=args.seed, prices=prices)
    write_rows(rows, render(rows), as_json=args.json)
    if folder:
        from thinkgraph.eval.reports.report import write_report

        write_report(folder, results, record, prices=prices)
        sys.stderr.write(f"report: {folder / 'report.md'} and report.html\n")


def _of_type(questions: list[Question], args: argparse.Namespace) -> list[Question]:
    if not args.type:
        return questions
    types = dict.fromkeys(question.type for question in questions if question.type)
    if unknown := [kind for kind in args.type if kind not in types]:
        raise UsageError(f"{args.data} has no question of type {unknown[0]}; its types: {', '.join(types) or 'none'}")
    return [question for question in questions if question.type in args.type]
