"""The texts of the queries. `Endpoint.fill` replaces each `$word`: by numbers, by terms of `terms`, by the profile's filters.

`$rows` are rows of a VALUES block, each a number and the terms that the text names. A text in braces is a block for one row,
with its number `$i` and its terms `$first` and `$second`; the blocks of several rows are joined by UNION.
"""

from __future__ import annotations

from collections.abc import Sequence

from thinkgraph.tools.sparql.profiles import Profile
from thinkgraph.tools.sparql.terms import iri, string

WIKIBASE = "http://wikiba.se/ontology#"
LABEL_LENGTH = 300
_DESCRIPTION_LENGTH = 400
_GENID = "http://www.wikidata.org/.well-known/genid/"
_FEW = 3

REACHABLE = "SELECT (1 AS ?n) {}"
TOTAL = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
"""The number of all triples of an endpoint, those of names included."""
TOTALS = [
    "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?p) AS ?r) { $triples }",
    "SELECT (COUNT(DISTINCT ?o) AS ?n) { $triples FILTER(isLiteral(?o)) }",
    "SELECT (COUNT(DISTINCT ?e) AS ?n) { { $triples BIND(?s AS ?e) } UNION { $triples FILTER(isIRI(?o)) BIND(?o AS ?e) } }",
]
"""Triples and relations, literals, entities of the graph: each `?n`, the first also `?r`. They read all of it."""

RELATIONS = {
    "out": "SELECT ?i ?p (COUNT(*) AS ?n) { VALUES (?i ?s) { $rows } ?s ?p ?o . $relation_ok $object_ok } GROUP BY ?i ?p",
    "in": "SELECT ?i ?p (COUNT(*) AS ?n) { VALUES (?i ?o) { $rows } ?s ?p ?o . $relation_ok $subject_ok } GROUP BY ?i ?p",
    "bounded": (
        "{ SELECT ($i AS ?i) ?p (COUNT(*) AS ?n) { "
        "{ SELECT ?p { ?s ?p $first . $relation_ok $subject_ok } $bound } } GROUP BY ?p }"
    ),
}
"""Predicates of each node with their counts; bounded: what arrives, from the first triples alone."""
STEP_COUNTS = {
    "out": "SELECT ?i (COUNT(*) AS ?n) { VALUES (?i ?s ?p) { $rows } ?s ?p ?o . $object_ok } GROUP BY ?i",
    "in": "SELECT ?i (COUNT(*) AS ?n) { VALUES (?i ?o ?p) { $rows } ?s ?p ?o . $subject_ok } GROUP BY ?i",
    "bounded": "{ SELECT ($i AS ?i) (COUNT(*) AS ?n) { { SELECT ?s { ?s $second $first . $subject_ok } $bound } } }",
}
"""The number of triples of each node along one relation."""
LOOPS = "SELECT ?i (COUNT(*) AS ?n) { VALUES (?i ?s) { $rows } ?s ?p ?s . $relation_ok } GROUP BY ?i"
"""The number of triples from each entity to itself."""

