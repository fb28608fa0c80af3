"""What does a question cost? Model calls and input tokens by method and number of hops, beside what the papers' own steps take.

    ./tg python benchmarks/cost.py --data metaqa --kb metaqa-kb [--limit 60] [--methods tog2,fasttog]

--data names the folder with MetaQA's qa_{1,2,3}hop_dev.tsv, --kb a knowledge base of its kb.txt. The perfect chooser answers, so that
every method asks what it must and nothing twice. Each method has three rows: ours; the same without the settings that spare calls
(`SPARING`); and the most calls that the method's bound allows without doubt. A cell has hits@1 / questions with all answers / calls /
input tokens, means of a question. The table is printed and written to --results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgraph.eval.bench import BenchPlan, run_bench
from thinkgraph.eval.bench_setup import bench_model
from thinkgraph.eval.datasets import read_dataset
from thinkgraph.eval.questions import spread
from thinkgraph.graphs.registry import find_method
from thinkgraph.tools.encoders.embeddings import BundledEmbedder
from thinkgraph.tools.knowledge import Knowledge

RESULTS = Path(__file__).parent / "results" / "cost.md"
HOPS = (1, 2, 3)
SPARING: Mapping[str, Sequence[str]] = {
    "tog2": ("steered", "skip_exact_topic", "skip_empty_reason"),
    "fasttog": ("steered", "ask_subjects", "ask_lone", "skip_empty_reason", "whole_lists"),
    "fiske": ("exact_names", "per_branch"),
    "coggrag": ("joint_keys", "lone_keys", "skip_settled"),
    "paths": (),
    "search_agent": (),
}
"""By method, the settings that spare calls; `preset=paper` has none of them."""


def turned_back(method: str) -> dict[str, Any]:
    """Those settings as the paper has them."""
    paper = find_method(method).settings.paper
    return {name: paper[name] for name in SPARING[method]}


def cells(method: str, results: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The figures of a run over one set, and the most calls of these questions where nothing is doubted, as the method bounds them."""
    n = len(results)
    hits, whole = (sum(result["scores"][name] for result in results) / n for name in ("hits1", "complete"))
    totals = [result["answer"]["usage"]["total"] for result in results]
    calls, tokens = (sum(total[name] for total in totals) / n for name in ("calls", "input_tokens"))
    schema, most = find_method(method).settings, find_method(method).bound
    bound = (
        sum(
            most(schema(**{"backtracks": 0} if "backtracks" in schema.model_fields else {}), one["answer"])
            for one in results
        )
        / n
    )
    return f"{hits:.3f} / {whole:.3f} / {calls:.2f} / {tokens:.0f}", f"{bound:.0f}"


def main() -> int:
    """Print the table and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of MetaQA's question files")
    parser.add_argument("--kb", type=Path, required=True, help="its knowledge base")
    parser.add_argument("--limit", type=int, default=60, help="questions of each number of hops (default %(default)s)")
    parser.add_argument("--methods", type=lambda text: text.split(","), default=list(SPARING), help="default: all")
    parser.add_argument("--results", type=Path, default=RESULTS, help="default %(default)s")
    args = parser.parse_args()
    lines = [
        f"| method | {' | '.join(f'{hops} hop' + 's' * (hops > 1) for hops in HOPS)} |",
        f"|---|{'---|' * len(HOPS)}",
    ]
    with Knowledge.open(args.kb, embedder=BundledEmbedder(cache_size=200_000)) as knowledge:
        sets = [spread(read_dataset(f"metaqa:{args.data}/qa_{hops}hop_dev.tsv")[1], args.limit) for hops in HOPS]
        for method in args.methods:
            rows: dict[str, list[str]] = {}
            for name, settings in ((method, {}), (f"{method}, nothing spared", turned_back(method))):
                for hops, questions in zip(HOPS, sets, strict=True):
                    if name != method and not settings:
                        continue
                    model = bench_model("perfect", questions, knowledge)
                    made, bound = cells(method, run_bench(BenchPlan(questions, knowledge, {method: settings}, model)))
                    rows.setdefault(name, []).append(made)
                    if name == method:
                        rows.setdefault(f"{method}, most calls", []).append(bound)
                    sys.stderr.write(f"{name}, {hops} hops: {made}\n")
            lines += [f"| {name} | {' | '.join(row)} |" for name, row in rows.items()]
    table = "\n".join(lines) + "\n"
    args.results.write_text(
        f"# What a question costs\n\nThe first {args.limit} MetaQA dev questions of each number of hops, spread over the file; perfect"
        " chooser.\nA cell: hits@1 / questions with all answers / model calls / input tokens, means. `most calls`: the method's bound without doubt.\n\n"
        + table,
        "utf-8",
    )
    sys.stdout.write(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
