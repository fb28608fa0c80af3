"""`thinkgraph export training`: chat messages with their right replies, to fine-tune a model of one's own."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.cli.options import KB, add_flags, check_numbers, configured, method_names, open_knowledge, open_models
from thinkgraph.cli.show import LineProgress, leaving_at_once, many, write_result
from thinkgraph.config import parse_settings
from thinkgraph.errors import UsageError
from thinkgraph.eval.questions import Question, question_row
from thinkgraph.tools.addresses import redacted

if TYPE_CHECKING:
    from thinkgraph.state.settings import RunSettings
    from thinkgraph.tools.knowledge import Knowledge
    from thinkgraph.tools.progress import Progress
    from thinkgraph.training.chat.card import DataReport

_TRAINING = """The methods run with the perfect chooser over questions with gold paths. Every call is kept with its right reply, role by
role, in train/ROLE.jsonl and test/ROLE.jsonl; README.md counts them. An export that was stopped goes on when the same command is
given again. docs/howto/training.md goes on from there."""
_MOST = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `export training`."""
    commands = parser.add_subparsers(dest="export_command", metavar="COMMAND", required=True)
    training = commands.add_parser("training", help="data to fine-tune a model on", description=_TRAINING)
    training.add_argument("folder", metavar="DIR", type=Path, help="the data's folder; made by the export")
    asked = training.add_mutually_exclusive_group(required=True)
    asked.add_argument(
        "--data", metavar="DATA", help="questions with gold paths, as in `bench`: 'world', a file, NAME:FILE"
    )
    asked.add_argument("--generate", metavar="N", type=int, help="make N questions of the graph's own paths")
    training.add_argument(
        "--topic",
        metavar="NAME",
        action="append",
        default=[],
        help="with --generate: a name to begin with; may be repeated",
    )
    add_flags(
        training,
        "model",
        help="with --generate: a model that puts the questions into better words (default: none does)",
    )
    training.add_argument(
        "--methods",
        metavar="NAME[,NAME]",
        type=method_names,
        default=[],
        help="methods whose calls are kept (default: all)",
    )
    training.add_argument(
        "--test", metavar="SHARE", type=float, default=0.1, help="share for the test (default %(default)s)"
    )
    add_flags(training, "limit", "seed")
    add_flags(
        training,
        "set",
        help="a setting of calls: prompt_profile=standard (default small), shots=0 (default 2); may be repeated",
    )
    add_flags(training, *KB, "prompts")
    training.add_argument("--replace", action="store_true", help="make an export that is there anew")
    add_flags(training, "json", help="print the counts as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Export, and say what was written."""
    from thinkgraph.eval.bench_setup import data_name
    from thinkgraph.prompts.library import PromptLibrary
    from thinkgraph.training.chat.export import ExportPlan, export, roles_of

    _check(args)
    model = args.model
    configured(args)
    roles_of(args.methods)
    settings, out = _settings(args), args.folder.expanduser()
    with (
        open_knowledge(args) as knowledge,
        leaving_at_once("interrupted; the same command goes on where it stopped"),
        LineProgress(sys.stderr) as progress,
    ):
        questions, told = _asked(args, model, knowledge, settings, progress)
        plan = ExportPlan(
            knowledge=knowledge,
            questions=questions,
            of=told,
            methods=args.methods,
            prompts=PromptLibrary(args.prompts),
            settings=settings,
            test=args.test,
            seed=args.seed,
            command=_command(args, model),
            data=data_name(args.data) if args.data else "made of the graph's own paths",
        )
        report = export(plan, out, replace=args.replace, progress=progress)
    write_result(report, _line(report, out), as_json=args.json)
    return 0


def _check(args: argparse.Namespace) -> None:
    check_numbers(args)
    if not 0 <= args.test < 1:
        raise UsageError("--test must be at least 0 and less than 1")
    if args.generate is not None and not 1 <= args.generate <= _MOST:
        raise UsageError(f"--generate must be from 1 to {_MOST}")
    if args.data and (args.topic or args.model):
        raise UsageError("--topic and --model belong to --generate: questions of --data stay as they are")
    if args.generate and args.limit:
        raise UsageError("--limit belongs to --data: --generate makes as many as it says")


def _settings(args: argparse.Namespace) -> RunSettings:
    from thinkgraph.state.settings import RunSettings, resolve_settings

    return resolve_settings(RunSettings, {"prompt_profile": "small", "max_calls": None, **parse_settings(args.set)})


def _asked(
    args: argparse.Namespace, model: str | None, knowledge: Knowledge, settings: RunSettings, progress: Progress
) -> tuple[Callable[[Path], Sequence[Question]], list[Any]]:
    """What gives the questions, and what tells them from others. Of a file they are read now: its faults cost no time."""
    from thinkgraph.eval.bench_setup import load_questions
    from thinkgraph.eval.datasets.ids import named

    if args.data:
        given = named(load_questions(args.data, args.limit), knowledge.graph)
        return (lambda _folder: given), [question_row(question) for question in given]

    models = open_models(model, knowledge) if model else None
    if models:
        # A missing key is refused now.
        models.check()

    def make(folder: Path) -> Sequence[Question]:
        from thinkgraph.training.chat.paths import made_questions
        from thinkgraph.training.chat.rewording import reworded

        made = made_questions(knowledge.graph, args.generate, seed=args.seed, topics=args.topic, progress=progress)
        if len(made) < args.generate:
            sys.stderr.write(f"the paths of this graph that were walked make only {many(len(made), 'question')}\n")
        if model is None or models is None:
            return made
        return reworded(made, model, models, knowledge, settings, folder=folder / "reworded", progress=progress)

    return make, [args.generate, args.topic, model]


def _command(args: argparse.Namespace, model: str | None) -> str:
    """The command that makes the same data, without paths and passwords of this machine."""
    from thinkgraph.eval.bench_setup import data_name

    def told(place: str) -> str:
        return redacted(place) if "://" in place else Path(place).name

    words = ["thinkgraph", "export", "training", args.folder.name, "--kb", told(str(args.kb))]
    for flag, place in (("--text", args.text), ("--prompts", args.prompts)):
        words += [flag, told(str(place))] if place else []
    words += ["--data", data_name(args.data)] if args.data else ["--generate", str(args.generate)]
    words += [word for topic in args.topic for word in ("--topic", topic)]
    words += ["--model", model] if model else []
    words += ["--methods", ",".join(args.methods)] if args.methods else []
    words += ["--limit", str(args.limit)] if args.limit else []
    words += [word for setting in args.set for word in ("--set", setting)]
    return shlex.join([*words, "--test", str(args.test), "--seed", str(args.seed)])


def _line(report: DataReport, out: Path) -> str:
    roles = len({key.split()[1] for key in report["counts"]})
    return (
        f"{out}: {many(report['train'], 'record')} to learn from and {report['test']:,} for the test, of {many(roles, 'role')}; "
        f"{many(report['dropped'], 'question')} dropped that share a topic or an answer with the test"
    )
