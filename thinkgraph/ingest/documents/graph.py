"""Writes the files that a knowledge base is built from: triples, entities, aliases and passages of the documents."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
from numpy.typing import NDArray

from thinkgraph.ingest.documents.lexicon import Chunk, Form, Lexicon, collect, read_names
from thinkgraph.ingest.documents.mentions import LinkedPassage, read_documents
from thinkgraph.ingest.documents.resolve import ResolvedNames, resolve, short_name
from thinkgraph.ingest.documents.store import DocumentStore
from thinkgraph.ingest.documents.words import key_of_name
from thinkgraph.tools.linking.names import folded
from thinkgraph.tools.progress import Progress
from thinkgraph.tools.values import value_kind

# ---- co-occurrence --------------------------------------------------------------------------------------------------

MENTIONS, WITH = "mentions", "mentioned with"

_PENDING = 1_000_000
"""Pairs that are collected before they are counted; 8 MB."""
_NEAR = 8
"""Most entities after it in a passage that an entity is paired with: a list of a hundred names is not a clique."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How many co-occurrence edges are kept."""

    with_others: int = 20
    """Most `mentioned with` edges of an entity; those of greatest weight are kept."""
    mentions: int = 50
    """Most `mentions` edges of a title; those of greatest weight are kept."""


@dataclass
class PairCounts:
    """Counts of pairs of numbers, as two arrays."""

    keys: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    times: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    _pending: list[int] = field(default_factory=list)

    def add(self, one: int, other: int) -> None:
        """Count a pair once."""
        self._pending.append(one << 32 | other)
        if len(self._pending) >= _PENDING:
            self.settle()

    def settle(self) -> None:
        """Count what is pending."""
        if self._pending:
            keys, times = np.unique(np.array(self._pending, np.uint64), return_counts=True)
            every, where = np.unique(np.concatenate((self.keys, keys)), return_inverse=True)
            total = np.zeros(len(every), np.int64)
            np.add.at(total, where, np.concatenate((self.times, times)))
            self.keys, self.times = every, total
            self._pending.clear()

    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """First numbers, second numbers and counts of all pairs, in order."""
        self.settle()
        return (
            (self.keys >> np.uint64(32)).astype(np.int64),
            (self.keys & np.uint64(0xFFFFFFFF)).astype(np.int64),
            self.times,
        )


class Cooccurrence:
    """Counts which entities passages mention together, and selects edges from the counts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._passages = 0
        self._in: PairCounts = PairCounts()
        self._pairs = PairCounts()
        self._about = PairCounts()
        self._uses: list[int] = []

    def add(self, read: LinkedPassage) -> None:
        """Count each pair of entities that stand near each other in a passage, once."""
        self._passages += 1
        order = list(dict.fromkeys(self._number(mention.entity) for mention in read.mentions))
        about = self._number(read.about) if read.about else -1
        for number in {*order, about} - {-1}:
            self._uses[number] += 1
        for place, one in enumerate(order):
            if about not in {-1, one}:
                self._about.add(about, one)
            for other in order[place + 1 : place + 1 + _NEAR]:
                self._pairs.add(min(one, other), max(one, other))

    def _number(self, key: str) -> int:
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self._uses):
            self._uses.append(0)
        return number

    def edges(self, limits: Limits) -> Iterator[tuple[str, str, str, int]]:
        """(entity, relation, entity, number of passages), in an order that does not depend on that of the documents."""
        names = list(self._numbers)
        uses = np.array(self._uses, np.float64)
        rank = np.empty(len(names), np.int64)
        rank[np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)] = np.arange(len(names))
        subject, thing, times = self._about.columns()
        titled = set(zip(subject.tolist(), thing.tolist(), strict=True))
        keep = _best([subject], rank[thing], self._weights(subject, thing, times, uses), limits.mentions)
        yield from sorted((names[subject[i]], MENTIONS, names[thing[i]], int(times[i])) for i in np.flatnonzero(keep))
        one, other, times = self._pairs.columns()
        low, high = np.minimum(rank[one], rank[other]), np.maximum(rank[one], rank[other])
        order = low * len(names) + high
        keep = _best([one, other], order, self._weights(one, other, times, uses), limits.with_others)
        pairs = (
            (*sorted((names[one[i]], names[other[i]])), int(times[i]))
            for i in np.flatnonzero(keep)
            if (one[i], other[i]) not in titled and (other[i], one[i]) not in titled
        )
        yield from sorted((left, WITH, right, count) for left, right, count in pairs)

    def _weights(
        self, one: NDArray[np.int64], other: NDArray[np.int64], times: NDArray[np.int64], uses: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Count times pointwise mutual information: frequent pairs that are more frequent than by chance."""
        if not len(one):
            return np.empty(0)
        pmi = np.log(times * self._passages / (uses[one] * uses[other]))
        return np.round(times * np.maximum(pmi, 0.01), 9)


