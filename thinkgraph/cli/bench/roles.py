"""`thinkgraph bench roles`: single calls with a known outcome, put to one or several models, as a table by role."""

from __future__ import annotations

import argparse
import functools
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from thinkgraph.cli.options import (
    add_flags,
    configured,
    model_name,
    names_in,
    open_knowledge,
    open_models,
    place,
)
from thinkgraph.cli.show import LineProgress, leaving_at_once, many, write_rows
from thinkgraph.config import parse_settings
from thinkgraph.errors import UsageError
from thinkgraph.eval.files import make_folder, read_text
from thinkgraph.eval.questions import Question
from thinkgraph.eval.roles.main_path import HOLDS, MAIN_PATH
from thinkgraph.plot.save import check_place, write_whole

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from thinkgraph.eval.roles.cases import Case
    from thinkgraph.eval.roles.table import RoleRow
    from thinkgraph.models.roles import Models
    from thinkgraph.state.settings import RunSettings
    from thinkgraph.tools.knowledge import Knowledge
    from thinkgraph.tools.progress import Progress

_PATIENCE = 900.0
"""Seconds a call may take: a small model on a small machine needs minutes for a long prompt."""


def add_arguments(commands: Any) -> None:
    """Declare `bench roles`."""
    parser = commands.add_parser(
        "roles",
        help="measure a model role by role, one call at a time",
        description="Cases are made of gold paths: the methods run with the perfect chooser, and what their calls were filled "
        f"with is asked again, one call at a time, of the model. {HOLDS} What each figure counts: docs/measuring.md.",
    )
    parser.add_argument("--data", default="world", metavar="DATA", help="questions with gold paths (default world)")
    add_flags(
        parser,
        "model",
        help="provider:name, offline, perfect or perfect:0.1; several with commas, from small to large; default as elsewhere",
    )
    parser.add_argument(
        "--roles", metavar="ROLE[,ROLE]", default=",".join(MAIN_PATH), help="default: the main path, %(default)s"
    )
    parser.add_argument("--cases", type=int, default=20, metavar="N", help="cases a role (default %(default)s)")
    parser.add_argument(
        "--half",
        choices=("all", "choose", "hold-out"),
        default="all",
        help="of the questions: choose prompts by one half, report the other; they share no question (default all)",
    )
    add_flags(parser, "seed", help="of the draw of questions, calls and orders (default 0)")
    parser.add_argument("--save-cases", metavar="FILE", help="write the cases as JSON Lines")
    parser.add_argument("--cases-from", metavar="FILE", help="take the cases of such a file instead of making them")
    parser.add_argument(
        "--out", metavar="DIR", type=place, help="keep every reply there; the same command goes on where it was"
    )
    parser.add_argument(
        "--toml", metavar="FILE", help="write a thinkgraph.toml: each role with the first model that holds"
    )
    add_flags(
        parser,
        "set",
        help=f"a setting of calls, for example call_timeout=300 (default {_PATIENCE:.0f}), shots=0 or temperature_explore=0",
    )
    add_flags(parser, "kb", "text", "prices", "prompts")
    add_flags(parser, "json", help='print {"rows": [...]} instead of the table')


def run(args: argparse.Namespace) -> int:
    """Make the cases, ask, print."""
    from thinkgraph.eval.roles.asking import put_to
    from thinkgraph.eval.roles.cases import save_cases
    from thinkgraph.eval.roles.table import rows_of
    from thinkgraph.prompts.library import PromptLibrary

    given = args.model
    configured(args)
    names = split_names(given or model_name(None), "--model")
    prompts, settings = PromptLibrary(args.prompts), _settings(args)
    roles = _roles(args)
    folder = Path(args.out).expanduser() if args.out else None
    kept = f"; what was answered is in {folder}: the same command goes on from there" if folder else ""
    with (
        open_knowledge(args) as knowledge,
        leaving_at_once(f"interrupted{kept}"),
        LineProgress(sys.stderr) as progress,
    ):
        models = _models(names, args, knowledge)
        _check_toml(args, names, folder)
        cases = _cases(args, roles, knowledge, progress)
        if args.save_cases:
            save_cases(Path(args.save_cases).expanduser(), cases)
        sys.stderr.write(f"{many(len(cases), 'case')} of {many(len({c.role for c in cases}), 'role')}\n")
        put = functools.partial(
            put_to,
            cases=cases,
            knowledge=knowledge,
            prompts=prompts,
            settings=settings,
            folder=folder,
            progress=progress,
        )
        asked = {name: put(name, made) for name, made in models.items()}
    _print(rows_of(cases, asked, prompts), args, folder)
    return 0


