"""RDF terms: checked and escaped before they enter a query, and read from answers.

The id of a node is its IRI (shortened if the profile has a short form), or the literal as in N-Triples. An id is accepted
only if it is written exactly as the store writes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

XSD = "http://www.w3.org/2001/XMLSchema#"
STRING = f"{XSD}string"
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"

_UCS = (
    "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14))
    + "\U000e1000-\U000efffd"
)
_CHAR = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@{_UCS}]|%[0-9A-Fa-f]{{2}})"
_STRICT = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.\-]*:(?://(?:[A-Za-z0-9\-._~!$&'()*+,;=%@{_UCS}]*)(?::\d*)?(?=[/?#]|\Z)(?:/{_CHAR}*)*"
    rf"|(?!//)/?{_CHAR}(?:/|{_CHAR})*)(?:\?(?:[/?]|{_CHAR})*)?(?:#(?:[/?]|{_CHAR})*)?"
)
_IRIREF = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]+")
_LITERAL = re.compile(r'"((?:[^"\\\n\r]|\\["\\nr])*)"(?:\^\^<([^<>]+)>|@([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*))?')
_NOT_IN_RDF = re.compile("[\0\ud800-\udfff]")
_PLAIN = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_SPARQL = {**_PLAIN, "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_UNESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n", "\\r": "\r"}
_LONGEST_IRI = 4_000
_REGION, _SCRIPT = 2, 4
"""Letters of these parts of a language tag."""


class Short(NamedTuple):
    """A short form: an IRI of the namespace whose rest matches is written as prefix and rest."""

    prefix: str
    namespace: str
    rest: re.Pattern[str]


def valid_iri(text: str) -> bool:
    """Whether the text is an absolute IRI by SPARQL's grammar, so that it cannot end its angle brackets."""
    return len(text) <= _LONGEST_IRI and _IRIREF.fullmatch(text) is not None


def valid_text(text: str) -> bool:
    """Whether the text is without NUL and half surrogate pairs, so that it can be a literal."""
    return not _NOT_IN_RDF.search(text)


def strict_iri(text: str) -> bool:
    """Whether it is also an IRI by RFC 3987. Some servers refuse a whole query for one that is not."""
    return len(text) <= _LONGEST_IRI and _STRICT.fullmatch(text) is not None


def iri(text: str) -> str:
    """An IRI in angle brackets.

    Raises:
        ValueError: it is not a valid IRI.
    """
    if not valid_iri(text):
        raise ValueError(f"no IRI: {text[:80]!r}")
    return f"<{text}>"


def string(text: str) -> str:
    r"""A text as a quoted SPARQL string, without datatype or language.

    Some servers replace code point escapes (`\u0022`) before they parse a query, as the standard says; others while they
    parse it. A `u` after a backslash is therefore written as an escape itself, which both read correctly.

    Raises:
        ValueError: the text has NUL or half a surrogate pair, which RDF does not allow.
    """
    if not valid_text(text):
        raise ValueError("a text with NUL or half a surrogate pair")
    written = []
    before = ""
    for c in text:
        hidden = (c < " " and c not in _SPARQL) or (before == "\\" and c in "uU")
        written.append(f"\\u{ord(c):04X}" if hidden else _SPARQL.get(c, c))
        before = c
    return '"' + "".join(written) + '"'


def tag_forms(tag: str) -> list[str]:
    """A language tag as it is given, and in the two forms in which servers keep them: `pt-br` and `pt-BR`."""
    first, *rest = tag.lower().split("-")
    usual = [part.title() if len(part) == _SCRIPT else part.upper() if len(part) == _REGION else part for part in rest]
    return list(dict.fromkeys((tag, tag.lower(), "-".join([first, *usual]))))


class RdfTerm(NamedTuple):
    """A literal or an IRI."""

    value: str
    literal: bool = False
    datatype: str = ""
    language: str = ""

    def term(self) -> str:
        """As it stands in a query."""
        if not self.literal:
            return iri(self.value)
        if self.language:
            return f"{string(self.value)}@{self.language}"
        return string(self.value) if self.datatype in ("", STRING) else f"{string(self.value)}^^{iri(self.datatype)}"

    @property
    def strict(self) -> bool:
        """Whether every server accepts it."""
        return strict_iri(self.datatype or "x:x") if self.literal else strict_iri(self.value)


class RdfIds:
    """Writes nodes and relations as ids and reads them back."""

    def __init__(self, nodes: Sequence[Short], relations: Sequence[Short]) -> None:
        """Use the short forms given, the first that fits."""
        self._nodes = tuple(nodes)
        self._relations = tuple(relations)

    def node_id(self, node: RdfTerm) -> str:
        """The id of a node."""
        if not node.literal:
            return _shortened(node.value, self._nodes)
        text = '"' + "".join(_PLAIN.get(c, c) for c in node.value) + '"'
        return f"{text}@{node.language}" if node.language else f"{text}^^<{node.datatype}>" if node.datatype else text

    def node(self, id_: str) -> RdfTerm | None:
        """The node of an id; None for a text that is not an id of the store."""
        if id_[:1] == '"':
            found = _LITERAL.fullmatch(id_)
            if found is None or not valid_text(id_) or (found[2] and not valid_iri(found[2])):
                return None
            value = re.sub(r'\\["\\nr]', lambda escape: _UNESCAPED[escape[0]], found[1])
            node = RdfTerm(value, literal=True, datatype=found[2] or "", language=found[3] or "")
            return node if self.node_id(node) == id_ else None
        text = _whole(id_, self._nodes)
        return RdfTerm(text) if text else None

    def relation_name(self, text: str) -> str:
        """The name of a relation's IRI."""
        return _shortened(text, self._relations)

    def relation(self, name: str) -> str | None:
        """The IRI of a relation's name; None for a text that is not one."""
        return _whole(name, self._relations)


def _shortened(text: str, forms: Sequence[Short]) -> str:
    for form in forms:
        if text.startswith(form.namespace) and form.rest.fullmatch(rest := text[len(form.namespace) :]):
            return form.prefix + rest
    return text


def _whole(text: str, forms: Sequence[Short]) -> str | None:
    """The IRI that is written so; None for what is no IRI or would be written in another way."""
    found = text
    for form in forms:
        if text.startswith(form.prefix) and form.rest.fullmatch(rest := text[len(form.prefix) :]):
            found = form.namespace + rest
            break
    return found if valid_iri(found) and _shortened(found, forms) == text else None
