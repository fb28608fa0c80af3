"""The prompt context of one question: T and the questions answered before (CogGRAG section 4.3); passages beside them are ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.coggrag.retrieve import ends_of
from thinkgraph.nodes.coggrag.tree import ROOT, answer_order, children, put_in, references
from thinkgraph.nodes.common.evidence_lines import Texts, evidence_line, fetch_texts, fitting, line_cost
from thinkgraph.nodes.common.judging import supporting
from thinkgraph.nodes.common.ranking import cut, rank
from thinkgraph.nodes.doubt.judged import turned
from thinkgraph.prompts.lines import answer_line
from thinkgraph.runtime import requests
from thinkgraph.state.coggrag import CogGragSettings, CogGragState, Inquiry, KnownAnswer, QuestionState
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Passage
from thinkgraph.tools.grounding import fold
from thinkgraph.tools.linking.names import normal_name

DO_NOT_KNOW = "I don't know"
MOST_ABOUT = 40
"""Most entities whose passages are read for one question."""


def inquiries(state: CogGragState, settings: CogGragSettings) -> list[Inquiry]:
    """The questions of the next wave: all that are ready, or only the root where a ceiling stopped the run."""
    nodes, solved = state["mind_map"], state["solved"]
    order = answer_order(nodes)
    wave = []
    for key in [ROOT] if state["stopped"] else order.ready(solved):
        known = [
            KnownAnswer(
                id=at,
                asked=solved[at]["asked"],
                answers=solved[at]["answers"],
                cited=solved[at]["cited"],
                supported=solved[at]["supported"],
            )
            for at in order.sees[key]
            if at in solved and (solved[at]["answers"] or settings.unanswered)
        ]
        below = children(nodes, key)
        unmet = [at for at in references(nodes, key) if at not in solved or not solved[at]["answers"]]
        cited = {one for answer in known for one in answer["cited"]}
        inquiry = Inquiry(
            id=key,
            asked=put_in(nodes, key, solved),
            unmet=solved[unmet[0]]["asked"] if unmet and unmet[0] in solved else "",
            leaf=not below,
            lacks=any(at not in solved or not solved[at]["answers"] for at in below),
            known=known,
            items=[item for item in state["evidence"].values() if item["kind"] == "path" or item["id"] in cited],
            about=_about(state, key),
        )
        wave.append(inquiry)
    return wave


def _about(state: CogGragState, key: str) -> list[str]:
    """Ids of the entities that a question is about: those of its keys, and those that the answers it needs name."""
    names = [
        name
        for keys in state["keys"].values()
        for entry in keys
        if key in entry["of"] or not entry["of"]
        for name in ends_of(entry)
    ]
    ids = [one for name in names for one in state["linked"].get(normal_name(name), ())]
    for at in references(state["mind_map"], key):
        if solution := state["solved"].get(at):
            for given in solution["answers"]:
                ids += solution["entities"].get(given) or state["linked"].get(normal_name(given), [])
    return list(dict.fromkeys(ids))[:MOST_ABOUT]


@dataclass(frozen=True)
class QuestionContext:
    """The numbered lines of a prompt and what stands behind them."""

    items: Sequence[EvidenceItem]
    """Line n is item n-1. The known answers follow the items."""
    known: Sequence[KnownAnswer]
    lines: Sequence[str]
    texts: Texts
    about: frozenset[str] = frozenset()
    """Ids of the entities that the question is about."""

    @property
    def rank(self) -> list[int]:
        """Numbers of the lines, the most useful first: known answers, then as `urgency` says, then by score."""
        items = range(1, len(self.items) + 1)
        best = sorted(items, key=lambda at: (urgency(self.items[at - 1], self.about), -self.items[at - 1]["score"]))
        return [*range(len(self.items) + 1, len(self.lines) + 1), *best]

    def supporting(self, answers: Sequence[str], cited: Sequence[int], question: str) -> list[int]:
        """Numbers of the lines that support the answers: those of the cited ones that are needed, else any that do; or none.

        A cited known answer is always needed: whether it was verified counts. The line of a known answer supports by its answers, and by
        the lines they stand on, but not by the words of its question. A known answer from memory supports nothing.
        """
        number = {item["id"]: at for at, item in enumerate(self.items, start=1)}
        bare = [
            *self.lines[: len(self.items)],
            *(answer_line("", one["answers"]) if one["supported"] else "" for one in self.known),
        ]
        behind = [number[key] for known in self.rests(cited) for key in known["cited"] if key in number]
        whole = [at for at in dict.fromkeys([*cited, *behind]) if bare[at - 1]]
        found = [at for at in supporting(answers, whole, bare, question) if at in cited or at not in behind]
        stays = {at for at in cited if at > len(self.items) and bare[at - 1]} if set(found) <= set(cited) else set()
        return [at for at in cited if at in found or at in stays] if found and stays else found

    def evidence(self, numbers: Sequence[int]) -> list[str]:
        """Ids of the evidence behind lines, that of known answers included."""
        found: list[str] = []
        for at in numbers:
            found += [self.items[at - 1]["id"]] if at <= len(self.items) else self._known(at)["cited"]
        return list(dict.fromkeys(found))

    def rests(self, numbers: Sequence[int]) -> list[KnownAnswer]:
        """The known answers among lines."""
        return [self._known(at) for at in numbers if at > len(self.items)]

    def _known(self, number: int) -> KnownAnswer:
        return self.known[number - len(self.items) - 1]

    def entities(self, answers: Sequence[str]) -> dict[str, list[str]]:
        """Ids of the entities that answers name among the ends of the triples; none for a literal."""
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


def first_context(state: QuestionState, settings: CogGragSettings) -> Flow[QuestionContext]:
    """Choose the lines of a question within `evidence_tokens`.

    Room goes to known answers, then to triples about the question's own entities, then to chunks, then to the triples
    nearest to the keys. The order of the lines does not depend on the question, so that a provider's prompt cache serves the
    questions of a wave.
    """
    chunks, passages = (yield from _nearest_chunks(state, settings)) if state["leaf"] else ([], {})
    every = {item["id"]: item for item in (*state["items"], *chunks)}
    found = yield from fetch_texts([item for item in every.values() if item.get("passage", "") not in passages])
    texts = Texts(found.triples, {**passages, **found.passages})
    answered = _answer_lines(state, settings)
    room = settings.evidence_tokens - sum(map(line_cost, answered))
    own = frozenset(state["about"])
    order = sorted(every.values(), key=lambda item: (urgency(item, own), -item["score"], item["id"]))
    kept = [item for item, _ in fitting([(item, evidence_line(item, texts)) for item in order], room)]
    return _context(turned(sorted(kept, key=_place), state["backtracked"]), texts, state, settings)


def urgency(item: EvidenceItem, own: Collection[str]) -> int:
    """The smaller, the more a line is needed: triples about the question's own entities, then chunks, then other triples."""
    if item["kind"] == "chunk":
        return 1
    return 0 if item["path"]["start"] in own else 2


