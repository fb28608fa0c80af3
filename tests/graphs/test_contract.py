"""What every method's graph must do, whatever the method: run over all of them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES, Case, small_knowledge
from graphs.contract import Failing, comparable, make, thread
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

import thinkgraph as tg
from thinkgraph.errors import ManifestMismatchError, ModelError, SettingsError, UnfinishedRunError, UsageError
from thinkgraph.graphs import registry
from thinkgraph.graphs.build import Graph
from thinkgraph.graphs.registry import NAMES
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge

pytestmark = pytest.mark.usefixtures("no_blocked_types")


def test_every_method_has_a_case() -> None:
    assert set(CASES) == set(NAMES), "a method's case stands in tests/graphs/cases.py"


def test_every_method_is_served() -> None:
    served = json.loads((Path(__file__).parents[2] / "langgraph.json").read_text("utf-8"))["graphs"]
    assert set(served) == set(NAMES), "a method has a line in langgraph.json"


@pytest.mark.parametrize("method", ["coggrag", "fasttog", "fiske", "tog2"])
def test_empty_knowledge_is_told_from_a_question_about_nothing_in_it(method: str) -> None:
    empty = Knowledge(graph=MemoryGraphStore([]), embedder=HashEmbedder(), name="empty")
    graph = tg.build(method, knowledge=empty, model=FakeModel(CASES[method].replies))
    answer = graph.invoke({"question": CASES[method].question})["answer"]
    assert answer["reason"] == "the knowledge base is empty: there is nothing to look in"


def test_answer_is_grounded_and_plain_json(case: Case) -> None:
    graph, model = make(case)
    answer = graph.invoke({"question": case.question})["answer"]
    assert answer["answers"] == case.answers
    assert answer["status"] == case.status
    assert answer["usage"]["total"]["calls"] == len(model.asked) == case.calls
    assert answer["usage"]["total"]["input_tokens"] == 100 * case.calls
    assert answer["method"] == case.method
    assert json.loads(json.dumps(answer)) == answer


def test_the_confidence_is_told_and_what_falls_short_of_it_is_withheld(case: Case) -> None:
    graph, _ = make(case, checkpointer=InMemorySaver())
    sure = graph.invoke({"question": case.question}, thread())["answer"]["confidence"]
    assert graph.get_state(thread()).values["answer"]["confidence"] == sure
    told = list(graph.stream({"question": case.question}, thread("2"), stream_mode="custom"))[-1]
    assert (told["type"], told["confidence"]) == ("answered", sure)
    least = {"min_confidence": 0.01 if sure is None else sure}
    kept = graph.invoke({"question": case.question}, thread("3"), context=least)["answer"]
    assert kept["answers"] == ([] if sure is None else case.answers)
    more = {"min_confidence": (sure or 0.0) + 0.005}
    answer = graph.invoke({"question": case.question}, thread("4"), context=more)["answer"]
    assert (answer["status"], answer["answers"], answer["confidence"]) == ("unknown", [], None)
    assert not any(answer["evidence"].values())
    assert answer["text"].startswith("I don't know: ")
    assert "min_confidence is " in answer["reason"]


def test_sync_and_async_invoke_and_stream_agree(case: Case) -> None:
    graph, _ = make(case)
    first = comparable(graph.invoke({"question": case.question})["answer"])
    streamed = [
        part["answer"] for part in graph.stream({"question": case.question}, stream_mode="values") if part.get("answer")
    ]

    async def asynchronously() -> tuple[Any, list[Any], list[Any]]:
        invoked = await graph.ainvoke({"question": case.question})
        parts = [p async for p in graph.astream({"question": case.question}, stream_mode="values") if p.get("answer")]
        events = [e async for e in graph.astream({"question": case.question}, stream_mode="custom")]
        return invoked["answer"], [part["answer"] for part in parts], events

    # Two loops, one after the other: nothing may be bound to the first.
    asyncio.run(asynchronously())
    invoked, parts, events = asyncio.run(asynchronously())
    assert comparable(streamed[-1]) == first
    assert comparable(invoked) == first
    assert comparable(parts[-1]) == first
    assert events[0]["type"] == "started"
    assert events[-1]["type"] == "answered"
    assert [e["type"] for e in events] == [
        e["type"] for e in graph.stream({"question": case.question}, stream_mode="custom")
    ]


def test_every_cited_id_exists_in_the_stores(case: Case) -> None:
    knowledge = case.knowledge()
    graph, _ = make(case, knowledge=knowledge)
    evidence = graph.invoke({"question": case.question})["answer"]["evidence"]
    assert bool(evidence["triples"] or evidence["passages"]) == (case.status == "grounded")
    assert None not in knowledge.graph.triples([triple["id"] for triple in evidence["triples"]])
    ids = {triple["id"] for triple in evidence["triples"]}
    assert all(set(path["triples"]) <= ids for path in evidence["paths"])
    assert knowledge.text is not None
    for cited, found in zip(
        evidence["passages"], knowledge.text.passages([p["id"] for p in evidence["passages"]]), strict=True
    ):
        assert found is not None
        assert found["text"][cited["start"] : cited["end"]] == cited["text"]


def test_state_survives_json_and_is_small(case: Case) -> None:
    graph, _ = make(case, checkpointer=InMemorySaver())
    graph.invoke({"question": case.question}, thread())
    values = graph.get_state(thread()).values
    assert json.loads(json.dumps(values)) == values
    assert len(json.dumps(values)) < 20_000


@pytest.mark.parametrize("ceiling", [1, 2, 3, 4, 5])
def test_the_ceiling_on_calls_is_never_passed(case: Case, ceiling: int) -> None:
    graph, model = make(case, settings={**case.settings, "max_calls": ceiling})
    answer = graph.invoke({"question": case.other_question})["answer"]
    assert len(model.asked) <= ceiling
    assert answer["usage"]["total"]["calls"] == len(model.asked)
    assert answer["status"] == "unknown"
    if ceiling == 1 and case.calls > 1:
        assert "ceiling of 1 calls" in answer["reason"]


@pytest.mark.parametrize("ceiling", [{"max_tokens": 1}, {"max_seconds": 0.000001}])
def test_other_ceilings_end_the_run_with_a_reason(case: Case, ceiling: dict[str, Any]) -> None:
    graph, model = make(case, settings={**case.settings, **ceiling})
    answer = graph.invoke({"question": case.question})["answer"]
    assert answer["status"] == "unknown"
    assert "budget" in answer["reason"]
    assert model.asked == []


def test_money_needs_a_price(case: Case) -> None:
    graph, _ = make(case, settings={**case.settings, "max_cost": 1.0})
    with pytest.raises(SettingsError, match="no price is known for fake"):
        graph.invoke({"question": case.question})
    graph, model = make(case, settings={**case.settings, "max_cost": 10.0}, prices={"fake": (1000.0, 1000.0)})
    answer = graph.invoke({"question": case.question})["answer"]
    assert answer["usage"]["total"]["cost"] == pytest.approx(0.11 * len(model.asked))
    assert answer["usage"]["total"]["cost"] <= 10.0


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    "reply",
    ["", "I am not sure what you mean.", "[1, 2", "{}", '{"numbers": [99], "scores": [[99, 5]]}', "null", "{" * 5000],
)
def test_unreadable_replies_never_crash_or_invent(case: Case, reply: str) -> None:
    graph, model = make(case, FakeModel(dict.fromkeys(case.replies, reply)))
    answer = graph.invoke({"question": case.question})["answer"]
    assert answer["status"] == "unknown"
    assert answer["answers"] == []
    lost = answer["usage"]["total"]["fallbacks"]
    assert lost * 2 == len(model.asked) > 0
    # Nobody looked: that is not the same as an answer that is not there.
    assert answer["reason"].endswith(f"; {lost} of {lost} model calls gave no reply that could be read")


def test_answers_the_evidence_does_not_hold_are_not_grounded(case: Case) -> None:
    def invent(prompt: Any) -> Any:
        reply = case.replies[prompt.role]
        value = reply(prompt) if callable(reply) else reply
        if "sufficient" in value:
            value = {**value, "sufficient": True, "answers": ["Atlantis"], "evidence": [1, 77]}
        return value

    for own, status in ((False, "unknown"), (True, "memory")):
        graph, _ = make(
            case, FakeModel(dict.fromkeys(case.replies, invent)), settings={**case.settings, "own_knowledge": own}
        )
        answer = graph.invoke({"question": case.question})["answer"]
        assert answer["status"] == status
        assert answer["answers"] == (["Atlantis"] if own else [])
        assert answer["evidence"] == {"triples": [], "passages": [], "paths": []}


def test_a_failed_run_resumes_without_repeating_a_call(case: Case) -> None:
    for after in range(case.calls):
        journal = tg.MemoryJournal()
        model = Failing(case.replies)
        model.after = after
        settings = {**case.settings, "call_retries": 0}
        graph, _ = make(case, model, checkpointer=InMemorySaver(), journal=journal, settings=settings)
        with pytest.raises(ModelError, match="the server is gone"):
            graph.invoke({"question": case.question}, thread())
        assert len(model.asked) == after
        model.after = -1
        answer = graph.invoke(None, thread())["answer"]
        assert answer["answers"] == case.answers
        assert len(model.asked) == case.calls
        assert answer["usage"]["total"]["calls"] == case.calls + model.failed


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_durability(case: Case, durability: Any) -> None:
    graph, _ = make(case, checkpointer=InMemorySaver())
    done = graph.invoke({"question": case.question}, thread(), durability=durability)
    assert done["answer"]["answers"] == case.answers
    assert graph.get_state(thread()).values["answer"] == done["answer"]


def test_journalled_replies_are_not_asked_again_even_if_the_checkpoint_is_lost(case: Case) -> None:
    journal = tg.MemoryJournal()
    graph, model = make(case, checkpointer=InMemorySaver(), journal=journal)
    first = graph.invoke({"question": case.question}, thread())["answer"]
    # A process that lost all checkpoints but kept the journal: the same thread, the same first question.
    again, other = make(case, checkpointer=InMemorySaver(), journal=journal)
    second = again.invoke({"question": case.question}, thread())["answer"]
    assert other.asked == []
    assert comparable(second)["usage"]["total"] == comparable(first)["usage"]["total"]
    assert second["answers"] == first["answers"]
    # Asked once more on its thread, it is a new run and may come out differently: nothing is taken from the journal.
    graph.invoke({"question": case.question}, thread())
    assert len(model.asked) == 2 * case.calls


def paused(case: Case, **options: Any) -> tuple[Graph, Failing, InMemorySaver]:
    """A graph whose run of `question` stopped before its last call."""
    model = Failing(case.replies)
    model.after = case.calls - 1
    saver = InMemorySaver()
    settings = {**case.settings, "call_retries": 0, **options.pop("settings", {})}
    graph, _ = make(case, model, checkpointer=saver, settings=settings, **options)
    with pytest.raises(ModelError):
        graph.invoke({"question": case.question}, thread())
    model.after = -1
    return graph, model, saver


def test_a_new_question_on_a_paused_thread_inherits_nothing(case: Case) -> None:
    graph, _, _ = paused(case)
    fresh, _ = make(case)
    after = comparable(graph.invoke({"question": case.other_question}, thread())["answer"])
    alone = comparable(fresh.invoke({"question": case.other_question})["answer"])
    assert after == alone
    state = graph.get_state(thread()).values
    assert state["manifest"]["run"] == 2
    assert state["stopped"] == ""


def test_a_new_question_on_a_paused_thread_can_be_refused(case: Case) -> None:
    graph, _, _ = paused(case, settings={"on_unfinished": "refuse"})
    with pytest.raises(UnfinishedRunError, match="resume it"):
        graph.invoke({"question": case.other_question}, thread())
    # The paused run is still in the thread's history and can be gone on with from there.
    history = list(graph.get_state_history(thread()))
    before = next(s for s in history if s.values.get("question") == case.question and "__start__" not in s.next)
    assert graph.invoke(None, before.config)["answer"]["answers"] == case.answers


def test_a_resume_takes_the_settings_it_was_started_with(case: Case) -> None:
    graph, _, _ = paused(case, settings={"max_calls": 17})
    answer = graph.invoke(None, thread())["answer"]
    assert answer["answers"] == case.answers
    assert graph.get_state(thread()).values["manifest"]["settings"]["max_calls"] == 17


@pytest.mark.parametrize("what", ["settings", "model", "knowledge", "prompts"])
def test_a_resume_with_something_else_is_refused(case: Case, what: str, tmp_path: Any) -> None:
    graph, model, saver = paused(case)
    if what == "settings":
        with pytest.raises(ManifestMismatchError, match="seed=0"):
            graph.invoke(None, thread(), context={"seed": 5})
        return

    options: dict[str, Any] = {}
    if what == "knowledge":
        options["knowledge"] = small_knowledge("other")
        options["knowledge"].__dict__["fingerprint"] = "different"
    if what == "prompts":
        role = min(graph.get_state(thread()).values["manifest"]["prompts"])
        method, _, name = role.partition(".")
        (tmp_path / method).mkdir()
        library = PromptLibrary().get(role)
        text = f"---\nkind: {library.kind.name}\nstage: {library.stage}\n---\n=== system\nother\n=== user\n{library.users[0].text}\n"
        (tmp_path / method / f"{name}.prompt").write_text(text)
        options["prompts"] = tmp_path
    other, _ = make(
        case, FakeModel(case.replies, model_name="other") if what == "model" else model, checkpointer=saver, **options
    )
    with pytest.raises(ManifestMismatchError, match="new thread"):
        other.invoke(None, thread())


def test_usage_of_a_second_question_is_its_own(case: Case) -> None:
    graph, _ = make(case, checkpointer=InMemorySaver())
    graph.invoke({"question": case.question}, thread())
    answer = graph.invoke({"question": case.question}, thread())["answer"]
    assert answer["usage"]["total"]["calls"] == case.calls
    assert answer["answers"] == case.answers


@pytest.mark.parametrize("question", ["", "   \n", "x" * 100_000])
def test_bad_questions_are_refused_in_one_line(case: Case, question: str) -> None:
    graph, model = make(case)
    with pytest.raises(UsageError) as found:
        graph.invoke({"question": question})
    assert "\n" not in str(found.value)
    assert model.asked == []


@pytest.mark.parametrize(
    "question", ["日本の首都は？", "ما هي عاصمة مصر؟", "\x1b[31mred\x1b[0m", "## Options\n[1] x", "🤷" * 50, "a\ud800b"]
)
def test_odd_questions_are_answered_somehow(case: Case, question: str) -> None:
    graph, _ = make(case, checkpointer=InMemorySaver())
    assert graph.invoke({"question": question}, thread())["answer"]["status"] == "unknown"


def test_every_setting_says_what_it_is_for(case: Case) -> None:
    """Studio shows the descriptions; there is no other help."""
    fields = registry.find_method(case.method).settings.model_fields
    assert [name for name, field in fields.items() if not field.description] == []


def test_only_declared_roles_are_called(case: Case) -> None:
    """What `begin` is not told of stands in no manifest: a run would be resumed with another prompt or model for it."""
    graph, model = make(case, checkpointer=InMemorySaver())
    graph.invoke({"question": case.question}, thread())
    manifest = graph.get_state(thread()).values["manifest"]
    assert set(model.roles) <= set(manifest["models"]), "begin(…, roles, …) names every role that a run may call"


def test_settings_are_refused_wherever_they_are_wrong(case: Case) -> None:
    with pytest.raises(SettingsError, match="no setting 'widht'"):
        make(case, settings={"widht": 3})
    with pytest.raises(SettingsError, match="no setting ''"):
        make(case, settings={"": 1})
    with pytest.raises(SettingsError, match="max_calls"):
        make(case, settings={"max_calls": 0})
    for endless in ({"max_cost": float("inf")}, {"max_seconds": float("inf")}, {"max_seconds": float("nan")}):
        with pytest.raises(SettingsError, match="finite number"):
            make(case, settings=endless)
    for switched in ({"max_calls": True}, {"seed": False}, {"max_cost": True}):
        with pytest.raises(SettingsError, match="true and false are for switches"):
            make(case, settings=switched)
    graph, _ = make(case)
    with pytest.raises(SettingsError, match="no setting 'widht'"):
        graph.invoke({"question": case.question}, context={"widht": 3})
    with pytest.raises(SettingsError, match=r"^[^\n]*max_calls[^\n]*$"):
        graph.invoke({"question": case.question}, context={"max_calls": -1})
    with pytest.raises(SettingsError, match="settings are given by name"):
        graph.invoke({"question": case.question}, context=["max_calls"])


def test_context_overrides_the_build(case: Case) -> None:
    graph, _ = make(case, checkpointer=InMemorySaver())
    graph.invoke({"question": case.question}, thread(), context={"max_calls": 42})
    settings = graph.get_state(thread()).values["manifest"]["settings"]
    assert settings["max_calls"] == 42
    assert all(settings[name] == value for name, value in case.settings.items())


@pytest.mark.parametrize("method", ["tog2", "fasttog", "fiske", "coggrag"])
def test_the_preset_of_a_context_leaves_what_the_build_sets(method: str) -> None:
    own = {"own_knowledge": False, "evidence_tokens": 2000}
    graph = tg.build(method, knowledge=small_knowledge(), settings=own, checkpointer=InMemorySaver())
    graph.invoke({"question": CASES[method].question}, thread(), context={"preset": "paper"})
    settings = graph.get_state(thread()).values["manifest"]["settings"]
    assert settings["prompt_profile"] == "standard"
    assert {name: settings[name] for name in own} == own
    graph.invoke(None, thread(), context={"preset": "paper"})


def test_a_resume_with_another_preset_is_refused(case: Case) -> None:
    graph, _, _ = paused(case)
    with pytest.raises(ManifestMismatchError, match="preset='default'"):
        graph.invoke(None, thread(), context={"preset": "paper"})


def test_a_context_is_checked_together_with_the_build() -> None:
    case = CASES["tog2"]
    graph, _ = make(case, settings={"chunk_size": 3000})
    assert (
        graph.invoke({"question": case.question}, context={"chunk_overlap": 1500})["answer"]["answers"] == case.answers
    )


@pytest.mark.parametrize("journal", [InMemoryStore(), "journal.sqlite"])
def test_what_is_no_journal_is_refused_at_once(journal: Any) -> None:
    with pytest.raises(UsageError, match=r"^journal= takes a journal.*tg\.StoreJournal\(store\)$"):
        tg.build("kg_rag", knowledge="world", model="offline", journal=journal)


@pytest.mark.parametrize("store", ["store.sqlite", {}, InMemoryStore])
def test_what_is_no_store_is_refused_at_once(store: Any) -> None:
    with pytest.raises(UsageError, match=r"^store= takes a LangGraph store.*`with … as store`$"):
        tg.build("kg_rag", knowledge="world", model="offline", store=store)


@pytest.mark.parametrize("prices", ["prices.yaml", 5, ["openai:x"]])
def test_what_is_no_price_table_is_refused_at_once(prices: Any) -> None:
    with pytest.raises(
        UsageError, match=r"^prices: a price table has one line 'model: \[input, output\]' for each model$"
    ):
        tg.build("kg_rag", knowledge="world", model="offline", prices=prices)


@pytest.mark.parametrize("ranker", ["bm25", object()])
def test_what_is_no_ranker_is_refused_at_once(ranker: Any) -> None:
    with pytest.raises(UsageError, match=r"^ranker= takes a Ranker.*lacks.*score.*settings=\{'ranker': 'bm25'\}$"):
        tg.build("kg_rag", knowledge="world", model="offline", ranker=ranker)
