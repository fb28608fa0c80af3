"""`langgraph dev`: editing and forking a run, stopping and killing the server, its MCP and A2A endpoints."""

from __future__ import annotations

import ast
import json
import signal
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import ANSWER, QUESTION
from integrations.langgraph.conftest import BM25, OTHER, Dev, Model, nothing_blocked, project, serving
from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import BadRequestError
from mcp import Client
from model_server import ModelServer, ServedCall, asked_in_order, asked_twice
from replies import Answer, Hang

from thinkgraph.graphs.registry import NAMES

SETTINGS: dict[str, dict[str, Any]] = {"tog2": BM25, "fasttog": {}}
UNDER_LOAD = 12
"""Threads of each method at a time."""
CHECKPOINTER = {"checkpointer": {"path": "./thinkgraph/integrations/langgraph/checkpoints.py:sqlite"}}


def paused(dev: Dev, thread: str) -> dict[str, Any]:
    """Run up to the choice of topics; the state that is there then."""
    dev.client.runs.wait(thread, "tog2", input={"question": QUESTION}, context=BM25, interrupt_after=["topic_prune"])
    state = dev.client.threads.get_state(thread)
    assert state["next"] == ["context_retrieval"]
    values: Any = state["values"]
    assert [topic["label"] for topic in values["topics"]] == ["Panama"]
    return dict(values)


def test_a_paused_run_is_edited(dev: Dev) -> None:
    thread = dev.thread()
    (topic,) = paused(dev, thread)["topics"]
    edited = json.loads(json.dumps(topic).replace("Panama", "Colombia"))
    dev.client.threads.update_state(thread, {"question": OTHER, "topics": [edited]}, as_node="topic_prune")
    answer = dev.ask(thread, None)["answer"]
    assert answer["answers"] == ["Bogota"]
    assert answer["status"] == "grounded"


def test_an_edit_that_a_channel_cannot_hold_is_refused_in_words(dev: Dev) -> None:
    thread = dev.thread()
    paused(dev, thread)
    with pytest.raises(BadRequestError, match="'topics': Input should be a valid list"):
        dev.client.threads.update_state(thread, {"topics": "Panama"})
    assert dev.ask(thread, None)["answer"]["answers"] == [ANSWER]


def test_a_run_goes_on_from_an_earlier_checkpoint(dev: Dev) -> None:
    thread = dev.thread()
    first = dev.ask(thread, QUESTION)["answer"]
    history = dev.client.threads.get_history(thread, limit=50)
    (early,) = [step for step in history if step["next"] == ["reason"] and not step["values"]["round"]]
    since = len(dev.models.calls)
    again: Any = dev.client.runs.wait(
        thread, "tog2", input=None, context=BM25, checkpoint_id=early["checkpoint"]["checkpoint_id"]
    )
    assert again["answer"]["answers"] == first["answers"]
    # The journal holds the replies: the way is gone again without a call.
    assert dev.answered(since) == []
    forked: Any = dev.client.threads.update_state(
        thread,
        {"question": OTHER, "topics": json.loads(json.dumps(early["values"]["topics"]).replace("Panama", "Colombia"))},
        as_node="topic_prune",
        checkpoint_id=early["checkpoint"]["checkpoint_id"],
    )
    other: Any = dev.client.runs.wait(
        thread, "tog2", input=None, context=BM25, checkpoint_id=forked["checkpoint"]["checkpoint_id"]
    )
    assert other["answer"]["answers"] == ["Bogota"]
    # The first branch is still there.
    answers = [step["values"].get("answer") for step in dev.client.threads.get_history(thread, limit=100)]
    assert [one["answers"] for one in answers if one].count(first["answers"]) >= 2


async def test_the_mcp_endpoint(dev: Dev) -> None:
    async with Client(f"{dev.url}/mcp") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools.keys() == set(NAMES)
        assert all(tool.description for tool in tools.values())
        assert "question" in tools["tog2"].input_schema["properties"]
        result = await client.call_tool("tog2", {"question": QUESTION})
        assert not result.is_error
        (part,) = result.content
        # LangGraph's server writes Python's own form, not JSON.
        assert ast.literal_eval(getattr(part, "text", ""))["answer"]["answers"] == [ANSWER]
        refused = await client.call_tool("tog2", {"question": " "})
        assert refused.is_error
        # The server gives the kind of the error alone; `thinkgraph mcp` gives its line.
        assert getattr(refused.content[0], "text", "") == "UsageError"


