"""Helpers of FastToG's steps: communities, chains and candidates as text, as evidence, and in reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from thinkgraph.models.budget import CHARACTERS_PER_TOKEN
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common import reports
from thinkgraph.nodes.common.evidence_lines import line_cost
from thinkgraph.nodes.doubt.judged import rounds_since
from thinkgraph.prompts.communities import Place, community_line, list_lengths
from thinkgraph.prompts.lines import described, numbered, one_line
from thinkgraph.runtime import requests
from thinkgraph.state.answer import PrunedNote, Trace, TraceLine
from thinkgraph.state.evidence import EvidenceItem, ListLength
from thinkgraph.state.fasttog import CandidateCommunity, Chain, Community, FastTogSettings, FastTogState
from thinkgraph.state.knowledge import Candidate, Triple, both_ends, ends_of
from thinkgraph.tools.communities.local_search import membership
from thinkgraph.tools.linking.lexical import overlap

TITLE = "chains of communities"


def start_lines(subjects: Sequence[Candidate]) -> str:
    """The start communities, one node each, stated once in every prompt."""
    return numbered(described(subject["label"], subject["description"]) for subject in subjects)


def community_of(nodes: Sequence[str], triples: Sequence[Triple], number: int, prose: str = "") -> Community:
    """A community of these nodes, found in round `number`: triples with both ends among them are inside, others join it."""
    members = set(nodes)
    labels: dict[str, str] = {}
    literals: set[str] = set()
    inside: list[str] = []
    joining: list[str] = []
    for triple in triples:
        labels.update((node, label) for node, label, _ in ends_of(triple))
        literals |= {triple["object"]} if triple["literal"] else set()
        (inside if members.issuperset(both_ends(triple)) else joining).append(triple["id"])
    return Community(
        id=membership(nodes),
        nodes=list(nodes),
        labels=[labels.get(node, node) for node in nodes],
        literals=[node for node in nodes if node in literals],
        triples=inside,
        joining=joining,
        round=number,
        prose=prose,
    )


def fetch_triples(
    communities: Iterable[Community], candidates: Iterable[CandidateCommunity] = ()
) -> Flow[dict[str, Triple]]:
    """The triples of communities and candidates, by id: one round trip."""
    ids = [key for community in communities for key in (*community["joining"], *community["triples"])]
    wanted = list(dict.fromkeys([*ids, *(key for candidate in candidates for key in candidate["triples"])]))
    return (yield from requests.triples(wanted))


def triples_of(community: Community, triples: Mapping[str, Triple]) -> list[Triple]:
    """What joins a community to its chain, then what is inside; without the triples that the store no longer has."""
    return _still_there([*community["joining"], *community["triples"]], triples)


def evidence_of(community: Community, triples: Mapping[str, Triple], counts: Mapping[Place, int]) -> EvidenceItem:
    """A community as evidence, with the lengths of the lists that it shows in part."""
    shown = triples_of(community, triples)
    totals = [
        ListLength(entity=place[0], relation=place[1], direction=place[2], total=counts[place])
        for place, count in list_lengths(shown).items()
        if counts.get(place, 0) > count
    ]
    return EvidenceItem(
        id=community["id"],
        kind="community",
        score=1.0,
        round=community["round"],
        triples=[triple["id"] for triple in shown],
        totals=totals,
    )


def named(community: Community) -> str:
    """A community for people: the labels of its nodes."""
    return ", ".join(community["labels"])


def growing(chains: Iterable[Chain]) -> list[Chain]:
    """The chains that have not ended."""
    return [chain for chain in chains if not chain["ended"]]


def is_final(state: FastTogState, settings: FastTogSettings) -> bool:
    """Whether no round follows: the depth is reached, no chain grows, or a ceiling stopped the run."""
    return rounds_since(state) >= settings.depth or not growing(state["chains"]) or bool(state["stopped"])


def _outline(subjects: Sequence[Candidate], chains: Sequence[Chain], texts: Mapping[str, int]) -> list[TraceLine]:
    """The chains for people."""
    label = {subject["id"]: subject["label"] for subject in subjects}
    lines = [TraceLine(level=0, text=f"start: {subject['label']}") for subject in subjects]
    for chain in chains:
        head = ", ".join(label.get(start, start) for start in chain["starts"])
        ended = f" ({chain['ended']})" if chain["ended"] else ""
        lines.append(TraceLine(level=0, text=f"chain {chain['number']} from {head}{ended}"))
        for community in chain["communities"]:
            what = "header" if community is chain["communities"][0] else f"round {community['round']}"
            lines.append(TraceLine(level=1, text=f"{what}: {named(community)}"))
    if texts:
        words = f"{texts['asked']} communities put into prose, {texts['fell_back']} of them shown as T2T after all"
        lines.append(TraceLine(level=0, text=words))
    return lines


def traced(state: FastTogState, update: Update) -> Flow[None]:
    """Report the chains as an update leaves them."""
    lines = _outline(state["subjects"], update["chains"], state["texts"])
    yield from reports.traced(update.get("round", state["round"]), TITLE, lines)


def chains_trace(state: FastTogState) -> Trace:
    """The answer's trace: `data["chains"]` holds every chain with its communities, `data["start"]` the start communities."""
    subjects, chains, start = state["subjects"], state["chains"], state["start"]
    if not subjects:
        return Trace(title="", lines=[], data={})
    data = {
        "start": [{"id": subject["id"], "label": subject["label"]} for subject in subjects],
        "start_triples": start["triples"] if start else [],
        "chains": [
            {
                "chain": chain["number"],
                "starts": chain["starts"],
                "ended": chain["ended"],
                "communities": [
                    _row(community, header=not place) for place, community in enumerate(chain["communities"])
                ],
            }
            for chain in chains
        ],
        "texts": state["texts"],
    }
    return Trace(title=TITLE, lines=_outline(subjects, chains, state["texts"]), data=data)


