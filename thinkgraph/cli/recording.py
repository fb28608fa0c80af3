"""`ask --record FILE` and `--replay FILE`: every exchange of a run with models and stores, kept and repeated."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from thinkgraph.cli.options import open_models
from thinkgraph.errors import UsageError
from thinkgraph.plot.save import check_place
from thinkgraph.tools.addresses import redacted

if TYPE_CHECKING:
    from thinkgraph.cli.runs import RunOptions
    from thinkgraph.models.recorded import Recording
    from thinkgraph.models.roles import Models
    from thinkgraph.tools.knowledge import Knowledge


_ABOUT = frozenset({"question", "method", "settings", "kb", "text", "knowledge"})
"""What a recording says its run was started with."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two flags."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--record", metavar="FILE", help="keep every exchange with models and stores in a new file")
    group.add_argument(
        "--replay",
        metavar="FILE",
        help="repeat the run of a file, without its models and stores; no QUESTION is needed",
    )


def check(args: argparse.Namespace) -> None:
    """Refuse what cannot be recorded.

    Raises:
        UsageError: the file is there or cannot be written, or roles have models of their own.
    """
    if args.record is None:
        return
    if Path(args.record).exists():
        raise UsageError(f"{args.record} exists: name another file to record into")
    check_place(Path(args.record), "recording")
    if not isinstance(args.model, str):
        raise UsageError("--record takes one model for all roles: name it with --model")


def check_replay(args: argparse.Namespace) -> None:
    """Refuse flags that a repeated run or an estimate would not heed; asked before the configuration fills them in.

    Raises:
        UsageError: one is given with --replay or --estimate.
    """
    of_runs = {name: getattr(args, name) for name in ("record", "replay", "plot", "thread", "replace")}
    runs = [f"--{name}" for name, value in of_runs.items() if value not in (None, False)]
    if args.estimate and runs:
        raise UsageError(f"--estimate says what a new run would cost, and runs nothing: leave {', '.join(runs)} out")
    given = [f"--{name}" for name in ("method", "set", "model", "kb", "text") if getattr(args, name)]
    if args.replay is not None and given:
        raise UsageError(f"--replay repeats a run as it was started: leave {', '.join(given)} out")


def of(path: str) -> Recording:
    """A run's recording, to be repeated.

    Raises:
        UsageError: there is none, it is damaged, or it holds the replies of models only.
    """
    from thinkgraph.models.recorded import Recording

    recording = Recording(Path(path))
    about = recording.about
    if not recording.model:
        raise UsageError(f"{path} is empty: nothing was recorded in it")
    if about and not (isinstance(about, dict) and about.keys() >= _ABOUT):
        raise UsageError(f"{path}, line 1: not what a run was started with; the recording is damaged")
    if not about:
        raise UsageError(f"{path} holds replies of a model, not a whole run: use it with --model replay:{path}")
    return recording


def started_with(recording: Recording, asked: str | None, options: RunOptions) -> tuple[str, RunOptions]:
    """The question and the options of a recorded run; prompts may be others than then.

    Raises:
        UsageError: another question was given.
    """
    about = recording.about
    if asked is not None and asked != about["question"]:
        raise UsageError(f"{recording.path} answers another question ({about['question'][:60]!r}): leave QUESTION out")
    then = {name: about[name] for name in ("method", "settings", "kb", "text")}
    return about["question"], cast("RunOptions", {**options, **then, "model": f"replay:{recording.path.absolute()}"})


def begin(path: str, question: str, options: RunOptions, knowledge: Knowledge) -> tuple[Knowledge, Models]:
    """Knowledge and models whose exchanges are kept in a new file."""
    from thinkgraph.models.recorded import Recording
    from thinkgraph.runtime.replay import recorded

    about: dict[str, Any] = {
        "question": question,
        "method": options["method"],
        "settings": options["settings"],
        "kb": redacted(options["kb"]),
        "text": options["text"],
        "knowledge": {
            "name": knowledge.name,
            "fingerprint": knowledge.fingerprint,
            "empty": knowledge.empty,
            "text": knowledge.text is not None,
            "embedder": knowledge.embedder.name,
        },
    }
    kept = Recording(Path(path), str(options["model"]), about)
    found = recorded(knowledge, kept)
    models = open_models(options["model"], found, prices=options["prices"], recording=kept)
    # A missing key is refused now: the first look-up would begin the file, which the same command refuses from then on.
    models.check()
    return found, models


def repeat(recording: Recording, options: RunOptions) -> tuple[Knowledge, Models]:
    """Knowledge and models out of a recording."""
    from thinkgraph.runtime.replay import replayed

    found = replayed(recording)
    return found, open_models(options["model"], found, prices=options["prices"])
