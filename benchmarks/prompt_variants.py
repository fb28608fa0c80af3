"""Variants of prompts, each put to the same cases of a real model: what the headers of the prompt files were decided by.

    ./tg bench roles --model perfect --cases 12 --half choose --save-cases choose.jsonl
    ./tg python benchmarks/prompt_variants.py --model openai:qwen2.5-coder-1.5b --cases choose.jsonl --out DIR

A variant is the built-in prompt with another style for small models (thinkgraph/prompts/files.py says what a header may set), with
its rules repeated after the input, with other settings of the call, or without a schema that the server enforces. Every reply is kept
in --out: the same command goes on after a kill. The table is Markdown, a section a role; what each figure counts: docs/measuring.md.
Cases of roles that `bench roles` does not measure, and what their figures count: benchmarks/written.py.
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import chain
from pathlib import Path
from statistics import fmean, median
from typing import Any, cast

import yaml
from written import WRITTEN, scores

from thinkgraph.cli.show import LineProgress
from thinkgraph.eval.roles.asking import Asked, put_to
from thinkgraph.eval.roles.cases import Case, first_of_each, read_cases, sort_of
from thinkgraph.eval.roles.main_path import MAIN_PATH
from thinkgraph.eval.roles.table import rows_of
from thinkgraph.models.roles import Models
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.state.settings import RunSettings, resolve_settings
from thinkgraph.tools.knowledge import Knowledge

PATIENCE = 900.0
COLUMNS = ("readable", "recall", "precision", "none", "same", "can", "must", "right", "wrong", "kept", "true")
Figures = Mapping[str, Any]
"""Shares by their name; None, or missing, where no case tells one."""


@dataclass(frozen=True)
class Variant:
    """One way to ask."""

    name: str
    style: Mapping[str, Any] = field(default_factory=dict)
    """Of small models, over the file's own."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    free: bool = False
    """Whether the form is asked for in words alone."""
    again: bool = False
    """Whether the rules stand after the input too."""


BOTH = (
    Variant("as it stands"),
    Variant("arrows", {"lines": "arrows"}),
    Variant("statements", {"lines": "plain"}),
    Variant("question first", {"last": ""}),
    Variant("question last", {"last": "question"}),
    Variant("no example", settings={"shots": 0}),
    Variant("one example", settings={"shots": 1}),
    Variant("a sentence why first", {"form": {"explain": True}}),
    Variant("named numbers", {"form": {"named": True}}),
    Variant("numbers, best first", {"form": {"ranked": True}}),
    Variant("numbers, a sentence why first", {"form": {"ranked": True, "explain": True}}),
    Variant("10 options", {"options": 10}),
    Variant("10 options, numbers, best first", {"options": 10, "form": {"ranked": True}}),
    Variant("10 options, numbers, a sentence why first", {"options": 10, "form": {"ranked": True, "explain": True}}),
    Variant("5 options", {"options": 5}),
    Variant("5 options, numbers, best first", {"options": 5, "form": {"ranked": True}}),
    Variant("no schema", free=True),
    Variant("rules again at the end", again=True),
)
JUDGING = (
    Variant("evidence, answers, sufficient", {"form": {"order": "evidence first"}}),
    Variant("sufficient, answers, evidence", {"form": {"order": "verdict first"}}),
    Variant("steps first", {"form": {"steps": True}}),
)
VARIANTS = {variant.name: variant for variant in (*BOTH, *JUDGING)}


def folder_of(role: str, variant: Variant, root: Path) -> Path:
    """A folder with the role's built-in prompt as a variant has it."""
    method, _, name = role.partition(".")
    text = resources.files("thinkgraph.prompts").joinpath(method, f"{name}.prompt").read_text("utf-8")
    _, header, body = text.split("---\n", 2)
    said = yaml.safe_load(header)
    said["small"] = {**said.get("small", {}), **variant.style}
    if variant.again:
        rules = "\n".join(line for line in body.partition("=== user")[0].splitlines() if line.startswith("- "))
        asked, example, examples = body.partition("=== example")
        body = f"{asked}\n{rules}\n{example}{examples}"
    path = root / method / f"{name}.prompt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{yaml.safe_dump(said)}---\n{body}", "utf-8")
    return root


