"""Profiles of RDF graphs: which predicates name things and which are relations, by kind of endpoint."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Literal

from thinkgraph.tools.sparql.terms import Short

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
FOAF = "http://xmlns.com/foaf/0.1/"
WD = "http://www.wikidata.org/"
DBO = "http://dbpedia.org/ontology/"
FB = "http://rdf.freebase.com/ns/"

Counts = Literal["all", "total", "none"]
Names = Literal["local", "server"]
Search = Literal["entitysearch", "bif", "jena", "none"]

LABELS = (
    f"{RDFS}label",
    f"{SKOS}prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    f"{FOAF}name",
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
)
"""Predicates that name a thing in plain RDF, the most reliable first."""
ALIASES = (
    f"{SKOS}altLabel",
    "http://schema.org/alternateName",
    "https://schema.org/alternateName",
    f"{FOAF}nick",
    "http://purl.org/dc/terms/alternative",
)
DESCRIPTIONS = (
    "http://schema.org/description",
    "https://schema.org/description",
    "http://purl.org/dc/terms/description",
    "http://purl.org/dc/elements/1.1/description",
    f"{RDFS}comment",
    f"{SKOS}definition",
)

_LOCAL = re.compile(r"[^\x00-\x20<>\"{}|^`\\]+")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How one kind of graph is written in RDF, and how it is read."""

    name: str
    labels: tuple[str, ...] = LABELS
    aliases: tuple[str, ...] = ALIASES
    descriptions: tuple[str, ...] = DESCRIPTIONS
    types: tuple[str, ...] = (RDF_TYPE,)
    languages: tuple[str, ...] = ("en",)
    """The preferred languages of labels and descriptions, the best first. A region counts as its language."""
    all_languages: bool = True
    """Whether texts in other languages are objects of triples too."""
    node_forms: tuple[Short, ...] = ()
    relation_forms: tuple[Short, ...] = ()
    relation_start: str = ""
    """The beginning of every relation's IRI."""
    excluded: frozenset[str] = frozenset()
    """Predicates that are not relations, beside those of `naming`."""
    excluded_starts: tuple[str, ...] = ()
    relation_pattern: str = ""
    """A SPARQL pattern that a relation ?p must also match."""
    described: tuple[str, str] = ("", "")
    """Beginning of a relation's IRI, and its replacement in the IRI that has the relation's label."""
    entity_start: str = ""
    """The beginning of the IRI of an entity that can be found by name."""
    statements: bool = False
    """Whether statements are nodes, as in Wikidata, with qualifiers, precisions and units."""
    qualifiers: bool = True
    """Whether to ask for these."""
    names: Names = "server"
    """Where names are looked up: in an index of all names in the user's cache (local), or by the server. A server has no
    index that ignores case, so usual spellings are tried.
    """
    max_names: int = 2_000_000
    """The most names in a local index."""
    search: Search = "none"
    """The server's full-text search, where names are looked up by the server."""
    degree: str = ""
    """A predicate with the number of statements about an entity; "": its triples are counted."""
    bound: int = 0
    """The most incoming triples of a node that are read; 0: all."""
    literal_length: int = 2_000
    """The most characters of a literal that is a value."""
    counts: Counts = "none"
    """What is counted for `info` and the fingerprint: all (which reads the whole graph), the total of the endpoint's triples
    (which most servers know), or none.
    """

    @functools.cached_property
    def naming(self) -> frozenset[str]:
        """The predicates that name or describe."""
        return frozenset((*self.labels, *self.aliases, *self.descriptions))

    def language_rank(self, tag: str) -> int:
        """How good the language of a text is, 0 the best; "en-GB" comes right after "en", "" after all that are preferred."""
        tag, preferred = tag.casefold(), [one.casefold() for one in (*self.languages, "")]
        if tag in preferred:
            return 2 * preferred.index(tag)
        ranks = (2 * rank + 1 for rank, one in enumerate(preferred) if one and tag.startswith(f"{one}-"))
        return next(ranks, 2 * len(preferred))

    def is_relation(self, iri: str) -> bool:
        """Whether a predicate is a relation, judged by its IRI alone."""
        return (
            iri.startswith(self.relation_start)
            and iri not in self.naming
            and iri not in self.excluded
            and not iri.startswith(self.excluded_starts or ("\0",))
        )

    def describing(self, iri: str) -> str:
        """The IRI that has the relation's label."""
        start, other = self.described
        return other + iri[len(start) :] if start and iri.startswith(start) else iri


