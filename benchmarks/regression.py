"""Are answers still as good and as cheap as they were? All methods over five sets of questions, one Markdown table.

    ./tg python benchmarks/regression.py --data DIR [--kb SET=FOLDER …] [--limit N] [--methods …] [--models …] [--keep DIR]

    world       comes with the package
    factbook    DIR/factbook/questions_generated.jsonl           --kb factbook=FOLDER
    metaqa      DIR/metaqa/qa_{1,2,3}hop_dev.tsv, flag 1         --kb metaqa=FOLDER
    webqsp      DIR/webqsp_fb/webqsp_questions.jsonl             --kb webqsp=FOLDER, of triples.tsv.gz (kb build --triples)
    musique     DIR/musique100/questions.jsonl                   --kb musique=FOLDER, of passages.jsonl (kb build --documents)

Models are the perfect chooser with 0, 10 and 20 % of its choices wrong, and the offline model. Sets without a knowledge base
are left out. A question whose gold path or gold passages do not lie in the knowledge base is not asked. With --keep the answers
are kept and the same command goes on where it was; the table is printed and written to --results. Figures are comparable only
between lines with the same set, number of questions, model and settings; WebQSP's graph is a fragment that other systems
explored, so that its figures say nothing of the published ones.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from documents import gold_of
from documents import read as read_rows

from thinkgraph.config import parse_settings
from thinkgraph.errors import UsageError
from thinkgraph.eval.bench import BenchPlan, kept_results, plan_record, run_bench
from thinkgraph.eval.bench_setup import bench_model, known_golds, settings_by_method
from thinkgraph.eval.datasets import read_dataset
from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.questions import Question, spread
from thinkgraph.eval.record import RecordFile
from thinkgraph.eval.reports.results import BenchResult, ReportRow, table
from thinkgraph.ingest.documents.store import DocumentStore
from thinkgraph.tools.encoders.embeddings import BundledEmbedder
from thinkgraph.tools.kb_files import DOCUMENTS
from thinkgraph.tools.knowledge import Knowledge

ROOT = Path(__file__).parents[1]
METHODS = "tog2,paths,fasttog,fiske,coggrag"
MODELS = "perfect,perfect:0.1,perfect:0.2,offline"
HEAD = (
    "| set | questions | method | model | hits@1 | EM | unknown | calls | most | bound | input tokens | output tokens |",
    "|---|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
)
_MOST_PATHS = 4
"""Relation paths tried for a WebQSP question: many of those printed are spurious."""


def _plain(*files: str) -> Any:
    def read(data: Path, knowledge: Knowledge, limit: int) -> list[Question]:
        del knowledge
        return [question for file in files for question in spread(read_dataset(file.format(data=data))[1], limit)]

    return read


def webqsp(data: Path, knowledge: Knowledge, limit: int) -> list[Question]:
    """Questions with the first relation path that leads from the topic to an answer in the graph, in either direction."""
    lines = (data / "webqsp_fb" / "webqsp_questions.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["gold_path_in_kg"] and row["topics"]]
    found = []
    # More than the limit: some paths do not lead to an answer after all.
    for row in rows[:: max(1, len(rows) // (2 * limit))]:
        question = Question(
            id=row["id"],
            question=f"{row['question']}?",
            answers=tuple(row["answers"]),
            type="webqsp",
            topic=tuple(row["topics"]),
        )
        if path := next(_leading(question, row["ground_paths"], knowledge), None):
            found.append(replace(question, gold_path=path))
        if len(found) == limit:
            break
    return found


def _leading(
    question: Question, paths: Sequence[Sequence[str]], knowledge: Knowledge
) -> Iterator[tuple[tuple[str, ...], ...]]:
    for relations in filter(None, paths[:_MOST_PATHS]):
        for signs in itertools.product(("", "-"), repeat=len(relations)):
            starts = (question.topic[0], *("*" for _ in relations[1:]))
            path = tuple((start, f"{sign}{name}") for start, sign, name in zip(starts, signs, relations, strict=True))
            try:
                (gold,) = resolve_golds([replace(question, gold_path=path)], knowledge.graph)
            except UsageError:
                continue
            if gold.hops and {*question.answers} <= {*gold.hops[-1].ends}:
                yield path


def _musique(data: Path, knowledge: Knowledge, limit: int) -> list[Question]:
    """Questions with their gold passages."""
    every = read_rows(data / "musique100" / "questions.jsonl")
    rows = every[:: -(-len(every) // limit)]
    if knowledge.folder is None:
        raise UsageError("--kb musique: must be the folder of a knowledge base made of documents")
    with DocumentStore(knowledge.folder / DOCUMENTS, write=False) as store:
        return [
            Question(
                id=row["id"],
                question=row["question"],
                answers=(row["answer"],),
                type=f"{row['hops']}hop",
                gold_passages=gold_of(row, store),
                aliases=(tuple(row["aliases"]),),
            )
            for row in rows
        ]


SETS: dict[str, tuple[str, Any]] = {
    "world": ("world", _plain("world")),
    "factbook": ("factbook", _plain("{data}/factbook/questions_generated.jsonl")),
    **{f"metaqa {n}-hop": ("metaqa", _plain(f"metaqa:{{data}}/metaqa/qa_{n}hop_dev.tsv")) for n in (1, 2, 3)},
    "webqsp fragment": ("webqsp", webqsp),
    "musique": ("musique", _musique),
}
"""The knowledge base of each set and how its questions are read."""


def line(name: str, model: str, row: ReportRow) -> str:
    """One line of the table."""
    cells = (
        name,
        row["n"],
        row["method"],
        model,
        *(f"{100 * row[key]:.1f}" for key in ("hits1", "em", "unknown")),  # type: ignore[literal-required]
        f"{row['calls_mean']:.2f}",
        row["calls_max"],
        "–" if row["bound"] is None else row["bound"],
        f"{row['input_tokens_mean']:.0f}",
        f"{row['output_tokens_mean']:.0f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def open_bases(pairs: Sequence[str], stack: ExitStack) -> dict[str, Knowledge]:
    """`world` and the knowledge bases that "SET=FOLDER" name, by set, open as long as the stack is, with one encoder."""
    embedder = BundledEmbedder(cache_size=500_000)
    bases = {"world": "world", **dict(pair.split("=", 1) for pair in pairs)}
    return {name: stack.enter_context(Knowledge.open(kb, embedder=embedder)) for name, kb in bases.items()}


def answerable(questions: Sequence[Question], knowledge: Knowledge) -> list[Question]:
    """The questions whose gold evidence lies in the knowledge base."""
    known = known_golds(questions, knowledge)
    return [question for question in questions if question.id in known]


def bench(
    name: str, plan: BenchPlan, keep: Path | None, *, model: str, seed: int = 0, part: str = ""
) -> list[BenchResult]:
    """The results of a plan over the set `name`, kept in a file of its own where a folder is given.

    Args:
        name: of the set.
        plan: what to run.
        keep: the folder.
        model: the plan's, for the file's name.
        seed: of the model's errors.
        part: tells plans of the same set, model and seed apart.
    """
    record = plan_record(plan, model=model, seed=seed, gold_entities=False, data=name)
    stem = "-".join(filter(None, [name, part, model, str(seed) if seed else ""])).translate(str.maketrans(" :", "--"))
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
    with RecordFile(keep / f"{stem}.jsonl", record) if keep else nullcontext() as out:
        return run_bench(plan, keep=out.keep if out else None, done=kept_results(out) if out else [])


def measure(
    name: str,
    questions: Sequence[Question],
    knowledge: Knowledge,
    models: Sequence[str],
    methods: dict[str, dict[str, Any]],
    keep: Path | None,
) -> list[str]:
    """The lines of one set."""
    made = []
    for model in models:
        plan = BenchPlan(questions, knowledge, methods, bench_model(model, questions, knowledge))
        for row in table(bench(name, plan, keep, model=model)):
            if row["type"] == "all":
                made.append(line(name, model, row))
                print(made[-1], flush=True)
    return made


def main() -> int:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets' folders")
    parser.add_argument("--kb", action="append", default=[], metavar="SET=FOLDER", help="knowledge base of a set")
    parser.add_argument("--limit", type=int, default=20, help="questions of each set (default 20)")
    parser.add_argument("--methods", default=METHODS, help=f"default {METHODS}")
    parser.add_argument("--models", default=MODELS, help=f"default {MODELS}")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as for thinkgraph bench")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the answers there")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "regression.md")
    args = parser.parse_args()
    names = args.methods.split(",")
    lines: list[str] = []
    left_out = []
    print("\n".join(HEAD), flush=True)
    with ExitStack() as stack:
        opened = open_bases(args.kb, stack)
        for name, (base, read) in SETS.items():
            if base not in opened:
                left_out.append(name)
                continue
            knowledge = opened[base]
            asked = answerable(read(args.data, knowledge, args.limit), knowledge)
            methods = settings_by_method(names, parse_settings(args.set))
            lines += measure(name, asked, knowledge, args.models.split(","), methods, args.keep)
    args.results.parent.mkdir(parents=True, exist_ok=True)
    head = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    told = [
        "# Regression bench",
        "",
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, commit {commit}, at most {args.limit} questions a set.",
        f"Settings: {' '.join(args.set) or 'the defaults'}. Sets left out: {', '.join(left_out) or 'none'}.",
        "Tokens are estimated (characters / 4). `perfect:0.1`: the perfect chooser with a tenth of its choices wrong.",
        "",
        *HEAD,
        *lines,
    ]
    args.results.write_text("\n".join(told) + "\n", "utf-8")
    sys.stderr.write(f"{args.results}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
