"""Sends long lists to an endpoint in batches, and reads the values in its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from thinkgraph.errors import StoreError
from thinkgraph.tools.sparql.http import Bindings, RefusedError, SparqlClient
from thinkgraph.tools.sparql.terms import RdfTerm, node_of

T = TypeVar("T")

_LEAST_CUT = 500
"""Fewest rows at which a server is known to cut its answers without notice."""
_BODY = 150_000
"""Most characters of a list in one request."""


class ValuesRow(NamedTuple):
    """A row of a VALUES block."""

    number: int
    terms: tuple[str, ...]
    strict: bool = True
    """Whether every server accepts its terms."""
    weight: int = 1
    """The number of rows that the answer will have for it."""

    @property
    def values(self) -> tuple[str, ...]:
        """Its number and terms, as they stand in the block."""
        return (str(self.number), *self.terms)


class BatchedClient:
    """Sends queries about lists in batches."""

    def __init__(self, client: SparqlClient, *, batch: int, page: int) -> None:
        """Send at most `batch` rows in one request, and expect at most `page` in one answer."""
        self._client = client
        self._batch = batch
        self.page = page

    def select(self, query: str) -> list[Bindings]:
        """The solutions of one query."""
        return self._client.select(query)

    def select_all(
        self, rows: Iterable[ValuesRow], build: Callable[[Sequence[ValuesRow]], str], *, batch: int | None = None
    ) -> Iterator[Bindings]:
        """The solutions for all rows. See `select_accepted` for batches that the server refuses.

        Args:
            rows: the rows.
            build: makes the query about a batch of them.
            batch: rows in one request, if not the client's own number.
        """
        for part in self.batches(rows, batch):
            yield from self.select_accepted(part, lambda kept: self._client.select(build(kept)))

    def select_accepted(
        self, part: Sequence[ValuesRow], run: Callable[[Sequence[ValuesRow]], list[Bindings]]
    ) -> list[Bindings]:
        """The solutions for a batch. If the server refuses it, those for its rows that every server accepts."""
        try:
            return run(part)
        except RefusedError:
            kept = [row for row in part if row.strict]
            if len(kept) == len(part):
                raise
            return run(kept) if kept else []

    def batches(self, rows: Iterable[ValuesRow], batch: int | None = None) -> Iterator[list[ValuesRow]]:
        """The rows in batches whose requests and answers are short enough."""
        batch = batch or self._batch
        part: list[ValuesRow] = []
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
        self, query: Callable[[int, int], str], *, most: int | None = None, page: int | None = None, small: bool = False
    ) -> Iterator[Bindings]:
        """All solutions of a query, page by page. A server may send shorter pages than it is asked for.

        Args:
            query: makes the query for a limit and an offset.
            most: the most solutions to read; None: all.
            page: solutions of one page, if not the client's own number.
            small: whether a page that is too short to have been cut by the server is the last.

        Raises:
            StoreError: the server ignores the offset: it sends the same page again.
        """
        offset = 0
        before: list[Bindings] = []
        while most is None or offset < most:
            limit = page or self.page
            rows = self._client.select(query(limit if most is None else min(limit, most - offset), offset), page=True)
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
    return str(binding.get("value", "")) if binding else ""


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
    """The term of a variable; None if it is not bound, is a blank node, or is not a valid IRI."""
    binding = row.get(name)
    if binding is None:
        return None
    try:
        return node_of(binding)
    except (ValueError, AttributeError):
        raise StoreError(f"the SPARQL endpoint sent something that is no RDF term for ?{name}") from None
