"""What FastToG can reach: the perfect chooser over `world`, and over factbook where its files are at hand.

    ./tg python benchmarks/fasttog.py [--factbook DIR] [--kb FOLDER] [--limit N] [--only reach|table] [--g2t CHECKPOINT]
        [--data metaqa:FILE --data-kb FOLDER]

--factbook names the folder with questions_generated.jsonl (and kg.tsv, attributes.tsv, passages.jsonl, aliases.json, from which its
knowledge base is built into --kb if that is not there yet).

`reach`: which questions fit W chains of depth D, whose gold statements survive sampling and coarse prune, and what is answered, by
caps, k, and modularity or random. A question FITS if its gold statements can be laid along at most W chains of at most D+1
communities with ONE gold thing in each (communities hold M, so more may be answered than fits). At each search of a run the gold
statements at the community it stands at are compared with those of the sampled graph and of the kept candidates: a question
SURVIVES if none was lost on the way (what a prompt has no room for is not looked at here). hits@1 takes the first answer given; `whole` are questions all of whose answers were given.

`table`: M × detectors × text mode, coarse prune by modularity and at random. Text modes: the perfect chooser reads t2t line by line;
in prose (llm: its own sentences; g2t: the checkpoint's) it finds a statement only where both ends and the relation's name stand
in a text, so that hits there say how much of the graph's own words the prose keeps, not what a model would make of it.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from thinkgraph.cli.main import main as thinkgraph
from thinkgraph.eval.bench_setup import data_name, load_questions
from thinkgraph.eval.gold import Gold, resolve_golds
from thinkgraph.eval.metrics import score
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.perfect.prompt_reading import fact_key, key
from thinkgraph.eval.questions import Question
from thinkgraph.graphs.build import build
from thinkgraph.models.ops import Blocking, Flow
from thinkgraph.models.roles import Models
from thinkgraph.nodes.fasttog.community_search import SearchResult, history_of, local_search, origins_of
from thinkgraph.nodes.fasttog.community_text import ROLE as DESCRIBE
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.requests import Fetch, InNode
from thinkgraph.state.answer import Answer
from thinkgraph.state.fasttog import FastTogSettings
from thinkgraph.tools.communities.detectors import DETECTORS
from thinkgraph.tools.communities.local_search import Cell
from thinkgraph.tools.knowledge import Knowledge

TYPES = ("1hop", "2hop", "3hop", "intersection", "comparison", "superlative", "count", "yesno", "ambiguous")
"""Questions whose gold path lies in the graph alone (FastToG reads no documents)."""
CHAINS = ("1hop", "2hop", "3hop", "intersection", "comparison")
"""Those that ask for the end of paths, not for something about a whole list (count, superlative, yes or no)."""
EVERYTHING: Mapping[str, Any] = {
    "coarse": "off",
    "node_cap": None,
    "hop_cap": None,
    "graph_cap": None,
    "slow_graph_cap": None,
}
VARIANTS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("default", {}),
    ("everything", EVERYTHING),
    ("k=8", {"candidates": 8}),
    ("k=32", {"candidates": 32}),
    ("k=64", {"candidates": 64}),
    ("k=128", {"candidates": 128}),
    ("k=64 random", {"candidates": 64, "coarse": "random"}),
    ("k=128 random", {"candidates": 128, "coarse": "random"}),
    ("graph_cap=300", {"graph_cap": 300}),
    ("decay=0.5", {"decay": 0.5}),
    ("hops=1", {"hops": 1}),
    ("code's n, caps, k", {"hops": 3, "decay": 0.5, "node_cap": 20, "graph_cap": 100, "candidates": 8}),
)


@dataclass
class Asked:
    """One question, answered."""

    question: Question
    gold: Gold
    answer: Answer
    apart: int
    """Calls that the method's bound does not count."""
    path: int
    """Calls one after the other, those side by side counted once: the critical path in model latencies."""
    fits: bool
    sampled: bool = True
    survived: bool = True

    @property
    def calls(self) -> int:
        """Calls that the bound counts."""
        return self.answer["usage"]["total"]["calls"] - self.apart

    @property
    def hit(self) -> bool:
        """hits@1."""
        return bool(score(self.answer["answers"], self.question.answers)["hits1"])

    @property
    def whole(self) -> bool:
        """Exactly the gold answers."""
        return bool(score(self.answer["answers"], self.question.answers)["em"])


