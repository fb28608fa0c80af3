"""Local community search (FastToG, section "Local Community Search"): the candidate communities next to where chains stand."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.fasttog.chains import community_of, growing
from thinkgraph.nodes.fasttog.community_text import in_prose, tally
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state.answer import PrunedNote
from thinkgraph.state.events import Pruned, Retrieved, Scored
from thinkgraph.state.fasttog import Chain, Choice, Community, FastTogSettings, Offer
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.communities.detectors import detect
from thinkgraph.tools.communities.local_search import Cell, Local, LocalGraph, coarse_prune, membership, share_of_hop

NOTHING_NEAR = "no new community lies next to it"
MAX_EDGES = 20_000
"""Most induced edges read for one search: far more than the caps on nodes let through, but for multi-edges."""
MAX_OPTIONS = 400
"""Most candidates offered in one choice."""
_EVERYTHING = 10**9


@dataclass(frozen=True)
class Stand:
    """Where one search starts."""

    centre: tuple[str, ...]
    """Nodes of c: a start, or the last community of a chain."""
    literals: frozenset[str] = frozenset()
    """Those of them that are literal values."""
    chain: frozenset[str] = frozenset()
    """Nodes of the communities before it."""
    known: frozenset[str] = frozenset()
    """Ids of the triples that the chain states already."""
    salt: str = ""
    """Tells searches of one run apart."""


@dataclass
class Found:
    """What one search found."""

    cells: list[Cell] = field(default_factory=list)
    """After the coarse prune, best first."""
    dropped: list[Cell] = field(default_factory=list)
    nodes: int = 0
    triples: Sequence[Triple] = ()


def local_search(stands: Sequence[Stand], history: Sequence[str], settings: FastTogSettings) -> Flow[list[Found]]:
    """The candidates around each stand: at most n+1 round trips for all of them together."""
    locals_ = [Local(stand.centre, set(stand.literals)) for stand in stands]
    every = [settings.graph_cap, settings.slow_graph_cap if settings.detector == "girvan_newman" else None]
    most = min((cap for cap in every if cap is not None), default=None)
    hops = settings.hops if settings.community_size > 1 else 1  # a single node is a candidate only where it is near
    for hop in range(1, hops + 1):
        wanted = list(dict.fromkeys(node for local in locals_ for node in local.frontier))
        if not wanted:
            break
        limit = settings.node_cap or _EVERYTHING
        if hop > 1 and settings.wide_cap is not None:
            limit = min(limit, max(1, settings.wide_cap // len(wanted)))
        read = yield from requests.neighbourhood(wanted, limit=limit, seed=settings.seed)
        near = {node: found["triples"] for node, found in zip(wanted, read, strict=True)}
        for local in locals_:
            caps = [cap for cap in (settings.hop_cap, local.room(most)) if cap is not None]
            triples = [triple for node in local.frontier for triple in near[node]]
            share = share_of_hop(settings.decay, hop)
            local.take(triples, share=share, most=min(caps, default=None), seed=settings.seed)
    nodes = dict.fromkeys(node for local in locals_ for node in local.nodes)
    nodes.update(dict.fromkeys(node for stand in stands for node in sorted(stand.chain)))
    if all(len(local.nodes) == len(local.centre) for local in locals_):
        return [Found() for _ in stands]
    edges = yield from requests.edges_among(list(nodes), limit=MAX_EDGES)

    def searched() -> list[Found]:
        return [
            _searched(stand, LocalGraph(local, edges, stand.chain), history, settings)
            for stand, local in zip(stands, locals_, strict=True)
        ]

    return (yield from requests.computed(searched))


def _searched(stand: Stand, graph: LocalGraph, history: Sequence[str], settings: FastTogSettings) -> Found:
    cells = detect(settings.detector, graph.links, most=settings.community_size, seed=settings.seed)
    old = set(history)
    every = [cell for cell in graph.candidates(cells, known=stand.known) if cell.id not in old]
    kept = coarse_prune(every, settings.coarse, keep=settings.candidates, seed=settings.seed, salt=stand.salt)
    ids = {cell.id for cell in kept}
    return Found(kept, [cell for cell in every if cell.id not in ids], len(graph.nodes), graph.triples)


def _prose_of(cells: Sequence[Cell], settings: FastTogSettings) -> Flow[list[str]]:
    """The candidates in prose, where they are to be offered so: one text for each, or none at all."""
    if not settings.prose_candidates:
        return [""] * len(cells)
    return (yield from in_prose([[*cell.joining, *cell.triples] for cell in cells], settings))


def offer_of(cell: Cell, prose: str = "") -> Offer:
    """A candidate as state holds it while it is one."""
    return Offer(nodes=list(cell.nodes), triples=[t["id"] for t in (*cell.joining, *cell.triples)], prose=prose)


def start_stands(state: Mapping[str, Any]) -> list[Stand]:
    """One search for each subject."""
    ids = [subject["id"] for subject in state["subjects"]]
    return [Stand((node,), chain=frozenset(ids), salt=node) for node in ids]


def start_history(state: Mapping[str, Any]) -> list[str]:
    """H before the first search: the start communities, of one node each."""
    return [membership([subject["id"]]) for subject in state["subjects"]]


def search_starts(state: Mapping[str, Any], settings: FastTogSettings) -> Flow[Update]:
    """One search for each subject, side by side; their candidates together, and the triples among the subjects."""
    ids = [subject["id"] for subject in state["subjects"]]
    history = start_history(state)
    stands = start_stands(state)
    found = yield from local_search(stands, history, settings)
    cells: dict[str, Cell] = {}
    starts: dict[str, list[str]] = {}
    # The best of each subject, then the second best …: no subject's candidates crowd out another's.
    for cell in (cell for rank in itertools.zip_longest(*(one.cells for one in found)) for cell in rank if cell):
        cells.setdefault(cell.id, cell)
        ends = {end for triple in cell.joining for end in (triple["subject"], triple["object"])}
        starts[cell.id] = [node for node in ids if node in ends and node not in cell.nodes]
    among = {
        triple["id"]: triple
        for one in found
        for triple in one.triples
        if triple["subject"] in ids and triple["object"] in ids
    }
    offered = list(cells.values())[:MAX_OPTIONS]
    prose = yield from _prose_of(offered, settings)
    offer = [offer_of(cell, text) for cell, text in zip(offered, prose, strict=True)]
    yield from _told(found, 0)
    return {
        "start": _start(ids, state, among) if among else None,
        "history": history,
        "_offer": offer,
        "_starts": starts,
        "_triples": {t["id"]: t for cell in offered for t in (*cell.joining, *cell.triples)},
        "texts": tally(state["texts"], prose if settings.prose_candidates else [], settings),
        "pruned": _notes(found, 0),
    }


def _start(ids: Sequence[str], state: Mapping[str, Any], among: Mapping[str, Triple]) -> Community:
    return Community(
        id=membership(ids),
        nodes=list(ids),
        labels=[subject["label"] for subject in state["subjects"]],
        literals=[],
        triples=list(among),
        joining=[],
        round=0,
        prose="",
    )


def community_search(state: Mapping[str, Any], settings: FastTogSettings) -> Flow[Update]:
    """The candidates next to every growing chain's last community. A choice of at most one is made here, without a call."""
    chains = growing(state["chains"])
    number = state["round"] + 1
    stands = stands_of(state)
    found = yield from local_search(stands, state["history"], settings)
    offered = [one.cells[:MAX_OPTIONS] for one in found]
    # One pass for all chains of the round.
    prose = yield from _prose_of([cell for cells in offered for cell in cells], settings)
    texts = iter(prose)
    offers: dict[str, list[Offer]] = {}
    choices: dict[str, Choice] = {}
    for chain, cells in zip(chains, offered, strict=True):
        key = str(chain["number"])
        told = [next(texts) for _ in cells]
        if len(cells) > 1:
            offers[key] = [offer_of(cell, text) for cell, text in zip(cells, told, strict=True)]
            continue
        only = community_of(cells[0].nodes, (*cells[0].joining, *cells[0].triples), number, told[0]) if cells else None
        choices[key] = Choice(round=number, chain=chain["number"], community=only, ended="" if only else NOTHING_NEAR)
    yield from _told(found, number)
    return {
        "offers": offers,
        "choices": choices,
        "texts": tally(state["texts"], prose if settings.prose_candidates else [], settings),
        "pruned": _notes(found, number),
    }


