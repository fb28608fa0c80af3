"""Finds entities by name: through the owner's indexes where there are any, else by a scan that is bounded in time."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thinkgraph.state.knowledge import LinkMethod, Match
from thinkgraph.tools.linking.lexical import STOP_WORDS
from thinkgraph.tools.linking.names import folded, normal_name, trigrams, well_formed
from thinkgraph.tools.linking.names import words as words_of
from thinkgraph.tools.neo4j import cypher, rows
from thinkgraph.tools.neo4j.connection import Row, TimedOutError
from thinkgraph.tools.neo4j.plan import Neo4jPlan
from thinkgraph.tools.neo4j.roles import Roles, Template
from thinkgraph.tools.neo4j.rows import Neo4jReader, elements

SCANNED = 50_000
"""Entities up to which a query compares every name, whatever its spelling; beyond that indexes are used."""
_NORMALISES = (5, 17)
_CANDIDATES = 60
_PER_NAME = 100
_MOST_ROWS = 3_000
_LONGEST = 300
_LEAST_SIMILAR = 0.55
_LEAST_GRAMS = 0.34
_TOP_SCORE = 0.999
_STOP_WEIGHT = 0.1
_MANY = 2_000
_SMALL_WORDS = frozenset(
    {"of", "the", "and", "in", "on", "at", "a", "an", "for", "to", "by", "de", "la", "le", "von", "van"}
)
_LUCENE = re.compile(r'([+\-!(){}\[\]^"~*?:\\/&|\s])')

Branches = tuple[list[str], dict[str, Any]]
"""Parts of a query that return `n` and `rank`, and their parameters."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Group:
    """Labels whose names are made alike."""

    labels: tuple[str, ...]
    names: tuple[Template, ...]
    aliases: tuple[str, ...]
    nodes: int

    @property
    def match(self) -> str:
        """The pattern that finds its nodes."""
        if self.labels == ("",):
            return "MATCH (n) WHERE size(labels(n)) = 0"
        return f"MATCH (n:{'|'.join(map(cypher.quoted, self.labels))})"


@dataclass(frozen=True)
class FullText:
    """A full-text index over names."""

    name: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Ways:
    """How names are found in one database."""

    scanned: tuple[Group, ...]
    """Read name by name."""
    fulltext: tuple[FullText, ...]
    exact: tuple[tuple[str, str], ...]
    """Label and property of the indexes that find a name as it is written."""
    notes: tuple[str, ...]
    """Scans of many nodes, each with the index that would replace it; one line each."""


def find_ways(plan: Neo4jPlan, seconds: float) -> Ways:
    """Choose the labels to be scanned, the smallest first, and the indexes to be used for the others.

    Args:
        plan: the reading of the database.
        seconds: how long a scan may take.
    """
    scanned: list[Group] = []
    large: list[Group] = []
    nodes = 0
    for group in sorted(_groups(plan), key=lambda group: (group.nodes, group.labels)):
        nodes += group.nodes
        (scanned if nodes <= SCANNED else large).append(group)
    texts: dict[str, set[str]] = {}
    notes = []
    for group in large:
        covered = _covered(group, plan, texts)
        wanted = {*(key for name in group.names[:1] for key in name.keys), *group.aliases}
        simple = all(len(name.keys) == 1 and not name.prefix for name in group.names[:1])
        if not (wanted <= covered and simple):
            notes.append(_advice(group, wanted, seconds))
            # With an index over a part of the names, that part must do: a scan of so many nodes is the last resort.
            scanned += [] if covered else [group]
    exact = [
        (label, key)
        for group in large
        for label in group.labels
        for key in sorted(_naming(group))
        if plan.catalogue.exact_index(label, key)
    ]
    return Ways(
        scanned=tuple(scanned),
        fulltext=tuple(FullText(name, tuple(sorted(keys))) for name, keys in sorted(texts.items())),
        exact=tuple(sorted(exact)),
        notes=tuple(notes),
    )