def fits(gold: Gold, width: int, depth: int) -> bool:
    """Whether the gold statements can be laid along `width` chains of `depth` + 1 communities of one gold thing each."""
    starts = {key(gold.entities[start]) for start in gold.starts} | ({key(gold.other)} if gold.other else set())
    near: dict[str, set[str]] = {}
    for subject, _, end in gold.facts:
        one, other = key(subject), key(end)
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    left = set(near) - starts
    groups: list[set[str]] = []
    while left:
        group, waiting = set[str](), [left.pop()]
        while waiting:
            node = waiting.pop()
            group.add(node)
            waiting += near[node] & left
            left -= near[node]
        groups.append(group)
    # What a statement joins must lie in one chain: every group of joined things is one chain, from next to a start onward.
    return len(groups) <= width and all(len(group) <= depth + 1 and _one_path(group, near, starts) for group in groups)


def _one_path(group: set[str], near: Mapping[str, set[str]], starts: set[str]) -> bool:
    def walk(node: str, rest: frozenset[str]) -> bool:
        return not rest or any(walk(other, rest - {other}) for other in near[node] & rest)

    return any(walk(node, frozenset(group - {node})) for node in group if near[node] & starts)


def carry_out(steps: Flow[Any], deps: Deps) -> Any:
    """Run a node part that asks stores alone."""
    reply: Any = None
    while True:
        try:
            request = steps.send(reply)
        except StopIteration as stop:
            return stop.value
        match request:
            case InNode():  # tells how far it is
                reply = None
            case Blocking():
                reply = request.function()
            case Fetch():
                reply = request.function(deps)
            case _:
                raise TypeError(f"not a store request: {request}")


@dataclass
class Bench:
    """Runs questions over one knowledge base."""

    knowledge: Knowledge
    questions: Sequence[Question]
    golds: Sequence[Gold]
    deps: Deps = field(init=False)

    def __post_init__(self) -> None:
        model = self.model()
        self.deps = Deps(self.knowledge, Models(model, offline=self.model), PromptLibrary(), journal=None)

    def model(self) -> PerfectChooser:
        """The chooser that knows every gold path."""
        return PerfectChooser({q.question: gold for q, gold in zip(self.questions, self.golds, strict=True)})

    def run(self, given: Mapping[str, Any], *, survival: bool) -> list[Asked]:
        """Ask every question."""
        # The paper's search, without ways back.
        given = {"backtracks": 0, **given}
        settings = FastTogSettings.model_validate(given)
        graph = build(
            "fasttog", knowledge=self.knowledge, model=self.model(), settings=given, checkpointer=InMemorySaver()
        )
        done: list[Asked] = []
        for number, (question, gold) in enumerate(zip(self.questions, self.golds, strict=True)):
            config: Any = {"configurable": {"thread_id": str(number)}}
            path, answer = 0, None
            for step, updates in itertools.groupby(
                graph.stream({"question": question.question}, config, stream_mode="updates"), key=next_node
            ):
                made = [update[step] or {} for update in updates]
                path += max((_attempts(update) for update in made), default=0)
                answer = made[-1].get("answer") or answer
            if answer is None:
                raise AssertionError("every run ends with an answer")
            apart = answer["usage"]["roles"].get(DESCRIBE, {"calls": 0})["calls"]
            asked = Asked(question, gold, answer, apart, path, fits(gold, settings.width, settings.depth))
            if survival:
                states = [state.values for state in graph.get_state_history(config) if state.next]
                self._survival(asked, states, settings)
            done.append(asked)
        return done

    def _survival(self, asked: Asked, states: Iterable[Any], settings: FastTogSettings) -> None:
        """Do every search of the run again and see whether it lost a gold statement at the place it stood at."""
        facts = {fact_key(fact) for fact in asked.gold.facts}
        seen: set[int] = set()
        for state in states:
            if not state.get("subjects") or (state["round"] in seen and state["chains"]):
                continue
            if state["chains"]:
                seen.add(state["round"])
            origins = origins_of(state)
            shown = {
                id_ for chain in state["chains"] for c in chain["communities"] for id_ in (*c["triples"], *c["joining"])
            }
            found: list[SearchResult] = carry_out(local_search(origins, history_of(state), settings), self.deps)
            for origin, one in zip(origins, found, strict=True):
                needed = {
                    fact
                    for triple_id, fact, outside in self._around(origin.centre)
                    if fact in facts and triple_id not in shown and outside
                }
                sampled, kept = _facts([*one.cells, *one.dropped]), _facts(one.cells)
                asked.sampled = asked.sampled and needed <= sampled
                asked.survived = asked.survived and needed <= kept

    def _around(self, centre: Sequence[str]) -> Iterator[tuple[str, tuple[str, str, str], bool]]:
        """Every triple at some nodes, with whether it leads out of them."""
        for found in self.knowledge.graph.neighbourhood(list(centre), limit=10**9):
            for triple in found["triples"]:
                fact = fact_key((triple["subject_label"], triple["relation_label"], triple["object_label"]))
                yield triple["id"], fact, not {triple["subject"], triple["object"]} <= set(centre)


