"""Finds entities by name: in a local index of all names, or by queries to the server."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.tools.linking.names import key_label, normal_name, words
from thinkgraph.tools.openers import WRITERS
from thinkgraph.tools.sparql.batches import BatchedClient, ValuesRow, item_in, node_in, text_in
from thinkgraph.tools.sparql.http import Bindings
from thinkgraph.tools.sparql.queries import Queries, values
from thinkgraph.tools.sparql.terms import RdfTerm, literal, string

if TYPE_CHECKING:
    from thinkgraph.state.knowledge import Entity, Match
    from thinkgraph.tools.sparql.profiles import Names, Profile, Search
    from thinkgraph.tools.sparql.terms import RdfIds
    from thinkgraph.tools.sqlite.graph import SqliteGraphStore

_LONGEST_NAME = 300
_NAMESAKES = 50
"""Namesakes that are ordered by their number of triples; the index has them in the order of ids."""
_SPELLINGS = 2_000
"""Spellings of names in one request."""
_PAGES = 10
"""Pages read in one request: the server sorts all names for each request."""
_TEXTS = 10
_SEARCHED_WORDS = 8
_SMALL = " a an and at by de der des di du for from in la le les of on or the to und van von y "
_FORMAT = 1
_UNFIT = re.compile("[\0\ud800-\udfff]")
_log = logging.getLogger(__name__)


class NameFinder:
    """Looks names up for a store."""

    def __init__(
        self,
        batched: BatchedClient,
        queries: Queries,
        profile: Profile,
        ids: RdfIds,
        *,
        where: Names,
        search: Search,
        max_names: int,
        entities: Callable[[Sequence[str]], list[Entity | None]],
        degrees: Callable[[Sequence[str]], dict[str, int]],
        any_labels: Callable[[Sequence[str]], dict[str, str]],
        version: Callable[[], str],
    ) -> None:
        """Look names up in an index of our own, or by the server.

        Args:
            batched: sends the queries.
            queries: their texts.
            profile: how the graph is written.
            ids: the store's ids.
            where: see `SparqlGraphStore`, as the next two.
            search: the server's full-text search.
            max_names: the most names that an index is made of.
            entities: the store's entities, by their ids.
            degrees: how much there is about entities, to order namesakes by.
            any_labels: labels of IRIs in any language.
            version: the store's fingerprint; an index is made for each.
        """
        self._batched = batched
        self._queries = queries
        self._profile = profile
        self._ids = ids
        self._where = where
        self._search = search
        self._most = max_names
        self._store_entities = entities
        self._degrees = degrees
        self._any_labels = any_labels
        self._version = version
        self._lock = threading.Lock()
        self._index: SqliteGraphStore | None = None

    def close(self) -> None:
        """Close the local index."""
        with self._lock:
            if self._index is not None:
                self._index.close()

    def notes(self) -> list[str]:
        """What cannot be found by name, in one line each."""
        if self._where == "local":
            return []
        by_words = (
            "by no full-text search (search=)"
            if self._search == "none"
            else f"by the server's full-text search ({self._search})"
        )
        return [
            (
                f"names are looked up by the server: as written, in lower or upper case, with a capital, as a title; {by_words}; "
                "misspelt ones are not found (names=local reads all names once)"
            )
        ]

    # ---- what the protocol asks -----------------------------------------------------------------------------------

    def lookup(self, names: Sequence[str], limit: int) -> list[list[Match]]:
        """Entities whose name equals each name."""
        asked = dict.fromkeys(normal for name in names if (normal := normal_name(name)))
        found: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in asked}
        if self._where == "local":
            index = self._local()
            for name, matches in zip(asked, index.lookup(list(asked), limit=max(limit, _NAMESAKES)), strict=True):
                for match in matches:
                    found[name][match["entity"]["id"]] = (match["method"], match["name"])
        else:
            written = {normal_name(name): name for name in reversed(names)}
            self._served({name: written[name] for name in asked}, found)
        self._by_id(names, found)
        several = {id_ for hits in found.values() if len(hits) > 1 for id_ in hits}
        degrees = self._degrees(sorted(several)) if several else {}
        chosen: dict[str, list[tuple[str, str, str]]] = {}
        for name, hits in found.items():
            rows = [(method, id_, text) for id_, (method, text) in hits.items()]
            rows.sort(key=lambda row: (row[0] != "exact", -degrees.get(row[1], 0), row[1]))
            chosen[name] = rows[: max(limit, 0)]
        entities = self._entities([id_ for rows in chosen.values() for _, id_, _ in rows])
        out: list[list[Match]] = []
        for name in names:
            rows = chosen.get(normal_name(name), [])
            out.append(
                [
                    {
                        "entity": entities[id_].copy(),
                        "name": text,
                        "method": "exact" if method == "exact" else "alias",
                        "score": 1.0,
                    }
                    for method, id_, text in rows
                    if id_ in entities
                ]
            )
        return out

    def search(self, texts: Sequence[str], limit: int, *, fuzzy: bool) -> list[list[Match]]:
        """Entities whose names share words with each text, or are spelt like it."""
        if not texts or limit < 1:
            return [[] for _ in texts]
        if self._where == "local":
            found = self._local().search(texts, limit=limit, fuzzy=fuzzy)
        elif fuzzy or self._search == "none":
            return [[] for _ in texts]
        else:
            return self._searched(texts, limit)
        entities = self._entities([match["entity"]["id"] for matches in found for match in matches])
        return [
            [
                {**match, "entity": entities[id_].copy()}
                for match in matches
                if (id_ := match["entity"]["id"]) in entities
            ]
            for matches in found
        ]

    def _entities(self, ids: Sequence[str]) -> dict[str, Entity]:
        return {one["id"]: one for one in self._store_entities(list(dict.fromkeys(ids))) if one is not None}

    def _by_id(self, names: Sequence[str], found: dict[str, dict[str, tuple[str, str]]]) -> None:
        """Add the entities whose id or IRI is given as a name. The store tells later whether they exist."""
        for name in names:
            text = name.strip()
            node = self._ids.node(text) or (
                RdfTerm(text) if text.startswith(("http://", "https://")) and self._ids.node(text) else None
            )
            if node is not None and not node.literal and node.value.startswith(self._profile.entity_start):
                found[normal_name(name)].setdefault(self._ids.node_id(node), ("alias", text))

    # ---- the server's own look-up ---------------------------------------------------------------------------------

    def _served(self, names: dict[str, str], found: dict[str, dict[str, tuple[str, str]]]) -> None:
        wanted = list(names)
        rows: list[ValuesRow] = []
        for number, name in enumerate(wanted):
            if len(name) <= _LONGEST_NAME and not _UNFIT.search(names[name]):
                texts = dict.fromkeys((*spellings(names[name]), name))
                rows += [
                    ValuesRow(number, (literal(text, language=language),))
                    for text in texts
                    for language in (*self._queries.languages, "")
                ]

        def select(part: Sequence[ValuesRow]) -> list[Bindings]:
            page = self._batched.page
            answer = self._batched.select(self._queries.named(values("?i ?t", (row.values for row in part)), page))
            if len(answer) < page or len(part) == 1:
                return answer
            # Names of very many things would push others out of the answer.
            half = len(part) // 2
            return select(part[:half]) + select(part[half:])

        for part in self._batched.batches(rows, _SPELLINGS):
            for row in select(part):
                name, node, text = item_in(row, wanted), node_in(row, "e"), text_in(row, "t")
                if node is None or node.literal or normal_name(text) != name:
                    continue
                method = "exact" if text_in(row, "q") in self._profile.labels else "alias"
                if method == "exact" or self._ids.node_id(node) not in found[name]:
                    found[name][self._ids.node_id(node)] = (method, text)

    def _searched(self, texts: Sequence[str], limit: int) -> list[list[Match]]:
        rows = [
            ValuesRow(number, (" ".join(said[:_SEARCHED_WORDS]),))
            for number, text in enumerate(texts)
            if (said := words(text[:_LONGEST_NAME]))
        ]
        hits: list[dict[str, str]] = [{} for _ in texts]
        for part in self._batched.batches(rows, _TEXTS):
            blocks = (f"{{ {self._search_block(row, limit)} }}" for row in part)
            query = f"SELECT ?i ?e ?t ?rank {{ {' UNION '.join(blocks)} }} ORDER BY ?i ?rank ?e"
            try:
                answer = self._batched.select(query)
            except StoreError as error:
                raise StoreError(
                    f"{error}; if it has no full-text search of that kind ({self._search}), open it with search=none"
                ) from None
            for row in answer:
                node = node_in(row, "e")
                if node is not None and not node.literal and node.value.startswith(self._profile.entity_start):
                    item_in(row, hits).setdefault(self._ids.node_id(node), text_in(row, "t"))
        entities = self._entities([id_ for one in hits for id_ in one])
        return [
            [
                {
                    "entity": entities[id_].copy(),
                    "name": name or entities[id_]["label"],
                    "method": "fulltext",
                    "score": round(0.9 / (1 + rank), 6),
                }
                for rank, (id_, name) in enumerate(list(one.items())[:limit])
                if id_ in entities
            ]
            for one in hits
        ]

    def _search_block(self, row: ValuesRow, limit: int) -> str:
        """A group that binds ?i, ?e and perhaps ?t and ?rank. The words are letters and digits only."""
        said = row.terms[0]
        label = f"<{self._profile.labels[0]}>"
        language = self._queries.languages[0]
        if self._search == "entitysearch":
            return (
                f"BIND({row.number} AS ?i) SERVICE <http://wikiba.se/ontology#mwapi> {{ "
                '<http://www.bigdata.com/rdf#serviceParam> <http://wikiba.se/ontology#endpoint> "www.wikidata.org" ; '
                '<http://wikiba.se/ontology#api> "EntitySearch" ; '
                f"<https://www.mediawiki.org/ontology#API/search> {string(said)} ; "
                f"<https://www.mediawiki.org/ontology#API/language> {string(language)} ; "
                f"<http://wikiba.se/ontology#limit> {limit:d} . "
                "?e <http://wikiba.se/ontology#apiOutputItem> <https://www.mediawiki.org/ontology#API/item> . "
                "?rank <http://wikiba.se/ontology#apiOrdinal> true . }"
            )
        if self._search == "bif":
            wanted = " AND ".join(f"'{word}'" for word in said.split())
            inner = f"?e {label} ?t . ?t <bif:contains> {string(wanted)} ."
        else:
            inner = f"(?e ?score ?t) <http://jena.apache.org/text#query> ({label} {string(said)} {limit:d}) ."
        return (
            f"SELECT ({row.number} AS ?i) ?e ?t (STRLEN(STR(?t)) AS ?rank) {{ {inner} FILTER(isIRI(?e)) }} "
            f"ORDER BY STRLEN(STR(?t)) ?e LIMIT {limit:d}"
        )

    # ---- the local index ------------------------------------------------------------------------------------------

    def _local(self) -> SqliteGraphStore:
        from thinkgraph.tools.cache import cache_folder, file_lock
        from thinkgraph.tools.sqlite.graph import SqliteGraphStore

        with self._lock:
            if self._index is None:
                key = json.dumps([_FORMAT, self._version(), self._queries.languages, self._profile.name, self._most])
                folder = cache_folder("sparql", hashlib.blake2b(key.encode(), digest_size=12).hexdigest())
                path = folder / "names.sqlite"
                with file_lock(folder.with_name(f"{folder.name}.lock"), timeout=3600):
                    if not path.exists():
                        self._write(folder, path)
                    self._index = SqliteGraphStore(path)
            return self._index

    def _write(self, folder: Path, path: Path) -> None:
        """Read all names and index them; the file appears whole or not at all."""
        _log.info("reading the names of %s entities into %s", self._profile.name, folder)
        labels: dict[str, str] = {}
        aliases: dict[str, list[str]] = {}
        for id_, kind, text in self._all_names():
            if kind == "l" and id_ not in labels:
                labels[id_] = text
            elif text != labels.get(id_):
                aliases.setdefault(id_, []).append(text)
            if len(labels) + len(aliases) > self._most:
                raise KnowledgeError(
                    f"the endpoint has more than {self._most:,} names: open it with names=server, or raise max_names="
                )
        part = path.with_suffix(".part")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            WRITERS["names"](part, labels, aliases)
            part.replace(path)
        except OSError as error:
            raise KnowledgeError(f"cannot write the cache {folder} ({error.strerror}): set THINKGRAPH_CACHE") from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def _all_names(self) -> Iterator[tuple[str, str, str]]:
        """Id, kind (l: label, a: alias) and text of every entity's names, its label first."""
        ranks = {language: rank for rank, language in enumerate((*self._queries.languages, ""))}
        page = _PAGES * self._batched.page

        def id_of(row: Bindings) -> str:
            node = node_in(row, "e")
            return self._ids.node_id(node) if node is not None and not node.literal else ""

        for id_, rows in groupby(self._batched.pages(self._queries.all_names, page=page), key=id_of):
            # Predicates come before languages, as in labels.
            names = sorted(
                (kind[:1] == "a", int(kind[1:] or 0), ranks.get(text_in(row, "l"), len(ranks)), text)
                for row in rows
                if (kind := text_in(row, "k")) and id_ and (text := " ".join(text_in(row, "v").split()))
            )
            yield from ((id_, "a" if alias or n else "l", text) for n, (alias, _, _, text) in enumerate(names))
        rest = self._batched.pages(self._queries.unnamed, page=page, small=True)
        unnamed = (node.value for row in rest if (node := node_in(row, "e")) is not None and not node.literal)
        while part := list(islice(unnamed, self._batched.page)):
            labels = self._any_labels(part)
            yield from ((self._ids.node_id(RdfTerm(one)), "l", labels.get(one) or key_label(one)) for one in part)


def spellings(name: str) -> list[str]:
    """Usual spellings of a name: as it is, in lower case, in upper case, with a capital, as a title."""
    plain = " ".join(unicodedata.normalize("NFKC", name).split())
    lower = plain.lower()
    title = " ".join(word[:1].upper() + word[1:] for word in lower.split(" "))
    small = " ".join(
        word if number and f" {word} " in _SMALL else word[:1].upper() + word[1:]
        for number, word in enumerate(lower.split(" "))
    )
    ways = (" ".join(name.split()), plain, lower, plain.upper(), lower[:1].upper() + lower[1:], title, small)
    return list(dict.fromkeys(way for way in ways if way))