_OUT = "?s ?p ?o . $relation_ok $object_ok"
_IN = "?s ?p ?o . $relation_ok $subject_ok FILTER(!sameTerm(?s, ?o))"
TRIPLES = {
    "out": "SELECT ?i ?s ?p ?o { VALUES (?i ?s ?p) { $rows } ?s ?p ?o . $object_ok }",
    "in": "SELECT ?i ?s ?p ?o { VALUES (?i ?o ?p) { $rows } ?s ?p ?o . $subject_ok }",
    "around": (
        f"SELECT ?i ?s ?p ?o {{ {{ VALUES (?i ?s) {{ $rows }} {_OUT} }} UNION {{ VALUES (?i ?o) {{ $rows }} {_IN} }} }}"
    ),
    "onto": f"SELECT ?i ?s ?p ?o {{ VALUES (?i ?o) {{ $rows }} {_IN} }}",
}
"""All triples of each node: along one relation out or in, around an entity (a loop once), or onto a literal."""
# A literal is no subject, and Virtuoso refuses to compare one with ?s.
_ONTO = "{ SELECT ?s ?p { ?s ?p $first . $relation_ok $subject_ok } $bound } BIND($first AS ?o)"
_PATTERNS = {
    "out": "BIND($first AS ?s) BIND($second AS ?p) $first $second ?o . $object_ok",
    "in": "{ SELECT ?s { ?s $second $first . $subject_ok } $bound } BIND($second AS ?p) BIND($first AS ?o)",
    "around": f"{{ $first ?p ?o . $relation_ok $object_ok BIND($first AS ?s) }} UNION {{ {_ONTO} FILTER(!sameTerm(?s, $first)) }}",
    "onto": _ONTO,
}
TRIPLE_ORDER = "STR(?s) STR(?p) STR(?o) LANG(?o) STR(DATATYPE(?o))"
SAMPLES = {
    kind: (
        f"{{ SELECT ($i AS ?i) ?s ?p ?o {{ {pattern} }} "
        f"ORDER BY SHA1(CONCAT($seed, STR(?s), STR(?p), STR(?o))) {TRIPLE_ORDER} LIMIT $limit }}"
    )
    for kind, pattern in _PATTERNS.items()
}
"""The same, but `$limit` of them, in the order of a hash of seed and triple."""
EXACT = "SELECT ?i { VALUES (?i ?s ?p ?o) { $rows } FILTER(EXISTS { ?s ?p ?o }) }"
"""The numbers of the triples that are there. Joined in place of asked one by one, Virtuoso loses literals with a language."""
AMONG = (
    "SELECT DISTINCT ?s ?p ?o { { SELECT ?s ?p ?o { VALUES ?s { $subjects } ?s ?p ?o . $relation_ok $object_ok } } "
    "VALUES ?o { $objects } } ORDER BY ?s ?p ?o"
)
"""The triples from some nodes to others."""

KNOWN = "SELECT ?i { VALUES (?i ?e) { $rows } FILTER(EXISTS { ?e ?p ?o } || EXISTS { ?s ?q ?e }) }"
"""The numbers of the nodes that some triple touches."""
NAMED = "SELECT DISTINCT ?q ?e ?t { VALUES ?t { $texts } ?e ?q ?t . FILTER(?q IN ($names)) $linkable } LIMIT $limit"
"""The entities with one of the names, and the predicates that give it."""
ALL_NAMES = (
    "SELECT ?e ?k ?v ?l { VALUES (?q ?k) { $kinds } ?e ?q ?t . $preferred $linkable "
    f"BIND(SUBSTR(STR(?t), 1, {LABEL_LENGTH}) AS ?v) BIND(LANG(?t) AS ?l) }} ORDER BY ?e ?k ?v ?l"
)
"""The names in the preferred languages: entity, rank of the predicate (l0 … a0 …), text, language."""
UNNAMED = (
    "SELECT ?e { { SELECT DISTINCT ?e { { ?e ?p ?o . $relation_ok $object_ok } UNION "
    "{ ?s ?p ?e . $relation_ok $subject_ok } $linkable } } "
    'FILTER NOT EXISTS { ?e ?q ?t . FILTER(?q IN ($labels)) FILTER(STR(?t) != "") $preferred } } ORDER BY ?e'
)
"""The entities without a label in a preferred language."""
DEGREES = "SELECT ?i (COUNT(*) AS ?n) { VALUES (?i ?s) { $rows } ?s ?p ?o . $relation_ok $object_ok } GROUP BY ?i"
"""How much there is about each entity, where the profile has no predicate that tells."""
TOLD_DEGREES = "SELECT ?i (MAX(?d) AS ?n) { VALUES (?i ?s) { $rows } ?s $degree ?d } GROUP BY ?i"