def _row(community: Community, *, header: bool) -> dict[str, object]:
    shown = {key: value for key, value in community.items() if key != "literals"}
    return {"what": "header" if header else "chosen", **shown}


def candidate_lines(candidates: Sequence[CandidateCommunity], triples: Mapping[str, Triple], tokens: int) -> list[str]:
    """The lines of the first candidates, as many as fit the bound, one at least."""
    lines: list[str] = []
    room = tokens
    for candidate in candidates:
        line = candidate["prose"] or community_line(_still_there(candidate["triples"], triples))
        room -= line_cost(line)
        if lines and room < 0:
            break
        lines.append(line[: tokens * CHARACTERS_PER_TOKEN])
    return lines


def under_heads(rows: Iterable[tuple[str, str]]) -> str:
    """Numbered lines, those with the same head under it."""
    out: list[str] = []
    head = ""
    for number, (own, text) in enumerate(rows, start=1):
        if own != head:
            head = own
            out.append(head)
        out.append(f"[{number}] {one_line(text)}")
    return "\n".join(out)


def alike(question: str, lines: Sequence[str], most: int) -> list[int]:
    """The fallback: the communities that share most words with the question, the best modularity first among equals.

    An unreadable reply says nothing about the candidates, so it does not end a chain as "none of these" does.
    """
    likeness = [(-overlap(line, question), number) for number, line in enumerate(lines, start=1)]
    return [number for _, number in sorted(likeness)[:most]]


def _still_there(ids: Iterable[str], triples: Mapping[str, Triple]) -> list[Triple]:
    return [triples[key] for key in ids if key in triples]


def chosen(
    numbers: Sequence[int], candidates: Sequence[CandidateCommunity], triples: Mapping[str, Triple], number: int
) -> list[Community]:
    """The communities behind option numbers, found in round `number`."""
    picked = [candidates[option - 1] for option in numbers]
    return [community_of(one["nodes"], _still_there(one["triples"], triples), number, one["prose"]) for one in picked]


def report(
    kept: Sequence[Community],
    candidates: Sequence[CandidateCommunity],
    shown: int,
    triples: Mapping[str, Triple],
    number: int,
) -> Flow[list[PrunedNote]]:
    """Report what was chosen of the first candidates, which the prompt showed, and how many did not fit it."""
    ids = {community["id"] for community in kept}
    offered = chosen(range(1, shown + 1), candidates, triples, number)
    taken = [(named(community), 1.0) for community in kept]
    left = [(named(community), 0.0) for community in offered if community["id"] not in ids]
    unseen = len(candidates) - shown
    why = "not chosen for the question" + (f"; {unseen} more did not fit the prompt" if unseen else "")
    return (yield from reports.pruned("communities", number, taken, left, why, unseen=unseen))
