"""The evidence of a prompt as a small graph, and as passages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from thinkgraph.models.offline.words import number_in
from thinkgraph.prompts.lines import Item

Edge = tuple[str, bool]
"""(relation, outgoing)."""


@dataclass
class Ends:
    """What one node's relation reaches, as far as it is shown."""

    lines: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """End to the lines that show it, in the order shown."""
    rank: dict[str, float] = field(default_factory=dict)
    """End to the number among its qualifiers (a share, a rank)."""
    notes: dict[str, str] = field(default_factory=dict)
    """End to the words among its qualifiers (a title, a role)."""
    full: int | None = None
    """The line that lists all ends, if one does."""
    cut: bool = False
    """Whether a line says that it leaves ends out, and none lists them all."""


@dataclass
class Shown:
    """The evidence lines, by node."""

    edges: dict[str, dict[Edge, Ends]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Ends)))
    starts: dict[str, None] = field(default_factory=dict)
    """Nodes that path lines start from, in order."""
    passages: list[Item] = field(default_factory=list)
    answered: list[Item] = field(default_factory=list)
    plain: list[Item] = field(default_factory=list)

    @classmethod
    def of(cls, items: Sequence[Item]) -> Shown:
        """Read evidence lines."""
        shown = cls()
        for item in items:
            if item.passage:
                shown.passages.append(item)
            elif item.hops:
                shown.add_path(item)
            elif item.asked:
                shown.answered.append(item)
            else:
                shown.plain.append(item)
        return shown

    def add_path(self, item: Item) -> None:
        """Take in one line of triples: a path or a community."""
        first = item.hops[0]
        if first:
            self.starts.setdefault(first[0].subject if first[0].outgoing else first[0].object)
        for group in item.hops:
            for hop in group:
                here, there = (hop.subject, hop.object) if hop.outgoing else (hop.object, hop.subject)
                ends = self.edges[here][hop.relation, hop.outgoing]
                ends.lines[there].add(item.number)
                for name, value in hop.qualifiers:
                    number = number_in(value)
                    if number is None:
                        ends.notes[there] = f"{ends.notes.get(there, '')} {value}".strip()
                    # A year or a date tells when, not how much.
                    if number is not None and "year" not in name and "date" not in name:
                        ends.rank.setdefault(there, number)
                # The same statement can be walked from its other end; what else that end reaches is not known.
                self.edges[there][hop.relation, not hop.outgoing].lines[here].add(item.number)
        for listed in item.lists:
            ends = self.edges[listed.source][listed.relation, listed.outgoing]
            if listed.more == 0 and len(listed.ends) > 1:
                ends.full = item.number
            # Several lines may share a list out.
            ends.cut = len(ends.lines) < len(set(listed.ends)) + listed.more

    @property
    def relations(self) -> list[str]:
        """The names of all relations shown."""
        return list(dict.fromkeys(relation for edges in self.edges.values() for relation, _ in edges))
