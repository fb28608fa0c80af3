"""Finds entities by name: through the owner's indexes where there are any, else by a scan that is bounded in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from thinkgraph.state.knowledge import LinkMethod, Match
from thinkgraph.tools.linking.lexical import STOP_WORDS
from thinkgraph.tools.linking.names import folded, folded_words, lowered, normal_name, spellings, trigrams, well_formed
from thinkgraph.tools.linking.names import words as words_of
from thinkgraph.tools.neo4j import cypher, rows
from thinkgraph.tools.neo4j.connection import Row
from thinkgraph.tools.neo4j.plan import Neo4jPlan
from thinkgraph.tools.neo4j.roles import Template
from thinkgraph.tools.neo4j.rows import Neo4jReader, elements
from thinkgraph.tools.sqlite.file import chunks

T = TypeVar("T")

SCANNED = 50_000
"""Entities up to which a query compares every name, whatever its spelling; beyond that indexes are used."""
_LABELS_AT_ONCE = 200
"""Labels in one pattern: of more, planning takes long."""
_NORMALISES = (5, 17)
_CANDIDATES = 60
_PER_NAME = 100
_SPELLINGS = 50
"""Words spelt alike that Lucene looks for in place of one."""
_MOST_ROWS = 3_000
_LONGEST = 300
_LEAST_SIMILAR = 0.55
_LEAST_GRAMS = 0.34
_TOP_SCORE = 0.999
_STOP_WEIGHT = 0.1


@dataclass(frozen=True)
class Group:
    """Labels whose names are made alike."""

    labels: tuple[str, ...]
    names: tuple[Template, ...]
    aliases: tuple[str, ...]
    nodes: int

    @property
    def keys(self) -> set[str]:
        """The properties that name its nodes."""
        return {key for name in self.names for key in name.keys} | set(self.aliases)


class Ways(NamedTuple):
    """How names are found in one database."""

    scanned: list[Group]
    """Read name by name."""
    fulltext: dict[str, set[str]]
    """Full-text indexes, and the properties that each is asked for."""
    exact: list[tuple[str, str]]
    """Label and property of the indexes that find a name as it is written."""
    notes: list[str]
    """Scans of many nodes, each with the index that would replace it; one line each."""


def find_ways(plan: Neo4jPlan) -> Ways:
    """Choose the labels to be scanned, the smallest first, and the indexes to be used for the others."""
    scanned: list[Group] = []
    large: list[Group] = []
    nodes = 0
    for group in sorted(_groups(plan), key=lambda group: (group.nodes, group.labels)):
        # A node with several labels counts once.
        nodes = min(nodes + group.nodes, plan.entities)
        (scanned if nodes <= SCANNED else large).append(group)
    fulltext: dict[str, set[str]] = {}
    notes = []
    for group in large:
        found = [plan.catalogue.full_text(label, group.keys) for label in group.labels]
        for name, keys in (pair for one in found for pair in one.items()):
            fulltext[name] = fulltext.get(name, set()) | keys
        covered = set.intersection(*(set().union(*one.values()) for one in found))
        best = group.names[:1]
        wanted = {*(key for name in best for key in name.keys), *group.aliases}
        if not wanted <= covered or not all(name.is_plain for name in best):
            shown = ", ".join(group.labels[:3]) if group.labels[0] else "unlabelled nodes"
            doing = f"finding one of the {group.nodes:,} {shown} by name"
            unfit = plan.catalogue.case_sensitive(group.labels, wanted)
            wait = plan.catalogue.wait_for(["FULLTEXT"], group.labels, wanted)
            notes.append(wait or cypher.advice(doing, f"names_of_{shown}", group.labels, sorted(wanted), unfit))
            # With an index over a part of the names, that part must do: a scan of so many nodes is the last resort.
            scanned += [] if covered else [group]
    named = {(label, key) for group in large for label in group.labels for key in group.keys}
    exact = sorted(pair for pair in named if plan.catalogue.exact_index(*pair))
    return Ways(scanned, dict(sorted(fulltext.items())), exact, notes)


def _groups(plan: Neo4jPlan) -> list[Group]:
    """The labels that have named things, by how their names are made."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    counts = {label: plan.catalogue.samples[label].count for label in plan.things}
    for label, one in sorted(plan.things.items()):
        if one.names or one.aliases:
            # The unlabelled have a pattern of their own.
            groups.setdefault((one.names, one.aliases, not label), []).append(label)
    return [
        Group(tuple(part), names, aliases, nodes=min(sum(counts[label] for label in part), plan.entities))
        for (names, aliases, _), labels in groups.items()
        for part in chunks(labels, _LABELS_AT_ONCE)
    ]


