"""What one question of a mind map is shown: T, passages beside it, and the questions answered before (CogGRAG section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from thinkgraph.models.budget import estimate_tokens
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import Texts, evidence_line, fetch_texts
from thinkgraph.nodes.common.judging import supporting
from thinkgraph.nodes.common.ranking import Rankable, rank
from thinkgraph.prompts.lines import answer_line, passage_line
from thinkgraph.runtime import requests
from thinkgraph.state.coggrag import CogGragSettings, Known
from thinkgraph.state.evidence import EvidenceItem, Path
from thinkgraph.state.knowledge import Passage, PassageHit
from thinkgraph.tools.chunks import chunk_offsets
from thinkgraph.tools.grounding import fold

DO_NOT_KNOW = "I don't know"


@dataclass
class Seen:
    """The numbered lines of a prompt and what stands behind them."""

    items: list[EvidenceItem] = field(default_factory=list)
    """Line n is item n-1; behind the items come the known answers."""
    known: list[Known] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    texts: Texts = field(default_factory=lambda: Texts({}, {}))

    def standing(self, answers: Sequence[str], cited: Sequence[int], question: str) -> list[int]:
        """Numbers of the lines that hold the answers to a question, the cited ones if they do; empty where none do.

        A line that tells of a question answered before holds its answers and, for conclusions drawn from them, the lines they
        stand on; the words of that question hold nothing, and nothing does where its answer was from memory.
        """
        number = {item["id"]: at for at, item in enumerate(self.items, start=1)}
        told = [answer_line("", known["answers"]) if known["held"] else "" for known in self.known]
        behind = [
            number[key]
            for at in cited
            if at > len(self.items)
            for key in self.known[at - len(self.items) - 1]["cited"]
            if key in number
        ]
        bare = [*self.lines[: len(self.items)], *told]
        whole = [at for at in dict.fromkeys([*cited, *behind]) if bare[at - 1]]
        return [at for at in supporting(answers, whole, bare, question) if at in cited or at not in behind]

    def evidence(self, numbers: Sequence[int]) -> list[str]:
        """Ids of the evidence behind lines, that of answered questions included."""
        found: list[str] = []
        for at in numbers:
            found += [self.items[at - 1]["id"]] if at <= len(self.items) else self._known(at)["cited"]
        return list(dict.fromkeys(found))

    def rests(self, numbers: Sequence[int]) -> list[Known]:
        """The answered questions among lines."""
        return [self._known(at) for at in numbers if at > len(self.items)]

    def _known(self, number: int) -> Known:
        return self.known[number - len(self.items) - 1]

    def named(self, answers: Sequence[str]) -> dict[str, list[str]]:
        """Ids of the entities that answers name among the ends of the shown triples; none for a literal."""
        ends: dict[str, dict[str, bool]] = {}
        for item in self.items:
            for key in item.get("tails", ()):
                triple = self.texts.triples.get(key)
                if triple is not None:
                    ends.setdefault(fold(triple["subject_label"]), {})[triple["subject"]] = False
                    ends.setdefault(fold(triple["object_label"]), {})[triple["object"]] = triple["literal"]
        return {
            answer: [one for one, literal in ends[fold(answer)].items() if not literal]
            for answer in answers
            if fold(answer) in ends
        }


def knowledge_of(
    items: Sequence[EvidenceItem],
    read: Read,
    known: Sequence[Known],
    about: Sequence[str],
    settings: CogGragSettings,
) -> Flow[Seen]:
    """Lines for one question within `evidence_tokens`.

    Room goes to answers known before, then to triples about the question's own entities, then to chunks, then to the triples
    nearest to the keys. What has room is shown in an order that does not depend on the question, so that a provider's prompt
    cache serves the questions of a wave from the first one's prompt.

    Args:
        items: T, and the chunks that known answers cite.
        read: the passages read for this question.
        known: the questions answered before.
        about: ids of the entities that the question is about.
        settings: the run's.
    """
    every = {item["id"]: item for item in (*items, *read.chunks)}
    found = yield from fetch_texts([item for item in every.values() if item.get("passage", "") not in read.passages])
    texts = Texts(found.triples, {**read.passages, **found.passages})
    told = [answer_line(one["asked"], one["answers"] or [DO_NOT_KNOW])[: settings.evidence_tokens] for one in known]
    room = settings.evidence_tokens - sum(_tokens(line) for line in told)
    own = set(about)

    def urgency(item: EvidenceItem) -> int:
        if item["kind"] == "chunk":
            return 1
        return 0 if item["path"]["start"] in own else 2

    wanted = sorted(every.values(), key=lambda item: (urgency(item), -item["score"], item["id"]))
    kept: list[tuple[EvidenceItem, str]] = []
    for item in wanted:
        line = evidence_line(item, texts)
        cost = _tokens(line)
        if line and (cost <= room or not kept):
            kept.append((item, line[: settings.evidence_tokens * 4]))
            room -= cost
    kept.sort(key=lambda pair: _place(pair[0]))
    return Seen([item for item, _ in kept], list(known), [*(line for _, line in kept), *told], texts)


def _tokens(line: str) -> int:
    return estimate_tokens(len(line)) + 2


def _place(item: EvidenceItem) -> tuple[bool, int, str, float, str]:
    """Triples before chunks; older ones first; an entity's together."""
    start = item["path"]["start"] if item["kind"] == "path" else ""
    return item["kind"] == "chunk", item["round"], start, -item["score"], item["id"]


@dataclass
class Read:
    """What was read for one question."""

    chunks: list[EvidenceItem] = field(default_factory=list)
    """The nearest chunks, best first."""
    passages: dict[str, Passage] = field(default_factory=dict)
    """The passages they are cut from, by id: they need not be fetched again."""


def read_passages(asked: str, about: Sequence[str], number: int, settings: CogGragSettings, *, key: str) -> Flow[Read]:
    """The chunks nearest to a question among the passages of the entities it is about; beyond the paper."""
    if not settings.passages or not about:
        return Read()
    hits: list[PassageHit] = yield from requests.passages_of(list(about), asked, limit=settings.read_passages)
    drafts: list[tuple[EvidenceItem, Rankable]] = []
    for hit in hits:
        passage = hit["passage"]
        owner = next((entity for entity in passage["entities"] if entity in about), "")
        for start, end in chunk_offsets(passage["text"], settings.chunk_size, settings.chunk_overlap):
            text = passage["text"][start:end]
            item = EvidenceItem(
                id=f"c{passage['id']}:{start}-{end}",
                kind="chunk",
                score=0.0,
                round=number,
                path=Path(start=owner, triples=[]),
                passage=passage["id"],
                start=start,
                end=end,
                entity=owner,
            )
            head = " / ".join(part for part in (passage["title"], passage["section"]) if part)
            drafts.append((item, Rankable(f"{head}: {text}", passage_line(passage["title"], passage["section"], text))))
    drafts = drafts[: 2 * settings.read_passages]
    scores = yield from rank([text for _, text in drafts], asked, "", settings.ranker, settings, key=key)
    ranked = sorted(zip(drafts, scores, strict=True), key=lambda pair: -pair[1])
    chunks: list[EvidenceItem] = [
        {**item, "score": round(value, 4)} for (item, _), value in ranked[: settings.passages]
    ]
    return Read(chunks, {hit["passage"]["id"]: hit["passage"] for hit in hits})


def cited_chunks(seen: Seen, cited: Sequence[str]) -> list[EvidenceItem]:
    """The chunks among cited evidence."""
    wanted: Mapping[str, None] = dict.fromkeys(cited)
    return [item for item in seen.items if item["kind"] == "chunk" and item["id"] in wanted]
