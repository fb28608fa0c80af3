"""Finds entities by name in `graph.sqlite`: equal names, shared words, similar spelling."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from heapq import nlargest, nsmallest
from typing import NamedTuple

from thinkgraph.state.knowledge import LinkMethod
from thinkgraph.tools.linking.names import folded, key_label, normal_name, trigrams, words
from thinkgraph.tools.sqlite.file import chunks, json_array, phrase
from thinkgraph.tools.sqlite.graph_schema import ALIAS, KEY, LABEL

_CHUNK = 2_000
_MOST_NAMES = 20_000
"""Names looked at for one text; beyond that, its commonest words and trigrams are left out of the search."""
_CANDIDATES = 60
_LONGEST = 300
"""Characters of a text that are compared by spelling, and words that are searched."""
_LEAST_SIMILAR = 0.55
_TOP_SCORE = 0.999

_EQUAL = (
    "SELECT name, node, kind, text FROM (SELECT j.value AS name, m.node, m.kind, m.text, row_number() OVER ("
    "PARTITION BY j.value ORDER BY m.kind > 0, n.triples DESC, n.key) AS place "
    "FROM json_each(?1) j CROSS JOIN name m ON m.norm = j.value CROSS JOIN node n ON n.id = m.node) "
    "WHERE place <= ?2 ORDER BY name, place"
)
_COMMON = "SELECT c.term, c.names FROM json_each(?2) j CROSS JOIN common c ON c.source = ?1 AND c.term = j.value"
_COUNT = "SELECT j.value, v.doc FROM json_each(?1) j CROSS JOIN temp.{table}_count v ON v.term = j.value"
_FITS = (
    "SELECT m.id, length(m.norm), n.triples "
    "FROM json_each(?1) j CROSS JOIN name m ON m.id = j.value CROSS JOIN node n ON n.id = m.node"
)
_NAMES = (
    "SELECT m.id, m.node, m.kind, n.triples, iif(m.kind = 2, m.text, n.label), n.key "
    "FROM json_each(?1) j CROSS JOIN name m ON m.id = j.value CROSS JOIN node n ON n.id = m.node"
)


class Found(NamedTuple):
    """An entity found by one of its names."""

    node: int
    kind: int
    text: str | None
    """The alias that matched; None for other kinds of names."""
    method: LinkMethod
    score: float


class _Name(NamedTuple):
    node: int
    kind: int
    triples: int
    text: str
    key: str


def equal(db: sqlite3.Connection, texts: Sequence[str], limit: int) -> list[list[Found]]:
    """Entities with a name equal to each text: labels first, then by number of triples, then by id."""
    asked = [normal_name(text) for text in texts]
    found: dict[str, list[Found]] = {}
    for part in chunks(list(dict.fromkeys(asked)), _CHUNK):
        for name, node, kind, text in db.execute(_EQUAL, (json_array(part), max(limit, 0))):
            method: LinkMethod = "exact" if kind == LABEL else "alias"
            found.setdefault(name, []).append(Found(node, kind, text, method, 1.0))
    return [list(found.get(name, ())) for name in asked]


def sharing_words(db: sqlite3.Connection, texts: Sequence[str], limit: int) -> list[list[Found]]:
    """Entities whose names share words with each text, scored by the rarity of what is shared and what is not."""
    asked = [list(dict.fromkeys(words(text)[:_LONGEST])) for text in texts]
    counts = _counts(db, "name_word", {word for one in asked for word in one})
    (names,) = db.execute("SELECT coalesce(max(id), 0) FROM name").fetchone()
    rarity = {word: _rarity(names, count) for word, count in counts.items()}
    terms = [[(word, rarity[word]) for word in _rarest(one, counts)] for one in asked]
    candidates = _candidates(db, "name_word", terms, [0] * len(terms), limit)
    rows = _named(db, {name for one in candidates for name in one})
    parts = {name: words(row.text) for name, row in rows.items()}
    others = {word for tokens in parts.values() for word in tokens} - rarity.keys()
    rarity.update((word, _rarity(names, count)) for word, count in _counts(db, "name_word", others).items())
    results = []
    for one, hits in zip(asked, candidates, strict=True):
        whole = sum(rarity.get(word, _rarity(names, 1)) for word in one)
        scored = []
        for name in hits:
            own = sum(rarity.get(word, 0.0) for word in parts[name])
            shared = sum(rarity.get(word, 0.0) for word in one if word in parts[name])
            # A name that the text contains whole outranks one of which it has a part, however long the text is.
            score = 0.5 * shared / own + shared / (own + whole) if own and whole else 0.0
            scored.append((min(_TOP_SCORE, max(score, 1e-6)), rows[name]))
        results.append(_best(scored, "fulltext", limit))
    return results


def spelt_like(db: sqlite3.Connection, texts: Sequence[str], limit: int) -> list[list[Found]]:
    """Entities with a name spelt like each text as a whole, scored by edit similarity."""
    from rapidfuzz import fuzz

    asked = [trigrams(text[:_LONGEST]) for text in texts]
    counts = _counts(db, "name_gram", {gram for one in asked for gram in one})
    terms = [[(gram, 1.0) for gram in _rarest(one, counts)] for one in asked]
    candidates = _candidates(db, "name_gram", terms, [len(folded(text[:_LONGEST])) for text in texts], limit)
    rows = _named(db, {name for one in candidates for name in one})
    results = []
    for text, hits in zip(texts, candidates, strict=True):
        whole = folded(text[:_LONGEST])
        scored = [(fuzz.ratio(whole, folded(rows[name].text)) / 100, rows[name]) for name in hits]
        kept = [(min(_TOP_SCORE, score), row) for score, row in scored if score >= _LEAST_SIMILAR]
        results.append(_best(kept, "fuzzy", limit))
    return results


def _rarity(names: int, count: int) -> float:
    return math.log(1 + names / max(count, 1))


def _counts(db: sqlite3.Connection, table: str, terms: set[str]) -> dict[str, int]:
    """In how many names each term stands, for those that stand in any."""
    found: dict[str, int] = {}
    for part in chunks(sorted(terms), _CHUNK):
        found.update(db.execute(_COMMON, (table, json_array(part))).fetchall())
    for part in chunks(sorted(terms - found.keys()), _CHUNK):
        found.update(db.execute(_COUNT.format(table=table), (json_array(part),)).fetchall())
    return found


def _rarest(terms: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """The rarest of the terms that occur, as many as together reach the bound on names; one at least."""
    chosen: list[str] = []
    names = 0
    for term in sorted((term for term in terms if term in counts), key=lambda term: (counts[term], term)):
        names += counts[term]
        if chosen and names > _MOST_NAMES:
            break
        chosen.append(term)
    return chosen


def _candidates(
    db: sqlite3.Connection, table: str, terms: Sequence[Sequence[tuple[str, float]]], lengths: Sequence[int], limit: int
) -> list[list[int]]:
    """For each list of terms with their weights, the names that share the most.

    Where as much is shared, those nearest in length come first (0: the shortest).
    """
    if limit <= 0:
        return [[] for _ in terms]
    count = max(_CANDIDATES, 3 * limit)
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"
    found = []
    for one, length in zip(terms, lengths, strict=True):
        weights: dict[int, float] = {}
        for term, weight in one:
            for (name,) in db.execute(sql, (phrase(term),)):
                weights[name] = weights.get(name, 0.0) + weight
        # Only names that share as much as the last one wanted need a look at their lengths.
        least = nlargest(count, weights.values())[-1] if weights else 0.0
        kept = [name for name, weight in weights.items() if weight >= least]
        ranked = [
            (-weights[name], abs(length - own), -triples, name)
            for part in chunks(kept, _CHUNK)
            for name, own, triples in db.execute(_FITS, (json.dumps(part),))
        ]
        found.append([name for _, _, _, name in nsmallest(count, ranked)])
    return found


def _named(db: sqlite3.Connection, names: set[int]) -> dict[int, _Name]:
    rows: dict[int, _Name] = {}
    for part in chunks(sorted(names), _CHUNK):
        for name, node, kind, triples, text, key in db.execute(_NAMES, (json_array(part),)):
            shown = key if kind == KEY else text or key_label(key)
            rows[name] = _Name(node, kind, triples, shown, key)
    return rows


def _best(scored: Sequence[tuple[float, _Name]], method: LinkMethod, limit: int) -> list[Found]:
    """The best name of each entity, best entities first."""
    best: dict[int, Found] = {}
    for score, row in sorted(scored, key=lambda one: (-one[0], one[1].kind, -one[1].triples, one[1].key)):
        if row.node not in best:
            best[row.node] = Found(row.node, row.kind, row.text if row.kind == ALIAS else None, method, score)
    return list(best.values())[: max(limit, 0)]