class _Query(NamedTuple):
    """How candidates are looked for."""

    scan: str
    """Cypher that goes on from a node `n` with its `names` to those with a `rank`."""
    lines: list[list[str]]
    """What full-text indexes are asked for, in Lucene's language: in each line any of some words or phrases."""
    limit: int
    """Nodes that an index gives for a line, at most."""
    parameters: dict[str, Any]
    """Of `scan`; `written` is looked up in other indexes."""
    clauses: int = 1
    """Clauses that Lucene may make of each word or phrase."""


@dataclass(frozen=True)
class _Found:
    """A candidate with all its names."""

    node: rows.Neo4jNode
    names: list[tuple[str, LinkMethod]]
    """Its label, then everything else it is called."""
    details: Sequence[Any]
    edges: Sequence[Any]
    degree: int


class Neo4jNames:
    """Looks names up in one database. Safe from several threads."""

    def __init__(self, reader: Neo4jReader) -> None:
        """Find the entities of the reader's plan."""
        self._reader = reader
        self._plan = reader.plan
        self.ways = find_ways(reader.plan)

    def lookup(self, names: Sequence[str], limit: int) -> list[list[Match]]:
        """Entities called exactly so; see `GraphStore.lookup`."""
        norms = [normal_name(name) if len(name) <= _LONGEST else "" for name in names]
        given: dict[str, set[str]] = {}
        for name, norm in zip(names, norms, strict=True):
            if norm and "\ufffd" not in well_formed(norm):
                given.setdefault(norm, set()).add(" ".join(name.split()))
        if not given or limit < 1:
            return [[] for _ in names]
        found: dict[str, list[tuple[_Found, str, LinkMethod]]] = {}
        for one in self._found_for(list(given), lambda part: _by_name({norm: given[norm] for norm in part})):
            seen: set[str] = set()
            for name, method in one.names:
                norm = normal_name(name)
                if norm in given and norm not in seen:
                    seen.add(norm)
                    found.setdefault(norm, []).append((one, name, method))
        for matches in found.values():
            matches.sort(key=lambda hit: (hit[2] != "exact", -hit[0].degree, hit[0].node.id))
        return [[self._match(*hit, 1.0) for hit in found.get(norm, [])[:limit]] for norm in norms]

    def search(self, texts: Sequence[str], limit: int) -> list[list[Match]]:
        """Entities whose names share words; see `GraphStore.search`."""
        queries = [list(dict.fromkeys(_all_words(text))) for text in texts]
        telling = [[word for word in one if word not in STOP_WORDS] or one for one in queries]
        if not any(telling) or limit < 1:
            return [[] for _ in texts]
        found = self._candidates(_by_words(telling), _MOST_ROWS)
        parts = [(one, name, words_of(name)) for one in found for name, _ in one.names]
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
        found = self._found_for(queries, _by_spelling)
        names = [(one, name, folded(name)) for one in found for name, _ in one.names]
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
            if len(best) < limit and one.node.id not in best:
                best[one.node.id] = self._match(one, name, method, min(_TOP_SCORE, max(score, 1e-6)))
        return list(best.values())

    def _match(self, one: _Found, name: str, method: LinkMethod, score: float) -> Match:
        return Match(entity=rows.entity(one.node, one.details, one.edges), name=name, method=method, score=score)

    def _found_for(self, wanted: Sequence[T], query: Callable[[Sequence[T]], _Query]) -> list[_Found]:
        """What the query for some names or texts finds, each node once."""
        most = _MOST_ROWS + 2 * len(wanted)
        found = self._candidates(query(wanted), most)
        if len(found) < most or len(wanted) == 1:
            return found
        # What very many are called would push the others out.
        half = len(wanted) // 2
        both = [*self._found_for(wanted[:half], query), *self._found_for(wanted[half:], query)]
        return list({one.node.element: one for one in both}.values())

    def _candidates(self, query: _Query, most: int) -> list[_Found]:
        """What a query finds.

        Raises:
            TimedOutError: scanning takes too long; what the indexes alone find would be no answer.
        """
        plan = self._plan
        aliases = sorted({key for one in plan.roles.values() for key in one.aliases})
        listed = f"[k IN keys(n) WHERE k IN $p.aliases | [k, {cypher.short('n[k]', str(_LONGEST), '200')}]]"
        chosen = (
            f"WITH n, max(rank) AS rank WHERE NOT {cypher.any_label('n', plan.hidden_labels | plan.literal_labels)} "
            f"WITH n, rank, {cypher.degree(sorted(plan.hidden_types))} AS degree "
            "ORDER BY rank DESC, degree DESC LIMIT toInteger($p.most) "
            f"RETURN {cypher.described(plan.hidden_labels)}, {listed}, degree"
        )
        indexed, parameters = self._indexed(query)
        scanned = [f"{self._named()} {query.scan}"] * bool(self.ways.scanned)
        if not scanned and not indexed:
            return []
        whole = f"CALL {{ {' UNION '.join([*scanned, *indexed])} }} {chosen}"
        given = {"most": most, "aliases": aliases, **parameters}
        found = self._reader.scan(whole, self.ways.notes, **given) if scanned else self._reader.rows(whole, **given)
        return [self._found(row) for row in found]

    def _indexed(self, query: _Query) -> tuple[list[str], dict[str, Any]]:
        """Cypher that asks the indexes, and all parameters."""
        parameters = dict(query.parameters)
        branches = []
        for at, (name, keys) in enumerate(self.ways.fulltext.items()):
            parameters[f"index{at}"] = name
            parameters[f"lines{at}"] = [cypher.in_fields(keys, line, query.clauses) for line in query.lines]
            branches.append(
                f"UNWIND $p.lines{at} AS line CALL db.index.fulltext.queryNodes($p.index{at}, line, {{limit: {query.limit}}}) "
                "YIELD node, score RETURN node AS n, score AS rank"
            )
        if "written" in parameters:
            branches += [
                f"MATCH (n:{cypher.quoted(label)}) WHERE n.{cypher.quoted(key)} IN $p.written RETURN n, 1.0 AS rank"
                for label, key in self.ways.exact
            ]
        return branches, parameters

    def _named(self) -> str:
        """Cypher that binds `n` to the nodes of all groups and `names` to their names in the form in which they are compared.

        How names are compared stands in it once, whatever the number of groups: a server that is cold plans a long query for seconds.
        """
        normal = (
            "toLower(normalize(left(x, {}), NFKC))"
            if self._reader.connection.version >= _NORMALISES
            else "toLower(left(x, {}))"
        )
        # The small letters that have a common form with others once their case is folded.
        normal = f"replace(replace({normal}, 'ß', 'ss'), 'ς', '\N{GREEK SMALL LETTER SIGMA}')"
        given = " UNION ALL ".join(
            f"{cypher.match(group.labels)} RETURN n, {_given(group)} AS names" for group in self.ways.scanned
        )
        texts = "[y IN names | toStringOrNull(y)]"
        lowered = f"[x IN {texts} WHERE x IS NOT NULL | {normal.format(_LONGEST)}]"
        return f"CALL {{ {given} }} WITH n, [x IN {lowered} | {_TIDY}] AS names"

    def _found(self, row: Row) -> _Found:
        head, details, edges, aliases, degree = row
        node = self._reader.node(head)
        own = [text for key, value in aliases if key in node.roles.aliases for text in elements(value)]
        names: list[tuple[str, LinkMethod]] = [(node.label, "exact")]
        names += [(name, "alias") for name in dict.fromkeys((*node.names[1:], *own))]
        triples = int(degree) + sum(count for _, count, _ in rows.facts(node, details))
        return _Found(node, names, details, edges, triples)


