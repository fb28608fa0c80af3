"""What a protocol call costs over Neo4j, beside the embedded store over the same triples, in one run.

    ./tg python benchmarks/neo4j.py --data DIR [--triples 200000] [--work DIR]

DIR holds `triples.tsv.gz` (subject, relation, object, …) and `entities.tsv.gz` (id, label). The first N triples (all of them
with --triples 0) are built into a knowledge base, loaded into a Neo4j server that is started for it (with the import tool, or
with --bolt through the driver), and asked the same questions. Figures are milliseconds and, as the last column, the ratio of
the medians; "queries" is how many queries a call took. The machine's load shows in all of them alike: read the ratios.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# This file is called like the driver: its folder must not be where Python looks first.
sys.path[:] = [str(HERE.parent), *(place for place in sys.path if Path(place or ".").resolve() != HERE)]
sys.path.append(str(HERE.parent / "scripts"))

from neo4j_server import Neo4jServer, admin  # noqa: E402 - the path comes first

import thinkgraph as tg  # noqa: E402 - as above
from thinkgraph.eval.gold import resolve_golds  # noqa: E402 - as above
from thinkgraph.eval.perfect.chooser import PerfectChooser  # noqa: E402 - as above
from thinkgraph.eval.questions import Question  # noqa: E402 - as above
from thinkgraph.ingest.build import build_kb  # noqa: E402 - as above
from thinkgraph.ingest.neo4j.csv_files import export_csv  # noqa: E402 - as above
from thinkgraph.ingest.neo4j.export import export_neo4j  # noqa: E402 - as above
from thinkgraph.tools.knowledge import Knowledge  # noqa: E402 - as above

Call = Callable[[Any], Any]


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of triples.tsv.gz and entities.tsv.gz")
    parser.add_argument("--triples", type=int, default=200_000, help="how many triples; 0: all (default 200,000)")
    parser.add_argument("--work", type=Path, default=Path("neo4j-bench"), help="where what is built is kept")
    parser.add_argument("--calls", type=int, default=200, help="calls of each kind (default 200)")
    parser.add_argument("--questions", type=int, default=20, help="two-hop questions (default 20)")
    parser.add_argument("--bolt", action="store_true", help="load through the driver instead of the import tool")
    parser.add_argument("--heap", default="2g", help="memory of the server's Java machine (default 2g)")
    args = parser.parse_args()
    work = args.work / str(args.triples or "all")
    kb = build(args.data, args.triples, work)
    with server_of(kb, work, bolt=args.bolt, heap=args.heap) as server:
        began = time.monotonic()
        with Knowledge.open(kb) as here, Knowledge.open(server.address) as there:
            info = there.graph.info()
            print(
                f"{info['triples']:,} triples, {info['entities']:,} entities; opened in {time.monotonic() - began:.1f} s",
                flush=True,
            )
            calls(here, there, args.calls)
            questions(here, there, args.questions)
    return 0


def build(data: Path, limit: int, work: Path) -> Path:
    """The knowledge base of the first triples, built once."""
    kb = work / "kb"
    if kb.exists():
        return kb
    work.mkdir(parents=True, exist_ok=True)
    rows, known = work / "triples.tsv", set()
    with gzip.open(data / "triples.tsv.gz", "rt", encoding="utf-8") as source, rows.open("w", encoding="utf-8") as out:
        out.write("subject\trelation\tobject\n")
        for line in islice(source, limit or None):
            subject, relation, end = line.rstrip("\n").split("\t")[:3]
            out.write(f"{subject}\t{relation}\t{end}\n")
            known |= {subject, end}
    with (
        gzip.open(data / "entities.tsv.gz", "rt", encoding="utf-8") as source,
        (work / "entities.tsv").open("w", encoding="utf-8") as out,
    ):
        out.write("id\tlabel\n")
        out.writelines(line for line in source if line.split("\t", 1)[0] in known and line.strip().count("\t") == 1)
    began = time.monotonic()
    build_kb(kb, triples=[rows], entities=work / "entities.tsv", detect_literals=False, index=False)
    print(f"embedded store built in {time.monotonic() - began:.1f} s", flush=True)
    return kb


def server_of(kb: Path, work: Path, *, bolt: bool, heap: str) -> Neo4jServer:
    """A server over a folder that holds the knowledge base, loaded once."""
    home = (work / ("server-bolt" if bolt else "server")).resolve()
    server = Neo4jServer(home, heap=heap, page_cache_mb=512, quick=False)
    if (home / "loaded").exists():
        return server
    shutil.rmtree(home, ignore_errors=True)
    began = time.monotonic()
    if bolt:
        with server:
            export_neo4j(kb, server.address)
    else:
        shutil.rmtree(work / "csv", ignore_errors=True)
        export_csv(kb, work / "csv")
        words = (work / "csv" / "import.sh").read_text("utf-8").split("--nodes", 1)[1]
        options = f"--nodes{words}".replace("\\\n", " ").replace('"$@"', "").split()
        places = [
            word.replace("=", f"={(work / 'csv').resolve()}/") if word.endswith(".csv") else word for word in options
        ]
        admin(home, "database", "import", "full", "neo4j", *places)
        with server:
            run_statements(server.address, (work / "csv" / "indexes.cypher").read_text("utf-8").splitlines())
    (home / "loaded").touch()
    print(f"loaded into Neo4j in {time.monotonic() - began:.1f} s", flush=True)
    return server


def run_statements(address: str, statements: Sequence[str]) -> None:
    """Make the indexes and wait for them."""
    import neo4j

    with neo4j.GraphDatabase.driver(address) as driver, driver.session(database="neo4j") as session:
        for statement in statements:
            session.run(statement.rstrip(";")).consume()
        session.run("CALL db.awaitIndexes(3600)").consume()


def calls(here: Knowledge, there: Knowledge, count: int) -> None:
    """Time every protocol call over both stores, with the same arguments."""
    hubs, sample = ends(here, count)
    rng = random.Random(7)
    labels = {one: entity["label"] for one, entity in zip(sample, here.graph.entities(sample), strict=True) if entity}
    steps = [
        {"entity": edge["entity"], "relation": edge["name"], "direction": edge["direction"]}
        for edges in here.graph.relations(sample)
        for edge in edges
    ]
    hub_steps = [
        {"entity": edge["entity"], "relation": edge["name"], "direction": edge["direction"]}
        for edges in here.graph.relations(hubs[:1])
        for edge in edges[-1:]
    ]
    degree = here.graph.neighbourhood(hubs[:1], limit=1)[0]["total"]

    def some(n: int) -> Iterator[list[str]]:
        return (rng.sample(sample, n) for _ in range(count))

    kinds: list[tuple[str, Call, list[Any]]] = [
        (
            "lookup of 30 names",
            lambda a: lambda g: g.lookup(a),
            [[labels[one] for one in ids if one in labels] for ids in some(30)],
        ),
        (
            "full text, 3 texts",
            lambda a: lambda g: g.search(a),
            [[labels[one] for one in ids if one in labels] for ids in some(3)],
        ),
        (
            "spelling, 1 text",
            lambda a: lambda g: g.search(a, fuzzy=True),
            [[misspelt(labels[one]) for one in ids if one in labels] for ids in some(1)],
        ),
        ("entities of 50", lambda a: lambda g: g.entities(a), list(some(50))),
        ("relations of 3", lambda a: lambda g: g.relations(a), list(some(3))),
        ("relations of the hub", lambda a: lambda g: g.relations(a), [hubs[:1]] * max(count // 4, 1)),
        (
            "9 steps",
            lambda a: lambda g: g.neighbours(a, limit=200),
            [rng.sample(steps, min(9, len(steps))) for _ in range(count)],
        ),
        ("step along the hub", lambda a: lambda g: g.neighbours(a, limit=200), [hub_steps] * max(count // 4, 1)),
        ("surroundings of 3", lambda a: lambda g: g.neighbourhood(a), list(some(3))),
        ("edges among 50 and the hub", lambda a: lambda g: g.edges_among(a), [[*ids, hubs[0]] for ids in some(50)]),
    ]
    print(
        f"\nthe hub has {degree:,} edges\n{'call':<28}{'queries':>8}{'SQLite p50':>12}{'p99':>9}{'Neo4j p50':>12}{'p99':>9}{'ratio':>8}"
    )
    for name, make, arguments in kinds:
        mine = timed(here, make, arguments)
        queries = counted(there)
        # Planned once, as on a server that has been asked before.
        timed(there, make, arguments[:3])
        queries.clear()
        theirs = timed(there, make, arguments)
        ratio = statistics.median(theirs) / max(statistics.median(mine), 1e-9)
        shown = len(queries) / len(arguments)
        print(f"{name:<28}{shown:>8.2f}{quantiles(mine)}{quantiles(theirs, 12)}{ratio:>8.1f}", flush=True)


def ends(knowledge: Knowledge, count: int) -> tuple[list[str], list[str]]:
    """The ids of the entities with most edges, and of some chosen at random."""
    most = knowledge.graph.most_linked(1_000_000)  # type: ignore[attr-defined]
    return most[:10], random.Random(5).sample(most, min(len(most), max(200, count)))


def misspelt(text: str) -> str:
    """A text with two neighbouring letters swapped."""
    middle = len(text) // 2
    return (
        text[: middle - 1] + text[middle : middle + 1] + text[middle - 1 : middle] + text[middle + 1 :]
        if middle
        else text
    )


def timed(knowledge: Knowledge, make: Call, arguments: Sequence[Any]) -> list[float]:
    """Milliseconds of each call."""
    taken = []
    for one in arguments:
        call = make(one)
        began = time.perf_counter()
        call(knowledge.graph)
        taken.append((time.perf_counter() - began) * 1_000)
    return taken


def counted(knowledge: Knowledge) -> list[str]:
    """A list that grows with every query that goes to the server."""
    connection: Any = knowledge.graph.connection  # type: ignore[attr-defined]
    queries: list[str] = []
    rows = type(connection).rows

    def count(query: str, *rest: Any, **more: Any) -> Any:
        queries.append(query)
        return rows(connection, query, *rest, **more)

    connection.rows = count
    return queries


def quantiles(taken: Sequence[float], width: int = 12) -> str:
    """Median and 99th percentile."""
    high = sorted(taken)[min(len(taken) - 1, int(len(taken) * 0.99))]
    return f"{statistics.median(taken):>{width}.2f}{high:>9.2f}"


def questions(here: Knowledge, there: Knowledge, count: int) -> None:
    """Two-hop questions through ToG-2 with a chooser that knows the way: round trips and answers over both."""
    asked = walks(here, count)
    found: list[list[tuple[Any, int]]] = []
    for knowledge in (here, there):
        golds = resolve_golds(asked, knowledge.graph)
        chooser = PerfectChooser({one.question: gold for one, gold in zip(asked, golds, strict=True)})
        graph = tg.build("tog2", knowledge=knowledge, model=chooser, settings={"ranker": "bm25", "backtracks": 0})
        results = [graph.invoke({"question": one.question})["answer"] for one in asked]
        found.append([(sorted(one["answers"]), one["usage"]["store_round_trips"]) for one in results])
    trips = [sum(trips for _, trips in one) for one in found]
    same = sum(mine == theirs for mine, theirs in zip(*found, strict=True))
    print(
        f"\n{len(asked)} two-hop questions: {trips[0]} round trips over SQLite, {trips[1]} over Neo4j; {same} answered alike"
    )


def walks(knowledge: Knowledge, count: int) -> list[Question]:
    """Questions whose gold path is a random walk of two hops from an entity with a name of its own."""
    rng = random.Random(11)
    _, sample = ends(knowledge, 2_000)
    made: list[Question] = []
    for one, entity in zip(sample, knowledge.graph.entities(sample), strict=True):
        if len(made) == count:
            break
        if entity is None or len(entity["label"]) < 4 or len(knowledge.graph.lookup([entity["label"]])[0]) != 1:
            continue
        (edges,) = knowledge.graph.relations([one])
        first = rng.choice([edge for edge in edges if edge["count"] < 20] or edges)
        (reached,) = knowledge.graph.neighbours(
            [{"entity": one, "relation": first["name"], "direction": first["direction"]}]
        )
        side = "object" if first["direction"] == "out" else "subject"
        (onward,) = knowledge.graph.relations([reached["triples"][0][side]])
        more = [edge for edge in onward if edge["count"] < 20 and edge["name"] != first["name"]]
        if not more:
            continue
        second = rng.choice(more)
        path = [(one, way(first)), ("*", way(second))]
        question = f'What is {second["label"]} of {first["label"]} of "{entity["label"]}"?'
        made.append(Question(id=str(len(made)), question=question, answers=("?",), gold_path=tuple(path), type="2hop"))
    return made


def way(edge: Any) -> str:
    """A relation as a gold path has it."""
    return edge["name"] if edge["direction"] == "out" else f"-{edge['name']}"


if __name__ == "__main__":
    sys.exit(main())
