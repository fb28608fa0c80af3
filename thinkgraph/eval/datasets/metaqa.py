"""MetaQA's question files, which are no JSON, with the gold paths that their types give."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from thinkgraph.errors import UsageError
from thinkgraph.eval.files import lines_of
from thinkgraph.eval.questions import Question, collected, grouped

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
