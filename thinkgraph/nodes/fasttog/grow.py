"""The chains of a round grow by the communities that they chose (FastToG, algorithm 1)."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.fasttog.chains import traced
from thinkgraph.state.fasttog import Chain, Community, FastTogSettings, FastTogState


def grow(state: FastTogState, _settings: FastTogSettings) -> Flow[Update]:
    """Append to each chain the community that it chose.

    The chains of a round choose side by side, not one after the other as in algorithm 1. If two choose the same community, the
    lower-numbered chain gets it, and the other stays as it is for this round.
    """
    number = state["round"] + 1
    taken: dict[str, Community] = {}
    chains: list[Chain] = []
    for chain in state["chains"]:
        choice = state["choices"].get(str(chain["number"]))
        if chain["ended"] or choice is None or choice["round"] != number:
            chains.append(chain)
        elif (community := choice["community"]) is None:
            chains.append({**chain, "ended": choice["ended"]})
        elif community["id"] in taken:
            chains.append(chain)
        else:
            taken[community["id"]] = community
            chains.append({**chain, "communities": [*chain["communities"], community]})
    update: Update = {
        "round": number,
        "chains": chains,
        "history": [*state["history"], *taken],
        "candidates": {},
        "said": {},
    }
    yield from traced(state, update)
    return update
