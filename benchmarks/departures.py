"""What is each departure from the papers worth? Every one turned back alone, and all of them together (`preset=paper`).

    ./tg python benchmarks/departures.py --data DIR --kb metaqa=FOLDER                       # the perfect chooser, and one that errs
    ./tg python benchmarks/departures.py --real openai:qwen2.5-coder-1.5b --only backtracks  # a real model, replies recorded
    ./tg python benchmarks/departures.py --page                                              # asks nothing: writes the tables of docs/departures.md

The sets are those of regression.py that `SETS` names here; the real model gets the questions of real_model.py, and is asked only what
the recording lacks. A row of the results is a
method with one departure turned back, over one set, with one model: it is written when all its questions are answered, and not asked
again unless release, knowledge base, questions or these settings are others: then the newer row counts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import real_model
from regression import SETS as READERS
from regression import answerable, open_bases

from thinkgraph.eval.bench import BenchPlan, plan_record, run_bench
from thinkgraph.eval.bench_setup import perfect_chooser
from thinkgraph.eval.perfect.errors import parse_slips
from thinkgraph.eval.questions import Question
from thinkgraph.graphs.build import offline_model
from thinkgraph.graphs.registry import find_method
from thinkgraph.models.recorded import Recording
from thinkgraph.models.roles import Models
from thinkgraph.tools.knowledge import Knowledge

RESULTS = Path(__file__).parent / "results" / "departures.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "departures.md"
FIGURES = re.compile(r"(?<=\n)\| turned back \|.*(?:\n\|.*)*")
"""A table of figures in it."""
SETS = {"world": 10**6, "metaqa 2-hop": 20, "metaqa 3-hop": 20}
"""Most questions of each set; of `world` those of two and three hops."""
TYPES = {"2hop", "3hop"}
MODELS = ("perfect", "perfect:0.2")
SEEDS = (1, 2)
"""Other seeds of the errors, with our settings: what chance does to a row."""
REAL = "real"
"""The set that a real model is asked."""
PATIENT = {"call_timeout": 3600}
"""Of a real model on a busy machine."""
NONE, ALL = "", "preset=paper"


class Departure(NamedTuple):
    """Settings that `preset=paper` changes and that make sense only together."""

    name: str
    settings: tuple[str, ...]


class Row(TypedDict):
    """One line of the results: sums over questions."""

    method: str
    departure: str
    set: str
    model: str
    seed: int
    plan: str
    """Digest of what was run."""
    n: int
    hits1: float
    wrong: float
    calls: int
    input_tokens: int


def _named(*groups: str) -> tuple[Departure, ...]:
    return tuple(Departure(words[0], tuple(words)) for words in map(str.split, groups))


EVERY = ("backtracks", "evidence_tokens", "prompt_profile")
DEPARTURES: Mapping[str, tuple[Departure, ...]] = {
    "tog2": _named(
        *EVERY,
        "own_knowledge abstain",
        "beam",
        "steered",
        "skip_exact_topic",
        "skip_empty_reason",
        "avoid_cycles",
        "revisit_topics",
        "all_rounds clue_history",
        "fused",
        "explain",
        "sentences",
        "rank_triples",
        "rank_texts chunk_triples relation_options tails link_candidates",
    ),
    "fasttog": _named(
        *EVERY,
        "own_knowledge abstain",
        "hops node_cap wide_cap graph_cap slow_graph_cap",
        "candidates coarse",
        "namesakes",
        "top_headers",
        "ask_lone",
        "ask_subjects",
        "steered",
        "whole_lists",
        "skip_empty_reason",
        "partial",
        "community_text prose_candidates",
        "option_tokens",
        "max_output_tokens",
    ),
    "fiske": _named(
        *EVERY,
        "own_knowledge abstain",
        "chunk node_cap",
        "multi_answer_asks",
        "exact_names",
        "meant_step",
        "start_answers",
        "per_branch",
        "revisits",
        "node_types",
        "link_fallback",
        "partial_evidence",
    ),
    "coggrag": _named(
        *EVERY,
        "own_knowledge abstain offer_memory",
        "comparisons",
        "consistency",
        "whole_lists least",
        "open_tuples",
        "placeholders anchored_keys",
        "own_names",
        "unanswered",
        "follow_answers",
        "passages",
        "skip_settled",
        "joint_keys",
        "lone_keys",
        "questions max_calls keys names entities link_candidates hub hub_relations tails encode_texts lines",
    ),
}
"""By method; a departure is called after its first setting."""
IDLE = {"tog2": {"precheck_steps"}}
"""Settings that change nothing where questions are asked, not claims."""


def changed(method: str) -> dict[str, Any]:
    """What `preset=paper` sets otherwise than we do."""
    schema = find_method(method).settings
    return {name: value for name, value in schema.paper.items() if value != schema.model_fields[name].default}


def settings_of(method: str, departure: str) -> dict[str, Any]:
    """The settings of a run with one departure turned back."""
    if departure in {NONE, ALL}:
        return {"preset": "paper"} if departure else {}
    (found,) = (one for one in DEPARTURES[method] if one.name == departure)
    return {name: changed(method)[name] for name in found.settings}


class Store:
    """The results on disk."""

    def __init__(self, path: Path) -> None:
        """Read them."""
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self.path = path
        self.rows: list[Row] = [json.loads(line) for line in lines]

    def measure(self, plan: BenchPlan, departure: str, *, name: str, model: str, seed: int = 0) -> None:
        """Ask what is not asked yet, and keep the sums."""
        (method,) = plan.methods
        record = plan_record(plan, model=model, seed=seed, gold_entities=False, data=name)
        record["methods"] = {method: settings_of(method, departure)}
        digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]
        row = {"method": method, "departure": departure, "set": name, "model": model, "seed": seed, "plan": digest}
        if any(row.items() <= kept.items() for kept in self.rows):
            return
        results = run_bench(plan)
        totals = [result["answer"]["usage"]["total"] for result in results]
        done = {
            **row,
            "n": len(results),
            "hits1": sum(result["scores"]["hits1"] for result in results),
            "wrong": sum(result["scores"]["wrong"] for result in results),
            "calls": sum(total["calls"] for total in totals),
            "input_tokens": sum(total["input_tokens"] for total in totals),
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done) + "\n")
        sys.stderr.write(f"{name}, {model}, {method}, {departure or 'ours'}: {done['hits1']:.0f} of {done['n']}\n")


def wanted(method: str, only: Sequence[str]) -> Iterator[str]:
    """The departures of a method, ours before and all of them after."""
    names = [NONE, *(one.name for one in DEPARTURES[method]), ALL]
    yield from (name for name in names if not only or name in {NONE, *only})


def questions_of(name: str, data: Path, knowledge: Knowledge) -> list[Question]:
    """The questions of a set whose gold paths lie in the knowledge base."""
    every = READERS[name][1](data, knowledge, SETS[name])
    return answerable([question for question in every if name != "world" or question.type in TYPES], knowledge)


def ask_choosers(args: argparse.Namespace, store: Store) -> None:
    """Every set with the perfect chooser, without errors and with them."""
    with ExitStack() as stack:
        opened = open_bases(args.kb, stack)
        for name in SETS:
            if (knowledge := opened.get(READERS[name][0])) is None:
                sys.stderr.write(f"{name} is left out: --kb {READERS[name][0]}=FOLDER names its knowledge base\n")
                continue
            questions = questions_of(name, args.data, knowledge)
            make = perfect_chooser("perfect", questions, knowledge)
            for method in args.methods:
                runs = [(model, one, 0) for one in wanted(method, args.only) for model in MODELS]
                for model, departure, seed in runs + [(MODELS[-1], NONE, seed) for seed in SEEDS]:
                    chooser = make(parse_slips(model.partition(":")[2], model), seed)
                    plan = BenchPlan(questions, knowledge, {method: settings_of(method, departure)}, chooser)
                    store.measure(plan, departure, name=name, model=model, seed=seed)


def ask_real(args: argparse.Namespace, store: Store) -> None:
    """The questions of real_model.py with a real model; every reply is recorded."""
    questions = real_model.sample(real_model.TYPES.split(","), args.per_type)
    with Knowledge.open("world") as knowledge:
        for method in args.methods:
            for departure in wanted(method, args.only):
                # One recording a run: a prompt that was asked in another run has its reply there.
                recording = Recording(args.recording, args.real)
                profiles = {recording.model: {"window": 8192, "size": "small"}}
                models = Models(
                    recording.model, offline=offline_model(knowledge), profiles=profiles, recording=recording
                )
                settings = settings_of(method, departure) | PATIENT
                plan = BenchPlan(questions, knowledge, {method: settings}, models)
                store.measure(plan, departure, name=REAL, model=recording.model)


def means(rows: Sequence[Row], method: str, departure: str, model: str, seed: int = 0) -> tuple[float, ...] | None:
    """Hits@1, wrong, calls and input tokens a question over all sets; None where a set is missing."""
    own = [row for row in rows if row["method"] == method and row["model"] == model]
    found = {row["set"]: row for row in own if row["departure"] == departure and row["seed"] == seed}
    if found.keys() != {row["set"] for row in own} or not found:
        return None
    n = sum(row["n"] for row in found.values())
    return tuple(sum(row[name] for row in found.values()) / n for name in ("hits1", "wrong", "calls", "input_tokens"))  # type: ignore[literal-required]


def cell(figures: tuple[float, ...] | None, base: tuple[float, ...] | None) -> str:
    """Differences to ours."""
    if figures is None or base is None:
        return ""
    if figures == base:
        return "same"
    hits, wrong, calls, tokens = (one - other for one, other in zip(figures, base, strict=True))
    return f"{signed(hits, 2)} / {signed(wrong, 2)} / {signed(calls, 1)} / {signed(tokens, 0)}"


def signed(value: float, digits: int) -> str:
    """A difference with its sign; 0 has none."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else "0"


