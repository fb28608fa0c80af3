from __future__ import annotations

import bz2
import gzip
import sys

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdf_samples import SAMPLE, plain_rdf
from sparql_server import SparqlServer

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.build import build_kb
from thinkgraph.ingest.readers.facts import Facts, Languages
from thinkgraph.ingest.readers.rdf import read_rdf
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.linking.names import key_label, relation_label
from thinkgraph.tools.sparql.http import RequestPolicy
from thinkgraph.tools.sparql.store import SparqlGraphStore

E = "http://e/"


def read(tmp_path, text: str | bytes, name: str = "x.nt", languages=()):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    rejects = Rejects()
    with Facts(tmp_path / "facts", Languages(languages)) as facts:
        rows = list(read_rdf(path, facts, rejects))
        return rows, {row.id: row[1:] for row in facts.rows()}, dict(facts.aliases({})), rejects


NAMES = """
<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "Vienna"@en .
<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "Wien"@de .
<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "Vienna City"@en .
<http://e/a> <http://www.w3.org/2004/02/skos/core#altLabel> "Vindobona" .
<http://e/a> <http://www.w3.org/2004/02/skos/core#altLabel> "Vienne"@fr .
<http://e/a> <http://schema.org/description> "capital of\\nAustria"@en .
<http://e/a> <http://schema.org/description> "Hauptstadt"@de .
<http://e/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/City> .
<http://e/City> <http://www.w3.org/2000/01/rdf-schema#label> "city"@en .
<http://e/b> <http://www.w3.org/2000/01/rdf-schema#label> "Nur deutsch"@de .
<http://e/b> <http://xmlns.com/foaf/0.1/name> "Only foaf" .
<http://e/b> <http://e/motto> "voran"@de .
<http://e/b> <http://e/motto> "onwards"@en-GB .
<http://e/b> <http://e/born> "1815-12-10"^^<http://www.w3.org/2001/XMLSchema#date> .
"""


def test_names_become_rows_and_not_triples(tmp_path):
    rows, found, aliases, rejects = read(tmp_path, NAMES)
    assert found == {
        f"{E}a": ("Vienna", "city", "capital of Austria"),
        f"{E}b": ("Only foaf", "", ""),
        f"{E}City": ("city", "", ""),
    }
    assert aliases[f"{E}a"] == ["Vienna City", "Vindobona"]
    assert [row[1:3] + row[4:] for row in rows] == [
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", f"{E}City", None),
        (f"{E}motto", "voran", "de"),
        (f"{E}motto", "onwards", "en-GB"),
        (f"{E}born", "1815-12-10", "date"),
    ]
    assert not rejects.counts


def test_languages(tmp_path):
    rows, found, aliases, rejects = read(tmp_path, NAMES, languages=["de", "fr"])
    assert found[f"{E}a"] == ("Wien", "city", "Hauptstadt")
    assert aliases[f"{E}a"] == ["Vienne", "Vindobona"]
    assert [row[2] for row in rows if row[1] == f"{E}motto"] == ["voran"]
    assert rejects.counts == {"value in another language": 1}


BAD = [
    ("<http://e/a> <http://e/b> <http://e/c>", "no dot"),
    ("<http://e/a> <http://e/b> .", "no object"),
    ("<http://e/a> e:b <http://e/c> .", "no predicate"),
    ('"x" <http://e/b> <http://e/c> .', "no subject"),
    ("<http://e/a b> <http://e/b> <http://e/c> .", "no subject"),
    ('<http://e/a> <http://e/b> "x .', "no object"),
    ('<http://e/a> <http://e/b> "x"@ .', "no object"),
    ('<http://e/a> <http://e/b> "\\x" .', "no escape"),
    ('<http://e/a> <http://e/b> "\\uD800" .', "no character"),
    ('<http://e/a> <http://e/b> "\\u0000" .', "no character"),
    ("<a> <http://e/b> <http://e/c> .", "not absolute"),
    ("<< <http://e/a> <http://e/b> <http://e/c> >> <http://e/p> <http://e/o> .", "triples about triples"),
    ("_:r <http://e/of> <<( <http://e/a> <http://e/b> <http://e/c> )>> .", "triples about triples"),
    ("nonsense", "no subject"),
]


