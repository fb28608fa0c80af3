"""Reads RDF: N-Triples and N-Quads line by line; Turtle, RDF/XML, TriG and JSON-LD by the parser of `pyoxigraph`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.readers.facts import Facts, Kind
from thinkgraph.ingest.readers.files import TripleRow
from thinkgraph.ingest.readers.lines import open_binary, read_lines, suffix_of
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.tools.sparql.profiles import ALIASES, DESCRIPTIONS, LABELS, RDF_TYPE

if TYPE_CHECKING:
    import pyoxigraph

_FORMS = {
    **dict.fromkeys((".nt", ".ntriples"), "N-Triples"),
    **dict.fromkeys((".ttl", ".turtle"), "Turtle"),
    **dict.fromkeys((".rdf", ".owl"), "RDF/XML"),
    ".nq": "N-Quads",
    ".trig": "TriG",
    ".jsonld": "JSON-LD",
}
_OF_LINES = ("N-Triples", "N-Quads")
_NAMING: dict[str, tuple[Kind, int]] = {
    **{iri: ("label", rank) for rank, iri in enumerate(LABELS)},
    **{iri: ("alias", rank) for rank, iri in enumerate(ALIASES)},
    **{iri: ("description", rank) for rank, iri in enumerate(DESCRIPTIONS)},
}
LONGEST_VALUE = 2_000
"""Characters of the longest literal that is a value; longer ones are texts."""

_IRI = r'<([^\x00-\x20<>"{}|^`\\]*(?:\\[uU][0-9A-Fa-f]{4,8}[^\x00-\x20<>"{}|^`\\]*)*)>'
_BLANK = r"_:([^\s<>\"\\]+?)"
_STATEMENT = re.compile(
    rf"\s*(?:{_IRI}|{_BLANK})\s*{_IRI}\s*(?:{_IRI}|{_BLANK}|"
    r'"([^"\\\n\r]*(?:\\.[^"\\\n\r]*)*)"(?:\^\^'
    + _IRI
    + rf"|@([A-Za-z]+(?:-[A-Za-z0-9]+)*)(?:--(?:ltr|rtl))?)?)\s*(?:(?:{_IRI}|{_BLANK})\s*)?\.\s*(?:\#.*)?"
)
"""A triple, perhaps with its graph."""
_SUBJECT = re.compile(rf"\s*(?:{_IRI}|_:\S+)")
_PREDICATE = re.compile(rf"\s*(?:{_IRI}|_:\S+)\s*{_IRI}")
_ABOUT = re.compile(rf"(?:{_PREDICATE.pattern})?\s*<<")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_PLAIN = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_SURROGATES = range(0xD800, 0xE000)
_LONGEST_HEAD = 1 << 20
"""Bytes of an RDF/XML file within which its declarations must end."""
_REIFIES = "http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies"
_MARKS, _LONGEST_MARK = re.compile(rb"<<|\{\||~|reifies|annotation"), 16
_BLOCK = 1 << 20
_NESTED = re.compile(rb"""<!ENTITY\s+(?:%\s+)?(\S+)\s+(?:"[^"]*[&%]\w[^"]*"|'[^']*[&%]\w[^']*')""")


class Statement(NamedTuple):
    """One RDF statement; blank nodes start with `_:` and the number of their file."""

    subject: str
    predicate: str
    object: str
    datatype: str | None
    """IRI of the object's datatype, "" for a plain string; None where the object is a node."""
    language: str


def rdf_form(path: Path) -> str | None:
    """The kind of RDF a file is, by its name (`.nt`, `.ttl`, `.rdf` …, also with `.gz` or `.bz2`); None where it is none."""
    return _FORMS.get(suffix_of(path))


def read_rdf(path: Path, facts: Facts, rejects: Rejects, *, number: int = 0) -> Iterator[TripleRow]:
    """The triples of one file. Labels, other names and descriptions go to `facts`; classes go there too.

    Entities are known by their IRIs, blank nodes by the file's `number` and their label. Malformed lines of N-Triples
    and N-Quads go to `rejects`. The graphs of N-Quads and TriG are taken together.

    Raises:
        KnowledgeError: the file cannot be read, what has no lines is malformed, or its parser is not installed.
    """
    form = rdf_form(path) or "N-Triples"
    blank = f"_:f{number}."
    found = _of_lines(path, blank, rejects) if form in _OF_LINES else _parsed(path, form, blank, rejects)
    for line, (subject, predicate, end, datatype, language) in found:
        value = " ".join(end.split())
        if datatype is None:
            if predicate == RDF_TYPE:
                facts.add(subject, "class", end)
            yield subject, predicate, end, (), None
        elif predicate in _NAMING:
            kind, rank = _NAMING[predicate]
            facts.add(subject, kind, end, language=language, predicate=rank)
        elif not value:
            rejects.add(path, line, "empty literal", kind="empty literal")
        elif len(value) > LONGEST_VALUE:
            rejects.add(path, line, f"{len(value):,} characters, more than a value has", kind="long text")
        elif language and facts.languages.strict and not facts.languages.wanted(language):
            rejects.count("value in another language")
        else:
            name = language or re.split(r"[#/]", datatype)[-1]
            yield subject, predicate, value, (), "" if name == "string" else name


def _of_lines(path: Path, blank: str, rejects: Rejects) -> Iterator[tuple[int, Statement]]:
    for line, text in read_lines(path, rejects):
        found = _STATEMENT.fullmatch(text)
        if found is None:
            stripped = text.lstrip()
            if not stripped.startswith("#"):
                rejects.add(path, line, _reason(stripped))
            continue
        s, s_blank, p, o, o_blank, literal, datatype, language, *_ = found.groups()
        try:
            if "\\" in text:
                s, p, o, literal, datatype = (part and _unescaped(part) for part in (s, p, o, literal, datatype))
            subject, predicate = blank + s_blank if s_blank else _absolute(s), _absolute(p)
            if literal is not None:
                yield line, Statement(subject, predicate, literal, datatype or "", language or "")
            else:
                yield line, Statement(subject, predicate, blank + o_blank if o_blank else _absolute(o), None, "")
        except ValueError as error:
            rejects.add(path, line, str(error))