def table(rows: Sequence[Row], method: str) -> list[str]:
    """The Markdown table of a method: ours first, then the difference that each departure makes."""
    models = [*MODELS, *sorted({row["model"] for row in rows if row["set"] == REAL and row["method"] == method})]
    heads = ["perfect chooser", "it errs in 20 %", *("a real model" for _ in models[2:])]
    base = {model: means(rows, method, NONE, model) for model in models}
    ours = ["" if one is None else "{:.2f} / {:.2f} / {:.1f} / {:.0f}".format(*one) for one in base.values()]
    asked = sum({row["set"]: row["n"] for row in rows if row["method"] == method and row["set"] != REAL}.values())
    lines = [
        f"| turned back | {' | '.join(heads)} |",
        f"|---|{'---|' * len(models)}",
        f"| ours, {asked} questions | {' | '.join(ours)} |",
    ]
    titles = {one.name: f"`{one.name}`" + " …" * (len(one.settings) > 1) for one in DEPARTURES[method]}
    for departure, title in {**titles, ALL: f"all: `{ALL}`"}.items():
        cells = [cell(means(rows, method, departure, model), base[model]) for model in models]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    for seed in SEEDS:
        cells = [cell(means(rows, method, NONE, model, seed), base[model]) for model in models]
        lines.append(f"| (ours, seed {seed}) | {' | '.join(cells)} |")
    return lines


