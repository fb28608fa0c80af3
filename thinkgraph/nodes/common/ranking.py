"""Ranking texts against a query with any ranker, the model included, and the chunks of passages that are ranked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thinkgraph.models.ops import Flow
from thinkgraph.prompts.forms import MAX_SCORE
from thinkgraph.prompts.kinds import SCORE, Shape
from thinkgraph.prompts.lines import numbered, passage_line, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.baselines.single_pass import KgRagSettings
from thinkgraph.state.evidence import EvidenceItem, Path, chunk_item
from thinkgraph.state.knowledge import Passage
from thinkgraph.state.settings import ChunkSettings, RunSettings
from thinkgraph.tools.chunks import chunk_offsets, sentence_offsets

LLM_BATCH = 40
"""Texts per call of the LLM ranker."""
ROLE = "rank.texts"


@dataclass(frozen=True)
class Rankable:
    """A text to be ranked: as encoders see it, and as a model sees it in a numbered list."""

    text: str
    line: str


@dataclass(frozen=True)
class TextChunk:
    """A stretch of a passage (ToG-2 section 3.2.2)."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        """Its characters."""
        return self.passage["text"][self.start : self.end]

    @property
    def head(self) -> tuple[str, str]:
        """Title and section of its passage."""
        return self.passage["title"], self.passage["section"]

    @property
    def preview(self) -> str:
        """Its beginning, for people."""
        return f"{self.passage['title']}: {self.text[:80]}"

    def rankable(self, lead: str = "", told: str = "") -> Rankable:
        """The chunk as rankers see it; encoders read it behind `lead`, a model reads `told` behind its section."""
        title, section = self.head
        return Rankable(lead + self.text, passage_line(title, "; ".join(filter(None, (section, told))), self.text))

    def item(self, entity: str, *, path: Path | None = None, score: float, number: int = 0) -> EvidenceItem:
        """It as evidence; see `chunk_item`."""
        key = self.passage["id"]
        return chunk_item(key, self.start, self.end, entity=entity, path=path, score=score, number=number)


def cut(passages: Iterable[Passage], settings: ChunkSettings) -> list[TextChunk]:
    """The chunks of passages, in order: sentences, or what `chunk_offsets` makes of them."""

    def spans(text: str) -> list[tuple[int, int]]:
        if settings.sentences:
            return sentence_offsets(text, settings.chunk_size)
        return chunk_offsets(text, settings.chunk_size, settings.chunk_overlap)

    return [TextChunk(passage, start, end) for passage in passages for start, end in spans(passage["text"])]


def round_query(question: str, query: str) -> str:
    """What a ranker sees in a round: the question, and the re-formed query after it where there is one.

    ToG-2 section 3.3 leaves open how the two combine. One concatenated text is one rule for all rankers and costs no
    second encoding.
    """
    return f"{question} {query}" if query else question


def rank(
    items: Sequence[Rankable], question: str, query: str, settings: ChunkSettings | KgRagSettings, *, key: str
) -> Flow[list[float]]:
    """A score >= 0 for every item. The LLM ranker asks in batches, side by side; its calls are of role `rank.texts`."""
    if settings.ranker != "llm":
        texts = [item.text for item in items]
        return (yield from requests.rank_texts(settings.ranker, round_query(question, query), texts))
    batches = [items[at : at + LLM_BATCH] for at in range(0, len(items), LLM_BATCH)]
    parts = [
        _ask(batch, question, query, settings, key=f"{key}/{number}") for number, batch in enumerate(batches, start=1)
    ]
    return [value for part in (yield from requests.together(parts)) for value in part]


def _ask(batch: Sequence[Rankable], question: str, query: str, settings: RunSettings, *, key: str) -> Flow[list[float]]:
    scores = [0.0] * len(batch)
    scored = yield from requests.call(
        SCORE,
        ROLE,
        {
            "question": safe_block(question),
            "query": safe_block(query),
            "options": numbered(item.line for item in batch),
        },
        shape=Shape(options=len(batch), explain=settings.explain),
        # Unreadable: keep the prefilter's order.
        fallback=[(number, MAX_SCORE / number) for number in range(1, len(batch) + 1)],
        key=key,
        spare=1,
    )
    for number, value in scored:
        scores[number - 1] = value / MAX_SCORE
    return scores
