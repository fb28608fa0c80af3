"""Millions of triples: how fast they load, how much room they take, and what it costs to read and walk them.

    ./tg python benchmarks/scale.py --triples FILE [--copies N] [--folder DIR] [--no-plain] [--keep]
    ./tg python benchmarks/scale.py --triples FILE --passages FILE --ask QUESTION --ask QUESTION

FILE holds subject, relation, object, tab-separated (plain or .gz; further columns are left out). It is grown to N copies
first: entities with 2,000 triples or more are shared by all copies, as hubs are, every other one is another entity in each,
and every fiftieth triple leads on to the next copy. Then, each in a process of its own:

    plain   a small Python loader for comparison: lines, a dictionary of numbers, executemany, two indexes
    load    `kb build` without vectors: numbers, duplicates, literals, both orders, counts, full text
    read    relations and neighbours of single entities: drawn from all alike, drawn as the ends of triples (which are hubs
            more often), and of the largest hubs
    walk    a thousand walks of three hops and a hundred runs of ToG-2 without an encoder; the memory they take

With --passages nothing of that is done: `kb build` makes a knowledge base of both files, and ToG-2 with the offline model is asked each
question twice, every time in a process of its own that loads the encoder: what is ready when, and what the first question pays.

Everything is written to a folder under the system's temporary one, or DIR, and removed at the end unless --keep is given.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thinkgraph.tools.protocols import GraphStore

HUB = 2_000
LEAD_ON = 50
SEED = 7


def lines_of(path: Path) -> Iterator[list[str]]:
    """Subject, relation and object of each line."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as stream:
        for line in stream:
            yield line.rstrip("\n").split("\t")[:3]


def grow(source: Path, copies: int, target: Path) -> None:
    """Write `copies` of the graph, joined at their hubs and by every fiftieth triple."""
    numbers: dict[str, int] = {}
    rows = [
        (numbers.setdefault(s, len(numbers)), r, numbers.setdefault(o, len(numbers))) for s, r, o in lines_of(source)
    ]
    degree = [0] * len(numbers)
    for s, _, o in rows:
        degree[s] += 1
        degree[o] += 1
    names = list(numbers)

    def copy(number: int) -> list[str]:
        return names if not number else [n if d >= HUB else f"{n}~{number}" for n, d in zip(names, degree, strict=True)]

    here = copy(0)
    with target.open("w", encoding="utf-8") as out:
        for number in range(copies):
            there = copy((number + 1) % copies)
            out.writelines(
                f"{here[s]}\t{r}\t{(there if place % LEAD_ON == 0 else here)[o]}\n"
                for place, (s, r, o) in enumerate(rows, number)
            )
            here = there


def plain(source: Path, folder: Path) -> dict[str, Any]:
    """The loader that anybody would write first."""
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    db = sqlite3.connect(folder / "plain.sqlite", isolation_level=None)
    db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-32000;")
    db.execute("CREATE TABLE triple (s INTEGER, r INTEGER, o INTEGER)")
    db.execute("CREATE TABLE entity (id INTEGER PRIMARY KEY, key TEXT)")
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO triple VALUES (?, ?, ?)",
        (
            (
                entities.setdefault(s, len(entities)),
                relations.setdefault(r, len(relations)),
                entities.setdefault(o, len(entities)),
            )
            for s, r, o in lines_of(source)
        ),
    )
    db.executemany("INSERT INTO entity VALUES (?, ?)", ((number, key) for key, number in entities.items()))
    db.execute("CREATE INDEX spo ON triple (s, r, o)")
    db.execute("CREATE INDEX ops ON triple (o, r, s)")
    db.execute("COMMIT")
    (count,) = db.execute("SELECT count(*) FROM triple").fetchone()
    db.close()
    size = (folder / "plain.sqlite").stat().st_size
    (folder / "plain.sqlite").unlink()
    return {"triples": count, "bytes": size}


def load(source: Path, folder: Path) -> dict[str, Any]:
    """What `thinkgraph kb build --no-index` does."""
    from thinkgraph.ingest.build import build_kb

    stages: list[tuple[str, float]] = []

    def progress(stage: str, _done: int, _total: int | None) -> None:
        if not stages or stages[-1][0] != stage:
            stages.append((stage, time.monotonic()))

    report = build_kb(folder / "kb", triples=[source], index=False, progress=progress)
    stages.append(("", time.monotonic()))
    took = {stage: 0.0 for stage, _ in stages[:-1]}
    for (stage, begun), (_, ended) in pairwise(stages):
        took[stage] += ended - begun
    size = sum(path.stat().st_size for path in (folder / "kb").iterdir())
    return {"counts": report.manifest["graph"], "bytes": size, "stages": took}


