"""Turning evidence items (ids) into the lines a prompt shows, and back into ids."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from thinkgraph.models.budget import estimate_tokens
from thinkgraph.models.ops import Flow
from thinkgraph.prompts.communities import Place, community_line
from thinkgraph.prompts.lines import passage_line, path_line, told_once
from thinkgraph.runtime import requests
from thinkgraph.state.evidence import EvidenceItem, line_key
from thinkgraph.state.knowledge import Passage, Triple, both_ends, other_end
from thinkgraph.tools.grounding import fold

T = TypeVar("T")

_BESIDE = " | "
"""Between what a shared line says of one entity and of the next."""
SENTENCE_END = re.compile(r"(?<=[.!?\u061f\u06d4\u0964])\s+|(?<=[\u3002\uff01\uff1f])\s*|\n+")
"""Where a sentence ends; no space follows one in Chinese and Japanese."""


@dataclass(frozen=True)
class Texts:
    """What evidence items refer to, fetched by id."""

    triples: Mapping[str, Triple]
    passages: Mapping[str, Passage]


@dataclass(frozen=True)
class PromptContext:
    """The evidence of a prompt: line `n` (from 1) renders item `items[n-1]`, or the items that share the n-th line (`sizes`)."""

    items: Sequence[EvidenceItem]
    lines: Sequence[str]
    texts: Texts = field(default_factory=lambda: Texts({}, {}))
    """What the items refer to."""
    sizes: Sequence[int] = ()
    """How many of the items each line renders; empty: one each."""

    def ids(self, numbers: Iterable[int], answers: Collection[str] = ()) -> list[str]:
        """Evidence ids behind line numbers. Of items that share a line, only those that lead to one of the answers, if any do."""
        groups, wanted = self._groups(), set(map(fold, answers))
        found = [groups[number - 1] for number in numbers if 1 <= number <= len(groups)]
        return [item["id"] for group in found for item in (self._leading(group, wanted) or group)]

    def only(self, ids: Collection[str]) -> PromptContext:
        """The lines of these items alone, numbered anew, with those that say how the entities of a shared line were reached."""
        groups = self._groups()
        kept = {place for place, group in enumerate(groups) if any(item["id"] in ids for item in group)}
        leads = {key for place in kept if len(groups[place]) > 1 for item in groups[place] for key in lead_of(item)}
        kept |= {
            place for place, group in enumerate(groups) if leads & {key for item in group for key in tails_of(item)}
        }
        lines = sorted(kept)
        return replace(
            self,
            items=[item for place in lines for item in groups[place]],
            lines=[self.lines[place] for place in lines],
            sizes=[len(groups[place]) for place in lines],
        )

    def _groups(self) -> list[Sequence[EvidenceItem]]:
        bounds = itertools.accumulate(self.sizes or [1] * len(self.items), initial=0)
        return [self.items[start:end] for start, end in itertools.pairwise(bounds)]

    def _leading(self, group: Sequence[EvidenceItem], wanted: Collection[str]) -> list[EvidenceItem]:
        """The items of a shared line whose last hop names one of these things (folded)."""
        return [
            item
            for item in group
            for triples in [[self.texts.triples[key] for key in tails_of(item) if key in self.texts.triples]]
            if any(fold(one[end]) in wanted for one in triples for end in ("subject_label", "object_label"))
        ]


def tails_of(item: EvidenceItem) -> Sequence[str]:
    """Ids of the triples of a path's last hop; of anything else none."""
    return item.get("tails", ())


def lead_of(item: EvidenceItem) -> Sequence[str]:
    """Ids of the triples before a path's last hop; of anything else none."""
    return item["path"]["triples"] if item["kind"] == "path" else ()


def triple_ids(item: EvidenceItem) -> list[str]:
    """Ids of all triples an item refers to."""
    lead = item["path"]["triples"] if "path" in item else ()
    return [*lead, *item.get("tails", ()), *item.get("triples", ())]


def triples_of(items: Iterable[EvidenceItem], texts: Texts) -> dict[str, Triple]:
    """The triples that items refer to, by id, without those that the store no longer has."""
    return {key: texts.triples[key] for item in items for key in triple_ids(item) if key in texts.triples}


def reached_by(items: Iterable[EvidenceItem], texts: Texts) -> set[str]:
    """Ids of the things that paths end at, and of all in communities; without triples that the store no longer has."""
    triples = texts.triples
    found: set[str] = set()
    for item in items:
        if item["kind"] == "path":
            here = item["path"]["start"]
            for key in item["path"]["triples"]:
                here = other_end(triples[key], here) if key in triples else here
            found.update(other_end(triples[key], here) for key in item["tails"] if key in triples)
        elif item["kind"] == "community":
            found.update(end for key in item["triples"] if key in triples for end in both_ends(triples[key]))
    return found


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
    title, sentences = title_and_sentences(chunk, texts)
    return [f"{title}: {sentence}" for sentence in sentences]


def title_and_sentences(chunk: EvidenceItem, texts: Texts) -> tuple[str, list[str]]:
    """The title of a chunk's passage, and the chunk's sentences; nothing where the store no longer has it."""
    passage = texts.passages.get(chunk["passage"])
    if passage is None:
        return "", []
    text = passage["text"][chunk["start"] : chunk["end"]]
    return passage["title"], [sentence for sentence in SENTENCE_END.split(text) if sentence]


