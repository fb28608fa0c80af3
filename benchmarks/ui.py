"""The page in figures: its size, its first paint, how soon an event is on the screen, and how fluid a large graph is.

    python benchmarks/ui.py [--nodes 5000]

Needs Chromium and playwright. Prints kB of what is shipped, milliseconds to the first contentful paint (median of 5 fresh browsers'
pages), milliseconds from an event's being emitted to its standing in the document (median, 95th percentile and worst of 200, one every
30 ms), frames a second while a graph of so many nodes grows by 300 triples a step, three steps a second, and the same while it is dragged. Exit
code 1 where it is over 600 kB, 1 s or 100 ms (95th percentile), or below 20 frames.
"""

from __future__ import annotations

import argparse
import random
import shutil
import socket
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import sync_playwright

from thinkgraph.cli.runs import RunOptions, RunStore
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui.app import create_app
from thinkgraph.ui.live import LiveRun
from thinkgraph.ui.runs import Desk, Served
from thinkgraph.ui.walk import Recorder

ROOT = Path(__file__).parent.parent
STATIC = ROOT / "thinkgraph" / "ui" / "static"
TOKEN = "measuring"  # noqa: S105 - of a server of this process
EVENTS = 200
PAUSE = 0.03
GROWTH = 0.33
"""Seconds between the steps of the growing graph."""
LIMITS = {"kB": 600.0, "paint": 1000.0, "event": 100.0}
FRAMES = 20.0
_SEEN = """
() => { window.seen = {}; new MutationObserver((all) => { for (const one of all) for (const node of one.addedNodes) {
  const found = node.querySelector?.('h3')?.textContent?.match(/Kept (\\d+) of/); if (found) window.seen[found[1]] = Date.now(); } })
  .observe(document.querySelector('.steps'), { childList: true }); }
"""
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
_FRAMES = """
async ([dragging, seconds]) => { const cy = document.querySelector('.canvas')._cyreg.cy; let frames = 0, longest = 0, last = performance.now();
  const start = last;
  while (performance.now() - start < 1000 * seconds) { if (dragging) cy.panBy({ x: frames % 2 ? 7 : -7, y: 3 });
    await new Promise(requestAnimationFrame); frames += 1;
    longest = Math.max(longest, performance.now() - last); last = performance.now(); }
  return [frames / ((performance.now() - start) / 1000), longest]; }
"""
STEP = 300
"""Triples of one event of the growing graph."""


def walked(triples: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """An event that adds triples."""
    return {
        "type": "walked", "step": "measure", "round": number, "starts": [], "triples": triples, "more": 0, "evidence": [], "passages": [],
        "boxes": [], "clues": None, "questions": None, "cost": 0.0,
    }  # fmt: skip


def pruned(number: int) -> dict[str, Any]:
    """An event that can be told from others on the screen."""
    kept = [{"label": "x", "score": 1.0}] * number
    return {"type": "pruned", "what": "relations", "round": 1, "kept": kept, "dropped": [], "reason": ""}


def triple(number: int, subject: int, other: int) -> dict[str, Any]:
    """A made-up statement."""
    return {
        "id": f"t{number}", "subject": f"e{subject}", "relation": "r", "object": f"e{other}", "subject_label": f"entity {subject}",
        "relation_label": "related to", "object_label": f"entity {other}", "literal": False, "qualifiers": [],
    }  # fmt: skip


def begun(desk: Desk, thread: str) -> LiveRun:
    """A run that this program plays."""
    with RunStore() as runs:
        runs.start(thread, "Measured?", {**desk.served.options})
    live = LiveRun(thread)
    desk._live[thread] = live  # noqa: SLF001 - no model is to be waited for
    return live


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=5_000, help="of the large graph (default %(default)s)")
    args = parser.parse_args()
    size = sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file()) / 1000
    options = RunOptions(
        method="tog2", model="offline", kb="world", text=None, trust_embedder=False, settings={}, prompts=None, prices=None
    )  # fmt: skip
    with Knowledge.open("world") as knowledge:
        desk = Desk(Served(knowledge, options, {"tog2": {}}))
        listening = socket.create_server(("127.0.0.1", 0))
        app = create_app(lambda: desk.served, token=TOKEN, desk=desk)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
        while not server.started:
            time.sleep(0.01)
        paint, delays, fluid = measured(f"http://127.0.0.1:{listening.getsockname()[1]}/", desk, args.nodes)
        server.should_exit = True
    print(f"size          {size:.0f} kB (limit {LIMITS['kB']:.0f})")
    print(f"first paint   {paint:.0f} ms (limit {LIMITS['paint']:.0f})")
    late = statistics.quantiles(delays, n=20)[-1]
    print(
        f"event         {statistics.median(delays):.0f} ms median, {late:.0f} ms for 95 of 100 (limit {LIMITS['event']:.0f}), "
        f"{max(delays):.0f} ms worst"
    )
    for doing, (frames, longest) in fluid.items():
        print(
            f"{args.nodes:,} nodes   {frames:.0f} frames a second while it {doing} (at least {FRAMES:.0f}), "
            f"the longest {longest:.0f} ms"
        )
    good = size <= LIMITS["kB"] and paint <= LIMITS["paint"] and late <= LIMITS["event"]
    return 0 if good and all(frames >= FRAMES for frames, _ in fluid.values()) else 1


