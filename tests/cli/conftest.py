"""A small knowledge base, a model server that answers sensibly, and the command line in and out of this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from graphs.cases import ROWS
from model_server import ModelServer

from thinkgraph.cli.main import main
from thinkgraph.ingest.build import build_kb
from thinkgraph.models.offline import OfflineChatModel

QUESTION = "What is the capital of Panama?"
ANSWER = "Panama City"
MODEL = "openai:test"
PROGRAM = [sys.executable, "-P", "-m", "thinkgraph"]
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line of the error: exactly one, and no traceback."""
        lines = [line for line in self.err.splitlines() if "error:" in line]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        assert "internal error" not in self.err
        return lines[0]


Run = Callable[..., Done]


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment of a subprocess: this one's (keys are gone from it), and changes; None takes a name away."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    found: dict[str, str | None] = {**os.environ, "PYTHONPATH": path, **(changes or {})}
    return {name: value for name, value in found.items() if value is not None}


@pytest.fixture(scope="session")
def kb(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A knowledge base without passages: nothing loads a sentence encoder for it."""
    folder = tmp_path_factory.mktemp("kb")
    (folder / "rows.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS), "utf-8")
    build_kb(folder / "small", triples=[folder / "rows.tsv"])
    return str(folder / "small")


@pytest.fixture(scope="session")
def offline_server() -> Iterator[ModelServer]:
    """A server whose answers are the offline model's."""
    with ModelServer(chat_model=OfflineChatModel()) as server:
        yield server


@pytest.fixture
def served(offline_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """That server, as the one OPENAI_BASE_URL names."""
    use_server(offline_server, monkeypatch)
    return offline_server


def use_server(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let OPENAI_BASE_URL name a server."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)


@pytest.fixture
def home() -> Path:
    """Where this test's runs are kept."""
    return Path(os.environ["THINKGRAPH_HOME"])


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process."""

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def process() -> Run:
    """The command in a process of its own."""

    def run(
        *arguments: str,
        text: bytes = b"",
        env: Mapping[str, str | None] | None = None,
        program: Sequence[str] = PROGRAM,
    ) -> Done:
        done = subprocess.run(
            [*program, *arguments], input=text, env=environment(env), capture_output=True, timeout=120, check=False
        )
        return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    return run


@pytest.fixture
def ask(cli: Run, kb: str, served: ModelServer) -> Run:
    """`ask` over the small knowledge base with the served model, in this process."""

    def run(question: str = QUESTION, *arguments: str) -> Done:
        return cli("ask", question, "--kb", kb, "--model", MODEL, "--set", "ranker=bm25", *arguments)

    return run
