"""The protocols of the knowledge interface: `GraphStore`, `TextStore`, `Ranker`, `Embedder`, `Linker`.

Each has a conformance suite in `thinkgraph.testing.conformance`.

Every method takes a LIST and costs ONE logical round trip, however long the list: a store may page or chunk inside, but
never asks once per item. All methods are blocking (the async driver runs them in threads), must be safe to call from
several threads at once, never write, and return results in the order of their arguments. Unknown ids are no error.
A store that cannot be reached raises `thinkgraph.errors.StoreError`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, Self, get_type_hints, runtime_checkable

from typing_extensions import get_protocol_members

from thinkgraph.errors import StoreError
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.knowledge import (
    Entity,
    GraphInfo,
    Link,
    Match,
    Neighbours,
    Passage,
    PassageHit,
    Relation,
    Step,
    TextInfo,
    Triple,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError


class Closing:
    """What the end of a `with` block closes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up what is held open; what is asked for afterwards fails."""
        raise NotImplementedError


@contextmanager
def closed_on_error(close: Callable[[], object]) -> Iterator[None]:
    """Close what was opened before the block where the block fails."""
    try:
        yield
    except BaseException:
        close()
        raise


@runtime_checkable
class GraphStore(Protocol):
    """A read-only knowledge graph. Queries are fixed and parameterised; no model ever writes one."""

    def info(self) -> GraphInfo:
        """Name, fingerprint and counts; cheap (no scan of the data)."""

    def lookup(self, names: Sequence[str], *, limit: int = 10) -> list[list[Match]]:
        """Entities whose label (`exact`) or alias (`alias`) equals each name, both in normal form: Unicode
        NFKC (so width does not count), case folded, white space collapsed; accents count. Labels before aliases, then by number of triples
        (most first), then by id. At most `limit` per name. Literals are not returned.
        """

    def search(self, texts: Sequence[str], *, limit: int = 10, fuzzy: bool = False) -> list[list[Match]]:
        """Entities whose names share words with each text (`fulltext`), best first; with `fuzzy`, names that are spelt
        like the whole text (`fuzzy`, trigram or edit similarity). Scores in (0, 1). Literals are not returned.
        """

    def entities(self, ids: Sequence[str]) -> list[Entity | None]:
        """The entities (or literal nodes) with these ids; None for an id the store does not have."""

    def triples(self, ids: Sequence[str]) -> list[Triple | None]:
        """The triples with these ids; None for an id the store does not have."""

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        """The kinds of edges at each entity, both directions, with counts; by count (fewest first), then name and
        direction. A hub costs the same as a leaf. An unknown id gives an empty list.
        """

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """The triples of each (entity, relation, direction), at most `limit` each. Where there are more, a sample that
        depends only on the store's content, the step, `limit` and `seed`; otherwise all, in the store's order.
        """

    def neighbourhood(self, ids: Sequence[str], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """All triples that touch each entity, in either direction, at most `limit` each, sampled as in `neighbours`."""

    def edges_among(self, ids: Sequence[str], *, limit: int = 10_000) -> list[Triple]:
        """The triples whose two ends are both in `ids` (the induced subgraph), each once, at most `limit`."""


@runtime_checkable
class TextStore(Protocol):
    """Passages about entities. The store embeds queries itself, with the model its vectors were made with."""

    def info(self) -> TextInfo:
        """Name, fingerprint and counts; cheap."""

    def passages(self, ids: Sequence[str]) -> list[Passage | None]:
        """The passages with these ids; None for an id the store does not have."""

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        """The `limit` passages nearest to `query` among those of the given entities, best first, each once. Exact, unless
        there are so many that encoding them all would take long: then those that share most words with `query` are ranked.
        """

    def search(self, queries: Sequence[str], *, limit: int = 10) -> list[list[PassageHit]]:
        """The `limit` passages of the whole store nearest to each query, best first (approximate search is allowed)."""


@runtime_checkable
class CandidateStore(TextStore, Protocol):
    """A text store that gives passages to be ranked by its caller. Optional: of another one the nearest are taken."""

    def candidates_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[Passage]:
        """At most `limit` passages of the given entities, those first that are likely to fit `query`, each once. Of passages that nobody
        has encoded none is encoded for it.
        """


def candidates_of(store: TextStore, entities: Sequence[str], query: str, *, limit: int) -> list[Passage]:
    """Passages of entities for a caller that ranks them, in no order that is sure; see `CandidateStore.candidates_of`."""
    if hasattr(store, "candidates_of"):
        found: list[Passage] = call_checked(CandidateStore, store, "candidates_of", entities, query, limit=limit)
        return found
    return [hit["passage"] for hit in call_checked(TextStore, store, "passages_of", entities, query, limit=limit)]


@runtime_checkable
class Ranker(Protocol):
    """Scores texts against a query (ToG-2 section 3.2.2, equation 5)."""

    name: str
    """Short name for traces and the run manifest ("dense:all-MiniLM-L6-v2")."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, each >= 0, higher is more relevant; same arguments, same scores."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of one length, normalised to unit length."""

    name: str
    """Identifies the model; vectors of different names are never compared."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text. An empty list gives an empty list."""


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that reads a query otherwise than the texts it is compared with, as many retrieval models do. Optional:
    another one reads both alike.
    """

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """As `embed`, of queries."""


@runtime_checkable
class Linker(Protocol):
    """Finds the entities that texts mention (entity linking)."""

    def link(self, texts: Sequence[str], *, limit: int = 20) -> list[list[Link]]:
        """Scored candidates for each text, which may be a whole question or a bare mention; best first, at most
        `limit`. Longest exact and alias mentions first, then full text, fuzzy and vector for what they leave open.
        """


@runtime_checkable
class NameLinker(Linker, Protocol):
    """A linker that can be asked for names alone. Optional: of another one's links, those by meaning are left out."""

    def link_names(self, texts: Sequence[str], *, limit: int = 20, guess: bool = False) -> list[list[Link]]:
        """As `link`, by names and aliases only, with every namesake up to `limit`; with `guess` by full text and spelling
        too. No encoder is loaded for it.
        """