def next_node(update: Mapping[str, Any]) -> str:
    """The node that an update comes from."""
    return next(iter(update))


def _attempts(update: Mapping[str, Any]) -> int:
    calls = update.get("calls") or {}
    calls = getattr(calls, "value", calls)
    return sum(call["attempts"] for call in calls.values())


def _facts(cells: Sequence[Cell]) -> set[tuple[str, str, str]]:
    return {
        fact_key((triple["subject_label"], triple["relation_label"], triple["object_label"]))
        for cell in cells
        for triple in (*cell.triples, *cell.joining)
    }


def share(part: Sequence[object], whole: Sequence[object]) -> str:
    """A share in per cent, and what it is of."""
    return f"{100 * len(part) / len(whole):5.1f} % of {len(whole):3d}" if whole else "       -    "


def mean(values: Iterable[float]) -> float:
    """The mean, 0 of nothing."""
    every = list(values)
    return sum(every) / len(every) if every else 0.0


def row(name: str, asked: Sequence[Asked], settings: FastTogSettings) -> str:
    """One line of `reach`."""
    fitting = [one for one in asked if one.fits]
    alive = [one for one in fitting if one.survived]
    bound, path = 3 + settings.depth * (settings.width + 1), 3 + 2 * settings.depth
    over = sum(one.calls > bound or one.path - one.apart > path for one in asked)
    return (
        f"{name:22s} fit {share(fitting, asked)} | sampled {share([a for a in fitting if a.sampled], fitting)} | survive "
        f"{share(alive, fitting)} | hits@1 of these {share([a for a in alive if a.hit], alive)} | of all "
        f"{share([a for a in asked if a.hit], asked)}, whole {share([a for a in asked if a.whole], asked)} | calls "
        f"{mean(a.calls for a in asked):.2f}, most {max(a.calls for a in asked)} (bound {bound}), path most "
        f"{max(a.path - a.apart for a in asked)} (bound {path}), over {over} | depth {mean(a.answer['rounds'] for a in asked):.2f} | "
        f"tokens in {mean(a.answer['usage']['total']['input_tokens'] for a in asked):.0f}"
    )


def reach(title: str, bench: Bench, variants: Sequence[tuple[str, Mapping[str, Any]]]) -> int:
    """Print what survives and what is answered, by settings; the first two by type as well. Gives how many targets are missed."""
    missed = 0
    print(f"\n== {title}: {len(bench.questions)} questions that lie in the graph", flush=True)
    for name, given in variants:
        began = time.monotonic()
        asked = bench.run(given, survival=True)
        settings = FastTogSettings.model_validate(given)
        chains = [one for one in asked if one.question.type in CHAINS]
        print(row(f"{name}: ends of paths", chains, settings), flush=True)
        if name in {"default", "everything"}:
            print(row(f"{name}: all", asked, settings))
            for kind in sorted({one.question.type for one in asked}):
                print("   " + row(kind, [one for one in asked if one.question.type == kind], settings))
            hops = [one for one in asked if one.question.type in {"2hop", "3hop"}]
            print(f"   2hop and 3hop answered: {share([one for one in hops if one.hit], hops)}")
            missed += _missed(name, asked, hops, settings)
        print(f"   ({time.monotonic() - began:.0f} s)", flush=True)
    return missed


def _missed(name: str, asked: Sequence[Asked], hops: Sequence[Asked], settings: FastTogSettings) -> int:
    """Print which targets hold."""
    alive = [one for one in asked if one.fits and one.survived]
    bound, path = 3 + settings.depth * (settings.width + 1), 3 + 2 * settings.depth
    targets = {
        "95 % of what fits and survives": sum(one.hit for one in alive) >= 0.95 * len(alive),
        "8 calls on average": mean(one.calls for one in asked) <= 8,
        "calls and critical path within their bounds": all(
            one.calls <= bound and one.path - one.apart <= path for one in asked
        ),
    }
    if name == "default":
        targets["90 % of 2 and 3 hops"] = sum(one.hit for one in hops) >= 0.9 * len(hops)
    else:
        targets["95 % of all"] = sum(one.hit for one in asked) >= 0.95 * len(asked)
    print("   targets: " + "; ".join(f"{what}: {'held' if held else 'MISSED'}" for what, held in targets.items()))
    return sum(not held for held in targets.values())


