"""The real `langgraph dev` over HTTP: one for all tests of this folder, and others that a test may stop and kill."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import MODEL, environment
from graphs.cases import PASSAGES, ROWS
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from model_server import ModelServer, ServedCall
from replies import Answer, Reply

from thinkgraph.ingest.build import build_kb
from thinkgraph.models.offline import OfflineChatModel

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
OTHER = "What is the capital of Colombia?"
BM25 = {"ranker": "bm25"}


@dataclass
class Model:
    """The offline model, told to answer otherwise now and then."""

    instead: list[Callable[[ServedCall], Answer | None]] = field(default_factory=list)
    """Asked first; one that gives an answer is used up."""
    offline: OfflineChatModel = field(default_factory=OfflineChatModel)

    def __call__(self, call: ServedCall) -> Answer:
        for script in self.instead:
            found = script(call)
            if found is not None:
                self.instead.remove(script)
                return found
        return Reply(str(self.offline.invoke([(m["role"], m["content"]) for m in call.messages]).text))


@dataclass
class Dev:
    """A running server."""

    client: SyncLangGraphClient
    log: Path
    folder: Path
    model: Model
    models: ModelServer
    url: str

    def ask(self, thread: str | None, question: str | None, **context: Any) -> dict[str, Any]:
        """Run to the end; question None goes on with what the thread holds."""
        start = None if question is None else {"question": question}
        found: Any = self.client.runs.wait(thread, "tog2", input=start, context={**BM25, **context})
        assert isinstance(found, dict)
        return found

    def thread(self) -> str:
        return str(self.client.threads.create()["thread_id"])

    def answered(self, since: int) -> list[str]:
        """The prompts of calls that got a reply."""
        return [json.dumps(call.messages) for call in self.models.calls[since:] if call.status == 200]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 180
    while True:
        try:
            with urllib.request.urlopen(f"{url}/ok", timeout=5):  # noqa: S310 - our own server
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            assert process.poll() is None, log.read_text("utf-8", "replace")
            assert time.monotonic() < end, log.read_text("utf-8", "replace")
            time.sleep(0.1)


@dataclass
class Running:
    """A process that serves."""

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it and whatever it started."""
        if self.process.poll() is None:
            if how == signal.SIGKILL:
                os.killpg(self.process.pid, how)
            else:
                self.process.send_signal(how)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(20)


@contextmanager
def serving(folder: Path, models: ModelServer, more: Mapping[str, str | None] | None = None) -> Iterator[Running]:
    """`langgraph dev` on the langgraph.json of a folder."""
    url = f"http://127.0.0.1:{_free_port()}"
    log = folder / "log"
    env = environment(
        {
            "OPENAI_BASE_URL": models.base_url,
            "OPENAI_API_KEY": None,
            "LANGSMITH_API_KEY": None,
            "THINKGRAPH_MODEL": MODEL,
            "THINKGRAPH_KB": str(folder / "kb"),
            "THINKGRAPH_UI_TOKEN": "the-page",
            **(more or {}),
        }
    )
    command = [str(Path(sys.executable).with_name("langgraph")), "dev", "--no-browser", "--no-reload"]
    # Else it works on one run at a time.
    command += ["--n-jobs-per-worker", "10"]
    with (
        log.open("ab") as out,
        subprocess.Popen(
            [*command, "--port", url.rpartition(":")[2]],
            cwd=folder,
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        running = Running(url, log, process)
        try:
            _wait(url, process, log)
            yield running
        finally:
            running.stop()


def project(folder: Path, config: Mapping[str, Any] | None = None) -> Path:
    """A folder with the small knowledge base and the repository's langgraph.json, with changes."""
    rows = [*ROWS, ("g1", "capital", "Tbilisi"), ("g2", "capital", "Atlanta")]
    (folder / "rows.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    # Two that have one name: a question about either is ambiguous.
    (folder / "entities.tsv").write_text("id\tlabel\ng1\tGeorgia\ng2\tGeorgia\n", "utf-8")
    (folder / "passages.jsonl").write_text("".join(json.dumps(passage) + "\n" for passage in PASSAGES), "utf-8")
    build_kb(
        folder / "kb",
        triples=[folder / "rows.tsv"],
        passages=[folder / "passages.jsonl"],
        entities=folder / "entities.tsv",
    )
    # The server works in the folder of langgraph.json and leaves .langgraph_api there.
    (folder / "thinkgraph").symlink_to(ROOT / "thinkgraph")
    own = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
    (folder / "langgraph.json").write_text(json.dumps({**own, **(config or {})}), "utf-8")
    return folder


@pytest.fixture(scope="session")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    folder = project(tmp_path_factory.mktemp("dev"))
    model = Model()
    with ModelServer(model) as models, serving(folder, models) as running, get_sync_client(url=running.url) as client:
        yield Dev(client, running.log, folder, model, models, running.url)


def nothing_blocked(dev: Dev) -> None:
    """Assert that no call held the server's event loop up to now."""
    log = dev.log.read_text("utf-8", "replace")
    assert "BlockingError" not in log
    assert "Blocking call" not in log
    assert "Heads up! LangGraph dev identified" not in log


# Before pytest-xdist reads the marks, also where this folder is named on the command line.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadgroup` one worker runs them all, on one server."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("langgraph"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show what the server said where a test fails: it keeps the cause of a 500 to itself."""
    outcome: Any = yield
    report = outcome.get_result()
    found = getattr(item, "funcargs", {}).get("dev")
    if report.failed and isinstance(found, Dev):
        lines = found.log.read_text("utf-8", "replace").splitlines()
        report.sections.append(("log of langgraph dev", "\n".join(lines[-60:])))
