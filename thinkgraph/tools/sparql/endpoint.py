"""Asks an endpoint about long lists, in batches and pages, and reads the values in its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from string import Template
from typing import NamedTuple, TypeVar

from thinkgraph.errors import StoreError
from thinkgraph.tools.linking.names import well_formed
from thinkgraph.tools.sparql.http import Bindings, RefusedError, SparqlClient
from thinkgraph.tools.sparql.profiles import Profile
from thinkgraph.tools.sparql.queries import TRIPLE_ORDER, filled_in
from thinkgraph.tools.sparql.terms import LANG_STRING, STRING, RdfIds, RdfTerm, valid_iri, valid_text

T = TypeVar("T")

_LEAST_CUT = 500
"""Fewest rows at which a server is known to cut its answers without notice."""
_BODY = 150_000
"""Most characters of a list in one request."""
_BLOCKS = 20
"""Most blocks joined by UNION in one request."""


class Row(NamedTuple):
    """What a query is asked about: terms, with a number that comes back with the answer."""

    number: int
    terms: tuple[str, ...]
    strict: bool = True
    """Whether every server accepts its terms."""
    weight: int = 1
    """The number of rows that the answer will have for it."""

    @classmethod
    def of(cls, number: int, *nodes: RdfTerm, weight: int = 1) -> Row:
        """A row of terms."""
        return cls(number, tuple(node.term() for node in nodes), all(node.strict for node in nodes), weight)

    def __str__(self) -> str:
        return f"({self.number} {' '.join(self.terms)})"


def rows_of(nodes: Iterable[RdfTerm]) -> list[Row]:
    """A row for each node, numbered in order."""
    return [Row.of(number, node) for number, node in enumerate(nodes)]


class Endpoint:
    """Sends the queries of one profile, about lists of any length."""

    def __init__(self, client: SparqlClient, profile: Profile, *, batch: int, page: int) -> None:
        """Send at most `batch` rows in one request, and expect at most `page` in one answer."""
        self.profile = profile
        self.ids = RdfIds(profile.node_forms, profile.relation_forms)
        self.page = page
        self._client = client
        self._batch = batch
        self._parts = filled_in(profile)
        self.longest = _LEAST_CUT
        """Rows of the longest answer to a query without LIMIT: the server does not cut a shorter one."""

    def fill(self, text: str, rows: Sequence[Row] = (), **more: object) -> str:
        """A query of `queries`, about some rows."""
        if not text.startswith("{"):
            return Template(text).substitute(self._parts, rows=" ".join(map(str, rows)), **more)
        blocks = (
            Template(text).substitute(self._parts, i=row.number, first=row.terms[0], second=row.terms[-1], **more)
            for row in rows
        )
        return f"SELECT * {{ {' UNION '.join(blocks)} }}"

    def select(self, text: str, rows: Sequence[Row] = (), **more: object) -> list[Bindings]:
        """The solutions of one query."""
        return self._client.select(self.fill(text, rows, **more))

    def select_all(
        self, text: str, rows: Iterable[Row], *, order: str = "", batch: int | None = None, **more: object
    ) -> Iterator[Bindings]:
        """The solutions for all rows, in the given order within a request of `batch` rows.

        What a server may have cut is asked for again in halves. See `select_accepted` for what it refuses.
        """

        def select(part: Sequence[Row]) -> list[Bindings]:
            query = f"{self.fill(text, part, **more)} {order}"
            found, longest = self._client.select(query), self.longest
            self.longest = max(longest, len(found))
            if len(found) < longest:
                return found
            if len(part) == 1:
                names = sorted(set(chain.from_iterable(found)))
                return list(self.pages(query if order else f"{query} ORDER BY {' '.join(f'STR(?{n})' for n in names)}"))
            half = len(part) // 2
            return select(part[:half]) + select(part[half:])

        for part in self.batches(rows, batch or (_BLOCKS if text.startswith("{") else self._batch)):
            yield from self.select_accepted(part, select)

    def select_triples(self, text: str, rows: Iterable[Row], **more: object) -> Iterator[Bindings]:
        """The triples of all rows, whose weights are their numbers.

        More than a page come in pages, and so do those of which the server sent fewer than there are.
        """

        def select(part: Sequence[Row]) -> list[Bindings]:
            query, expected = self.fill(text, part, **more), sum(row.weight for row in part)
            if expected <= self.page and len(found := self._client.select(query)) >= expected:
                return found
            return list(self.pages(f"{query} ORDER BY ?i {TRIPLE_ORDER}"))

        for part in self.batches(rows, _BLOCKS if text.startswith("{") else self._batch):
            yield from self.select_accepted(part, select)

    @staticmethod
    def select_accepted(part: Sequence[Row], run: Callable[[Sequence[Row]], list[Bindings]]) -> list[Bindings]:
        """The solutions for a batch. If the server refuses it, those for its rows that every server accepts."""
        try:
            return run(part)
        except RefusedError:
            kept = [row for row in part if row.strict]
            if len(kept) == len(part):
                raise
            return run(kept) if kept else []

    def batches(self, rows: Iterable[Row], batch: int) -> Iterator[list[Row]]:
        """The rows in batches whose requests and answers are short enough."""
        part: list[Row] = []
        size = weight = 0
        for row in rows:
            length = sum(map(len, row.terms)) + 12
            if part and (len(part) >= batch or size + length > _BODY or weight + row.weight > self.page):
                yield part
                part, size, weight = [], 0, 0
            part.append(row)
            size += length
            weight += row.weight
        if part:
            yield part

    def pages(
        self, query: str, *, most: int | None = None, page: int | None = None, small: bool = False
    ) -> Iterator[Bindings]:
        """All solutions of a query, page by page. A server may send shorter pages than it is asked for.

        Args:
            query: the query, which orders its solutions.
            most: the most solutions to read; None: all.
            page: solutions of one page, if not the endpoint's own number.
            small: whether a page that is too short to have been cut by the server is the last.

        Raises:
            StoreError: the server ignores the offset: it sends the same page again.
        """
        offset = 0
        before: list[Bindings] = []
        page = page or self.page
        while most is None or offset < most:
            limit = page if most is None else min(page, most - offset)
            rows = self._client.select(f"{query} LIMIT {limit} OFFSET {offset}", page=True)
            if not rows:
                return
            if rows == before:
                raise StoreError(
                    "the SPARQL endpoint sends the same rows whatever the OFFSET, so that long answers cannot be read in "
                    "pages; a larger page=, or names=server for the names, asks for fewer"
                )
            yield from rows
            before = rows
            offset += len(rows)
            if small and len(rows) < _LEAST_CUT:
                return


def text_in(row: Bindings, name: str) -> str:
    """The text of a variable; "" if it is not bound."""
    binding = row.get(name)
    return well_formed(str(binding.get("value", ""))) if binding else ""


def number_in(row: Bindings, name: str) -> int:
    """The number of a variable.

    Raises:
        StoreError: it is not a number.
    """
    text = text_in(row, name)
    try:
        return int(text) if text.lstrip("+-").isdecimal() else int(float(text))
    except (ValueError, OverflowError):
        raise StoreError(f"the SPARQL endpoint sent {text[:40]!r} where ?{name} is a number") from None


def item_in(row: Bindings, items: Sequence[T]) -> T:
    """The item that a row is about, by its number ?i.

    Raises:
        StoreError: there is no such item.
    """
    number = number_in(row, "i")
    if not 0 <= number < len(items):
        raise StoreError(f"the SPARQL endpoint sent the number {number}, which was not asked about")
    return items[number]


def node_in(row: Bindings, name: str) -> RdfTerm | None:
    """The term of a variable; None if it is not bound, is a blank node or a triple term, or cannot stand in a query.

    Raises:
        StoreError: it is none of these.
    """
    binding = row.get(name)
    if binding is None or binding.get("type") == "triple":
        return None
    kind, value = binding.get("type"), binding.get("value")
    if kind not in {"uri", "literal", "typed-literal", "bnode"} or not isinstance(value, str):
        raise StoreError(f"the SPARQL endpoint sent something that is no RDF term for ?{name}")
    if kind in {"uri", "bnode"}:
        return RdfTerm(value) if kind == "uri" and valid_iri(value) else None
    if not valid_text(value):
        return None
    datatype, language = binding.get("datatype") or "", binding.get("xml:lang") or ""
    if language or datatype in (STRING, LANG_STRING):
        datatype = ""
    return RdfTerm(value, literal=True, datatype=datatype, language=language)
