"""Turning evidence items (ids) into the lines a prompt shows, and back into ids."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from thinkgraph.models.budget import estimate_tokens
from thinkgraph.models.ops import Flow
from thinkgraph.prompts.communities import Place, community_line
from thinkgraph.prompts.lines import passage_line, path_line, told_once
from thinkgraph.runtime import requests
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Passage, Triple

T = TypeVar("T")

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class Texts:
    """What evidence items refer to, fetched by id."""

    triples: Mapping[str, Triple]
    passages: Mapping[str, Passage]


@dataclass(frozen=True)
class PromptContext:
    """The evidence of a prompt: line `n` (from 1) renders item `items[n-1]`."""

    items: Sequence[EvidenceItem]
    lines: Sequence[str]
    texts: Texts = field(default_factory=lambda: Texts({}, {}))
    """What the items refer to."""

    def ids(self, numbers: Iterable[int]) -> list[str]:
        """Evidence ids behind line numbers."""
        return [self.items[number - 1]["id"] for number in numbers if 1 <= number <= len(self.items)]

    def only(self, ids: Collection[str]) -> PromptContext:
        """The lines of these items alone, numbered anew."""
        kept = [place for place, item in enumerate(self.items) if item["id"] in ids]
        return replace(self, items=[self.items[n] for n in kept], lines=[self.lines[n] for n in kept])


def triple_ids(item: EvidenceItem) -> list[str]:
    """Ids of all triples an item refers to."""
    lead = item["path"]["triples"] if "path" in item else ()
    return [*lead, *item.get("tails", ()), *item.get("triples", ())]


def totals_of(item: EvidenceItem) -> dict[Place, int]:
    """How long the lists of a community really are, for its line."""
    return {
        (found["entity"], found["relation"], found["direction"]): found["total"] for found in item.get("totals", ())
    }


def fetch_texts(items: Sequence[EvidenceItem]) -> Flow[Texts]:
    """Read the items' triples and passages: one round trip each."""
    wanted = list(dict.fromkeys(key for item in items for key in triple_ids(item)))
    documents = list(dict.fromkeys(item["passage"] for item in items if "passage" in item))
    return Texts((yield from requests.triples(wanted)), (yield from requests.passages(documents)))


def evidence_line(item: EvidenceItem, texts: Texts) -> str:
    """One item in the grammar of prompts/lines.py; empty where the store no longer has it."""
    if item["kind"] == "chunk":
        passage = texts.passages.get(item["passage"])
        if passage is None:
            return ""
        return passage_line(passage["title"], passage["section"], passage["text"][item["start"] : item["end"]])
    if item["kind"] == "community":
        return community_line([texts.triples[key] for key in item["triples"] if key in texts.triples], totals_of(item))
    path = item["path"]
    hops = [texts.triples.get(key) for key in path["triples"]]
    tails = [texts.triples[key] for key in item["tails"] if key in texts.triples]
    if not tails or any(hop is None for hop in hops):
        return ""
    return path_line(path["start"], [hop for hop in hops if hop is not None], tails, total=item.get("total", 0))


def sentences_of(chunk: EvidenceItem, texts: Texts) -> list[str]:
    """The sentences of a chunk, each with its passage's title."""
    passage = texts.passages.get(chunk["passage"])
    if passage is None:
        return []
    text = passage["text"][chunk["start"] : chunk["end"]]
    return [f"{passage['title']}: {sentence}" for sentence in SENTENCE_END.split(text) if sentence]


def prompt_context(items: Iterable[EvidenceItem], *, tokens: int) -> Flow[PromptContext]:
    """Render evidence, best paths first and every path followed by its entities' chunks, within a bound on tokens.

    Lines are taken by score until the bound is reached, then put in order (ToG-2 section 3.3: the paths of every entity
    that owns a top-K chunk, each followed by its chunks).
    """
    every = sorted(items, key=lambda item: (-item["score"], item["id"]))
    texts = yield from fetch_texts(every)
    lines = told_once([evidence_line(item, texts) for item in every])
    kept = fitting([(every[place], line) for place, line in lines], tokens)
    ordered = _in_order([(item, line[: tokens * 4]) for item, line in kept])
    return PromptContext([item for item, _ in ordered], [line for _, line in ordered], texts)


def fitting(lines: Iterable[tuple[T, str]], tokens: int) -> list[tuple[T, str]]:
    """As many things with their lines as fit a bound on tokens together, the first ones first, and at least one."""
    kept: list[tuple[T, str]] = []
    for thing, line in lines:
        cost = line_cost(line)
        if line and (cost <= tokens or not kept):
            kept.append((thing, line))
            tokens -= cost
    return kept


def line_cost(line: str) -> int:
    """Tokens that a numbered line of a prompt takes."""
    return estimate_tokens(len(line)) + 2


def _in_order(kept: Sequence[tuple[EvidenceItem, str]]) -> list[tuple[EvidenceItem, str]]:
    chunks = [pair for pair in kept if pair[0]["kind"] == "chunk"]
    ordered: list[tuple[EvidenceItem, str]] = []
    for item, line in kept:
        if item["kind"] != "chunk":
            tails = set(item.get("tails", ()))
            mine = [pair for pair in chunks if tails & set(pair[0]["path"]["triples"][-1:])]
            chunks = [pair for pair in chunks if pair not in mine]
            ordered += [(item, line), *mine]
    return ordered + chunks
