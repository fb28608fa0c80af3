"""The `thinkgraph` command. Commands are imported only when they run, so that `--help` answers at once."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import os
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from thinkgraph.cli.show import heed_sigterm, stopped_code, write_line
from thinkgraph.errors import ThinkGraphError, UsageError
from thinkgraph.prompts.lines import one_line
from thinkgraph.version import VERSION

COMMANDS = {
    "ask": "answer a question, with live progress and cited evidence",
    "resume": "go on with a run that was stopped or killed",
    "runs": "list, remove, prune or export runs",
    "kb": "build a knowledge base from files, look at one, or load it into a server",
    "doctor": "check the installation, a knowledge base and a model",
    "compare": "ask one question with all methods, side by side",
    "batch": "answer a file of questions, resumable, here or on a server",
    "ui": "open the page: ask, watch a run think, see what its answer stands on",
    "mcp": "serve questions and look-ups to MCP clients, on standard input and output",
    "export": "write training data for a model of your own, from gold paths",
    "g2t": "train a graph-to-text model, or look at what one writes",
    "ablation": "run the settings of a paper's table or figure over a question file",
    "bench": "run a question file over methods and print a table",
}
_MODULES = {
    "kb": "thinkgraph.cli.kb.command",
    "bench": "thinkgraph.cli.bench.command",
    "ablation": "thinkgraph.cli.bench.ablation",
    "compare": "thinkgraph.cli.bench.compare",
    "ui": "thinkgraph.ui.command",
    "export": "thinkgraph.cli.training.export",
    "g2t": "thinkgraph.cli.training.g2t",
}
"""Where a command lies, if not in the file of its name in this folder."""
INTERNAL_ERROR = 70
STDERR = 2


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line that says what to do, and whose help is written as answers are."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {one_line(message)} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is sys.stdout:
            # argparse passes over a full disk, and fails where the encoding lacks a character.
            write_line(message.removesuffix("\n"))
            sys.stdout.flush()
        else:
            super()._print_message(message, file)


def _parser(command: str | None) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="thinkgraph",
        description="Answer multi-hop questions over a knowledge graph and the documents about its entities.",
    )
    parser.add_argument("--version", action="version", version=f"thinkgraph {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, summary in COMMANDS.items():
        added = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == command:
            _module(name).add_arguments(added)
    return parser


def _module(command: str) -> Any:
    return importlib.import_module(_MODULES.get(command, f"thinkgraph.cli.{command}"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = next((word for word in arguments if word in COMMANDS), None)
    try:
        parsed = _parser(command).parse_args(arguments)
        code = int(_module(parsed.command).run(parsed))
        # Now, not at exit: a reader who has gone, or a full disk, is an error like others.
        sys.stdout.flush()
    except KeyboardInterrupt as stop:
        return _fail("interrupted", stopped_code(stop))
    except BrokenPipeError:
        _give_up_stdout()
        return 1
    except Exception as error:
        if os.environ.get("THINKGRAPH_DEBUG"):
            raise
        return _fail(*_explained(error))
    return code


def _explained(error: Exception) -> tuple[str, int]:
    """The line of an error, and its exit code."""
    if isinstance(error, ThinkGraphError):
        return str(error), error.exit_code
    name = error.__class__.__name__
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        # Of `Path.expanduser`, which every command has paths for.
        return "a path begins with ~ and a name that has no home here: write it out", UsageError.exit_code
    if isinstance(error, OSError | sqlite3.Error):
        return f"{name}: {error}; check free space and permissions", 1
    return f"internal error ({name}: {error}); set THINKGRAPH_DEBUG=1 for the traceback", INTERNAL_ERROR


def _open_streams() -> bool:
    """Put the null device where the shell closed a stream (`2>&-`), so that no file of ours takes its number.

    Returns:
        False if standard output was closed.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    os.close(number)
    written = sys.stdout is not None
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open until the process ends
    return written


def _give_up_stdout() -> None:
    """Whoever read the output has gone, or its disk is full: Python must not complain of it again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_stdout()
    with contextlib.suppress(OSError):
        # Errors quote names and replies that others wrote.
        print(f"thinkgraph: error: {one_line(message)}", file=sys.stderr)  # noqa: T201 - this is the terminal
    return code


def entry() -> NoReturn:
    """Console script."""
    if not _open_streams():
        sys.exit(_fail("standard output is closed: there is nowhere to write an answer to", 1))
    heed_sigterm()
    code = main()
    # Before it ends Python looks for garbage in all it imported: a sixth of a short command's time. What PyTorch imports (nanobind)
    # calls all that is left then a leak, on stderr.
    if "torch" not in sys.modules:
        gc.freeze()
    sys.exit(code)
