"""What FastToG's transitions share: communities and chains as text, as evidence and as the answer's trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.prompts.communities import Place, community_line, list_lengths
from thinkgraph.prompts.lines import entity_line, numbered
from thinkgraph.runtime import requests
from thinkgraph.state.answer import Trace, TraceLine
from thinkgraph.state.events import Traced
from thinkgraph.state.evidence import EvidenceItem, ListLength
from thinkgraph.state.fasttog import Chain, Community, Offer, Subject
from thinkgraph.state.knowledge import Entity, Relation, Triple
from thinkgraph.tools.communities.local_search import membership

TITLE = "chains of communities"


def start_lines(subjects: Sequence[Subject]) -> str:
    """The start communities, one node each, stated once in every prompt."""
    return numbered(
        entity_line(
            Entity(id=subject["id"], label=subject["label"], type="", description=subject["description"], literal=False)
        )
        for subject in subjects
    )


def community_of(nodes: Sequence[str], triples: Sequence[Triple], number: int, prose: str = "") -> Community:
    """A community of these nodes, found in round `number`: triples with both ends among them are inside, others join it."""
    members = set(nodes)
    labels: dict[str, str] = {}
    literals: set[str] = set()
    inside: list[str] = []
    joining: list[str] = []
    for triple in triples:
        labels[triple["subject"]] = triple["subject_label"]
        labels[triple["object"]] = triple["object_label"]
        literals |= {triple["object"]} if triple["literal"] else set()
        within = triple["subject"] in members and triple["object"] in members
        (inside if within else joining).append(triple["id"])
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


def triple_ids(community: Community) -> list[str]:
    """Ids of all triples of a community's text: what joins it to the chain, then what is inside."""
    return [*community["joining"], *community["triples"]]


def fetch_triples(communities: Iterable[Community], offers: Iterable[Offer] = ()) -> Flow[dict[str, Triple]]:
    """The triples of communities and candidates, by id: one round trip."""
    ids = [key for community in communities for key in triple_ids(community)]
    wanted = list(dict.fromkeys([*ids, *(key for offer in offers for key in offer["triples"])]))
    found = yield from requests.triples(wanted)
    return {triple["id"]: triple for triple in found if triple is not None}


def by_rule(community: Community, triples: Mapping[str, Triple], totals: Mapping[Place, int] | None = None) -> str:
    """T2T of a community; the triples that the store no longer has are left out."""
    return community_line([triples[key] for key in triple_ids(community) if key in triples], totals)


def in_words(community: Community, triples: Mapping[str, Triple], totals: Mapping[Place, int] | None = None) -> str:
    """A community as a prompt shows it: its prose where it has one, else T2T."""
    return community["prose"] or by_rule(community, triples, totals)


def evidence_of(community: Community, triples: Mapping[str, Triple], relations: Mapping[Place, int]) -> EvidenceItem:
    """A community as evidence, with the lengths of the lists that it shows in part."""
    shown = [triples[key] for key in triple_ids(community) if key in triples]
    totals = [
        ListLength(entity=place[0], relation=place[1], direction=place[2], total=relations[place])
        for place, count in list_lengths(shown).items()
        if relations.get(place, 0) > count
    ]
    return EvidenceItem(
        id=community["id"],
        kind="community",
        score=1.0,
        round=community["round"],
        triples=[triple["id"] for triple in shown],
        totals=totals,
    )


def counted(edges: Iterable[Relation]) -> dict[Place, int]:
    """How many triples there are at each (entity, relation, direction)."""
    return {(edge["entity"], edge["name"], edge["direction"]): edge["count"] for edge in edges}


def growing(chains: Iterable[Chain]) -> list[Chain]:
    """The chains that have not ended."""
    return [chain for chain in chains if not chain["ended"]]


def outline(state: Mapping[str, Any]) -> list[TraceLine]:
    """The chains for people."""
    subjects: Sequence[Subject] = state.get("subjects") or []
    label = {subject["id"]: subject["label"] for subject in subjects}
    lines = [TraceLine(level=0, text=f"start: {subject['label']}") for subject in subjects]
    for chain in state.get("chains") or []:
        head = ", ".join(label.get(start, start) for start in chain["starts"])
        ended = f" ({chain['ended']})" if chain["ended"] else ""
        lines.append(TraceLine(level=0, text=f"chain {chain['number']} from {head}{ended}"))
        for community in chain["communities"]:
            what = "header" if community["round"] == 0 else f"round {community['round']}"
            lines.append(TraceLine(level=1, text=f"{what}: {', '.join(community['labels'])}"))
    texts: Mapping[str, int] = state.get("texts") or {}
    if texts:
        told = f"{texts['asked']} communities put into prose, {texts['fell_back']} of them shown as T2T after all"
        lines.append(TraceLine(level=0, text=told))
    return lines


def traced(state: Mapping[str, Any]) -> Flow[None]:
    """Tell how the chains stand."""
    yield from requests.emit(Traced(type="traced", round=state["round"], title=TITLE, lines=outline(state)))


def chains_trace(state: Mapping[str, Any]) -> Trace:
    """The answer's trace: `data["chains"]` holds every chain with its communities, `data["start"]` the start communities."""
    if not state.get("subjects"):
        return Trace(title="", lines=[], data={})
    start: Community | None = state.get("start")
    data = {
        "start": [{"id": subject["id"], "label": subject["label"]} for subject in state["subjects"]],
        "start_triples": start["triples"] if start else [],
        "chains": [
            {
                "chain": chain["number"],
                "starts": chain["starts"],
                "ended": chain["ended"],
                "communities": [
                    {
                        "id": community["id"],
                        "what": "header" if community["round"] == 0 else "chosen",
                        "round": community["round"],
                        "nodes": community["nodes"],
                        "labels": community["labels"],
                        "triples": community["triples"],
                        "joining": community["joining"],
                        "prose": community["prose"],
                    }
                    for community in chain["communities"]
                ],
            }
            for chain in state.get("chains") or []
        ],
        "texts": state.get("texts") or {},
    }
    return Trace(title=TITLE, lines=outline(state), data=data)
