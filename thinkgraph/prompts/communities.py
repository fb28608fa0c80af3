"""Our triple-to-text (T2T): a community as one line of the grammar of prompts/lines.py. The paper's own, a sentence for each triple
(FastToG, section "Community-to-Text"), repeats what triples share.

    (Panama) -[capital]-> (Panama City); -[borders]-> (Colombia) {length km=339}, (Costa Rica) | (Baru) -[elevation m]-> (3475)

Triples that share a subject or an object stand together in a group under it, those of one relation as one list; a triple
is written once, and so are two that tell the same of a relation that runs both ways: `(Panama) <-[borders]-> (Costa Rica)`.
`parse_item` reads every triple back, with its direction and its qualifiers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from thinkgraph.prompts.lines import arrow, both_ways, qualifier_text, safe_label
from thinkgraph.state.knowledge import Direction, Triple, far_end, other_end

Place = tuple[str, str, Direction]
"""(entity id, relation, direction): where a list of ends hangs."""


def community_line(triples: Sequence[Triple], totals: Mapping[Place, int] | None = None) -> str:
    """One line that holds every triple once.

    Args:
        triples: the triples inside the community and those that join it to its predecessor; repeated ids count once.
        totals: how many triples the graph holds at a place; a list that shows fewer says how many more there are.

    Returns:
        The line; empty without triples.
    """
    every = list({triple["id"]: triple for triple in triples}.values())
    shown = _places(every)
    return " | ".join(_group(head, group, shown, totals or {}) for head, group in _groups(every))


def list_lengths(triples: Sequence[Triple]) -> dict[Place, int]:
    """For every list that the line of these triples writes, how many of them it stands for."""
    every = list({triple["id"]: triple for triple in triples}.values())
    shown = _places(every)
    return {place: shown[place] for head, group in _groups(every) for place in _lists(head, group)}


def _groups(triples: Sequence[Triple]) -> Iterator[tuple[str, list[Triple]]]:
    """The triples by the node under which they are written: the one that most of those left touch, again and again."""
    left = list(triples)
    while left:
        head = _head(left)
        yield head, [triple for triple in left if head in {triple["subject"], triple["object"]}]
        left = [triple for triple in left if head not in {triple["subject"], triple["object"]}]


def _lists(head: str, triples: Sequence[Triple]) -> dict[Place, list[Triple]]:
    """A group's triples by relation and direction; a loop goes out."""
    lists: dict[Place, list[Triple]] = {}
    for triple in triples:
        direction: Direction = "out" if triple["subject"] == head else "in"
        lists.setdefault((head, triple["relation"], direction), []).append(triple)
    return lists


def _ends(head: str, triples: Sequence[Triple]) -> list[tuple[str, list[list[str]]]]:
    """The other ends of a list with their qualifiers, in an order of their own."""
    return sorted((other_end(triple, head), [list(pair) for pair in triple["qualifiers"]]) for triple in triples)


def _places(triples: Sequence[Triple]) -> Counter[Place]:
    """How many of the triples hang at each place; a loop hangs at both of its ends."""
    places: Counter[Place] = Counter()
    for triple in triples:
        places[triple["subject"], triple["relation"], "out"] += 1
        places[triple["object"], triple["relation"], "in"] += 1
    return places


def _head(triples: Sequence[Triple]) -> str:
    """The node that most triples touch; an entity before a literal, then the one named first."""
    touched: Counter[str] = Counter()
    literal: dict[str, bool] = {}
    for triple in triples:
        touched.update(dict.fromkeys([triple["subject"], triple["object"]], 1))
        literal.setdefault(triple["subject"], False)
        literal.setdefault(triple["object"], triple["literal"])
    # max() takes the first of equals, and a Counter keeps the order in which its keys came.
    return max(touched, key=lambda node: (touched[node], not literal[node]))


def _group(head: str, triples: Sequence[Triple], shown: Counter[Place], totals: Mapping[Place, int]) -> str:
    lists = _lists(head, triples)
    parts = []
    for place, members in lists.items():
        back: Place = (head, place[1], "in" if place[2] == "out" else "out")
        more, turned = totals.get(place, 0) - shown[place], totals.get(back, 0) - shown[back]
        symmetric = max(more, 0) == max(turned, 0) and _ends(head, members) == _ends(head, lists.get(back, []))
        if symmetric and list(lists).index(back) < list(lists).index(place):
            continue
        label = members[0]["relation_label"]
        way = both_ways(label) if symmetric else arrow(label, outgoing=place[2] == "out")
        labels = [far_end(t, head)[1] for t in members]
        ends = ", ".join(f"({safe_label(label)}){qualifier_text(t)}" for label, t in zip(labels, members, strict=True))
        parts.append(f"{way} {ends}" + (f", ... and {more} more" if more > 0 else ""))
    first = triples[0]
    label = first["subject_label"] if first["subject"] == head else first["object_label"]
    return f"({safe_label(label)}) " + "; ".join(parts)
