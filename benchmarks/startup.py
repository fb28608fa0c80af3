"""How long the package takes to start, as multiples of a bare interpreter's start.

    python benchmarks/startup.py [--runs 7]

Prints the median wall time of each command in seconds and its ratio to `python -c pass`. Help is to answer within one
second; the knowledge base `world` opens within seconds the first time (in an empty cache) and at once later.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
CLI = "from thinkgraph.cli.main import entry; entry()"
OPEN = "import thinkgraph; thinkgraph.Knowledge.open('world')"


def seconds(arguments: list[str], cache: str) -> float:
    """Wall time of one Python process."""
    environment = {**os.environ, "THINKGRAPH_CACHE": cache, "PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="times each is measured (default 7)")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:

        def median(arguments: list[str], *, fresh: bool = False) -> float:
            caches = [f"{folder}/{number}" if fresh else f"{folder}/cache" for number in range(runs)]
            return statistics.median(seconds(arguments, cache) for cache in caches)

        seconds(["-c", OPEN], f"{folder}/cache")  # built, and the byte code written
        bare = median(["-c", "pass"])
        print(f"{'what':<28}{'seconds':>9}{'ratio':>8}")
        for what, arguments, fresh in (
            ("python -c pass", ["-c", "pass"], False),
            ("import thinkgraph", ["-c", "import thinkgraph"], False),
            ("thinkgraph --help", ["-c", CLI, "--help"], False),
            ("thinkgraph kb info world", ["-c", CLI, "kb", "info", "world"], False),
            ("open world, first time", ["-c", OPEN], True),
            ("open world, later", ["-c", OPEN], False),
        ):
            took = median(arguments, fresh=fresh)
            print(f"{what:<28}{took:>9.3f}{took / bare:>8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