def test_malformed_lines_are_told_by_number(tmp_path):
    text = "# a comment\n\n" + "".join(
        f"{line}\n<http://e/s> <http://e/p> <http://e/o{i}> . # kept\n" for i, (line, _) in enumerate(BAD)
    )
    rows, _, _, rejects = read(tmp_path, text.encode() + b'<http://e/a> <http://e/b> "\xff" .\n')
    assert [row[2] for row in rows] == [f"{E}o{i}" for i in range(len(BAD))]
    kept = [(one["line"], one["reason"]) for one in rejects.kept]
    assert [line for line, _ in kept] == [*range(3, 3 + 2 * len(BAD), 2), 3 + 2 * len(BAD)]
    for (_, says), (_, reason) in zip(BAD, kept, strict=False):
        assert says in reason
    assert "UTF-8" in kept[-1][1]


IRIS = st.builds(
    lambda t: f"http://e/{t}",
    st.text(
        st.characters(
            exclude_characters='<>"{}|^`\\', min_codepoint=0x21, exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]
        ),
        max_size=8,
    ),
)
LITERALS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(IRIS, IRIS, st.one_of(IRIS, LITERALS), st.booleans(), st.sampled_from(["", "en", "de-AT"]))
def test_n_triples_are_read_as_the_parser_reads_them(tmp_path_factory, s, p, o, quoted, language):
    if quoted:
        end = pyoxigraph.Literal(o, language=language) if language else pyoxigraph.Literal(o)
    else:
        end = pyoxigraph.NamedNode(f"http://e/{len(o)}")
    try:
        triple = pyoxigraph.Triple(pyoxigraph.NamedNode(s), pyoxigraph.NamedNode(p), end)
    except ValueError:
        return
    text = pyoxigraph.serialize([triple], format=pyoxigraph.RdfFormat.N_TRIPLES)
    rows, _, _, rejects = read(tmp_path_factory.mktemp("nt"), text)
    value = " ".join(end.value.split()) if quoted else end.value
    if not value:
        assert rejects.counts == {"empty literal": 1}
        return
    assert rows == [(s, p, value, (), language.lower() if quoted else None)]


TURTLE = """
@prefix e: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:a rdfs:label "A"@en ; e:to e:b, [ e:x 5 ] , "v"^^e:unit ; a e:Thing .
[] e:to e:a .
<#rel> e:to e:a .
<< e:a e:to e:b >> e:since 1900 .
e:a e:with e:b {| e:since 1901 |} .
"""


def test_turtle(tmp_path):
    rows, found, _, rejects = read(tmp_path, TURTLE, "x.ttl")
    triples = [row[:3] for row in rows]
    assert (f"{E}a", f"{E}to", f"{E}b") in triples
    assert (f"{E}a", f"{E}to", "_:f0.b0") in triples
    assert ("_:f0.b0", f"{E}x", "5") in triples
    assert ("_:f0.b1", f"{E}to", f"{E}a") in triples
    assert ("file:///x.ttl#rel", f"{E}to", f"{E}a") in triples
    assert not any(one[1] == f"{E}since" for one in triples)
    assert rejects.counts == {"statement about a statement": 4}
    assert found[f"{E}a"] == ("A", "Thing", "")
    assert read(tmp_path, TURTLE, "x.ttl")[0] == rows  # the same names for what has none


PREFIXES = "@prefix e: <http://e/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
REIFIES = "rdf:reifies <<( e:a e:to e:b )>> ."


@pytest.mark.parametrize(
    "said",
    [
        f"e:r e:sure 0.9 ; e:by e:bob . e:r {REIFIES} e:a e:to e:b .",
        f"e:r {REIFIES} e:r e:sure 0.9 ; e:by e:bob . e:a e:to e:b .",
        f"_:r e:sure 0.9 ; e:by e:bob . _:r {REIFIES} e:a e:to e:b .",
        "e:r e:sure 0.9 ; e:by e:bob . e:a e:to e:b ~ e:r .",
        "e:r e:sure 0.9 . e:a e:to e:b ~ e:r {| e:by e:bob |} .",
        "e:r e:sure 0.9 . << e:a e:to e:b ~ e:r >> e:by e:bob . e:a e:to e:b .",
    ],
)
def test_what_is_said_of_a_statement_is_left_out_in_whatever_order(tmp_path, said):
    rows, _, _, rejects = read(tmp_path, PREFIXES + said, "x.ttl")
    assert [row[:3] for row in rows] == [(f"{E}a", f"{E}to", f"{E}b")]
    assert rejects.counts == {"statement about a statement": 3}


def test_who_speaks_of_a_statement_is_an_entity(tmp_path):
    rows, _, _, rejects = read(tmp_path, f"{PREFIXES} e:x e:says <<( e:a e:to e:b )>> ; e:to e:a .", "x.ttl")
    assert [row[:3] for row in rows] == [(f"{E}x", f"{E}to", f"{E}a")]
    assert rejects.counts == {"statement about a statement": 1}


