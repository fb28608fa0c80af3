from __future__ import annotations

import json
import re

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sparql_server import SparqlServer

from thinkgraph.tools.sparql.http import RequestPolicy
from thinkgraph.tools.sparql.profiles import PROFILES, Profile
from thinkgraph.tools.sparql.store import SparqlGraphStore
from thinkgraph.tools.sparql.terms import RdfIds, RdfTerm, iri, strict_iri, string, tag_forms, valid_iri

EMPTY = pyoxigraph.Store()
HOSTILE = [
    '"', '" } DELETE { ?s ?p ?o } #', "'''", '"""', "\\", "\\\\", '\\"', "\\u0022", "\\\\u0022 }", "\\U00000022",
    "\\\\\\u0022", "a\nb", "a\rb", "\t\b\f", "\x01\x1f", "?x", "<http://x>", "} UNION {", "\u2028", "\ufeff", "\U0001f60a",
    "\\\x01", "x\\", "\\uD800", "u\\u", "\\\\\\\\u0041",
]  # fmt: skip
TEXTS = st.one_of(st.text(), st.sampled_from(HOSTILE), st.text(alphabet='\\uU0"2<>{}\n x'))
IDS = {name: RdfIds(profile.node_forms, profile.relation_forms) for name, profile in PROFILES.items()}


def bound(term: str) -> dict[str, str]:
    results = EMPTY.query(f"SELECT ?x {{ BIND({term} AS ?x) }}")
    body = results.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
    return json.loads(body)["results"]["bindings"][0]["x"]


def by_the_letter(query: str) -> str:
    """A server that replaces escapes of code points before it reads a query, wherever they stand."""
    replaced = re.sub(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})", lambda c: chr(int(c[1] or c[2], 16)), query)
    assert re.fullmatch(r'"(?:[^"\\\n\r]|\\[tbnrf"\'\\])*"', replaced), replaced
    plain = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
    return re.sub(r"\\(.)", lambda c: plain.get(c[1], c[1]), replaced[1:-1], flags=re.DOTALL)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_in_their_quotes(text):
    assert bound(string(text))["value"] == text
    assert by_the_letter(string(text)) == text


@given(TEXTS)
def test_any_text_stays_in_its_quotes(text):
    try:
        written = string(text)
    except ValueError:
        assert "\0" in text or any("\ud800" <= c <= "\udfff" for c in text)
        return
    assert bound(written)["value"] == text
    assert by_the_letter(written) == text


@given(TEXTS)
def test_only_iris_are_iris(text):
    for candidate in (text, f"http://example.org/{text}", f"http://{text}/"):
        if valid_iri(candidate):
            assert iri(candidate) == f"<{candidate}>"
            assert not re.search(r'[<>"{}|^`\\\x00-\x20]', candidate)
        else:
            with pytest.raises(ValueError, match="no IRI"):
                iri(candidate)
        if strict_iri(candidate):
            assert bound(f"<{candidate}>") == {"type": "uri", "value": candidate}


@given(TEXTS, st.sampled_from(sorted(IDS)))
def test_ids_are_read_as_they_are_written(text, profile):
    ids = IDS[profile]
    for id_ in (
        text,
        f'"{text}"',
        f'"{text}"@en',
        f'"{text}"^^<http://www.w3.org/2001/XMLSchema#int>',
        f"http://e.org/{text}",
    ):
        node = ids.node(id_)
        if node is not None:
            assert ids.node_id(node) == id_
            node.term()
        name = ids.relation(id_)
        assert name is None or ids.relation_name(name) == id_
    for node in (
        RdfTerm(text, literal=True),
        RdfTerm(text, literal=True, language="en-GB"),
        RdfTerm(text, literal=True, datatype="x:y"),
    ):
        found = ids.node(ids.node_id(node))
        assert found == node or "\0" in text or any("\ud800" <= c <= "\udfff" for c in text)


