"""Local community search (FastToG, section "Local Community Search"): the communities next to the starts, or to the chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.evidence_lines import highest_level
from thinkgraph.nodes.common.reports import pruned, retrieved
from thinkgraph.nodes.fasttog.chains import community_of, growing, named
from thinkgraph.nodes.fasttog.community_text import in_prose, tally
from thinkgraph.runtime import requests
from thinkgraph.state.answer import PrunedNote
from thinkgraph.state.fasttog import (
    HEADERS,
    CandidateCommunity,
    Chain,
    Choice,
    Community,
    FastTogSettings,
    FastTogState,
)
from thinkgraph.state.knowledge import Step, Triple, both_ends
from thinkgraph.tools.communities.detectors import detect
from thinkgraph.tools.communities.local_search import Cell, Local, LocalGraph, coarse_prune, membership, taking_turns

NOTHING_NEAR = "no new community lies next to it"
MAX_EDGES = 20_000
"""Most induced edges read for one search. Only a graph with many edges between the same nodes has more."""
MAX_OPTIONS = 400
"""Most candidates offered in one choice."""
_EVERYTHING = 10**9


@dataclass(frozen=True)
class SearchOrigin:
    """The community that one search looks around."""

    centre: tuple[str, ...]
    """Nodes of the community c: a start, or the last community of a chain."""
    literals: frozenset[str] = frozenset()
    """Those of them that are literal values."""
    chain: frozenset[str] = frozenset()
    """Nodes of the communities before it."""
    known: frozenset[str] = frozenset()
    """Ids of the triples that the chain already states."""
    salt: str = ""
    """Tells the searches of one run apart, for random draws."""


@dataclass
class SearchResult:
    """The candidates of one search."""

    cells: list[Cell] = field(default_factory=list)
    """After the coarse prune, best first."""
    dropped: list[Cell] = field(default_factory=list)
    nodes: int = 0
    triples: Sequence[Triple] = ()


def local_search(
    origins: Sequence[SearchOrigin], history: Sequence[str], settings: FastTogSettings
) -> Flow[list[SearchResult]]:
    """The candidates around each origin: n+1 round trips for all of them together, and one or two more for each hub among their nodes."""
    locals_ = [Local(origin.centre, set(origin.literals)) for origin in origins]
    most = _least(settings.graph_cap, settings.slow_graph_cap if settings.detector == "girvan_newman" else None)
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
        if hop == 1 and settings.coarse == "fair":
            hubs = [node for node, found in zip(wanted, read, strict=True) if found["total"] > len(found["triples"])]
            near |= yield from _by_relation(hubs, limit, settings.seed)
        for local in locals_:
            triples = [triple for node in local.frontier for triple in near[node]]
            share, cap = settings.decay ** (hop - 1), _least(settings.hop_cap, local.room(most))
            local.take(triples, share=share, most=cap, seed=settings.seed)
    nodes = dict.fromkeys(node for local in locals_ for node in local.nodes)
    nodes.update(dict.fromkeys(node for origin in origins for node in sorted(origin.chain)))
    if all(len(local.nodes) == len(local.centre) for local in locals_):
        return [SearchResult() for _ in origins]
    edges = yield from requests.edges_among(list(nodes), limit=MAX_EDGES)

    def searched() -> list[SearchResult]:
        return [
            _searched(origin, LocalGraph(local, edges, origin.chain), history, settings)
            for origin, local in zip(origins, locals_, strict=True)
        ]

    return (yield from requests.computed(searched))


def _by_relation(hubs: Sequence[str], limit: int, seed: int) -> Flow[dict[str, list[Triple]]]:
    """The statements of hubs with a share for each relation, so that short lists are whole: a sample of all would miss them.

    A hub of one relation, or of more relations than may be read statements, is left out.
    """
    found: dict[str, list[Triple]] = {}
    every = (yield from requests.relations(hubs)) if hubs else []
    for hub, near in zip(hubs, every, strict=True):
        if 1 < len(near) <= limit:
            steps = [Step(entity=hub, relation=one["name"], direction=one["direction"]) for one in near]
            share = highest_level([one["count"] for one in near], limit)
            lists = yield from requests.neighbours(steps, limit=share, seed=seed)
            found[hub] = [triple for one in lists for triple in one["triples"]]
    return found


def _least(*caps: int | None) -> int | None:
    return min((cap for cap in caps if cap is not None), default=None)


def _searched(
    origin: SearchOrigin, graph: LocalGraph, history: Sequence[str], settings: FastTogSettings
) -> SearchResult:
    cells = detect(settings.detector, graph.links, most=settings.community_size, seed=settings.seed)
    old = set(history)
    every = [cell for cell in graph.candidates(cells, known=origin.known) if cell.id not in old]
    kept = coarse_prune(
        every, settings.coarse, keep=settings.candidates, seed=settings.seed, salt=origin.salt, centre=origin.centre
    )
    ids = {cell.id for cell in kept}
    return SearchResult(kept, [cell for cell in every if cell.id not in ids], len(graph.nodes), graph.triples)


def origins_of(state: FastTogState) -> list[SearchOrigin]:
    """One search for each growing chain, or for each subject where no chain grows: at first, and after going back."""
    subjects = [subject["id"] for subject in state["subjects"]]
    chains = growing(state["chains"])
    if not chains:
        return [SearchOrigin((node,), chain=frozenset(subjects), salt=node) for node in subjects]
    return [_origin(chain, subjects, state["start"]) for chain in chains]


def _origin(chain: Chain, subjects: Sequence[str], start: Community | None) -> SearchOrigin:
    tail = chain["communities"][-1]
    earlier = chain["communities"] if start is None else [start, *chain["communities"]]
    return SearchOrigin(
        centre=tuple(tail["nodes"]),
        literals=frozenset(tail["literals"]),
        chain=frozenset([*subjects, *(node for community in earlier for node in community["nodes"])]),
        known=frozenset(key for community in earlier for key in (*community["triples"], *community["joining"])),
        salt=f"{chain['number']} {tail['id']}",
    )


def history_of(state: FastTogState) -> list[str]:
    """H as the next search sees it. At first it holds the start communities alone, of one node each."""
    return state["history"] or [membership([subject["id"]]) for subject in state["subjects"]]


def community_search(state: FastTogState, settings: FastTogSettings) -> Flow[Update]:
    """Search around every growing chain side by side, or around the subjects where no chain grows.

    A chain with at most one candidate is decided here, without a call. With `ask_lone`, only a chain without candidates is.
    """
    chains = growing(state["chains"])
    first = not chains
    number = state["round"] if first else state["round"] + 1
    history = history_of(state)
    found = yield from local_search(origins_of(state), history, settings)
    if first:
        cells = {HEADERS: _together(found)}
    else:
        cells = {str(chain["number"]): one.cells[:MAX_OPTIONS] for chain, one in zip(chains, found, strict=True)}
    # One pass for all searches of the round.
    every = [cell for near in cells.values() for cell in near]
    prose = [""] * len(every)
    if settings.prose_candidates:
        prose = yield from in_prose([[*cell.joining, *cell.triples] for cell in every], settings)
    texts = iter(prose)
    candidates: dict[str, list[CandidateCommunity]] = {}
    choices: dict[str, Choice] = {}
    for chain, near in cells.items():
        told = [next(texts) for _ in near]
        if first or len(near) > 1 or (near and settings.ask_lone):
            candidates[chain] = [_candidate(cell, text) for cell, text in zip(near, told, strict=True)]
            continue
        only = community_of(near[0].nodes, (*near[0].joining, *near[0].triples), number, told[0]) if near else None
        choices[chain] = Choice(round=number, community=only, ended="" if only else NOTHING_NEAR)
    return {
        "start": _start(found, state) if first else state["start"],
        "history": history,
        "candidates": candidates,
        "choices": choices,
        "texts": tally(state["texts"], prose if settings.prose_candidates else [], settings),
        "pruned": (yield from _report(found, number)),
    }


def _candidate(cell: Cell, prose: str) -> CandidateCommunity:
    triples = [triple["id"] for triple in (*cell.joining, *cell.triples)]
    return CandidateCommunity(nodes=list(cell.nodes), triples=triples, prose=prose)


def _together(found: Sequence[SearchResult]) -> list[Cell]:
    """The candidates of all subjects, each once: the best of each, then the second best."""
    cells = {cell.id: cell for one in reversed(found) for cell in one.cells}
    return [cells[key] for key in taking_turns([cell.id for cell in one.cells] for one in found)][:MAX_OPTIONS]


def _start(found: Sequence[SearchResult], state: FastTogState) -> Community | None:
    """The triples among the subjects; None where there are none."""
    ids = [subject["id"] for subject in state["subjects"]]
    among = {triple["id"]: triple for one in found for triple in one.triples if set(both_ends(triple)) <= set(ids)}
    if not among:
        return None
    labels = [subject["label"] for subject in state["subjects"]]
    return {**community_of(ids, list(among.values()), 0), "labels": labels}


def _report(found: Sequence[SearchResult], number: int) -> Flow[list[PrunedNote]]:
    if not any(one.nodes for one in found):
        return []
    yield from retrieved(
        number,
        [_label(cell) for one in found for cell in one.cells[:3]],
        entities=sum(one.nodes for one in found),
        triples=sum(len(one.triples) for one in found),
        ranked=sum(len(one.cells) + len(one.dropped) for one in found),
    )
    dropped = [(_label(cell), cell.modularity) for one in found for cell in one.dropped]
    if not dropped:
        return []
    kept = [(_label(cell), cell.modularity) for one in found for cell in one.cells]
    why = "beyond the candidates that the coarse prune keeps"
    return (yield from pruned("communities", number, kept, dropped, why))


def _label(cell: Cell) -> str:
    return named(community_of(cell.nodes, (*cell.joining, *cell.triples), 0))
