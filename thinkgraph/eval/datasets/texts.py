"""Datasets over documents: HotpotQA, AdvHotpotQA, MuSiQue, and the statements of FEVER and CREAK."""

from __future__ import annotations

import re
from collections.abc import Sequence

from thinkgraph.eval.files import FileRow, json_lines, objects
from thinkgraph.eval.questions import Question, grouped, reader
from thinkgraph.prompts.tasks import TASK_LABELS
from thinkgraph.tools.grounding import fold


@reader(objects)
def hotpotqa(row: FileRow) -> Question:
    """`hotpot_{train,dev}_*.json`: [{"_id", "question", "answer", "type", "level", "supporting_facts"}].

    AdvHotpotQA, a hard selection of its questions, comes in the same form (as one list or as JSON Lines). The topics are
    those titles of supporting facts that the question names: the others are what it asks to be found.
    """
    titles, question = _titles(row), row.text("question")
    return Question(
        id=row.name("_id", "id", "qas_id"),
        question=question,
        answers=(row.text("answer"),),
        type=row.note("type"),
        topic=tuple(title for title in dict.fromkeys(titles) if _named(title, question)),
    )


def _named(title: str, question: str) -> bool:
    """Whether a question names the page of this title; "(film)" and the like at its end are not spoken."""
    return fold(re.sub(r"\s*\([^()]*\)$", "", title)) in fold(question)


def _titles(row: FileRow) -> Sequence[str]:
    """Titles of the supporting facts: [[title, sentence], …], or {"title": […]} as Hugging Face has them."""
    facts = row.value.get("supporting_facts")
    if isinstance(facts, dict):
        return FileRow(facts, f"{row.where}, supporting_facts").texts("title")
    if facts is None:
        return []
    if not isinstance(facts, list) or not all(isinstance(fact, list) and fact for fact in facts):
        raise row.fail("supporting_facts", "must be a list of [title, sentence number]")
    return [title for fact in facts if (title := str(fact[0]).strip())]


@reader(json_lines)
def musique(row: FileRow) -> Question:
    """`musique_{ans,full}_v1.0_{train,dev}.jsonl`: {"id", "question", "answer", "answer_aliases", "answerable"?}.

    The type is the number of hops, from the id ("2hop__…"). The full set has every question twice under one id, once without
    a paragraph that it needs: that one has no gold answer, and "-unanswerable" at its id and type.
    """
    answerable = row.value.get("answerable", True)
    if not isinstance(answerable, bool):
        raise row.fail("answerable", "must be true or false")
    answers, aliases = grouped([[row.text("answer"), *row.texts("answer_aliases")]]) if answerable else ((), ())
    name, apart = row.name("id"), "" if answerable else "-unanswerable"
    return Question(
        id=name + apart,
        question=row.text("question"),
        answers=answers,
        aliases=aliases,
        type=name.split("__")[0] + apart if "__" in name else apart.removeprefix("-"),
    )


@reader(json_lines)
def fever(row: FileRow) -> Question:
    """`{train,shared_task_dev,paper_dev}.jsonl`: {"id", "claim", "label"}."""
    label = row.text("label").upper()
    if label not in TASK_LABELS["fact"]:
        raise row.fail("label", f"must be one of {', '.join(TASK_LABELS['fact'])}")
    return Question(id=row.name("id"), question=row.text("claim"), answers=(label,), type=label.lower())


@reader(json_lines)
def creak(row: FileRow) -> Question:
    """`{train,dev}.json` (JSON Lines): {"ex_id", "sentence", "label": "true"|"false", "entity"}."""
    label = str(row.value.get("label", "")).strip().lower()
    if label not in TASK_LABELS["truth"]:
        raise row.fail("label", 'must be "true" or "false"; the test split hides it')
    return Question(
        id=row.name("ex_id"),
        question=row.text("sentence"),
        answers=(label,),
        topic=tuple(filter(None, [row.note("entity")])),
        type=label,
    )
