"""Datasets over documents: HotpotQA, AdvHotpotQA, MuSiQue, and the statements of FEVER and CREAK."""

from __future__ import annotations

import re
from pathlib import Path

from thinkgraph.eval.datasets.base import DatasetRow, Found, grouped, json_lines, objects, reader
from thinkgraph.eval.questions import Question
from thinkgraph.tools.grounding import fold

FEVER_LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")


@reader
def hotpotqa(path: Path) -> Found:
    """`hotpot_{train,dev}_*.json`: [{"_id", "question", "answer", "type", "level", "supporting_facts"}].

    AdvHotpotQA, a hard selection of its questions, comes in the same form (as one list or as JSON Lines). The topics are
    those titles of supporting facts that the question names: the others are what it asks to be found.
    """
    for row in objects(path):
        titles, question = _titles(row), row.text("question")
        kind = row.value.get("type")
        yield (
            row.where,
            Question(
                id=row.name("_id", "id", "qas_id"),
                question=question,
                answers=(row.text("answer"),),
                type=kind if isinstance(kind, str) else "",
                topic=tuple(title for title in dict.fromkeys(titles) if _named(title, question)),
            ),
        )


def _named(title: str, question: str) -> bool:
    """Whether a question names the page of this title; "(film)" and the like at its end are not spoken."""
    return fold(re.sub(r"\s*\([^()]*\)$", "", title)) in fold(question)


def _titles(row: DatasetRow) -> list[str]:
    """Titles of the supporting facts: [[title, sentence], …], or {"title": […]} as Hugging Face has them."""
    facts = row.value.get("supporting_facts")
    if isinstance(facts, dict):
        return DatasetRow(facts, f"{row.where}, supporting_facts").texts("title")
    if facts is None:
        return []
    if not isinstance(facts, list) or not all(isinstance(fact, list) and fact for fact in facts):
        raise row.fail("supporting_facts", "must be a list of [title, sentence number]")
    return [title for fact in facts if (title := str(fact[0]).strip())]


@reader
def musique(path: Path) -> Found:
    """`musique_{ans,full}_v1.0_{train,dev}.jsonl`: {"id", "question", "answer", "answer_aliases", "answerable"?}.

    The type is the number of hops, from the id ("2hop__…"). The full set has every question twice under one id, once without
    a paragraph that it needs: that one has no gold answer, and "-unanswerable" at its id and type.
    """
    for row in json_lines(path):
        answerable = row.value.get("answerable", True)
        if not isinstance(answerable, bool):
            raise row.fail("answerable", "must be true or false")
        answers, aliases = grouped([[row.text("answer"), *row.texts("answer_aliases")]]) if answerable else ((), ())
        name, apart = row.name("id"), "" if answerable else "-unanswerable"
        yield (
            row.where,
            Question(
                id=name + apart,
                question=row.text("question"),
                answers=answers,
                aliases=aliases,
                type=name.split("__")[0] + apart if "__" in name else apart.removeprefix("-"),
            ),
        )


@reader
def fever(path: Path) -> Found:
    """`{train,shared_task_dev,paper_dev}.jsonl`: {"id", "claim", "label"}."""
    for row in json_lines(path):
        label = row.text("label").upper()
        if label not in FEVER_LABELS:
            raise row.fail("label", f"must be one of {', '.join(FEVER_LABELS)}")
        yield row.where, Question(id=row.name("id"), question=row.text("claim"), answers=(label,), type=label.lower())


@reader
def creak(path: Path) -> Found:
    """`{train,dev}.json` (JSON Lines): {"ex_id", "sentence", "label": "true"|"false", "entity"}."""
    for row in json_lines(path):
        label = str(row.value.get("label", "")).strip().lower()
        if label not in {"true", "false"}:
            raise row.fail("label", 'must be "true" or "false"; the test split hides it')
        entity = row.value.get("entity")
        yield (
            row.where,
            Question(
                id=row.name("ex_id"),
                question=row.text("sentence"),
                answers=(label,),
                topic=(entity.strip(),) if isinstance(entity, str) and entity.strip() else (),
                type=label,
            ),
        )
