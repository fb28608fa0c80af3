"""What `help()` says of the classes whose fields are their arguments."""

from __future__ import annotations

import inspect

import pytest

import thinkgraph as tg


@pytest.mark.parametrize("face", [tg.ThinkGraphRetriever, tg.ThinkGraphTool])
def test_every_field_of_ours_is_described(face: type) -> None:
    said = inspect.getdoc(face) or ""
    # The tool's name and description are LangChain's fields, with defaults of ours.
    *our_classes, their_class = face.__mro__[:3]
    theirs = their_class.__annotations__.keys() | {"name", "description", "args_schema"}
    ours = {name for one in our_classes for name in one.__annotations__ if not name.startswith("_")} - theirs
    assert {"knowledge", "model", "journal"} <= ours
    assert [name for name in sorted(ours) if f"\n    {name}: " not in said] == []
