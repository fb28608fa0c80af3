"""Back to the start, where the chains end without a supported answer (a departure from the paper)."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.link_entities import candidate
from thinkgraph.nodes.common.reports import linked
from thinkgraph.nodes.doubt.judged import going_back
from thinkgraph.nodes.fasttog.extract_subjects import MAX_LINKS, by_name
from thinkgraph.runtime import requests
from thinkgraph.state.fasttog import FastTogSettings, FastTogState
from thinkgraph.tools.communities.local_search import membership

LEFT = "left for other chains"


def backtrack(state: FastTogState, settings: FastTogSettings) -> Flow[Update]:
    """Leave the chains, so that headers are chosen again.

    The last community of every chain is not offered again. Those before it are, for they may lead elsewhere. Entities
    that the question names become subjects too, up to the setting `subjects`.
    """
    known = {subject["id"] for subject in state["subjects"]}
    found = (yield from requests.link([state["question"]], limit=MAX_LINKS))[0]
    named = {link["entity"]["id"]: link for link in by_name(found, settings.namesakes)}
    room = settings.subjects - len(known)
    new = [link for key, link in named.items() if key not in known][:room]
    if new:
        yield from linked(new)
    subjects = [*state["subjects"], *map(candidate, new)]
    ends = [chain["communities"][-1]["id"] for chain in state["chains"]]
    return {
        "subjects": subjects,
        "chains": [{**chain, "ended": chain["ended"] or LEFT} for chain in state["chains"]],
        "history": [*(membership([subject["id"]]) for subject in subjects), *dict.fromkeys(ends)],
        **going_back(state),
    }