def prompt_context(
    items: Iterable[EvidenceItem], *, tokens: int, leads: Iterable[EvidenceItem] = ()
) -> Flow[PromptContext]:
    """Render evidence within a bound on tokens: best paths first, each followed by the chunks of its entities (ToG-2 section 3.3, table 13).

    Lines are taken by score until the bound is reached, and then put in order. The items of one relation path share a line. It says what
    the last hop reaches from each entity; the line before it says how these entities were reached.

    Args:
        items: to show.
        tokens: the bound.
        leads: further items that may be shown, to say how the entities of a shared line were reached.

    Returns:
        The lines, and the items behind each.
    """
    own = sorted(items, key=lambda item: (-item["score"], item["id"]))
    every = {item["id"]: item for item in (*own, *leads)}
    texts = yield from fetch_texts(list(every.values()))
    groups: dict[str, list[EvidenceItem]] = {}
    for item in every.values():
        groups.setdefault(line_key(item), []).append(item)
    teller = {key: name for name, group in groups.items() for item in group for key in tails_of(item)}
    lines = told_once([_shared_line(group, texts, teller) for group in groups.values()])
    told = {list(groups)[place]: line for place, line in lines}
    kept = _taken({line_key(item) for item in own}, groups, told, teller, tokens)
    ordered = _in_order([(groups[name][:size], line[: tokens * 4]) for name, (size, line) in kept.items()])
    return PromptContext(
        [item for group, _ in ordered for item in group],
        [line for _, line in ordered],
        texts,
        [len(group) for group, _ in ordered],
    )


def _shared_line(group: Sequence[EvidenceItem], texts: Texts, teller: Mapping[str, str]) -> str:
    """The line of one item. For several items: what the last hop reaches from each entity, after how that entity was reached, unless
    another line says so.
    """
    if len(group) == 1:
        return evidence_line(group[0], texts)
    parts: list[str] = []
    led: dict[tuple[str, str], list[Triple]] = {}
    for item in group:
        here = item["path"]["start"]
        for key in item["path"]["triples"]:
            if (triple := texts.triples.get(key)) is None:
                break
            if key not in teller:
                led.setdefault((here, triple["relation"]), []).append(triple)
            here = other_end(triple, here)
        else:
            tails = [texts.triples[key] for key in item["tails"] if key in texts.triples]
            parts.append(path_line(here, [], tails, total=item.get("total", 0)))
    before = [path_line(here, [], list({one["id"]: one for one in told}.values())) for (here, _), told in led.items()]
    return _BESIDE.join(filter(None, [*before, *parts]))


def _taken(
    wanted: Iterable[str],
    groups: Mapping[str, Sequence[EvidenceItem]],
    lines: Mapping[str, str],
    teller: Mapping[str, str],
    tokens: int,
) -> dict[str, tuple[int, str]]:
    """The lines that fit a bound on tokens, taken in order, at least one: the number of items of each, and its text.

    With a line of several items come the lines that say how its entities were reached. If it is too long, its last items are left out.
    """
    kept: dict[str, tuple[int, str]] = {}
    names = set(wanted)
    for name in [name for name in groups if name in names and lines.get(name)]:
        group = groups[name]
        shared = len(group) > 1
        needed = dict.fromkeys(teller.get(key, "") for item in group for key in lead_of(item)) if shared else {}
        new = [one for one in needed if lines.get(one) and one not in kept]
        room = tokens - sum(line_cost(lines[one]) for one in new)
        size, line = len(group), lines[name]
        # The first parts may say how entities were reached: at least one item stays behind them.
        while size > 1 and line_cost(line) > room and _BESIDE in line:
            size, line = size - 1, line.rpartition(_BESIDE)[0]
        if name not in kept and (line_cost(line) <= room or not kept):
            kept.update({one: (len(groups[one]), lines[one]) for one in new}, **{name: (size, line)})
            tokens = room - line_cost(line)
    return kept


def fitting(lines: Iterable[tuple[T, str]], tokens: int) -> list[tuple[T, str]]:
    """As many things with their lines as fit a bound on tokens together, the first ones first, and at least one."""
    kept: list[tuple[T, str]] = []
    for thing, line in lines:
        cost = line_cost(line)
        if line and (cost <= tokens or not kept):
            kept.append((thing, line))
            tokens -= cost
    return kept


def highest_level(costs: Sequence[int], room: int) -> int:
    """The highest size of a list at which all fit: long lists are cut before any is left out."""
    left, lines = room, len(costs)
    for cost in sorted(costs):
        if cost > left // lines:
            return left // lines
        left -= cost
        lines -= 1
    return max(costs, default=0)


def line_cost(line: str) -> int:
    """Tokens that a numbered line of a prompt takes."""
    return estimate_tokens(len(line)) + 2


def _in_order(kept: Sequence[tuple[Sequence[EvidenceItem], str]]) -> list[tuple[Sequence[EvidenceItem], str]]:
    chunks = [pair for pair in kept if pair[0][0]["kind"] == "chunk"]
    ordered: list[tuple[Sequence[EvidenceItem], str]] = []
    for group, line in kept:
        if group[0]["kind"] != "chunk":
            tails = {key for item in group for key in tails_of(item)}
            mine = [pair for pair in chunks if tails & set(pair[0][0]["path"]["triples"][-1:])]
            chunks = [pair for pair in chunks if pair not in mine]
            ordered += [(group, line), *mine]
    return ordered + chunks
