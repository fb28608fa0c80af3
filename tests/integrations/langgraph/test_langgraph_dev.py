"""The real `langgraph dev` on the repository's langgraph.json, driven over HTTP."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest
from cli.conftest import ANSWER, MODEL, QUESTION, environment
from integrations.langgraph.conftest import BM25, OTHER, ROOT, Dev, nothing_blocked
from model_server import ServedCall
from replies import Answer, Fault, Hang

from thinkgraph.graphs.registry import NAMES, find_method


def test_it_loads_and_opens_nothing_heavy() -> None:
    script = (
        "import sys; import thinkgraph.integrations.langgraph.server as served; served.outline('tog2').get_graph(); "
        "heavy = {'torch', 'sentence_transformers', 'chromadb', 'neo4j', 'openai'} & set(sys.modules); "
        "print(sorted(heavy), 'thinkgraph.tools.sqlite.graph' in sys.modules)"
    )
    env = environment({"THINKGRAPH_KB": "/nowhere"})
    done = subprocess.run([sys.executable, "-P", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "[] False\n"


@pytest.mark.parametrize("name", NAMES)
def test_assistants_and_their_settings(dev: Dev, name: str) -> None:
    (found,) = dev.client.assistants.search(graph_id=name)
    assert found["name"] == name
    assert found["description"] == find_method(name).summary
    schemas = dev.client.assistants.get_schemas(found["assistant_id"])
    shown: Any = schemas["context_schema"]
    fields = find_method(name).settings.model_fields
    assert {key: one["description"] for key, one in shown["properties"].items()} == {
        key: one.description for key, one in fields.items()
    }
    assert all(one.description for one in fields.values())
    assert all("default" in one for one in shown["properties"].values())
    assert schemas["input_schema"]["properties"].keys() == {"question", "messages"}
    nodes = dev.client.assistants.get_graph(found["assistant_id"])["nodes"]
    assert {"begin", "answer"} <= {str(node["id"]) for node in nodes}


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
    assert (events[-1]["type"], events[-1]["status"], events[-1]["text"]) == ("answered", "grounded", ANSWER)
    assert {"linked", "pruned", "called", "reasoned"} <= {event["type"] for event in events}
    values = [part.data for part in parts if part.event == "values"]
    assert values[-1]["answer"]["answers"] == [ANSWER]
    assert values[-1]["answer"]["confidence"] == events[-1]["confidence"] > 0


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
        ({"widht": 3}, "there is no setting 'widht'; did you mean 'width'?"),
        ({"ranker": "cross-encoder:/etc"}, "setting 'ranker': a model or folder is the server's to name"),
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


@pytest.mark.parametrize("start", [{"question": ""}, {"question": " \n"}, {}, {"questoin": "x"}])
def test_no_question(dev: Dev, start: dict[str, Any]) -> None:
    with pytest.raises(
        Exception,
        match=r"^UsageError: the question is empty: ask (something|by 'question' or 'messages'(, not by '\w+')?)$",
    ):
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
    # A question that is none without what was said before.
    third = say("And what does it border?")
    assert third["messages"][4]["content"] == "And what does it border?"
    assert third["answer"]["question"] == "And what does it border? (Bogota)"


def test_the_answer_streams_as_a_message(dev: Dev) -> None:
    start = {"messages": [{"role": "user", "content": QUESTION}]}
    parts = list(dev.client.runs.stream(None, "tog2", input=start, context=BM25, stream_mode="messages-tuple"))
    (told,) = [part.data[0] for part in parts if part.event == "messages"]
    assert (told["type"], told["content"]) == ("ai", ANSWER)
    assert told["response_metadata"]["status"] == "grounded"


def test_an_assistant_with_settings_of_its_own(dev: Dev) -> None:
    def asked(assistant: str) -> Any:
        thread = dev.thread()
        dev.client.runs.wait(thread, assistant, input={"question": QUESTION})
        values: Any = dev.client.threads.get_state(thread)["values"]
        assert values["answer"]["answers"] == [ANSWER]
        return values["manifest"]["settings"]["width"]

    key = dev.client.assistants.create("tog2", context={**BM25, "width": 2}, name="narrow")["assistant_id"]
    try:
        assert asked(key) == 2
        dev.client.assistants.update(key, context={**BM25, "width": 4})
        assert asked(key) == 4
        dev.client.assistants.update(key, context={"widht": 2})
        with pytest.raises(Exception, match="SettingsError: there is no setting 'widht'"):
            asked(key)
    finally:
        dev.client.assistants.delete(key)


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


def test_which_namesake_is_meant(dev: Dev) -> None:
    thread = dev.thread()
    context = {**BM25, "ask_user": "ambiguity"}
    start = {"question": "What is the capital of Georgia?"}
    found: Any = dev.client.runs.wait(thread, "tog2", input=start, context=context)
    assert [one["id"] for one in found["__interrupt__"][0]["value"]["options"]] == ["g1", "g2"]
    assert dev.client.threads.get(thread)["status"] == "interrupted"
    for wrong in ("Georgia", 9, {"id": 2}):
        found = dev.client.runs.wait(thread, "tog2", command={"resume": wrong}, context=context)
        assert "names none of them" in found["__interrupt__"][0]["value"]["problem"]
    found = dev.client.runs.wait(thread, "tog2", command={"resume": "g2"}, context=context)
    assert found["answer"]["answers"] == ["Atlanta"]


def test_a_failed_call_is_repeated_and_no_other(dev: Dev) -> None:
    thread, since = dev.thread(), len(dev.models.calls)

    def garbled(call: ServedCall) -> Answer | None:
        return "no JSON" if call.role == "tog2.steer" else None

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
    # The refused one counts too.
    assert len(asked) == len(set(asked)) == answer["usage"]["total"]["calls"] - 1


def test_a_cancelled_run_goes_on(dev: Dev) -> None:
    thread, since = dev.thread(), len(dev.models.calls)
    hanging: list[ServedCall] = []

    def hang(call: ServedCall) -> Answer | None:
        if call.role != "tog2.steer":
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
    # The request that was cancelled had been sent: it counts too.
    assert len(asked) == len(set(asked)) == answer["usage"]["total"]["calls"] - len(hanging)


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


def test_the_page_lies_beside_the_servers_routes(dev: Dev) -> None:
    with httpx.Client(base_url=dev.url, trust_env=False) as client:
        assert client.get("/page/").status_code == 401
        page = client.get("/page/", params={"token": "the-page"}, follow_redirects=True)
        assert (page.status_code, page.url.path) == (200, "/page/")
        assert "<title>thinkgraph</title>" in page.text
        assert client.get("/page/static/app.js").status_code == 200
        assert client.get("/page/api/about").json()["models"] == [MODEL, "offline"]


def test_nothing_blocked_the_event_loop(dev: Dev) -> None:
    # Last, over all that the tests above did.
    nothing_blocked(dev)
    assert (dev.folder / ".langgraph_api").is_dir()
    assert not (ROOT / ".langgraph_api").exists()


def test_items_of_the_store(dev: Dev) -> None:
    """The store on disk serves the server's own routes too."""
    store = dev.client.store
    for key in "ab":
        store.put_item(["notes", "own"], key, {"note": key})
    assert store.get_item(["notes", "own"], "a")["value"] == {"note": "a"}
    assert {one["key"] for one in store.search_items(["notes"])["items"]} == {"a", "b"}
    assert ["notes", "own"] in store.list_namespaces(["notes"])["namespaces"]
    store.delete_item(["notes", "own"], "a")
    assert [one["key"] for one in store.search_items(["notes"], filter={"note": "b"})["items"]] == ["b"]
    assert (dev.folder / ".langgraph_api" / "store.sqlite").is_file()