WIKIDATA = Profile(
    name="wikidata",
    labels=(f"{RDFS}label",),
    aliases=(f"{SKOS}altLabel",),
    descriptions=("http://schema.org/description",),
    types=(f"{WD}prop/direct/P31",),
    languages=("en", "mul"),
    node_forms=(Short("", f"{WD}entity/", re.compile(r"[QPL][1-9]\d{0,17}")),),
    relation_forms=(Short("", f"{WD}prop/direct/", re.compile(r"P[1-9]\d{0,17}")),),
    relation_start=f"{WD}prop/direct/",
    # Ids in other catalogues, pictures and maps would fill every list of relations.
    relation_pattern=(
        "?prop <http://wikiba.se/ontology#directClaim> ?p . FILTER NOT EXISTS { "
        "VALUES ?kind { <http://wikiba.se/ontology#ExternalId> <http://wikiba.se/ontology#CommonsMedia> "
        "<http://wikiba.se/ontology#GeoShape> <http://wikiba.se/ontology#TabularData> } "
        "?prop <http://wikiba.se/ontology#propertyType> ?kind }"
    ),
    described=(f"{WD}prop/direct/", f"{WD}entity/"),
    entity_start=f"{WD}entity/Q",
    statements=True,
    search="entitysearch",
    degree="http://wikiba.se/ontology#statements",
    bound=100_000,
)
DBPEDIA = Profile(
    name="dbpedia",
    labels=(f"{RDFS}label", f"{FOAF}name"),
    aliases=(f"{DBO}alias", f"{FOAF}nick"),
    descriptions=(f"{RDFS}comment", f"{DBO}abstract"),
    all_languages=False,
    node_forms=(Short("dbr:", "http://dbpedia.org/resource/", _LOCAL),),
    relation_forms=(Short("dbo:", DBO, _LOCAL),),
    relation_start=DBO,
    excluded=frozenset(
        DBO + name
        for name in (
            "wikiPageWikiLink", "wikiPageExternalLink", "wikiPageID", "wikiPageRevisionID", "wikiPageLength",
            "wikiPageRedirects", "wikiPageDisambiguates", "wikiPageInterLanguageLink", "wikiPageUsesTemplate",
            "wikiPageWikiLinkText", "thumbnail", "wikiPageExtracted", "wikiPageModified", "wikiPageEditLink",
            "wikiPageHistoryLink", "wikiPageOutDegree", "wikiPageInDegree", "wikiPageRevisionLink",
        )
    ),
    entity_start="http://dbpedia.org/resource/",
    search="bif",
    bound=100_000,
)  # fmt: skip
FREEBASE = Profile(
    name="freebase",
    labels=(f"{FB}type.object.name", f"{RDFS}label"),
    aliases=(f"{FB}common.topic.alias",),
    descriptions=(f"{FB}common.topic.description",),
    types=(f"{FB}common.topic.notable_types",),
    all_languages=False,
    node_forms=(Short("", FB, re.compile(r"[mg]\.[0-9a-z_]{1,20}")),),
    relation_forms=(Short("", FB, re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")),),
    relation_start=FB,
    excluded_starts=tuple(
        FB + start for start in ("common.", "freebase.", "type.", "kg.", "dataworld.", "base.schemastaging")
    ),
    entity_start=FB,
    bound=100_000,
)
RDF = Profile(name="rdf", names="local", counts="total")

PROFILES = {profile.name: profile for profile in (WIKIDATA, DBPEDIA, FREEBASE, RDF)}
