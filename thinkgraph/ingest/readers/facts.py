"""What files say of entities beside their triples: labels, other names, descriptions and classes, kept on disk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Literal

from thinkgraph.ingest.readers.files import EntityRow
from thinkgraph.ingest.writers.rows import fast_database
from thinkgraph.tools.linking.names import key_label

Kind = Literal["label", "alias", "description", "class"]
_KINDS: Mapping[Kind, int] = {"label": 0, "description": 1, "class": 2, "alias": 3}
_LABEL, _DESCRIPTION, _CLASS = range(3)
_BATCH = 50_000
_LANGUAGES = 1_000
"""Ranks of a predicate: the surer predicate comes before the better language."""
_OTHER = 900
"""Rank of a language that is not preferred; a text in one comes after all that are in preferred ones."""
_OTHERS = 1_000_000
_DESCRIPTION_LENGTH = 300
_ALIASES = (
    "SELECT entity, text FROM (SELECT entity, kind, rank, text, row_number() OVER ("
    "PARTITION BY entity, kind ORDER BY rank, text) AS place FROM fact WHERE kind IN (0, 3){one}) "
    f"WHERE kind = 3 OR (place > 1 AND rank < {_OTHERS}) ORDER BY entity, kind, rank, text"
)


class Languages:
    """Preferred languages, best first; then text without a language, then Wikidata's "mul"."""

    def __init__(self, preferred: Sequence[str] = ()) -> None:
        """Prefer these, or English where none is given (then no text is left out for its language)."""
        self.strict = bool(preferred)
        self.codes = tuple(dict.fromkeys([*([code.casefold() for code in preferred] or ["en"]), "", "mul"]))
        self._ranks = {code: rank for rank, code in enumerate(self.codes)}

    def rank(self, language: str) -> int:
        """How good a language is, 0 the best; regions count as their language ("en-GB" as "en")."""
        code = language.casefold()
        if (found := self._ranks.get(code)) is not None:
            return found
        return self._ranks.get(code.partition("-")[0], _OTHER)

    def wanted(self, language: str) -> bool:
        """Whether a language is one of the preferred, or none at all."""
        return self.rank(language) < _OTHER


class Facts(AbstractContextManager["Facts"]):
    """A file of such facts. Use as a context manager; the file goes when it ends."""

    def __init__(self, path: Path, languages: Languages) -> None:
        """Begin a new file; what a killed build left there goes."""
        self.languages = languages
        self._path = path
        self._db = fast_database(path)
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._db.execute("CREATE TABLE fact (entity TEXT, kind INTEGER, rank INTEGER, text TEXT)")
        self._db.execute("BEGIN")
        self._pending: list[tuple[str, int, int, str]] = []
        self._indexed = False
        self._label = lru_cache(100_000)(self._asked_label)

    def __exit__(self, *_: object) -> None:
        self._db.close()
        self._path.unlink()

    def add(self, entity: str, kind: Kind, text: str, *, language: str = "", predicate: int = 0) -> None:
        """Note one fact; `predicate` is the rank of what says it. Other names in other languages are let go."""
        rank = self.languages.rank(language)
        if kind == "alias" and rank >= _OTHER:
            return
        text = " ".join(text.split())
        if kind == "description":
            text = text[:_DESCRIPTION_LENGTH]
        if text:
            place = predicate * _LANGUAGES + rank + (_OTHERS if rank >= _OTHER else 0)
            self._pending.append((entity, _KINDS[kind], place, text))
            if len(self._pending) >= _BATCH:
                self._flush()

    def _flush(self) -> None:
        self._db.executemany("INSERT INTO fact VALUES (?, ?, ?, ?)", self._pending)
        self._pending.clear()
        self._label.cache_clear()

    def _read(self) -> sqlite3.Connection:
        self._flush()
        if not self._indexed:
            self._db.execute("CREATE INDEX fact_order ON fact (entity, kind, rank, text)")
            self._indexed = True
        return self._db

    def label(self, entity: str) -> str:
        """The best label of an entity, or what its key reads like. Call it when all is noted."""
        if self._pending or not self._indexed:
            self._read()
        return self._label(entity)

    def _asked_label(self, entity: str) -> str:
        row = self._db.execute(
            "SELECT text FROM fact WHERE entity = ? AND kind = 0 ORDER BY rank, text LIMIT 1", (entity,)
        ).fetchone()
        return str(row[0]) if row else key_label(entity)

    def forget(self, entities: Iterable[str]) -> None:
        """Drop all that was noted of some entities."""
        self._flush()
        self._db.execute(
            "DELETE FROM fact WHERE entity IN (SELECT value FROM json_each(?))", (json.dumps(sorted(entities)),)
        )

    def rows(self) -> Iterator[EntityRow]:
        """Every entity of which there is a label, a description or a class."""
        facts = self._read().execute(
            "SELECT entity, kind, rank, text FROM fact WHERE kind < 3 ORDER BY entity, kind, rank, text"
        )
        for entity, found in groupby(facts, key=lambda row: row[0]):
            best: dict[int, str] = {}
            classes: list[str] = []
            for _, kind, _, text in found:
                best.setdefault(kind, text)
                if kind == _CLASS:
                    classes.append(text)
            # Of several classes the one with the shortest id, which on Wikidata is the oldest and mostly the plainest.
            kind_label = self.label(min(classes, key=lambda one: (len(one), one))) if classes else ""
            yield EntityRow(str(entity), best.get(_LABEL, ""), kind_label, best.get(_DESCRIPTION, ""))

    def aliases(self, more: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
        """Each entity with its other names: those of `more`, then aliases, and labels beside the best one."""
        db = self._read()
        for entity, names in more.items():
            rows = db.execute(_ALIASES.format(one=" AND entity = ?"), (entity,))
            yield entity, list(dict.fromkeys([*names, *(text for _, text in rows)]))
        for entity, found in groupby(db.execute(_ALIASES.format(one="")), key=lambda row: row[0]):
            if entity not in more:
                yield entity, list(dict.fromkeys(text for _, text in found))
