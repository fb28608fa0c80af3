"""Finds entities by name: in a local index of all names, or by queries to the server."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby, islice
from pathlib import Path

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.state.knowledge import LinkMethod
from thinkgraph.tools.cache import cache_folder, file_lock
from thinkgraph.tools.linking.names import folded_words, key_label, lowered, normal_name, spellings
from thinkgraph.tools.openers import WRITERS
from thinkgraph.tools.sparql.describing import Describer
from thinkgraph.tools.sparql.endpoint import Endpoint, Row, item_in, node_in, rows_of, text_in
from thinkgraph.tools.sparql.http import Bindings
from thinkgraph.tools.sparql.queries import ALL_NAMES, NAMED, UNNAMED
from thinkgraph.tools.sparql.terms import RdfTerm, string, tag_forms
from thinkgraph.tools.sqlite.graph import SqliteGraphStore

Hit = tuple[str, str, LinkMethod, float]
"""An entity's id, the name that matched ("" if it is not known), how it matched, and its score."""

_LONGEST_NAME = 300
_NAMESAKES = 50
"""Namesakes that are ordered by their number of triples; the index has them in the order of ids."""
_SPELLINGS = 2_000
"""Spellings of names in one request."""
_PAGES = 10
"""Pages read in one request: the server sorts all names for each request."""
_SEARCHED_WORDS = 8
_FORMAT = 2
_UNFIT = re.compile("[\0\ud800-\udfff]")
_log = logging.getLogger(__name__)

_SHORTEST = "FILTER(isIRI(?e)) } ORDER BY STRLEN(STR(?t)) ?e LIMIT $limit }"
_SEARCHES = {
    "entitysearch": (
        "{ BIND($i AS ?i) SERVICE <http://wikiba.se/ontology#mwapi> { "
        '<http://www.bigdata.com/rdf#serviceParam> <http://wikiba.se/ontology#endpoint> "www.wikidata.org" ; '
        '<http://wikiba.se/ontology#api> "EntitySearch" ; '
        "<https://www.mediawiki.org/ontology#API/search> $first ; "
        "<https://www.mediawiki.org/ontology#API/language> $language ; "
        "<http://wikiba.se/ontology#limit> $limit . "
        "?e <http://wikiba.se/ontology#apiOutputItem> <https://www.mediawiki.org/ontology#API/item> . "
        "?rank <http://wikiba.se/ontology#apiOrdinal> true . } }"
    ),
    "bif": (
        "{ SELECT ($i AS ?i) ?e ?t (STRLEN(STR(?t)) AS ?rank) { "
        f"?e $label ?t . ?t <bif:contains> $first . {_SHORTEST}"
    ),
    "jena": (
        "{ SELECT ($i AS ?i) ?e ?t (STRLEN(STR(?t)) AS ?rank) { "
        f"(?e ?score ?t) <http://jena.apache.org/text#query> ($label $first $limit) . {_SHORTEST}"
    ),
}
"""Full-text searches: each binds ?e, perhaps ?t, and ?rank. The words in $first are letters and digits only."""


