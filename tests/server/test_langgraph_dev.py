"""The real `langgraph dev` on the repository's langgraph.json, driven over HTTP."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import ANSWER, MODEL, QUESTION, environment
from graphs.cases import PASSAGES, ROWS
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from thinkgraph.ingest.build import build_kb
from thinkgraph.models.offline import OfflineChatModel
from thinkgraph.state.tog2 import Tog2Settings
from thinkgraph.testing.replies import Answer, Fault, Hang, Reply
from thinkgraph.testing.server import ModelServer, ServedCall

ROOT = Path(__file__).parents[2]
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
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"{url}/ok", timeout=5):  # noqa: S310 - our own server
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            assert process.poll() is None, log.read_text("utf-8", "replace")
            assert time.monotonic() < end, log.read_text("utf-8", "replace")
            time.sleep(0.1)


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    folder = tmp_path_factory.mktemp("dev")
    (folder / "rows.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS), "utf-8")
    (folder / "passages.jsonl").write_text("".join(json.dumps(passage) + "\n" for passage in PASSAGES), "utf-8")
    build_kb(folder / "kb", triples=[folder / "rows.tsv"], passages=[folder / "passages.jsonl"])
    # The server works in the folder of langgraph.json and leaves .langgraph_api there.
    for name in ("langgraph.json", "thinkgraph"):
        (folder / name).symlink_to(ROOT / name)
    model = Model()
    url = f"http://127.0.0.1:{_free_port()}"
    log = folder / "log"
    with ModelServer(model) as models, log.open("wb") as out:
        env = environment(
            {
                "OPENAI_BASE_URL": models.base_url,
                "OPENAI_API_KEY": None,
                "LANGSMITH_API_KEY": None,
                "THINKGRAPH_MODEL": MODEL,
                "THINKGRAPH_KB": str(folder / "kb"),
            }
        )
        command = [str(Path(sys.executable).with_name("langgraph")), "dev", "--no-browser", "--no-reload"]
        with subprocess.Popen(
            [*command, "--port", url.rpartition(":")[2]], cwd=folder, env=env, stdout=out, stderr=subprocess.STDOUT
        ) as process:
            try:
                _wait(url, process, log)
                with get_sync_client(url=url) as client:
                    yield Dev(client, log, folder, model, models)
            finally:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()


def test_it_loads_and_opens_nothing_heavy() -> None:
    script = (
        "import sys; import thinkgraph.graphs.served as served; served.outline('tog2').get_graph(); "
        "heavy = {'torch', 'sentence_transformers', 'chromadb', 'neo4j', 'openai'} & set(sys.modules); "
        "print(sorted(heavy), 'thinkgraph.tools.sqlite_graph' in sys.modules)"
    )
    env = environment({"THINKGRAPH_KB": "/nowhere"})
    done = subprocess.run([sys.executable, "-P", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "[] False\n"


def test_assistants_and_their_settings(dev: Dev) -> None:
    found = dev.client.assistants.search(graph_id="tog2")
    assert [assistant["name"] for assistant in found] == ["tog2"]
    schemas = dev.client.assistants.get_schemas(found[0]["assistant_id"])
    assert schemas["context_schema"]["properties"].keys() == Tog2Settings.model_fields.keys()
    assert schemas["context_schema"]["properties"]["width"]["maximum"] == 50
    assert schemas["input_schema"]["properties"].keys() == {"question", "messages"}
    nodes = dev.client.assistants.get_graph(found[0]["assistant_id"])["nodes"]
    assert {"begin", "explore", "reason", "answer"} <= {str(node["id"]) for node in nodes}


def test_wait_with_context(dev: Dev) -> None:
    thread = dev.thread()
    answer = dev.ask(thread, QUESTION, width=2)["answer"]
    assert answer["answers"] == [ANSWER]
    assert answer["model"] == MODEL
    state = dev.client.threads.get_state(thread)
    assert state["values"]["manifest"]["settings"]["width"] == 2
    assert state["values"]["answer"] == answer
    assert state["next"] == []
    assert json.loads(json.dumps(state["values"])) == state["values"]
    history = dev.client.threads.get_history(thread, limit=50)
    assert len(history) > 4
    assert [step["next"] for step in history][-1] == ["__start__"]


def test_stream_of_events_and_values(dev: Dev) -> None:
    parts = list(
        dev.client.runs.stream(
            dev.thread(), "tog2", input={"question": QUESTION}, context=BM25, stream_mode=["custom", "values"]
        )
    )
    events = [part.data for part in parts if part.event == "custom"]
    assert events[0]["type"] == "started"
    assert events[-1] == {"type": "answered", "status": "grounded", "text": ANSWER}
    assert {"linked", "pruned", "called", "reasoned"} <= {event["type"] for event in events}
    values = [part.data for part in parts if part.event == "values"]
    assert values[-1]["answer"]["answers"] == [ANSWER]


def test_the_dense_ranker_with_its_encoder(dev: Dev) -> None:
    # Loads the encoder in the server: on the event loop that would show in the log.
    answer = dev.ask(None, QUESTION, ranker="dense")["answer"]
    assert answer["answers"] == [ANSWER]
    assert answer["usage"]["encoder_texts"] > 0


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({"width": 0}, "setting 'width': Input should be greater than or equal to 1 (given: 0)"),
        ({"width": "many"}, "setting 'width': Input should be a valid integer"),
        ({"widht": 3}, "there is no setting 'widht'; known: alpha,"),
        ({"max_cost": 1.0}, f"max_cost cannot be kept: no price is known for {MODEL}"),
    ],
)
def test_wrong_settings(dev: Dev, context: dict[str, Any], words: str) -> None:
    before = len(dev.models.calls)
    for thread in (None, dev.thread()):
        with pytest.raises(Exception, match=re.escape(words)) as caught:
            dev.ask(thread, QUESTION, **context)
        assert str(caught.value).startswith("SettingsError: ")
    assert len(dev.models.calls) == before


@pytest.mark.parametrize("start", [{"question": ""}, {"question": " \n"}, {"question": 5}, {}, {"questoin": "x"}])
def test_no_question(dev: Dev, start: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"^UsageError: the question is empty: ask something$"):
        dev.client.runs.wait(None, "tog2", input=start, context=BM25)


def test_a_second_question_inherits_nothing(dev: Dev) -> None:
    thread = dev.thread()
    dev.ask(thread, QUESTION, width=5)
    second = dev.ask(thread, OTHER)["answer"]
    alone = dev.ask(dev.thread(), OTHER)["answer"]
    assert second["answers"] == ["Bogota"]
    assert second.pop("usage")["total"] == alone.pop("usage")["total"]
    assert second == alone
    assert dev.client.threads.get_state(thread)["values"]["manifest"]["settings"]["width"] == 3


def test_a_conversation_in_messages(dev: Dev) -> None:
    thread = dev.thread()

    def say(text: str) -> Any:
        start = {"messages": [{"role": "user", "content": text}]}
        return dev.client.runs.wait(thread, "tog2", input=start, context={**BM25, "history": True})

    first = say(QUESTION)
    assert [(one["type"], one["content"]) for one in first["messages"]] == [("human", QUESTION), ("ai", ANSWER)]
    second = say(OTHER)
    assert second["messages"][:2] == first["messages"]
    assert second["messages"][3]["content"] == second["answer"]["text"]
    assert second["answer"]["usage"]["roles"]["history.rephrase"]["calls"] == 1


def test_a_run_that_asks_waits_for_its_reply(dev: Dev) -> None:
    thread, since = dev.thread(), len(dev.models.calls)
    context = {**BM25, "ask_user": "budget", "max_calls": 1}
    found: Any = dev.client.runs.wait(thread, "tog2", input={"question": QUESTION}, context=context)
    assert "max_calls" in found["__interrupt__"][0]["value"]["text"]
    found = dev.client.runs.wait(thread, "tog2", command={"resume": "more"}, context=context)
    assert "no number" in found["__interrupt__"][0]["value"]["problem"]
    found = dev.client.runs.wait(thread, "tog2", command={"resume": 40}, context=context)
    assert found["answer"]["answers"] == [ANSWER]
    assert found["answer"]["usage"]["total"]["calls"] == len(dev.answered(since))


def test_a_failed_call_is_repeated_and_no_other(dev: Dev) -> None:
    thread, since = dev.thread(), len(dev.models.calls)

    def garbled(call: ServedCall) -> Answer | None:
        return "no JSON" if call.role == "tog2.reason" else None

    def refused(call: ServedCall) -> Answer | None:
        # The repair of the garbled reply: that one was committed, its node was not finished.
        return Fault(401, "no such key") if "That reply cannot be used" in call.text else None

    dev.model.instead += [refused, garbled]
    with pytest.raises(Exception, match=f"ModelError: model {MODEL} failed: .*401.* no such key"):
        dev.ask(thread, QUESTION)
    assert dev.client.threads.get(thread)["status"] == "error"
    assert dev.client.threads.get_state(thread)["next"] == ["reason"]
    parts = list(dev.client.runs.stream(thread, "tog2", input=None, stream_mode=["custom", "values"]))
    called = [part.data for part in parts if part.event == "custom" and part.data["type"] == "called"]
    assert [event["replayed"] for event in called][:2] == [True, False]
    answer = [part.data for part in parts if part.event == "values"][-1]["answer"]
    assert answer["answers"] == [ANSWER]
    asked = dev.answered(since)
    assert len(asked) == len(set(asked)) == answer["usage"]["total"]["calls"]


def test_a_cancelled_run_goes_on(dev: Dev) -> None:
    thread, since = dev.thread(), len(dev.models.calls)
    hanging: list[ServedCall] = []

    def hang(call: ServedCall) -> Answer | None:
        if call.role != "tog2.reason":
            return None
        hanging.append(call)
        return Hang()

    dev.model.instead.append(hang)
    run = dev.client.runs.create(thread, "tog2", input={"question": QUESTION}, context=BM25)
    end = time.monotonic() + 30
    while not hanging:
        assert time.monotonic() < end
        time.sleep(0.05)
    dev.client.runs.cancel(thread, run["run_id"], wait=True, action="interrupt")
    answer = dev.ask(thread, None)["answer"]
    assert answer["answers"] == [ANSWER]
    asked = dev.answered(since)
    assert len(asked) == len(set(asked)) == answer["usage"]["total"]["calls"]


def test_going_on_with_other_settings_is_refused(dev: Dev) -> None:
    thread = dev.thread()
    dev.model.instead.append(lambda _call: Fault(401, "no"))
    with pytest.raises(Exception, match="ModelError"):
        dev.ask(thread, QUESTION)
    with pytest.raises(Exception, match="ManifestMismatchError: this run was started with width=3, not 7"):
        dev.ask(thread, None, width=7)
    assert dev.ask(thread, None)["answer"]["answers"] == [ANSWER]


def test_questions_at_the_same_time(dev: Dev) -> None:
    runs = [
        (question, thread, dev.client.runs.create(thread, "tog2", input={"question": question}, context=BM25))
        for question in (QUESTION, OTHER) * 4
        for thread in (dev.thread(),)
    ]
    for question, thread, run in runs:
        found: Any = dev.client.runs.join(thread, run["run_id"])
        assert found["answer"]["answers"] == [ANSWER if question == QUESTION else "Bogota"]


def test_nothing_blocked_the_event_loop(dev: Dev) -> None:
    # Last, over all that the tests above did.
    log = dev.log.read_text("utf-8", "replace")
    assert "BlockingError" not in log
    assert "Blocking call" not in log
    assert "Heads up! LangGraph dev identified" not in log
    assert (dev.folder / ".langgraph_api").is_dir()
    assert not (ROOT / ".langgraph_api").exists()
