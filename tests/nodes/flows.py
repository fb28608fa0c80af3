"""Runs one step's flow by hand."""

from __future__ import annotations

from typing import Any

from thinkgraph.models.ops import Flow


def outcome(flow: Flow[Any], deps: Any) -> Any:
    """What a flow returns whose every operation asks the stores or the encoder, none a model.

    Args:
        flow: not begun.
        deps: what the operations are carried out with.
    """
    found: Any = None
    while True:
        try:
            op: Any = flow.send(found)
        except StopIteration as ended:
            return ended.value
        found = op.function(deps)