def _given(group: Group) -> str:
    """Cypher for the names of a node `n` as they stand, nulls among them."""
    # Every value of a name's one property finds its node; joined ones and those behind a word are made of the first.
    plain = [name.keys[0] for name in group.names if name.is_plain]
    made = ", ".join(_template(name) for name in group.names if not name.is_plain)
    return " + ".join([f"[{made}]", *map(_elements, dict.fromkeys((*plain, *group.aliases)))])


def _by_name(given: Mapping[str, set[str]]) -> _Query:
    """By whole names: normal names, each with the ways in which it was given."""
    pairs = [(name, norm) for norm, names in given.items() for name in names]
    small = {lowered(name) for name, _ in pairs}
    # Cypher writes a number with its fraction, `rows.render` without a needless one.
    small |= {f"{norm}.0" for norm in given if norm.isdecimal()}
    # Analyzers lower the case, letter by letter, and do not fold it: "ß" and "İ" are asked for as they were given, too.
    asked = {*given, *(name for name, norm in pairs if (name.lower(), len(name)) != (norm, len(norm)))}
    quotable = (name.replace("\\", "\\\\").replace('"', '\\"') for name in sorted(asked))
    # Some indexes know equality only.
    written = {way for pair in pairs for name in pair for way in (*spellings(name), name.title())}
    return _Query(
        scan="WHERE any(x IN names WHERE x IN $p.wanted) RETURN n, 1.0 AS rank",
        lines=[[f'"{name}"'] for name in quotable],
        limit=_PER_NAME,
        parameters={"wanted": sorted({*given, *small}), "written": sorted(written)},
    )


