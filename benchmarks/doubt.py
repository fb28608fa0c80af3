"""What doubt is worth: hits@1, wrong answers and calls where a share of the perfect chooser's calls err, as means over seeds.

    ./tg python benchmarks/doubt.py --data DIR [--kb factbook=FOLDER] [--kb metaqa=FOLDER] [--seeds N] [--limit N] [--keep DIR]

Questions of 2 and 3 hops over the sets of regression.py; those without a knowledge base are left out. The perfect chooser is asked
one way (`backtracks=0`) and with doubt: which questions answered one way are lost with doubt, or take more calls? Then every method
is asked with every sort of errors. With --keep the answers are kept and the same command goes on where it was; the tables are
printed and written to --results.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from regression import ROOT, SETS, answerable, bench, open_bases
from scipy.stats import t as student

from thinkgraph.config import parse_settings
from thinkgraph.eval.bench import BenchPlan
from thinkgraph.eval.bench_setup import perfect_chooser, settings_by_method
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.perfect.errors import Slip, parse_slips
from thinkgraph.eval.questions import Question, spread
from thinkgraph.eval.reports.results import BenchResult
from thinkgraph.graphs.registry import find_method
from thinkgraph.tools.knowledge import Knowledge

Chooser = Callable[[Sequence[Slip], int], PerfectChooser]
"""Makes a chooser, given its errors and their seed."""
Set = tuple[str, list[Question], Knowledge, Chooser]
ASKED = ("metaqa 2-hop", "metaqa 3-hop", "factbook", "world")
TYPES = {"2hop", "3hop"}


@dataclass(frozen=True)
class Asked:
    """A set, asked of one method."""

    name: str
    questions: Sequence[Question]
    knowledge: Knowledge
    chooser: Chooser
    method: str
    args: argparse.Namespace

    def results(self, errors: str = "", seed: int = 0, *, one_way: bool = False) -> list[BenchResult]:
        """The results in the order of the questions, with a chooser that errs so."""
        model = f"perfect:{errors}" if errors else "perfect"
        settings = {**parse_settings(self.args.set), **({"backtracks": 0} if one_way else {})}
        chooser = self.chooser(parse_slips(errors, model), seed)
        plan = BenchPlan(self.questions, self.knowledge, settings_by_method([self.method], settings), chooser)
        return bench(
            self.name, plan, self.args.keep, model=model, seed=seed, part=f"{self.method}{one_way * ' one way'}"
        )

    @cached_property
    def perfect(self) -> list[BenchResult]:
        """The results without errors."""
        return self.results()

    def cost(self) -> tuple[str, str]:
        """Calls without errors, one way → with doubt, of the questions answered one way; and how many of them doubt loses or makes dearer."""
        once = self.results(one_way=True)
        pairs = [(one, two) for one, two in zip(once, self.perfect, strict=True) if one["scores"]["hits1"]]
        lost = sum(not two["scores"]["hits1"] for _, two in pairs)
        dearer = sum(two["calls"] > one["calls"] for one, two in pairs)
        calls = (statistics.fmean(pair[at]["calls"] for pair in pairs) for at in (0, 1))
        return " → ".join(f"{mean:.2f}" for mean in calls), f"{len(once)} / {lost} / {dearer}"

    def outcome(self, errors: str) -> tuple[str, float, list[float]]:
        """hits@1 with its 95 % interval, wrong and calls; how many times the perfect chooser's these are; hits@1 by seed."""
        runs = [self.results(errors, seed) for seed in range(self.args.seeds)]
        hits = [statistics.fmean(one["scores"]["hits1"] for one in run) for run in runs]
        every = [one for run in runs for one in run]
        wrong = statistics.fmean(not (one["scores"]["hits1"] or one["scores"]["unknown"]) for one in every)
        calls = statistics.fmean(one["calls"] for one in every)
        times = calls / statistics.fmean(one["calls"] for one in self.perfect)
        cell = f"{statistics.fmean(hits):.2f}{_within(hits)} / {wrong:.2f} / {calls:.1f} ({times:.1f})"
        return cell, times, hits


def _within(means: Sequence[float]) -> str:
    """Half the 95 % interval of the mean of several."""
    if len(means) < 2:
        return ""
    half = student.ppf(0.975, len(means) - 1) * statistics.stdev(means) / len(means) ** 0.5
    return f" ± {half:.2f}"


def read(args: argparse.Namespace, stack: ExitStack) -> Iterator[Set]:
    """The sets at hand: what `Asked` begins with."""
    opened = open_bases(args.kb, stack)
    for name in ASKED:
        base, questions_of = SETS[name]
        if knowledge := opened.get(base):
            every = [one for one in questions_of(args.data, knowledge, sys.maxsize) if one.type in TYPES]
            questions = answerable(spread(every, args.limit), knowledge)
            yield name, questions, knowledge, perfect_chooser("perfect", questions, knowledge)


def tables(sets: Sequence[Set], args: argparse.Namespace) -> Iterator[str]:
    """The lines of both tables."""
    names = " | ".join(name for name, *_ in sets)
    methods = args.methods.split(",")
    doubting = [method for method in methods if "backtracks" in find_method(method).settings.model_fields]
    asked = {method: [Asked(*one, method, args) for one in sets] for method in methods}
    yield "The perfect chooser: calls one way → with doubt, of the questions answered one way (asked / lost with doubt / dearer with it)"
    yield f"\n| method | {names} |\n|---|{'---|' * len(sets)}"
    for method in doubting:
        yield f"| {method} | {' | '.join(f'{calls} ({counts})' for calls, counts in (one.cost() for one in asked[method]))} |"
    yield "\nWith errors: hits@1, its 95 % interval over seeds / wrong answers given / calls (times the perfect chooser's)"
    yield f"\n| method | errors | {names} | times, mean | worst seed |\n|---|---|{'---|' * len(sets)}---:|---:|"
    for errors in args.errors.split(";"):
        for method in methods:
            cells, times, hits = zip(*(one.outcome(errors) for one in asked[method]), strict=True)
            worst = min(min(of_set) for of_set in hits)
            yield f"| {method} | {errors} | {' | '.join(cells)} | {statistics.fmean(times):.2f} | {worst:.2f} |"


def main() -> int:
    """Print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the data sets' folders")
    parser.add_argument("--kb", action="append", default=[], metavar="SET=FOLDER", help="knowledge base of a set")
    parser.add_argument("--limit", type=int, default=60, help="questions of each set (default 60)")
    parser.add_argument("--seeds", type=int, default=5, help="of the errors (default 5)")
    parser.add_argument("--methods", default="tog2,fasttog,fiske,coggrag", help="default: the four that doubt")
    parser.add_argument("--errors", default="0.2;0.1;confusable=0.2", help="as after perfect: (default %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as for thinkgraph bench")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the answers there")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "doubt.md")
    args = parser.parse_args()
    settings = " ".join(args.set) or "the defaults"
    lines = [
        "# What doubt is worth\n",
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, at most {args.limit} questions a set, {args.seeds} seeds, settings: {settings}.\n",
    ]
    with ExitStack() as stack:
        for line in tables(list(read(args, stack)), args):
            print(line, flush=True)
            lines.append(line)
    args.results.write_text("\n".join(lines) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
