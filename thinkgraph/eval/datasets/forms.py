"""Published formats as data, and the one reader of them all.

A format is told by the names under which its rows keep question and answers. Ids, types, topics and other forms of an answer
have the same few names in all of them. What stands under a name is read by its shape: a text, a list of texts, a list of
objects with names and ids, an object of names by id, or results of SPARQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from thinkgraph.errors import UsageError
from thinkgraph.eval.datasets.ids import ENTITY_ID
from thinkgraph.eval.files import FileRow, objects
from thinkgraph.eval.questions import Question, Read, collected, grouped
from thinkgraph.prompts.tasks import TASK_LABELS, Task
from thinkgraph.tools.grounding import fold, stands_in


class Fields(NamedTuple):
    """One published format: where its rows keep the question and what answers it."""

    question: str
    """The name of the question."""
    answers: str
    """The name of the answers, or of the label of a statement."""
    one: bool = False
    """Whether what is listed are forms of one answer, any of which is right."""
    beside: str = ""
    """A field that tells this form from files of other making, whose answers are read otherwise."""

    @property
    def needs(self) -> list[str]:
        """The fields that a row of this form has."""
        return list(filter(None, (self.question, self.answers, self.beside)))


_IDS = ("id", "_id", "ID", "qid", "QuestionId", "ex_id", "qas_id")
_TYPES = ("compositionality_type", "type", "level")
_TOPICS = ("qid_topic_entity", "topic_entity", "entities")
"""Objects of entity names by id: ToG's (Freebase, Wikidata), ToG-2's (Wikidata)."""
_NAMES = ("answer", "EntityName", "entity_name")
_KEYS = ("AnswerArgument", "answer_argument", "answer_id")
_SEP = "[SEP]"
_MOST_FIELDS = 20

Topics = Mapping[str, Sequence[str]]
"""Ids by name."""


def reader_of(title: str, forms: Sequence[Fields], style: Task = "question") -> Read:
    """What reads a file in one of these formats: JSON Lines, one list, or the list under "questions" of one object.

    Args:
        title: of the data set, for messages.
        forms: the formats known; the first whose question and answers a row has is taken.
        style: what is asked for; a statement's answer is one of its labels.
    """

    def read(path: Path) -> list[Question]:
        linked = _linked_beside(path)
        labels = {label.casefold(): label for label in TASK_LABELS[style]}
        found = (
            (row.where, _question(row, _form_of(row, title, forms), f"{path.stem}-{number}", labels, linked))
            for number, row in enumerate(objects(path), start=1)
        )
        return collected(path, found)

    return read


def _form_of(row: FileRow, title: str, forms: Sequence[Fields]) -> Fields:
    for form in forms:
        if row.value.keys() >= {*form.needs}:
            return form
    has = ", ".join(sorted(row.value)[:_MOST_FIELDS]) or "none"
    known = " or ".join(" and ".join(form.needs) for form in forms)
    raise UsageError(f"{row.where}: no known form of {title}: it has the fields {has}, and must have {known}")


def _question(
    row: FileRow, form: Fields, place: str, labels: Mapping[str, str], linked: Mapping[str, Topics]
) -> Question | None:
    """One row; None for a question without an English wording."""
    wording, subject = _wording(row, form.question)
    if not wording:
        return None
    name = row.name(*_IDS) if any(key in row.value for key in _IDS) else place
    answers, aliases = ((_label(row, form.answers, labels),), ((),)) if labels else _answers(row, form)
    topics = _topics(row, wording, subject) or linked.get(wording) or {}
    kind = answers[0].lower() if labels else next(filter(None, map(row.note, _TYPES)), "") or _kind(row, form, name)
    if _is_hidden(row):
        # MuSiQue has every question twice under one id, once without a paragraph that it needs.
        name, kind, answers, aliases = f"{name}-unanswerable", f"{kind}-unanswerable".strip("-"), (), ()
    return Question(
        id=name,
        question=wording,
        answers=answers,
        aliases=aliases,
        type=kind,
        topic=tuple(topics),
        topic_ids=tuple(map(tuple, topics.values())) if any(topics.values()) else (),
        # ToG's script compares its slot fillings with `answer` alone.
        compared=answers if "alias" in row.value else (),
    )


def _wording(row: FileRow, name: str) -> tuple[str, str]:
    """The question in words, and its subject where it is a slot to fill ("subject [SEP] relation")."""
    if isinstance(row.value[name], list):
        english = (one.note("string") for one in row.rows(name) if one.value.get("language") == "en")
        return next(english, ""), ""
    text = row.text(name)
    if name != "input":
        return text, ""
    subject, sep, relation = (part.strip() for part in text.partition(_SEP))
    if not sep or not subject or not relation:
        raise row.fail(name, f'must be "subject {_SEP} relation"')
    meta = row.value.get("meta")
    templates = (FileRow(meta, row.where) if isinstance(meta, dict) else row).texts("template_questions")
    return templates[0] if templates else f"{subject}: {relation}?", subject


def _label(row: FileRow, name: str, labels: Mapping[str, str]) -> str:
    label = labels.get(str(row.value[name]).strip().casefold())
    if label is None:
        raise row.fail(name, f"must be one of {', '.join(labels.values())}; some test splits hide it")
    return label


def _kind(row: FileRow, form: Fields, name: str) -> str:
    """The type where no field gives it: ASK queries (QALD), the number of hops in the id (MuSiQue)."""
    given = row.value[form.answers]
    if isinstance(given, list) and any(isinstance(one, dict) and "boolean" in one for one in given):
        return "yesno"
    return name.partition("__")[0] if "__" in name else ""


def _is_hidden(row: FileRow) -> bool:
    answerable = row.value.get("answerable", True)
    if not isinstance(answerable, bool):
        raise row.fail("answerable", "must be true or false")
    return not answerable


# --- answers --------------------------------------------------------------------------------------------------------


def _answers(row: FileRow, form: Fields) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    groups = list(_groups(row, form))
    others = [*row.texts("alias"), *row.texts("answer_aliases")]
    if not form.one and not others:
        return grouped(groups)
    answers, aliases = grouped([[*chain.from_iterable(groups), *others]])
    if not answers:
        raise row.fail(form.answers, "holds no answer; this split hides them")
    return answers, aliases


def _groups(row: FileRow, form: Fields) -> Iterator[Sequence[str]]:
    """Each answer with its other forms, the best name first."""
    given = row.value[form.answers]
    if isinstance(given, dict):
        yield from ((name, key) for key, name in row.mapping(form.answers).items())
    elif not isinstance(given, list):
        yield [row.name(form.answers)]
    elif given and all(isinstance(one, dict) for one in given):
        for one in row.rows(form.answers):
            yield from _members(one, needed=not form.one)
    else:
        yield from ([text] for text in row.texts(form.answers))


def _members(entry: FileRow, *, needed: bool = True) -> Iterator[Sequence[str]]:
    """The answers of one object of a list: an answer, one of WebQSP's parses, or results of SPARQL."""
    value = entry.value
    if isinstance(value.get("boolean"), bool):
        yield ["yes" if value["boolean"] else "no"]
    elif "results" in value:
        for binding in entry.row("results").rows("bindings"):
            yield from _bound(binding)
    elif "Answers" in value or "Sparql" in value or "TopicEntityName" in value:
        for answer in entry.rows("Answers"):
            yield from _members(answer)
    else:
        name = next(filter(None, map(entry.note, _NAMES)), "")
        if name or needed:
            yield [name or entry.name(*_KEYS), *entry.texts("aliases")]


