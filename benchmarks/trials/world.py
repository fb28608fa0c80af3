"""The knowledge base, the questions and the model that trials ask."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes import FakeModel
from graphs.cases import AMERICA, CASES, PASSAGES, Case
from model_server import ModelServer

from trials.commands import Command, Done

METHODS = ("tog2", "fasttog", "fiske", "coggrag")
MODEL = "openai:test"


def write_sources(folder: Path) -> tuple[Path, Path]:
    """The triples and passages of the knowledge base, as files to build it from."""
    rows, passages = folder / "rows.tsv", folder / "passages.jsonl"
    rows.write_text("".join("\t".join(row) + "\n" for row in AMERICA), "utf-8")
    passages.write_text("".join(json.dumps(one) + "\n" for one in PASSAGES), "utf-8")
    return rows, passages


def build(folder: Path) -> Path:
    """The knowledge base, in a folder."""
    from thinkgraph.ingest.build import build_kb

    target = folder / "kb"
    if not target.exists():
        rows, passages = write_sources(folder)
        build_kb(target, triples=[rows], passages=[passages])
    return target


def model_of(case: Case) -> FakeModel:
    """The model that leads through a case."""
    return FakeModel(case.replies)


@dataclass(frozen=True)
class Asking:
    """A question that is asked by commands, with a home of its own."""

    kb: Path
    home: Path
    case: Case
    server: ModelServer
    busy: bool = False
    """Whether the question is asked that fans out and finds nothing."""
    settings: tuple[str, ...] = ()

    def _start(self, *arguments: object) -> Command:
        env = {"OPENAI_BASE_URL": self.server.base_url, "OPENAI_API_KEY": "none", "THINKGRAPH_HOME": str(self.home)}
        return Command(arguments, self.home, env).start()

    def ask(self) -> Command:
        """`thinkgraph ask`."""
        case = self.case
        values: dict[str, Any] = {**case.settings, **(case.busy if self.busy else {})}
        given = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in values.items()]
        sets = [word for one in (*given, *self.settings) for word in ("--set", one)]
        question = case.other_question if self.busy else case.question
        return self._start(
            "ask",
            question,
            "--kb",
            self.kb,
            "--model",
            MODEL,
            "--method",
            case.method,
            "--thread",
            "t",
            "--json",
            *sets,
        )

    def resume(self) -> Command:
        """`thinkgraph resume`, or `ask` where nothing is known of the run yet."""
        return self._start("resume", "t", "--json") if self._begun() else self.ask()

    def _begun(self) -> bool:
        path = self.home / "runs.sqlite"
        if not path.exists():
            return False
        with closing(sqlite3.connect(path)) as db:
            try:
                return bool(db.execute("SELECT count(*) FROM run").fetchone()[0])
            except sqlite3.OperationalError:  # killed before the table was made
                return False


def answer_of(done: Done) -> dict[str, Any] | None:
    """The answer that a command printed; None where it printed none."""
    try:
        found: dict[str, Any] = json.loads(done.out)
    except ValueError:
        return None
    return found


def case_of(method: str) -> Case:
    """The method's case."""
    return CASES[method]


def drawn(*words: object) -> random.Random:
    """The same numbers for the same words."""
    return random.Random(" ".join(map(str, words)))


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that goes away."""
    with tempfile.TemporaryDirectory(prefix="thinkgraph-trial-", dir=os.environ.get("TMPDIR")) as name:
        yield Path(name)
