"""`thinkgraph bench`: a question file over one or several methods, as a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from thinkgraph.cli.interrupt import leaving_at_once
from thinkgraph.cli.options import add_kb, model_name, parse_settings
from thinkgraph.cli.show import write_json, write_line
from thinkgraph.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `bench`."""
    parser.add_argument("--data", required=True, metavar="FILE", help="'world', or a JSONL file of questions")
    add_kb(parser)
    parser.add_argument("--methods", default="tog2", metavar="NAME[,NAME]", help="default tog2")
    parser.add_argument(
        "--model",
        metavar="M",
        help="offline, perfect (it knows the gold path), perfect:0.1 (10%% wrong), or provider:name",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only N questions, spread over the file")
    parser.add_argument("--type", action="append", metavar="TYPE", help="only questions of this type; may be repeated")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of all methods that have it (width=5), or of one (tog2.width=5); may be repeated",
    )
    parser.add_argument("--prices", metavar="FILE", help="YAML price table")
    parser.add_argument("--out", metavar="FILE", help="write one JSON line per question, with the whole answer")
    parser.add_argument("--json", action="store_true", help='print {"rows": [...]} instead of the table')


def run(args: argparse.Namespace) -> int:
    """Run the bench."""
    from thinkgraph.eval.bench import (
        Plan,
        append_line,
        bench_model,
        load_questions,
        render,
        run_bench,
        settings_by_method,
        table,
    )
    from thinkgraph.graphs.registry import method
    from thinkgraph.models.prices import load_prices
    from thinkgraph.state.settings import resolve_settings
    from thinkgraph.tools.knowledge import Knowledge

    if args.limit is not None and args.limit < 1:
        raise UsageError("--limit must be at least 1")
    methods = [name.strip() for name in args.methods.split(",") if name.strip()]
    if not methods:
        raise UsageError("--methods names no method")
    chosen = {name: method(name) for name in methods}
    settings = settings_by_method(methods, parse_settings(args.set))
    for name, found in chosen.items():
        resolve_settings(found.settings, settings[name])
    questions = load_questions(args.data)
    if args.type:
        questions = [question for question in questions if question.type in args.type]
        if not questions:
            raise UsageError(f"{args.data} has no question of type {', '.join(args.type)}")
    if args.limit is not None and args.limit < len(questions):
        questions = [questions[at * len(questions) // args.limit] for at in range(args.limit)]
    out = Path(args.out) if args.out else None
    if out and out.exists():
        raise UsageError(f"{out} exists already; name another file")
    if out and not out.parent.is_dir():
        raise UsageError(f"there is no folder {out.parent} for {out.name}")
    done = f"; what was answered is in {out}" if out else ""
    with Knowledge.open(args.kb, text=args.text) as knowledge, leaving_at_once(f"interrupted{done}"):
        name = model_name(args.model)
        plan = Plan(
            questions=questions,
            knowledge=knowledge,
            methods=settings,
            model=bench_model(name, questions, knowledge),
            prices=load_prices(args.prices) if args.prices else None,
        )
        sys.stderr.write(f"{len(questions)} questions over {knowledge.name} with model {name}\n")
        rows = table(run_bench(plan, progress=_progress, keep=append_line(out) if out else None))
    if args.json:
        write_json({"rows": rows})
    else:
        write_line(render(rows))
    return 0


def _progress(stage: str, done: int, total: int | None) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{stage} {done} of {total} " + ("\n" if done == total else ""))
        sys.stderr.flush()
    elif done == total or done % 50 == 0:
        sys.stderr.write(f"{stage} {done} of {total}\n")
