"""Gold answers that are ids, replaced by the names of the entities: a method answers with names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from thinkgraph.eval.questions import Question, all_forms
from thinkgraph.tools.protocols import GraphStore

ENTITY_ID = re.compile(r"Q\d+|[mg]\.\w+|https?://\S+")
"""An id of Wikidata or Freebase, or an IRI: QALD's answers, and those of WebQSP and CWQ that have no name there."""


def compared_forms(question: Question) -> list[str]:
    """What a published script compares a reply with: the names of every gold answer; an id only where there is no name."""
    if question.compared:
        return list(question.compared)
    groups = all_forms(question.answers, question.aliases)
    return [form for forms in groups for form in [f for f in forms if not ENTITY_ID.fullmatch(f)] or forms[:1]]


def named(questions: Sequence[Question], graph: GraphStore) -> list[Question]:
    """The questions with labels of the graph in the place of ids. The ids stay accepted, as other forms of the answer.

    One round trip whatever the number of questions, none where no answer is an id.

    Raises:
        StoreError: the graph cannot be reached.
    """
    every = [forms for question in questions for forms in all_forms(question.answers, question.aliases)]
    wanted = {form for forms in every for form in forms if ENTITY_ID.fullmatch(form)}
    if not wanted:
        return list(questions)
    ids = sorted(wanted)
    labels = {
        key: entity["label"] for key, entity in zip(ids, graph.entities(ids), strict=True) if entity and entity["label"]
    }
    return [_renamed(question, labels) for question in questions]


def _renamed(question: Question, labels: dict[str, str]) -> Question:
    # Two ids may have one label: they are one answer then, as nothing in a reply tells them apart.
    answers: dict[str, dict[str, None]] = {}
    for forms in all_forms(question.answers, question.aliases):
        label = next((labels[form] for form in forms if form in labels), forms[0])
        answers.setdefault(label, {}).update(dict.fromkeys(form for form in forms if form != label))
    if list(answers) == list(question.answers):
        return question
    return replace(question, answers=tuple(answers), aliases=tuple(map(tuple, answers.values())))