def stands_of(state: Mapping[str, Any]) -> list[Stand]:
    """One search for each growing chain."""
    subjects = [subject["id"] for subject in state["subjects"]]
    return [_stand(chain, subjects, state["start"]) for chain in growing(state["chains"])]


def _stand(chain: Chain, subjects: Sequence[str], start: Community | None) -> Stand:
    tail = chain["communities"][-1]
    earlier = chain["communities"] if start is None else [start, *chain["communities"]]
    return Stand(
        centre=tuple(tail["nodes"]),
        literals=frozenset(tail["literals"]),
        chain=frozenset([*subjects, *(node for community in earlier for node in community["nodes"])]),
        known=frozenset(key for community in earlier for key in (*community["triples"], *community["joining"])),
        salt=f"{chain['number']} {tail['id']}",
    )


def _told(found: Sequence[Found], number: int) -> Flow[None]:
    if not any(one.nodes for one in found):
        return
    best = [_label(cell) for one in found for cell in one.cells[:3]]
    yield from requests.emit(
        Retrieved(
            type="retrieved",
            round=number,
            entities=sum(one.nodes for one in found),
            triples=sum(len(one.triples) for one in found),
            passages=0,
            ranked=sum(len(one.cells) + len(one.dropped) for one in found),
            best=best,
        )
    )
    dropped = [Scored(label=_label(cell), score=round(cell.modularity, 4)) for one in found for cell in one.dropped]
    if dropped:
        kept = [Scored(label=_label(cell), score=round(cell.modularity, 4)) for one in found for cell in one.cells]
        why = "beyond the candidates that the coarse prune keeps"
        yield from requests.emit(
            Pruned(type="pruned", what="communities", round=number, kept=kept, dropped=dropped, reason=why)
        )


def _notes(found: Sequence[Found], number: int) -> list[PrunedNote]:
    dropped = [cell for one in found for cell in one.dropped]
    if not dropped:
        return []
    kept = sum(len(one.cells) for one in found)
    examples = [_label(cell) for cell in dropped[:5]]
    return [PrunedNote(round=number, what="communities", kept=kept, dropped=len(dropped), examples=examples)]


def _label(cell: Cell) -> str:
    return ", ".join(community_of(cell.nodes, (*cell.joining, *cell.triples), 0)["labels"])
