"""Labels, classes and descriptions of nodes, in the preferred languages."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

from cachetools import TTLCache

from thinkgraph.tools.linking.names import key_label, relation_label
from thinkgraph.tools.sparql.endpoint import Endpoint, item_in, node_in, rows_of, text_in
from thinkgraph.tools.sparql.queries import any_label, texts_of
from thinkgraph.tools.sparql.terms import XSD, RdfTerm
from thinkgraph.tools.values import point_text, shortened, time_text

_CACHED, _SECONDS = 50_000, 3_600.0
_DATES = {f"{XSD}dateTime", f"{XSD}date"}


class Describer:
    """Reads labels, classes and descriptions. Labels are cached for an hour."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._profile = profile = endpoint.profile
        self._labels: TTLCache[str, str] = TTLCache(_CACHED, _SECONDS)
        self._lock = threading.Lock()
        self._kinds = {
            iri_: (kind, rank)
            for kind, predicates in (("d", profile.descriptions), ("l", profile.labels), ("t", profile.types))
            for rank, iri_ in enumerate(predicates)
        }

    def facts(self, iris: Iterable[str]) -> dict[str, tuple[str, str, str]]:
        """Label, class and description of each IRI."""
        asked = list(dict.fromkeys(iris))
        texts = self._read(asked, full=True)
        kinds = {one: kind for one in asked if (kind := texts.get((one, "t")))}
        labels = self.labels(kinds.values())
        own = self._with_any_labels({one: texts.get((one, "l"), "") for one in asked})
        return {
            one: (
                own[one] or key_label(one),
                labels[kinds[one]] if one in kinds else "",
                shortened(" ".join(texts.get((one, "d"), "").split())),
            )
            for one in asked
        }

    def labels(self, iris: Iterable[str]) -> dict[str, str]:
        """The label of each IRI: in a preferred language, else in any language, else the last part of the IRI."""
        asked = list(dict.fromkeys(iris))
        with self._lock:
            found = {one: label for one in asked if (label := self._labels.get(one)) is not None}
        if missing := [one for one in asked if one not in found]:
            texts = self._read(missing, full=False)
            found |= self._with_any_labels({one: texts.get((one, "l"), "") for one in missing})
        return {one: found[one] or key_label(one) for one in asked}

    def _with_any_labels(self, labels: dict[str, str]) -> dict[str, str]:
        """The labels, with one in any language where there is none yet. They are kept."""
        found = labels | self.any_labels([one for one, label in labels.items() if not label])
        with self._lock:
            self._labels.update(found)
        return found

    def relation_labels(self, names: Mapping[str, str]) -> dict[str, str]:
        """The label of each relation by its IRI; `names` are the store's names by IRI."""
        describing = {one: self._profile.describing(one) for one in names}
        found = self.labels(describing.values())
        # A label made from the IRI is replaced by the words of the relation's name.
        return {
            one: label if (label := found[about]) != key_label(about) else relation_label(_bare(names[one]))
            for one, about in describing.items()
        }

    def literal_label(self, node: RdfTerm) -> str:
        """A literal as people write it."""
        if self._profile.statements:
            if node.datatype in _DATES:
                return time_text(node.value, years="astronomical")
            if node.datatype.endswith("wktLiteral"):
                return point_text(node.value)
            if node.datatype == f"{XSD}decimal":
                return node.value.removeprefix("+")
        return node.value

    def _read(self, iris: Sequence[str], *, full: bool) -> dict[tuple[str, str], str]:
        """The best label (l) and, if `full`, description (d) and class (t) of each IRI, by IRI and kind."""
        best: dict[tuple[str, str], tuple[int, int, str]] = {}
        query = texts_of(self._profile, full=full)
        for row in self._endpoint.select_all(query, rows_of(map(RdfTerm, iris))):
            kind, rank = self._kinds.get(text_in(row, "q"), ("", 0))
            if kind == "t":
                node = node_in(row, "v")
                text = node.value if node and not node.literal else ""
                found = len(text), 0, text
            else:
                # Predicates come before languages: a German name is better than an English nickname.
                text = " ".join(text_in(row, "v").split())
                found = rank, self._profile.language_rank(text_in(row, "l")), text
            if kind and text:
                key = item_in(row, iris), kind
                best[key] = min(best.get(key, found), found)
        return {key: text for key, (_, _, text) in best.items()}

    def any_labels(self, iris: Sequence[str]) -> dict[str, str]:
        """A label of each IRI in whatever language, if it has one."""
        rows = self._endpoint.select_all(any_label(self._profile), rows_of(map(RdfTerm, iris)))
        return {item_in(row, iris): " ".join(text_in(row, "v").partition(" ")[2].split()) for row in rows}


def _bare(name: str) -> str:
    """A relation's name without the prefix of its short form."""
    prefix, colon, rest = name.partition(":")
    return rest if colon and not rest.startswith("//") and prefix.isalnum() and not name.startswith("urn:") else name
