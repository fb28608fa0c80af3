"""Counts at hubs, statements that lead back to where they start, and "other X of its Y": questions made of a graph's own facts.

    ./tg python benchmarks/hubs.py --kb metaqa-kb [--kb ANOTHER …] [--hubs 40] [--others 20] [--methods tog2,fiske]

    hub      how long is the longest list of an entity with 500 triples or more? The largest entities of all knowledge bases
    loop     a relation of an entity that leads to the entity itself, perhaps among others
    other    what else has the end of a relation in common with an entity; the entity itself never counts

The perfect chooser answers, one way (`backtracks=0`). Knowledge bases are folders of `kb build`. The table is printed and written to
--results. A cell: hits@1 / questions with all answers / model calls, means of a question.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import cast

from thinkgraph.eval.bench import BenchPlan, run_bench
from thinkgraph.eval.bench_setup import bench_model, settings_by_method
from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.questions import Question
from thinkgraph.eval.reports.results import BenchResult
from thinkgraph.tools.encoders.embeddings import BundledEmbedder
from thinkgraph.tools.kb_files import GRAPH
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.sqlite.graph import SqliteGraphStore

RESULTS = Path(__file__).parent / "results" / "hubs.md"
METHODS = "tog2,tog,paths,fasttog,fiske,coggrag,search_agent"
KINDS = ("hub", "loop", "other")
HUB = 500
_DRAWN = 400
"""Most hubs looked at, and entities drawn, of one knowledge base."""
_SEED = 7
_LOOPS = """
SELECT n.key, r.name FROM triple t JOIN node n ON n.id = t.subject JOIN relation r ON r.id = t.relation
WHERE t.subject = t.object ORDER BY n.key, r.name
"""
_OTHERS = """
SELECT n.key, r.name FROM edge e JOIN triple t ON t.id = e.first JOIN node n ON n.id = e.node
JOIN relation r ON r.id = e.relation JOIN node o ON o.id = t.object
JOIN edge b ON b.direction = 1 AND b.node = t.object AND b.relation = r.id
WHERE e.direction = 0 AND e.triples = 1 AND o.literal = 0 AND t.subject <> t.object AND b.triples BETWEEN 3 AND 30
ORDER BY n.key, r.name
"""
"""Entities with one end of a relation, which has 2 to 29 others."""


def at_hubs(graph: SqliteGraphStore) -> Iterator[tuple[int, Question]]:
    """How long the longest list of each hub is, with the hub's number of triples."""
    ids = graph.most_linked(_DRAWN)
    for entity, relations in zip(graph.entities(ids), graph.relations(ids), strict=True):
        size = sum(one["count"] for one in relations)
        if entity and size >= HUB:
            longest = max(relations, key=lambda one: one["count"])
            out = longest["direction"] == "out"
            asked = f'How many things {"are" if out else "have"} {words_of(longest["name"])} {"of " if out else ""}"{entity["label"]}"?'
            path = ((entity["id"], longest["name"] if out else f"-{longest['name']}"), ("count",))
            yield size, Question(f"hub {entity['id']}", asked, ("?",), "hub", gold_path=path)


def leading_back(folder: Path, graph: SqliteGraphStore) -> Iterator[Question]:
    """Questions of the types `loop` and `other`, in an order drawn once."""
    for kind, sql in (("loop", _LOOPS), ("other", _OTHERS)):
        with closing(sqlite3.connect(folder / GRAPH)) as db:
            rows = db.execute(sql).fetchall()
        drawn = random.Random(_SEED).sample(rows, min(len(rows), _DRAWN))
        for (key, name), entity in zip(drawn, graph.entities([key for key, _ in drawn]), strict=True):
            label = entity["label"] if entity else key
            asked = (
                f'What is the {words_of(name)} of "{label}"?'
                if kind == "loop"
                else f'What else has the {words_of(name)} of "{label}"?'
            )
            path = ((key, name),) if kind == "loop" else ((key, name), ("*", f"-{name}", "new"))
            yield Question(f"{kind} {key} {name}", asked, ("?",), kind, gold_path=path)


