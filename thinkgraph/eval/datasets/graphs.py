"""Datasets over knowledge graphs: MetaQA, WebQSP, CWQ, QALD, GRBench, and zero-shot relation extraction (KILT)."""

from __future__ import annotations

import itertools
import re
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from thinkgraph.errors import UsageError
from thinkgraph.eval.files import FileRow, json_file, json_lines, lines_of, objects
from thinkgraph.eval.questions import Question, collected, grouped, reader

_TOPIC = re.compile(r"\[([^\[\]]+)\]")
_RELATIONS = {
    "director": "directed_by",
    "writer": "written_by",
    "actor": "starred_actors",
    "year": "release_year",
    "language": "in_language",
    "tags": "has_tags",
    "tag": "has_tags",
    "genre": "has_genre",
    "imdbrating": "has_imdb_rating",
    "imdbvotes": "has_imdb_votes",
}


def metaqa(path: Path) -> list[Question]:
    """`question with [topic]<TAB>answer|answer…`, with the path's type in a third column or in `…_qtype.txt`: beside it, or one
    folder up, where it is published.

    With the type each question gets its gold path. A fourth column, where there is one, tells whether that path gives
    exactly the gold answers in the graph at hand: rows with 0 are left out, as they cannot be scored.
    """
    beside = _metaqa_kinds_file(path)
    kinds = [kind.strip() for _, kind in lines_of(beside)] if beside else []
    rows = list(lines_of(path))
    if beside and len(kinds) != len(rows):
        raise UsageError(f"{beside}: has {len(kinds)} types for the {len(rows)} questions of {path.name}")
    pairs = zip(rows, kinds or [""] * len(rows), strict=True)
    return collected(path, ((f"{path}, line {row[0]}", _metaqa_question(path, *row, kind)) for row, kind in pairs))


def _metaqa_question(path: Path, number: int, line: str, kind: str) -> Question | None:
    where = f"{path}, line {number}"
    asked, given, own_kind, scored, *_ = [*line.split("\t"), "", "", "", ""]
    answers, _ = grouped([answer] for answer in given.split("|"))
    if not answers:
        raise UsageError(f"{where}: must be a question and its answers, parted by a tab")
    topic = _TOPIC.search(asked)
    if topic is None or not topic[1].strip():
        raise UsageError(f"{where}: the question names no [topic]")
    if scored.strip() == "0":
        return None
    hops = _metaqa_path(topic[1], kind or own_kind.strip(), where)
    return Question(
        id=f"{path.stem}-{number}",
        question=f"{_TOPIC.sub(topic[1], asked).strip()}?".replace("??", "?"),
        answers=answers,
        type=f"{len(hops)}hop" if hops else "",
        topic=(topic[1],),
        gold_path=hops,
    )


def _metaqa_kinds_file(path: Path) -> Path | None:
    name = f"{path.stem}_qtype{path.suffix}"
    return next((file for folder in (path.parent, path.parent.parent) if (file := folder / name).is_file()), None)


def _metaqa_path(topic: str, kind: str, where: str) -> tuple[tuple[str, ...], ...]:
    """`actor_to_movie_to_year` as hops: [topic, -starred_actors], [*, release_year]."""
    if not kind:
        return ()
    stops = kind.split("_to_")
    hops: list[tuple[str, ...]] = []
    for start, end in itertools.pairwise(stops):
        known = _RELATIONS.get(start if end == "movie" else end)
        if known is None or "movie" not in {start, end}:
            raise UsageError(f'{where}: "{kind}" is no path type of MetaQA')
        relation = f"-{known}" if end == "movie" else known
        # "films that share an actor with X" never means X itself, nor "directors of the films of X".
        hops.append((topic, relation) if not hops else ("*", relation, "new"))
    return tuple(hops)


@reader(partial(json_file, key="Questions"))
def webqsp(row: FileRow) -> Question:
    """`WebQSP.{train,test}.json`: {"Questions": [{"QuestionId", "RawQuestion", "Parses": [{"Answers": […]}]}]}.

    Answers of all parses count, by name (their Freebase id where they have none). Questions without any answer are kept:
    the published scripts count them.
    """
    groups: list[list[str]] = []
    topics: list[str] = []
    for parse in row.rows("Parses"):
        topics += filter(None, [parse.note("TopicEntityName")])
        groups += [[answer.note("EntityName") or answer.text("AnswerArgument")] for answer in parse.rows("Answers")]
    answers, aliases = grouped(groups)
    return Question(
        id=row.name("QuestionId"),
        question=row.text("RawQuestion", "ProcessedQuestion"),
        answers=answers,
        aliases=aliases,
        topic=tuple(dict.fromkeys(topics)),
    )