def split_names(given: str, flag: str) -> list[str]:
    """The names in a list with commas, each once.

    Raises:
        UsageError: there is none.
    """
    names = names_in(given)
    if not names:
        raise UsageError(f"{flag} '{given}' names none")
    return names


def _roles(args: argparse.Namespace) -> list[str]:
    from thinkgraph.eval.roles.cases import sort_of
    from thinkgraph.eval.roles.sampling import can_have_cases
    from thinkgraph.prompts.library import PromptLibrary, builtin_roles

    if args.cases < 1:
        raise UsageError("--cases must be at least 1")
    roles = split_names(args.roles, "--roles")
    # Saved cases may be of one's own making.
    known = map(PromptLibrary().get, builtin_roles())
    measured = [one.role for one in known if sort_of(one) and (args.cases_from or can_have_cases(one))]
    if unknown := [role for role in roles if role not in measured]:
        raise UsageError(f"--roles: '{unknown[0]}' is no role that can be measured; these can: {', '.join(measured)}")
    return roles


def _settings(args: argparse.Namespace) -> RunSettings:
    """The settings of calls; no ceiling ends a bench of single calls."""
    from thinkgraph.state.settings import RunSettings, resolve_settings

    return resolve_settings(RunSettings, {"call_timeout": _PATIENCE, "max_calls": None, **parse_settings(args.set)})


def _questions(args: argparse.Namespace, knowledge: Knowledge) -> list[Question]:
    """The questions, all of them: perfect choosers must know those of cases that were saved."""
    from thinkgraph.eval.datasets import read_dataset
    from thinkgraph.eval.datasets.ids import named

    return named(read_dataset(args.data)[1], knowledge.graph)


def _models(names: Sequence[str], args: argparse.Namespace, knowledge: Knowledge) -> dict[str, Models]:
    """The models by name; a malformed name, or a missing key, is refused before any is asked."""
    from thinkgraph.eval.bench_setup import bench_model, is_perfect

    found = {}
    for name in names:
        questions = _questions(args, knowledge) if is_perfect(name) else []
        model = bench_model(name, questions, knowledge, seed=args.seed)
        found[name] = open_models(model, knowledge, prices=args.prices)
        found[name].check()
    return found


def _cases(args: argparse.Namespace, roles: Sequence[str], knowledge: Knowledge, progress: Progress) -> list[Case]:
    from thinkgraph.eval.bench_setup import PERFECT, bench_model
    from thinkgraph.eval.roles.cases import first_of_each, read_cases
    from thinkgraph.eval.roles.sampling import in_turn, make_cases

    if args.cases_from:
        cases = first_of_each(read_cases(Path(args.cases_from).expanduser()), roles, args.cases)
    else:
        questions = _questions(args, knowledge)
        chooser = cast("BaseChatModel", bench_model(PERFECT, questions, knowledge))
        asked = in_turn(questions, half=args.half, seed=args.seed)
        cases = make_cases(
            asked, roles, knowledge=knowledge, chooser=chooser, cases=args.cases, seed=args.seed, progress=progress
        )
    counts = Counter(case.role for case in cases)
    if few := [f"{role} has {counts[role]}" for role in roles if counts[role] < args.cases]:
        sys.stderr.write(f"fewer cases than the {args.cases} asked for: {', '.join(few)}\n")
    return cases


def _check_toml(args: argparse.Namespace, names: Sequence[str], folder: Path | None) -> None:
    """Refuse a --toml that cannot be written, or may not, before the calls whose result it is to hold."""
    from thinkgraph.eval.bench_setup import is_perfect
    from thinkgraph.eval.roles.table import TOML_HEAD

    if not args.toml:
        return
    if all(map(is_perfect, names)):
        raise UsageError("--toml names models for runs, and a perfect chooser is none: leave it out")
    if folder:
        make_folder(folder)
    file = check_place(Path(args.toml).expanduser(), "configuration")
    if file.is_file() and (text := read_text(file)) and not text.startswith(TOML_HEAD):
        raise UsageError(f"{file} holds a configuration of your own: name another file for --toml")


def _print(rows: list[RoleRow], args: argparse.Namespace, folder: Path | None) -> None:
    from thinkgraph.eval.bench_setup import is_perfect
    from thinkgraph.eval.roles.table import render, toml, verdicts

    text = "\n".join([render(rows), "", *verdicts(rows), HOLDS])
    write_rows(rows, text, as_json=args.json, keep=folder and folder / "table")
    if args.toml:
        named = toml([row for row in rows if not is_perfect(row["model"])])
        write_whole(Path(args.toml).expanduser(), named, "configuration")
