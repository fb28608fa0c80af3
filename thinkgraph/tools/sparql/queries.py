"""The texts of the queries. All that varies in them is numbers, and terms written by `terms`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thinkgraph.tools.sparql.batches import ValuesRow
from thinkgraph.tools.sparql.profiles import Profile
from thinkgraph.tools.sparql.terms import iri, string

WIKIBASE = "http://wikiba.se/ontology#"
TOTAL = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
"""The number of all triples of an endpoint, those of names included."""
_GENID = "http://www.wikidata.org/.well-known/genid/"
_FEW = 3
_LABEL_LENGTH, _DESCRIPTION_LENGTH = 300, 400


def values(variables: str, rows: Iterable[Sequence[str]]) -> str:
    """A VALUES block of several variables."""
    return f"VALUES ({variables}) {{ {' '.join('(' + ' '.join(row) + ')' for row in rows)} }}"


def _said(rows: str, predicates: Sequence[str], more: str) -> list[str]:
    """Groups that bind ?t to the values of any of the predicates of each ?e, and ?q to the predicate.

    A few predicates are looked up one by one. Many go into a filter: from a VALUES block some servers would start, and read
    every name of the graph.
    """
    if len(predicates) <= _FEW:
        return [f"{{ {rows} ?e {iri(one)} ?t . BIND({iri(one)} AS ?q) {more} }}" for one in predicates]
    return [f"{{ {rows} ?e ?q ?t . FILTER(?q IN ({', '.join(map(iri, predicates))})) {more} }}"]


class Queries:
    """The queries of one profile, for preferred languages and a longest literal."""

    def __init__(self, profile: Profile, languages: Sequence[str], literal_length: int) -> None:
        self._profile = profile
        self.languages = tuple(languages)
        wanted = ", ".join(string(language) for language in (*languages, ""))
        self._preferred = f"FILTER(LANG(?t) IN ({wanted}))"
        kept = f"STRLEN(STR(?o)) <= {literal_length:d}"
        if not profile.all_languages:
            kept += f" && LANG(?o) IN ({wanted})"
        # A blank node cannot be asked about again, and a long text is not a value.
        self.object_ok = f"FILTER(isIRI(?o) || (isLiteral(?o) && {kept}))"
        self.subject_ok = "FILTER(isIRI(?s))"
        if profile.statements:
            self.object_ok += f" FILTER(!STRSTARTS(STR(?o), {string(_GENID)}))"
        self.relation_ok = self._relation_ok()

    def _relation_ok(self) -> str:
        """The patterns and filters that make ?p a relation."""
        profile = self._profile
        parts = [profile.relation_pattern] if profile.relation_pattern else []
        if profile.relation_start and not profile.relation_pattern:
            parts.append(f"FILTER(STRSTARTS(STR(?p), {string(profile.relation_start)}))")
        none = sorted(one for one in profile.naming | profile.excluded if one.startswith(profile.relation_start))
        if none:
            parts.append(f"FILTER(?p NOT IN ({', '.join(map(iri, none))}))")
        parts += [f"FILTER(!STRSTARTS(STR(?p), {string(start)}))" for start in profile.excluded_starts]
        return " ".join(parts)

    # ---- counting -------------------------------------------------------------------------------------------------

    def totals(self) -> list[str]:
        """Triples and relations, literals, entities of the graph: each `?n`, the first also `?r`. They read all of it."""
        triples = f"?s ?p ?o . {self.relation_ok} {self.subject_ok} {self.object_ok}"
        return [
            f"SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?p) AS ?r) {{ {triples} }}",
            f"SELECT (COUNT(DISTINCT ?o) AS ?n) {{ {triples} FILTER(isLiteral(?o)) }}",
            (
                f"SELECT (COUNT(DISTINCT ?e) AS ?n) {{ {{ {triples} BIND(?s AS ?e) }} UNION "
                f"{{ {triples} FILTER(isIRI(?o)) BIND(?o AS ?e) }} }}"
            ),
        ]

    def relations_out(self, rows: str) -> str:
        """Number, predicate and count of what leaves each entity; `rows` binds (?i ?s)."""
        return (
            f"SELECT ?i ?p (COUNT(*) AS ?n) {{ {rows} ?s ?p ?o . {self.relation_ok} {self.object_ok} }} GROUP BY ?i ?p"
        )

    def relations_in(self, rows: str) -> str:
        """Number, predicate and count of what arrives at each node; `rows` binds (?i ?o)."""
        return (
            f"SELECT ?i ?p (COUNT(*) AS ?n) {{ {rows} ?s ?p ?o . {self.relation_ok} {self.subject_ok} }} GROUP BY ?i ?p"
        )

    def relations_in_bounded(self, nodes: Sequence[ValuesRow], bound: int) -> str:
        """The same from at most `bound` triples of each node."""
        parts = (
            f"{{ SELECT ({row.number} AS ?i) ?p (COUNT(*) AS ?n) {{ {{ SELECT ?p {{ ?s ?p {row.terms[0]} . "
            f"{self.relation_ok} {self.subject_ok} }} LIMIT {bound:d} }} }} GROUP BY ?p }}"
            for row in nodes
        )
        return f"SELECT ?i ?p ?n {{ {' UNION '.join(parts)} }}"

    def step_counts(self, rows: str, *, out: bool) -> str:
        """Number and count of each step; `rows` binds (?i ?s ?p) or (?i ?o ?p)."""
        return f"SELECT ?i (COUNT(*) AS ?n) {{ {rows} ?s ?p ?o . {self.object_ok if out else self.subject_ok} }} GROUP BY ?i"

    def step_counts_bounded(self, steps: Sequence[ValuesRow], bound: int) -> str:
        """The same for steps backwards (object and predicate), from at most `bound` triples of each."""
        parts = (
            f"{{ SELECT ({row.number} AS ?i) (COUNT(*) AS ?n) {{ {{ SELECT ?s {{ ?s {row.terms[1]} {row.terms[0]} . "
            f"{self.subject_ok} }} LIMIT {bound:d} }} }} }}"
            for row in steps
        )
        return f"SELECT ?i ?n {{ {' UNION '.join(parts)} }}"

    def loops(self, rows: str) -> str:
        """Number and count of the triples from each entity to itself; `rows` binds (?i ?s)."""
        return f"SELECT ?i (COUNT(*) AS ?n) {{ {rows} ?s ?p ?s . {self.relation_ok} }} GROUP BY ?i"

    # ---- triples --------------------------------------------------------------------------------------------------

    def steps(self, rows: str, *, out: bool) -> str:
        """The triples of each step; `rows` binds (?i ?s ?p) or (?i ?o ?p)."""
        return f"SELECT ?i ?s ?p ?o {{ {rows} ?s ?p ?o . {self.object_ok if out else self.subject_ok} }}"

    def around(self, rows_out: str, rows_in: str) -> str:
        """All triples of each node, a loop once; `rows_out` binds (?i ?s), `rows_in` (?i ?o) for the same."""
        return (
            f"SELECT ?i ?s ?p ?o {{ {{ {rows_out} ?s ?p ?o . {self.relation_ok} {self.object_ok} }} UNION "
            f"{{ {rows_in} ?s ?p ?o . {self.relation_ok} {self.subject_ok} FILTER(!sameTerm(?s, ?o)) }} }}"
        )

    def sampled(self, pattern: str, number: str, limit: int, seed: int) -> str:
        """A block that draws `limit` triples of a pattern in the order of a hash of seed and triple."""
        key = " ".join(f"STR(?{variable})" for variable in "spo")
        mixed = f"SHA1(CONCAT({string(f'{seed} ')}, {key.replace(' ', ', ')}))"
        return (
            f"{{ SELECT ({number} AS ?i) ?s ?p ?o {{ {pattern} }} "
            f"ORDER BY {mixed} {key} LANG(?o) STR(DATATYPE(?o)) LIMIT {limit:d} }}"
        )

    def step_pattern(self, node: str, relation: str, *, out: bool, bound: int) -> str:
        """The triples of one step, ?s ?p and ?o bound."""
        if out:
            return f"BIND({node} AS ?s) BIND({relation} AS ?p) {node} {relation} ?o . {self.object_ok}"
        inner = f"?s {relation} {node} . {self.subject_ok}"
        if bound:
            inner = f"{{ SELECT ?s {{ {inner} }} LIMIT {bound:d} }}"
        return f"{inner} BIND({relation} AS ?p) BIND({node} AS ?o)"

    def around_pattern(self, node: str, *, bound: int) -> str:
        """All triples of one node."""
        inner = f"?s ?p {node} . {self.relation_ok} {self.subject_ok} FILTER(!sameTerm(?s, {node}))"
        if bound:
            inner = f"{{ SELECT ?s ?p {{ {inner} }} LIMIT {bound:d} }}"
        out = f"{node} ?p ?o . {self.relation_ok} {self.object_ok} BIND({node} AS ?s)"
        if node.startswith('"'):
            return f"{inner} BIND({node} AS ?o)"
        return f"{{ {out} }} UNION {{ {inner} BIND({node} AS ?o) }}"

    def exact(self, rows: str) -> str:
        """The numbers of the triples that are there; `rows` binds (?i ?s ?p ?o)."""
        return f"SELECT ?i {{ {rows} ?s ?p ?o . }}"

    def among(self, subjects: str, objects: str, limit: int, offset: int) -> str:
        """A page of the triples from some nodes to others, both written as terms in a row."""
        return (
            f"SELECT DISTINCT ?s ?p ?o {{ {{ SELECT ?s ?p ?o {{ VALUES ?s {{ {subjects} }} ?s ?p ?o . "
            f"{self.relation_ok} {self.object_ok} }} }} VALUES ?o {{ {objects} }} }} ORDER BY ?s ?p ?o LIMIT {limit:d} OFFSET {offset:d}"
        )

    # ---- what is said of nodes ------------------------------------------------------------------------------------

    def known(self, rows: str) -> str:
        """The numbers of the nodes that some triple touches; `rows` binds (?i ?e)."""
        return f"SELECT ?i {{ {rows} FILTER(EXISTS {{ ?e ?p ?o }} || EXISTS {{ ?s ?q ?e }}) }}"

    def texts(self, rows: str, *, full: bool) -> str:
        """Labels in the preferred languages and, if `full`, descriptions and classes; `rows` binds (?i ?e).

        ?q is the predicate, ?v the text or the class, ?l the language.
        """
        profile = self._profile
        label, description = (
            f"{self._preferred} BIND(SUBSTR(STR(?t), 1, {length}) AS ?v) BIND(LANG(?t) AS ?l)"
            for length in (_LABEL_LENGTH, _DESCRIPTION_LENGTH)
        )
        parts = _said(rows, profile.labels, label)
        if full:
            parts += _said(rows, profile.descriptions, description)
            parts += _said(rows, profile.types, "FILTER(isIRI(?t)) BIND(?t AS ?v)")
        return f"SELECT ?i ?q ?v ?l {{ {' UNION '.join(parts)} }}"

    def any_label(self, rows: str) -> str:
        """One label of each node in whatever language, the language before a space; `rows` binds (?i ?e)."""
        text = f'FILTER(isLiteral(?t)) BIND(CONCAT(LANG(?t), " ", SUBSTR(STR(?t), 1, {_LABEL_LENGTH})) AS ?x)'
        return f"SELECT ?i (MIN(?x) AS ?v) {{ {' UNION '.join(_said(rows, self._profile.labels, text))} }} GROUP BY ?i"

    # ---- names ----------------------------------------------------------------------------------------------------

    def named(self, rows: str, limit: int) -> str:
        """The entities with one of the names; `rows` binds (?i ?t), ?q is the predicate."""
        kinds = ", ".join(map(iri, (*self._profile.labels, *self._profile.aliases)))
        return f"SELECT DISTINCT ?i ?q ?e ?t {{ {rows} ?e ?q ?t . FILTER(?q IN ({kinds})) {self._linkable} }} LIMIT {limit:d}"

    @property
    def _linkable(self) -> str:
        start = self._profile.entity_start
        return "FILTER(isIRI(?e))" + (f" FILTER(STRSTARTS(STR(?e), {string(start)}))" if start else "")

    def all_names(self, limit: int, offset: int) -> str:
        """A page of the names in the preferred languages: entity, rank of the predicate (l0 … a0 …), text, language."""
        kinds = [(iri(one), string(f"l{rank}")) for rank, one in enumerate(self._profile.labels)]
        kinds += [(iri(one), string(f"a{rank}")) for rank, one in enumerate(self._profile.aliases)]
        return (
            f"SELECT ?e ?k ?v ?l {{ {values('?q ?k', kinds)} ?e ?q ?t . {self._preferred} {self._linkable} "
            f"BIND(SUBSTR(STR(?t), 1, {_LABEL_LENGTH}) AS ?v) BIND(LANG(?t) AS ?l) }} "
            f"ORDER BY ?e ?k ?v ?l LIMIT {limit:d} OFFSET {offset:d}"
        )

    def unnamed(self, limit: int, offset: int) -> str:
        """A page of the entities without a label in a preferred language."""
        kinds = ", ".join(map(iri, self._profile.labels))
        ends = f"{{ ?e ?p ?o . {self.relation_ok} {self.object_ok} }} UNION {{ ?s ?p ?e . {self.relation_ok} {self.subject_ok} }}"
        return (
            f"SELECT ?e {{ {{ SELECT DISTINCT ?e {{ {ends} {self._linkable} }} }} "
            f"FILTER NOT EXISTS {{ ?e ?q ?t . FILTER(?q IN ({kinds})) {self._preferred} }} }} "
            f"ORDER BY ?e LIMIT {limit:d} OFFSET {offset:d}"
        )

    def degrees(self, rows: str) -> str:
        """How much there is about each entity, as the profile counts; `rows` binds (?i ?s)."""
        if self._profile.degree:
            return f"SELECT ?i (MAX(?d) AS ?n) {{ {rows} ?s {iri(self._profile.degree)} ?d }} GROUP BY ?i"
        return f"SELECT ?i (COUNT(*) AS ?n) {{ {rows} ?s ?p ?o . {self.relation_ok} {self.object_ok} }} GROUP BY ?i"
