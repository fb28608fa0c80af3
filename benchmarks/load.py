"""What many questions at a time cost in memory and threads.

    ./tg python benchmarks/load.py [--in-flight 64] [--minutes 10] [--most-mb 1500]

Keeps so many questions over `world` in flight, with ToG-2 and the dense ranker. A local server in a process of its own answers with
the offline model's words after half a second. The encoder's cache is off, so that every question has it work. Prints the process's
resident memory, its threads and the questions answered every 15 seconds; exit code 1 if the memory passed the bound, or a question failed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

from trials import broken

import thinkgraph as tg
from thinkgraph.errors import ThinkGraphError
from thinkgraph.eval.bench_setup import load_questions
from thinkgraph.tools.encoders.embeddings import BundledEmbedder

TESTS = Path(__file__).parents[1] / "tests"
EVERY = 15.0
_SERVER = """
from model_server import ModelServer
from thinkgraph.models.offline import OfflineChatModel
with ModelServer(chat_model=OfflineChatModel(), latency=0.5) as server:
    print(server.base_url, flush=True)
    input()
"""


def memory() -> tuple[float, int]:
    """Resident megabytes and threads of this process."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    return int(found["VmRSS"].split()[0]) / 1024, int(found["Threads"])


async def load(in_flight: int, seconds: float) -> tuple[float, int, int]:
    """Ask for so long.

    Returns:
        the most memory that was seen, in megabytes; how many questions were answered, and how many failed.
    """
    knowledge = tg.Knowledge.open("world", embedder=BundledEmbedder(cache_size=0))
    graph = tg.build("tog2", knowledge=knowledge, model="openai:test")
    numbered = enumerate(cycle(question.question for question in load_questions("world")))
    began = time.monotonic()
    answered = failed = 0
    most = 0.0

    async def work() -> None:
        nonlocal answered, failed
        while time.monotonic() - began < seconds:
            number, question = next(numbered)
            try:
                await graph.ainvoke({"question": f"{question} ({number})"})
                answered += 1
            except ThinkGraphError as error:
                failed += 1
                print(error)

    async def watch() -> None:
        nonlocal most
        while True:
            used, threads = memory()
            most = max(most, used)
            spent = time.monotonic() - began
            print(
                f"{spent:>6.0f} s {used:>8.0f} MB {threads:>5} threads {answered:>7} answered, {failed} failed",
                flush=True,
            )
            await asyncio.sleep(EVERY)

    print(f"{in_flight} in flight")
    watcher = asyncio.create_task(watch())
    await asyncio.gather(*(work() for _ in range(in_flight)))
    watcher.cancel()
    return max(most, memory()[0]), answered, failed


def main() -> int:
    """Start the server and ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    broken.apply()
    parser.add_argument("--in-flight", type=int, default=64, help="questions at a time (default 64)")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default 10)")
    parser.add_argument("--most-mb", type=float, default=1500.0, help="resident memory allowed (default 1500)")
    args = parser.parse_args()
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    words = [sys.executable, "-c", _SERVER]
    env = {**os.environ, "PYTHONPATH": paths}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as server:
        try:
            url = (server.stdout.readline() if server.stdout else "").strip()
            os.environ.update(OPENAI_BASE_URL=url, OPENAI_API_KEY="none")
            most, answered, failed = asyncio.run(load(args.in_flight, args.minutes * 60))
        finally:
            server.terminate()
    print(f"{answered} answered, {failed} failed, at most {most:.0f} MB, {args.most_mb:.0f} allowed")
    return 0 if most <= args.most_mb and answered and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
