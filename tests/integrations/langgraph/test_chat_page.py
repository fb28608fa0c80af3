"""What a chat page built on LangGraph's official JavaScript SDK gets of a run, and how it replies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from docs.page_blocks import block_of
from integrations.langgraph.conftest import HERE, Model, project, serving
from model_server import ModelServer
from node_packages import node, node_modules

QUESTION = "What is the capital of Suriname?"


@dataclass(frozen=True)
class Site:
    """A server, and a folder for scripts that ask it."""

    folder: Path
    url: str

    def run(self, script: str, *words: str) -> str:
        """What a script prints."""
        (self.folder / "script.mjs").write_text(script, "utf-8")
        command = [node(), str(self.folder / "script.mjs"), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    node()
    modules = node_modules()
    folder = project(tmp_path_factory.mktemp("chat"))
    (folder / "node_modules").symlink_to(modules)
    own = {"THINKGRAPH_KB": "world", "THINKGRAPH_MODEL": "offline"}
    with ModelServer(Model()) as models, serving(folder, models, own) as running:
        yield Site(folder, running.url)


@pytest.fixture(scope="module")
def told(site: Site) -> dict[str, Any]:
    """The parts of both streams, and where they ended."""
    found: dict[str, Any] = json.loads(site.run((HERE / "chat.mjs").read_text("utf-8"), site.url, QUESTION, "1"))
    return found


def test_the_script_of_docs_howto_server_md_shows_the_answer(site: Site) -> None:
    script = block_of("docs/howto/server.md", "import { Client }").replace("http://127.0.0.1:2024", site.url)
    printed = site.run(script)
    assert printed.startswith("Paramaribo [")
    assert "cited_text" in printed


def parts(told: dict[str, Any], stream: str, event: str) -> list[Any]:
    """What a stream said of one kind."""
    return [one["data"] for one in told[stream] if one["event"] == event]


def test_the_message_carries_the_answer_and_what_it_stands_on(told: dict[str, Any]) -> None:
    ((message, _),) = parts(told, "second", "messages")
    answer = told["answer"]
    assert (message["type"], message["content"]) == ("ai", "Paramaribo")
    assert told["messages"][-1]["response_metadata"] == message["response_metadata"]
    about = message["response_metadata"]
    assert (about["status"], about["confidence"]) == (answer["status"], answer["confidence"])
    assert about["status"] == "grounded"
    cited = [one for one in about["citations"] if one.get("start_index") is not None]
    assert {message["content"][one["start_index"] : one["end_index"]] for one in cited} == {"Paramaribo"}
    assert all("Paramaribo" in one["cited_text"] for one in cited)
    triples = {key for one in about["citations"] for key in one["extras"].get("triples", ())}
    passages = {one["extras"]["passage"] for one in about["citations"] if "passage" in one["extras"]}
    assert triples == {one["id"] for one in answer["evidence"]["triples"]}
    assert passages == {one["id"] for one in answer["evidence"]["passages"]}
    assert triples or passages


def test_the_walk_streams_with_it(told: dict[str, Any]) -> None:
    kinds = [event["type"] for stream in ("first", "second") for event in parts(told, stream, "custom")]
    assert kinds[0] == "started"
    assert kinds[-1] == "answered"
    assert {"linked", "pruned", "retrieved", "reasoned"} <= set(kinds)
    (last,) = [one["answer"] for one in parts(told, "second", "updates") if "answer" in one]
    assert last["answer"]["evidence"] == told["answer"]["evidence"]


def test_what_the_run_asks_has_the_form_that_pages_for_agents_show(told: dict[str, Any]) -> None:
    (waits,) = told["waits"]
    (asked,) = [one["__interrupt__"] for one in parts(told, "first", "updates") if "__interrupt__" in one]
    assert asked[0]["value"] == waits["value"]
    (action,), (review,) = waits["value"]["action_requests"], waits["value"]["review_configs"]
    assert action["name"] == review["action_name"] == "raise_ceiling"
    assert action["args"] == {"reply": ""}
    assert "max_calls" in action["description"]
    assert review["allowed_decisions"] == ["respond", "edit", "reject"]
    assert not parts(told, "first", "messages")
    assert told["answer"]["usage"]["total"]["calls"] > 1
