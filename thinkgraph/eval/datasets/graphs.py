"""Datasets over knowledge graphs: MetaQA, WebQSP, CWQ, QALD, GRBench, and zero-shot relation extraction (KILT)."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from urllib.parse import unquote

from thinkgraph.errors import UsageError
from thinkgraph.eval.datasets.base import DatasetRow, Found, grouped, json_file, json_lines, objects, reader
from thinkgraph.eval.files import lines_of
from thinkgraph.eval.questions import Question

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
_TSV_COLUMNS = 2
_MAX_HOPS = 3


@reader
def metaqa(path: Path) -> Found:
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
    for place, (number, line) in enumerate(rows):
        where = f"{path}, line {number}"
        cells = line.split("\t")
        answers, _ = grouped([answer] for answer in cells[1].split("|")) if len(cells) > 1 else ((), ())
        if not answers:
            raise UsageError(f"{where}: must be a question and its answers, parted by a tab")
        topic = _TOPIC.search(cells[0])
        if topic is None or not topic[1].strip():
            raise UsageError(f"{where}: the question names no [topic]")
        if len(cells) > _MAX_HOPS and cells[3].strip() == "0":
            continue
        kind = kinds[place] if kinds else cells[2].strip() if len(cells) > _TSV_COLUMNS else ""
        path_ = _metaqa_path(topic[1], kind, where)
        yield (
            where,
            Question(
                id=f"{path.stem}-{number}",
                question=f"{_TOPIC.sub(topic[1], cells[0]).strip()}?".replace("??", "?"),
                answers=answers,
                type=f"{len(path_)}hop" if path_ else "",
                topic=(topic[1],),
                gold_path=path_,
            ),
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


@reader
def webqsp(path: Path) -> Found:
    """`WebQSP.{train,test}.json`: {"Questions": [{"QuestionId", "RawQuestion", "Parses": [{"Answers": […]}]}]}.

    Answers of all parses count, by name (their Freebase id where they have none). Questions without any answer are kept:
    the published scripts count them.
    """
    for row in json_file(path, "Questions"):
        groups: list[list[str]] = []
        topics: list[str] = []
        for parse in row.rows("Parses"):
            topics += [name] if (name := str(parse.value.get("TopicEntityName") or "").strip()) else []
            for answer in parse.rows("Answers"):
                known = str(answer.value.get("EntityName") or "").strip()
                groups.append([known] if known else [answer.text("AnswerArgument")])
        answers, aliases = grouped(groups)
        yield (
            row.where,
            Question(
                id=row.name("QuestionId"),
                question=row.text("RawQuestion", "ProcessedQuestion"),
                answers=answers,
                aliases=aliases,
                topic=tuple(dict.fromkeys(topics)),
            ),
        )


@reader
def cwq(path: Path) -> Found:
    """`ComplexWebQuestions_{train,dev,test}.json`: [{"ID", "question", "answers": [{"answer", "aliases"}]}].

    The type is the published `compositionality_type`. Test files without answers are refused.
    """
    for row in json_file(path):
        groups = [[_known(answer, "answer", "answer_id"), *answer.texts("aliases")] for answer in row.rows("answers")]
        answers, aliases = grouped(groups)
        kind = row.value.get("compositionality_type")
        yield (
            row.where,
            Question(
                id=row.name("ID"),
                question=row.text("question"),
                answers=answers,
                aliases=aliases,
                type=kind if isinstance(kind, str) else "",
            ),
        )


def _known(row: DatasetRow, name: str, other: str) -> str:
    found = row.value.get(name)
    return found.strip() if isinstance(found, str) and found.strip() else row.text(other)


@reader
def qald(path: Path, *, language: str = "en") -> Found:
    """QALD-9-plus and QALD-10 JSON: {"questions": [{"id", "question": [{"language", "string"}], "answers": […]}]}.

    Answers are IRIs or literals in SPARQL's result format; an IRI is compared as a whole, by its last part (an entity id of
    Wikidata's) and by its label in the graph at hand (`thinkgraph.eval.datasets.ids`). ASK queries give yes or no. Questions without
    a wording in `language` are left out.
    """
    for row in json_file(path, "questions"):
        wording = next((entry for entry in row.rows("question") if entry.value.get("language") == language), None)
        if wording is None or not str(wording.value.get("string") or "").strip():
            continue
        groups: list[list[str]] = []
        boolean = False
        for answer in row.rows("answers", needed=False):
            if isinstance(answer.value.get("boolean"), bool):
                boolean = True
                groups.append(["yes" if answer.value["boolean"] else "no"])
            elif "results" in answer.value:
                groups += [forms for binding in answer.row("results").rows("bindings") for forms in _bound(binding)]
        answers, aliases = grouped(groups)
        yield (
            row.where,
            Question(
                id=row.name("id"),
                question=wording.text("string"),
                answers=answers,
                aliases=aliases,
                type="yesno" if boolean else "",
            ),
        )


def _bound(binding: DatasetRow) -> list[list[str]]:
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


@reader
def grbench(path: Path) -> Found:
    """GRBench `data.json` (JSON Lines, one domain each): {"qid", "question", "answer", "level"?}.

    The answer is one text; a list of members is parted at commas only where the file gives a list.
    """
    for row in objects(path):
        answer = row.value.get("answer")
        groups = [[str(entry)] for entry in answer] if isinstance(answer, list) else [[row.name("answer")]]
        answers, _ = grouped(groups)
        level = row.value.get("level")
        yield (
            row.where,
            Question(
                id=row.name("qid"),
                question=row.text("question"),
                answers=answers,
                type=level if isinstance(level, str) else "",
            ),
        )


_SEP = "[SEP]"


@reader
def kilt(path: Path) -> Found:
    """Zero-shot RE and T-REx as KILT publishes them (JSON Lines): {"id", "input": "subject [SEP] relation", "output"}.

    Asked with the first template question where the file has one, else as "subject: relation?".
    """
    for row in json_lines(path):
        subject, sep, relation = row.text("input").partition(_SEP)
        if not sep or not subject.strip() or not relation.strip():
            raise row.fail("input", f'must be "subject {_SEP} relation"')
        said = [
            str(entry.value["answer"]).strip()
            for entry in row.rows("output")
            if isinstance(entry.value.get("answer"), str) and entry.value["answer"].strip()
        ]
        if not said:
            raise row.fail("output", "holds no answer; this split hides them")
        meta = row.value.get("meta")
        templates = DatasetRow(meta, row.where).texts("template_questions") if isinstance(meta, dict) else []
        yield (
            row.where,
            Question(
                id=row.name("id"),
                question=templates[0] if templates else f"{subject.strip()}: {relation.strip()}?",
                # Any of KILT's outputs is right: the others are forms of the first.
                answers=tuple(said[:1]),
                aliases=(tuple(dict.fromkeys(said[1:])),),
                topic=(subject.strip(),),
                paraphrases=tuple(templates[1:]),
            ),
        )