def table(title: str, bench: Bench, sizes: Sequence[int], detectors: Sequence[str], texts: Sequence[str]) -> None:
    """Print M × detectors × text modes × coarse prune. Depth is the rounds a run took until it had some right answer first
    (hit) or all of them (all); a question without counts as D.
    """
    print(f"\n== {title}: {len(bench.questions)} questions; M, detector, text, coarse prune", flush=True)
    print(
        "  M detector        text  coarse      hits@1  whole  depth: hit  all  calls  apart  tokens in  prose fell back"
    )
    for size, detector, text, coarse in itertools.product(sizes, detectors, texts, ("modularity", "random")):
        given = {"community_size": size, "detector": detector, "community_text": text, "coarse": coarse}
        if coarse == "random" and (text != "t2t" or detector != "louvain"):
            continue
        if size == 1 and detector != "louvain":
            continue  # single nodes, whatever the detector
        asked = bench.run(given, survival=False)
        depth = FastTogSettings.model_validate(given).depth
        told = [one.answer["trace"]["data"].get("texts") or {} for one in asked]
        wrote, fell = (sum(one.get(name, 0) for one in told) for name in ("asked", "fell_back"))
        back = f"{100 * fell / wrote:5.1f} % of {wrote}" if wrote else "-"
        print(
            f"{size:3d} {detector:15s} {text[:5]:5s} {coarse:10s} {mean(a.hit for a in asked):7.3f} "
            f"{mean(a.whole for a in asked):6.3f} {mean(a.answer['rounds'] if a.hit else depth for a in asked):11.2f} "
            f"{mean(a.answer['rounds'] if a.whole else depth for a in asked):4.2f} "
            f"{mean(a.calls for a in asked):6.2f} {mean(a.apart for a in asked):6.2f} "
            f"{mean(a.answer['usage']['total']['input_tokens'] for a in asked):10.0f}  {back}",
            flush=True,
        )


def make(knowledge: Knowledge, data: str, limit: int | None, types: Sequence[str]) -> Bench:
    """A bench over the questions of a set that lie in the graph."""
    questions = [question for question in load_questions(data) if question.type in types]
    golds = resolve_golds(questions, knowledge.graph, knowledge.text)
    pairs = [
        (question, gold)
        for question, gold in zip(questions, golds, strict=True)
        if gold.is_answerable and not any(hop.is_text for hop in gold.hops)
    ]
    if limit and limit < len(pairs):
        pairs = [pairs[at * len(pairs) // limit] for at in range(limit)]
    return Bench(knowledge, [question for question, _ in pairs], [gold for _, gold in pairs])


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factbook", type=Path, help="folder of the factbook files")
    parser.add_argument("--kb", type=Path, default=Path("factbook-kb"), help="where its knowledge base is kept")
    parser.add_argument(
        "--data", action="append", default=[], help="another set, as `thinkgraph bench` takes it; repeatable"
    )
    parser.add_argument("--data-kb", type=Path, help="the knowledge base of --data")
    parser.add_argument("--limit", type=int, help="only so many questions of each set")
    parser.add_argument("--only", choices=["reach", "table"], help="one of the two parts")
    parser.add_argument("--variants", type=int, default=len(VARIANTS), help="only so many settings of `reach`")
    parser.add_argument("--types", default=",".join(TYPES), help="types of questions, by commas")
    parser.add_argument("--sizes", default="1,2,4,8", help="M, by commas")
    parser.add_argument("--detectors", default=",".join(DETECTORS), help="by commas")
    parser.add_argument("--texts", default="t2t,llm", help="text modes, by commas")
    parser.add_argument("--g2t", help="a graph-to-text checkpoint: adds the text mode g2t")
    args = parser.parse_args()
    texts = [*args.texts.split(","), *([f"g2t:{args.g2t}"] if args.g2t else [])]
    types = args.types.split(",")
    missed = 0
    with Knowledge.open("world") as world:
        benches = [("world", make(world, "world", args.limit, types))]
        factbook = _factbook(args.factbook, args.kb) if args.factbook else None
        if factbook:
            data = str(args.factbook / "questions_generated.jsonl")
            benches.append(("factbook", make(factbook, data, args.limit, types)))
        if args.data:
            if not args.data_kb:
                parser.error("--data needs --data-kb")
            other = Knowledge.open(args.data_kb)
            benches += [(data_name(data), make(other, data, args.limit, types)) for data in args.data]
        for title, bench in benches:
            if args.only != "table":
                missed += reach(title, bench, VARIANTS[: args.variants])
        for title, bench in benches:
            if args.only != "reach":
                table(title, bench, [int(size) for size in args.sizes.split(",")], args.detectors.split(","), texts)
    return 1 if missed else 0


def _factbook(folder: Path, kb: Path) -> Knowledge | None:
    if not kb.exists():
        files = [f"--triples={folder / name}" for name in ("kg.tsv", "attributes.tsv")]
        files += [f"--passages={folder / 'passages.jsonl'}", f"--aliases={folder / 'aliases.json'}"]
        if thinkgraph(["kb", "build", str(kb), *files]):
            return None
    return Knowledge.open(kb)


if __name__ == "__main__":
    sys.exit(main())