def test_a_mark_of_reifiers_between_two_blocks_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("thinkgraph.ingest.readers.rdf._BLOCK", 1)
    test_what_is_said_of_a_statement_is_left_out_in_whatever_order(
        tmp_path, f"e:r e:sure 1 ; e:by e:c . e:r {REIFIES} e:a e:to e:b ."
    )


@pytest.mark.parametrize(
    "context", ['"https://schema.org/"', '["https://schema.org/", {"n": "http://e/n"}]', '"own.jsonld"']
)
def test_a_context_elsewhere_is_not_fetched(tmp_path, context):
    with pytest.raises(KnowledgeError, match="put what is there into the file") as error:
        read(tmp_path, f'{{"@context": {context}, "@id": "http://e/a", "n": "x"}}', "x.jsonld")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("@prefix e: <http://e/> .\n\ne:a x:b e:c .\n", "x.ttl, line 3: .*prefix x:"),
        ("@prefix e: <http://e/> .\ne:a e:b", "x.ttl, line 2"),
        (b"@prefix e: <http://e/> .\ne:a e:b '\xff' .", "x.ttl, line 2.*UTF-8"),
        ('@prefix e: <http://e/> .\ne:a e:b "\\u0000" .', "NUL"),
        ("<http://e/a> <http://e/b> <http://e/\0> .", "NUL"),
        ('<http://e/a> <http://e/\0> "b" .', "NUL"),
    ],
)
def test_malformed_turtle_is_one_line(tmp_path, text, says):
    """An IRI with a NUL character became an entity that no id finds."""
    with pytest.raises(KnowledgeError, match=says) as error:
        read(tmp_path, text, "x.ttl")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["x.nt", "x.ttl"])
def test_a_direction_is_no_part_of_the_language(tmp_path, name):
    """RDF 1.2 writes it behind the language: Turtle was read so, and N-Triples called the line malformed."""
    rows, *_, rejects = read(tmp_path, '<http://e/a> <http://e/b> "x"@ar--rtl .', name)
    assert rows == [("http://e/a", "http://e/b", "x", (), "ar")]
    assert not rejects.counts


def test_without_the_parser(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    assert len(read(tmp_path, NAMES)[0]) == 4
    with pytest.raises(KnowledgeError, match=r"thinkgraph\[rdf\]"):
        read(tmp_path, TURTLE, "x.ttl")


@pytest.mark.parametrize("name", ["x.nt", "x.nt.gz", "x.NT.BZ2", "x.ttl", "x.ttl.gz"])
def test_packed_or_not(tmp_path, name):
    text = "".join(f"<http://e/s{i}> <http://e/p> <http://e/o> .\n" for i in range(5_000)).encode()
    packed = gzip.compress(text) if name.endswith("gz") else bz2.compress(text) if "BZ2" in name else text
    assert len(read(tmp_path, packed, name)[0]) == 5_000
    if packed is not text:
        with pytest.raises(KnowledgeError, match=r"damaged (gzip|bzip2) file"):
            read(tmp_path, packed[: len(packed) // 2], name)


RDF_XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">
<rdf:Description rdf:about="http://e/a"><e:p rdf:resource="http://e/b"/></rdf:Description></rdf:RDF>"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.rdf", RDF_XML),
        ("x.owl", RDF_XML),
        ("x.trig", "@prefix : <http://e/> . :g { :a :p :b }"),
        ("x.ttl", "\ufeff<http://e/a> <http://e/p> <http://e/b> ."),
        ("x.jsonld", '{"@id": "http://e/a", "http://e/p": {"@id": "http://e/b"}}'),
    ],
)
def test_other_forms_of_rdf(tmp_path, name, text):
    assert read(tmp_path, text, name)[0] == [("http://e/a", "http://e/p", "http://e/b", (), None)]
    with pytest.raises(KnowledgeError, match=rf"^{name}(, line 1)?: .*[a-z]"):
        read(tmp_path, "<<< no", name)


def test_a_bad_line_of_quads_costs_no_others(tmp_path):
    """The whole file was refused, which of N-Triples it is not."""
    good = ("<http://e/b>", '"l"@en', "_:b", '"1"^^<http://e/int>')
    lines = [f"<http://e/a> <http://e/p> {end} {graph}." for end in good for graph in ("", "<http://e/g> ", "_:g ")]
    rows, _, _, rejects = read(
        tmp_path, "\n".join([*lines[:6], '<http://e/a> <http://e/p> "no end .', *lines[6:]]), "x.nq"
    )
    ends = [("http://e/b", None), ("l", "en"), ("_:f0.b", None), ("1", "int")]
    assert [(row[2], row[4]) for row in rows] == [end for end in ends for _ in range(3)]
    assert [(one["line"], one["kind"]) for one in rejects.kept] == [(7, "malformed")]