def _reason(text: str) -> str:
    """What is wrong with a line that is no statement."""
    if _ABOUT.match(text):
        return "triples about triples are not read"
    if not _SUBJECT.match(text):
        return "no subject (an IRI in angle brackets or a blank node)"
    if not _PREDICATE.match(text):
        return "no predicate (an IRI in angle brackets)"
    if not text.split("#", maxsplit=1)[0].rstrip().endswith(".") and not text.rstrip().endswith("."):
        return "no dot at the end"
    return "no object (an IRI, a blank node or a quoted literal), or something after it"


def _absolute(iri: str) -> str:
    if ":" not in iri:
        raise ValueError(f"the IRI <{iri[:60]}> is not absolute")
    return iri


def _unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        if found[3]:
            if found[3] not in _PLAIN:
                raise ValueError(f"\\{found[3]} is no escape")
            return _PLAIN[found[3]]
        code = int(found[1] or found[2], 16)
        if not code or code in _SURROGATES or code > 0x10FFFF:  # noqa: PLR2004 - the last code point
            raise ValueError(f"{found[0]} is no character that can be stored")
        return chr(code)

    return _ESCAPE.sub(one, text)


def _fault(error: SyntaxError | MemoryError) -> str:
    """Where the parser stopped, and why."""
    if isinstance(error, MemoryError):
        # Its own bound, 16 MiB for what stands between two marks.
        return ": a literal or name has no end; mend it, or cut the file there"
    if "remote context" in str(error.msg):
        return ": its @context stands elsewhere, and nothing is fetched; put what is there into the file"
    return f"{f', line {error.lineno}' if error.lineno else ''}: {' '.join(str(error.msg).split())[:200]}"


def _check_entities(path: Path, form: str) -> None:
    """Refuse XML entities that stand for other entities: a few lines of them unfold to more than any memory holds.

    Those that shorten IRIs in ontologies (`<!ENTITY owl "http://…">`) stay. All must end in the first megabyte.
    """
    with open_binary(path) as stream:
        head = stream.read(_LONGEST_HEAD)
    if form != "RDF/XML" or b"<!ENTITY" not in head:
        return
    if b"]>" not in head and len(head) == _LONGEST_HEAD:
        raise KnowledgeError(f"{path.name} declares XML entities without end; convert it to N-Triples or Turtle")
    if nested := _NESTED.search(head):
        name = nested[1].decode("utf-8", "replace")[:80]
        raise KnowledgeError(
            f"{path.name}: the XML entity '{name}' stands for other entities; write it out, or convert the file to N-Triples"
        )


def _parsed(path: Path, form: str, blank: str, rejects: Rejects) -> Iterator[tuple[int, Statement]]:
    try:
        import pyoxigraph
    except ImportError:
        raise KnowledgeError(
            f"reading {form} ({path.name}) needs a parser: pip install 'thinkgraph[rdf]', or convert it to N-Triples"
        ) from None
    blanks: dict[str, int] = {}

    def reifies(quad: pyoxigraph.Quad) -> bool:
        return quad.predicate.value == _REIFIES and isinstance(quad.object, pyoxigraph.Triple)

    def text(node: pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal) -> str:
        if "\0" in node.value:
            raise KnowledgeError(f"{path.name}: {node.value[:80]!r} contains a NUL character")
        # The parser makes up names for nodes without one, other ones each time.
        unnamed = isinstance(node, pyoxigraph.BlankNode)
        return f"{blank}b{blanks.setdefault(node.value, len(blanks))}" if unnamed else node.value

    _check_entities(path, form)
    # What is said of a reifier may stand before what makes it one.
    reifiers = {quad.subject for quad in _quads(path, form) if reifies(quad)} if _may_reify(path) else set()
    for quad in _quads(path, form):
        subject, end = quad.subject, quad.object
        if reifies(quad):
            # Of one without a name, which is another in each reading, the parser has this come first.
            reifiers.add(subject)
        if isinstance(subject, pyoxigraph.Triple) or isinstance(end, pyoxigraph.Triple) or subject in reifiers:
            rejects.count("statement about a statement")
        elif not isinstance(end, pyoxigraph.Literal):
            yield 0, Statement(text(subject), text(quad.predicate), text(end), None, "")
        else:
            yield 0, Statement(text(subject), text(quad.predicate), text(end), end.datatype.value, end.language or "")


def _quads(path: Path, form: str) -> Iterator[pyoxigraph.Quad]:
    """What the parser reads in a file."""
    import pyoxigraph

    syntax = getattr(pyoxigraph.RdfFormat, re.sub("[-/]", "_", form).upper())
    with open_binary(path) as stream:
        try:
            # Lenient: other people's IRIs are not always the standard's.
            base = f"file:///{quote(path.name)}"
            yield from pyoxigraph.parse(stream, format=syntax, base_iri=base, lenient=True)
        except (SyntaxError, MemoryError) as error:
            raise KnowledgeError(f"{path.name}{_fault(error)}") from None


def _may_reify(path: Path) -> bool:
    """Whether a file has a mark of those by which statements are written about statements, which few files have."""
    with open_binary(path) as stream:
        end = b""
        while block := stream.read(_BLOCK):
            if _MARKS.search(end + block):
                return True
            end = block[-_LONGEST_MARK:]
    return False
