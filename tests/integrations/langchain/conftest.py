"""Knowledge small enough to be known by heart, and a model that knows its answers."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES, small_knowledge

from thinkgraph.tools.knowledge import Knowledge

CASE = CASES["tog2"]


@pytest.fixture
def knowledge() -> Knowledge:
    return small_knowledge()


@pytest.fixture
def asked(knowledge: Knowledge) -> dict[str, Any]:
    """What retriever and tool are made with."""
    return {
        "knowledge": knowledge,
        "method": "tog2",
        "model": FakeModel(CASE.replies),
        "settings": dict(CASE.settings),
    }