def words_of(relation: str) -> str:
    """A relation's name as words of a question."""
    return relation.rpartition(".")[2].replace("_", " ")


def answered(questions: Sequence[Question], knowledge: Knowledge) -> list[Question]:
    """The questions with the answers that the graph gives."""
    found = []
    for question, gold in zip(questions, resolve_golds(questions, knowledge.graph), strict=True):
        ends = tuple(dict.fromkeys(gold.hops[-1].ends)) if gold.hops else ()
        if ends:
            answers = (str(len(ends)),) if question.type == "hub" else ends
            found.append(replace(question, answers=answers))
    return found


def chosen(bases: Sequence[Knowledge], most: dict[str, int]) -> list[list[Question]]:
    """Of each knowledge base its questions: the largest hubs of all, and of the other types as many of each."""
    largest: list[tuple[int, int, Question]] = []
    found: list[list[Question]] = [[] for _ in bases]
    for place, knowledge in enumerate(bases):
        graph = cast("SqliteGraphStore", knowledge.graph)
        largest += [(size, place, question) for size, question in at_hubs(graph)]
        rest = answered(list(leading_back(cast("Path", knowledge.folder), graph)), knowledge)
        for kind in ("loop", "other"):
            found[place] += [one for one in rest if one.type == kind][: most[kind] // len(bases)]
    for _, place, question in sorted(largest, key=lambda one: -one[0])[: most["hub"]]:
        found[place] += answered([question], bases[place])
    return found


def cell(results: Sequence[BenchResult]) -> str:
    """The figures of one method and type."""
    n = len(results)
    hits, whole = (sum(result["scores"][name] for result in results) / n for name in ("hits1", "complete"))
    calls = sum(result["answer"]["usage"]["total"]["calls"] for result in results) / n
    return f"{hits:.3f} / {whole:.3f} / {calls:.1f}"


def main() -> int:
    """Print the table and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kb", type=Path, action="append", required=True, help="a knowledge base; may be repeated")
    parser.add_argument("--hubs", type=int, default=40, help="questions of the type hub (default %(default)s)")
    parser.add_argument(
        "--others", type=int, default=20, help="of the types loop and other, each (default %(default)s)"
    )
    parser.add_argument("--methods", default=METHODS, help="default %(default)s")
    parser.add_argument("--show", action="store_true", help="print what is not answered whole")
    parser.add_argument("--results", type=Path, default=RESULTS, help="default %(default)s")
    args = parser.parse_args()
    methods = args.methods.split(",")
    results: list[BenchResult] = []
    with ExitStack() as stack:
        embedder = BundledEmbedder(cache_size=100_000)
        bases = [stack.enter_context(Knowledge.open(kb, embedder=embedder)) for kb in args.kb]
        most = {"hub": args.hubs, "loop": args.others, "other": args.others}
        for knowledge, questions in zip(bases, chosen(bases, most), strict=True):
            model = bench_model("perfect", questions, knowledge)
            settings = settings_by_method(methods, {"backtracks": 0})
            made = run_bench(BenchPlan(questions, knowledge, settings, model))
            results += made
            for one in made if args.show else []:
                if not one["scores"]["complete"]:
                    sys.stderr.write(
                        f"{one['method']}: {one['id']}: {one['answer']['status']}, {one['answer']['text'][:200]}\n"
                    )
    counts = {kind: sum(one["type"] == kind for one in results) // len(methods) for kind in KINDS}
    lines = [
        f"| method | {' | '.join(f'{kind} ({count})' for kind, count in counts.items())} |",
        f"|---|{'---|' * len(KINDS)}",
    ]
    for method in methods:
        row = [[one for one in results if (one["method"], one["type"]) == (method, kind)] for kind in KINDS]
        lines.append(f"| {method} | {' | '.join(cell(part) if part else '–' for part in row)} |")
    table = "\n".join(lines) + "\n"
    head = "# Hubs, and what leads back\n\n`benchmarks/hubs.py`, perfect chooser, one way. A cell: hits@1 / questions with all answers / model calls, means.\n\n"
    args.results.write_text(head + table, "utf-8")
    sys.stdout.write(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
