"""What `help()` says of the classes whose fields are their arguments."""

from __future__ import annotations

import inspect

import pytest

import thinkgraph as tg


@pytest.mark.parametrize("face", [tg.ThinkGraphRetriever, tg.ThinkGraphTool])
def test_every_field_of_ours_is_described(face: type) -> None:
    said = inspect.getdoc(face) or ""
    # The tool's name and description are LangChain's fields, with defaults of ours.
    theirs = face.__mro__[1].__annotations__.keys() | {"name", "description", "args_schema"}
    ours = {name for name in face.__annotations__ if not name.startswith("_")} - theirs
    assert {"knowledge", "model", "journal"} <= ours
    assert [name for name in sorted(ours) if f"\n    {name}: " not in said] == []