def _groups(plan: Neo4jPlan) -> list[Group]:
    """The labels that have named things, by how their names are made."""
    groups: dict[tuple[tuple[Template, ...], tuple[str, ...]], list[str]] = {}
    counts = {**plan.catalogue.labels}
    if "" in plan.catalogue.samples:
        counts[""] = plan.catalogue.samples[""].count
    for label in sorted(counts):
        one = plan.roles.get(label) or Roles(label)
        if label not in plan.hidden_labels | plan.literal_labels and (one.names or one.aliases):
            # The unlabelled have a pattern of their own.
            groups.setdefault((one.names, (*one.aliases, *([""] if not label else []))), []).append(label)
    return [
        Group(tuple(labels), names, tuple(filter(None, aliases)), nodes=sum(counts[label] for label in labels))
        for (names, aliases), labels in groups.items()
    ]


def _covered(group: Group, plan: Neo4jPlan, used: dict[str, set[str]]) -> set[str]:
    """The naming properties that full-text indexes cover for every label of a group; notes those indexes in `used`."""
    covered: set[str] | None = None
    for label in group.labels:
        found: set[str] = set()
        for index in plan.catalogue.indexes:
            if index.kind == "FULLTEXT" and label in index.labels and (keys := _naming(group) & set(index.properties)):
                used.setdefault(index.name, set()).update(keys)
                found |= keys
        covered = found if covered is None else covered & found
    return covered or set()


def _naming(group: Group) -> set[str]:
    return {key for name in group.names for key in name.keys} | set(group.aliases)


def _advice(group: Group, keys: set[str], seconds: float) -> str:
    labels = "|".join(cypher.quoted(label) for label in group.labels if label)
    on = ", ".join(f"n.{cypher.quoted(key)}" for key in sorted(keys))
    shown = ", ".join(group.labels[:3]) or "unlabelled nodes"
    statement = f"CREATE FULLTEXT INDEX names_of_{re.sub(r'[^a-z0-9]+', '_', shown.lower()).strip('_')} FOR (n:{labels}) ON EACH [{on}]"
    return (
        f"finding one of the {group.nodes:,} {shown} by name reads them all, for {seconds:g} s at most; "
        f"their owner can run: {statement}"
    )


@dataclass(frozen=True)
class _Found:
    """A candidate with all its names."""

    node: rows.Neo4jNode
    aliases: tuple[str, ...]
    details: Sequence[Any]
    edges: Sequence[Any]
    degree: int

    def names(self) -> Iterator[tuple[str, LinkMethod]]:
        """Its label, then everything else it is called."""
        yield self.node.label, "exact"
        for name in dict.fromkeys((*self.node.names[1:], *self.aliases)):
            yield name, "alias"