@pytest.mark.parametrize("part", [{"kind": "text", "text": QUESTION}, {"kind": "data", "data": {"question": QUESTION}}])
def test_the_a2a_endpoint(dev: Dev, part: dict[str, Any]) -> None:
    (assistant,) = dev.client.assistants.search(graph_id="tog2")
    message = {"role": "user", "parts": [part], "messageId": "m1"}
    body = {"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": {"message": message}}
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{dev.url}/a2a/{assistant['assistant_id']}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Accept": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310 - as above
        result = json.loads(reply.read())["result"]
    assert result["status"]["state"] == "completed"
    assert ANSWER in result["artifacts"][0]["parts"][0]["text"]


def stopped_and_gone_on(folder: Path, how: signal.Signals) -> None:
    """Stop the server while Reason waits for its reply; another one on the same folder goes on."""
    model = Model()
    hanging: list[ServedCall] = []

    def hang(call: ServedCall) -> Answer | None:
        if call.role != "tog2.steer":
            return None
        hanging.append(call)
        return Hang()

    with ModelServer(model) as models:
        model.instead.append(hang)
        with serving(folder, models) as running, get_sync_client(url=running.url) as client:
            thread = client.threads.create()["thread_id"]
            client.runs.create(thread, "tog2", input={"question": QUESTION}, context=BM25)
            end = time.monotonic() + 60
            while not hanging:
                assert time.monotonic() < end
                time.sleep(0.05)
            running.stop(how)
        answered = sum(call.status == 200 for call in models.calls)
        with serving(folder, models) as running, get_sync_client(url=running.url) as client:
            # What was written of the thread itself may be a second old.
            client.threads.create(thread_id=thread, if_exists="do_nothing", graph_id="tog2")
            assert client.threads.get_state(thread)["values"]["question"] == QUESTION
            found: Any = client.runs.wait(thread, "tog2", input=None, context=BM25)
        assert found["answer"]["answers"] == [ANSWER]
        prompts = [json.dumps(call.messages) for call in models.calls if call.status == 200]
        assert len(prompts) == len(set(prompts))
        assert answered < len(prompts)


def test_a_stopped_server_goes_on(tmp_path: Path) -> None:
    stopped_and_gone_on(project(tmp_path), signal.SIGINT)


def test_a_killed_server_goes_on(tmp_path: Path) -> None:
    stopped_and_gone_on(project(tmp_path, CHECKPOINTER), signal.SIGKILL)
    assert {file.name for file in (tmp_path / ".langgraph_api").glob("*.sqlite")} == {
        "thinkgraph.sqlite",
        "store.sqlite",
    }


def test_a_reply_that_a_killed_step_had_is_not_paid_again(tmp_path: Path) -> None:
    """The step has one reply, cannot read it, and waits for a second one when the server is killed: no checkpoint has the first."""
    folder = project(tmp_path, CHECKPOINTER)
    model = Model()
    with ModelServer(model) as models:
        said: list[Answer] = ["No idea.", Hang()]
        reasons = {"tog2.steer", "fasttog.reason"}
        for reason in reasons:
            model.instead += [lambda call, one=one, role=reason: one if call.role == role else None for one in said]
        threads: dict[str, str] = {}
        with serving(folder, models) as running, get_sync_client(url=running.url) as client:
            for method, settings in SETTINGS.items():
                threads[method] = client.threads.create()["thread_id"]
                client.runs.create(threads[method], method, input={"question": QUESTION}, context=settings)
            end = time.monotonic() + 60
            while model.instead:
                assert time.monotonic() < end
                time.sleep(0.05)
            running.stop(signal.SIGKILL)
        before = len(models.calls)
        with serving(folder, models) as running, get_sync_client(url=running.url) as client:
            for method, thread in threads.items():
                client.threads.create(thread_id=thread, if_exists="do_nothing", graph_id=method)
                found: Any = client.runs.wait(thread, method, input=None, context=SETTINGS[method])
                assert found["answer"]["answers"] == [ANSWER]
        paid = [json.dumps(call.messages) for call in models.calls[:before] if call.status == 200]
        assert not [call for call in models.calls[before:] if json.dumps(call.messages) in paid]
        assert reasons <= {call.role for call in models.calls[before:]}, "what was in flight is asked again"