def _by_words(queries: Sequence[Sequence[str]]) -> _Query:
    """By the words of each query, which all have the same share of the rows."""
    asked = [list(one) for one in queries if one]
    whole = "size([w IN q WHERE any(x IN names WHERE (' ' + x + ' ') CONTAINS (' ' + w + ' '))])"
    part = "size([w IN q WHERE any(x IN names WHERE x CONTAINS w)])"
    return _Query(
        scan=f"UNWIND $p.queries AS q WITH n, names, q, {part} AS part WHERE part > 0 "
        f"WITH q, n, (2.0 * {whole} + part) / size(q) AS rank ORDER BY rank DESC "
        f"WITH q, collect([n, rank])[..{max(1, _MOST_ROWS // len(asked))}] AS top "
        "UNWIND top AS one RETURN one[0] AS n, one[1] AS rank",
        lines=[[cypher.literally(word[:_LONGEST]) for word in one[:_CANDIDATES]] for one in asked],
        limit=_CANDIDATES,
        parameters={"queries": asked},
    )


def _by_spelling(queries: Sequence[str]) -> _Query:
    """By the trigrams and the similar words of each query."""
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
    hits = (
        "[x IN names WHERE abs(size(x) + 2 - t.size) <= t.slack | "
        "size([g IN t.grams WHERE (' ' + x + ' ') CONTAINS g])]"
    )
    best = f"reduce(best = 0, h IN {hits} | CASE WHEN h > best THEN h ELSE best END)"
    fuzzy = [[_fuzzy(word) for word in words_of(text)[:12]] for text in queries]
    return _Query(
        # The best of each text: one that is like very many names leaves room for the others.
        scan=f"UNWIND $p.texts AS t WITH n, t, {best} AS best WHERE best >= t.least "
        "WITH t, n, best * 1.0 / size(t.grams) AS rank ORDER BY rank DESC "
        f"WITH t, collect([n, rank])[..{_CANDIDATES}] AS top UNWIND top AS one RETURN one[0] AS n, one[1] AS rank",
        lines=[line for line in fuzzy if line],
        limit=_CANDIDATES,
        parameters={"texts": texts},
        clauses=_SPELLINGS,
    )


def _weight(word: str) -> float:
    return _STOP_WEIGHT if word in STOP_WORDS else 1.0


def _all_words(text: str) -> list[str]:
    """The words of a text, without their accents, with them, and with their case lowered but not folded ("ß")."""
    text = well_formed(text)[: 10 * _LONGEST]
    return [word for form in (folded(text), normal_name(text), lowered(text)) for word in folded_words(form)[:_LONGEST]]


def _elements(key: str) -> str:
    """Cypher for the values of a property: those of a list, else the one there is."""
    value = f"n.{cypher.quoted(key)}"
    return (
        f"CASE WHEN {value} IS NULL THEN [] WHEN toStringOrNull({value}) IS NULL THEN {value}[..200] ELSE [{value}] END"
    )


_SPACES = r"[' ', '\t', '\n', '\u000b', '\f', '\r', '\u0085', '\u2028', '\u2029']"
"""White space of a name in the form of Unicode that is compared."""
_TIDY = (
    f"CASE WHEN x CONTAINS '  ' OR x <> trim(x) OR any(s IN {_SPACES}[1..] WHERE x CONTAINS s) "
    f"THEN substring(reduce(all = '', w IN [w IN split(x, {_SPACES}) WHERE w <> ''] | all + ' ' + w), 1) ELSE x END"
)
"""Cypher for a name `x` with one space wherever it has some white space."""


def _template(name: Template) -> str:
    """Cypher for a name, null where a value is missing."""
    parts = [f"toStringOrNull(({_elements(key)})[0])" for key in name.keys]
    # The prefix is words of a label: letters and digits only.
    return " + ' ' + ".join([f"'{name.prefix}'"] * bool(name.prefix) + parts)


def _fuzzy(word: str) -> str:
    edits = 2 if len(word) > 5 else 1 if len(word) > 2 else 0  # noqa: PLR2004 - Lucene allows two at most
    return cypher.literally(word) + (f"~{edits}" if edits else "")
