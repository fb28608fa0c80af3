"""How long the package takes to start and to answer, as multiples of a bare interpreter's start; how quick its encoder is.

    python benchmarks/startup.py [--runs 7] [--against DIR]

Prints the median wall time of each command in seconds and its ratio to `python -c pass`. Help is to answer within one
second; the knowledge base `world` opens within seconds the first time (in an empty cache) and at once later; a question to it,
asked before, is answered within 1.5 seconds where nothing else runs. `--against` measures another checkout in the same run, each
command in turn.

Then the encoder: seconds to load it, and texts a second beside sentence-transformers on as many threads (where that is installed),
batches in turn, as the median of the ratios. Exit code 1 if it encodes less than 0.7 of what PyTorch does.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CLI = "from thinkgraph.cli.main import entry; entry()"
OPEN = "import thinkgraph; thinkgraph.Knowledge.open('world')"
ASK = ["-c", CLI, "ask", "What is the capital of Suriname?"]
LEAST = 0.7
"""Texts a second of what PyTorch encodes."""
WORDS = {"triples": (4, 10), "sentences": (15, 40), "passages": (90, 180)}
"""Words of the texts of each kind."""
PIECES = 3_000
"""About as many words in a batch of each kind."""


def seconds(arguments: list[str], home: str, root: Path) -> float:
    """Wall time of one Python process."""
    own = {"THINKGRAPH_CACHE": home, "THINKGRAPH_HOME": home, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": ""}
    began = time.perf_counter()
    # What `-c` runs looks in the current folder first.
    subprocess.run([sys.executable, *arguments], cwd=root, env={**os.environ, **own}, check=True, capture_output=True)
    return time.perf_counter() - began


def commands(folder: str, roots: Sequence[Path], runs: int) -> None:
    """Measure and print the commands, each checkout in turn."""
    for number, root in enumerate(roots):
        seconds(ASK, f"{folder}/kept{number}", root)  # built, and the byte code written
    bare = statistics.median(seconds(["-c", "pass"], folder, ROOT) for _ in range(runs))
    print(f"{'what':<28}" + "".join(f"{'seconds':>9}{'ratio':>8}" for _ in roots))
    for what, arguments, fresh in (
        ("python -c pass", ["-c", "pass"], False),
        ("import thinkgraph", ["-c", "import thinkgraph"], False),
        ("thinkgraph --help", ["-c", CLI, "--help"], False),
        ("thinkgraph kb info world", ["-c", CLI, "kb", "info", "world"], False),
        ("open world, first time", ["-c", OPEN], True),
        ("open world, later", ["-c", OPEN], False),
        ("ask world, later", ASK, False),
    ):
        took: list[list[float]] = [[] for _ in roots]
        for turn in range(runs):
            for number, root in enumerate(roots):
                home = f"{folder}/{number}-{turn}" if fresh else f"{folder}/kept{number}"
                took[number].append(seconds(arguments, home, root))
        medians = [statistics.median(one) for one in took]
        print(f"{what:<28}" + "".join(f"{one:>9.3f}{one / bare:>8.1f}" for one in medians), flush=True)


def encoder(runs: int) -> bool:
    """Measure and print the encoder; whether it is quick enough."""
    began = time.perf_counter()
    from thinkgraph.tools.encoders.minilm import MiniLM
    from thinkgraph.tools.encoders.weights import bundled_folder

    ours = MiniLM(bundled_folder())
    print(f"\nencoder loaded, NumPy and all, in {time.perf_counter() - began:.2f} s")
    if find_spec("sentence_transformers") is None:
        print("not compared: sentence-transformers is not installed")
        return True
    import torch
    from sentence_transformers import SentenceTransformer

    other: Any = SentenceTransformer(str(bundled_folder()), device="cpu")
    words = (ROOT / "README.md").read_text("utf-8").split()
    chance = random.Random(18)
    print(f"{'texts':<12}{'ours/s':>9}{'theirs/s':>10}{'ratio':>8}   (PyTorch on {torch.get_num_threads()} threads)")
    enough = True
    for kind, bounds in WORDS.items():
        several = PIECES // sum(bounds)
        texts = [" ".join(chance.choices(words, k=chance.randint(*bounds))) for _ in range(several)]
        both: list[Callable[[], Any]] = [
            partial(ours.encode, texts),
            partial(other.encode, texts, show_progress_bar=False),
        ]
        turns = []
        for _ in range(runs + 1):
            clock = [time.perf_counter()]
            for encode in both:
                encode()
                clock.append(time.perf_counter())
            turns.append((clock[1] - clock[0], clock[2] - clock[1]))
        ratio = statistics.median(theirs / own for own, theirs in turns[1:])
        best = [several / min(column) for column in zip(*turns[1:], strict=True)]
        enough = enough and ratio >= LEAST
        print(f"{kind:<12}{best[0]:>9.0f}{best[1]:>10.0f}{ratio:>8.2f}", flush=True)
    return enough


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="times each is measured (default 7)")
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout to measure in the same run")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands(folder, [ROOT, *([args.against] if args.against else [])], args.runs)
    return 0 if encoder(args.runs) else 1


if __name__ == "__main__":
    sys.exit(main())
