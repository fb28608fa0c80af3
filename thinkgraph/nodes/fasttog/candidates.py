"""What both fine prunes share (FastToG, section "LLMs-based Fine-Pruning"): candidates as lines, the choice, its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thinkgraph.models.budget import CHARACTERS_PER_TOKEN
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import line_cost
from thinkgraph.nodes.common.reports import pruned
from thinkgraph.nodes.fasttog.chains import community_of
from thinkgraph.prompts.communities import community_line
from thinkgraph.state.answer import PrunedNote
from thinkgraph.state.fasttog import CandidateCommunity, Community
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.linking.lexical import overlap


def candidate_lines(candidates: Sequence[CandidateCommunity], triples: Mapping[str, Triple], tokens: int) -> list[str]:
    """The lines of the first candidates, as many as fit the bound, one at least."""
    lines: list[str] = []
    room = tokens
    for candidate in candidates:
        line = candidate["prose"] or community_line(_triples(candidate, triples))
        room -= line_cost(line)
        if lines and room < 0:
            break
        lines.append(line[: tokens * CHARACTERS_PER_TOKEN])
    return lines


def alike(question: str, lines: Sequence[str], most: int) -> list[int]:
    """The fallback: the communities that share most words with the question, the best modularity first among equals.

    An unreadable reply says nothing about the candidates, so it does not end a chain as "none of these" does.
    """
    likeness = [(-overlap(line, question), number) for number, line in enumerate(lines, start=1)]
    return [number for _, number in sorted(likeness)[:most]]


def _triples(candidate: CandidateCommunity, triples: Mapping[str, Triple]) -> list[Triple]:
    return [triples[key] for key in candidate["triples"] if key in triples]


def chosen(
    numbers: Sequence[int], candidates: Sequence[CandidateCommunity], triples: Mapping[str, Triple], number: int
) -> list[Community]:
    """The communities behind option numbers, found in round `number`."""
    picked = [candidates[option - 1] for option in numbers]
    return [community_of(one["nodes"], _triples(one, triples), number, one["prose"]) for one in picked]


def report(
    kept: Sequence[Community],
    candidates: Sequence[CandidateCommunity],
    shown: int,
    triples: Mapping[str, Triple],
    number: int,
) -> Flow[list[PrunedNote]]:
    """Report what was chosen of the first candidates, which the prompt showed, and how many did not fit it."""
    ids = {community["id"] for community in kept}
    left = [one for one in chosen(range(1, shown + 1), candidates, triples, number) if one["id"] not in ids]
    unseen = len(candidates) - shown
    return (
        yield from pruned(
            "communities",
            number,
            [(", ".join(community["labels"]), 1.0) for community in kept],
            [(", ".join(community["labels"]), 0.0) for community in left],
            "not chosen for the question" + (f"; {unseen} more did not fit the prompt" if unseen else ""),
            unseen=unseen,
        )
    )