def same_context(state: QuestionState, settings: CogGragSettings) -> Flow[QuestionContext]:
    """The lines that the question's first prompt had."""
    texts = yield from fetch_texts(state["items"])
    return _context(state["items"], texts, state, settings)


def _context(
    items: Sequence[EvidenceItem], texts: Texts, state: QuestionState, settings: CogGragSettings
) -> QuestionContext:
    lines = [evidence_line(item, texts)[: settings.evidence_tokens * 4] for item in items]
    shown = [*lines, *_answer_lines(state, settings)]
    return QuestionContext(items, state["known"], shown, texts, frozenset(state["about"]))


def _answer_lines(state: QuestionState, settings: CogGragSettings) -> list[str]:
    return [
        answer_line(one["asked"], one["answers"] or [DO_NOT_KNOW])[: settings.evidence_tokens] for one in state["known"]
    ]


def _place(item: EvidenceItem) -> tuple[bool, int, str, float, str]:
    """Triples before chunks; older ones first; an entity's together."""
    start = item["path"]["start"] if item["kind"] == "path" else ""
    return item["kind"] == "chunk", item["round"], start, -item["score"], item["id"]


def _nearest_chunks(
    state: QuestionState, settings: CogGragSettings
) -> Flow[tuple[list[EvidenceItem], Mapping[str, Passage]]]:
    """The chunks nearest to a question among the passages of the entities it is about, with these passages; beyond the paper."""
    about = state["about"]
    if not settings.passages or not about:
        return [], {}
    hits = yield from requests.passages_of(about, state["asked"], limit=settings.read_passages)
    chunks = cut([hit["passage"] for hit in hits], settings)[: 2 * settings.read_passages]
    texts = [chunk.rankable(f"{' / '.join(filter(None, chunk.head))}: ") for chunk in chunks]
    scores = yield from rank(texts, state["asked"], "", settings, key=state["part"])
    best = sorted(zip(chunks, scores, strict=True), key=lambda pair: -pair[1])[: settings.passages]
    items = []
    for chunk, score in best:
        owner = next((entity for entity in chunk.passage["entities"] if entity in about), "")
        items.append(chunk.item(owner, score=score, number=state["round"]))
    return items, {hit["passage"]["id"]: hit["passage"] for hit in hits}
