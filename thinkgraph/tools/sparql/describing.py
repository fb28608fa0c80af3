"""Labels, classes and descriptions of nodes, in the preferred languages."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cachetools import TTLCache

from thinkgraph.tools.linking.names import key_label, relation_label, well_formed
from thinkgraph.tools.sparql.batches import BatchedClient, ValuesRow, item_in, node_in, text_in
from thinkgraph.tools.sparql.profiles import Profile
from thinkgraph.tools.sparql.queries import Queries, values
from thinkgraph.tools.sparql.terms import XSD, RdfTerm, iri, strict_iri
from thinkgraph.tools.values import point_text, time_text

_CACHED, _SECONDS = 50_000, 3_600.0
_DESCRIPTION_LENGTH = 160
_NAMES = {f"{XSD}dateTime", f"{XSD}date"}


class Description(NamedTuple):
    """Label, class and description of an IRI."""

    label: str
    """"" if it has none in any language."""
    type: str
    description: str


class Describer:
    """Reads labels, classes and descriptions. Labels are cached for an hour."""

    def __init__(self, batched: BatchedClient, queries: Queries, profile: Profile) -> None:
        self._batched = batched
        self._queries = queries
        self._profile = profile
        self._labels: TTLCache[str, str] = TTLCache(_CACHED, _SECONDS)
        self._lock = threading.Lock()
        self._kinds = {
            iri_: (kind, rank)
            for kind, predicates in (("d", profile.descriptions), ("l", profile.labels), ("t", profile.types))
            for rank, iri_ in enumerate(predicates)
        }
        self._ranks = {language: rank for rank, language in enumerate((*queries.languages, ""))}

    def facts(self, iris: Iterable[str]) -> dict[str, Description]:
        """Label, class and description of each IRI."""
        asked = list(dict.fromkeys(iris))
        texts, classes = self._read(asked, full=True)
        kinds = {one: min(found, key=lambda kind: (len(kind), kind)) for one, found in classes.items()}
        labels = self.labels(kinds.values())
        found = {}
        for one in asked:
            description = _best(texts.get((one, "d"), []))
            found[one] = Description(
                _best(texts.get((one, "l"), [])), labels.get(kinds.get(one, ""), ""), _one_line(description)
            )
        bare = [one for one, facts in found.items() if not facts.label]
        for one, label in self.any_labels(bare).items():
            found[one] = found[one]._replace(label=label)
        with self._lock:
            self._labels.update({one: facts.label for one, facts in found.items()})
        return found

    def labels(self, iris: Iterable[str]) -> dict[str, str]:
        """The label of each IRI: in a preferred language, else in any language, else the last part of the IRI."""
        asked = list(dict.fromkeys(iris))
        with self._lock:
            found = {one: label for one in asked if (label := self._labels.get(one)) is not None}
        missing = [one for one in asked if one not in found]
        if missing:
            texts, _ = self._read(missing, full=False)
            fresh = {one: _best(texts.get((one, "l"), [])) for one in missing}
            fresh |= self.any_labels([one for one, label in fresh.items() if not label])
            with self._lock:
                self._labels.update(fresh)
            found |= fresh
        return {one: found[one] or key_label(one) for one in asked}

    def relation_labels(self, iris: Iterable[str], names: dict[str, str]) -> dict[str, str]:
        """The label of each relation by its IRI; `names` are the store's names by IRI."""
        asked = list(dict.fromkeys(iris))
        describing = {one: self._profile.describing(one) for one in asked}
        found = self.labels(describing.values())
        # A label made from the IRI is replaced by the words of the relation's name.
        return {
            one: label if (label := found[about]) != key_label(about) else relation_label(_bare(names[one]))
            for one, about in describing.items()
        }

    def literal_label(self, node: RdfTerm) -> str:
        """A literal as people write it."""
        if self._profile.statements:
            if node.datatype in _NAMES:
                return time_text(node.value, years="astronomical")
            if node.datatype.endswith("wktLiteral"):
                return point_text(node.value)
            if node.datatype == f"{XSD}decimal":
                return node.value.removeprefix("+")
        return well_formed(node.value)

    def _read(
        self, iris: Sequence[str], *, full: bool
    ) -> tuple[dict[tuple[str, str], list[tuple[int, int, str]]], dict[str, list[str]]]:
        """Texts by IRI and kind (l, d), each with its ranks; classes by IRI."""
        texts: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
        classes: dict[str, list[str]] = {}
        rows = [ValuesRow(i, (iri(one),), strict_iri(one)) for i, one in enumerate(iris)]
        for row in self._batched.select_all(rows, lambda part: self._queries.texts(_listed(part), full=full)):
            one, text = item_in(row, iris), text_in(row, "v")
            kind, rank = self._kinds.get(text_in(row, "q"), ("", 0))
            if kind == "t":
                if node := node_in(row, "v"):
                    classes.setdefault(one, []).append(node.value)
            elif kind and text.strip():
                language = self._ranks.get(text_in(row, "l"), len(self._ranks))
                texts.setdefault((one, kind), []).append((language, rank, " ".join(text.split())))
        return texts, classes

    def any_labels(self, iris: Sequence[str]) -> dict[str, str]:
        """A label of each IRI in whatever language, if it has one."""
        rows = [ValuesRow(i, (iri(one),), strict_iri(one)) for i, one in enumerate(iris)]
        found = {}
        for row in self._batched.select_all(rows, lambda part: self._queries.any_label(_listed(part))):
            found[item_in(row, iris)] = " ".join(text_in(row, "v").partition(" ")[2].split())
        return found


def _listed(part: Sequence[ValuesRow]) -> str:
    return values("?i ?e", (row.values for row in part))


def _best(texts: Sequence[tuple[int, int, str]]) -> str:
    # Predicates come before languages: a German name is better than an English nickname.
    return min(texts, key=lambda one: (one[1], one[0], one[2]))[2] if texts else ""


def _one_line(text: str) -> str:
    line = " ".join(well_formed(text).split())
    return line if len(line) <= _DESCRIPTION_LENGTH else line[: _DESCRIPTION_LENGTH - 1].rstrip() + "…"


def _bare(name: str) -> str:
    """A relation's name without the prefix of its short form."""
    prefix, colon, rest = name.partition(":")
    return rest if colon and not rest.startswith("//") and prefix.isalnum() and not name.startswith("urn:") else name