def ask(
    variant: Variant,
    role: str,
    cases: Sequence[Case],
    args: argparse.Namespace,
    knowledge: Knowledge,
    progress: LineProgress,
) -> Figures:
    """The figures of one variant."""

    def offline() -> Any:
        raise AssertionError("a real model is asked")

    models = Models(args.model, offline=offline)
    if variant.free:
        for client in models.clients():
            client.refused |= {"schema"}
    settings = resolve_settings(
        RunSettings, {"call_timeout": PATIENCE, "max_calls": None, "temperature_explore": 0.0, **variant.settings}
    )
    out = args.out / role / variant.name.replace(" ", "_").replace(",", "")
    with tempfile.TemporaryDirectory() as place:
        prompts = PromptLibrary(folder_of(role, variant, Path(place)))
        put = functools.partial(put_to, args.model, models, cases, knowledge=knowledge, folder=out, progress=progress)
        asked = put(prompts=prompts, settings=settings)
    if role in WRITTEN:
        return written_row(cases, asked)
    return cast("Figures", rows_of(cases, {args.model: asked}, prompts)[0])


def written_row(cases: Sequence[Case], asked: Sequence[Asked]) -> Figures:
    """The figures of a role whose replies are scored in benchmarks/written.py."""
    known = {case.id: case for case in cases}
    scored = [scores(known[one["id"]], one["value"]) for one in asked]
    at_once = [one["value"] is not None and len(one["replies"]) == 1 for one in asked]
    means = {
        name: fmean(each[name] for each in scored if name in each)
        for name in dict.fromkeys(chain.from_iterable(scored))
    }
    tokens = {name: fmean(one[name] for one in asked) for name in ("input_tokens", "output_tokens")}  # type: ignore[literal-required]
    return {"readable": fmean(at_once), **means, **tokens, "seconds": median(one["seconds"] for one in asked)}


def table(role: str, rows: Mapping[str, Figures]) -> str:
    """A role's variants as Markdown."""
    names = [name for name in COLUMNS if any(row.get(name) is not None for row in rows.values())]
    lines = [
        f"### {role}",
        "",
        f"| variant | {' | '.join(names)} | tokens in / out | s |",
        "|---" * (len(names) + 3) + "|",
    ]
    for name, row in rows.items():
        shares = ["" if (share := row.get(one)) is None else f"{share:.2f}" for one in names]
        tokens = f"{row['input_tokens']:.0f} / {row['output_tokens']:.0f}"
        lines.append(f"| {name} | {' | '.join(shares)} | {tokens} | {row['seconds']:.1f} |")
    return "\n".join(lines)


def main() -> int:
    """Ask, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="provider:name")
    parser.add_argument("--cases", type=Path, required=True, help="file of cases that `bench roles --save-cases` wrote")
    parser.add_argument("--most", type=int, default=12, help="cases a role (default %(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="folder of the replies")
    parser.add_argument("--roles", default=",".join(MAIN_PATH), help="by commas (default: the main path)")
    parser.add_argument("--variants", help=f"by semicolons, of: {'; '.join(VARIANTS)}")
    args = parser.parse_args()
    every, prompts = read_cases(args.cases), PromptLibrary()
    with Knowledge.open("world") as knowledge, LineProgress(sys.stderr) as progress:
        for role in args.roles.split(","):
            cases = first_of_each(every, [role], args.most)
            judges = sort_of(prompts.get(role)) == "judging"
            fitting = (*BOTH, *JUDGING) if judges else BOTH
            wanted = [VARIANTS[name] for name in args.variants.split(";")] if args.variants else fitting
            put = functools.partial(ask, role=role, cases=cases, args=args, knowledge=knowledge, progress=progress)
            rows = {variant.name: put(variant) for variant in wanted if variant in fitting}
            sys.stdout.write(table(role, rows) + "\n\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