def _best(
    ends: Sequence[NDArray[np.int64]], order: NDArray[np.int64], weight: NDArray[np.float64], most: int
) -> NDArray[np.bool_]:
    """Whether each edge is among the `most` of greatest weight of one of its ends; of equal ones, the first in `order`."""
    keep = np.zeros(len(weight), bool)
    if not len(weight):
        return keep
    of = np.concatenate(ends)
    edge = np.tile(np.arange(len(weight)), len(ends))
    by = np.lexsort((order[edge], -weight[edge], of))
    heads = np.flatnonzero(np.concatenate(([True], of[by][1:] != of[by][:-1])))
    place = np.arange(len(of)) - np.repeat(heads, np.diff(np.append(heads, len(of))))
    keep[edge[by][place < most]] = True
    return keep


# ---- files ----------------------------------------------------------------------------------------------------------


Mode = Literal["cooccurrence", "llm", "both"]

SAME_NAME = "shares its name with"
RESOLUTION = "resolution.jsonl"
"""The file of a knowledge base that lists the merged names with their rules."""

_TITLE, _NAME = "title of a document", "name in a document"
_ALIASES = 30
_SOURCES = 3
"""Passages that a statement names as its sources; the others are only counted."""
_NAMESAKES = 6
_ABOUT = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the|one of the|one of)\s+(?P<what>[^.!?;\n]{3,200})")
_LONGEST_ABOUT, _LOOKED_AT = 120, 300


@dataclass
class GraphFiles:
    """The written files, and counts of what is in them."""

    triples: Path
    entities: Path
    aliases: Path
    passages: Path
    counts: Counter[str] = field(default_factory=Counter)


