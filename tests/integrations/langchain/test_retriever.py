"""The retriever gives what a run found, as documents that can be traced back to the stores."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from graphs.cases import CASES

import thinkgraph as tg
from thinkgraph.errors import KnowledgeError, SettingsError, UsageError
from thinkgraph.state.evidence import Path, path_item

QUESTION = CASES["tog2"].question


def documents(asked: Any, **options: Any) -> list[Any]:
    return tg.ThinkGraphRetriever(**{**asked, **options}).invoke(QUESTION)


def test_documents_are_passages_and_triples_of_the_stores(asked):
    found = documents(asked, k=50)
    assert {one.metadata["kind"] for one in found} == {"passage", "triple"}
    assert len({one.id for one in found}) == len(found)
    graph, text = asked["knowledge"].graph, asked["knowledge"].text
    for one in found:
        about = one.metadata
        assert (about["status"], about["answer"]) == ("grounded", "18")
        if about["kind"] == "triple":
            triple = graph.triples([about["id"]])[0]
            assert one.page_content.startswith(f"{triple['subject_label']} {triple['relation_label']}")
            assert (about["subject"], about["object"]) == (triple["subject"], triple["object"])
            assert about["id"] in about["triples"]
            assert triple["relation_label"] in about["path"]
        else:
            passage = text.passages([about["id"]])[0]
            assert passage["text"][about["start"] : about["end"]] == one.page_content
        assert None not in graph.triples(about["triples"])


def test_what_the_answer_stands_on_comes_first(asked):
    found = documents(asked, k=50)
    flags = [one.metadata["cited"] for one in found]
    assert flags == sorted(flags, reverse=True)
    assert found[0].metadata["cited"]
    vote = next(one for one in found if one.metadata["kind"] == "passage" and one.metadata["cited"])
    assert "from the age of 18" in vote.page_content
    assert vote.metadata["path"] == "(Baru) <-[highest point]- (Panama)"
    only = documents(asked, k=50, cited_only=True)
    assert [one.id for one in only] == [one.id for one in found if one.metadata["cited"]]


def test_a_find_of_two_lines_stands_where_the_better_one_puts_it(asked):
    """A triple that another line only passes went behind what that line found: with a small k the best find was left out."""
    retriever = tg.ThinkGraphRetriever(**asked)
    answer = retriever._graph.invoke({"question": QUESTION})["answer"]
    found = asked["knowledge"].graph.edges_among(["Panama", "Colombia", "Bogota"])
    near, far = (next(one["id"] for one in found if one["object"] == end) for end in ("Colombia", "Bogota"))
    best = path_item("a", Path(start="Panama", triples=[]), [near], total=1, score=0.9)
    other = path_item("b", Path(start="Panama", triples=[near]), [far], total=1, score=0.5)
    state = {"answer": answer, "evidence": {"a": best, "b": other}}
    retriever._graph = SimpleNamespace(invoke=lambda **_: state)
    assert [(one.id, one.metadata["score"]) for one in retriever.invoke(QUESTION)] == [(near, 0.9), (far, 0.5)]
    assert [one.id for one in retriever.invoke(QUESTION, k=1)] == [near]


def test_k_bounds_the_documents(asked):
    every = [one.id for one in documents(asked, k=50)]
    assert [one.id for one in documents(asked, k=2)] == every[:2]
    retriever = tg.ThinkGraphRetriever(**asked, k=1)
    assert [one.id for one in retriever.invoke(QUESTION, k=3)] == every[:3]
    with pytest.raises(ValueError, match="k"):
        tg.ThinkGraphRetriever(**asked, k=0)


@pytest.mark.parametrize("k", [0, -1, "3", 2.5])
def test_a_wrong_k_is_refused_before_anything_is_paid(asked, k):
    retriever = tg.ThinkGraphRetriever(**asked)
    with pytest.raises(UsageError, match=f"k is {k!r}: ask for at least one document"):
        retriever.invoke(QUESTION, k=k)
    with pytest.raises(UsageError, match=f"k is {k!r}: "):
        asyncio.run(retriever.ainvoke(QUESTION, k=k))
    assert asked["model"].asked == []


def test_sync_and_async_agree(asked):
    retriever = tg.ThinkGraphRetriever(**asked)
    assert asyncio.run(retriever.ainvoke(QUESTION)) == retriever.invoke(QUESTION)


def test_an_unanswered_question_still_has_documents(asked):
    retriever = tg.ThinkGraphRetriever(**asked, k=4)
    found = retriever.invoke(CASES["tog2"].other_question)
    assert len(found) == 4
    assert not any(one.metadata["cited"] for one in found)
    assert {one.metadata["status"] for one in found} == {"unknown"}
    assert tg.ThinkGraphRetriever(**asked, cited_only=True).invoke(CASES["tog2"].other_question) == []


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_method_retrieves(name):
    from fakes import FakeModel

    case = CASES[name]
    retriever = tg.ThinkGraphRetriever(
        knowledge=case.knowledge(), method=name, model=FakeModel(case.replies), settings=dict(case.settings), k=100
    )
    found = retriever.invoke(case.question)
    assert bool(found) == (case.status == "grounded")
    assert any(one.metadata["cited"] for one in found) == (case.status == "grounded")


def test_what_is_wrong_shows_when_it_is_made(asked, tmp_path):
    with pytest.raises(SettingsError, match="no setting 'widht'"):
        tg.ThinkGraphRetriever(**{**asked, "settings": {"widht": 3}})
    with pytest.raises(UsageError, match="no method 'tog3'"):
        tg.ThinkGraphRetriever(**{**asked, "method": "tog3"})
    with pytest.raises(KnowledgeError):
        tg.ThinkGraphRetriever(knowledge=tmp_path / "nothing")
    with pytest.raises(ValueError, match="top_k"):
        tg.ThinkGraphRetriever(**asked, top_k=3)