def _bound(binding: FileRow) -> Iterator[Sequence[str]]:
    """An IRI is accepted as a whole, by its last part (an id of Wikidata's) and by its label in the graph at hand."""
    for name in binding.value:
        cell = binding.row(name)
        if cell.value.get("type") == "uri":
            text = cell.name("value")
            last = unquote(re.split(r"[/#]", text.rstrip("/"))[-1])
            yield last.replace("_", " "), text, last
        elif cell.value.get("value") != "":
            # QALD-9-plus binds an empty literal here and there.
            yield [cell.name("value")]


# --- topics ---------------------------------------------------------------------------------------------------------


def _topics(row: FileRow, wording: str, subject: str) -> Topics:
    """The entities that the row gives with its question; entities that a file links are preferred to names it mentions."""
    given = chain.from_iterable(row.mapping(name).items() for name in _TOPICS if isinstance(row.value.get(name), dict))
    return _by_name(given) or _by_name(_mentioned(row, wording, subject))


def _by_name(pairs: Iterator[tuple[str, str]]) -> Topics:
    found: dict[str, dict[str, None]] = {}
    for key, name in pairs:
        # "UnknownQID", "UnknownMID" and "None" stand for ids that were not found.
        if name.strip():
            found.setdefault(name.strip(), {}).update({key: None} if ENTITY_ID.fullmatch(key) else {})
    return {name: tuple(keys) for name, keys in found.items()}


def _mentioned(row: FileRow, wording: str, subject: str) -> Iterator[tuple[str, str]]:
    """Ids (may be empty) and names that a row has elsewhere: a subject, WebQSP's parses, GrailQA's query, HotpotQA's pages."""
    yield from (("", name) for name in (subject, row.note("entity")))
    if isinstance(parses := row.value.get("Parses"), list) and parses:
        yield from ((one.note("TopicEntityMid"), one.note("TopicEntityName")) for one in row.rows("Parses"))
    if isinstance(row.value.get("graph_query"), dict):
        nodes = row.row("graph_query").rows("nodes")
        yield from ((n.note("id"), n.note("friendly_name")) for n in nodes if n.note("node_type") == "entity")
    # The other pages are what the question asks to be found.
    yield from (("", title) for title in _titles(row) if _is_named(title, wording))


def _is_named(title: str, question: str) -> bool:
    """Whether a question names the page of this title; "(film)" and the like at its end are not spoken."""
    name = fold(re.sub(r"\s*\([^()]*\)$", "", title))
    return stands_in(name, fold(question))


def _titles(row: FileRow) -> Sequence[str]:
    """Titles of the supporting facts: [[title, sentence], …], or {"title": […]} as Hugging Face has them."""
    facts: Any = row.value.get("supporting_facts")
    if isinstance(facts, dict):
        return row.row("supporting_facts").texts("title")
    if facts is None:
        return []
    if not isinstance(facts, list) or not all(isinstance(fact, list) and fact for fact in facts):
        raise row.fail("supporting_facts", "must be a list of [title, sentence number]")
    return [title for fact in facts if (title := str(fact[0]).strip())]


def _linked_beside(path: Path) -> Mapping[str, Topics]:
    """Topics by question, from the file in which ToG-2 publishes the entities that it linked (`NAME_entities_azure.json`)."""
    file = path.with_name(f"{path.stem.removesuffix('_dev')}_entities_azure.json")
    if file == path or not file.is_file():
        return {}
    return {row.text("question", "claim"): _by_name(iter(row.mapping("entities").items())) for row in objects(file)}
