"""Does `answer["confidence"]` say how often an answer is right? Runs of a perfect chooser that errs, half of the questions to fit.

    ./tg python benchmarks/calibration.py [--data DIR --kb SET=FOLDER …] [--limit N] [--errors …] [--set …] [--keep DIR]

Sets are those of regression.py: `world` comes with the package, the others are taken where --kb names their knowledge base. Every
method is asked with every error of the chooser, and the five that doubt once more one way (`backtracks=0`). The halves share no
question. The weights are fitted to one half and printed as they stand in nodes/closing/confidence.py; everything else printed
is of the other half, by the weights that stand there now. An answer without a confidence is left out. With --keep the answers are
kept and the same command goes on where it was; --results reads such files, or those of `thinkgraph bench --out`, and asks nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from regression import SETS, answerable, bench, open_bases
from scipy.optimize import minimize

from thinkgraph.config import parse_settings
from thinkgraph.eval.bench import BenchPlan
from thinkgraph.eval.bench_setup import perfect_chooser, settings_by_method
from thinkgraph.eval.files import parsed
from thinkgraph.eval.perfect.errors import parse_slips
from thinkgraph.eval.questions import Question
from thinkgraph.eval.reports.results import BenchResult
from thinkgraph.nodes.closing.confidence import BASE, WEIGHTS, confidence
from thinkgraph.tools.knowledge import Knowledge

DOUBTING = "tog2,paths,fasttog,fiske,coggrag"
METHODS = f"{DOUBTING},tog,search_agent,kg_rag,rag"
ERRORS = "0.1;0.2;0.3;confusable=0.2"
ONE_WAY = "0.2"
"""The errors with which the methods that doubt are asked once more without it."""
BINS = 10
AGAINST = {"doubted", "went_back", "asked_about"}
"""Signals that may only lower a confidence; all others may only raise it."""
_RIDGE = 1.0
"""Penalty on the weights, so that a signal that hardly varies gets none."""


@dataclass(frozen=True)
class Case:
    """An answer that was given, and whether it was right."""

    name: str
    """Of the set."""
    errors: str
    result: BenchResult

    @property
    def signals(self) -> Mapping[str, float]:
        """What its confidence is made of."""
        return self.result["answer"]["signals"]

    @property
    def right(self) -> float:
        """1.0 where its first answer is a gold one."""
        return self.result["scores"]["hits1"]

    @property
    def to_fit(self) -> bool:
        """Whether its question is in the half that weights are fitted to."""
        return hashlib.sha256(self.result["answer"]["question"].encode()).digest()[0] % 2 == 0


def cases_of(name: str, errors: str, results: Sequence[BenchResult]) -> list[Case]:
    """The answers with a confidence that is a matter of weights."""
    made = [Case(name, errors, result) for result in results]
    return [case for case in made if case.signals and "agreed" not in case.signals]


def ask(args: argparse.Namespace) -> Iterator[tuple[str, str, list[BenchResult]]]:
    """Every set with all errors: its name, the errors, the results."""
    with ExitStack() as stack:
        opened = open_bases(args.kb, stack)
        for name, (base, read) in SETS.items():
            if base not in opened:
                continue
            share = args.limit // sum(other == base for other, _ in SETS.values())
            asked = answerable(read(args.data, opened[base], share), opened[base])
            for errors in args.errors.split(";"):
                yield name, errors, bench_set(name, asked, opened[base], args, errors, {})
                if errors == ONE_WAY:
                    results = bench_set(name, asked, opened[base], args, errors, {"backtracks": 0})
                    yield name, f"{errors}, one way", results


def bench_set(
    name: str,
    questions: Sequence[Question],
    knowledge: Knowledge,
    args: argparse.Namespace,
    errors: str,
    settings: Mapping[str, object],
) -> list[BenchResult]:
    """One set with one sort of errors."""
    methods = [one for one in args.methods.split(",") if not settings or one in DOUBTING.split(",")]
    if not methods:
        return []
    model = f"perfect:{errors}"
    given = settings_by_method(methods, {"seed": args.seed, **parse_settings(args.set), **settings})
    plan = BenchPlan(
        questions, knowledge, given, perfect_chooser(model, questions, knowledge)(parse_slips(errors, model), args.seed)
    )
    way = "one way" if settings else ""
    results = bench(name, plan, args.keep, model=model, seed=args.seed, part=way)
    sys.stderr.write(f"{name}, {model}{way and f', {way}'}: {len(results)} runs\n")
    return results


def fitted(cases: Sequence[Case]) -> tuple[float, dict[str, float]]:
    """The base and the weights that make the answers' outcomes likeliest (logistic regression with bounds on the signs)."""
    names = list(WEIGHTS)
    x = np.array([[case.signals[name] for name in names] for case in cases])
    right = np.array([case.right for case in cases])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = weights[0] + x @ weights[1:]
        missed = 1 / (1 + np.exp(-odds)) - right
        slope = np.concatenate([[missed.sum()], x.T @ missed + _RIDGE * weights[1:]])
        return float(np.sum(np.logaddexp(0, odds) - right * odds) + _RIDGE / 2 * np.sum(weights[1:] ** 2)), slope

    bounds = [(None, None), *((None, 0.0) if name in AGAINST else (0.0, None) for name in names)]
    found = minimize(loss, np.zeros(len(names) + 1), jac=True, bounds=bounds, method="L-BFGS-B").x.round(2) + 0.0
    return float(found[0]), dict(zip(names, map(float, found[1:]), strict=True))


