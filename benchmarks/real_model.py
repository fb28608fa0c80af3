"""Whole questions with a real model: every method and baseline over a fixed sample of `world`, every reply recorded.

    ./tg python benchmarks/real_model.py --model openai:qwen2.5-coder-1.5b          # asks the model; goes on after a kill
    ./tg python benchmarks/real_model.py --replay                                   # the same table, from the recorded replies

Replies are recorded as they come, so a run that was killed continues where it was. `--replay` asks no model: a question whose
prompts have changed since, or that was never asked, is marked "departs", with the role. Seconds are those of the recorded replies.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgraph.config import parse_settings
from thinkgraph.errors import ModelError
from thinkgraph.eval.bench import BenchPlan, run_bench
from thinkgraph.eval.bench_setup import load_questions, settings_by_method
from thinkgraph.eval.questions import Question, spread
from thinkgraph.eval.reports.results import BenchResult
from thinkgraph.graphs.build import offline_model
from thinkgraph.models.recorded import Recording
from thinkgraph.models.roles import Models
from thinkgraph.tools.knowledge import Knowledge

RESULTS = Path(__file__).parent / "results"
METHODS = "tog2,fasttog,fiske,coggrag,direct,rag,kg_rag,search_agent"
TYPES = "1hop,2hop,3hop,kg+text,comparison,unanswerable"
HEAD = (
    "| method | right | partly | unknown | wrong | wrong, grounded | departs | calls | tokens in | tokens out | seconds |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
)


def sample(types: Sequence[str], per_type: int) -> list[Question]:
    """The fixed sample: of each type as many questions, spread over `world`."""
    every = load_questions("world")
    return [question for name in types for question in spread([one for one in every if one.type == name], per_type)]


def outcome(result: BenchResult) -> str:
    """Right: exactly the gold answers, or none where there is none. Partly: some of them. Else unknown or wrong."""
    scores = result["scores"]
    if scores["em"]:
        return "right"
    if scores["unknown"]:
        return "unknown"
    return "wrong" if scores["wrong"] else "partly"


def ask(
    questions: Sequence[Question],
    methods: Mapping[str, Mapping[str, Any]],
    knowledge: Knowledge,
    models: Models,
    recording: Recording,
) -> Iterator[dict[str, Any]]:
    """Every question with every method; one row each."""
    for method, settings in methods.items():
        for question in questions:
            before = recording.seconds
            row: dict[str, Any] = {"method": method, "id": question.id, "type": question.type}
            try:
                (result,) = run_bench(BenchPlan([question], knowledge, {method: settings}, models))
            except ModelError as error:
                if not recording.replays:
                    raise
                yield row | {"outcome": "departs", "status": "-", "confidence": "-", "answers": str(error)}
                continue
            answer = result["answer"]
            total = answer["usage"]["total"]
            yield row | {
                "outcome": outcome(result),
                "status": answer["status"],
                "confidence": "-" if (sure := answer["confidence"]) is None else f"{sure:.2f}",
                "answers": "; ".join(answer["answers"]),
                "calls": total["calls"],
                "input": total["input_tokens"],
                "output": total["output_tokens"],
                "seconds": recording.seconds - before,
            }


def line(method: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """One line of the table: counts of questions, and means over those that did not depart."""
    counts = [sum(row["outcome"] == name for row in rows) for name in ("right", "partly", "unknown", "wrong")]
    sure = sum(row["outcome"] == "wrong" and row["status"] == "grounded" for row in rows)
    done = [row for row in rows if row["outcome"] != "departs"]
    means = [
        f"{sum(row[name] for row in done) / len(done):.{digits}f}" if done else "–"
        for name, digits in (("calls", 1), ("input", 0), ("output", 0), ("seconds", 0))
    ]
    return f"| {' | '.join(map(str, (method, *counts, sure, len(rows) - len(done), *means)))} |"


def table(rows: Sequence[Mapping[str, Any]], methods: Sequence[str]) -> list[str]:
    """The Markdown table."""
    return [*HEAD, *(line(name, [row for row in rows if row["method"] == name]) for name in methods)]


def main() -> int:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model", default="openai:qwen2.5-coder-1.5b", help="the model that is asked (default %(default)s)"
    )
    parser.add_argument("--replay", action="store_true", help="ask no model")
    parser.add_argument("--recording", type=Path, default=RESULTS / "real_model.jsonl", help="default %(default)s")
    parser.add_argument("--results", type=Path, default=RESULTS / "real_model.md", help="default %(default)s")
    parser.add_argument("--methods", default=METHODS, help="default %(default)s")
    parser.add_argument("--types", default=TYPES, help="default %(default)s")
    parser.add_argument("--per-type", type=int, default=2, help="questions of each type (default %(default)s)")
    parser.add_argument("--window", type=int, default=8192, help="the model's window in tokens (default %(default)s)")
    parser.add_argument("--size", default="small", choices=("small", "standard"), help="default %(default)s")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as for thinkgraph bench")
    args = parser.parse_args()
    questions = sample(args.types.split(","), args.per_type)
    methods = settings_by_method(args.methods.split(","), parse_settings(args.set))
    recording = Recording(args.recording, None if args.replay else args.model)
    profiles = {recording.model: {"window": args.window, "size": args.size}}
    rows = []
    with Knowledge.open("world") as knowledge:
        models = Models(recording.model, offline=offline_model(knowledge), profiles=profiles, recording=recording)
        for row in ask(questions, methods, knowledge, models, recording):
            rows.append(row)
            shown = (row[name] for name in ("method", "id", "type", "outcome", "status", "confidence", "answers"))
            print("  ".join(map(str, shown)), flush=True)
    lines = [
        "# Whole questions with a real model",
        "",
        f"{recording.model}, {len(questions)} questions of `world`, settings: {' '.join(args.set) or 'the defaults'}.",
        "Calls, tokens and seconds are means of a question; the recorded replies lie beside this file.",
        "",
        *table(rows, list(methods)),
    ]
    print("\n" + "\n".join(lines))
    args.results.write_text("\n".join(lines) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