@reader(json_file)
def cwq(row: FileRow) -> Question:
    """`ComplexWebQuestions_{train,dev,test}.json`: [{"ID", "question", "answers": [{"answer", "aliases"}]}].

    The type is the published `compositionality_type`. Test files without answers are refused.
    """
    answers, aliases = grouped(
        [answer.note("answer") or answer.text("answer_id"), *answer.texts("aliases")] for answer in row.rows("answers")
    )
    return Question(
        id=row.name("ID"),
        question=row.text("question"),
        answers=answers,
        aliases=aliases,
        type=row.note("compositionality_type"),
    )


@reader(partial(json_file, key="questions"))
def qald(row: FileRow) -> Question | None:
    """QALD-9-plus and QALD-10 JSON: {"questions": [{"id", "question": [{"language", "string"}], "answers": […]}]}.

    Answers are IRIs or literals in SPARQL's result format; an IRI is compared as a whole, by its last part (an entity id of
    Wikidata's) and by its label in the graph at hand (`thinkgraph.eval.datasets.ids`). ASK queries give yes or no. Questions without
    an English wording are left out.
    """
    english = (entry.note("string") for entry in row.rows("question") if entry.value.get("language") == "en")
    if not (wording := next(english, "")):
        return None
    groups: list[list[str]] = []
    boolean = False
    for answer in row.rows("answers", needed=False):
        if isinstance(answer.value.get("boolean"), bool):
            boolean = True
            groups.append(["yes" if answer.value["boolean"] else "no"])
        elif "results" in answer.value:
            groups += [forms for binding in answer.row("results").rows("bindings") for forms in _bound(binding)]
    answers, aliases = grouped(groups)
    return Question(
        id=row.name("id"),
        question=wording,
        answers=answers,
        aliases=aliases,
        type="yesno" if boolean else "",
    )


def _bound(binding: FileRow) -> list[list[str]]:
    found = []
    for name in binding.value:
        cell = binding.row(name)
        text = cell.name("value")
        if cell.value.get("type") == "uri":
            last = unquote(re.split(r"[/#]", text.rstrip("/"))[-1])
            found.append([last.replace("_", " "), text, last])
        else:
            found.append([text])
    return found


@reader(objects)
def grbench(row: FileRow) -> Question:
    """GRBench `data.json` (JSON Lines, one domain each): {"qid", "question", "answer", "level"?}.

    The answer is one text; a list of members is parted at commas only where the file gives a list.
    """
    answer = row.value.get("answer")
    groups = [[str(entry)] for entry in answer] if isinstance(answer, list) else [[row.name("answer")]]
    answers, _ = grouped(groups)
    return Question(
        id=row.name("qid"),
        question=row.text("question"),
        answers=answers,
        type=row.note("level"),
    )


_SEP = "[SEP]"


@reader(json_lines)
def kilt(row: FileRow) -> Question:
    """Zero-shot RE and T-REx as KILT publishes them (JSON Lines): {"id", "input": "subject [SEP] relation", "output"}.

    Asked with the first template question where the file has one, else as "subject: relation?".
    """
    subject, sep, relation = row.text("input").partition(_SEP)
    if not sep or not subject.strip() or not relation.strip():
        raise row.fail("input", f'must be "subject {_SEP} relation"')
    said = [answer for entry in row.rows("output") if (answer := entry.note("answer"))]
    if not said:
        raise row.fail("output", "holds no answer; this split hides them")
    meta = row.value.get("meta")
    templates = FileRow(meta, row.where).texts("template_questions") if isinstance(meta, dict) else ()
    return Question(
        id=row.name("id"),
        question=templates[0] if templates else f"{subject.strip()}: {relation.strip()}?",
        # Any of KILT's outputs is right: the others are forms of the first.
        answers=tuple(said[:1]),
        aliases=(tuple(dict.fromkeys(said[1:])),),
        topic=(subject.strip(),),
    )
