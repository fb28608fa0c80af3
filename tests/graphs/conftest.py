"""What tests of several methods share."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES, Case
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


@pytest.fixture(params=sorted(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def no_blocked_types(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Under strict msgpack a type that no schema reaches is only LOGGED as it turns into a dict."""
    assert os.environ.get("LANGGRAPH_STRICT_MSGPACK") == "true", "run the suite with LANGGRAPH_STRICT_MSGPACK=true"
    with caplog.at_level(logging.WARNING):
        yield
    said = [record.getMessage() for record in caplog.records if "serializ" in record.getMessage().casefold()]
    assert said == []