def percentiles(seconds: Sequence[tuple[float, float]]) -> list[float]:
    """Milliseconds: half, 99 of 100 and all are done within (wall), and 99 of 100 (processor time)."""
    walls, used = (sorted(times) for times in zip(*seconds, strict=True))
    late = min(len(walls) - 1, len(walls) * 99 // 100)
    return [1e3 * found for found in (walls[len(walls) // 2], walls[late], walls[-1], used[late])]


def entities_of(source: Path, count: int) -> list[str]:
    """Subjects and objects of lines drawn at random from a plain file."""
    drawn = random.Random(SEED)
    size = source.stat().st_size
    found = []
    with source.open("rb") as stream:
        while len(found) < count:
            stream.seek(drawn.randrange(size))
            stream.readline()
            if cells := stream.readline().decode().rstrip("\n").split("\t")[:3]:
                found.append(cells[drawn.choice((0, -1))])
    return [entity for entity in found if entity]


def any_entities(graph: Path, count: int) -> list[str]:
    """Ids of entities, each as likely as any other."""
    drawn = random.Random(SEED)
    db = sqlite3.connect(graph)
    (highest,) = db.execute("SELECT max(id) FROM node").fetchone()
    sql = "SELECT key FROM node WHERE id = ? AND literal = 0"
    found: list[str] = []
    while len(found) < count:
        found += [key for (key,) in db.execute(sql, (drawn.randint(1, highest),))]
    db.close()
    return found


def read(source: Path, folder: Path) -> dict[str, Any]:
    """Single calls, each timed."""
    from thinkgraph.state.knowledge import Step
    from thinkgraph.tools.sqlite.graph import SqliteGraphStore

    drawn = random.Random(SEED)
    found: dict[str, Any] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        began, used = time.perf_counter(), time.thread_time()
        result = call()
        found.setdefault(name, []).append((time.perf_counter() - began, time.thread_time() - used))
        return result

    with SqliteGraphStore(folder / "kb" / "graph.sqlite") as graph:
        hubs = graph.most_linked(5)
        any_ = any_entities(folder / "kb" / "graph.sqlite", 5_000)
        for kind, entities in (("entity", any_), ("end of a triple", entities_of(source, 5_000)), ("hub", hubs * 20)):
            for entity in entities:
                (edges,) = timed(f"{kind}: relations", lambda e=entity: graph.relations([e]))
                edge = max(edges, key=lambda e: e["count"]) if kind == "hub" else drawn.choice(edges)
                step = Step(entity=entity, relation=edge["name"], direction=edge["direction"])
                timed(f"{kind}: neighbours", lambda s=step: graph.neighbours([s]))
                timed(f"{kind}: neighbourhood", lambda e=entity: graph.neighbourhood([e]))
        names = [entity["label"] for entity in graph.entities(entities_of(source, 500)) if entity]
        for name in names:
            timed("lookup of a name", lambda n=name: graph.lookup([n]))
        for name in names[:100]:
            timed("full text", lambda n=name: graph.search([n]))
            timed("spelling", lambda n=name: graph.search([n], fuzzy=True))
        sizes = [one["total"] for one in graph.neighbourhood(hubs, limit=0)]
    return {"hubs": dict(zip(hubs, sizes, strict=True)), "ms": {name: percentiles(ts) for name, ts in found.items()}}


def memory() -> dict[str, int]:
    """Resident memory of this process in bytes: all, what of it is mapped from files, and the most there ever was."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("ascii").splitlines())
    return {name: 1024 * int(fields[name].split()[0]) for name in ("VmRSS", "RssFile", "VmHWM")}


def walk(source: Path, folder: Path) -> dict[str, Any]:
    """Questions as the methods ask them: a thousand by the store's own calls, a hundred by ToG-2 with a rule-based model that
    takes the first options and is never content, so that every run goes to its full depth. No encoder is loaded.
    """
    import thinkgraph as tg
    from thinkgraph.models.offline.rule_based import Call, RuleBasedChatModel, judgement
    from thinkgraph.testing.embedder import HashEmbedder

    class Insatiable(RuleBasedChatModel):
        def reply_to(self, call: Call) -> dict[str, Any] | str:
            numbers = [item.number for item in call.prompt.lines("options")][:3]
            kinds = {"pick": {"numbers": numbers}, "score": {"scores": [[number, 10] for number in numbers]}}
            return kinds.get(call.prompt.kind) or (judgement(call) if call.prompt.kind == "judge" else "more")

    with tg.Knowledge.open(folder / "kb", embedder=HashEmbedder()) as knowledge:
        graph = knowledge.graph
        names = [entity["label"] for entity in graph.entities(entities_of(source, 3_000)) if entity]
        opened = memory()
        began = time.perf_counter()
        triples = sum(hops(graph, names[at : at + 3]) for at in range(0, len(names), 3))
        walked = time.perf_counter() - began
        machine = tg.build(
            "tog2", knowledge=knowledge, model=Insatiable(), settings={"ranker": "bm25", "backtracks": 0}
        )
        calls = trips = 0
        for at in range(0, 200, 2):
            question = f'What links "{names[at]}" and "{names[at + 1]}"?'
            usage = machine.invoke({"question": question})["answer"]["usage"]
            calls, trips = calls + usage["total"]["calls"], trips + usage["store_round_trips"]
        reasoned = time.perf_counter() - began - walked
    loaded = [name for name in ("torch", "transformers", "chromadb") if name in sys.modules]
    return {
        "walks": len(names) // 3,
        "triples": triples,
        "walked": walked,
        "reasoned": reasoned,
        "calls": calls,
        "round_trips": trips,
        "loaded": loaded,
        "opened": opened["VmRSS"],
        **memory(),
    }


def hops(graph: GraphStore, names: Sequence[str]) -> int:
    """Three hops from the entities with these names, along ten edges each; gives the triples read."""
    from thinkgraph.state.knowledge import Step

    drawn = random.Random("\0".join(names))
    frontier = list({match["entity"]["id"] for matches in graph.lookup(names) for match in matches[:2]})
    triples = 0
    for _ in range(3):
        edges = [edge for edges in graph.relations(frontier) for edge in edges]
        chosen = drawn.sample(edges, min(len(edges), 10))
        steps = [Step(entity=e["entity"], relation=e["name"], direction=e["direction"]) for e in chosen]
        reached = [triple for one in graph.neighbours(steps, limit=50) for triple in one["triples"]]
        triples += len(reached)
        ends = {t["object"] for t in reached if not t["literal"]} | {t["subject"] for t in reached}
        frontier = drawn.sample(sorted(ends), min(len(ends), 5))
        graph.entities(frontier)
    graph.edges_among(frontier)
    return triples


def ask(question: str, folder: Path) -> dict[str, Any]:
    """One question, from opening the knowledge base to the answer; the encoder is loaded before the clock starts."""
    import thinkgraph as tg

    with tg.Knowledge.open(folder / "kb") as knowledge:
        knowledge.embedder.embed(["warm"])
        began = time.perf_counter()
        usage = tg.build("tog2", knowledge=knowledge).invoke({"question": question})["answer"]["usage"]
        took = time.perf_counter() - began
    return {"took": took, "encoded": usage["encoder_texts"]}


def texts(triples: Path, passages: Path, questions: Sequence[str], folder: Path) -> None:
    """How soon passages can be asked about, and what the first question over them pays."""
    from thinkgraph.ingest.build import build_kb

    began, used = time.perf_counter(), time.process_time()
    report = build_kb(folder / "kb", triples=[triples], passages=[passages])
    took, used = time.perf_counter() - began, time.process_time() - used
    count = report.manifest["text"]["passages"] if report.manifest["text"] else 0
    print(f"{count:,} passages ready in {took:.1f} s ({used:.1f} CPU s)", flush=True)
    for question in questions:
        for name in ("first", "again"):
            found = step("ask", Path(question), folder)
            print(
                f"{name:<6}{found['took']:>7.2f} s{found['cpu']:>7.2f} CPU s in all{found['encoded']:>7,} texts encoded  "
                f"{question}",
                flush=True,
            )


STEPS: dict[str, Callable[[Path, Path], dict[str, Any]]] = {"plain": plain, "load": load, "read": read, "walk": walk}
"""By name; `ask` is one more, over a question in place of a file."""


def step(name: str, source: Path, folder: Path) -> dict[str, Any]:
    """One step in a process of its own, with its wall and processor seconds and the most memory it took."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, __file__, "--triples", str(source), "--folder", str(folder), "--only", name]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def only(name: str, source: Path, folder: Path) -> None:
    """Do one step here and print what it found as JSON."""
    began = time.perf_counter()
    found = ask(str(source), folder) if name == "ask" else STEPS[name](source, folder)
    wall = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    # Not the system's ru_maxrss, which a process takes over from the one that started it.
    print(json.dumps({**found, "wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak": memory()["VmHWM"]}))


def show_load(name: str, found: dict[str, Any], triples: int) -> None:
    """One line about a loader."""
    print(
        f"{name:<8}{triples / found['wall']:>12,.0f} triples/s{found['wall']:>9.1f} s{found['cpu']:>9.1f} CPU s"
        f"{found['peak'] / 1e6:>9,.0f} MB memory{found['bytes'] / 1e6:>9,.0f} MB disk",
        flush=True,
    )


def run(source: Path, folder: Path, *, copies: int, compare: bool) -> None:
    """All steps, with a table of each."""
    began = time.perf_counter()
    grown = folder / "grown.tsv"
    if not grown.exists():
        grow(source, copies, grown)
    triples = sum(block.count(b"\n") for block in iter_blocks(grown))
    print(f"{triples:,} triples, {grown.stat().st_size / 1e6:,.0f} MB (grown in {time.perf_counter() - began:.0f} s)")
    other = step("plain", grown, folder) if compare else None
    if other:
        show_load("plain", other, triples)
    loaded = step("load", grown, folder)
    show_load("load", loaded, triples)
    print("         " + ", ".join(f"{stage} {took:.1f} s" for stage, took in loaded["stages"].items()))
    print("         " + ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in loaded["counts"].items()))
    if other:
        print(f"         {other['wall'] / loaded['wall']:.2f} times as fast as the plain loader")
    found = step("read", grown, folder)
    print(f"\n{'milliseconds':<32}{'p50':>9}{'p99':>9}{'max':>9}{'p99 CPU':>9}")
    for name, row in found["ms"].items():
        print(f"{name:<32}" + "".join(f"{value:>9.3f}" for value in row))
    print("hubs: " + ", ".join(f"{name} {size:,}" for name, size in found["hubs"].items()))
    found = step("walk", grown, folder)
    print(
        f"\nwalk: {found['walks']:,} walks, {found['triples']:,} triples, {found['walked']:.1f} s; 100 runs of ToG-2, "
        f"{found['calls']:,} calls, {found['round_trips']:,} round trips, {found['reasoned']:.1f} s\n"
        f"resident {found['VmRSS'] / 1e6:.0f} MB ({found['RssFile'] / 1e6:.0f} MB of it mapped files), at most "
        f"{found['VmHWM'] / 1e6:.0f} MB, {found['opened'] / 1e6:.0f} MB before; heavy libraries loaded: "
        f"{', '.join(found['loaded']) or 'none'}"
    )


def iter_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file."""
    with path.open("rb") as stream:
        while block := stream.read(1 << 24):
            yield block


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=Path, required=True, help="the graph to grow")
    parser.add_argument("--copies", type=int, default=1, help="how many copies of it (default 1)")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    parser.add_argument("--no-plain", action="store_true", help="leave out the plain loader")
    parser.add_argument("--keep", action="store_true", help="leave the grown file and the knowledge base in the folder")
    parser.add_argument("--only", choices=(*STEPS, "ask"), help=argparse.SUPPRESS)
    parser.add_argument("--passages", type=Path, help="passages about the entities: only their figures")
    parser.add_argument("--ask", action="append", default=[], help="a question over the passages; may be repeated")
    args = parser.parse_args()
    if args.only:
        only(args.only, args.triples, args.folder)
        return 0
    folder = args.folder or Path(tempfile.mkdtemp(prefix="thinkgraph-scale-"))
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "kb", ignore_errors=True)
    try:
        if args.passages:
            texts(args.triples, args.passages, args.ask, folder)
        else:
            run(args.triples, folder, copies=args.copies, compare=not args.no_plain)
    finally:
        if not args.keep:
            shutil.rmtree(folder / "kb", ignore_errors=True)
            (folder / "grown.tsv").unlink(missing_ok=True)
            if args.folder is None:
                folder.rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