def expected_error(sure: np.ndarray, right: np.ndarray) -> float:
    """The expected calibration error over BINS bins of equal width."""
    return float(
        sum(len(part) / len(sure) * abs(sure[part].mean() - right[part].mean()) for part in binned(sure) if len(part))
    )


def binned(sure: np.ndarray) -> list[np.ndarray]:
    """The places of the confidences in each bin, the lowest first."""
    bins = np.minimum((sure * BINS + 1e-9).astype(int), BINS - 1)
    return [np.flatnonzero(bins == number) for number in range(BINS)]


def ranked(sure: np.ndarray, right: np.ndarray) -> float:
    """How often a right answer is surer than a wrong one (area under the ROC curve)."""
    good, bad = sure[right == 1], sure[right == 0]
    if not len(good) or not len(bad):
        return float("nan")
    above = (good[:, None] > bad).mean() + (good[:, None] == bad).mean() / 2
    return float(above)


def row(title: str, cases: Sequence[Case], sure_of: Callable[[Case], float]) -> str:
    """One line of the table of errors."""
    sure, right = np.array([sure_of(case) for case in cases]), np.array([case.right for case in cases])
    figures = [
        right.mean(),
        sure.mean(),
        expected_error(sure, right),
        ranked(sure, right),
        ((sure - right) ** 2).mean(),
    ]
    return f"| {title} | {len(cases)} | " + " | ".join(f"{figure:.2f}" for figure in figures) + " |"


def by_weights(base: float, weights: Mapping[str, float]) -> Callable[[Case], float]:
    """The confidence of cases by these weights."""
    return lambda case: confidence(case.signals, base=base, weights=weights) or 0.0


def report(cases: Sequence[Case], given: Mapping[tuple[str, str], Sequence[BenchResult]]) -> None:
    """Print the fit, and what the weights that stand in the code are worth over the other half."""
    fit, test = [case for case in cases if case.to_fit], [case for case in cases if not case.to_fit]
    base, weights = fitted(fit)
    print(f"Fitted to {len(fit)} answers:\n\nBASE = {base}")
    print(*(f'    "{name}": {weight},' for name, weight in weights.items()), sep="\n")
    now = by_weights(BASE, WEIGHTS)
    print(
        "\n| answers of the other half | n | right | confidence | calibration error | ROC area | Brier |\n|---|---:|---:|---:|---:|---:|---:|"
    )
    print(row("all", test, now))
    print(row("all, by the fit above", test, by_weights(base, weights)))
    groups: tuple[Callable[[Case], str], ...] = (
        lambda case: f"`{case.result['method']}`",
        lambda case: case.name.partition(" ")[0],
        lambda case: f"errors {case.errors}",
    )
    for group in groups:
        for title in dict.fromkeys(map(group, test)):
            print(row(title, [case for case in test if group(case) == title], now))
    sets = dict.fromkeys(case.name.partition(" ")[0] for case in cases)
    for name in sets if len(sets) > 1 else ():
        others = fitted([case for case in cases if not case.name.startswith(name)])
        print(
            row(
                f"{name}, fitted to the other sets alone",
                [case for case in cases if case.name.startswith(name)],
                by_weights(*others),
            )
        )
    print("\n| confidence | n | mean | right |\n|---|---:|---:|---:|")
    sure, right = np.array([now(case) for case in test]), np.array([case.right for case in test])
    for number, part in enumerate(binned(sure)):
        if len(part):
            print(
                f"| {number / BINS:.1f} to {(number + 1) / BINS:.1f} | {len(part)} | {sure[part].mean():.2f} | {right[part].mean():.2f} |"
            )
    asked = sum(not Case("", "", result).to_fit for results in given.values() for result in results)
    print(f"\nOf {asked} runs:\n\n| `min_confidence` | right | wrong |\n|---|---:|---:|")
    for least in (0.0, 0.3, 0.5, 0.7, 0.8, 0.9):
        kept = right[sure >= least]
        print(f"| {least} | {kept.sum() / asked:.3f} | {(1 - kept).sum() / asked:.3f} |")


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the data sets' folders")
    parser.add_argument("--kb", action="append", default=[], metavar="SET=FOLDER", help="knowledge base of a set")
    parser.add_argument("--limit", type=int, default=60, help="questions of each knowledge base (default %(default)s)")
    parser.add_argument("--methods", default=METHODS, help="default %(default)s")
    parser.add_argument("--errors", default=ERRORS, help="of the chooser, parted by ; (default %(default)s)")
    parser.add_argument("--seed", type=int, default=101, help="default %(default)s")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as for thinkgraph bench")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the answers there")
    parser.add_argument("--results", type=Path, nargs="+", metavar="FILE", help="read kept answers; ask nothing")
    args = parser.parse_args()
    given: dict[tuple[str, str], list[BenchResult]] = {}
    if args.results:
        for file in args.results:
            name, _, errors = file.stem.partition("-")
            given[name, errors] = [parsed(line) for line in file.read_text("utf-8").splitlines()]
    else:
        given = {(name, errors): results for name, errors, results in ask(args)}
    report([case for key, results in given.items() for case in cases_of(*key, results)], given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
