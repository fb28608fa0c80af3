"""What FiSKE can reach, what it costs, and what its two ideas are worth: the ablations of the paper's Table 6.

    ./tg python benchmarks/fiske.py [--factbook QUESTIONS --kb FOLDER] [--limit N]

--factbook names a question file with gold paths over the knowledge base in --kb. The perfect chooser names a question's clues
as its gold path does, maps what lies on it and answers only from what the closing call shows; `perfect:0.1` does a tenth of it
wrong. "path" is the critical path in model calls, read from the run's own records: calls of one fan-out count once. It may
not exceed 2 + 2 · hops. "+ IO" merges the model's own answer; the perfect chooser has none, so that row shows the cost alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg
from thinkgraph.eval.ablations import ablation
from thinkgraph.eval.bench_setup import bench_model, load_questions
from thinkgraph.eval.metrics import Scores, score
from thinkgraph.eval.questions import Question, spread
from thinkgraph.tools.knowledge import Knowledge

FULL = "FiSKE"
ONE_WAY: dict[str, Any] = {"backtracks": 0}
"""The paper's search, without ways back."""
ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    **ablation("fiske-table6").rows,
    "FiSKE + IO": {"own_knowledge": True, "io": True},
}
COSTS: Mapping[str, Mapping[str, Any]] = {
    "as the paper answers": {"preset": "paper"},
    "names asked about too": {"exact_names": False},
    "one list for all": {"share_all": True},
}
MODELS = ("perfect", "perfect:0.1")
HOPS = {"1hop": 1, "2hop": 2, "3hop": 3}
LEAST_COMPLETE, MOST_CALLS = 0.95, 7.0
MAPPING = ("r_mapping", "e_mapping")


@dataclass(frozen=True)
class Outcome:
    """One question answered."""

    type: str
    scores: Scores
    calls: int
    path: int
    seen: int
    """Store round trips."""


def waves(values: Mapping[str, Any]) -> int:
    """Model calls one after the other: extraction, every fan-out of mappings once, the closing calls."""
    asked = {call["node"] for call in values["calls"].values()}
    fanned = {tuple(place.split("/")[:2]) for place in values["work"] if place.startswith(MAPPING)}
    return len(asked - set(MAPPING)) + len(fanned)


def run(questions: Sequence[Question], knowledge: Knowledge, model: str, settings: Mapping[str, Any]) -> list[Outcome]:
    """Ask all questions."""
    chooser = bench_model(model, questions, knowledge)
    found = []
    for question in questions:
        graph = tg.build(
            "fiske", knowledge=knowledge, model=chooser, settings=ONE_WAY | settings, checkpointer=InMemorySaver()
        )
        config: Any = {"configurable": {"thread_id": question.id}}
        answer = graph.invoke({"question": question.question}, config)["answer"]
        usage = answer["usage"]
        found.append(
            Outcome(
                type=question.type,
                scores=score(answer["answers"], question.answers),
                calls=usage["total"]["calls"],
                path=waves(graph.get_state(config).values),
                seen=usage["store_round_trips"],
            )
        )
    return found


HEAD = f"{'':26}{'n':>5}{'partial':>9}{'complete':>9}{'unknown':>9}{'calls':>7}{'most':>5}{'path':>6}{'most':>5}{'store':>7}"


def line(name: str, outcomes: Sequence[Outcome]) -> str:
    """One row of a table."""

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    calls, paths = [one.calls for one in outcomes], [one.path for one in outcomes]
    shares = [mean([one.scores[key] for one in outcomes]) for key in ("partial", "complete", "unknown")]  # type: ignore[literal-required]
    return (
        f"{name:26}{len(outcomes):5}{shares[0]:9.3f}{shares[1]:9.3f}{shares[2]:9.3f}{mean(calls):7.2f}{max(calls):5}"
        f"{mean(paths):6.2f}{max(paths):5}{mean([one.seen for one in outcomes]):7.2f}"
    )


def show(title: str, questions: Sequence[Question], knowledge: Knowledge) -> bool:
    """Print one data set's tables; whether the targets are met."""
    hops = [question for question in questions if question.type in {"2hop", "3hop"}]
    met = True
    for model in MODELS:
        print(f"\n{title}, {len(hops)} questions of 2 and 3 hops, {model}\n{HEAD}")
        for name, settings in (*ABLATIONS.items(), *COSTS.items()):
            outcomes = run(hops, knowledge, model, settings)
            print(line(name, outcomes), flush=True)
            if model == "perfect" and name == FULL:
                met = targets(outcomes)
    print(f"\n{title}, all types, perfect, default settings\n{HEAD}")
    outcomes = run(questions, knowledge, "perfect", {})
    for kind in dict.fromkeys(question.type for question in questions):
        print(line(kind, [one for one in outcomes if one.type == kind]), flush=True)
    print(line("all", outcomes), flush=True)
    return met


def targets(outcomes: Sequence[Outcome]) -> bool:
    """Complete match, calls on average, critical path by hops."""
    complete = sum(one.scores["complete"] for one in outcomes) / len(outcomes)
    calls = sum(one.calls for one in outcomes) / len(outcomes)
    long = [one for one in outcomes if one.path > 2 + 2 * HOPS[one.type]]
    met = complete >= LEAST_COMPLETE and calls <= MOST_CALLS and not long
    print(
        f"  targets {'met' if met else 'MISSED'}: complete {complete:.3f} (at least {LEAST_COMPLETE}), calls {calls:.2f} "
        f"(at most {MOST_CALLS:g}), {len(long)} critical paths over 2 + 2 · hops"
    )
    return met


def main() -> int:
    """Print the tables; exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factbook", metavar="QUESTIONS", help="a question file with gold paths")
    parser.add_argument("--kb", metavar="FOLDER", help="its knowledge base")
    parser.add_argument("--limit", type=int, help="only so many questions of each set")
    args = parser.parse_args()
    if bool(args.factbook) != bool(args.kb):
        parser.error("--factbook and --kb go together")
    with Knowledge.open("world") as world:
        met = show("world", load_questions("world", args.limit), world)
    if args.factbook:
        with Knowledge.open(args.kb) as factbook:
            met = show("factbook", spread(load_questions(args.factbook), args.limit), factbook) and met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
