"""Datasets over documents: HotpotQA, AdvHotpotQA, MuSiQue, and the statements of FEVER and CREAK."""

from __future__ import annotations

from pathlib import Path

from thinkgraph.eval.datasets.base import grouped, json_lines, objects, whole
from thinkgraph.eval.questions import Question

FEVER_LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")


def hotpotqa(path: Path) -> list[Question]:
    """`hotpot_{train,dev}_*.json`: [{"_id", "question", "answer", "type", "level", "supporting_facts"}].

    AdvHotpotQA, a hard selection of its questions, comes in the same form (as one list or as JSON Lines). The titles of
    the supporting facts are the topics.
    """
    questions = []
    for row in objects(path):
        facts = row.value.get("supporting_facts")
        if isinstance(facts, dict):
            titles = [str(title) for title in facts.get("title", [])]
        else:
            titles = [str(fact[0]) for fact in facts or [] if isinstance(fact, list) and fact]
        kind = row.value.get("type")
        questions.append(
            Question(
                id=row.name("_id", "id", "qas_id"),
                question=row.text("question"),
                answers=(row.text("answer"),),
                type=kind if isinstance(kind, str) else "",
                topic=tuple(dict.fromkeys(titles)),
            )
        )
    return whole(path, questions)


def musique(path: Path) -> list[Question]:
    """`musique_{ans,full}_v1.0_{train,dev}.jsonl`: {"id", "question", "answer", "answer_aliases", "answerable"?}.

    The type is the number of hops, from the id ("2hop__…"). An unanswerable question has no gold answer.
    """
    questions = []
    for row in json_lines(path):
        answerable = row.value.get("answerable", True)
        if not isinstance(answerable, bool):
            raise row.fail("answerable", "must be true or false")
        answers, aliases = grouped([[row.text("answer"), *row.texts("answer_aliases")]]) if answerable else ((), ())
        name = row.name("id")
        questions.append(
            Question(
                id=name,
                question=row.text("question"),
                answers=answers,
                aliases=aliases,
                type=name.split("__")[0] if "__" in name else "",
            )
        )
    return whole(path, questions)


def fever(path: Path) -> list[Question]:
    """`{train,shared_task_dev,paper_dev}.jsonl`: {"id", "claim", "label"}."""
    questions = []
    for row in json_lines(path):
        label = row.text("label").upper()
        if label not in FEVER_LABELS:
            raise row.fail("label", f"must be one of {', '.join(FEVER_LABELS)}")
        questions.append(Question(id=row.name("id"), question=row.text("claim"), answers=(label,), type=label.lower()))
    return whole(path, questions)


def creak(path: Path) -> list[Question]:
    """`{train,dev}.json` (JSON Lines): {"ex_id", "sentence", "label": "true"|"false", "entity"}."""
    questions = []
    for row in json_lines(path):
        label = str(row.value.get("label", "")).strip().lower()
        if label not in {"true", "false"}:
            raise row.fail("label", 'must be "true" or "false"; the test split hides it')
        entity = row.value.get("entity")
        questions.append(
            Question(
                id=row.name("ex_id"),
                question=row.text("sentence"),
                answers=(label,),
                topic=(entity.strip(),) if isinstance(entity, str) and entity.strip() else (),
                type=label,
            )
        )
    return whole(path, questions)
