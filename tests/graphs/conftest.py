"""What tests of several methods share."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from langchain_core.messages import BaseMessage


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[list[BaseMessage]]:
    """The messages that scripted models were sent, by call; the first is the system's."""
    calls: list[list[BaseMessage]] = []
    replied = FakeModel._reply

    def reply(model: FakeModel, messages: list[BaseMessage]) -> Any:
        calls.append(messages)
        return replied(model, messages)

    monkeypatch.setattr(FakeModel, "_reply", reply)
    return calls