def test_long_and_empty_literals_are_told(tmp_path):
    text = f'<http://e/a> <http://e/b> "{"x" * 2_001}" .\n<http://e/a> <http://e/b> " " .\n<http://e/a> <http://e/b> "{"x" * 2_000}" .'
    rows, _, _, rejects = read(tmp_path, text)
    assert len(rows) == 1
    assert rejects.counts == {"long text": 1, "empty literal": 1}


def test_labels_made_from_iris():
    iris = ["http://e/Le_Mans", "http://e/ns#capitalOf", "https://www.example.com/", "https://a.b/x.html", "http://e/%C5%81%C3%B3d%C5%BA",
            "urn:isbn:123", "_:f0.b1", "http://dbpedia.org/resource/Star_Trek:_Voyager"]  # fmt: skip
    assert [key_label(one) for one in iris] == [
        "Le Mans", "capitalOf", "https://www.example.com/", "https://a.b/x.html", "Łódź", "123", "(unnamed f0.b1)", "Star Trek: Voyager",
    ]  # fmt: skip
    assert relation_label("http://e/ns#capitalOf") == "capital of"


def shape(graph, ids):
    return [
        sorted(
            (t["subject"], t["relation"], t["relation_label"], t["object_label"], t["literal"]) for t in one["triples"]
        )
        for one in graph.neighbourhood(ids)
    ]


@pytest.mark.parametrize("suffix", ["nt", "ttl"])
def test_a_file_and_an_endpoint_give_the_same_graph(tmp_path, monkeypatch, suffix):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "cache"))
    text = "\n".join(line for line in plain_rdf(SAMPLE).splitlines() if "_:" not in line)
    (tmp_path / f"x.{suffix}").write_text(text, "utf-8")
    build_kb(tmp_path / "kb", triples=[tmp_path / f"x.{suffix}"], index=False)
    names = ["Vienna", "wien", "countess of lovelace", "nobody"]
    with (
        Knowledge.open(tmp_path / "kb") as kb,
        SparqlServer(text) as server,
        SparqlGraphStore(server.url, policy=RequestPolicy(rate=0)) as store,
    ):
        found = [[(m["entity"]["id"], m["method"]) for m in one] for one in kb.graph.lookup(names)]
        assert found == [[(m["entity"]["id"], m["method"]) for m in one] for one in store.lookup(names)]
        ids = [id_ for one in found for id_, _ in one]
        assert len(ids) == 4
        assert shape(kb.graph, ids) == shape(store, ids)
        for key in ("label", "type"):
            assert [one[key] for one in kb.graph.entities(ids)] == [one[key] for one in store.entities(ids)]


def test_xml_entities_that_unfold_without_end_are_refused(tmp_path, monkeypatch):
    def ontology(*entities: str) -> str:
        return (
            '<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [\n' + "\n".join(entities) + "\n]>\n"
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="&e;">'
            '<rdf:Description rdf:about="&e;Ada"><e:name>&e;</e:name></rdf:Description></rdf:RDF>'
        )

    short = '<!ENTITY e "http://e/">'
    rows, *_ = read(tmp_path, ontology(short), "good.owl")
    assert [row[:3] for row in rows] == [("http://e/Ada", "http://e/name", "http://e/")]
    for nested in ('<!ENTITY b "&e;&e;">', "<!ENTITY b 'x&e;'>", '<!ENTITY m "<i>"> <!ENTITY % b "%e;">'):
        with pytest.raises(KnowledgeError, match=r"bad\.owl: the XML entity 'b' stands for other entities"):
            read(tmp_path, ontology(short, nested), "bad.owl")
    monkeypatch.setattr("thinkgraph.ingest.readers.rdf._LONGEST_HEAD", 60)
    with pytest.raises(KnowledgeError, match="declares XML entities without end"):
        read(tmp_path, ontology(short), "long.owl")


def test_a_literal_without_end_is_a_fault_of_the_file(tmp_path):
    with pytest.raises(KnowledgeError, match=r"^x\.ttl: a literal or name has no end"):
        read(tmp_path, b'<http://a> <http://b> "' + b"x" * (20 << 20), "x.ttl")