class _Writer:
    def __init__(self, store: DocumentStore, mode: Mode, limits: Limits, progress: Progress) -> None:
        self._store = store
        self._mode = mode
        self._limits = limits
        self._progress = progress
        self._lexicon = Lexicon()
        self._used: dict[str, str] = {}
        """Title of the first document that names each entity."""
        self._about: dict[str, str] = {}
        self._types: dict[str, Counter[str]] = defaultdict(Counter)
        self._said: dict[tuple[str, str, str, bool], list[str]] = {}
        self.counts: Counter[str] = Counter()

    def write(self, made: GraphFiles, resolution: Path) -> None:
        total = len(self._store.documents())
        collect(self._told(self._store.chunks(), "words", total), self._lexicon)
        read_names(self._told(self._store.chunks(), "names", total), self._lexicon)
        if self._mode != "cooccurrence":
            self._read_extracted()
        names = resolve(self._lexicon)
        together = Cooccurrence()
        chunks = self._told(self._store.chunks(), "mentions", total)
        groups = names.groups()
        label = {entity: forms[0].label for entity, forms in groups.items()}
        with made.passages.open("w", encoding="utf-8") as out:
            for document, reads in groupby(
                read_documents(chunks, names, self._lexicon, self.counts["passages"]),
                key=lambda read: read.chunk.document,
            ):
                self._write_document(document, reads, names, label, together, out)
        with made.triples.open("w", encoding="utf-8") as out:
            self._write_edges(names, label, together, out)
        _write_lines(made.entities, self._entities(label))
        made.aliases.write_text(json.dumps(self._aliases(names, groups, label), ensure_ascii=False), "utf-8")
        decisions = (
            {"name": d.name, "entity": d.entity, "rule": d.rule, "document": d.document} for d in names.decisions
        )
        _write_lines(resolution, decisions)
        self.counts["merged names"] = len(names.decisions)
        made.counts = self.counts

    def _told(self, chunks: Iterable[Chunk], stage: str, total: int) -> Iterator[Chunk]:
        """The passages, with progress by document."""
        before, number, count = "", 0, 0
        for chunk in chunks:
            count += 1
            if chunk.document != before:
                before = chunk.document
                self._progress(stage, number, total)
                number += 1
            yield chunk
        self.counts["passages"], self.counts["documents"] = count, number

    def _read_extracted(self) -> None:
        """Add the names in extracted statements, and count the dropped statements."""
        for document in self._store.documents():
            for one in self._store.extracted(document).values():
                if one.found is None:
                    continue
                for subject, _, thing in one.found["triples"]:
                    for name in (subject, thing):
                        if not value_kind(name):
                            self._lexicon.add(name, "extracted")
                for fault, count in one.found["dropped"].items():
                    self.counts[f"statements dropped: {fault}"] += count

    def _write_document(
        self,
        document: str,
        reads: Iterator[LinkedPassage],
        names: ResolvedNames,
        label: dict[str, str],
        together: Cooccurrence,
        out: TextIO,
    ) -> None:
        extracted = self._store.extracted(document) if self._mode != "cooccurrence" else {}
        for place, read in enumerate(reads):
            if self._mode != "llm":
                together.add(read)
            if place == 0 and read.about:
                self._about.setdefault(read.about, about(read.chunk.text))
            found = extracted.get(place)
            ends = self._state(read, found.found, names) if found is not None and found.found is not None else []
            entities = dict.fromkeys([*filter(None, [read.about]), *(m.entity for m in read.mentions), *ends])
            for entity in entities:
                self._used.setdefault(entity, read.chunk.title)
            row = {
                "id": read.chunk.id,
                "title": read.chunk.title,
                "section": read.chunk.section,
                "text": read.chunk.text,
                "entities": [label[entity] for entity in entities],
            }
            out.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _state(self, read: LinkedPassage, found: dict[str, Any], names: ResolvedNames) -> list[str]:
        """Add the statements of one passage. Returns the entities in them."""
        ends: dict[str, None] = {}
        for subject, relation, thing in found["triples"]:
            one, other = _entity(subject, read, names), _entity(thing, read, names)
            if not one or one == other or (not other and not value_kind(thing)):
                self.counts["statements dropped: no name"] += 1
                continue
            sources = self._said.setdefault((one, relation, other or thing, bool(other)), [])
            sources.append(read.chunk.id)
            ends.update(dict.fromkeys(filter(None, (one, other))))
        for name, kind in found["types"].items():
            if entity := _entity(name, read, names):
                self._types[entity][kind] += 1
        return list(ends)

    def _write_edges(self, names: ResolvedNames, label: dict[str, str], together: Cooccurrence, out: TextIO) -> None:
        for (one, relation, other, named), sources in sorted(self._said.items()):
            row: dict[str, Any] = {
                "subject": label[one],
                "relation": relation,
                "object": label[other] if named else other,
            }
            if not named:
                row["literal"] = True
            row["source"] = sources[:_SOURCES]
            if len(sources) > _SOURCES:
                row["more sources"] = len(sources) - _SOURCES
            self._put(row, out)
            self.counts["statements"] += 1
        if self._mode == "llm":
            return
        for one, relation, other, times in together.edges(self._limits):
            row = {"subject": label[one], "relation": relation, "object": label[other]}
            if times > 1:
                row["passages"] = times
            self._put(row, out)
        for family in sorted(names.families.items()):
            for one, other in self._namesakes(*family, names):
                self._put({"subject": label[one], "relation": SAME_NAME, "object": label[other]}, out)

    def _put(self, row: dict[str, Any], out: TextIO) -> None:
        self.counts["triples"] += 1
        out.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _namesakes(self, base: str, titles: list[str], names: ResolvedNames) -> Iterator[tuple[str, str]]:
        """Pairs of entities that share a short name."""
        found = [entity for entity in dict.fromkeys(map(names.root, [base, *sorted(titles)])) if entity in self._used]
        if len(found) <= _NAMESAKES:
            yield from ((one, other) for place, one in enumerate(found) for other in found[place + 1 :])

    def _entities(self, label: dict[str, str]) -> Iterator[dict[str, str]]:
        for entity in sorted(self._used):
            title, kinds = self._used[entity], self._types.get(entity)
            if kinds:
                kind = min(kinds, key=lambda name: (-kinds[name], name))
            else:
                kind = _TITLE if entity in self._about else _NAME
            # Never empty: a store would make a description from the entity's edges, which say little here.
            words = self._about.get(entity) or (f"mentioned in {title}" if title else kind)
            yield {"id": label[entity], "label": label[entity], "type": kind, "description": words}

    def _aliases(
        self, names: ResolvedNames, groups: dict[str, list[Form]], label: dict[str, str]
    ) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        local: dict[str, dict[str, None]] = defaultdict(dict)
        for decision in names.decisions:
            if decision.document:
                local[decision.entity][decision.name] = None
        for entity in sorted(self._used):
            every: dict[str, None] = {}
            for form in groups[entity]:
                every.update(dict.fromkeys(sorted(form.variants, key=lambda text: (-form.variants[text], text))))
                if "title" in form.kinds and (short := short_name(form.label)):
                    every[short] = None
            every.update(local.get(label[entity], {}))
            every.update({bare: None for name in list(every) if (bare := folded(name)) != name.casefold()})
            every.pop(label[entity], None)
            if every:
                found[label[entity]] = list(every)[:_ALIASES]
        return found