def test_a_killed_server_takes_its_runs_up_by_itself(tmp_path: Path) -> None:
    """Those that it had written down: it goes on from the last step, and no reply is paid again."""
    folder = project(tmp_path, CHECKPOINTER)
    written = folder / ".langgraph_api" / ".langgraph_ops.pckl"
    model = Model()
    with ModelServer(model) as models:
        model.instead.append(lambda call: Hang() if call.number else None)
        with serving(folder, models) as running, get_sync_client(url=running.url) as client:
            thread = client.threads.create()["thread_id"]
            client.runs.create(thread, "tog2", input={"question": QUESTION}, context=SETTINGS["tog2"])
            end = time.monotonic() + 60
            while model.instead:
                assert time.monotonic() < end
                time.sleep(0.05)
            hung = time.time()
            while not written.exists() or written.stat().st_mtime <= hung:
                assert time.monotonic() < end
                time.sleep(0.1)
            running.stop(signal.SIGKILL)
        with serving(folder, models) as running, get_sync_client(url=running.url) as client:
            (run,) = client.runs.list(thread)
            found: Any = client.runs.join(thread, run["run_id"])
        assert found["answer"]["answers"] == [ANSWER]
        assert [call.number for call in asked_twice(models.calls)] == [1], "what was in flight, and nothing else"


def test_a_server_killed_under_load_goes_on(tmp_path: Path) -> None:
    """Many threads at a time, some not yet begun, some in the middle, some done: each goes on, and pays for nothing twice."""
    folder = project(tmp_path, CHECKPOINTER)
    methods = {QUESTION + "?" * number: method for number, method in enumerate(list(SETTINGS) * UNDER_LOAD)}
    latency = 0.5
    with ModelServer(Model(), latency=latency) as models:
        with serving(folder, models) as running, get_sync_client(url=running.url) as client:
            threads = [str(client.threads.create()["thread_id"]) for _ in methods]
            for thread, (question, method) in zip(threads, methods.items(), strict=True):
                client.runs.create(thread, method, input={"question": question}, context=SETTINGS[method])
            end = time.monotonic() + 60
            while len(models.calls) < len(methods) * 3 // 4:
                assert time.monotonic() < end
                time.sleep(0.02)
            running.stop(signal.SIGKILL)
        time.sleep(2 * latency)
        models.latency = 0.0
        with serving(folder, models) as running, get_sync_client(url=running.url) as client:
            runs = []
            for thread, (question, method) in zip(threads, methods.items(), strict=True):
                client.threads.create(thread_id=thread, if_exists="do_nothing", graph_id=method)
                # The server goes on by itself with the runs that it wrote down before the kill: it does so every ten seconds.
                known = client.runs.list(thread)
                # Killed before its first checkpoint there is nothing to go on from: the question is asked again.
                start = None if client.threads.get_state(thread)["values"] else {"question": question}
                run = known[0] if known else client.runs.create(thread, method, input=start, context=SETTINGS[method])
                runs.append(run["run_id"])
            for thread, run_id, question in zip(threads, runs, methods, strict=True):
                found: Any = client.runs.join(thread, run_id)
                assert found["answer"]["question"] == question
                assert found["answer"]["answers"] == [ANSWER]
    # What was in flight at the kill is asked again, and nothing else.
    assert len(asked_twice(models.calls)) <= UNDER_LOAD
    asked = asked_in_order(models.calls, QUESTION)
    assert len(asked) == len(methods)
    assert all(len(prompts) == len(set(prompts)) for prompts in asked)


def test_nothing_blocked(dev: Dev) -> None:
    nothing_blocked(dev)