@pytest.mark.parametrize(
    ("profile", "id_", "value"),
    [
        ("wikidata", "Q64", "http://www.wikidata.org/entity/Q64"),
        ("wikidata", "Q064", None),
        ("wikidata", "http://www.wikidata.org/entity/Q64", None),  # the store writes it otherwise
        ("wikidata", "http://www.wikidata.org/entity/other", "http://www.wikidata.org/entity/other"),
        ("dbpedia", "dbr:Le_Mans", "http://dbpedia.org/resource/Le_Mans"),
        ("dbpedia", "dbr:a b", None),
        ("freebase", "m.02mjmr", "http://rdf.freebase.com/ns/m.02mjmr"),
        ("rdf", "Paris", None),
        ("rdf", "http://x/> } #", None),
        ("rdf", "", None),
        ("rdf", "_:b0", None),
    ],
)
def test_forms_of_ids(profile, id_, value):
    found = IDS[profile].node(id_)
    assert (found and found.value) == value


def test_literals():
    def written(value, datatype="", language=""):
        return RdfTerm(value, literal=True, datatype=datatype, language=language).term()

    assert written("x", "http://www.w3.org/2001/XMLSchema#string") == '"x"'
    assert written("x", language="de") == '"x"@de'
    assert written("1", "http://www.w3.org/2001/XMLSchema#integer") == '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    with pytest.raises(ValueError, match="no IRI"):
        written("x", "a> }")


def test_tags_of_languages():
    assert tag_forms("en") == ["en"]
    assert tag_forms("PT-br") == ["PT-br", "pt-br", "pt-BR"]
    assert tag_forms("zh-hans-cn")[-1] == "zh-Hans-CN"
    profile = Profile(name="x", languages=("de", "en-US"))
    tags = ["de", "DE-at", "en-us", "en-US-x", "", "en", "en-GB", "den"]
    ranks = [profile.language_rank(tag) for tag in tags]
    assert ranks[:5] == sorted(set(ranks[:5]))
    assert set(ranks[5:]) == {max(ranks)}
    assert max(ranks) > ranks[4]


GERMANY = """
    @prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :g rdfs:label "Germany"@en-US, "Deutschland"@de, "Alemanha"@pt-BR ; :capital :b .
    :b rdfs:label "Berlin city"@en-GB, "Berlin"@en, "A city"@en-AU ; :motto "Be"@en-GB, "Sei"@de .
"""


@pytest.mark.parametrize("names", ["local", "server"])
@pytest.mark.parametrize(
    ("language", "name", "label"),
    [
        ("en", "Germany", "Germany"),
        ("en-US", "Germany", "Germany"),
        ("pt-BR", "Alemanha", "Alemanha"),
        ("PT-br", "Alemanha", "Alemanha"),
        ("de,en", "Deutschland", "Deutschland"),
    ],
)
def test_a_region_counts_as_its_language(names, language, name, label, tmp_path, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path))
    options = {"languages": tuple(language.split(",")), "names": names, "policy": RequestPolicy(rate=0, retries=0)}
    with SparqlServer(GERMANY) as server, SparqlGraphStore(server.url, **options) as store:
        found = store.lookup([name])[0]
        if (names, language) == ("server", "en"):
            # The server finds a name by its exact tag alone: whatever else would read them all.
            assert not found
        else:
            assert [one["entity"]["id"] for one in found] == ["http://e/g"]
        assert store.entities(["http://e/g"])[0]["label"] == label
        if "en" in options["languages"]:
            # The language itself comes before its regions.
            assert store.entities(["http://e/b"])[0]["label"] == "Berlin"


def test_values_in_a_region_of_a_preferred_language():
    profile = Profile(name="plain", all_languages=False)
    with SparqlServer(GERMANY) as server, SparqlGraphStore(server.url, profile=profile) as store:
        step = {"entity": "http://e/b", "relation": "http://e/motto", "direction": "out"}
        assert [one["object_label"] for one in store.neighbours([step])[0]["triples"]] == ["Be"]