def filled_in(profile: Profile) -> dict[str, str]:
    """What a profile puts into the texts."""
    kept = f"STRLEN(STR(?o)) <= {profile.literal_length:d}"
    if not profile.all_languages:
        kept += f" && ({_preferred(profile, '?o')})"
    # A blank node cannot be asked about again, and a long text is not a value.
    object_ok = f"FILTER(isIRI(?o) || (isLiteral(?o) && {kept}))"
    if profile.statements:
        object_ok += f" FILTER(!STRSTARTS(STR(?o), {string(_GENID)}))"
    linkable = "FILTER(isIRI(?e))"
    if profile.entity_start:
        linkable += f" FILTER(STRSTARTS(STR(?e), {string(profile.entity_start)}))"
    relation_ok, subject_ok = _relation_ok(profile), "FILTER(isIRI(?s))"
    kinds = [(one, f"l{rank}") for rank, one in enumerate(profile.labels)]
    kinds += [(one, f"a{rank}") for rank, one in enumerate(profile.aliases)]
    return {
        "object_ok": object_ok,
        "subject_ok": subject_ok,
        "relation_ok": relation_ok,
        "triples": f"?s ?p ?o . {relation_ok} {subject_ok} {object_ok}",
        "bound": f"LIMIT {profile.bound:d}" if profile.bound else "",
        "preferred": f"FILTER({_preferred(profile, '?t')})",
        "linkable": linkable,
        "label": iri(profile.labels[0]),
        "labels": _listed(profile.labels),
        "names": _listed((*profile.labels, *profile.aliases)),
        "kinds": " ".join(f"({iri(one)} {string(kind)})" for one, kind in kinds),
        "degree": iri(profile.degree) if profile.degree else "",
    }


def _preferred(profile: Profile, text: str) -> str:
    """The condition that a text is in a preferred language, or in none. Servers keep the case of tags or lower it."""
    ranges = (f"LANGMATCHES(LANG({text}), {string(language)})" for language in profile.languages)
    return " || ".join((f'LANG({text}) = ""', *ranges))


def _relation_ok(profile: Profile) -> str:
    """The patterns and filters that make ?p a relation."""
    parts = [profile.relation_pattern] if profile.relation_pattern else []
    if profile.relation_start and not profile.relation_pattern:
        parts.append(f"FILTER(STRSTARTS(STR(?p), {string(profile.relation_start)}))")
    none = sorted(one for one in profile.naming | profile.excluded if one.startswith(profile.relation_start))
    if none:
        parts.append(f"FILTER(?p NOT IN ({_listed(none)}))")
    parts += [f"FILTER(!STRSTARTS(STR(?p), {string(start)}))" for start in profile.excluded_starts]
    return " ".join(parts)


def _listed(iris: Sequence[str]) -> str:
    return ", ".join(map(iri, iris))


def texts_of(profile: Profile, *, full: bool) -> str:
    """Labels in the preferred languages and, if `full`, descriptions and classes of each ?e.

    ?q is the predicate, ?v the text or the class, ?l the language.
    """
    text = "$preferred BIND(SUBSTR(STR(?t), 1, {}) AS ?v) BIND(LANG(?t) AS ?l)"
    parts = _said(profile.labels, text.format(LABEL_LENGTH))
    if full:
        parts += _said(profile.descriptions, text.format(_DESCRIPTION_LENGTH))
        # That it is an IRI is seen in the answer: Virtuoso cannot filter by that beside the texts.
        parts += _said(profile.types, "BIND(?t AS ?v)")
    return f"SELECT ?i ?q ?v ?l {{ {' UNION '.join(parts)} }}"


def any_label(profile: Profile) -> str:
    """One label of each ?e in whatever language, the language before a space."""
    # Only literals have a language, if an empty one. Virtuoso cannot filter by isLiteral in a UNION.
    text = 'FILTER((LANG(?t) = "" || LANGMATCHES(LANG(?t), "*")) && STR(?t) != "") '
    text += f'BIND(CONCAT(LANG(?t), " ", SUBSTR(STR(?t), 1, {LABEL_LENGTH})) AS ?x)'
    return f"SELECT ?i (MIN(?x) AS ?v) {{ {' UNION '.join(_said(profile.labels, text))} }} GROUP BY ?i"


def _said(predicates: Sequence[str], more: str) -> list[str]:
    """Groups that bind ?t to the values of any of the predicates of each ?e, and ?q to the predicate.

    A few predicates are looked up one by one. Many go into a filter: from a VALUES block some servers would start, and read
    every name of the graph.
    """
    rows, names = "VALUES (?i ?e) { $rows }", [iri(one).replace("$", "$$") for one in predicates]
    if len(names) <= _FEW:
        return [f"{{ {rows} ?e {one} ?t . BIND({one} AS ?q) {more} }}" for one in names]
    return [f"{{ {rows} ?e ?q ?t . FILTER(?q IN ({', '.join(names)})) {more} }}"]
