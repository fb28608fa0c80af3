"""Reads GRBench's graphs (`graph.json`) as a stream: nodes by type and id, each with its features and neighbours.

{"paper_nodes": {"2090642949": {"features": {"title": …, "year": 1998}, "neighbors": {"author": ["…"], "venue": ["…"]}}}}
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.readers.facts import Facts
from thinkgraph.ingest.readers.files import TripleRow
from thinkgraph.ingest.readers.lines import LINE_LIMIT, open_binary, suffix_of
from thinkgraph.ingest.readers.rdf import LONGEST_VALUE
from thinkgraph.ingest.readers.rejects import Rejects

_HEAD = re.compile(r"\s*\{\s*\"\w+_nodes\"\s*:\s*\{")
_HEAD_BYTES = 4_096
_BLOCK = 1 << 20
_SPACE = re.compile(r"[\s,:]*")
_NAMES = ("name", "title", "full_name", "case_name", "case_name_full", "case_name_short", "short_name")
"""Features that name a node, the surest first."""
_UNNAMED = "unnamed"
"""The relation of a feature or of neighbours without a name that can be kept."""


def is_node_graph(path: Path) -> bool:
    """Whether a file is such a graph, by its name and how it begins; a file that cannot be read is none."""
    if suffix_of(path) != ".json":
        return False
    try:
        with open_binary(path) as stream:
            return _HEAD.match(stream.read(_HEAD_BYTES).decode("utf-8", "replace")) is not None
    except KnowledgeError:
        return False


def read_nodes(path: Path, facts: Facts, rejects: Rejects) -> Iterator[TripleRow]:
    """The neighbours of all nodes as triples, their features as values; names and types go to `facts`.

    Neighbours may be grouped by a number (how often a case cites another): it becomes the qualifier "count".
    What is no node, and a file that is cut off, go to `rejects`.

    Raises:
        KnowledgeError: the file cannot be read.
    """
    for kind, id_, given in _nodes(path, rejects):
        value = given if isinstance(given, dict) else {}
        features, neighbours = value.get("features"), value.get("neighbors")
        if not id_ or not isinstance(features, dict) or not isinstance(neighbours, dict):
            rejects.add(path, 0, f"{kind} {id_[:80]!r} has no {'features and neighbors' if id_ else 'id'}")
            continue
        facts.add(id_, "class", kind)
        for rank, name in enumerate(_NAMES):
            if text := _text(features.get(name)):
                facts.add(id_, "label", text, predicate=rank)
        for name, feature in features.items():
            for one in feature if isinstance(feature, list) else [feature]:
                text = _text(one)
                if len(text) > LONGEST_VALUE:
                    rejects.count("long text")
                elif text and name not in _NAMES[:2]:
                    yield id_, _text(name) or _UNNAMED, text, (), ""
        yield from _edges(id_, neighbours)


def _edges(node: str, neighbours: Mapping[str, Any]) -> Iterator[TripleRow]:
    for relation, given in neighbours.items():
        groups = given.items() if isinstance(given, dict) else [("", given)]
        for count, ids in groups:
            for other in ids if isinstance(ids, list) else [ids]:
                if text := _text(other):
                    yield node, _text(relation) or _UNNAMED, text, (("count", _text(count)),) if count else (), None


def _text(value: object) -> str:
    """A text on one line; "" for what is neither text nor number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = " ".join(str(value).split())
    # JSON may hold half a surrogate pair, a store may not.
    return text.encode("utf-8", "ignore").decode().replace("\0", "")


def _nodes(path: Path, rejects: Rejects) -> Iterator[tuple[str, str, Any]]:
    """Type, id and content of each node, as they stand in the file."""
    with open_binary(path) as stream:
        text = _Text(stream, path)
        try:
            text.take("{")
            while text.next() != "}":
                kind = _text(text.value()).removesuffix("_nodes")
                text.take("{")
                while text.next() != "}":
                    yield kind, _text(text.value()), text.value()
                text.take("}")
        except ValueError as error:
            reason = f"the graph is cut off or damaged ({error}), and what came before was used"
            rejects.add(path, 0, reason, kind="cut off")


class _Text:
    """The text of a file, some of it in memory: values and signs are taken from its beginning."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream = stream
        self._path = path
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._json = json.JSONDecoder()
        self._text = ""
        self._at = 0

    def next(self) -> str:
        """The next sign, which stays; "" at the end. What parts values and names is passed over."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def take(self, sign: str) -> None:
        """Pass over a sign; raises ValueError where another stands."""
        if (found := self.next()) != sign:
            raise ValueError(f"{sign} was expected" + (f", not {found}" if found else ""))
        self._at += 1

    def value(self) -> Any:
        """The next value; raises ValueError where none is whole."""
        self.next()
        while True:
            try:
                value, self._at = self._json.raw_decode(self._text, self._at)
            except RecursionError:
                raise ValueError("nested too deep") from None
            except ValueError as error:
                if not self._more():
                    raise ValueError(str(error).partition(":")[0]) from None
            else:
                return value

    def _more(self) -> bool:
        """Read on; False at the end. Each time as much as waits, so that a long value is not tried over and over."""
        waiting = self._text[self._at :]
        if len(waiting) > LINE_LIMIT:
            raise KnowledgeError(
                f"{self._path}: a node is longer than {LINE_LIMIT >> 20} MiB; is it a graph of GRBench?"
            )
        block = self._stream.read(max(_BLOCK, len(waiting)))
        self._text, self._at = waiting + self._decode(block, not block), 0
        return bool(block)
