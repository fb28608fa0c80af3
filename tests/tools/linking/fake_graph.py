"""A small graph in memory, enough for the linker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rapidfuzz import fuzz

from thinkgraph.tools.linking.lexical import tokens
from thinkgraph.tools.linking.names import normal_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thinkgraph.state.knowledge import Entity, Match


def entity(id_: str, label: str, description: str = "") -> Entity:
    return {"id": id_, "label": label, "type": "", "description": description, "literal": False}


class FakeGraph:
    """Names to entities; calls are kept in `calls`."""

    def __init__(self, entities: Sequence[tuple[Entity, Sequence[str]]]) -> None:
        self.calls: list[tuple[str, list[str]]] = []
        self._labels: dict[str, list[Entity]] = {}
        self._aliases: dict[str, list[tuple[Entity, str]]] = {}
        self._words: dict[str, list[tuple[Entity, str]]] = {}
        self._names: list[tuple[Entity, str, str]] = []
        for node, aliases in entities:
            self._labels.setdefault(normal_name(node["label"]), []).append(node)
            for alias in aliases:
                self._aliases.setdefault(normal_name(alias), []).append((node, alias))
            for name in (node["label"], *aliases):
                self._names.append((node, name, normal_name(name)))
                for word in set(tokens(name)):
                    self._words.setdefault(word, []).append((node, name))

    def lookup(self, names: Sequence[str], *, limit: int = 10) -> list[list[Match]]:
        self.calls.append(("lookup", list(names)))
        out = []
        for name in names:
            key = normal_name(name)
            found: dict[str, Match] = {}
            for node in self._labels.get(key, []):
                found[node["id"]] = match(node, node["label"], "exact", 1.0)
            for node, alias in self._aliases.get(key, []):
                found.setdefault(node["id"], match(node, alias, "alias", 1.0))
            out.append(list(found.values())[:limit])
        return out

    def search(self, texts: Sequence[str], *, limit: int = 10, fuzzy: bool = False) -> list[list[Match]]:
        self.calls.append(("fuzzy" if fuzzy else "fulltext", list(texts)))
        return [(self._fuzzy(text) if fuzzy else self._fulltext(text))[:limit] for text in texts]

    def _fulltext(self, text: str) -> list[Match]:
        best: dict[str, Match] = {}
        words = set(tokens(text))
        for word in words:
            for node, name in self._words.get(word, []):
                score = len(words & set(tokens(name))) / (len(words | set(tokens(name))) + 1)
                if node["id"] not in best or best[node["id"]]["score"] < score:
                    best[node["id"]] = match(node, name, "fulltext", score)
        return sorted(best.values(), key=lambda found: -found["score"])

    def _fuzzy(self, text: str) -> list[Match]:
        best: dict[str, Match] = {}
        for node, name, key in self._names:
            score = fuzz.ratio(normal_name(text), key) / 101
            if score > 0.5 and (node["id"] not in best or best[node["id"]]["score"] < score):
                best[node["id"]] = match(node, name, "fuzzy", score)
        return sorted(best.values(), key=lambda found: -found["score"])


def match(node: Entity, name: str, method: Any, score: float) -> Match:
    return {"entity": node, "name": name, "method": method, "score": score}