def grown(live: LiveRun, steps: list[list[dict[str, Any]]]) -> None:
    """Adds the triples of one step after another."""
    for number, edges in enumerate(steps, start=2):
        live.add(Recorder.stamped(walked(edges, number)))
        time.sleep(GROWTH)


def measured(address: str, desk: Desk, nodes: int) -> tuple[float, list[float], dict[str, list[float]]]:
    """First paint and delays in milliseconds; frames a second and the longest of them in milliseconds, by what the graph does."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        paints = []
        for _ in range(5):
            page = browser.new_context().new_page()
            page.goto(f"{address}?token={TOKEN}")
            page.locator("#question").wait_for()
            # The document is there before its first frame.
            while (paint := page.evaluate(_PAINT)) is None:
                page.wait_for_timeout(20)
            paints.append(paint)
            page.context.close()
        page = browser.new_page()
        page.goto(f"{address}?token={TOKEN}")
        page.locator("#question").wait_for()
        live = begun(desk, "latency")
        page.goto(f"{address}#/run/latency")
        page.locator(".steps").wait_for(state="attached")
        page.wait_for_timeout(500)
        page.evaluate(_SEEN)
        sent = {}
        for number in range(1, EVENTS + 1):
            sent[str(number)] = time.time() * 1000
            live.add(Recorder.stamped(pruned(number)))
            time.sleep(PAUSE)
        page.wait_for_timeout(1500)
        seen = page.evaluate("window.seen")
        live.end()
        delays = [seen[number] - at for number, at in sent.items() if number in seen]
        if len(delays) < EVENTS:
            sys.exit(f"ui: error: only {len(delays)} of {EVENTS} events came to the screen")
        live = begun(desk, "large")
        random.seed(1)
        edges = [triple(n, n, random.randrange(max(1, n - 40), n) if n > 1 else 0) for n in range(1, nodes)]
        live.add(Recorder.stamped(walked(edges[:STEP], 1)))
        page.goto(f"{address}#/run/large")
        page.locator(".canvas canvas").first.wait_for()
        page.wait_for_timeout(1_500)
        steps = [edges[at : at + STEP] for at in range(STEP, len(edges), STEP)]
        growing = threading.Thread(target=grown, args=(live, steps))
        growing.start()
        fluid = {"grows": page.evaluate(_FRAMES, [False, len(steps) * GROWTH])}
        growing.join()
        page.wait_for_timeout(8_000)
        fluid["is dragged"] = page.evaluate(_FRAMES, [True, 3])
        live.end()
        browser.close()
    return statistics.median(paints), delays, fluid


if __name__ == "__main__":
    sys.exit(main())