class Neo4jNames:
    """Looks names up in one database. Safe from several threads."""

    def __init__(self, reader: Neo4jReader) -> None:
        """Find the entities of the reader's plan."""
        self._reader = reader
        self._plan = reader.plan
        self._scan_seconds = reader.connection.address.scan
        self.ways = find_ways(reader.plan, self._scan_seconds)
        self._gave_up = False

    def lookup(self, names: Sequence[str], limit: int) -> list[list[Match]]:
        """Entities called exactly so; see `GraphStore.lookup`."""
        norms = [normal_name(name) if len(name) <= _LONGEST else "" for name in names]
        wanted = sorted({name for name in norms if name and "\ufffd" not in well_formed(name)})
        if not wanted or limit < 1:
            return [[] for _ in names]
        given: dict[str, set[str]] = {name: set() for name in wanted}
        for name, norm in zip(names, norms, strict=True):
            if norm in given:
                given[norm].add(" ".join(name.split()))
        found: dict[str, list[tuple[_Found, str, LinkMethod]]] = {}
        for one in self._candidates(self._by_name, given, _MOST_ROWS + 2 * len(wanted)):
            seen: set[str] = set()
            for name, method in one.names():
                norm = normal_name(name)
                if norm in given and norm not in seen:
                    seen.add(norm)
                    found.setdefault(norm, []).append((one, name, method))
        for matches in found.values():
            matches.sort(key=lambda hit: (hit[2] != "exact", -hit[0].degree, hit[0].node.id))
        return [[self._match(*hit, 1.0) for hit in found.get(norm, [])[:limit]] for norm in norms]

    def search(self, texts: Sequence[str], limit: int) -> list[list[Match]]:
        """Entities whose names share words; see `GraphStore.search`."""
        queries = [list(dict.fromkeys(_all_words(text)[: 2 * _LONGEST])) for text in texts]
        telling = [[word for word in one if word not in STOP_WORDS] or one for one in queries]
        if not any(telling) or limit < 1:
            return [[] for _ in texts]
        found = self._candidates(self._by_words, telling, _MOST_ROWS)
        parts = [(one, name, words_of(name)) for one in found for name, _ in one.names()]
        results = []
        for one in queries:
            inside = set(one)
            whole = sum(map(_weight, one))
            scored = []
            for candidate, name, own in parts:
                shared = sum(_weight(word) for word in set(own) if word in inside)
                if shared:
                    # A name that the text contains whole outranks one of which it has a part, however long the text is.
                    full = sum(map(_weight, set(own)))
                    scored.append((0.5 * shared / full + shared / (full + whole), candidate, name))
            results.append(self._best(scored, "fulltext", limit))
        return results

    def spelt_like(self, texts: Sequence[str], limit: int) -> list[list[Match]]:
        """Entities with names spelt like the texts; see `GraphStore.search`."""
        from rapidfuzz import fuzz

        queries = [folded(well_formed(text[:_LONGEST]).replace("\0", " ")) for text in texts]
        if not any(queries) or limit < 1:
            return [[] for _ in texts]
        found = self._candidates(self._by_spelling, queries, _CANDIDATES * len(queries))
        names = [(one, name, folded(name)) for one in found for name, _ in one.names()]
        results = []
        for whole in queries:
            scored = [(fuzz.ratio(whole, spelt) / 100, one, name) for one, name, spelt in names if whole]
            results.append(self._best([hit for hit in scored if hit[0] >= _LEAST_SIMILAR], "fuzzy", limit))
        return results

    def _best(self, scored: list[tuple[float, _Found, str]], method: LinkMethod, limit: int) -> list[Match]:
        """The best name of each entity, best entities first."""
        scored.sort(key=lambda hit: (-hit[0], hit[2] != hit[1].node.label, -hit[1].degree, hit[1].node.id))
        best: dict[str, Match] = {}
        for score, one, name in scored:
            if one.node.id not in best:
                if len(best) == limit:
                    break
                best[one.node.id] = self._match(one, name, method, min(_TOP_SCORE, max(score, 1e-6)))
        return list(best.values())

    def _match(self, one: _Found, name: str, method: LinkMethod, score: float) -> Match:
        return {
            "entity": rows.entity(one.node, one.details, one.edges),
            "name": name,
            "method": method,
            "score": score,
        }

    def _candidates(self, make: Callable[[Any, bool], Branches], queries: Any, most: int) -> list[_Found]:
        """Run the branches that `make` gives; where scanning takes too long, what the indexes alone find."""
        scan = bool(self.ways.scanned) and not self._gave_up
        while True:
            branches, parameters = make(queries, scan)
            if not branches:
                return []
            try:
                found = self._reader.rows(
                    self._query(branches),
                    seconds=self._scan_seconds if scan else None,
                    most=most,
                    aliases=sorted({key for one in self._plan.roles.values() for key in one.aliases}),
                    **parameters,
                )
            except TimedOutError:
                if not scan:
                    raise
                # Not tried again: it would take as long every time.
                self._gave_up, scan = True, False
                for note in self.ways.notes:
                    _log.warning("Neo4j: names without an index are left out from now on: %s", note)
                continue
            return [one for row in found if (one := self._found(row)) is not None]

    def _query(self, branches: Sequence[str]) -> str:
        plan = self._plan
        unwanted = plan.hidden_labels | plan.literal_labels
        listed = f"[k IN keys(n) WHERE k IN $aliases | [k, {cypher.short('n[k]', str(_LONGEST), '200')}]]"
        return (
            f"CALL {{ {' UNION '.join(branches)} }} WITH n, max(rank) AS rank "
            f"WHERE NOT {cypher.any_label('n', unwanted)} "
            f"WITH n, rank, {cypher.degree('n', sorted(plan.hidden_types))} AS degree "
            "ORDER BY rank DESC, degree DESC LIMIT toInteger($most) "
            f"RETURN {cypher.described('n', plan.hidden_labels)}, {listed}, degree"
        )

    def _by_name(self, given: Mapping[str, set[str]], scan: bool) -> Branches:  # noqa: FBT001 - called by position
        norms = set(given)
        lowered = {unicodedata.normalize("NFKC", name).lower() for names in given.values() for name in names}
        parameters: dict[str, Any] = {"wanted": sorted(norms | lowered)}
        branches = [
            f"{self._named(group)} WHERE any(x IN names WHERE x IN $wanted) RETURN n, 1.0 AS rank"
            for group in (self.ways.scanned if scan else ())
        ]
        if self.ways.fulltext:
            phrases = [norm.replace("\\", "\\\\").replace('"', '\\"') for norm in sorted(norms)]
            branches += self._indexed(parameters, _PER_NAME, lambda keys: [_fields(keys, f'"{p}"') for p in phrases])
        if self.ways.exact:
            few = len(given) <= _MANY
            parameters["written"] = sorted({form for pair in given.items() for form in _written(*pair, few=few)})
            branches += [
                f"MATCH (n:{cypher.quoted(label)}) WHERE n.{cypher.quoted(key)} IN $written RETURN n, 1.0 AS rank"
                for label, key in self.ways.exact
            ]
        return branches, parameters

    def _by_words(self, queries: Sequence[Sequence[str]], scan: bool) -> Branches:  # noqa: FBT001 - called by position
        parameters: dict[str, Any] = {"words": sorted({word for one in queries for word in one})}
        whole = "size([w IN $words WHERE any(x IN names WHERE (' ' + x + ' ') CONTAINS (' ' + w + ' '))])"
        part = "size([w IN $words WHERE any(x IN names WHERE x CONTAINS w)])"
        branches = [
            f"{self._named(group)} WITH n, names, {part} AS part WHERE part > 0 "
            f"RETURN n, 2.0 * {whole} + part AS rank ORDER BY rank DESC LIMIT toInteger($most)"
            for group in (self.ways.scanned if scan else ())
        ]
        texts = [" OR ".join(literally(word) for word in one[:_CANDIDATES]) for one in queries if one]
        branches += self._indexed(parameters, _CANDIDATES, lambda keys: [_fields(keys, f"({text})") for text in texts])
        return branches, parameters

    def _by_spelling(self, queries: Sequence[str], scan: bool) -> Branches:  # noqa: FBT001 - called by position
        texts = [
            {
                "grams": (grams := trigrams(text)),
                "least": max(1.0, _LEAST_GRAMS * len(grams)),
                "size": len(text) + 2,
                "slack": len(text) * (1 - _LEAST_SIMILAR) * 2,
            }
            for text in queries
            if text
        ]
        parameters: dict[str, Any] = {"texts": texts}
        hits = (
            "[x IN names WHERE abs(size(x) + 2 - t.size) <= t.slack | "
            "size([g IN t.grams WHERE (' ' + x + ' ') CONTAINS g])]"
        )
        best = f"reduce(best = 0, h IN {hits} | CASE WHEN h > best THEN h ELSE best END)"
        branches = [
            f"{self._named(group)} UNWIND $texts AS t WITH n, t, {best} AS best WHERE best >= t.least "
            "RETURN n, max(best * 1.0 / size(t.grams)) AS rank ORDER BY rank DESC LIMIT toInteger($most)"
            for group in (self.ways.scanned if scan else ())
        ]
        fuzzy = [" OR ".join(map(_fuzzy, words_of(text)[:12])) for text in queries]
        lines = [text for text in fuzzy if text]
        branches += self._indexed(parameters, _CANDIDATES, lambda keys: [_fields(keys, f"({text})") for text in lines])
        return branches, parameters

    def _named(self, group: Group) -> str:
        """Cypher that binds `n` to a group's nodes and `names` to their names in the form in which they are compared."""
        normal = (
            "toLower(normalize(left(x, {}), NFKC))"
            if self._reader.connection.version >= _NORMALISES
            else "toLower(left(x, {}))"
        )
        made = ", ".join(map(_template, group.names))
        lists = [f"[{made}]"] + [
            f"CASE WHEN {key} IS NULL THEN [] WHEN toStringOrNull({key}) IS NULL THEN {key}[..200] ELSE [{key}] END"
            for key in (f"n.{cypher.quoted(alias)}" for alias in group.aliases)
        ]
        texts = f"[y IN {' + '.join(lists)} | toStringOrNull(y)]"
        return f"{group.match} WITH n, [x IN {texts} WHERE x IS NOT NULL | {normal.format(_LONGEST)}] AS names"

    def _indexed(self, parameters: dict[str, Any], limit: int, make: Callable[[Sequence[str]], list[str]]) -> list[str]:
        """A branch for each full-text index; `make` gives the Lucene queries for its properties."""
        branches = []
        for at, index in enumerate(self.ways.fulltext):
            parameters[f"lines{at}"], parameters[f"index{at}"] = make(index.keys), index.name
            branches.append(
                f"UNWIND $lines{at} AS line CALL db.index.fulltext.queryNodes($index{at}, line, {{limit: {limit}}}) "
                "YIELD node, score RETURN node AS n, score AS rank"
            )
        return branches

    def _found(self, row: Row) -> _Found | None:
        head, details, edges, aliases, degree = row
        node = self._reader.node(head)
        own = node.roles.aliases
        names = tuple(text for key, value in aliases if key in own for text in elements(value))
        triples = int(degree) + sum(count for _, count, _ in rows.facts(node, details))
        return _Found(node, names, details, edges, triples)


