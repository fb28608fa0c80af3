"""Pieces of Cypher. Everything a query says about the data goes through parameters; names of labels, types and properties,
which Cypher takes no parameters for, are quoted here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

CUT = 9_000
"""Characters of a value that are ever fetched to identify or name something: more than any index holds."""
VALUE_CUT = 300
"""Characters of a literal value that are kept."""
MOST_ELEMENTS = 500
"""Elements of a list property that are triples."""
_CLAUSES = 1_000
"""Clauses of one query in Lucene's language: it refuses one of more than 1,024."""
_LUCENE = re.compile(r'([+\-!(){}\[\]^"~*?:\\/&|\s])')


def quoted(name: str) -> str:
    """A label, type or property in backticks, whatever is in it."""
    # Neo4j reads \\uXXXX anywhere in a query, quoted or not: a backslash before a u is written as such an escape itself.
    return "`" + name.replace("\\u", "\\u005cu").replace("`", "``") + "`"


def any_label(node: str, labels: Iterable[str]) -> str:
    """A predicate: the node has one of the labels. Never true without labels."""
    found = [f"{node}:{quoted(label)}" for label in sorted(labels)]
    return f"({' OR '.join(found)})" if found else "false"


def one_of(names: Iterable[str]) -> str:
    """A node's labels or a relationship's types in a pattern, `:A|B`."""
    return ":" + "|".join(map(quoted, names))


def match(labels: Sequence[str]) -> str:
    """The pattern that finds the nodes `n` with one of some labels; [""] are the nodes without any."""
    return f"MATCH (n{one_of(labels)})" if labels[0] else "MATCH (n) WHERE size(labels(n)) = 0"


def short(value: str, cut: str = "$cut", most: str = "20") -> str:
    """A value cut to a bounded size: strings to `cut` characters, lists to `most` elements."""
    element = f"[e IN {value}[..{most}] | CASE WHEN e = toStringOrNull(e) THEN left(e, {cut}) ELSE e END]"
    return (
        f"CASE WHEN {value} = toStringOrNull({value}) THEN left({value}, {cut}) "
        f"WHEN toStringOrNull({value}) IS NOT NULL THEN {value} ELSE {element} END"
    )


def head(node: str) -> str:
    """What identifies and names a node: [element id, labels, [[key, value], …]]; needs `$heads`."""
    values = f"[k IN keys({node}) WHERE k IN $heads | [k, {short(f'{node}[k]', str(CUT))}]]"
    return f"[elementId({node}), labels({node}), {values}]"


def facts(*, most: str, cut: str = str(VALUE_CUT), where: str = "true") -> str:
    """The properties of the node `n` as [[key, number of values, [value, …]], …]; empty strings are none. Needs `$data`."""
    kept = "[e IN n[k] WHERE e <> '']"
    listed = f"[e IN {kept}[..{most}] | CASE WHEN e = toStringOrNull(e) THEN left(e, {cut}) ELSE e END]"
    return (
        f"[k IN keys(n) WHERE {where} AND NOT k IN $data AND (n[k] <> '') | "
        f"CASE WHEN toStringOrNull(n[k]) IS NULL THEN [k, size({kept}), {listed}] "
        f"WHEN n[k] = toStringOrNull(n[k]) THEN [k, 1, [left(n[k], {cut})]] ELSE [k, 1, [n[k]]] END]"
    )


def edges(hidden_labels: Iterable[str]) -> str:
    """A few relationships of the node `n` as [[type, outgoing, head of the other end], …]; needs `$hidden`, `$heads`."""
    hidden = any_label("m", hidden_labels)
    sides = (
        f"COLLECT {{ MATCH {pattern} WHERE NOT type(r) IN $hidden AND NOT {hidden} "
        f"RETURN [type(r), {outgoing}, {head('m')}] LIMIT 3 }}"
        for pattern, outgoing in (("(n)-[r]->(m)", "true"), ("(n)<-[r]-(m)", "false"))
    )
    return f"({' + '.join(sides)})[..3]"


def described(hidden_labels: Iterable[str]) -> str:
    """What the entity `n` is made from: head, facts and a few relationships; needs `$heads`, `$data`, `$hidden`."""
    return f"{head('n')}, {facts(most='1')}, {edges(hidden_labels)}"


def edge(*more: str) -> str:
    """The relationship `r` as [element id, type, [[qualifier, value], …], …]; the values are bounded."""
    qualifiers = f"[k IN keys(r) | [k, {short('r[k]', str(VALUE_CUT))}]]"
    return f"[{', '.join(['elementId(r)', 'type(r)', qualifiers, *more])}]"


def degree(hidden_types: Sequence[str] = ()) -> str:
    """How many relationships the node `n` has, counted without reading them."""
    hidden = f" - COUNT {{ (n)-[{one_of(hidden_types)}]-() }}" if hidden_types else ""
    return f"COUNT {{ (n)--() }}{hidden}"


def literally(text: str) -> str:
    """A word or a field's name in Lucene's language, as no operator."""
    return _LUCENE.sub(r"\\\1", text)


def in_fields(keys: Collection[str], parts: Sequence[str], clauses: int = 1) -> str:
    """A Lucene query for any of some parts (words, phrases) in any of several fields: the first so many that Lucene takes.

    Each part may become as many as `clauses`; in scripts without spaces every letter of a word may be one.
    """
    ends = accumulate(max(clauses, 1 if part.isascii() else len(part)) * len(keys) for part in parts)
    taken = [part for at, (part, end) in enumerate(zip(parts, ends, strict=True)) if not at or end <= _CLAUSES]
    return " OR ".join(f"{literally(key)}:({' OR '.join(taken)})" for key in sorted(keys))


def advice(doing: str, name: str, labels: Iterable[str], keys: Iterable[str], instead: Sequence[str] = ()) -> str:
    """A line about a long scan, with the full-text index that would replace it; the store never makes it.

    `instead` are indexes that cannot be used, since they tell capitals from small letters.
    """
    name = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    place = f", in place of {', '.join(instead)}, which tells capitals from small letters" if instead else ""
    return (
        f"{doing} reads them all; their owner can run{place}: CREATE FULLTEXT INDEX {name} "
        f"FOR (n{one_of(labels)}) ON EACH [{', '.join(f'n.{quoted(key)}' for key in keys)}]"
    )
