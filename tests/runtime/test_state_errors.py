"""A thread's state, edited by hand into what nothing can work on: one line that names the channel, and nothing lost."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Overwrite

import thinkgraph as tg
from thinkgraph.errors import ManifestMismatchError, RunError, StateFormError, UsageError
from thinkgraph.graphs.build import Graph, MethodGraph

THREAD: Any = {"configurable": {"thread_id": "1"}}
CASE = CASES["tog2"]
ITEM = {"id": "a", "score": 1.0, "round": 0}
PATH: Any = {"start": "Q1", "triples": []}


@pytest.fixture
def paused() -> Graph:
    graph = tg.build(
        "tog2",
        model=FakeModel(CASE.replies),
        knowledge=CASE.knowledge(),
        settings=dict(CASE.settings),
        checkpointer=InMemorySaver(),
        journal=tg.MemoryJournal(),
    )
    graph.invoke({"question": CASE.question}, THREAD, interrupt_before=["reason"])
    return graph


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"topics": [{"foo": 1}]}, "'topics.0.id': Field required (it is {'foo': 1})"),
        ({"topics": "Panama"}, "'topics': Input should be a valid list (it is 'Panama')"),
        ({"round": "x"}, "'round': Input should be a valid integer"),
        ({"question": 7}, "'question': Input should be a valid string (it is 7)"),
        ({"evidence": {"a": {"id": 1}}}, "'evidence.a.id': Input should be a valid string (it is 1)"),
        ({"evidence": {"a": {**ITEM, "kind": "path"}}}, "'evidence.a.path': Field required of a path"),
        (
            {"evidence": {"a": {**ITEM, "kind": "chunk", "path": PATH}}},
            "'evidence.a.passage': Field required of a chunk",
        ),
        ({"evidence": {"a": {**ITEM, "kind": "community"}}}, "'evidence.a.triples': Field required of a community"),
        ({"evidence": 5}, "'evidence': Input should be a valid dictionary (it is 5)"),
        ({"calls": Overwrite(5)}, "'calls': Input should be a valid dictionary (it is 5)"),
        ({"manifest": 5}, "'manifest': Input should be a valid dictionary (it is 5)"),
        ({"pruned": 5}, "'pruned': Input should be a valid list (it is 5)"),
        ({"clue": "x"}, "there is no channel 'clue'; known: answer, "),
    ],
)
def test_a_channel_of_another_form_is_named(paused: Graph, edit: dict[str, Any], said: str) -> None:
    for write in (paused.update_state, lambda config, update: paused.invoke(Command(update=update), config)):
        with pytest.raises(StateFormError) as raised:
            write(THREAD, edit)
        assert said in str(raised.value)
        assert "\n" not in str(raised.value)
    assert paused.invoke(None, THREAD)["answer"]["answers"] == CASE.answers


async def test_the_same_on_an_event_loop(paused: Graph) -> None:
    edit = {"topics": [{"foo": 1}]}
    with pytest.raises(StateFormError, match=r"'topics\.0\.id': Field required"):
        await paused.aupdate_state(THREAD, edit)
    with pytest.raises(StateFormError, match=r"'topics\.0\.id': Field required"):
        await paused.ainvoke(Command(update=edit), THREAD)
    assert (await paused.ainvoke(None, THREAD))["answer"]["answers"] == CASE.answers


async def test_a_node_that_fails_over_a_channel_of_another_form_names_it(paused: Graph) -> None:
    before = paused.get_state(THREAD)
    # As another release may have left it.
    super(MethodGraph, paused).update_state(THREAD, {"topics": [{"foo": 1}]})
    with pytest.raises(RunError, match=r"'topics\.0\.id': Field required"):
        paused.invoke(None, THREAD)
    with pytest.raises(RunError, match=r"'topics\.0\.id': Field required"):
        await paused.ainvoke(None, THREAD)
    # The checkpoint before is still there.
    assert paused.invoke(None, before.config)["answer"]["answers"] == CASE.answers


def before(method: str, step: str) -> tuple[Graph, Any]:
    """A graph whose thread is answered, and the checkpoint of it before a step."""
    case = CASES[method]
    graph = tg.build(
        method,
        model=FakeModel(case.replies),
        knowledge=case.knowledge(),
        settings=dict(case.settings),
        checkpointer=InMemorySaver(),
        journal=tg.MemoryJournal(),
    )
    graph.invoke({"question": case.question}, THREAD)
    return graph, next(found.config for found in graph.get_state_history(THREAD) if found.next[:1] == (step,))


@pytest.mark.parametrize(
    ("method", "step", "edit", "as_node"),
    [
        ("tog", "relation_prune", {"stopped": "enough for today"}, "reason"),
        ("tog", "relation_prune", {"topics": []}, "reason"),
        ("coggrag", "conclude", {"question": CASES["coggrag"].question}, None),
    ],
)
def test_a_run_goes_on_from_an_edit_of_the_right_form(
    method: str, step: str, edit: dict[str, Any], as_node: str | None
) -> None:
    graph, config = before(method, step)
    answer = graph.invoke(None, graph.update_state(config, edit, as_node=as_node))["answer"]
    assert answer["question"] == CASES[method].question
    assert answer["status"] in {"grounded", "partial", "unknown"}


@pytest.mark.parametrize("other", ["fiske", "rag", "tog"])
def test_the_graph_of_another_method_does_not_go_on_with_a_run(paused: Graph, other: str) -> None:
    paused.invoke(None, THREAD, interrupt_before=["answer"])
    case = CASES[other]
    graph = tg.build(other, model=FakeModel(case.replies), knowledge=CASE.knowledge(), checkpointer=paused.checkpointer)
    with pytest.raises(ManifestMismatchError, match=f"started with method tog2, not {other}: resume it with"):
        graph.invoke(None, THREAD)
    assert paused.invoke(None, THREAD)["answer"]["answers"] == CASE.answers


def test_a_fault_of_ours_keeps_its_own_words(paused: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("a bug")

    monkeypatch.setattr("thinkgraph.nodes.tog2.reason.decide", broken)
    with pytest.raises(KeyError, match="a bug"):
        paused.invoke(None, THREAD)


NODE = {"id": "0.1", "question": "Who?", "level": 1, "state": "end", "parent": "0", "refers": {}}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"id": "0.7.1", "parent": "0.7"}, "'mind_map.0.7.1.parent': must be the question above, '0.7'"),
        ({"parent": "0.1"}, "'mind_map.0.1.parent': must be the question above, '0', and stand there (it is '0.1')"),
        ({"id": "x"}, "'mind_map.x.id': a question's id is its key"),
        ({"refers": {"1": "0.8"}}, "'mind_map.0.1.refers': there is no question '0.8'"),
        ({"refers": {"1": "0.1"}}, "'mind_map.0.1.refers': a question cannot wait for itself"),
        ({"refers": {"1": "0"}}, "refers': a question cannot wait for itself"),
    ],
)
async def test_a_mind_map_whose_questions_do_not_fit_is_refused(changed: dict[str, Any], said: str) -> None:
    graph, config = before("coggrag", "retrieve")
    node = {**NODE, **changed}
    edit = {"mind_map": {node["id"]: node}}
    with pytest.raises(StateFormError) as raised:
        graph.update_state(config, edit)
    assert said in str(raised.value)
    with pytest.raises(StateFormError):
        await graph.aupdate_state(config, edit)
    with pytest.raises(StateFormError):
        graph.invoke(Command(update=edit), config)
    with pytest.raises(StateFormError):
        await graph.ainvoke(Command(update=edit), config)
    assert graph.invoke(None, graph.update_state(config, {"mind_map": {"0.9": {**NODE, "id": "0.9"}}}))["answer"]


@pytest.mark.parametrize(
    ("step", "changed", "said"),
    [
        (
            "relation_discovery",
            {"remaining": [99]},
            "'clues': there is no clue 99, which 'branches.1' names (there are ",
        ),
        ("conclude", {"arrivals": ["1"]}, "'branches.1.arrivals': there is no branch '1' of an earlier round"),
        ("outcomes", {"arrivals": ["zz"]}, "'branches.1.arrivals': there is no branch 'zz' of an earlier round"),
        ("outcomes", {"id": "x"}, "'branches.1.id': a branch's id is its key, a number (it is 'x')"),
        ("entity_discovery", "clues", "'clues': there is no clue "),
        ("outcomes", "clues", "'clues': there is no clue "),
        ("outcomes", "labels", "'expansions.0.nodes': 'labels' has no "),
    ],
)
def test_branches_that_do_not_fit_are_refused(step: str, changed: Any, said: str) -> None:
    graph, config = before("fiske", step)
    values = graph.get_state(config).values
    edit: dict[str, Any] = {"clues": values["clues"][:1]} if changed == "clues" else {"labels": {}}
    if isinstance(changed, dict):
        lead = {"relation": "r", "direction": "out", "triple": "t", "total": 1}
        arrivals = [{**lead, "branch": one} for one in changed.get("arrivals", ())]
        edit = {"branches": {"1": {**values["branches"]["1"], **changed, "arrivals": arrivals}}}
    with pytest.raises(StateFormError) as raised:
        graph.update_state(config, edit)
    assert said in str(raised.value)
    with pytest.raises(StateFormError):
        graph.invoke(Command(update=edit), config)
    assert graph.invoke(None, graph.update_state(config, {"question": values["question"]}))["answer"]


HOP = {"entity": "zz", "relation": "r", "direction": "out", "score": 1.0, "count": 1, "triples": ["t"], "total": 1}
END = {"hop": 99, "triple": "t"}


@pytest.mark.parametrize(
    ("method", "step", "edit", "said"),
    [
        ("tog2", "context_retrieval", {"topics": []}, "'hops.0.entity': 'topics' has no '"),
        ("paths", "context_retrieval", {"hops": [HOP]}, "'hops.0.entity': 'topics' has no 'zz'"),
        ("tog2", "entity_prune", {"hops": []}, "there is no hop 0 (there are 0)"),
        (
            "tog2",
            "entity_prune",
            {"reached": [{**END, "id": "e", "label": "e", "literal": False}]},
            "'reached.0.hop': there is no hop 99 (there are 1)",
        ),
        ("tog", "beam", {"topics": []}, "'hops.0.entity': 'topics' has no '"),
        ("tog", "beam", {"scores": {"99|t": {**END, "score": 1.0}}}, "'scores.99|t.hop': there is no hop 99"),
        ("fiske", "r_mapping", {"relations": {}}, "'relations."),
        ("fiske", "entity_discovery", {"relations": {}}, "'relations."),
        (
            "fiske",
            "entity_discovery",
            {"mapped": {"1": {"group": "1", "pairs": [{"clue": 1, "option": "out|zz"}]}}},
            "'relations.1': there is no 'out|zz'",
        ),
    ],
)
def test_steps_of_a_round_that_do_not_fit_are_refused(method: str, step: str, edit: dict[str, Any], said: str) -> None:
    graph, config = before(method, step)
    with pytest.raises(StateFormError) as raised:
        graph.update_state(config, edit)
    assert said in str(raised.value)
    assert graph.invoke(None, config)["answer"]["answers"] == CASES[method].answers


@pytest.mark.parametrize(
    ("cut", "said"), [("triples", "'expansions.0.triples': one for each node"), ("clues", "no clue 99")]
)
def test_an_expansion_that_does_not_fit_is_refused(cut: str, said: str) -> None:
    graph, config = before("fiske", "outcomes")
    whole = graph.get_state(config).values["expansions"]
    edit = {"expansions": [{**one, cut: [] if cut == "triples" else [99]} for one in whole]}
    with pytest.raises(StateFormError) as raised:
        graph.update_state(config, edit)
    assert said in str(raised.value)


def test_a_chain_without_a_community_is_refused() -> None:
    graph, config = before("fasttog", "reason")
    with pytest.raises(StateFormError, match=r"'chains\.0\.communities': List should have at least 1 item"):
        graph.update_state(config, {"chains": [{"number": 1, "starts": [], "communities": [], "ended": ""}]})


def test_candidates_of_no_chain_are_not_asked_about() -> None:
    graph, config = before("fasttog", "community_prune")
    chains = [{**chain, "number": 9} for chain in graph.get_state(config).values["chains"]]
    assert graph.invoke(None, graph.update_state(config, {"chains": chains}))["answer"]["status"]


async def test_a_command_whose_parts_fit_goes_on() -> None:
    edit = {"mind_map": {"0.9": {**NODE, "id": "0.9"}}}
    graph, config = before("coggrag", "retrieve")
    assert graph.invoke(Command(update=edit), config)["answer"]
    graph, config = before("coggrag", "retrieve")
    assert (await graph.ainvoke(Command(update=edit), config))["answer"]


@pytest.mark.parametrize("method", ["coggrag", "fiske", "paths", "tog", "tog2"])
def test_every_state_of_a_run_fits(method: str) -> None:
    graph, _ = before(method, "answer")
    unfit = graph.builder.unfit  # type: ignore[attr-defined]
    assert not any(unfit(found.values) for found in graph.get_state_history(THREAD))


@pytest.mark.parametrize(
    ("method", "step"), [("tog2", "reason"), ("tog", "reason"), ("fasttog", "reason"), ("paths", "link_entities")]
)
async def test_a_step_of_a_run_that_is_not_there_has_no_way_on(method: str, step: str) -> None:
    graph, _ = before(method, "answer")
    mistyped: Any = {"configurable": {"thread_id": "2"}}
    with pytest.raises(UsageError, match="no question has been asked on this thread: ask one first"):
        graph.update_state(mistyped, {"stopped": "enough for today"}, as_node=step)
    with pytest.raises(UsageError, match="no question has been asked on this thread: ask one first"):
        await graph.aupdate_state(mistyped, {"stopped": "enough for today"}, as_node=step)