def page(text: str, rows: Sequence[Row]) -> str:
    """A text whose tables of figures, in the order of the methods, are those of the results."""
    tables = iter(DEPARTURES)
    return FIGURES.sub(lambda _: "\n".join(table(rows, next(tables))), text)


def main() -> int:
    """Ask what is asked for, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the data sets' folders")
    parser.add_argument("--kb", action="append", default=[], metavar="SET=FOLDER", help="knowledge base of a set")
    parser.add_argument(
        "--methods", type=lambda text: text.split(","), default=list(DEPARTURES), help="default: all four"
    )
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="departures (default: all)")
    parser.add_argument("--real", metavar="MODEL", help="ask a real model, and no perfect chooser")
    parser.add_argument(
        "--recording",
        type=Path,
        default=RESULTS.with_name("real_model.jsonl"),
        help="its replies (default %(default)s)",
    )
    parser.add_argument("--per-type", type=int, default=2, help="its questions of each type (default %(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="default %(default)s")
    parser.add_argument("--page", action="store_true", help="ask nothing; write the tables of docs/departures.md")
    args = parser.parse_args()
    store = Store(args.results)
    if args.page:
        PAGE.write_text(page(PAGE.read_text("utf-8"), store.rows), "utf-8")
    elif args.real:
        ask_real(args, store)
    else:
        ask_choosers(args, store)
    return 0


if __name__ == "__main__":
    sys.exit(main())
