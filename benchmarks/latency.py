"""How long one question takes against a model that takes 200 ms: calls that may run side by side do.

    ./tg python benchmarks/latency.py [--latency 0.2]

A local OpenAI-compatible server, behind which the perfect chooser answers, answers every call after the latency; the real client code
runs. "waves" counts groups of calls that overlapped, "wall" is the time in units of the latency; one call after the other,
both would be "calls".
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import thinkgraph as tg
from thinkgraph.eval.bench_setup import load_questions
from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.tools.knowledge import Knowledge

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from model_server import ModelServer, ServedCall

MODES: dict[str, dict[str, Any]] = {
    "combined, fused (default)": {},
    "per entity": {"combined": False},
    "per entity, split reform": {"combined": False, "fused": False},
    "ranker llm": {"ranker": "llm", "rank_texts": 200, "relations": 10, "min_relation_score": 0},
    "ranker llm, per entity": {"ranker": "llm", "rank_texts": 200, "combined": False},
}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds per call")
    parser.add_argument("--questions", type=int, default=4, help="how many three-hop questions")
    args = parser.parse_args()
    os.environ.pop("OPENAI_API_KEY", None)
    questions = [question for question in load_questions("world") if question.type == "3hop"][: args.questions]
    with Knowledge.open("world") as knowledge:
        golds = resolve_golds(questions, knowledge.graph, knowledge.text)
        chooser = PerfectChooser({q.question: gold for q, gold in zip(questions, golds, strict=True)})
        print(f"{'mode':<28} {'path':<6} {'calls':>6} {'waves':>6} {'at once':>8} {'wall':>6}")
        for name, settings in MODES.items():
            for path in ("sync", "async"):
                print(measure(name, path, settings, questions, knowledge, chooser, args.latency), flush=True)
    return 0


def measure(
    name: str,
    path: str,
    settings: dict[str, Any],
    questions: Any,
    knowledge: Knowledge,
    chooser: PerfectChooser,
    latency: float,
) -> str:
    """One row: medians over the questions."""
    rows = []
    for question in questions:
        with ModelServer(chat_model=chooser, latency=latency) as server:
            os.environ["OPENAI_BASE_URL"] = server.base_url
            graph = tg.build("tog2", knowledge=knowledge, model="openai:perfect", settings=settings)
            asked = {"question": question.question}
            graph.invoke(asked)  # loads the encoder, opens connections
            begin = len(server.calls)
            started = time.perf_counter()
            answer = graph.invoke(asked) if path == "sync" else asyncio.run(graph.ainvoke(asked))
            wall = time.perf_counter() - started
            served = server.calls[begin:]
            if answer["answer"]["usage"]["total"]["calls"] != len(served):
                sys.exit("the server was asked more often than the answer says")
            rows.append((len(served), waves(served), max(call.in_flight for call in served), wall / latency))
    calls, levels, most, walls = zip(*rows, strict=True)
    middle = statistics.median
    return f"{name:<28} {path:<6} {middle(calls):>6.1f} {middle(levels):>6.1f} {max(most):>8} {middle(walls):>6.2f}"


def waves(served: Sequence[ServedCall]) -> int:
    """Groups of calls that overlapped in time."""
    count, until = 0, 0.0
    for call in sorted(served, key=lambda call: call.received):
        if call.received >= until:
            count += 1
        until = max(until, call.answered or call.received)
    return count


if __name__ == "__main__":
    sys.exit(main())