def _weight(word: str) -> float:
    return _STOP_WEIGHT if word in STOP_WORDS else 1.0


def _all_words(text: str) -> list[str]:
    """The words of a text, with their accents and without."""
    text = well_formed(text)[: 10 * _LONGEST]
    bare = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in normal_name(text))
    return words_of(text)[:_LONGEST] + bare.split()[:_LONGEST]


def _template(name: Template) -> str:
    """Cypher for a name, null where a value is missing."""
    parts = [f"toStringOrNull(n.{cypher.quoted(key)})" for key in name.keys]
    return " + ' ' + ".join(([_string(name.prefix)] if name.prefix else []) + parts)


def _string(text: str) -> str:
    # Words of a label: letters and digits only.
    return f"'{text}'"


def _fields(keys: Sequence[str], what: str) -> str:
    """A Lucene query for the same in several fields."""
    return " OR ".join(f"{literally(key)}:{what}" for key in keys)


def literally(text: str) -> str:
    """A word or a field's name in Lucene's language, as no operator."""
    return _LUCENE.sub(r"\\\1", text)


def _fuzzy(word: str) -> str:
    edits = 2 if len(word) > 5 else 1 if len(word) > 2 else 0  # noqa: PLR2004 - Lucene allows two at most
    return literally(word) + (f"~{edits}" if edits else "")


def _written(norm: str, given: set[str], *, few: bool) -> set[str]:
    """Ways in which a name may be written in the database, for indexes that know equality only."""
    titled = " ".join(
        word if word in _SMALL_WORDS and at else word[:1].upper() + word[1:] for at, word in enumerate(norm.split())
    )
    forms = {norm, titled, *given, *(unicodedata.normalize("NFKC", name) for name in given)}
    return forms | {norm.upper(), norm.title(), norm.capitalize()} if few else forms