class NameFinder:
    """Looks names up for a store: in an index of our own, or by the server, as the profile says."""

    def __init__(self, endpoint: Endpoint, describer: Describer, version: Callable[[], str]) -> None:
        """`version` gives the store's fingerprint; an index is made for each."""
        self._endpoint = endpoint
        self._describer = describer
        self._profile = endpoint.profile
        self._ids = endpoint.ids
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
        if self._profile.names == "local":
            return []
        search = self._profile.search
        by_words = (
            "by no full-text search (search=)" if search == "none" else f"by the server's full-text search ({search})"
        )
        return [
            (
                f"names are looked up by the server: as written, in lower or upper case, with a capital, as a title; "
                f"in a region of a language where it is asked for (language=en,en-US); {by_words}; "
                "misspelt ones are not found (names=local reads all names once)"
            )
        ]

    def find(self, names: Sequence[str], limit: int) -> dict[str, dict[str, tuple[LinkMethod, str]]]:
        """By each name's normal form the ids of the entities so called, with method and name; an id counts as an alias.

        Whether an id exists is not asked.
        """
        found: dict[str, dict[str, tuple[LinkMethod, str]]] = {name: {} for name in map(normal_name, names) if name}
        if self._profile.names == "local":
            matched = self._local().lookup(list(found), limit=max(limit, _NAMESAKES))
            for hits, matches in zip(found.values(), matched, strict=True):
                hits.update({match["entity"]["id"]: (match["method"], match["name"]) for match in matches})
        else:
            self._ask_server({normal_name(name): name for name in reversed(names)}, found)
        for name in names:
            text = name.strip()
            node = self._ids.node(text)
            if node is not None and not node.literal and node.value.startswith(self._profile.entity_start):
                found[normal_name(name)].setdefault(text, ("alias", text))
        return found

    def search(self, texts: Sequence[str], limit: int, *, fuzzy: bool) -> list[list[Hit]]:
        """Entities whose names share words with each text, or are spelt like it."""
        if self._profile.names == "local":
            found = self._local().search(texts, limit=limit, fuzzy=fuzzy)
            return [
                [(match["entity"]["id"], match["name"], match["method"], match["score"]) for match in matches]
                for matches in found
            ]
        if fuzzy or self._profile.search == "none":
            return [[] for _ in texts]
        return self._search_server(texts, limit)

    # ---- the server's own look-up ---------------------------------------------------------------------------------

    def _ask_server(self, written: dict[str, str], found: dict[str, dict[str, tuple[LinkMethod, str]]]) -> None:
        languages = dict.fromkeys(form for tag in (*self._profile.languages, "") for form in tag_forms(tag))
        rows = rows_of(
            RdfTerm(text, literal=True, language=language)
            for name in found
            if len(name) <= _LONGEST_NAME and not _UNFIT.search(written[name])
            for text in dict.fromkeys((*spellings(written[name]), name))
            for language in languages
        )

        def select(part: Sequence[Row]) -> list[Bindings]:
            page = self._endpoint.page
            # Without numbers: beside them Virtuoso finds no literal with a language.
            answer = self._endpoint.select(NAMED, texts=" ".join(row.terms[0] for row in part), limit=page)
            if len(answer) < min(page, self._endpoint.longest) or len(part) == 1:
                return answer
            # Names of very many things would push others out of the answer, which the server may cut, too.
            half = len(part) // 2
            return select(part[:half]) + select(part[half:])

        for part in self._endpoint.batches(rows, _SPELLINGS):
            for row in select(part):
                node, text = node_in(row, "e"), text_in(row, "t")
                name = normal_name(text)
                if node is None or node.literal or name not in found:
                    continue
                id_ = self._ids.node_id(node)
                if text_in(row, "q") in self._profile.labels:
                    found[name][id_] = ("exact", text)
                else:
                    found[name].setdefault(id_, ("alias", text))

    def _search_server(self, texts: Sequence[str], limit: int) -> list[list[Hit]]:
        search, rows = self._profile.search, []
        for number, text in enumerate(texts):
            # With their accents: a server's index has the words as they are written.
            if said := folded_words(lowered(text[:_LONGEST_NAME]))[:_SEARCHED_WORDS]:
                query = " AND ".join(f"'{word}'" for word in said) if search == "bif" else " ".join(said)
                rows.append(Row.of(number, RdfTerm(query, literal=True)))
        language = string(self._profile.languages[0])
        found = self._endpoint.select_all(
            _SEARCHES[search], rows, order="ORDER BY ?i ?rank ?e", limit=limit, language=language
        )
        hits: list[dict[str, str]] = [{} for _ in texts]
        try:
            for row in found:
                node = node_in(row, "e")
                if node is not None and not node.literal and node.value.startswith(self._profile.entity_start):
                    item_in(row, hits).setdefault(self._ids.node_id(node), text_in(row, "t"))
        except StoreError as error:
            raise StoreError(
                f"{error}; if it has no full-text search of that kind ({search}), open it with search=none"
            ) from None
        return [
            [(id_, name, "fulltext", round(0.9 / (1 + rank), 6)) for rank, (id_, name) in enumerate(one.items())][
                :limit
            ]
            for one in hits
        ]

    # ---- the local index ------------------------------------------------------------------------------------------

    def _local(self) -> SqliteGraphStore:
        with self._lock:
            if self._index is None:
                profile = self._profile
                key = json.dumps([_FORMAT, self._version(), profile.languages, profile.name, profile.max_names])
                folder = cache_folder("sparql", hashlib.blake2b(key.encode(), digest_size=12).hexdigest())
                path = folder / "names.sqlite"
                with file_lock(folder.with_name(f"{folder.name}.lock"), timeout=3600):
                    try:
                        if not path.exists():
                            self._write(folder, path)
                    except StoreError as error:
                        raise StoreError(f"{error}; if it cannot list all names, open it with names=server") from None
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
            if len(labels) + len(aliases) > self._profile.max_names:
                raise KnowledgeError(
                    f"the endpoint has more than {self._profile.max_names:,} names: open it with names=server, or raise max_names="
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
        page = _PAGES * self._endpoint.page

        def id_of(row: Bindings) -> str:
            node = node_in(row, "e")
            return self._ids.node_id(node) if node is not None and not node.literal else ""

        for id_, rows in groupby(self._endpoint.pages(self._endpoint.fill(ALL_NAMES), page=page), key=id_of):
            # Predicates come before languages, as in labels.
            names = sorted(
                (kind[:1] == "a", int(kind[1:] or 0), self._profile.language_rank(text_in(row, "l")), text)
                for row in rows
                if (kind := text_in(row, "k")) and id_ and (text := " ".join(text_in(row, "v").split()))
            )
            yield from ((id_, "a" if alias or n else "l", text) for n, (alias, _, _, text) in enumerate(names))
        rest = self._endpoint.pages(self._endpoint.fill(UNNAMED), page=page, small=True)
        unnamed = (node.value for row in rest if (node := node_in(row, "e")) is not None and not node.literal)
        while part := list(islice(unnamed, self._endpoint.page)):
            labels = self._describer.any_labels(part)
            yield from ((self._ids.node_id(RdfTerm(one)), "l", labels.get(one) or key_label(one)) for one in part)