def link_by_name(linker: Linker, texts: Sequence[str], *, limit: int, guess: bool = False) -> list[list[Link]]:
    """Links by name and alias, with `guess` by words and spelling too; never by meaning. See `NameLinker.link_names`."""
    if hasattr(linker, "link_names"):
        found: list[list[Link]] = call_checked(NameLinker, linker, "link_names", texts, limit=limit, guess=guess)
        return found
    wanted = {"exact", "alias", "fulltext", "fuzzy"} if guess else {"exact", "alias"}
    every = call_checked(Linker, linker, "link", texts, limit=limit)
    return [[link for link in links if link["method"] in wanted] for links in every]


_ALTOGETHER = frozenset({"passages_of", "candidates_of", "edges_among"})
"""Methods that give one list for all that they are asked; the others one result for each."""


def call_checked(protocol: type, thing: Any, method: str, asked: Sequence[Any], *arguments: Any, **options: Any) -> Any:
    """Call a method of a store or linker, and look at what one that is not ours gives: ours have passed their suites.

    Raises:
        StoreError: the result is not what the protocol promises; it says where.
    """
    found = getattr(thing, method)(asked, *arguments, **options)
    if type(thing).__module__.startswith("thinkgraph."):
        return found
    from pydantic import ValidationError

    try:
        given = form_of(protocol, method).validate_python(found)
    except ValidationError as error:
        fault = misfit(error)
    else:
        if method in _ALTOGETHER or len(given) == len(asked):
            return given
        fault = f"{len(given)} results for {len(asked)} asked"
    raise StoreError(
        f"{type(thing).__name__}.{method} does not give what {protocol.__name__} promises: {fault}; "
        "test it with thinkgraph.testing.conformance"
    )


def misfit(error: ValidationError, *within: str) -> str:
    """The first place that does not have its form, and what stands there."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = one_line(".".join(map(str, (*within, *first["loc"])))) or "all of it"
    return f"'{where}': {one_line(first['msg'])} (it is {one_line(repr(first['input']))[:80]})"


@functools.cache
def form_of(protocol: type, method: str) -> TypeAdapter[Any]:
    """What a method of a protocol promises to give."""
    from pydantic import TypeAdapter

    return TypeAdapter(get_type_hints(getattr(protocol, method))["return"])


def lacking(thing: object, protocol: type) -> list[str]:
    """The members of a protocol that a thing lacks."""
    return sorted(name for name in get_protocol_members(protocol) if not hasattr(thing, name))
