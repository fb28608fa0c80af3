"""Writes the files that a knowledge base is built from: triples, entities, aliases and passages of the documents."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thinkgraph.ingest.documents.lexicon import Chunk, Lexicon, collect, read_names
from thinkgraph.ingest.documents.mentions import LinkedPassage, read_documents
from thinkgraph.ingest.documents.resolve import resolve, short_name
from thinkgraph.ingest.documents.store import DocumentStore
from thinkgraph.ingest.documents.words import key_of_name
from thinkgraph.tools.linking.names import folded
from thinkgraph.tools.progress import Progress
from thinkgraph.tools.values import value_kind

Numbers: TypeAlias = NDArray[np.int64]

# ---- co-occurrence --------------------------------------------------------------------------------------------------

MENTIONS, WITH = "mentions", "mentioned with"
_MOST_MENTIONS, _MOST_WITH = 50, 20
"""Most edges of each kind of a title or an entity; those of greatest weight are kept."""
_NEAR = 8
"""Most entities after it in a passage that an entity is paired with: a list of a hundred names is not a clique."""


class Cooccurrence:
    """Counts which entities passages mention together, and selects edges from the counts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._uses: Counter[int] = Counter()
        self._passages = 0
        # Two numbers of 32 bits each: the memory holds many millions of such pairs.
        self._pairs = array("q")
        self._about = array("q")

    def add(self, read: LinkedPassage) -> None:
        """Count each pair of entities that stand near each other in a passage, once."""
        self._passages += 1
        order = list(dict.fromkeys(map(self._number, read.mentions)))
        about = self._number(read.about) if read.about else -1
        self._uses.update({*order, about} - {-1})
        for place, one in enumerate(order):
            if about not in {-1, one}:
                self._about.append(about << 32 | one)
            for other in order[place + 1 : place + 1 + _NEAR]:
                self._pairs.append(min(one, other) << 32 | max(one, other))

    def _number(self, key: str) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def edges(self) -> Iterator[tuple[str, str, str, int]]:
        """(entity, relation, entity, number of passages), in an order that does not depend on that of the documents."""
        names = list(self._numbers)
        rank = np.argsort(sorted(range(len(names)), key=names.__getitem__))
        subject, thing, times, weight = self._counted(self._about)
        titled = set(zip(subject.tolist(), thing.tolist(), strict=True))
        keep = _best([subject], rank[thing], weight, _MOST_MENTIONS)
        yield from sorted((names[subject[i]], MENTIONS, names[thing[i]], int(times[i])) for i in keep)
        one, other, times, weight = self._counted(self._pairs)
        low, high = np.minimum(rank[one], rank[other]), np.maximum(rank[one], rank[other])
        keep = _best([one, other], low * len(names) + high, weight, _MOST_WITH)
        pairs = (
            (*sorted((names[one[i]], names[other[i]])), int(times[i]))
            for i in keep
            if (one[i], other[i]) not in titled and (other[i], one[i]) not in titled
        )
        yield from sorted((left, WITH, right, count) for left, right, count in pairs)

    def _counted(self, pairs: array[int]) -> tuple[Numbers, Numbers, Numbers, NDArray[np.float64]]:
        """First and second numbers of the distinct pairs, how often each occurs, and its weight.

        The weight is the count times pointwise mutual information: frequent pairs that are more frequent than by chance.
        """
        keys, times = np.unique(np.array(pairs, np.int64), return_counts=True)
        one, other = keys >> 32, keys & 0xFFFFFFFF
        uses = np.array([self._uses[number] for number in range(len(self._numbers))], np.float64)
        pmi = np.log(times * self._passages / (uses[one] * uses[other]))
        return one, other, times, np.round(times * np.maximum(pmi, 0.01), 9)


def _best(ends: Sequence[Numbers], order: Numbers, weight: NDArray[np.float64], most: int) -> Numbers:
    """The edges that are among the `most` of greatest weight of one of their ends; of equal ones, the first in `order`."""
    of = np.concatenate(ends)
    edge = np.tile(np.arange(len(weight)), len(ends))
    by = np.lexsort((order[edge], -weight[edge], of))
    heads = np.flatnonzero(np.concatenate(([True], of[by][1:] != of[by][:-1])))
    place = np.arange(len(of)) - np.repeat(heads, np.diff(np.append(heads, len(of))))
    return np.unique(edge[by][place < most])


