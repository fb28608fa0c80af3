"""The lines of a prompt's evidence, within a bound on tokens."""

from __future__ import annotations

import pytest

from thinkgraph.nodes.common.evidence_lines import PromptContext, prompt_context
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Triple
from thinkgraph.testing.memory import MemoryGraphStore

GRAPH = MemoryGraphStore(
    [("Hub", "part", f"Part number {n}") for n in range(3)] + [(f"Part number {n}", "owner", f"P{n}") for n in range(3)]
)


def statements(entity: str) -> dict[str, list[Triple]]:
    """What the graph says of an entity, by relation."""
    (found,) = GRAPH.neighbourhood([entity])
    return {
        name: [one for one in found["triples"] if one["relation"] == name and one["subject"] == entity]
        for name in ("part", "owner")
    }


def shown(tokens: int) -> PromptContext:
    """The owners of the parts of Hub, all of one relation path; no line of its own says what the parts are."""
    items: list[EvidenceItem] = []
    texts: dict[str, Triple] = {}
    for part in statements("Hub")["part"]:
        (owner,) = statements(part["object"])["owner"]
        texts |= {part["id"]: part, owner["id"]: owner}
        way = Path(start="Hub", triples=[part["id"]])
        items.append(path_item(owner["id"], way, [owner["id"]], total=1, route="parts' owners"))
    flow = prompt_context(items, tokens=tokens)
    try:
        flow.send(None)
        flow.send(list(texts.values()))
        flow.send([])
    except StopIteration as end:
        found: PromptContext = end.value
        return found
    raise AssertionError("more was asked for than triples and passages")


@pytest.mark.parametrize(("tokens", "items"), [(100, 3), (30, 1), (1, 1)])
def test_a_shared_line_that_is_too_long_keeps_at_least_one_of_its_items(tokens: int, items: int) -> None:
    context = shown(tokens)
    assert [len(context.items), list(context.sizes)] == [items, [items]]
    assert context.lines[0].startswith("(Hub) -[part]-> (Part number "[: tokens * 4])
    assert context.ids([1]) == [item["id"] for item in context.items]
