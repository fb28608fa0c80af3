"""What ToG-2 can reach: the perfect chooser and the offline model over `world`, and over factbook where its files are at hand.

    ./tg python benchmarks/ceilings.py [--factbook DIR] [--kb FOLDER] [--limit N]

--factbook names the folder with kg.tsv, attributes.tsv, passages.jsonl, aliases.json and questions_generated.jsonl; its
knowledge base is built with `thinkgraph kb build` into --kb (kept, so that the next run starts at once). The perfect chooser
picks what lies on a question's gold path and answers only from what the prompt shows: with the LLM ranker its score is the
method's ceiling, with the dense ranker the encoder, not the model, prunes entities.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgraph.cli.main import main as thinkgraph
from thinkgraph.eval.bench import BenchPlan, run_bench
from thinkgraph.eval.bench_setup import bench_model, load_questions
from thinkgraph.eval.questions import Question
from thinkgraph.eval.reports.results import ReportRow, render, table
from thinkgraph.tools.encoders.embeddings import BundledEmbedder
from thinkgraph.tools.knowledge import Knowledge

RUNS: Sequence[tuple[str, str, Mapping[str, Any]]] = (
    ("perfect, ranker llm, W=3", "perfect", {"ranker": "llm"}),
    ("perfect, ranker dense, W=3", "perfect", {}),
    ("perfect, ranker dense, W=5", "perfect", {"width": 5}),
    ("perfect, ranker dense, W=8", "perfect", {"width": 8}),
    ("perfect, ranker llm, W=8", "perfect", {"ranker": "llm", "width": 8}),
    ("offline, ranker dense, W=3", "offline", {}),
)


def show(title: str, questions: Sequence[Question], knowledge: Knowledge) -> list[tuple[str, list[ReportRow]]]:
    """Run every line of RUNS over one question set and print its table."""
    made = []
    for name, model, settings in RUNS:
        began = time.monotonic()
        plan = BenchPlan(
            questions, knowledge, {"tog2": {"backtracks": 0, **settings}}, bench_model(model, questions, knowledge)
        )
        rows = table(run_bench(plan))
        made.append((name, rows))
        print(
            f"\n{title}: {name} ({len(questions)} questions, {time.monotonic() - began:.0f} s)\n{render(rows)}",
            flush=True,
        )
    return made


def main() -> int:
    """Print the tables; exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factbook", type=Path, help="folder of the factbook files")
    parser.add_argument("--kb", type=Path, default=Path("factbook-kb"), help="where its knowledge base is kept")
    parser.add_argument("--limit", type=int, help="only so many questions of each set")
    args = parser.parse_args()
    # The same texts come back at every width: one large cache keeps the bench short and changes no score.
    embedder = BundledEmbedder(cache_size=200_000)
    with Knowledge.open("world", embedder=embedder) as world:
        show("world", load_questions("world", args.limit), world)
    if args.factbook:
        if not args.kb.exists():
            files = [f"--triples={args.factbook / name}" for name in ("kg.tsv", "attributes.tsv")]
            files += [f"--passages={args.factbook / 'passages.jsonl'}", f"--aliases={args.factbook / 'aliases.json'}"]
            if thinkgraph(["kb", "build", str(args.kb), *files]):
                return 1
        questions = load_questions(str(args.factbook / "questions_generated.jsonl"))
        chosen = [question for question in questions if question.type in {"2hop", "kg+text"}]
        if args.limit:
            chosen = [chosen[at * len(chosen) // args.limit] for at in range(min(args.limit, len(chosen)))]
        with Knowledge.open(args.kb, embedder=embedder) as factbook:
            show("factbook", chosen, factbook)
    return 0


if __name__ == "__main__":
    sys.exit(main())