def _entity(name: str, read: LinkedPassage, names: ResolvedNames) -> str:
    """The entity of a name in a document; empty if the name is unknown."""
    key = key_of_name(name)
    if key in read.entities:
        return read.entities[key]
    return names.root(key) if key in names.forms else ""


def about(text: str) -> str:
    """A description from the beginning of a document: "… is a tributary of the Limpopo"; else its first words."""
    head = " ".join(text[:_LOOKED_AT].split())
    found = _ABOUT.search(head)
    words = re.split(r",\s|\s(?:which|who|that)\s|\s\(", found["what"], maxsplit=1)[0] if found else head
    return words if len(words) <= _LONGEST_ABOUT else words[:_LONGEST_ABOUT].rsplit(" ", 1)[0] + " …"


def _write_lines(path: Path, rows: Iterable[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write_files(
    store: DocumentStore, folder: Path, resolution: Path, mode: Mode, limits: Limits, progress: Progress
) -> GraphFiles:
    """Find the names and write the files. The same documents give the same files in any order.

    Args:
        store: the documents.
        folder: where the files go.
        resolution: the file of merged names.
        mode: edges from co-occurrence, from extracted statements, or both.
        limits: how many co-occurrence edges are kept.
        progress: called for every document.
    """
    made = GraphFiles(
        triples=folder / "triples.jsonl",
        entities=folder / "entities.jsonl",
        aliases=folder / "aliases.json",
        passages=folder / "passages.jsonl",
    )
    _Writer(store, mode, limits, progress).write(made, resolution)
    return made
