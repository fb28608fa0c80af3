"""Calls a second through our client layer beside the bare OpenAI client, at 16 and 64 in flight.

    ./tg python benchmarks/throughput.py [--in-flight 16,64] [--seconds 1.5] [--rounds 9]
    ./tg python benchmarks/throughput.py --workers 1,2,4          # questions a second over processes, as --workers of bench

A local server in a process of its own answers every call after 200 ms. Rounds of the bare asynchronous client, of ours
(`ChatClient`) and of a whole call as nodes make it (prompt, budget, parsing, usage) take turns with the same messages, so that
whatever else the machine does hits all of them. Others only ever make a round slower: calls a second and the ratio are those of
the best rounds, and the ratio of every round stands beside them. "cpu ms" is processor time of
this process per call in the best round: while calls wait for the server it costs nothing, and where it is all that limits them
(thousands in flight, a busy machine) the rates are as its inverse. The goal is 0.9 of the bare
client; exit code 1 if a whole call stays below.

With --workers: ToG-2 over the questions of `world`, by worker processes and with a chooser that replies at once, so that nothing
but our own time limits them; rounds of the numbers of processes take turns, the best count. More processes than cores gain nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from openai import AsyncOpenAI

from thinkgraph.eval.batch import Ask
from thinkgraph.eval.bench_setup import load_questions
from thinkgraph.eval.workers import Work, workers
from thinkgraph.models.budget import Ledger, remaining
from thinkgraph.models.calls import CallScope, ModelCall, call_model
from thinkgraph.models.client import ChatClient
from thinkgraph.models.offline import OfflineChatModel
from thinkgraph.models.roles import Models
from thinkgraph.models.wire.forms import CallOptions
from thinkgraph.prompts.kinds import TEXT
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.runtime.driver import Driver
from thinkgraph.state.settings import RunSettings

MODEL_SERVER = Path(__file__).parents[1] / "tests" / "model_server.py"
GOAL = 0.9
LATENCY = 0.2
ROLE = "tog2.query_reform"
"""A role that replies plain text: whatever the server says is a reply."""
INPUTS = {"question": "Which mountain is the highest of the neighbour of Panama?", "clues": "Panama borders Colombia."}

_IN_FLIGHT = 32
"""Questions at a time, over all processes."""

Call = Callable[[], Awaitable[object]]


async def rate(call: Call, in_flight: int, seconds: float) -> tuple[float, float]:
    """Calls a second with `in_flight` of them at a time, and processor seconds of this process for each."""
    done = 0
    began, cpu = time.perf_counter(), time.process_time()

    async def work() -> None:
        nonlocal done
        while time.perf_counter() - began < seconds:
            await call()
            done += 1

    await asyncio.gather(*(work() for _ in range(in_flight)))
    return done / (time.perf_counter() - began), (time.process_time() - cpu) / done


def ways(url: str) -> tuple[dict[str, Call], ChatClient]:
    """The three ways to make the same call."""
    prompts, settings = PromptLibrary(), RunSettings()
    models = Models("openai:test", offline=OfflineChatModel)
    prompt = prompts.get(ROLE)
    client = models.of(prompt)
    request = ModelCall(kind=TEXT, role=ROLE, inputs=INPUTS, fallback="")
    messages = prompt.render(INPUTS, request.shape, shots=settings.shots)
    options = CallOptions(temperature=0.0, schema=None, max_output_tokens=None, timeout=60)
    bare = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    sent = [{"role": role, "content": text} for role, text in messages]

    async def plain() -> object:
        return await bare.chat.completions.create(model="test", messages=sent, temperature=0.0, timeout=60)  # type: ignore[arg-type]

    async def ours() -> object:
        return await client.ainvoke(messages, options, {})

    async def whole() -> object:
        scope = CallScope(
            models=models,
            prompts=prompts,
            journal=None,
            thread="",
            run=1,
            node="n",
            place="n/0",
            settings=settings,
            ledger=Ledger(remaining(settings, {}, {}), settings),
            emit=lambda _event: None,
        )
        return await Driver({}).adrive(call_model(request, scope))

    return {"bare client": plain, "our client": ours, "a whole call": whole}, client


async def measure(url: str, flights: Sequence[int], seconds: float, rounds: int) -> bool:
    """Print the table; whether the goal is met."""
    calls, client = ways(url)
    met = True
    print(f"{'in flight':>9}  {'':14}{'calls/s':>9}{'ratio':>7}{'cpu ms':>8}   rounds")
    for in_flight in flights:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
        for call in calls.values():
            await rate(call, in_flight, 0.5)  # opens the connections
        for turn in range(rounds):
            names = list(calls)
            # Whoever comes first in a round gains or loses by it: they take turns.
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                found[name].append(await rate(calls[name], in_flight, seconds))
        for name, rates in found.items():
            cpu = min(spent for _, spent in rates)
            ratios = [one / other for (one, _), (other, _) in zip(rates, found["bare client"], strict=True)]
            ratio = max(speed for speed, _ in rates) / max(speed for speed, _ in found["bare client"])
            met = met and (name != "a whole call" or ratio >= GOAL)
            each = " ".join(f"{value:.2f}" for value in ratios)
            print(
                f"{in_flight:>9}  {name:14}{max(speed for speed, _ in rates):>9.1f}{ratio:>7.2f}{cpu * 1000:>8.2f}   {each}",
                flush=True,
            )
    await client.aclose()
    return met


async def share(counts: Sequence[int], rounds: int) -> None:
    """Print questions a second for each number of processes."""
    questions = load_questions("world")
    work = Work(kb="world", methods={"tog2": {"ranker": "bm25"}}, model="perfect", questions=questions)
    best = dict.fromkeys(counts, 0.0)
    async with AsyncExitStack() as stack:
        pools = {count: await stack.enter_async_context(workers(work, count)) for count in counts}

        async def once(pool: Ask) -> float:
            at_once = asyncio.Semaphore(_IN_FLIGHT)

            async def ask(question: str) -> None:
                async with at_once:
                    await pool("tog2", question)

            began = time.perf_counter()
            await asyncio.gather(*(ask(question.question) for question in questions))
            return len(questions) / (time.perf_counter() - began)

        for pool in pools.values():
            await once(pool)  # fills caches
        for _ in range(rounds):
            for count, pool in pools.items():
                best[count] = max(best[count], await once(pool))
    print(f"{'processes':>9}{'questions/s':>13}{'ratio':>7}   ({os.cpu_count()} cores)")
    for count, rate_of in best.items():
        print(f"{count:>9}{rate_of:>13.1f}{rate_of / best[counts[0]]:>7.2f}", flush=True)


def main() -> int:
    """Start the server and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--in-flight", default="16,64", help="comma-separated (default 16,64)")
    parser.add_argument("--seconds", type=float, default=1.5, help="per way and round (default 1.5)")
    parser.add_argument("--rounds", type=int, default=9, help="how often each way has its turn (default 9)")
    parser.add_argument("--workers", help="measure numbers of processes instead, for example 1,2,4")
    args = parser.parse_args()
    if args.workers:
        asyncio.run(share([int(part) for part in args.workers.split(",")], args.rounds))
        return 0
    words = [sys.executable, str(MODEL_SERVER), "--latency", str(LATENCY)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = (server.stdout.readline() if server.stdout else "").strip()
            os.environ.update(OPENAI_BASE_URL=url, OPENAI_API_KEY="none")
            flights = [int(part) for part in args.in_flight.split(",")]
            met = asyncio.run(measure(url, flights, args.seconds, args.rounds))
        finally:
            server.terminate()
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