# ---- files ----------------------------------------------------------------------------------------------------------


Mode = Literal["cooccurrence", "llm", "both"]

SAME_NAME = "shares its name with"

_TITLE, _NAME = "title of a document", "name in a document"
_ALIASES = 30
_SOURCES = 3
"""Passages that a statement names as its sources; the others are only counted."""
_NAMESAKES = 6
_ABOUT = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the|one of the|one of)\s+(?P<what>[^.!?;\n]{3,200})")
_LONGEST_ABOUT, _LOOKED_AT = 120, 300


TRIPLES, ENTITIES, ALIASES, PASSAGES = "triples.jsonl", "entities.jsonl", "aliases.json", "passages.jsonl"
"""The files that `write_files` makes."""


class _Writer:
    def __init__(self, store: DocumentStore, mode: Mode, progress: Progress) -> None:
        self._store = store
        self._mode = mode
        self._progress = progress
        self._total = len(store.documents())
        self.counts: Counter[str] = Counter()
        self._lexicon = Lexicon()
        self._together = Cooccurrence()
        self._used: dict[str, str] = {}
        """Title of the first document that names each entity."""
        self._about: dict[str, str] = {}
        self._types: dict[str, Counter[str]] = defaultdict(Counter)
        self._said: dict[tuple[str, str, str, bool], list[str]] = defaultdict(list)
        collect(self._told("words"), self._lexicon)
        read_names(self._told("names"), self._lexicon)
        if mode != "cooccurrence":
            self._read_extracted()
        self._names = resolve(self._lexicon)
        self._groups = self._names.groups()
        self._label = {entity: forms[0].label for entity, forms in self._groups.items()}

    def write(self, folder: Path, resolution: Path) -> None:
        passages = self.counts["passages"]
        reads = read_documents(self._told("mentions"), self._names, self._lexicon, passages)
        _write_lines(folder / PASSAGES, self._passages(reads))
        self.counts["triples"] = _write_lines(folder / TRIPLES, self._edges())
        _write_lines(folder / ENTITIES, self._entities())
        (folder / ALIASES).write_text(json.dumps(self._aliases(), ensure_ascii=False), "utf-8")
        self.counts["merged names"] = _write_lines(resolution, (d._asdict() for d in self._names.decisions))

    def _told(self, stage: str) -> Iterator[Chunk]:
        """The passages, with progress by document."""
        self.counts["passages"] = self.counts["documents"] = 0
        for _, group in groupby(self._store.chunks(), key=lambda chunk: chunk.document):
            self._progress(stage, self.counts["documents"], self._total)
            self.counts["documents"] += 1
            for chunk in group:
                self.counts["passages"] += 1
                yield chunk

    def _read_extracted(self) -> None:
        """Add the names in extracted statements, and count the dropped statements."""
        for document in self._store.documents():
            for one in self._store.extracted(document).values():
                if one.found is None:
                    continue
                for subject, _, thing in one.found["triples"]:
                    for name in (subject, thing):
                        self._lexicon.add(name, "extracted")
                for fault, count in one.found["dropped"].items():
                    self.counts[f"statements dropped: {fault}"] += count

    def _passages(self, reads: Iterable[LinkedPassage]) -> Iterator[dict[str, Any]]:
        for document, group in groupby(reads, key=lambda read: read.chunk.document):
            extracted = self._store.extracted(document) if self._mode != "cooccurrence" else {}
            for place, read in enumerate(group):
                chunk, found = read.chunk, extracted.get(place)
                if self._mode != "llm":
                    self._together.add(read)
                if place == 0 and read.about:
                    self._about.setdefault(read.about, about(chunk.text))
                ends = self._state(read, found.found) if found is not None and found.found is not None else []
                entities = dict.fromkeys(filter(None, [read.about, *read.mentions, *ends]))
                for entity in entities:
                    self._used.setdefault(entity, chunk.title)
                named = [self._label[entity] for entity in entities]
                yield {
                    "id": chunk.id,
                    "title": chunk.title,
                    "section": chunk.section,
                    "text": chunk.text,
                    "entities": named,
                }

    def _state(self, read: LinkedPassage, found: dict[str, Any]) -> list[str]:
        """Add the statements of one passage. Returns the entities in them."""
        ends: list[str] = []
        for subject, relation, thing in found["triples"]:
            one, other = self._entity(subject, read), self._entity(thing, read)
            if not one or one == other or (not other and not value_kind(thing)):
                self.counts["statements dropped: no name"] += 1
                continue
            self._said[one, relation, other or thing, bool(other)].append(read.chunk.id)
            ends += [one, other]
        for name, kind in found["types"].items():
            if entity := self._entity(name, read):
                self._types[entity][kind] += 1
        return ends

    def _entity(self, name: str, read: LinkedPassage) -> str:
        """The entity of a name in a document; empty if the name is unknown."""
        key = key_of_name(name)
        return read.entities.get(key) or (self._names.root(key) if key in self._names.forms else "")

    def _edges(self) -> Iterator[dict[str, Any]]:
        label = self._label
        row: dict[str, Any]
        for (one, relation, other, named), sources in sorted(self._said.items()):
            row = {"subject": label[one], "relation": relation, "object": label[other] if named else other}
            # A name may stand in quotes, which a file's literals do.
            row |= {"literal": not named, "source": sources[:_SOURCES]}
            if len(sources) > _SOURCES:
                row["more sources"] = len(sources) - _SOURCES
            self.counts["statements"] += 1
            yield row
        if self._mode == "llm":
            return
        for one, relation, other, times in self._together.edges():
            row = {"subject": label[one], "relation": relation, "object": label[other], "literal": False}
            yield {**row, "passages": times} if times > 1 else row
        for base, titles in sorted(self._names.families.items()):
            entities = dict.fromkeys(map(self._names.root, [base, *sorted(titles)]))
            namesakes = [entity for entity in entities if entity in self._used]
            for one, other in combinations(namesakes, 2) if len(namesakes) <= _NAMESAKES else ():
                yield {"subject": label[one], "relation": SAME_NAME, "object": label[other], "literal": False}

    def _entities(self) -> Iterator[dict[str, str]]:
        for entity, title in sorted(self._used.items()):
            if kinds := self._types.get(entity):
                kind = min(kinds, key=lambda name: (-kinds[name], name))
            else:
                kind = _TITLE if entity in self._about else _NAME
            # Never empty: a store would make a description from the entity's edges, which say little here.
            words = self._about.get(entity) or (f"mentioned in {title}" if title else kind)
            yield {"id": self._label[entity], "label": self._label[entity], "type": kind, "description": words}

    def _aliases(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        local: dict[str, list[str]] = defaultdict(list)
        for decision in self._names.decisions:
            if decision.document:
                local[decision.entity].append(decision.name)
        for entity in sorted(self._used):
            label = self._label[entity]
            names: list[str] = []
            for form in self._groups[entity]:
                names += sorted(form.variants, key=lambda text: (-form.variants[text], text))
                if "title" in form.kinds:
                    names += filter(None, [short_name(form.label)])
            names += local.get(label, [])
            names += [bare for name in names if (bare := folded(name)) != name.casefold()]
            if every := [name for name in dict.fromkeys(names) if name != label]:
                found[label] = every[:_ALIASES]
        return found


def about(text: str) -> str:
    """A description from the beginning of a document: "… is a tributary of the Limpopo"; else its first words."""
    head = " ".join(text[:_LOOKED_AT].split())
    found = _ABOUT.search(head)
    words = re.split(r",\s|\s(?:which|who|that)\s|\s\(", found["what"], maxsplit=1)[0] if found else head
    return words if len(words) <= _LONGEST_ABOUT else words[:_LONGEST_ABOUT].rsplit(" ", 1)[0] + " …"


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write JSON Lines; returns their number."""
    number = 0
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            number += 1
    return number


def write_files(store: DocumentStore, folder: Path, resolution: Path, mode: Mode, progress: Progress) -> Counter[str]:
    """Find the names and write the files into `folder`, and the merged names into `resolution`; returns counts.

    The same documents give the same files in any order.
    """
    writer = _Writer(store, mode, progress)
    writer.write(folder, resolution)
    return writer.counts
