"""How near `--estimate` comes to what a bench has used (`bench --out`), question by question and in sum.

The factors of `thinkgraph.eval.costs.estimate` are fitted on every second question, and shown on the others.

    ./tg bench --data world --methods tog2,fiske --model perfect --out perfect.jsonl
    ./tg python benchmarks/estimate.py --data world --actual perfect.jsonl
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from thinkgraph.eval.bench_setup import load_questions
from thinkgraph.eval.costs.bill import Bill, bill_of
from thinkgraph.eval.costs.estimate import walked
from thinkgraph.graphs.build import offline_model
from thinkgraph.models.roles import OFFLINE, Models
from thinkgraph.tools.knowledge import Knowledge

NEAR = 0.25
TENTHS = 0.05, 0.95
"""Nine of ten questions lie between."""
Pair = tuple[Bill, Bill]
"""What the stand-in and the model used."""


def fitted(pairs: Sequence[Pair], name: str) -> float:
    """The factor by which the sums agree."""
    return sum(getattr(real, name) for _, real in pairs) / sum(getattr(walk, name) for walk, _ in pairs)


def ratios(pairs: Sequence[Pair], name: str, factor: float) -> list[float]:
    """What was used over what is expected, question by question, from small to large."""
    return sorted(getattr(real, name) / (factor * getattr(walk, name)) for walk, real in pairs)


def row(name: str, fit: Sequence[Pair], shown: Sequence[Pair]) -> str:
    """Factor and range of the one half; of the other the sum, the share near and the share within the range."""
    factor = fitted(fit, name)
    spread = ratios(fit, name, factor)
    low, high = (spread[round(tenth * (len(spread) - 1))] for tenth in TENTHS)
    others = ratios(shown, name, factor)
    # An estimate is near where it is within NEAR of what was used.
    close = sum(abs(1 - one) <= NEAR * one for one in others) / len(others)
    within = sum(low <= one <= high for one in others) / len(others)
    total = factor / fitted(shown, name)
    return f"{name} x{factor:.2f} ({low:.2f}-{high:.2f}): sum {total:.2f}, near {close:.2f}, in range {within:.2f}"


def main() -> None:
    """Print a line for each method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="world")
    parser.add_argument("--kb", default="world")
    parser.add_argument(
        "--actual", required=True, nargs="+", type=Path, help="results of `bench --out` over the same data"
    )
    args = parser.parse_args()
    texts = {question.id: question.question for question in load_questions(args.data)}
    real: dict[str, dict[str, list[Bill]]] = {}
    for line in "".join(file.read_text("utf-8") for file in args.actual).splitlines():
        result = json.loads(line)
        real.setdefault(result["method"], {}).setdefault(result["id"], []).append(bill_of(result["answer"]))
    with Knowledge.open(args.kb) as knowledge:
        for method, bills in real.items():
            models = Models(OFFLINE, offline=offline_model(knowledge))
            walks = walked(models, knowledge, method, {}, [texts[key] for key in bills])
            each = [[(walk, one) for one in used] for walk, used in zip(walks, bills.values(), strict=True)]
            halves = [[pair for pairs in half for pair in pairs] for half in (each[::2], each[1::2])]
            rows = [row(name, *halves) for name in ("calls", "input_tokens", "output_tokens")]
            print(f"{method} ({len(each)}): {'; '.join(rows)}", flush=True)


if __name__ == "__main__":
    main()
